"""Which tables of a folder belong together, and what their columns are called in all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import polars as pl

from howlearn.core.errors import DataError
from howlearn.reading.columns import guess
from howlearn.reading.formats.table import Extended, Table, Wrapped
from howlearn.reading.problems import listed

ROLES = ("action", "reward", "context", "learner", "trial")


class Respelled(Wrapped):
    """A table some of whose columns are called as another file spells them."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        super().__init__(table)
        self.columns = tuple(columns)
        self._own = dict(zip(columns, table.columns, strict=True))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The table's frames under the other names."""
        for frame in self.table.frames([self._own[name] for name in columns]):
            frame.columns = list(columns)
            yield frame


def own(table: Table) -> Table:
    """The table as its file has it, without other spellings and what the file's name adds."""
    while isinstance(table, Extended | Respelled):
        table = table.table
    return table


def spelled_alike(tables: Sequence[Table]) -> tuple[list[Table], list[str]]:
    """The tables with columns that differ in case only called as in the first file; and notes."""
    exact: set[str] = set()
    known: dict[str, str] = {}
    found: list[Table] = []
    changed: dict[str, str] = {}
    for table in tables:
        if exact.issuperset(table.columns):  # nearly always
            found.append(table)
            continue
        here = set(table.columns)
        columns = []
        for name in table.columns:
            usual = known.get(name.casefold(), name)
            new = name if name in exact or usual in here else usual
            if new != name:
                here.add(new)
                changed.setdefault(name, new)
            columns.append(new)
        found.append(table if columns == list(table.columns) else Respelled(table, columns))
        exact.update(columns)
        for name in columns:
            known.setdefault(name.casefold(), name)
    pairs = listed([f"{name} as {new}" for name, new in changed.items()])
    return found, [f"columns that some files spell otherwise were read: {pairs}"] if pairs else []


def strays(tables: Sequence[Table], told: Collection[str] = ()) -> list[Table]:
    """The tables without any column of the others, where it is clear which are the study's.

    These have the columns that options name (``told``), or those whose names tell most roles.
    """
    groups: list[tuple[set[str], list[Table]]] = []
    for table in tables:
        names = {name.casefold() for name in table.columns if name}
        if groups and names and names <= groups[0][0]:  # nearly always
            groups[0][1].append(table)
            continue
        joined = [group for group in groups if group[0] & names]
        apart = [group for group in groups if not group[0] & names]
        whole = names.union(*(group[0] for group in joined))
        groups = [(whole, [*(one for group in joined for one in group[1]), table]), *apart]
    if len(groups) < 2:
        return []
    ranks = [_rank(members, told) for _, members in groups]
    if ranks.count(max(ranks)) > 1:
        return []
    study = {id(table) for table in groups[ranks.index(max(ranks))][1]}
    return [table for table in tables if id(table) not in study]


def _rank(tables: Sequence[Table], told: Collection[str]) -> tuple[int, int, int]:
    named = max(sum(name in told for name in table.columns) for table in tables)
    roles = max(sum(bool(guess(role, table.columns)) for role in ROLES) for table in tables)
    return named, roles, len(tables)


def shares_columns(table: Table, tables: Sequence[Table]) -> bool:
    """Whether a table has a column of one of the others."""
    return any(not {*table.columns}.isdisjoint(one.columns) for one in tables)


def continues(table: Table, tables: Sequence[Table]) -> bool:
    """Whether a table has the columns of the others, and learners whom they have not."""
    if not tables or not {*tables[0].columns} <= {*table.columns}:
        return False
    owners = guess("learner", tables[0].columns)
    if not owners:
        return all(table.stem != one.stem for one in tables)
    try:
        new = _values(table, owners[0])
        return all(new.isdisjoint(_values(one, owners[0])) for one in tables)
    except DataError:  # told when the rows are read
        return False


def _values(table: Table, column: str) -> set[str]:
    if column not in table.columns:
        return set()
    found = [frame[column].drop_nulls().unique() for frame in table.frames([column])]
    return {str(value) for values in found for value in values.to_list()}
