"""Spreadsheets: .xlsx, .xlsb, .xls and .ods."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import ZIP, names_in, no_damage, no_panic
from howlearn.reading.formats.table import INSIDE, Held, distinct_names, one_of, told_twice
from howlearn.reading.formats.text_layout import (
    ABOVE,
    LABELS_NOTE,
    TWO_ROWS,
    Heads,
    described,
    heads_of,
    is_data,
    rows_of_labels,
)
from howlearn.reading.formats.workbook_sizes import OLE, Room, checked_room

LOOKED_AT = 60  # rows among which the names of the columns are sought
_MIDNIGHT = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) 00:00:00$"
_FULL = 0.6  # of the columns have a name in the row of the names


def open_excel(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Held]:
    """The sheets that are read: the first with a table, and those with the same columns."""
    with no_damage(path, "a spreadsheet", (OSError, MemoryError)), no_panic():
        import fastexcel

        _without_remarks()
        room = checked_room(path)
        book = fastexcel.read_excel(path.read_bytes())
        sheets, named = one_of(path, inside, book.sheet_names, "sheet")
        tables = [(sheet, _table(book, sheet, room)) for sheet in sheets]
    found = [(sheet, table) for sheet, table in tables if table is not None]
    if not found:
        allowed = "a sheet with the names of the columns, then one row per trial"
        raise DataError([Problem(str(path), None, None, "no sheet with a table", allowed)])
    alike = _alike(found)
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
    read = []
    for i, (sheet, table) in enumerate(alike):
        name = f"{path}{INSIDE}{sheet}" if several else str(path)
        own = [*table.notes, *([told_twice(table.twice)] if table.twice else [])]
        stem = sheet if several else path.stem
        kind, told = f"Excel, sheet {sheet}", [*(notes if i == 0 else ()), *own]
        held = Held(name, stem, table.frame, kind, table.first_row, told, table.twice, table.bare)
        held.about = table.about
        read.append(held)
    return read


def _alike(found: Sequence[tuple[str, _Sheet]]) -> list[tuple[str, _Sheet]]:
    """The first sheet and those with its columns, unless others are a learner each."""
    groups: dict[frozenset[str], list[tuple[str, _Sheet]]] = {}
    for each in found:
        groups.setdefault(frozenset(each[1].frame.columns), []).append(each)
    first, *rest = groups.values()
    rows = {id(group): sum(sheet.frame.height for _, sheet in group) for group in groups.values()}
    many = max(rest, key=lambda group: rows[id(group)], default=first)
    return many if len(many) > len(first) and rows[id(many)] > rows[id(first)] else first


class _Sheet(NamedTuple):
    frame: pl.DataFrame
    first_row: int  # of the data
    twice: tuple[str, ...]  # names of several columns
    bare: tuple[str, ...] = ()  # columns without names
    about: Mapping[str, Mapping[str, str]] = {}
    notes: tuple[str, ...] = ()


def _table(book: Any, sheet: str, room: Room) -> _Sheet | None:
    """The table of a sheet, or None."""
    cells: pl.DataFrame = book.load_sheet(
        sheet, header_row=None, skip_rows=0, dtypes="string"
    ).to_polars()
    room.take(cells.height * cells.width)  # several names may be of one sheet
    places = [i for i, nulls in enumerate(cells.null_count().row(0)) if nulls < cells.height]
    cells = cells[:, places]  # of columns with nothing in them there may be thousands
    if cells.height < 2 or cells.width < 2:
        return None
    head = [[_there(value) for value in row] for row in cells.head(LOOKED_AT).rows()]
    widest = max(sum(value is not None for value in row) for row in head)
    if widest < 2:
        return None
    shown = [[value or "" for value in row] for row in head]
    heads = heads_of(shown)
    if heads is None and (labels := rows_of_labels(shown[1:])) and _names(head[0]) == cells.width:
        heads = Heads(0, 1 + labels, tuple(shown[0]), tuple(shown[1]))
    if heads is not None:
        return _below(cells, heads)
    named = [i for i, row in enumerate(head) if _names(row) >= max(2, _FULL * widest)]
    header = named[0] if named else [sum(v is not None for v in row) for row in head].index(widest)
    bare = not named and is_data([v or "" for v in head[header]], head[header + 1 :])
    counted = [str(i + 1) for i in places]
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


def _below(cells: pl.DataFrame, heads: Heads) -> _Sheet:
    """The table below names that are not simply the first row."""
    start = heads.above + heads.rows
    values = zip(distinct_names(heads.names), _values(cells[start:]), strict=True)
    kept = [v.alias(name) for name, v in values if name or v.null_count() < len(v)]
    twice = [name for name, times in Counter(heads.names).items() if name and times > 1]
    about = described(heads.names, heads.labels)
    note = LABELS_NOTE if about else TWO_ROWS if heads.rows > 1 else ABOVE.format(heads.above + 1)
    return _Sheet(pl.DataFrame(kept), start + 1, tuple(twice), about=about, notes=(note,))


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
    height, columns = rows.height, rows.get_columns()
    days = pl.concat([c.alias("") for c in columns], rechunk=True).str.replace(_MIDNIGHT, "$1")
    told = days.is_not_null().to_numpy().reshape(-1, height)
    words = days.is_in(["true", "false"]).fill_null(True).to_numpy().reshape(-1, height)
    switches = np.logical_and(words.all(axis=1), told.any(axis=1))
    parts = (days.slice(i * height, height) for i in range(len(columns)))
    return [
        values == "true" if switch else values
        for values, switch in zip(parts, switches, strict=True)
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
        starts=(OLE[:4],),
        knows=_is_workbook,
        may_be=lambda head, named: False,
        called="Excel, OpenDocument",
        binary=True,
        packed=False,
        has_parts=True,
        rank=1,
        seeds=("xlsx", "xlsb", "xls", "ods"),
    ),
)
