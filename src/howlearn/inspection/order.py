"""The order of trials: one number, numbers that start anew in each block, or the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.inspection.draft import BY_CONTENT, BY_NAME, NONE, Draft
from howlearn.inspection.names import BLOCKS, CONDITIONS, like, named_like
from howlearn.inspection.sample import together
from howlearn.inspection.values import unique_within

Codes = NDArray[np.intp]


def find_order(draft: Draft) -> None:
    """Guess what orders the trials of a sequence."""
    if "trial" in draft.guesses:
        return
    rows = draft.chosen
    named = [c for c in named_like("trial", draft.free) if _are_numbers(draft, c, rows)]
    owner = draft.sequences()[rows]
    segments = [draft.sample.codes(c)[rows] for c in draft.columns("reset_by")]
    for column in named:
        numbers = draft.sample.codes(column)[rows]
        if unique_within(owner, numbers) or (
            segments and unique_within(together(owner, *segments), numbers)
        ):
            others = tuple(c for c in named if c != column)
            draft.put("trial", (column,), BY_NAME, "", others)
            return
    if not named:
        if named_like("trial", draft.free):
            why = f"{', '.join(named_like('trial', draft.free))}: not a number in every trial"
            draft.put("trial", (NONE,), BY_CONTENT, why)
        return
    _restarting(draft, named, owner, rows)


def _are_numbers(draft: Draft, column: str, rows: NDArray[np.bool_]) -> bool:
    numbers = draft.sample.numbers(column)[rows]
    return bool(len(numbers)) and bool(np.isfinite(numbers).all())


def _restarting(draft: Draft, named: list[str], owner: Codes, rows: NDArray[np.bool_]) -> None:
    """Numbers that start anew: in each block, if there is a column that says so."""
    sample, column = draft.sample, named[0]
    numbers = sample.codes(column)[rows]
    used = [*draft.columns("by"), *draft.columns("reset_by"), *draft.columns("context")]
    likely = [c for c in (*draft.free, *used) if like(c, f"{BLOCKS} {CONDITIONS} loop rep repeat")]
    for block in dict.fromkeys(likely):
        if block == column or not _are_numbers(draft, block, rows):
            continue
        if unique_within(together(owner, sample.codes(block)[rows]), numbers):
            why = f"{column} starts anew in each {block}"
            draft.put("trial", (block, column), BY_CONTENT, why)
            draft.odd(
                f"{column} starts anew in each {block}: the order is {block}, then {column}, and "
                "learning goes on",
                f"--reset-by {block} makes it start anew, if each {block} has new contexts",
            )
            return
    if _only_restarts(sample.numbers(column)[rows], owner):
        why = f"{column} starts anew within learners; the rows are in order"
        draft.put("trial", (NONE,), BY_CONTENT, why)
        draft.odd(
            f"{column} starts anew within learners and no column tells the blocks apart: the order "
            "of the rows is kept",
            "--trial BLOCK,TRIAL, or --reset-by COL if learning starts anew",
        )
        return
    why = f"{column} has the same number several times within learners"
    draft.put("trial", (NONE,), BY_CONTENT, why)
    draft.odd(
        f"{column} has the same number several times within learners and does not run in order: "
        "are several learners taken as one?",
        "--learner COL, --by COL, --trial COL,COL",
    )


def _only_restarts(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers grow within learners, but for a few places where they fall far back."""
    order = np.argsort(owner, kind="stable")
    steps = np.diff(numbers[order])[np.diff(owner[order]) == 0]
    return len(steps) > 0 and float(np.mean(steps <= 0)) < 0.2
