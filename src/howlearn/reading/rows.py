"""The rows that are coded together, and those among them that are trials."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expression_grammar import OWNER
from howlearn.core.expressions import Derived, Expression
from howlearn.reading.labels import CodedColumn
from howlearn.reading.problems import Problems

BATCH_ROWS = 2_000_000  # rows in memory at once beside the study itself


@dataclass
class Batch:
    """Rows from one file or from many."""

    frame: pl.DataFrame
    start: int  # the first row, counted over all files
    files: list[tuple[int, int]] = field(default_factory=list)  # file, and how many rows of it


class Rows:
    """The rows of a batch that are trials."""

    def __init__(
        self, start: int, height: int, columns: Mapping[str, CodedColumn], kept: NDArray[np.intp]
    ) -> None:
        self.start = start
        self.columns = columns
        self.kept = kept
        self.all = len(kept) == height

    def __len__(self) -> int:
        return len(self.kept)

    def with_columns(self, columns: Mapping[str, CodedColumn]) -> Rows:
        """These rows with some columns replaced."""
        changed = copy(self)
        changed.columns = {**self.columns, **columns}
        return changed

    def pick(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of these rows."""
        return values if self.all else values[self.kept]

    def present(self, codes: NDArray[np.int32], size: int) -> NDArray[np.bool_]:
        """Which of the codes these rows have."""
        present = np.zeros(size, dtype=np.bool_)
        present[self.pick(codes)] = True
        return present

    def numbers(self) -> NDArray[np.int64] | range:
        """These rows counted over all files."""
        if self.all:
            return range(self.start, self.start + len(self.kept))
        return self.kept + self.start

    def refuse(
        self,
        problems: Problems,
        column: CodedColumn,
        bad: NDArray[np.bool_],
        allowed: str,
        remedy: str,
    ) -> None:
        """Add a problem for every value whose code is bad."""
        if bad.any():
            codes = self.pick(column.codes)
            rows = self.kept + self.start
            problems.refuse(rows, codes, bad, column.shown, column.name, allowed, remedy)


def holds(expression: Expression, columns: Mapping[str, CodedColumn]) -> NDArray[np.bool_]:
    """Row by row, whether a condition holds; lag takes all rows as those of one learner."""
    return expression.holds(pl.DataFrame([columns[name].per_row() for name in expression.columns]))


class LookingBack:
    """The labels that expressions are computed from; those that look back see earlier batches too.

    >>> from howlearn.core.expressions import derive
    >>> from howlearn.reading.labels import code_column
    >>> before = derive("lag(key)", "--action", ["key"])
    >>> one = code_column(pl.Series("key", ["f", "j"]), {}, frozenset())[0]
    >>> who = code_column(pl.Series("who", ["a", "b"]), {}, frozenset())[0]
    >>> looking = LookingBack()
    >>> for _ in range(2):
    ...     labels, new = looking.labels("action", before, {"key": one}, who)
    ...     print(before.values(labels)[new:].to_list())
    [None, None]
    ['f', 'j']
    """

    def __init__(self) -> None:
        self._earlier: dict[str, pl.DataFrame] = {}  # the last rows of every learner

    def labels(
        self,
        key: str,
        expression: Expression | Derived,
        columns: Mapping[str, CodedColumn],
        learner: CodedColumn | None,
    ) -> tuple[pl.DataFrame, int]:
        """The labels of the rows, and how many rows of earlier batches stand before them."""
        rows = pl.DataFrame([columns[name].per_row().alias(name) for name in expression.columns])
        if not expression.lags or learner is None:
            return rows, 0
        rows = rows.with_columns(learner.per_row().alias(OWNER))
        before = self._earlier.get(key)
        whole = rows if before is None else pl.concat([before, rows])
        last = whole.group_by(OWNER, maintain_order=True).tail(expression.lags)
        self._earlier[key] = last.select(whole.columns)
        return whole, whole.height - rows.height


# Columns of numbers: what is no number is refused, with the row.


DECIMAL_COMMA = r"^[-+]?[0-9]+,[0-9]+$"
COMMAS = "decimal commas must be saved as decimal points"


def numbers_of(
    rows: Rows, column: CodedColumn, problems: Problems, allowed: str, remedy: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The number of each code, NaN where it has none; and which codes are words."""
    values = column.numbers()
    unreadable = ~np.isfinite(values) & ~column.labels.is_null().to_numpy()
    commas = unreadable & column.labels.str.contains(DECIMAL_COMMA).fill_null(False).to_numpy()
    words = unreadable & ~commas
    rows.refuse(problems, column, commas, allowed, COMMAS)
    rows.refuse(problems, column, words, allowed, remedy)
    return np.where(unreadable, np.nan, values), words


# Where the coded trials of all batches come together, each column in one growing array.


class Pile:
    """Coded trials in the order of the rows, one array per column.

    The columns: sequence, context, action, reward, scored, learned; trial, segment, episode,
    forgone (one column per column of the file), rewarded, duration, offer and load if any.

    >>> pile = Pile()
    >>> pile.add(range(2), {"action": np.array([0, 1])})
    >>> pile.add(range(2, 3), {"action": np.array([1])})
    >>> pile.take("action"), pile.rows_unless(3)
    (array([0, 1, 1]), None)
    """

    def __init__(self) -> None:
        self._columns: dict[str, NDArray[Any]] = {}
        self._rows: list[NDArray[np.int64] | range] = []

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._rows)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def add(self, rows: NDArray[np.int64] | range, columns: Mapping[str, NDArray[Any]]) -> None:
        """Put the trials of a batch on top."""
        self._rows.append(rows)
        for name, values in columns.items():
            below = self._columns.get(name)
            if below is None:
                self._columns[name] = values.copy()
            elif below.dtype != values.dtype:
                self._columns[name] = np.concatenate((below, values))
            else:  # the system moves the pages of a large array, so there never are two of it
                height = len(below)
                below.resize((height + len(values), *below.shape[1:]), refcheck=False)
                below[height:] = values

    def until(self, count: int) -> Pile:
        """The first trials as a pile of their own; the others stay here."""
        below, rows = Pile(), self.rows()
        below._rows, self._rows = [rows[:count]], [rows[count:]]
        for name, values in self._columns.items():
            below._columns[name] = values[:count]
            self._columns[name] = values[count:].copy()  # what grows must own its memory
        return below

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the other trials."""
        self._rows = [self.rows()[kept]]
        self._columns = {name: values[kept] for name, values in self._columns.items()}

    def look(self, name: str) -> NDArray[Any]:
        """A column, which stays here."""
        return self._columns[name]

    def put(self, name: str, values: NDArray[Any]) -> None:
        """Replace a column."""
        self._columns[name] = values

    def take(self, name: str) -> NDArray[Any]:
        """A column, which then is no longer here; empty if there is none."""
        return self._columns.pop(name, np.empty(0))

    def rows(self) -> NDArray[np.int64]:
        """The rows of the trials, counted over all files."""
        parts = [np.arange(r.start, r.stop) if isinstance(r, range) else r for r in self._rows]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def rows_unless(self, total: int) -> NDArray[np.int64] | None:
        """The rows; None if every one of the total is a trial."""
        return None if len(self) == total else self.rows()
