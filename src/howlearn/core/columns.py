"""Tables: their columns, declared once in tables.toml, and CSV that a spreadsheet may open."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

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


# Tables as CSV that a spreadsheet may open: no name in them is taken for a formula.
#
# A spreadsheet runs what begins with = + - or @ as a formula, and data come from strangers. Text
# like that, unless it is a number, has an apostrophe before it in CSV files, which spreadsheets
# take as text; ``read_csv`` takes the apostrophe off again. Text that already begins with
# apostrophes and then so gets one more, so that every name comes back as it was.


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
# Wide forms of the signs are signs to some spreadsheets, and so are lines that a cell begins with.
_FORMULA = "^'*[=+@\\-\t\r\n＝＋－＠]"
_NUMBER = r"^'*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def guarded(frame: Frame) -> Frame:
    """The table with an apostrophe before what a spreadsheet would run, names of columns included.

    >>> guarded(pl.DataFrame({"@name": ["=1+1", "-2", "'=x", "a"]})).to_dict(as_series=False)
    {"'@name": ["'=1+1", '-2', "''=x", 'a']}
    """
    schema = frame.collect_schema()
    changed = []
    for name in [name for name, kind in schema.items() if _is_text(kind)]:
        column = column_named(name).cast(pl.String)
        runs = column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)
        changed.append(pl.when(runs).then("'" + column).otherwise(column).alias(name))
    return _renamed(frame.with_columns(changed), {name: guard(name) for name in schema})


def unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """The table as it was before ``guarded``.

    >>> unguarded(guarded(pl.DataFrame({"@name": ["=1+1", "'=x", "'a"]}))).to_dict(as_series=False)
    {'@name': ['=1+1', "'=x", "'a"]}
    """
    changed = []
    for name in [name for name, kind in frame.schema.items() if kind == pl.String]:
        column = column_named(name)
        runs = column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)
        ours = column.str.starts_with("'") & runs
        changed.append(pl.when(ours).then(column.str.slice(1)).otherwise(column).alias(name))
    return _renamed(frame.with_columns(changed), {name: unguard(name) for name in frame.columns})


def guard(text: str) -> str:
    """One text as ``guarded`` writes it.

    >>> guard("-1"), guard("-1+2"), guard("a-b")
    ('-1', "'-1+2", 'a-b')
    """
    return f"'{text}" if _runs(text) else text


def unguard(text: str) -> str:
    """One text as it was.

    >>> unguard("'-1+2"), unguard("'-1"), unguard("'tis")
    ('-1+2', "'-1", "'tis")
    """
    return text[1:] if text.startswith("'") and _runs(text) else text


def write_csv(frame: pl.DataFrame | pl.LazyFrame, file: Path) -> None:
    """Write a table for people."""
    if isinstance(frame, pl.LazyFrame):
        guarded(frame).sink_csv(file)
    else:
        guarded(frame).write_csv(file)


def read_csv(file: Path, text: Iterable[str] = ()) -> pl.DataFrame:
    """Read a table that ``write_csv`` wrote; ``text`` are columns that are text in any case."""
    types = {guard(name).replace('"', '""'): pl.String for name in text}
    frame = typed_csv(file, types, infer_schema_length=None)
    frame.columns = [name.replace('""', '"') for name in frame.columns]  # polars leaves them so
    return unguarded(frame)


def typed_csv(
    file: Path, types: Mapping[str, pl.DataType | type[pl.DataType]], **options: Any
) -> pl.DataFrame:
    """Read a CSV file; ``types`` are those of its columns of these names, as far as it has them.

    Older polars take as many types as there are columns for the columns themselves, whatever their
    names are: it is told the types of what is there, in the order of the file.
    """
    names = pl.read_csv(file, n_rows=0, infer_schema=False, glob=False).columns
    there = {name: types[name] for name in names if name in types}
    return pl.read_csv(file, schema_overrides=there, glob=False, **options)


def _runs(text: str) -> bool:
    return bool(re.search(_FORMULA, text)) and not re.fullmatch(_NUMBER[1:-1], text)


def _is_text(kind: pl.DataType) -> bool:
    return kind == pl.String or kind in (pl.Categorical, pl.Enum)


def column_named(name: str) -> pl.Expr:
    """The column of that name, even where polars would take it for a pattern of names."""
    pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return pl.col(f"^{re.escape(name)}$" if pattern else name)


def _renamed(frame: Frame, names: Mapping[str, str]) -> Frame:
    changed = {old: new for old, new in names.items() if old != new}
    return frame.rename(changed) if changed else frame
