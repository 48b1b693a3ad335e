"""What every format becomes: a table whose columns are known at once and whose rows are text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, HowlearnError, Problem

MOST_COLUMNS = 16_384  # as spreadsheets have; more is no table of trials
INSIDE = "#"  # FILE#NAME: a sheet or a variable of a file


class Table(ABC):
    """One file, sheet, variable or data frame; its rows come in frames."""

    name: str  # as messages show it; opening it again gives this table alone
    stem: str
    columns: tuple[str, ...]
    first_row: int  # of the data, as a spreadsheet counts; 1 where trials are counted
    format: str = ""  # what kind of file it is, in words
    notes: Sequence[str] = ()  # what was found out on opening it that the user should know
    # What the data say about their columns (in BIDS: LongName, Description, Levels).
    about: Mapping[str, Mapping[str, Any]] = {}
    learner: str | None = None  # whose rows these are, where a file's name says it as agreed on
    # Names that several columns have; the first keeps it, the second is called NAME (2).
    twice: Sequence[str] = ()
    bare: Sequence[str] = ()  # columns that nobody has named: they are called by their numbers
    # The tables of its file with other axes and padding, where it has any.
    again: Callable[[Sequence[str], str | None], Sequence[Table]] | None = None
    # The same with the first row as names, where it was not taken for them.
    with_header: Callable[[], Table] | None = None

    @abstractmethod
    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows of the named columns; raises DataError where they cannot be read."""


class Asking(Table):
    """In the place of a table that only the user can tell how to read."""

    def __init__(
        self,
        name: str,
        stem: str,
        question: Problem,
        again: Callable[[Sequence[str], str | None], Sequence[Table]],
    ) -> None:
        self.name, self.stem, self.columns, self.first_row = name, stem, (), 1
        self.question, self.again = question, again

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Nothing, before the question is answered."""
        raise DataError([self.question])


class Wrapped(Table):
    """A table that shows another one in another way."""

    def __init__(self, table: Table) -> None:
        self.table, self.columns = table, table.columns
        self.name, self.stem, self.first_row = table.name, table.stem, table.first_row
        self.format, self.notes, self.about = table.format, table.notes, table.about
        self.learner, self.twice = table.learner, table.twice


FILE, FOLDER = "file", "folder"  # of a row, as --learner and its expressions may name them


class Held(Table):
    """A table in memory, whatever it was read from."""

    def __init__(
        self,
        name: str,
        stem: str,
        frame: pl.DataFrame,
        format: str,
        first_row: int = 2,
        notes: Sequence[str] = (),
        twice: Sequence[str] = (),
        bare: Sequence[str] = (),
    ) -> None:
        self.name, self.stem, self.first_row = name, stem, first_row
        self.format, self.notes = format, tuple(notes)
        self.twice, self.bare = tuple(twice), tuple(bare)
        self.columns = tuple(frame.columns)
        self._frame = frame

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows at once."""
        yield pl.DataFrame([self._frame.get_column(name) for name in columns])

    def everything(self) -> pl.DataFrame:
        """All rows and columns."""
        return self._frame


def named_twice(name: str, row: int, column: str, remedy: str) -> Problem:
    """What is wrong where nobody says which of two columns is meant."""
    return Problem(name, row, column, "the same name for two columns", "different names", remedy)


def too_many_columns(name: str) -> Problem:
    """What is wrong where columns are without end."""
    return Problem(
        name,
        None,
        None,
        f"more than {MOST_COLUMNS:,} columns",
        "a table with one row per trial, or one column per trial and learner's answer",
        "write it with one row per trial",
    )


def told_twice(names: Sequence[str]) -> str:
    """The note on columns of the same name."""
    return (
        f"two columns have the same name ({', '.join(names)}); the second is called "
        f"“{names[0]} (2)” here"
    )


class Extended(Wrapped):
    """A table with further columns that have one value in all of its rows."""

    def __init__(
        self,
        table: Table,
        more: Mapping[str, str | None],
        about: Mapping[str, Mapping[str, Any]],
        learner: str | None = None,
    ) -> None:
        super().__init__(table)
        self.more = {name: value for name, value in more.items() if name not in table.columns}
        self.about, self.learner = about, learner
        self.columns = (*table.columns, *self.more)

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The table's frames, with the further columns among those that are asked for."""
        own = [name for name in columns if name not in self.more]
        for frame in self.table.frames(own or self.table.columns[:1]):
            found = {column.name: column for column in frame.get_columns()}
            for name, value in self.more.items():
                found[name] = pl.Series(name, [value], pl.String).new_from_index(0, frame.height)
            # by name: select would take * or ^a$ for patterns
            yield pl.DataFrame([found[name] for name in columns])


def file_of(name: str | Path) -> Path:
    """The file behind a table's name: FILE#NAME is inside FILE.

    >>> str(file_of("no such book.xlsx#Data"))
    'no such book.xlsx#Data'
    """
    return split_name(Path(name))[0]


def split_name(path: Path) -> tuple[Path, str | None]:
    """A file and the sheet or variable inside that is meant, if one is named."""
    text = str(path)
    places = [i for i, letter in enumerate(text) if letter == INSIDE]
    try:
        if not places or path.exists():
            return path, None
        for place in places:
            file = Path(text[:place])
            if file.is_file():
                return file, text[place + 1 :]
    except (OSError, ValueError):  # a name that no file can have
        pass
    return path, None


def one_of(
    path: Path, inside: str | None, there: Sequence[str], what: str
) -> tuple[Sequence[str], bool]:
    """The names to look at: the one that was asked for, or all; and whether one was asked for."""
    if inside is None:
        return there, False
    if inside not in there:
        allowed = f"a {what} that is there: {', '.join(there) or 'there is none'}"
        raise DataError([Problem(str(path), None, None, f"no {what} {inside}", allowed)])
    return [inside], True


def distinct_names(names: Sequence[str | None]) -> list[str]:
    """Names of columns, each once: the second of a kind gets its number.

    >>> distinct_names(["a", "b", "a", "", None])
    ['a', 'b', 'a (2)', '', ' (2)']
    """
    taken: set[str] = set()
    times: dict[str, int] = {}  # so that thousands of one name are not tried one by one
    found = []
    for name in names:
        plain = new = "" if name is None else name.strip()
        while new in taken:
            times[plain] = times.get(plain, 1) + 1
            new = f"{plain} ({times[plain]})"
        taken.add(new)
        found.append(new)
    return found


# Data frames of pandas, polars and others, through narwhals.


FRAME_NAME = "data frame"  # where a file has its path
MISSING_OBJECTS = ("None", "nan", "NaT", "<NA>")  # how pandas writes a missing value


class Frame(Table):
    """A data frame in memory; pandas columns are taken as numpy arrays, without pyarrow."""

    name = stem = FRAME_NAME
    first_row = 2  # as if it were a spreadsheet with a header
    format = "data frame"

    def __init__(self, source: Any) -> None:
        import narwhals as nw
        from narwhals.exceptions import NarwhalsError

        try:
            if hasattr(source, "reset_index") and any(n is not None for n in source.index.names):
                source = source.reset_index()  # in pandas a named index is a column too
            self._frame = nw.from_native(source, eager_only=True)
            names = [str(name) for name in self._frame.columns]
        except (TypeError, ValueError, NarwhalsError):
            what = type(source).__name__
            raise HowlearnError(
                f"cannot read a {what}: a path, a list of paths, or a pandas or polars data frame "
                "with different column names is needed (call .collect() on a lazy frame)"
            ) from None
        self.columns = tuple(names)

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The whole frame at once: it is in memory already."""
        native = self._frame.to_native()
        if isinstance(native, pl.DataFrame):
            yield pl.DataFrame([native.get_column(name) for name in columns])
            return
        taken = [self._frame[:, self.columns.index(name)].to_numpy() for name in columns]
        yield pl.DataFrame(
            [_series(name, values) for name, values in zip(columns, taken, strict=True)]
        )


def _series(name: str, values: np.ndarray[Any, Any]) -> pl.Series:
    """A column as numbers or booleans where it holds only these, as text otherwise."""
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    objects = [None if str(value) in MISSING_OBJECTS else value for value in values.tolist()]
    if all(value is None or isinstance(value, bool) for value in objects):
        return pl.Series(name, objects, dtype=pl.Boolean)
    return pl.Series(
        name, [None if value is None else str(value) for value in objects], dtype=pl.String
    )
