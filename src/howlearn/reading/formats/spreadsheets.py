"""Spreadsheets: .xlsx, .xlsb, .xls and .ods."""

from __future__ import annotations

import logging
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import (
    CHUNK,
    ZIP,
    check_growth,
    names_in,
    no_damage,
    no_panic,
    refused,
)
from howlearn.reading.formats.table import INSIDE, Held, distinct_names, one_of, told_twice
from howlearn.reading.formats.text_layout import is_data

# How large the sheets of a spreadsheet are, before a library makes room for them.
#
# A cell may stand anywhere, and say that it comes a billion times; the libraries make room for all
# the cells between the first and the last.


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


LOOKED_AT = 60  # rows among which the names of the columns are sought
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"
_FULL = 0.6  # of the columns have a name in the row of the names


def open_excel(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Held]:
    """The sheets that are read: the first with a table, and those with the same columns."""
    with no_damage(path, "a spreadsheet", (OSError, MemoryError)), no_panic():
        import fastexcel

        _without_remarks()
        if zipfile.is_zipfile(path):
            check_extents(path)
        book = fastexcel.read_excel(path.read_bytes())
        sheets, named = one_of(path, inside, book.sheet_names, "sheet")
        tables = [(sheet, _table(book, sheet)) for sheet in sheets]
    found = [(sheet, table) for sheet, table in tables if table is not None]
    if not found:
        allowed = "a sheet with the names of the columns, then one row per trial"
        raise DataError([Problem(str(path), None, None, "no sheet with a table", allowed)])
    columns = set(found[0][1].frame.columns)
    alike = [each for each in found if set(each[1].frame.columns) == columns]
    others = [sheet for sheet, *_ in found if sheet not in [s for s, *_ in alike]]
    several = len(alike) > 1 or named
    notes = []
    if len(alike) > 1:
        notes.append(f"{len(alike)} sheets with the same columns were read")
    if others and len(alike) == 1:
        notes.append(
            f"of its sheets {alike[0][0]} was read; another is named as "
            f"{path.name}{INSIDE}{others[0]}"
        )
    elif others:
        one = len(others) == 1
        notes.append(
            f"the sheet{'s' * (not one)} {', '.join(others)} {'has' if one else 'have'} other "
            f"columns and {'was' if one else 'were'} not read"
        )
    return [
        Held(
            f"{path}{INSIDE}{sheet}" if several else str(path),
            sheet if several else path.stem,
            table.frame,
            f"Excel, sheet {sheet}",
            table.first_row,
            [*(notes if i == 0 else ()), *([told_twice(table.twice)] if table.twice else [])],
            table.twice,
            table.bare,
        )
        for i, (sheet, table) in enumerate(alike)
    ]


class _Sheet(NamedTuple):
    frame: pl.DataFrame
    first_row: int  # of the data
    twice: tuple[str, ...]  # names of several columns
    bare: tuple[str, ...] = ()  # columns without names


def _table(book: Any, sheet: str) -> _Sheet | None:
    """The table of a sheet, or None."""
    cells: pl.DataFrame = book.load_sheet(
        sheet, header_row=None, skip_rows=0, dtypes="string"
    ).to_polars()
    if cells.height < 2 or cells.width < 2:
        return None
    head = [[_there(value) for value in row] for row in cells.head(LOOKED_AT).rows()]
    widest = max(sum(value is not None for value in row) for row in head)
    if widest < 2:
        return None
    named = [i for i, row in enumerate(head) if _names(row) >= max(2, _FULL * widest)]
    header = named[0] if named else [sum(v is not None for v in row) for row in head].index(widest)
    bare = not named and is_data([v or "" for v in head[header]], head[header + 1 :])
    counted = [str(i) for i in range(1, cells.width + 1)]
    names = counted if bare else distinct_names(head[header])
    rows = cells[header + (not bare) :]
    if not rows.height:
        return None
    kept = [
        values.alias(name)
        for name, values in zip(names, _values(rows), strict=True)
        if name or values.null_count() < rows.height
    ]
    twice = [name for name, times in Counter(head[header]).items() if name and times > 1]
    if bare:
        return _Sheet(pl.DataFrame(kept), header + 1, (), tuple(counted))
    return _Sheet(pl.DataFrame(kept), header + 2, tuple(twice))


def _names(row: list[str | None]) -> int:
    """How many names are in a row; 0 if there is a number among them."""
    there = [value for value in row if value is not None]
    return 0 if any(_number(value) for value in there) else len(there)


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _values(rows: pl.DataFrame) -> list[pl.Series]:
    """The columns, all at once since there may be many: days without midnight, true and false."""
    days = rows.select(pl.all().str.replace(_MIDNIGHT, "$1"))
    switches = days.select(pl.all().is_in(["true", "false"]).all() & (pl.all().count() > 0)).row(0)
    return [
        values == "true" if switch else values
        for values, switch in zip(days.get_columns(), switches, strict=True)
    ]


def _there(value: str | None) -> str | None:
    return value if value is not None and value.strip() else None


def _without_remarks() -> None:
    """What the library logs about odd cells would be printed above the user's results."""
    logging.getLogger("calamine").setLevel(logging.CRITICAL)


def _is_workbook(path: Path, head: bytes) -> bool:
    if not head.startswith(ZIP):
        return False
    names = names_in(path)
    return any(name.startswith("xl/") for name in names) or {"mimetype", "content.xml"} <= {*names}


FORMATS = (
    Format(
        "Excel",
        "Excel and OpenDocument: the first sheet with a table, and those with the same columns; "
        "`book.xlsx#Sheet` is another",
        open_excel,
        (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
        starts=(b"\xd0\xcf\x11\xe0",),
        knows=_is_workbook,
        may_be=lambda head, named: False,
        called="Excel, OpenDocument",
        binary=True,
        packed=False,
        has_parts=True,
        rank=1,
        seeds=("xlsx", "ods"),
    ),
)
