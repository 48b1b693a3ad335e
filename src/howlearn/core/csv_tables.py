"""Tables as CSV that a spreadsheet may open: no name in them is taken for a formula.

A spreadsheet runs what begins with = + - or @ as a formula, and data come from strangers. Text like
that, unless it is a number, has an apostrophe before it in CSV files, which spreadsheets take as
text; ``read_csv`` takes the apostrophe off again. Text that already begins with apostrophes and
then so gets one more, so that every name comes back as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

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
