"""Spreadsheets: .xlsx, .xlsb, .xls and .ods."""

from __future__ import annotations

import logging
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.extents import check_extents
from howlearn.reading.panics import no_panic
from howlearn.reading.sniffing import refused
from howlearn.reading.table import INSIDE, Held, distinct_names, one_of, told_twice

LOOKED_AT = 60  # rows among which the names of the columns are sought
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"
_FULL = 0.6  # of the columns have a name in the row of the names


def open_excel(path: Path, inside: str | None = None) -> list[Held]:
    """The sheets that are read: the first with a table, and those with the same columns."""
    with _damaged(path):
        import fastexcel

        _without_remarks()
        if zipfile.is_zipfile(path):
            check_extents(path)
        book = fastexcel.read_excel(path.read_bytes())
        sheets, named = one_of(path, inside, book.sheet_names, "sheet")
        tables = [(sheet, _table(book, sheet)) for sheet in sheets]
    found = [(sheet, *table) for sheet, table in tables if table is not None]
    if not found:
        allowed = "a sheet with the names of the columns, then one row per trial"
        raise DataError([Problem(str(path), None, None, "no sheet with a table", allowed)])
    columns = set(found[0][1].columns)
    alike = [table for table in found if set(table[1].columns) == columns]
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
            frame,
            f"Excel, sheet {sheet}",
            first_row,
            [*(notes if i == 0 else ()), *([told_twice(twice)] if twice else [])],
            twice,
        )
        for i, (sheet, frame, first_row, twice) in enumerate(alike)
    ]


def _table(book: Any, sheet: str) -> tuple[pl.DataFrame, int, list[str]] | None:
    """The table of a sheet, the row where its data start, names that come twice; or None."""
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
    names = distinct_names(head[header])
    rows = cells[header + 1 :]
    if not rows.height:
        return None
    kept = [
        values.alias(name)
        for name, values in zip(names, _values(rows), strict=True)
        if name or values.null_count() < rows.height
    ]
    twice = [name for name, times in Counter(head[header]).items() if name and times > 1]
    return pl.DataFrame(kept), header + 2, twice


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


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Whatever the library says about a broken file is one sentence."""
    try:
        with no_panic():
            yield
    except (DataError, OSError, MemoryError):
        raise
    except Exception as error:  # a broken file may raise anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise refused(path, f"a spreadsheet that cannot be read ({reason})") from None
