"""The rows that are coded together, and those among them that are trials."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expressions import Expression
from howlearn.reading.labels import Column
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
        self, start: int, height: int, columns: Mapping[str, Column], kept: NDArray[np.intp]
    ) -> None:
        self.start = start
        self.columns = columns
        self.kept = kept
        self.all = len(kept) == height

    def __len__(self) -> int:
        return len(self.kept)

    def with_columns(self, columns: Mapping[str, Column]) -> Rows:
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
        self, problems: Problems, column: Column, bad: NDArray[np.bool_], allowed: str, remedy: str
    ) -> None:
        """Add a problem for every value whose code is bad."""
        if bad.any():
            codes = self.pick(column.codes)
            rows = self.kept + self.start
            problems.refuse(rows, codes, bad, column.shown, column.name, allowed, remedy)


def holds(expression: Expression, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Row by row, whether a condition holds."""
    return expression.holds(pl.DataFrame([columns[name].per_row() for name in expression.columns]))
