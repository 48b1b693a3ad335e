"""What the user says about the shape of data: names of columns, axes of arrays, padding."""

from __future__ import annotations

from collections.abc import Sequence

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.core.text import shortened
from howlearn.reading.formats.folders import Respelled
from howlearn.reading.formats.levels import check_axes, no_levels
from howlearn.reading.formats.table import Asking, Table, distinct_names
from howlearn.reading.formats.wide import texts
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed

HEADER = "header"  # --names header: the first row has the names, whatever it looks like
BY_NUMBER = ("learner", "context", "action", "reward", "trial")  # may name a column by its number
ROWS_SHOWN = 3  # of a table without names
LONGEST_ROW = 80  # letters of such a row


def shaped(tables: Sequence[Table], options: ReadOptions | None) -> list[Table]:
    """The tables of a file as the options say that they are; DataError where something is asked."""
    options = options or ReadOptions()
    if options.axes or options.padding is not None:
        for table in tables:
            if table.again is None:
                raise no_levels(table.name)
    said = {*texts(getattr(options, name) for name in BY_NUMBER)}
    return [_named(table, options.names, not said.isdisjoint(table.bare)) for table in tables]


def arranged(tables: Sequence[Table], options: ReadOptions | None) -> Sequence[Table]:
    """The tables of one file with the axes and the padding that the options name."""
    if options is None or not (options.axes or options.padding is not None):
        return tables
    check_axes(options.axes)
    again = next((table.again for table in tables if table.again is not None), None)
    return tables if again is None else again(options.axes, options.padding)


def _named(table: Table, names: Sequence[str], by_number: bool) -> Table:
    if isinstance(table, Asking):
        raise DataError([table.question])
    if tuple(names) == (HEADER,):
        return table if table.with_header is None else table.with_header()
    if not names:
        if table.bare and not by_number:
            raise DataError([_question(table)])
        return table
    unnamed = list(table.bare or table.columns)
    if len(names) != len(unnamed):
        found = f"{len(unnamed)} columns ({_first_rows(table) or listed(unnamed)})"
        allowed = f"as many as --names has: {len(names)} ({listed(list(names))})"
        raise DataError([Problem(table.name, None, None, found, allowed, "--names NAME,NAME,…")])
    if len({*names}) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise HowlearnError(f"--names: {twice} stands there twice; each column needs its own name")
    rest = [name for name in table.columns if name not in unnamed]
    others = dict(zip(rest, distinct_names([*names, *rest])[len(names) :], strict=True))
    new = {**others, **dict(zip(unnamed, names, strict=True))}
    found = Respelled(table, [new[name] for name in table.columns])
    if not table.bare:
        old = listed([name for name in table.columns if name])
        found.notes = (*table.notes, f"--names stands for the names in its first row: {old}")
    return found


def _question(table: Table) -> Problem:
    """What is asked where nobody knows what the columns are."""
    found = f"no names of columns; the first rows: {_first_rows(table)}"
    names = ",".join(f"NAME{i}" for i in range(1, min(len(table.bare), 4) + 1))
    more = ",…" * (len(table.bare) > 4)
    remedy = (
        f"--names {names}{more} with what each column is, as in "
        "learner,trial,context,action,reward; or its number, as in --action 4 --reward 5"
    )
    if len(table.bare) == 1:
        remedy = '--wide "action=FILE; reward=FILE" where each file is one quantity'
    if table.with_header is not None:
        remedy += f"; --names {HEADER} if the first row has the names"
    allowed = f"a name for {'each column' if len(table.bare) > 1 else 'its column'}"
    return Problem(table.name, None, None, found, allowed, remedy)


def _first_rows(table: Table) -> str:
    """The first rows as a message shows them."""
    if not table.bare:
        return ""
    try:
        frame = next(iter(table.frames(list(table.bare))), None)
    except DataError as error:
        raise error from None
    rows = [] if frame is None else frame.head(ROWS_SHOWN).rows()
    shown = [", ".join("" if v is None else str(v) for v in row) for row in rows]
    return " / ".join(shortened(row, LONGEST_ROW) for row in shown)
