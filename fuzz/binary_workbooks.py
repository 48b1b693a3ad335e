"""Seeds of the workbooks that are not XML, .xls and .xlsb, written by hand."""

from __future__ import annotations

import struct
from typing import Any

from fuzz.packed_seeds import PACKAGE, RELATED, zipped
from fuzz.rows import NAMES, rows
from fuzz.seeds import Writer, one

TABLE = [NAMES, *rows()]
SECTOR = 512
FREE, END, OF_TABLE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD  # marks in the table of sectors


def xls() -> bytes:
    """The trials as Excel 97 writes them: some texts are shared, others stand in their cells."""
    texts = [*dict.fromkeys(v for row in TABLE for v in row if isinstance(v, str) and len(v) > 1)]
    shared = b"".join(struct.pack("<HB", len(text), 0) + text.encode() for text in texts)
    cells = b"".join(
        _old_cell(r, c, value, texts) for r, row in enumerate(TABLE) for c, value in enumerate(row)
    )
    extent = _old(0x0200, struct.pack("<IIHHH", 0, len(TABLE), 0, len(NAMES), 0))
    sheet = _old_start(0x10) + extent + cells + _old(0x0A)
    counts = struct.pack("<II", len(texts), len(texts))

    def book(place: int) -> bytes:
        named = _old(0x85, struct.pack("<IBBBB", place, 0, 0, 1, 0) + b"A")
        return _old_start(5) + named + _old(0xFC, counts + shared) + _old(0x0A)

    return _ole("Workbook", book(len(book(0))) + sheet)


def _old(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def _old_start(kind: int) -> bytes:
    return _old(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 6))


def _old_cell(row: int, column: int, value: Any, texts: list[str]) -> bytes:
    place = struct.pack("<HHH", row, column, 0)
    if value in texts:
        return _old(0x00FD, place + struct.pack("<I", texts.index(value)))
    if isinstance(value, str):
        return _old(0x0204, place + struct.pack("<HB", len(value), 0) + value.encode())
    return _old(0x0203, place + struct.pack("<d", value))


def _ole(name: str, stream: bytes) -> bytes:
    """A small file system with one file."""
    count = -(-max(len(stream), 4096) // SECTOR)
    stream = stream.ljust(count * SECTOR, b"\0")
    chain = [OF_TABLE, END, *range(3, count + 2), END]
    table = struct.pack("<128I", *chain, *[FREE] * (128 - len(chain)))
    root = _entry("Root Entry", 5, 1, END, 0)
    entries = root + _entry(name, 2, FREE, 2, len(stream)) + 2 * _entry("", 0, FREE, 0, 0)
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    head += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<10I", 0, 1, 1, 0, 4096, END, 0, END, 0, 0)
    return head + struct.pack("<108I", *[FREE] * 108) + table + entries + stream


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = f"{name}\0".encode("utf-16-le") if name else b""
    about = struct.pack("<HBBIII", len(text), kind, 1, FREE, FREE, child)
    return text.ljust(64, b"\0") + about + bytes(36) + struct.pack("<IQ", start, size)


def xlsb() -> bytes:
    """The trials as Excel's binary workbook, an archive of records."""
    texts = [*dict.fromkeys(v for row in TABLE for v in row if isinstance(v, str) and len(v) > 1)]
    cells = b""
    for r, row in enumerate(TABLE):
        cells += _record(0, struct.pack("<IIHBBBI", r, 0, 300, 0, 0, 0, 0))
        cells += b"".join(_cell(c, value, texts) for c, value in enumerate(row))
    extent = struct.pack("<IIII", 0, len(TABLE) - 1, 0, len(NAMES) - 1)
    sheet = _record(0x81) + _record(0x94, extent) + _record(0x91) + cells
    named = _record(0x9C, struct.pack("<II", 0, 1) + _text("rId1") + _text("A"))
    counts = struct.pack("<II", len(texts), len(texts))
    shared = _record(0x9F, counts) + b"".join(_record(19, b"\0" + _text(t)) for t in texts)
    kind = "application/vnd.ms-excel"
    types = "".join(
        f'<Override PartName="/xl/{name}.bin" ContentType="{kind}.{about}"/>'
        for name, about in (
            ("workbook", "sheet.binary.macroEnabled.main"),
            ("worksheets/sheet1", "worksheet"),
            ("sharedStrings", "sharedStrings"),
        )
    )
    return zipped(
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType='
                f'"application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>'
            ).encode(),
            "_rels/.rels": _related({"officeDocument": "xl/workbook.bin"}),
            "xl/workbook.bin": b"".join(
                [_record(0x83), _record(0x8F), named, _record(0x90), _record(0x84)]
            ),
            "xl/_rels/workbook.bin.rels": _related(
                {"worksheet": "worksheets/sheet1.bin", "sharedStrings": "sharedStrings.bin"}
            ),
            "xl/sharedStrings.bin": shared + _record(0xA0),
            "xl/worksheets/sheet1.bin": sheet + _record(0x92) + _record(0x82),
        }
    )


def _related(targets: dict[str, str]) -> bytes:
    lines = "".join(
        f'<Relationship Id="rId{i}" Type="{RELATED}/{kind}" Target="{target}"/>'
        for i, (kind, target) in enumerate(targets.items(), start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{lines}</Relationships>'.encode()


def _record(kind: int, body: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    size = bytes([len(body)]) if len(body) < 128 else bytes([len(body) & 127 | 128, len(body) >> 7])
    return head + size + body


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _cell(column: int, value: Any, texts: list[str]) -> bytes:
    place = struct.pack("<II", column, 0)
    if value in texts:
        return _record(7, place + struct.pack("<I", texts.index(value)))
    if isinstance(value, str):
        return _record(6, place + _text(value))
    return _record(5, place + struct.pack("<d", value))


SEEDS: dict[str, Writer] = {
    "xls": lambda: one("a.xls", "xls", xls()),
    "xlsb": lambda: one("a.xlsb", "xlsb", xlsb()),
}
