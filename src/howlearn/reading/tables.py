"""From whatever the user points at to tables: files, folders and data frames look alike here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from os.path import realpath
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from howlearn.errors import DataError, HowlearnError, Problem
from howlearn.reading.delimited import Delimited
from howlearn.reading.frames import Frame
from howlearn.reading.labels import natural_key
from howlearn.reading.parquet import Parquet
from howlearn.reading.problems import listed

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


def open_tables(source: Any) -> tuple[list[Table], list[Problem], list[str]]:
    """The tables of a source that can be opened, what is wrong with the others, and notes."""
    if isinstance(source, str | PathLike):
        paths = [Path(source)]
    elif isinstance(source, Iterable) and not (
        hasattr(source, "columns") or isinstance(source, Mapping | bytes)
    ):
        paths = _paths(list(source))
    else:
        return [Frame(source)], [], []
    tables: list[Table] = []
    problems: list[Problem] = []
    notes: list[str] = []
    seen: set[str] = set()
    for path in [file for given in paths for file in _expanded(given, problems, notes)]:
        try:
            tables.append(_open(path, seen))
        except DataError as error:
            problems += error.problems
    return tables, problems, notes


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
        raise HowlearnError(
            "a list of files may hold paths only; several data frames are put together into one "
            "before they are read"
        )
    return [Path(item) for item in items]


def _expanded(path: Path, problems: list[Problem], notes: list[str]) -> list[Path]:
    """A folder stands for the data files directly inside."""
    try:
        if not path.is_dir():
            return [path]
        inside = sorted(path.iterdir(), key=lambda inner: natural_key(inner.name))
        files = [inner for inner in inside if _is_data(inner)]
    except (OSError, ValueError) as error:
        problems.append(_unreadable(path, error))
        return []
    folders = dict.fromkeys(folder for inner in inside for folder in _unread(inner))
    unread = [str(folder.relative_to(path)) for folder in folders]
    if not files:
        allowed = "at least one .csv, .tsv, .txt or .parquet file directly inside"
        found = "a folder without data files"
        remedy = f"name the folders inside it that have some: {listed(unread)}" if unread else ""
        problems.append(Problem(str(path), None, None, found, allowed, remedy))
    elif unread:
        notes.append(
            f"{path} has folders inside it with data files that were not read: {listed(unread)}; "
            "name them too if they belong to the study"
        )
    return files


def _is_data(path: Path) -> bool:
    named = path.name.lower().startswith((".", "readme", "license"))
    return path.suffix.lower() in DELIMITED + PARQUET and not named and not path.is_dir()


def _unread(path: Path) -> list[Path]:
    """The folders with data files in a folder: itself, and those directly inside."""
    try:
        if path.name.startswith(".") or not path.is_dir():
            return []
        inside = [inner for depth in ("*", "*/*") for inner in path.glob(depth)]
        return sorted({inner.parent for inner in inside if _is_data(inner)})
    except OSError:  # a folder that may not be read
        return []


def _open(path: Path, seen: set[str]) -> Table:
    suffix = path.suffix.lower()
    if suffix in OTHER_FORMATS and path.exists():
        remedy = "save it as CSV UTF-8, or read it into a data frame"
        raise DataError(
            [Problem(str(path), None, None, f"a {suffix} file", "CSV, TSV or Parquet", remedy)]
        )
    try:
        place = realpath(path)
        if place in seen:
            found = "the same file twice"
            raise DataError([Problem(str(path), None, None, found, "each file once")])
        seen.add(place)
        return Parquet(path) if suffix in PARQUET else Delimited(path)
    except (OSError, ValueError) as error:
        raise DataError([_unreadable(path, error)]) from None


def _unreadable(path: Path, error: Exception) -> Problem:
    if isinstance(error, FileNotFoundError):
        return Problem(str(path), None, None, "no such file", "a file or a folder that exists")
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, ValueError) and "\0" in str(path):  # Python's words for it vary
        reason = "a null character in its name"
    found = f"a file that cannot be read ({reason})"
    return Problem(str(path), None, None, found, "a file that may be read")
