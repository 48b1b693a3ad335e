"""TOML and JSON from strangers: what would take endless time or memory is refused."""

from __future__ import annotations

import errno
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

LARGEST = 2_000_000  # characters of a TOML file, which people write
LARGEST_JSON = 100_000_000  # bytes of a JSON file that howlearn wrote
LARGEST_NUMBER = 2**63  # as both formats' readers agree on
DEEPEST = 50  # tables and lists inside one another
# Python's parser takes quadratic time for a key of many parts.
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"""(?<![\w"'-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEEPEST}}}""")
DEEP = f"it is nested more than {DEEPEST} times"


def text_in(path: Path) -> str:
    """The text of a file in UTF-8; OSError also for a pipe or a device, which may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "a pipe or a device, and no file")
    return path.read_text(encoding="utf-8-sig")  # editors on Windows may write a mark first


def parsed_toml(text: str) -> dict[str, Any]:
    """The content of a TOML file; ValueError says what is wrong with it.

    >>> parsed_toml("files = ['a.csv']")
    {'files': ['a.csv']}
    >>> parsed_toml("a = " + "[" * 10_000)
    Traceback (most recent call last):
    ValueError: it is nested more than 50 times
    """
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} characters")
    if _LONG_KEY.search(text):
        raise ValueError(DEEP)
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError(DEEP) from None
    return _shallow(found)


def read_json(path: Path) -> Any:
    """The content of a JSON file that howlearn wrote; ValueError where it did not."""
    try:
        if path.is_file() and path.stat().st_size > LARGEST_JSON:
            raise ValueError(f"it has more than {LARGEST_JSON:,} bytes")
        return _shallow(json.loads(text_in(path)))
    except RecursionError:
        raise ValueError(DEEP) from None


def _shallow(found: Any) -> Any:
    """The same, or an error: what comes after this may follow it inwards."""
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(DEEPEST):
        each = (one.values() if isinstance(one, dict) else one for one in level)
        inner = [one for several in each for one in several]
        if any(isinstance(one, int) and abs(one) >= LARGEST_NUMBER for one in inner):
            raise ValueError("a number in it is too large")
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return found
    raise ValueError(DEEP)


# --------------------
# The only door for code: the files and modules that the user has named in this very command.
#
# Names of models also stand in what others may have written: the manifest of results, a task file,
# howlearn.toml, a plan. There ``my_file.py:MyModel`` is text and nothing more, unless the user has
# named the same file or module: with ``--model``, or as text that a function of Python is given.


# Around the name of a model: the parentheses of mixtures and partitions, commas, +lapse.
_AROUND = re.compile(r"[(),\[\]]|\+(?=\s*(?:lapse|bias|stickiness)\b)")
_OWN = re.compile(r"\S.*:\s*[^\W\d]\w*", re.S)
_allowed: set[str] = set()
_sealed = False


def own_names(text: str) -> list[str]:
    """The models of a user's own in the text of a model.

    >>> own_names("exp4(my files/a.py:One(ByShape), ByShape, b:Two+lapse)")
    ['my files/a.py:One', 'b:Two']
    """
    parts = (part.strip() for part in _AROUND.split(text))
    return [part for part in parts if _OWN.fullmatch(part)]


def allow(*texts: str) -> None:
    """Let models that these texts name be loaded, which runs the code of their file or module.

    >>> allow("q-learning", "my_module:MyModel+lapse")
    >>> is_allowed("my_module"), is_allowed("another")
    (True, False)
    """
    if _sealed:
        return
    _allowed.update(_place(name.rpartition(":")[0]) for text in texts for name in own_names(text))


def is_allowed(where: str) -> bool:
    """Whether the user has named this file or module."""
    return _place(where) in _allowed


def seal() -> None:
    """Allow no more in this command: the words that follow come from a file."""
    global _sealed
    _sealed = True


def close() -> None:
    """Forget what was allowed: a new command begins."""
    global _sealed
    _sealed = False
    _allowed.clear()


def _place(where: str) -> str:
    """One spelling for a file, however it is reached."""
    where = where.strip()
    return str(Path(where).resolve()) if where.endswith(".py") else where


# --------------------
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
    frame = pl.read_csv(file, schema_overrides=types, infer_schema_length=None, glob=False)
    frame.columns = [name.replace('""', '"') for name in frame.columns]  # polars leaves them so
    return unguarded(frame)


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
