"""What all trials tell together, gathered block by block, so that none is looked at again."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.reading.answers import answers_of
from howlearn.reading.assembly import Ordered
from howlearn.reading.excluding import known_of
from howlearn.reading.plan import Plan
from howlearn.study import count_true

MAYBE_SILENT = ("forgone", "duration")


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
            self._known.append(pl.DataFrame(found))

    def scored(self, codes: list[int]) -> NDArray[np.int64]:
        """The choices that count of the sequences with these codes, short ones too."""
        every = np.zeros(max(codes, default=-1) + 1, np.int64)
        for mine, counts in self._scored:
            every[mine] = counts
        return every[codes]

    def used(self, name: str, size: int) -> NDArray[np.bool_]:
        """Which codes of a column there are."""
        return np.pad(self._used[name], (0, max(0, size - len(self._used[name]))))[:size]

    def known(self) -> pl.DataFrame:
        """What --exclude may ask about every sequence that is left."""
        return pl.concat(self._known)

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
