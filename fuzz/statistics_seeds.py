"""Seeds of SPSS and Stata files; .sav files are written by hand, with all kinds of records."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fuzz.rows import columns
from fuzz.seeds import Writer, one

BIAS, LITERAL, END = 100, 253, 252
LABELS = {
    "reward": {0.0: "nothing", 1.0: "win"},
    "stimulus": {"a": "first", "b": "second", "c": "third"},
}


def sav(
    values: Mapping[str, list[Any]] | None = None,
    labels: Mapping[str, Mapping[Any, str]] = LABELS,
    missing: Mapping[str, list[float]] | None = None,
    packed: int = 1,
) -> bytes:
    """The trials as an SPSS file: packed 0 is plain, 1 in bytes, 2 deflated.

    Texts have up to eight letters. Of missing values, two that begin with NaN are a range: the
    others are its ends.
    """
    table = columns() if values is None else values
    head = [b"$FL3" if packed == 2 else b"$FL2", b"@(#) written for a test".ljust(60)]
    head += [struct.pack("<iiiii", 2, len(table), packed, 0, len(next(iter(table.values()))))]
    head += [struct.pack("<d", BIAS), b"01 Jan 0000:00:00".ljust(17), b" " * 67]
    records = [_variable(i, name, table[name], missing or {}) for i, name in enumerate(table)]
    for i, name in enumerate(table, start=1):
        if name in labels:
            pairs = b"".join(_slot(value) + _label(text) for value, text in labels[name].items())
            records.append(struct.pack("<ii", 3, len(labels[name])) + pairs)
            records.append(struct.pack("<iii", 4, 1, i))
    records.append(struct.pack("<ii", 6, 1) + b"a line".ljust(80))
    records.append(_extension(3, struct.pack("<8i", 1, 0, 0, -1, 1, 1, 2, 65001), 4))
    long = "\t".join(f"V{i}={name}" for i, name in enumerate(table))
    records.append(_extension(13, long.encode()))
    records.append(_extension(20, b"UTF-8"))
    content = b"".join([*head, *records, struct.pack("<ii", 999, 0)])
    slots = [_slot(value) for row in zip(*table.values(), strict=True) for value in row]
    if packed == 0:
        return content + b"".join(slots)
    return content + in_bytes(slots) if packed == 1 else deflated(content, in_bytes(slots))


def _variable(i: int, name: str, values: list[Any], missing: Mapping[str, list[float]]) -> bytes:
    width = 8 if isinstance(values[0], str) else 0
    codes = missing.get(name, [])
    ends = [code for code in codes if code == code]
    count = len(codes) if len(ends) == len(codes) else -len(ends)
    label = f"about {name}".encode()
    found = struct.pack("<iiiiii", 2, width, 1, count, 0x050800, 0x050800)
    found += f"V{i}".encode().ljust(8) + struct.pack("<i", len(label)) + label
    return found + b"\0" * (-len(label) % 4) + b"".join(map(_slot, ends))


def _slot(value: Any) -> bytes:
    return value.encode().ljust(8)[:8] if isinstance(value, str) else struct.pack("<d", value)


def _label(text: str) -> bytes:
    content = bytes([len(text)]) + text.encode()
    return content + b" " * (-len(content) % 8)


def _extension(kind: int, content: bytes, size: int = 1) -> bytes:
    return struct.pack("<iiii", 7, kind, size, len(content) // size) + content


def in_bytes(slots: list[bytes]) -> bytes:
    """Whole numbers in one byte each, others as they are behind a byte."""
    found = bytearray()
    for start in range(0, len(slots) + 1, 8):
        commands, rest = bytearray(), b""
        for slot in slots[start : start + 8]:
            number = struct.unpack("<d", slot)[0]
            small = number == number and number == number // 1 and 0 < number + BIAS < END
            commands.append(int(number) + BIAS if small else LITERAL)
            rest += b"" if small else slot
        if len(commands) < 8:
            commands.append(END)
        found += bytes(commands).ljust(8, b"\0") + rest
    return bytes(found)


def deflated(head: bytes, data: bytes) -> bytes:
    """The data in one deflated block, between what says where it is."""
    packed = zlib.compress(data)
    start = len(head)
    trailer = start + 24 + len(packed)
    found = head + struct.pack("<qqq", start, trailer, 48) + packed
    found += struct.pack("<qqii", -BIAS, 0, 0x3FF000, 1)
    return found + struct.pack("<qqii", start, start + 24, len(data), len(packed))


def dta(version: Any) -> bytes:
    """The trials as a Stata file with labels."""
    import pandas as pd

    frame = pd.DataFrame(columns())
    frame["stimulus"] = pd.Categorical(frame["stimulus"])
    frame["note"] = "long" * 80 if version > 114 else "short"
    buffer = io.BytesIO()
    frame.to_stata(
        buffer,
        write_index=False,
        version=version,
        time_stamp=datetime(2000, 1, 1),
        convert_strl=["note"] if version > 114 else None,
    )
    return buffer.getvalue()


SEEDS: dict[str, Writer] = {
    "sav": lambda: one("a.sav", "sav", sav()),
    "sav unpacked": lambda: one("a.sav", "sav", sav(packed=0)),
    "zsav": lambda: one("a.zsav", "sav", sav(packed=2)),
    "dta": lambda: one("a.dta", "dta", dta(118)),
    "dta old": lambda: one("a.dta", "dta", dta(114)),
}
