"""Where the coded trials of all batches come together, each column in one growing array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Pile:
    """Coded trials in the order of the rows, one array per column.

    The columns: sequence, context, action, reward, scored, learned; trial, segment, episode,
    forgone (one column per column of the file), rewarded and duration if any.

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
