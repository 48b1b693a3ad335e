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
    >>> pile.take("action"), pile.rows(total=3)
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

    def take(self, name: str) -> NDArray[Any]:
        """A column, which then is no longer here; empty if there is none."""
        return self._columns.pop(name, np.empty(0))

    def rows(self, total: int) -> NDArray[np.int64] | None:
        """The rows counted over all files; None if every one of the total is a trial."""
        if len(self) == total:
            return None
        return np.concatenate([np.asarray(rows, dtype=np.int64) for rows in self._rows])
