"""How large the sheets of a spreadsheet are, before a library makes room for them.

A cell may stand anywhere, and say that it comes a billion times; the libraries make room for all
the cells between the first and the last.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from howlearn.reading.sniffing import refused
from howlearn.reading.unpacking import CHUNK, check_growth

FREE_CELLS = 2**23  # that any workbook may have room for
FREE_REPEATED = 2**21  # the same where a cell may say how often it comes
SMALLEST = 8  # bytes that a cell takes in the file, at the very least
_LOCAL = 30  # bytes of the header before a part
_ODS = "content.xml"  # in others a sheet may have any name
_COLUMN = re.compile(rb'r="(?<=\sr=")([A-Za-z]+)')  # letters first: such are sought quickly
_ROW = re.compile(rb'r="(?<=\sr=")[A-Za-z]*([0-9]{1,12})')
_ODDLY = re.compile(rb"r(?:\s+=|=\s|=')")  # as XML may be written, and hardly ever is
_EQUALS = re.compile(rb"\s*=\s*[\"']")
_CUT = 64  # bytes that may belong to a reference at the edge of a chunk
_ROWS = re.compile(
    rb"<table:table(?=[\s>])|<table:(table-row|table-cell|covered-table-cell)\b([^>]*)>"
)
_REPEATED = re.compile(rb"number-(?:rows|columns)-repeated\s*=\s*[\"']([0-9]+)")
_WIDEST, _LONGEST = 2**14, 2**20  # columns and rows of a sheet


def check_extents(path: Path) -> None:
    """Refuse a workbook whose parts or sheets are far larger than the file."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    size, total = path.stat().st_size, 0
    for part in parts:
        count = _Counted(part.filename)
        for chunk in _unpacked(path, part):
            count.add(chunk)
            check_growth(path, size, total + count.bytes)
        total += count.bytes
        cells = count.cells()
        if cells > count.free + count.bytes // SMALLEST:
            found = f"a sheet with room for {cells:,} cells, nearly all of them empty or alike"
            raise refused(path, found, "save the table itself as CSV UTF-8")


class _Counted:
    """How many cells a part of a workbook asks room for."""

    def __init__(self, name: str) -> None:
        self.bytes = 0
        self._ods = name == _ODS
        self.free = FREE_REPEATED if self._ods else FREE_CELLS
        self._rows = self._columns = 0
        self._before = bytearray()  # what belongs to the next chunk

    def add(self, chunk: bytes) -> None:
        """Some more of the part."""
        self.bytes += len(chunk)
        if self._ods:
            self._before += chunk
            return
        text = bytes(self._before) + chunk
        self._before[:] = chunk[-_CUT:]
        if _ODDLY.search(text):
            text = _EQUALS.sub(b'="', text)
        columns = map(_column, {*_COLUMN.findall(text)})
        self._columns = max(self._columns, *columns, 0)
        self._rows = max(self._rows, max(map(int, _ROW.findall(text)), default=0))

    def cells(self) -> int:
        """All cells from the first to the last."""
        return _ods_cells(bytes(self._before)) if self._ods else self._rows * self._columns


def _unpacked(path: Path, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part as it unpacks; zipfile itself stops at the size that the archive claims."""
    left = part.compress_size
    inflater = zlib.decompressobj(-15) if part.compress_type == zipfile.ZIP_DEFLATED else None
    with path.open("rb") as file:
        file.seek(part.header_offset)
        header = file.read(_LOCAL)
        if len(header) < _LOCAL:
            return
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


def _ods_cells(content: bytes) -> int:
    """The cells of the largest table up to its last row and column with anything in them."""
    largest = row = width = last_row = column = last = times = 0
    for match in _ROWS.finditer(content):
        kind, attributes = match[1], match[2]
        if kind is None or kind == b"table-row":
            if last:
                last_row, width = row, max(width, last)
            largest = max(largest, last_row * width)
            column = last = 0
            if kind is None:
                row = width = last_row = 0
                continue
            times = _times(attributes, _LONGEST)
            row += times
            continue
        column += _times(attributes, _WIDEST)
        if b"value" in attributes or not attributes.endswith(b"/"):
            last = min(column, _WIDEST)
    if last:
        last_row, width = row, max(width, last)
    return max(largest, last_row * width)


def _times(attributes: bytes, most: int) -> int:
    match = _REPEATED.search(attributes)
    return 1 if match is None else min(int(match[1][:9]), most)
