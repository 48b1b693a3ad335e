"""--exclude, once all trials are in order: what holds of every sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import Problem
from howlearn.reading.assembly import Ordered
from howlearn.reading.problems import Problems
from howlearn.reading.trials import TrialReader

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
            f"{condition.text} holds of {int(who.sum()):,}"
            for condition, who in zip(conditions, holds, strict=True)
        )
        names = problems.ledger.names
        file = names[0] if len(names) == 1 else f"{len(names)} files"
        found = f"nobody left of {len(table):,} {unit}: {said}"
        allowed = f"at least one of the {unit} that is not excluded"
        problems.extend([Problem(file, None, None, found, allowed, "--exclude EXPR")])
        problems.raise_all()
    reasons = [
        BETWEEN.join(c.text for c, holds_of in zip(conditions, row, strict=True) if holds_of)
        for row in zip(*holds, strict=True)
    ]
    notes = [
        f"--exclude: {value} is not known of {count:,} of {len(table):,} {unit}, so that no "
        "comparison with it holds of them"
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
