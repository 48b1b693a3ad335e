"""What all trials tell together, gathered block by block, so that none is looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import Problem
from howlearn.core.study import count_true
from howlearn.reading.order import Ordered
from howlearn.reading.plan import ReadingPlan
from howlearn.reading.problems import Problems
from howlearn.reading.trials import TrialReader

# --exclude, once all trials are in order: what is true for every sequence.


BETWEEN = "; "  # several conditions that hold of one learner

Excluded = tuple[str | None, ...]


def exclude(
    codes: Sequence[int],
    reader: TrialReader,
    known: pl.DataFrame,
    problems: Problems,
) -> tuple[Excluded | None, list[str]]:
    """The conditions that hold of every sequence, and notes on what is not known.

    ``known`` is what the trials of the sequences with these codes say. Counts go to the reader;
    that nobody is left is refused.
    """
    conditions, seen = reader.plan.exclude, reader.seen
    if not conditions or seen is None:
        return None, []
    table = seen.table(codes).with_columns(known.get_columns())
    holds = [condition.holds(table) for condition in conditions]
    unit = "sequences" if reader.plan.options.by else "learners"
    for condition, who in zip(conditions, holds, strict=True):
        reader.counts[f"{unit} excluded ({condition.text})"] += int(who.sum())
    if np.logical_or.reduce(holds).all():
        said = ", ".join(
            f"{condition.text} is true for {int(who.sum()):,}"
            for condition, who in zip(conditions, holds, strict=True)
        )
        names = problems.ledger.names
        file = names[0] if len(names) == 1 else f"{len(names)} files"
        found = f"nobody remains of {len(table):,} {unit}: {said}"
        allowed = f"at least one of the {unit} that is not excluded"
        problems.extend([Problem(file, None, None, found, allowed, "--exclude EXPR")])
        problems.raise_all()
    reasons = [
        BETWEEN.join(c.text for c, holds_of in zip(conditions, row, strict=True) if holds_of)
        for row in zip(*holds, strict=True)
    ]
    notes = [
        f"--exclude: {value} is not known for {count:,} of {len(table):,} {unit}, so no "
        f"comparison with it is true for them"
        for value in dict.fromkeys(v for condition in conditions for v in condition.values)
        if (count := table[value].null_count())
    ]
    return tuple(reason or None for reason in reasons), notes


def known_of(
    ordered: Ordered,
    words: set[str],
    answers: NDArray[np.int16] | None,
    reward_range: tuple[float, float],
) -> list[pl.Series]:
    """What the trials say without any column: accuracy, trials, same."""
    n, lengths = len(ordered.keys), np.diff(ordered.starts)
    owner = np.repeat(np.arange(n), lengths)
    scored = ordered.arrays["scored"]
    trials = np.bincount(owner[scored], minlength=n)
    found = [pl.Series("trials", trials.astype(float))]
    if "accuracy" in words:
        found.append(_accuracy(ordered, owner, answers, reward_range))
    if "same" in words:
        action = ordered.arrays["action"][scored].astype(np.int64)
        many = int(action.max(initial=0)) + 1
        pairs, counts = np.unique(owner[scored] * many + action, return_counts=True)
        most = np.zeros(n)
        np.maximum.at(most, pairs // many, counts)
        found.append(_share("same", most, trials))
    return found


def _accuracy(
    ordered: Ordered,
    owner: NDArray[np.int64],
    answers: NDArray[np.int16] | None,
    reward_range: tuple[float, float],
) -> pl.Series:
    """The share of right choices where a task says what is right, otherwise the mean reward.

    Of scored trials: those with one right answer, or those with a reward, which is stretched to
    run from 0 to 1 over the rewards that are allowed.
    """
    arrays, n = ordered.arrays, len(ordered.keys)
    if answers is not None and (answers >= 0).any():
        right = answers[arrays["context"]]
        judged = arrays["scored"] & (right >= 0)
        value = (arrays["action"] == right).astype(float)
    else:
        low, high = reward_range
        judged = arrays["scored"] & arrays["rewarded"]
        value = (arrays["reward"] - low) / (high - low)
    total = np.bincount(owner[judged], weights=value[judged], minlength=n)
    return _share("accuracy", total, np.bincount(owner[judged], minlength=n))


def _share(name: str, part: NDArray, whole: NDArray) -> pl.Series:
    with np.errstate(invalid="ignore", divide="ignore"):
        return pl.Series(name, np.where(whole > 0, part / whole, np.nan)).fill_nan(None)


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

    def __init__(self, plan: ReadingPlan) -> None:
        self.least = plan.options.min_trials or 0
        self.teaches = False  # whether anything is ever learned
        self.silent = set(MAYBE_SILENT)  # columns that hold nothing
        self._plan = plan
        self._answers = None if plan.task is None else plan.task.answers
        self._words = {word for condition in plan.exclude for word in condition.words}
        self._scored: list[tuple[list[int], NDArray[np.int64]]] = []
        self._used = {name: np.zeros(0, np.bool_) for name in ("context", "action", "offer")}
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
            if name not in arrays:  # what was on offer is not always told
                continue
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
