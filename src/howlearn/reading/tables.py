"""From whatever the user points at to tables: files, folders and data frames look alike here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from howlearn.errors import DataError, HowlearnError, Problem
from howlearn.reading.delimited import Delimited
from howlearn.reading.frames import Frame
from howlearn.reading.labels import natural_key
from howlearn.reading.parquet import Parquet

DELIMITED = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
OTHER_FORMATS = [
    ".xlsx",
    ".xls",
    ".ods",
    ".sav",
    ".dta",
    ".sas7bdat",
    ".rds",
    ".rdata",
    ".rda",
    ".mat",
    ".json",
    ".jsonl",
    ".xml",
    ".pkl",
    ".npy",
    ".npz",
    ".feather",
    ".arrow",
    ".h5",
    ".hdf5",
    ".zip",
    ".gz",
    ".pdf",
    ".html",
    ".docx",
]


class Table(Protocol):
    """One file or data frame: its columns are known at once, its rows come in frames."""

    name: str  # as messages show it
    stem: str
    columns: tuple[str, ...]
    first_row: int  # of the data, as a spreadsheet counts

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows of the named columns; raises DataError where they cannot be read."""
        ...


def open_tables(source: Any) -> tuple[list[Table], list[Problem]]:
    """The tables of a source that can be opened, and what is wrong with the others."""
    if isinstance(source, str | PathLike):
        paths = [Path(source)]
    elif isinstance(source, Iterable) and not hasattr(source, "columns"):
        paths = _paths(list(source))
    else:
        return [Frame(source)], []
    tables: list[Table] = []
    problems: list[Problem] = []
    for path in [file for given in paths for file in _expanded(given, problems)]:
        try:
            tables.append(_open(path))
        except DataError as error:
            problems += error.problems
    return tables, problems


def learner_names(tables: Sequence[Table]) -> list[str]:
    """Each file's stem; where stems collide, the folder stands before them."""
    times = Counter(table.stem for table in tables)
    names = [
        table.stem if times[table.stem] == 1 else f"{Path(table.name).parent.name}/{table.stem}"
        for table in tables
    ]
    again = Counter(names)
    return [
        name if again[name] == 1 else table.name for name, table in zip(names, tables, strict=True)
    ]


def _paths(items: list[Any]) -> list[Path]:
    if not items:
        raise HowlearnError("no file was given")
    if not all(isinstance(item, str | PathLike) for item in items):
        raise HowlearnError("a list of files may hold paths only")
    return [Path(item) for item in items]


def _expanded(path: Path, problems: list[Problem]) -> list[Path]:
    """A folder stands for the data files directly inside."""
    try:
        if not path.is_dir():
            return [path]
        inside = sorted(path.iterdir(), key=lambda inner: natural_key(inner.name))
    except (OSError, ValueError) as error:
        problems.append(_unreadable(path, error))
        return []
    files = [
        inner
        for inner in inside
        if inner.suffix.lower() in DELIMITED + PARQUET
        and not inner.name.lower().startswith((".", "readme", "license"))
    ]
    if not files:
        allowed = "at least one .csv, .tsv, .txt or .parquet file directly inside"
        problems.append(Problem(str(path), None, None, "a folder without data files", allowed))
    return files


def _open(path: Path) -> Table:
    suffix = path.suffix.lower()
    if suffix in OTHER_FORMATS and path.exists():
        remedy = "save it as CSV UTF-8, or read it into a data frame"
        raise DataError(
            [Problem(str(path), None, None, f"a {suffix} file", "CSV, TSV or Parquet", remedy)]
        )
    try:
        return Parquet(path) if suffix in PARQUET else Delimited(path)
    except (OSError, ValueError) as error:
        raise DataError([_unreadable(path, error)]) from None


def _unreadable(path: Path, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(path), None, None, "no such file", "a file or a folder that exists")
    reason = getattr(error, "strerror", None) or str(error)
    found = f"a file that cannot be read ({reason})"
    return Problem(str(path), None, None, found, "a file that may be read")
