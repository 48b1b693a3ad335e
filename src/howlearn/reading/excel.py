"""Spreadsheets: .xlsx, .xlsb, .xls and .ods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.errors import DataError, Problem
from howlearn.reading.sniffing import refused
from howlearn.reading.table import INSIDE, Held, distinct_names, one_of

LOOKED_AT = 60  # rows among which the names of the columns are sought
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"
_FULL = 0.6  # of the columns have a name in the row of the names


def open_excel(path: Path, inside: str | None = None) -> list[Held]:
    """The sheets that are read: the first with a table, and those with the same columns."""
    with _damaged(path):
        import fastexcel

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
    if others:
        notes.append(
            f"of its sheets {', '.join(s for s, *_ in alike)} was read; another is named as "
            f"{path.name}{INSIDE}{others[0]}"
            if len(alike) == 1
            else f"the sheets {', '.join(others)} have other columns and were not read"
        )
    return [
        Held(
            f"{path}{INSIDE}{sheet}" if several else str(path),
            sheet if len(alike) > 1 else path.stem,
            frame,
            f"Excel, sheet {sheet}",
            first_row,
            notes if i == 0 else (),
        )
        for i, (sheet, frame, first_row) in enumerate(alike)
    ]


def _table(book: Any, sheet: str) -> tuple[pl.DataFrame, int] | None:
    """The table of a sheet, and the row where its data start; None where there is none."""
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
    kept = [
        _column(name, values)
        for name, values in zip(names, rows.get_columns(), strict=True)
        if name or values.null_count() < rows.height
    ]
    return (pl.DataFrame(kept), header + 2) if rows.height else None


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


def _column(name: str, values: pl.Series) -> pl.Series:
    values = values.alias(name).str.replace(_MIDNIGHT, "$1")
    there = values.drop_nulls()
    if len(there) and there.is_in(["true", "false"]).all():
        return values == "true"
    return values


def _there(value: str | None) -> str | None:
    return value if value is not None and value.strip() else None


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """Whatever the library says about a broken file is one sentence."""
    try:
        yield
    except (DataError, OSError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a broken file may even panic
        if isinstance(error, SystemExit | GeneratorExit):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise refused(path, f"a spreadsheet that cannot be read ({reason})") from None
