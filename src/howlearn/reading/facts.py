"""What all trials tell together, gathered block by block, so that none is looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.study import count_true
from howlearn.models.schedule import answers_of
from howlearn.reading.assembly import Ordered
from howlearn.reading.excluding import known_of
from howlearn.reading.plan import Plan

MAYBE_SILENT = ("forgone", "duration")


def by_code(
    parts: Sequence[tuple[Sequence[int], NDArray[np.int64]]], codes: Sequence[int]
) -> NDArray[np.int64]:
    """The numbers of the sequences with these codes; 0 where there is none.

    >>> by_code([([2, 0], np.array([7, 5]))], [0, 1, 2])
    array([5, 0, 7])
    """
    size = 1 + max(
        (max(some) for some in (codes, *(mine for mine, _ in parts)) if some), default=-1
    )
    every = np.zeros(size, np.int64)
    for mine, numbers in parts:
        every[np.asarray(mine, np.int64)] = numbers
    return every[np.asarray(codes, np.int64)]


class Facts:
    """Counts every sequence's choices, leaves short ones out, looks at the trials of the others."""

    def __init__(self, plan: Plan) -> None:
        self.least = plan.options.min_trials or 0
        self.teaches = False  # whether anything is ever learned
        self.silent = set(MAYBE_SILENT)  # columns that hold nothing
        self._plan, self._answers = plan, answers_of(plan.task)
        self._words = {word for condition in plan.exclude for word in condition.words}
        self._scored: list[tuple[list[int], NDArray[np.int64]]] = []
        self._used = {name: np.zeros(0, np.bool_) for name in ("context", "action")}
        self._rewards: set[float] = set()  # for what teaches; three at most
        self._known: list[pl.DataFrame] = []

    def count(self, block: Ordered) -> None:
        """Count some sequences' choices; those that are too short are left out of the block."""
        scored = count_true(block.arrays["scored"], block.starts)
        self._scored.append((block.codes, scored))
        if np.any(scored < self.least):
            block.leave_out(scored < self.least)

    def see(self, block: Ordered) -> None:
        """Look at the trials of some sequences, with which nothing is wrong."""
        arrays = block.arrays
        self.teaches |= bool(arrays["learned"].any())
        for name, used in self._used.items():
            codes = arrays[name]
            size = max(len(used), int(codes.max(initial=-1)) + 1)
            self._used[name] = np.pad(used, (0, size - len(used)))
            self._used[name][codes] = True
        self.silent -= {
            name for name in self.silent if name in arrays and not np.isnan(arrays[name]).all()
        }
        self._see_rewards(arrays["reward"], arrays["learned"])
        if self._plan.exclude:
            found = known_of(block, self._words, self._answers, self._plan.reward_range)
            codes = pl.Series("code", block.codes, dtype=pl.Int64)
            self._known.append(pl.DataFrame([codes, *found]))

    def scored(self, codes: Sequence[int]) -> NDArray[np.int64]:
        """The choices that count of the sequences with these codes, short ones too."""
        return by_code(self._scored, codes)

    def used(self, name: str, size: int) -> NDArray[np.bool_]:
        """Which codes of a column there are."""
        return np.pad(self._used[name], (0, max(0, size - len(self._used[name]))))[:size]

    def known(self, codes: Sequence[int]) -> pl.DataFrame:
        """What --exclude may ask about these sequences, if it asks anything."""
        if not self._known:
            return pl.DataFrame()
        every = pl.DataFrame({"code": pl.Series(codes, dtype=pl.Int64)})
        found = every.join(pl.concat(self._known), on="code", how="left", maintain_order="left")
        return found.drop("code").with_columns(pl.col("trials").fill_null(0.0))

    @property
    def right_wrong(self) -> tuple[float, float] | None:
        """The rewards for wrong and for right where the trials that teach have exactly two."""
        if len(self._rewards) != 2:
            return None
        return min(self._rewards), max(self._rewards)

    def _see_rewards(self, reward: NDArray[Any], learned: NDArray[np.bool_]) -> None:
        if len(self._rewards) > 2:
            return
        told = learned & ~np.isnan(reward)
        if not told.any():
            return
        ends = {float(np.min(reward, initial=np.inf, where=told))}
        ends.add(float(np.max(reward, initial=-np.inf, where=told)))
        self._rewards |= ends
        other = told & np.logical_and.reduce([reward != value for value in ends])
        if other.any():
            self._rewards.add(float(reward[np.argmax(other)]))
