"""How much room the sheets of a workbook ask for, before a library makes it.

A cell may stand anywhere, come a billion times, or name a text of a megabyte that others name too;
libraries make room for all cells up to the last. A file of 1 kB could so take all memory.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.formats.detect import CHUNK, ZIP, check_growth, refused

FREE_CELLS = 2**22  # that any workbook may have room for: about 90 bytes each while it is read
FREE_REPEATED = 2**21  # the same where a cell may say how often it comes
FREE_LETTERS = 2**27  # of texts, each counted as often as a cell has it
SMALLEST = 8  # bytes that a cell takes in the file, at the very least
_WIDEST, _LONGEST = 2**14, 2**20  # columns and rows of a sheet


@dataclass
class Room:
    """What is left of the room that a workbook may take."""

    path: Path
    bytes: int  # of the workbook, unpacked
    free: int  # cells
    taken: int = 0
    letters: int = 0

    def take(self, cells: int, letters: int = 0) -> None:
        """Refuse a workbook that asks for more than there is."""
        self.taken += cells
        self.letters += letters
        if self.taken > self.free + self.bytes // SMALLEST:
            found = f"sheets with room for {self.taken:,} cells, nearly all of them empty or alike"
        elif self.letters > FREE_LETTERS + self.bytes:
            found = f"sheets in which the same texts stand so often that they have {self.letters:,}"
            found += " letters"
        else:
            return
        raise refused(self.path, found, "save the table itself as CSV UTF-8")


def checked_room(path: Path) -> Room:
    """Refuse a workbook whose sheets are far larger than the file; room to load each of them."""
    size = path.stat().st_size
    with path.open("rb") as file:
        old = file.read(len(OLE)) == OLE
    if old:
        content = path.read_bytes()
        stream = _old_stream(content)
        room = Room(path, len(stream), FREE_CELLS)
        for cells, letters in _old_sheets(stream):
            room.take(cells, letters)
    if zipfile.is_zipfile(path):  # also what is both
        size = _check_zipped(path)
    return Room(path, size, FREE_CELLS)


# Archives: .xlsx and .ods have XML inside, .xlsb has records.

_LOCAL = 30  # bytes of the header before a part
_ODS = "content.xml"  # in others a sheet may have any name
_COLUMN = re.compile(rb'r="(?<=\sr=")([A-Za-z]+)')  # letters first: such are sought quickly
_ROW = re.compile(rb'r="(?<=\sr=")[A-Za-z]*([0-9]{1,12})')
_ODDLY = re.compile(rb"r(?:\s+=|=\s|=')")  # as XML may be written, and hardly ever is
_EQUALS = re.compile(rb"\s*=\s*[\"']")
_CUT = 64  # bytes that may belong to a reference at the edge of a chunk
_SHARED = re.compile(rb"<(?:\w+:)?sst\b")  # the texts that cells name by their numbers
_TEXT = re.compile(rb"<(?:\w+:)?si\b")
_VALUE = re.compile(rb"<(?:\w+:)?v\b[^>]{0,40}>\s*([0-9]{1,9})\s*<")


def _check_zipped(path: Path) -> int:
    """Refuse an archive whose sheets are far larger than they look; its bytes, unpacked."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    if min((part.header_offset for part in parts), default=0):  # others may begin elsewhere
        raise _Damaged("something before the archive")
    binary = any(part.filename.lower() == "xl/workbook.bin" for part in parts)
    size, total = path.stat().st_size, 0
    texts = np.zeros(0, np.int64)  # how long each is
    sheets: list[tuple[zipfile.ZipInfo, int]] = []
    for part in parts:
        count = _Counted(part.filename, binary)
        for chunk in _unpacked(path, part):
            count.add(chunk)
            check_growth(path, size, total + count.bytes)
        total += count.bytes
        cells, letters = count.cells()
        Room(path, count.bytes, FREE_REPEATED if count.ods else FREE_CELLS).take(cells, letters)
        texts = np.concatenate((texts, count.texts()))
        sheets.append((part, cells))
    longest = int(texts.max(initial=0))
    for part, cells in sheets:
        if cells * longest > FREE_LETTERS:  # rarely: each cell's text is looked up
            named = _named(path, part, binary)
            letters = int(texts[named[named < len(texts)]].sum())
            Room(path, total, cells).take(0, letters)
    return total


class _Counted:
    """How many cells a part of a workbook asks room for."""

    def __init__(self, name: str, binary: bool) -> None:
        self.bytes = 0
        self.ods = name == _ODS
        self._binary = binary
        self._shared = False
        self._rows = self._columns = 0
        self._before = bytearray()  # what belongs to the next chunk, or all

    def add(self, chunk: bytes) -> None:
        """Some more of the part."""
        self._shared = self._shared or (not self.bytes and _SHARED.search(chunk) is not None)
        self.bytes += len(chunk)
        if self.ods or self._binary or self._shared:
            self._before += chunk
            return
        text = bytes(self._before) + chunk
        self._before[:] = chunk[-_CUT:]
        if _ODDLY.search(text):
            text = _EQUALS.sub(b'="', text)
        columns = map(_column, {*_COLUMN.findall(text)})
        self._columns = max(self._columns, *columns, 0)
        self._rows = max(self._rows, max(map(int, _ROW.findall(text)), default=0))

    def cells(self) -> tuple[int, int]:
        """All cells from the first to the last, and the letters of what is repeated in them."""
        if self.ods:
            _check_xml(bytes(self._before))
            return _ods_cells(bytes(self._before))
        if self._binary:
            for kind, body in _records(bytes(self._before)):
                if kind == _ROW_STARTS:
                    self._rows = max(self._rows, 1 + int.from_bytes(body[:4], "little"))
                elif kind in _CELLS:
                    self._columns = max(self._columns, 1 + int.from_bytes(body[:4], "little"))
        if self._columns > _WIDEST and self._rows:
            raise _Damaged(_TOO_LARGE)
        return min(self._rows, 2 * _LONGEST) * self._columns, 0

    def texts(self) -> NDArray[np.int64]:
        """How long the texts are that cells name by their numbers."""
        if self._shared:
            starts = [match.start() for match in _TEXT.finditer(self._before)]
            return np.diff([*starts, len(self._before)] if starts else [])
        if not self._binary:
            return np.zeros(0, np.int64)
        found = [len(b) for k, b in _records(bytes(self._before), False) if k == _SHARED_TEXT]
        return np.array(found, np.int64)


def _check_xml(content: bytes) -> None:
    """Refuse broken XML, at whose end the library may wait for more without end."""

    def refuse(*_: object) -> None:
        # Entities may be bombs.
        raise _Damaged("XML that declares its own document type")

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except ExpatError:
        raise _Damaged("XML that is broken") from None


def _named(path: Path, part: zipfile.ZipInfo, binary: bool) -> NDArray[np.int64]:
    """The numbers of texts in a sheet; a number itself is taken for one too."""
    if binary:
        content = b"".join(_unpacked(path, part))
        numbers = [int.from_bytes(b[8:12], "little") for k, b in _records(content) if k == 7]
        return np.array(numbers, np.int64)
    found: list[int] = []
    before = b""
    for chunk in _unpacked(path, part):
        text = before + chunk
        found += map(int, _VALUE.findall(text))
        before = chunk[-_CUT:]
    return np.array(found, np.int64)


def _unpacked(path: Path, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part as it unpacks; zipfile itself stops at the size that the archive claims."""
    left = part.compress_size
    inflater = zlib.decompressobj(-15) if part.compress_type == zipfile.ZIP_DEFLATED else None
    with path.open("rb") as file:
        file.seek(part.header_offset)
        header = file.read(_LOCAL)
        if len(header) < _LOCAL or not header.startswith(ZIP):
            raise _Damaged("a part that is not where it should be")
        name, extra = struct.unpack("<HH", header[-4:])
        file.seek(name + extra, 1)
        while left > 0 and (packed := file.read(min(left, CHUNK))):
            left -= len(packed)
            if inflater is None:
                yield packed
                continue
            while packed and not inflater.eof:
                yield inflater.decompress(packed, CHUNK)
                packed = inflater.unconsumed_tail


def _column(letters: bytes) -> int:
    """The number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters.upper()[:7]:
        number = 26 * number + letter - 64
    return number


# .xlsb: a kind and a size in 7 bits per byte, then so many bytes.

_ROW_STARTS, _CELLS, _SHARED_TEXT = 0, range(1, 12), 19
_SHEET_STARTS, _SHEET_ENDS = 0x91, 0x92


def _records(content: bytes, of_cells: bool = True) -> Iterator[tuple[int, bytes]]:
    """The records of a part, or those between the start and the end of a sheet."""
    place, end, inside = 0, len(content), not of_cells
    while place < end:
        kind, place = _number(content, place, 2)
        size, place = _number(content, place, 4)
        if of_cells and kind in (_SHEET_STARTS, _SHEET_ENDS):
            inside = kind == _SHEET_STARTS
        elif inside:
            yield kind, content[place : place + size]
        place += size


def _number(content: bytes, place: int, most: int) -> tuple[int, int]:
    """A number in at most so many bytes, and where it ends."""
    number = 0
    for i, byte in enumerate(content[place : place + most]):
        number |= (byte & 127) << 7 * i
        if byte < 128:
            return number, place + i + 1
    return number, place + most


# .ods: rows and cells that say how often they come.

_ROWS = re.compile(
    rb"<table:table(?=[\s>])|<table:(table-row|table-cell|covered-table-cell)\b([^>]*)>"
)
_REPEATED = re.compile(rb"number-(?:rows|columns)-repeated\s*=\s*[\"']([0-9]+)")


def _ods_cells(content: bytes) -> tuple[int, int]:
    """The cells of all tables up to their last rows and columns with anything, and their letters.

    Letters are those of cells that come several times.
    """
    cells = letters = row = width = last_row = column = last = times = texts = 0
    before = content[:0]
    end = 0
    for match in [*_ROWS.finditer(content), None]:
        if before:  # the cell before this ends here at the latest
            here = len(content) if match is None else match.start()
            texts += _times(before, _WIDEST) * (here - end)
            before = content[:0]
        kind, attributes = (None, b"") if match is None else (match[1], match[2])
        if kind is None or kind == b"table-row":
            if last:
                last_row, width = row, max(width, last)
                letters += times * texts if times * texts > len(content) else 0
            column = last = texts = 0
            if kind is None:
                cells += last_row * width
                row = width = last_row = 0
                continue
            times = _times(attributes, _LONGEST)
            row += times
            continue
        column += _times(attributes, _WIDEST)
        if b"value" in attributes or not attributes.endswith(b"/"):
            last = min(column, _WIDEST)
            before, end = attributes, match.start() if match else 0
    return cells, letters


def _times(attributes: bytes, most: int) -> int:
    match = _REPEATED.search(attributes)
    return 1 if match is None else min(int(match[1][:9]), most)


# .xls: a small file system of sectors (OLE), in which one file holds records.

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LAST = 0xFFFFFFFA  # numbers of sectors from here on are marks: free, end of a chain
_LARGE = 4096  # bytes from which a file has whole sectors
_OLD_CELLS = {0x0006, 0x00FD, 0x0203, 0x0204, 0x0205, 0x027E}  # a row and a column first
_OLD_SEVERAL, _OLD_NAMES_TEXT = 0x00BD, 0x00FD
_OLD_EXTENT, _OLD_TEXTS, _OLD_GOES_ON, _OLD_SHEET, _OLD_END = 0x0200, 0x00FC, 0x3C, 0x85, 0x0A
_OLD_WIDEST, _OLD_LONGEST = 2**8, 2**16  # columns and rows of a sheet
_TOO_LARGE = "a sheet larger than sheets can be"


class _Damaged(ValueError):
    """What no program writes."""


def _old_stream(content: bytes) -> bytes:
    """The records of an .xls file."""
    if len(content) < 512:
        raise _Damaged("it is cut off")
    shift, small = struct.unpack_from("<HH", content, 30)
    if shift not in (9, 12) or small != 6:
        raise _Damaged("sectors of an unknown size")
    size = 1 << shift
    count = len(content) // size
    folders, tables, first = struct.unpack_from("<III", content, 40)
    cutoff, small_start, small_tables, more, more_count = struct.unpack_from("<IIIII", content, 56)
    if max(folders, tables, small_tables, more_count) > count or cutoff != _LARGE:
        raise _Damaged("more sectors than there are")
    body = content[size:].ljust(count * size, b"\0")
    lists = np.frombuffer(content[76:512], "<u4")
    for _ in range(count):
        if more >= _LAST:
            break
        further = _sector(body, more, size)
        lists, more = np.concatenate((lists, further[:-1])), int(further[-1])
    else:
        raise _Damaged("sectors in circles")
    used = lists[lists < _LAST]
    if len(used) > count:
        raise _Damaged("more sectors than there are")
    table = np.concatenate([np.zeros(0, "<u4"), *(_sector(body, int(i), size) for i in used)])
    entries = _chain(body, first, table, size)
    places = range(0, len(entries) - 127, 128)
    found: dict[str, tuple[int, int]] = {}
    for place in places:
        name = entries[place : place + 64].decode("utf-16-le", "replace").partition("\0")[0]
        found.setdefault(name, struct.unpack_from("<II", entries, place + 116))
    if not places:
        raise _Damaged("no files in it")
    root = struct.unpack_from("<II", entries, 116)
    inner = _chain(body, root[0], table, size)  # of files that are small
    inner_table = np.frombuffer(_chain(body, small_start, table, size), "<u4")
    start, length = found.get("Workbook") or found.get("Book") or (_LAST, 0)
    if length > len(content) or root[1] > len(content):
        raise _Damaged("a file in it that is larger than it")
    if length < _LARGE:
        return _chain(inner, start, inner_table, 64)[: length or None]
    return _chain(body, start, table, size)[:length]


def _sector(body: bytes, number: int, size: int) -> NDArray[np.uint32]:
    if (number + 1) * size > len(body):
        raise _Damaged("a sector that is not there")
    return np.frombuffer(body, "<u4", size // 4, number * size)


def _chain(body: bytes, number: int, table: NDArray[np.uint32], size: int) -> bytes:
    """The sectors of a file, one after the other."""
    found: list[bytes] = []
    while number < _LAST:
        if number >= len(table) or (number + 1) * size > len(body) or len(found) > len(table):
            raise _Damaged("a sector that is not there, or sectors in circles")
        found.append(body[number * size : (number + 1) * size])
        number = int(table[number])
    return b"".join(found)


def _old_sheets(stream: bytes) -> Iterator[tuple[int, int]]:
    """The cells of each sheet from the first to the last, and the letters of their texts."""
    starts: list[int] = []
    pieces: list[bytes] = []
    before = 0
    for kind, body in _old_records(stream, 0):
        if kind == _OLD_SHEET:
            starts.append(int.from_bytes(body[:4], "little"))
        elif kind == _OLD_TEXTS or (kind == _OLD_GOES_ON and before == _OLD_TEXTS):
            pieces = [body] if kind == _OLD_TEXTS else [*pieces, body]
        before = before if kind == _OLD_GOES_ON else kind
    texts = _old_texts(pieces, len(stream))
    for start in starts:
        rows = columns = letters = 0
        for kind, body in _old_records(stream, start):
            if kind == _OLD_EXTENT and _is_too_large(body):
                raise _Damaged(_TOO_LARGE)
            if (kind in _OLD_CELLS or kind == _OLD_SEVERAL) and len(body) >= 6:
                row, column = struct.unpack_from("<HH", body)
                last = struct.unpack("<H", body[-2:])[0] if kind == _OLD_SEVERAL else column
                rows, columns = max(rows, row + 1), max(columns, column + 1, last + 1)
                if columns > _OLD_WIDEST:
                    raise _Damaged(_TOO_LARGE)
                named = int.from_bytes(body[6:10], "little") if kind == _OLD_NAMES_TEXT else -1
                letters += texts[named] if 0 <= named < len(texts) else 0
        yield rows * columns, letters


def _old_records(stream: bytes, place: int) -> Iterator[tuple[int, bytes]]:
    """The records from a place on, up to the one that ends a sheet or the book."""
    while place + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, place)
        if kind == _OLD_END:
            return
        yield kind, stream[place + 4 : place + 4 + size]
        place += 4 + size


def _is_too_large(body: bytes) -> bool:
    """Whether a sheet claims to reach further than sheets can, or to end before it starts."""
    if len(body) not in (10, 14):
        return False
    first, end, left, right = struct.unpack_from("<HHHH" if len(body) == 10 else "<IIHH", body)
    beyond = end > _OLD_LONGEST or right > _OLD_WIDEST or first > end or left > right
    return bool(end and right) and beyond


def _old_texts(pieces: list[bytes], most: int) -> list[int]:
    """How long the texts are that cells name by their numbers."""
    found: list[int] = []
    if not pieces or len(pieces[0]) < 8:
        return found
    count = int.from_bytes(pieces[0][4:8], "little")
    if count > most:
        raise _Damaged("more texts than it has room for")
    data, rest = pieces[0][8:], iter(pieces[1:])
    for _ in range(count):
        data = data or next(rest, b"")
        if len(data) < 3:
            break
        letters, flags = struct.unpack_from("<HB", data)
        head = 3 + 2 * bool(flags & 8) + 4 * bool(flags & 4)
        runs = int.from_bytes(data[3:5], "little") if flags & 8 else 0
        more = 4 * runs + (int.from_bytes(data[head - 4 : head], "little") if flags & 4 else 0)
        data, left, width = data[head:], letters, 1 + (flags & 1)
        while left > len(data) // width and (piece := next(rest, b"")):
            left -= len(data) // width
            data, width = piece[1:], 1 + (piece[0] & 1)  # it says anew how its letters are stored
        data = data[left * width :]
        while more > len(data) and (piece := next(rest, b"")):
            more, data = more - len(data), piece
        data = data[more:]
        found.append(letters)
    return found
