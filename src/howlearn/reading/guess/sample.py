"""The rows that are looked at: enough to guess from, coded column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import DataError, Problem
from howlearn.reading.columns import is_telling
from howlearn.reading.formats.matrices import has_no_text
from howlearn.reading.formats.table import Table
from howlearn.reading.labels import MISSING_TOKENS, CodedColumn, code_column
from howlearn.reading.problems import no_rows
from howlearn.reading.streaming import has_rows

if TYPE_CHECKING:
    pass


MOST_CELLS = 20_000_000  # rows × columns to look at; the study itself is read in full
FEWEST_ROWS = 2_000  # of a file with very many columns
MOST_COLUMNS = 400  # that are all looked at, and as many with telling names besides
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """The first rows of all tables, each column coded."""

    columns: dict[str, CodedColumn]
    file: NDArray[np.int32]  # of each row; the files of one learner, as BIDS has them, are one
    whole: bool  # whether these are all rows
    rows: Mask  # the rows that are looked at
    in_names: bool = False  # whether the files' names say who the learner is
    stems: tuple[str, ...] = ()  # of the files
    unread: tuple[Problem, ...] = ()  # what is wrong with the files that cannot be read
    _counts: dict[str, dict[str, int]] = field(init=False, default_factory=dict)  # as they are told

    @property
    def height(self) -> int:
        """How many rows are looked at."""
        return int(self.rows.sum())

    def only(self, rows: Mask) -> Sample:
        """The same with fewer rows."""
        return replace(self, rows=self.rows & rows)

    def codes(self, name: str) -> NDArray[np.int32]:
        """The codes of the rows that are looked at."""
        return self.columns[name].codes[self.rows]

    def missing(self, name: str) -> Mask:
        """Where the rows that are looked at have no value."""
        return self.columns[name].missing()[self.rows]

    def counts(self, name: str) -> dict[str, int]:
        """The values with how often each occurs, the most frequent first."""
        if name not in self._counts:
            self._counts[name] = self._counted(name)
        return self._counts[name]

    def _counted(self, name: str) -> dict[str, int]:
        column = self.columns[name]
        times = np.bincount(self.codes(name), minlength=len(column.labels))
        order = np.argsort(-times, kind="stable")
        order = order[times[order] > 0]
        found: dict[str, int] = {}
        for label, n in zip(
            column.labels.gather(order).to_list(), times[order].tolist(), strict=True
        ):
            if label is not None:
                found[label] = found.get(label, 0) + n
        return found

    def numbers(self, name: str) -> NDArray[np.float64]:
        """The numbers of the rows that are looked at, NaN where there is none."""
        return self._of_rows(name, self.columns[name].numbers())

    def texts(self, name: str) -> NDArray[np.object_]:
        """The values of the rows that are looked at, empty where there is none."""
        labels = np.array([label or "" for label in self.columns[name].labels], dtype=object)
        return labels[self.codes(name)]

    def places(self, name: str) -> NDArray[np.float64]:
        """The same for a column that orders trials: block12 comes in the twelfth place."""
        return self._of_rows(name, self.columns[name].places())

    def _of_rows(self, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.where(np.isfinite(numbers), numbers, np.nan)[self.codes(name)]

    def without(self, name: str, values: Sequence[str]) -> Sample:
        """The same with these values of a column taken as missing."""
        column = self.columns[name]
        gone = column.labels.is_in(list(values)).fill_null(False)
        labels = column.labels.zip_with(~gone, pl.Series([None], dtype=pl.String))
        return replace(self, columns={**self.columns, name: replace(column, labels=labels)})

    def recoded(self, name: str, values: Mapping[str, str]) -> Sample:
        """The same with these values of a column taken as others."""
        column = self.columns[name]
        labels = column.labels.replace(dict(values))
        return replace(self, columns={**self.columns, name: replace(column, labels=labels)})

    def lacking(self, names: Sequence[str]) -> Sample:
        """The same without some columns."""
        return replace(self, columns={n: c for n, c in self.columns.items() if n not in names})

    def having(self, name: str, values: pl.Series) -> Sample:
        """The same with one more column, of values for all rows."""
        column, _ = code_column(values.alias(name), {}, MISSING_TOKENS)
        return replace(self, columns={**self.columns, name: column})


def take_sample(tables: Sequence[Table], cells: int = MOST_CELLS) -> Sample:
    """Read the first rows of the tables; DataError where none of them has any."""
    names = _telling(columns_of(tables))
    most = max(FEWEST_ROWS, cells // max(1, len(names)))
    frames: list[pl.DataFrame] = []
    files: list[NDArray[np.int32]] = []
    left, whole = most, True
    owners: dict[str, int] = {}
    unread: list[Problem] = []
    for table in tables:
        number = owners.setdefault(table.learner or table.name, len(owners))
        if left <= 0:
            whole = False
            break
        there = {*table.columns}
        here = [name for name in names if name in there]
        try:
            for frame in table.frames(here):
                whole &= frame.height <= left
                part = pl.DataFrame([_text(c) for c in frame.head(left).get_columns()])
                frames.append(part)
                files.append(np.full(part.height, number, dtype=np.int32))
                left -= part.height
                if left <= 0:
                    break
        except DataError as error:  # told here only where nothing can be guessed without it
            unread += error.problems
    if not any(map(has_rows, frames)):
        raise DataError(unread or [no_rows(table.name) for table in tables])
    empty = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    rows = pl.concat([empty, *frames], how="diagonal")
    file = np.concatenate([np.empty(0, np.int32), *files])
    columns = {name: code_column(rows[name], {}, MISSING_TOKENS)[0] for name in names}
    in_names = all(table.learner for table in tables)
    rows_seen = np.ones(len(file), dtype=np.bool_)
    stems = tuple(table.stem for table in tables)
    return Sample(columns, file, whole, rows_seen, in_names, stems, tuple(unread))


def columns_of(tables: Sequence[Table]) -> list[str]:
    """The columns of all tables: some software writes one only where it was needed."""
    return [*dict.fromkeys(name for table in tables for name in table.columns if name)]


def _telling(names: list[str]) -> list[str]:
    """Of very many columns those whose names say something, and the first ones."""
    if len(names) <= MOST_COLUMNS:
        return names
    first = names[: MOST_COLUMNS // 2]
    return [*first, *islice(filter(is_telling, names[len(first) :]), MOST_COLUMNS)]


def _text(column: pl.Series) -> pl.Series:
    if has_no_text(column.dtype):
        return pl.Series(column.name, [None], dtype=pl.String).new_from_index(0, len(column))
    return column.cast(pl.String)


def together(*codes: NDArray[np.integer]) -> NDArray[np.intp]:
    """One code for each combination that occurs."""
    whole = np.zeros(len(codes[0]), dtype=np.intp) if codes else np.empty(0, np.intp)
    for each in codes:
        pairs = whole.astype(np.int64) * (int(each.max(initial=0)) + 1) + each
        whole = _dense(pairs)
    return whole


def _dense(codes: NDArray[np.int64]) -> NDArray[np.intp]:
    """Codes without gaps, in the same order; a table is quicker than sorting, where it is small."""
    if len(codes) and int(codes.min()) >= 0 and (most := int(codes.max())) < 20 * len(codes) + 1000:
        there = np.zeros(most + 1, dtype=np.bool_)
        there[codes] = True
        return (np.cumsum(there) - 1)[codes]
    return np.unique(codes, return_inverse=True)[1].reshape(-1)


def scaled(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers from −1 to 1, so that sums and squares of very large ones are still numbers."""
    largest = np.abs(worth).max(initial=0)
    return worth / largest if largest > 0 else worth
