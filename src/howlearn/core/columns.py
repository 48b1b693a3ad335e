"""The columns of every table, declared once in tables.toml: names, types, and what they say."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

KINDS = {"text": pl.String, "number": pl.Float64, "whole number": pl.Int64, "yes or no": pl.Boolean}
FIRST = ("learner", "excluded")  # columns about the learner, before and after conditions and kept
AMONG = "among"  # with --exclude: whether a row is about the included or about all
INPUT = "input_"  # before the name of a column of the input that a table has as its own
# Tables that are rarely asked for: only they give way to a kept column with a name of theirs.
RARE = ("weights", "weights-mean", "leaders")


@dataclass(frozen=True)
class Column:
    """One column; a name with ``*`` stands for several that begin so."""

    name: str
    kind: str  # a key of KINDS
    says: str = ""

    @property
    def begins(self) -> str | None:
        """How the names begin where there are several; None for one column."""
        start, star, _ = self.name.partition("*")
        return start if star else None


@dataclass(frozen=True)
class Schema:
    """The columns of one table; ``row`` says what one row is about."""

    name: str  # of the table, and of its file
    row: str
    columns: tuple[Column, ...]
    labelled: bool = False  # whether columns about the learner stand first

    @property
    def types(self) -> dict[str, type[pl.DataType]]:
        """The types of the columns that are always there, in their order."""
        return {c.name: KINDS[c.kind] for c in self.columns if c.begins is None}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are always there, in their order."""
        return tuple(self.types)

    def frame(self, columns: Mapping[str, Any]) -> pl.DataFrame:
        """The table of these columns, in the declared order; what is None or absent is empty.

        One value stands in all rows. A column that is not declared, such as the place of the
        learner, stands first.

        >>> of("deviations").frame({"done": ["aic"], "what": ["criterion"]}).rows()
        [('criterion', None, 'aic')]
        """
        one = (str, float, int)  # a plain value would leave an empty table without types
        same = {n: v for n, v in columns.items() if v is None or isinstance(v, one)}
        given = pl.DataFrame(
            {name: v for name, v in columns.items() if name not in same},
            schema_overrides={n: self.types[n] for n, v in columns.items() if isinstance(v, list)},
        )
        more = [name for name in given.columns if name not in self.types]
        filled = [
            pl.lit(same.get(name), kind).alias(name)
            for name, kind in self.types.items()
            if name not in given.columns
        ]
        return given.with_columns(filled).select(*more, *self.types)

    def fits(self, frame: pl.DataFrame) -> bool:
        """Whether a table that was read has these columns, with numbers where they belong."""
        if not {*self.names, *FIRST[: self.labelled]} <= {*frame.columns}:
            return False
        text = (pl.String, pl.Boolean)
        numbers = [frame[name] for name, kind in self.types.items() if kind not in text]
        return all(one.dtype.is_numeric() or one.null_count() == len(one) for one in numbers)

    def of_rows(self, rows: Sequence[Any], *more: str) -> pl.DataFrame:
        """The table of rows; ``more`` are whole numbers that stand before the declared columns."""
        return pl.DataFrame(rows, {**dict.fromkeys(more, pl.Int64), **self.types}, orient="row")


@cache
def tables(command: str = "select") -> dict[str, Schema]:
    """The tables that a command writes, by name."""
    return {
        name: Schema(
            name,
            table["row"],
            tuple(Column(key, *about) for key, about in table["columns"].items()),
            table.get("labelled", False),
        )
        for name, table in _declared()[command].items()
    }


def commands() -> list[str]:
    """The commands that write tables."""
    return [*_declared()]


@cache
def _declared() -> dict[str, Any]:
    text = Path(__file__).with_name("tables.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def of(table: str, command: str = "select") -> Schema:
    """The columns of a table.

    >>> of("deviations").names
    ('what', 'planned', 'done')
    """
    return tables(command)[table]


def files(command: str, *endings: str) -> set[str]:
    """The files in which a command leaves its tables.

    >>> sorted(files("plan", "csv"))
    ['pairs.csv', 'plan.csv', 'shares.csv']
    """
    return {f"{table}.{ending}" for table in tables(command) for ending in endings}


def columns_of(command: str) -> set[str]:
    """All columns of a command's tables."""
    return {name for table in tables(command).values() for name in table.names}


def reserved(column: str) -> bool:
    """Whether the results have a column of that name.

    >>> reserved("model"), reserved("model_aic"), reserved("group")
    (True, True, False)
    """
    names, beginnings = _reserved()
    return column in names or column.startswith(beginnings)


@cache
def _reserved() -> tuple[frozenset[str], tuple[str, ...]]:
    beside = [t for name, t in tables().items() if t.labelled and name not in RARE]
    columns = [c for table in (*beside, of("trials", "simulate")) for c in table.columns]
    names = frozenset((*FIRST, AMONG, *(c.name for c in columns if c.begins is None)))
    return names, tuple(c.begins for c in columns if c.begins is not None)


def free(name: str, taken: Collection[str], before: str = INPUT) -> str:
    """The name, with something before it as often as another has it already.

    >>> free("model", {"model", "input_model"})
    'input_input_model'
    """
    while name in taken:
        name = before + name
    return name


def renamed(frame: pl.DataFrame, taken: Collection[str]) -> pl.DataFrame:
    """Columns of the input; those with the name of a table's own column are called input_NAME.

    >>> renamed(pl.DataFrame({"model": [1], "rt": [2]}), {"model"}).columns
    ['input_model', 'rt']
    """
    names = {*taken, *frame.columns}
    new: dict[str, str] = {}
    for name in frame.columns:
        if name in taken:
            new[name] = free(name, names)
            names.add(new[name])
    return frame.rename(new)
