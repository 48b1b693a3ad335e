"""One file per quantity: choices, wins and losses, each a table of learners × trials."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, HowlearnError, Problem
from howlearn.reading.columns import guess, named_like
from howlearn.reading.formats.levels import LEARNER, TRIAL, Look, Unclear
from howlearn.reading.formats.nested import whole_table
from howlearn.reading.formats.table import Held, Table
from howlearn.reading.formats.wide import ENOUGH, numbered
from howlearn.reading.option_texts import parse_wide
from howlearn.reading.options import ReadOptions
from howlearn.reading.problems import listed

FEWEST = 2  # columns that a pattern must find in one table
_DIGITS = re.compile(r"[0-9]{1,7}")
_NUMBERS = re.compile(r"[\s_.\-]*[0-9]+$")
EXAMPLE = '--wide "action=choice_*; reward=win_* + loss_*"'


@dataclass(frozen=True)
class Grid:
    """A table in which every row is a learner and every column a trial."""

    table: Table
    name: str  # of the quantity
    columns: tuple[str, ...]  # of the trials, in their order
    owner: str | None  # the column that names the rows
    certain: bool  # whether the names of the columns count the trials

    def values(self) -> tuple[np.ndarray[Any, Any], list[str] | None]:
        """The values, and the names of the rows."""
        wanted = [*self.columns, *([self.owner] if self.owner is not None else [])]
        frame = pl.concat(list(self.table.frames(wanted)))
        columns = [frame.to_series(i).to_numpy() for i in range(len(self.columns))]
        owners = None if self.owner is None else frame.to_series(-1).cast(pl.String).to_list()
        return np.array(columns, dtype=object).T, [str(o) for o in owners] if owners else None


def put_together(
    tables: Sequence[Table], options: ReadOptions | None, notes: list[str]
) -> list[Table]:
    """The tables as they are, or one per set of files that are quantities of the same trials."""
    options = options or ReadOptions()
    if options.wide is not None:
        return _as_told(tables, options, notes)
    found = [grid for table in tables if (grid := _grid(table)) is not None]
    if len({grid.name for grid in found}) == 1 and len(found) > 1:  # t1, t2 … in every file
        found = [replace(grid, name=_NUMBERS.sub("", grid.table.stem)) for grid in found]
    names = {grid.name for grid in found}
    sets = _sets(found)
    if len(names) < FEWEST or any(len(each) != len(names) for each in sets.values()):
        _suggest(tables, notes)
        return list(tables)
    certain = all(grid.certain for grid in found)
    chosen, earned = (bool(named_like(role, [*names])) for role in ("action", "reward"))
    left = [table for table in tables if not any(grid.table is table for grid in found)]
    trials = any(all(guess(r, t.columns) for r in ("action", "reward")) for t in left)
    if trials or not chosen or not (certain or earned):
        if certain and not trials:
            _suggest([grid.table for grid in found], notes)
        return list(tables)
    shown = listed([f"{grid.name} ({Path(grid.table.name).name})" for grid in found])
    notes.append(f"each file is one quantity of the same trials: {shown}")
    return _all_joined(sets, left, options, notes)


def _suggest(tables: Sequence[Table], notes: list[str]) -> None:
    """Files with the same columns, none of which is a role, but perhaps the files are."""
    stems = [table.stem for table in tables]
    called = {role: [*named_like(role, stems)] for role in ("action", "reward")}
    alike = len({tuple(table.columns) for table in tables}) == 1
    two = len(stems) == 2 and all(len(each) == 1 for each in called.values())
    if alike and (two or all(_grid(table) is not None for table in tables[:2])) and stems[1:]:
        names = {role: each[0] if len(each) == 1 else "FILE" for role, each in called.items()}
        files = "; ".join(f"{role}={name}.*" for role, name in names.items())
        notes.append(
            f'the files may be one quantity each: --wide "{files}" joins them (with --axes '
            "trial,learner where every row is a trial and every column a learner)"
        )


def _all_joined(
    sets: Mapping[str, Sequence[Grid]],
    left: Sequence[Table],
    options: ReadOptions,
    notes: list[str],
) -> list[Table]:
    """One table for each set of files; learners of one name in several sets are different ones."""
    if left:
        files = listed([Path(table.name).name for table in left])
        notes.append(f"files that are not quantities were left out: {files}")
    joined: list[Table] = []
    for key, grids in sets.items():
        joined.append(_joined(grids[0].table.name, grids, options, notes, key * (len(sets) > 1)))
    return joined


def _sets(grids: Sequence[Grid]) -> dict[str, list[Grid]]:
    """Files that differ by their quantity only, as choice_95 and win_95 do."""
    found: dict[str, list[Grid]] = {}
    for grid in grids:
        number = _NUMBERS.search(grid.table.stem)
        found.setdefault(number[0].strip("_.- ") if number else "", []).append(grid)
    return found


def _grid(table: Table) -> Grid | None:
    """A table whose columns are nearly all trials of one quantity; None for another."""
    stem = _NUMBERS.sub("", table.stem)
    if table.bare:
        many = len(table.columns) >= ENOUGH or len(table.columns) == 1
        return Grid(table, stem, tuple(table.columns), None, False) if many else None
    found = _family(tuple(table.columns))
    if found is None:
        return None
    name, columns, rest = found
    return Grid(table, name or stem, columns, rest, True)


@lru_cache(256)
def _family(columns: tuple[str, ...]) -> tuple[str, tuple[str, ...], str | None] | None:
    """The name of the quantity that columns count, those columns, and the one that names rows."""
    if len(columns) < ENOUGH:
        return None
    families: dict[str, dict[int, str]] = {}
    for column in columns:
        name, number = ("", column) if _DIGITS.fullmatch(column) else numbered(column)
        if _DIGITS.fullmatch(number):
            families.setdefault(name, {})[int(number)] = column
    if len(families) != 1:
        return None
    [(name, family)] = families.items()
    trials = {*family.values()}
    rest = [column for column in columns if column not in trials]
    if len(family) < ENOUGH or len(rest) > 1:
        return None
    return name, tuple(family[number] for number in sorted(family)), rest[0] if rest else None


def _as_told(tables: Sequence[Table], options: ReadOptions, notes: list[str]) -> list[Table]:
    """The quantities that --wide names, from files or from columns."""
    assert options.wide is not None
    patterns, _ = parse_wide(options.wide)
    matched = {name: [t for t in tables if _matches(t, p)] for name, p in patterns.items()}
    if not any(matched.values()):
        return [_of_columns(table, patterns, options) for table in tables]
    for name, pattern in patterns.items():
        if not matched[name]:
            there = listed([Path(table.name).name for table in tables])
            raise HowlearnError(f"--wide: no file is called {pattern}; the files: {there}")
    sets: dict[str, list[Grid]] = {}
    for name, found in matched.items():
        for table in found:
            number = _NUMBERS.search(table.stem) if len(found) > 1 else None
            key = number[0].strip("_.- ") if number else ""
            sets.setdefault(key, []).append(_whole_grid(table, name))
    for key, each in sets.items():
        lacking = [name for name in patterns if name not in {grid.name for grid in each}]
        if lacking:
            raise HowlearnError(f"--wide: of the files {key or '…'} there is none for {lacking[0]}")
    used = {id(table) for found in matched.values() for table in found}
    left = [table for table in tables if id(table) not in used]
    return _all_joined(sets, left, options, notes)


def _matches(table: Table, pattern: str) -> bool:
    path, wanted = Path(table.name), pattern.lower()
    return any(fnmatchcase(name.lower(), wanted) for name in (path.name, path.stem, table.stem))


def _whole_grid(table: Table, name: str) -> Grid:
    """A table that is one quantity since the user says so."""
    found = _grid(table)
    if found is not None:
        return Grid(table, name, found.columns, found.owner, found.certain)
    owners = guess(LEARNER, table.columns)[:1] or [c for c in table.columns[:1] if not c]
    columns = tuple(column for column in table.columns if column not in owners)
    return Grid(table, name, columns, owners[0] if owners else None, False)


def _of_columns(table: Table, patterns: Mapping[str, str], options: ReadOptions) -> Table:
    """A wide table whose columns the patterns name."""
    families: dict[str, dict[int, str]] = {}
    for name, pattern in patterns.items():
        found = [c for c in table.columns if fnmatchcase(c.lower(), pattern.lower())]
        if len(found) < FEWEST:
            raise HowlearnError(
                f"--wide: no file and no columns are called {pattern}; the columns of "
                f"{table.name}: {listed([c for c in table.columns if c])}"
            )
        numbers = [numbered(c)[1] for c in found]
        if len({*filter(_DIGITS.fullmatch, numbers)}) < len(found):
            numbers = [str(i) for i in range(1, len(found) + 1)]  # in the order of the columns
        families[name] = {int(number): c for number, c in zip(numbers, found, strict=True)}
    used = {column for family in families.values() for column in family.values()}
    rest = [column for column in table.columns if column not in used]
    owners = guess(LEARNER, rest)[:1] or [column for column in rest[:1] if not column]
    grids = [
        Grid(table, n, tuple(f[i] for i in sorted(f)), owners[0] if owners else None, True)
        for n, f in families.items()
    ]
    beside = [c for c in rest if c and c not in owners]
    return _joined(table.name, grids, options, [], beside=beside)


def _joined(
    name: str,
    grids: Sequence[Grid],
    options: ReadOptions,
    notes: list[str],
    key: str = "",
    beside: Sequence[str] = (),
) -> Held:
    """The trials of several quantities, one row each."""
    read = [(grid, *grid.values()) for grid in grids]
    owners = next((owners for _, _, owners in read if owners), None)
    by_name = all(o and len({*o}) == len(o) for _, _, o in read)
    value: dict[str, Any] = {}
    if owners is None and key:
        owners = [str(i + 1) for i in range(len(read[0][1]))]
    if owners is not None:
        labels = [f"{key}/{owner}" if key else owner for owner in owners]
        value[LEARNER] = np.array(labels, dtype=object)
    for column in beside:
        frame = pl.concat(list(grids[0].table.frames([column])))
        value[column] = np.array(frame.to_series().to_list(), dtype=object)
    for grid, values, mine in read:
        if by_name and mine is not None and owners is not None and mine != owners:
            values = _in_order(grid, values, mine, owners, read[0][0])
        value[grid.name] = values[:, 0] if values.shape[1] == 1 else values
    shapes = {np.shape(v) for n, v in value.items() if n in {g.name for g in grids}}
    if len(shapes) > 1:
        sizes = [f"{Path(g.table.name).name} ({v.shape[0]} × {v.shape[1]})" for g, v, _ in read]
        found = f"quantities of different size: {listed(sizes)}"
        raise DataError([Problem(name, None, None, found, "the same learners and trials", EXAMPLE)])
    if len({grid.table.name for grid in grids}) > 1:
        told = (
            "the rows of the files were joined by their names"
            if by_name
            else "the rows of the files have no names, and were joined in their order"
        )
        notes += [told] if told not in notes else []
    certain = all(grid.certain for grid in grids) and len(grids[0].columns) > 1
    axes = options.axes or ((LEARNER, TRIAL) if certain else ())
    look = Look(tuple(axes), options.padding)
    try:
        frame = whole_table(value, look)
    except Unclear as unclear:
        raise DataError([unclear.problem(name)]) from None
    if frame is None:
        raise DataError([Problem(name, None, None, "no trials", "learners × trials", EXAMPLE)])
    kind = f"{grids[0].table.format}, one row per learner, rows counted as trials"
    table = Held(name, Path(name).stem, frame, kind, 1, look.told())
    table.again = lambda axes, padding: [table]  # they were heard already
    return table


def _in_order(
    grid: Grid, values: np.ndarray[Any, Any], mine: list[str], owners: list[str], first: Grid
) -> np.ndarray[Any, Any]:
    """The rows of a file in the order of the first file."""
    place = {owner: i for i, owner in enumerate(mine)}
    lacking = [owner for owner in owners if owner not in place]
    more = [owner for owner in mine if owner not in {*owners}]
    if lacking or more:
        odd = (lacking or more)[0]
        file, other = (grid, first) if lacking else (first, grid)
        found = f"no row {odd}, which {Path(other.table.name).name} has"
        allowed = "the same rows in the files of all quantities"
        raise DataError([Problem(file.table.name, None, None, found, allowed, EXAMPLE)])
    return values[[place[owner] for owner in owners]]
