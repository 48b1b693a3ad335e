"""The order of trials: one number, numbers that restart in each block, or the rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.options import NONE
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    like,
    named_like,
)
from howlearn.reading.guess.column_checks import (
    constant_within,
    runs_within,
    unique_within,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    Answer,
    Draft,
)
from howlearn.reading.guess.sample import together

Codes = NDArray[np.intp]


def find_order(draft: Draft) -> None:
    """Guess what orders the trials of a sequence."""
    if "trial" in draft.guesses:
        return
    rows = draft.chosen
    called = draft.named("trial")
    named = [c for c in called if are_numbers(draft, c, rows)]
    owner = draft.sequences()[rows]
    segments = [draft.sample.codes(c)[rows] for c in draft.columns("reset_by")]
    for column in named:
        numbers = draft.sample.codes(column)[rows]
        within = together(owner, *segments)
        once = unique_within(owner, numbers) or unique_within(within, numbers)
        if once and not _interleaves(draft.sample.places(column)[rows], within):
            others = tuple(c for c in named if c != column)
            draft.put("trial", (column,), BY_NAME, "", others)
            return
    if not named:
        if called:
            why = f"{', '.join(called)}: not a number in every trial"
            draft.put("trial", (NONE,), BY_CONTENT, why)
        return
    _restarting(draft, named, owner, rows)


def are_numbers(draft: Draft, column: str, rows: NDArray[np.bool_]) -> bool:
    """Whether a column numbers these rows."""
    numbers = draft.sample.places(column)[rows]
    return bool(len(numbers)) and bool(np.isfinite(numbers).all())


def _restarting(draft: Draft, named: list[str], owner: Codes, rows: NDArray[np.bool_]) -> None:
    """Numbers that restart: in each block, session or both, if columns say so."""
    sample, column = draft.sample, named[0]
    mixed = unique_within(owner, sample.codes(column)[rows])  # though each number is there once
    order = () if mixed else _numbering(draft, column, owner, rows)
    if order:
        outer = order[: order.index(column)]
        whole = " × ".join(outer)
        why = f"{column} restarts in each {whole}" if outer else "one trial per stage"
        draft.put("trial", order, BY_CONTENT, why)
        in_rows = _only_restarts(sample.numbers(column)[rows], owner)
        if in_rows and _reorders([sample.places(c)[rows] for c in order], owner):
            draft.ask(
                "trial",
                f"the rows are not in the order of {whole}, but {column} runs up in them: which "
                "is the order of the trials?",
                [
                    Answer("trial", order, f"{', then '.join(order)}"),
                    Answer("trial", (NONE,), "that of the rows"),
                ],
            )
        if outer and not {*outer} & {*draft.columns("reset_by"), *draft.columns("by")}:
            draft.odd(
                f"{column} restarts in each {whole}: the order is {', then '.join(order)}, and "
                f"learning continues",
                f"--reset-by {','.join(outer)} makes it restart, if each {whole} has new contexts",
            )
        return
    if _only_restarts(sample.numbers(column)[rows], owner):
        why = f"{column} restarts within learners; the rows are in order"
        draft.put("trial", (NONE,), BY_CONTENT, why)
        draft.odd(
            f"{column} restarts within learners and no column identifies the blocks: the order "
            f"of the rows is kept",
            "--trial BLOCK,TRIAL, or --reset-by COL if learning restarts",
        )
        return
    why = f"{column} has the same number several times within learners"
    draft.put("trial", (NONE,), BY_CONTENT, why)
    draft.odd(
        f"{column} has the same number several times within learners and is not in order: are "
        f"several learners read as one?",
        "--learner COL, --by COL, --trial COL,COL",
    )


def _interleaves(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers that run up in the rows would mix stretches in which they restart.

    So do times that are counted from the beginning of each session.
    """
    if not _only_restarts(numbers, owner):
        return False
    order = np.argsort(owner, kind="stable")
    begins = np.concatenate(([True], (np.diff(numbers[order]) <= 0) | (np.diff(owner[order]) != 0)))
    stretch = np.cumsum(begins)
    mixed = stretch[np.lexsort((numbers[order], owner[order]))]
    return 1 + int(np.count_nonzero(np.diff(mixed))) > 2 * int(begins.sum())


def _reorders(keys: Sequence[NDArray[np.float64]], owner: Codes) -> bool:
    """Whether numbers bring the rows of an owner into another order."""
    order = np.lexsort((*reversed(keys), owner))
    return not np.array_equal(order, np.argsort(owner, kind="stable"))


MOST_OUTER = 3  # columns that number the rows together with the trial's number


def _numbering(draft: Draft, column: str, owner: Codes, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    """The columns that number the rows together with a trial's number, the slowest first."""
    sample = draft.sample
    numbers = sample.codes(column)[rows]
    used = [*draft.columns("by"), *draft.columns("reset_by"), *draft.columns("context")]
    words = f"{BLOCKS} {CONDITIONS} loop rep repeat stage"
    likely = [c for c in dict.fromkeys((*draft.free, *used)) if like(c, words) and c != column]
    likely = [c for c in likely if are_numbers(draft, c, rows)]
    codes = {c: sample.codes(c)[rows] for c in likely}
    for size in range(1, MOST_OUTER + 1):
        for some in combinations(likely, size):
            if unique_within(together(owner, *(codes[c] for c in some)), numbers):
                codes[column] = numbers
                length = {c: runs_within(owner, codes[c])[0] for c in (*some, column)}
                return tuple(sorted(length, key=lambda c: -length[c]))
    return ()


def _only_restarts(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers grow within learners, but for a few places where they fall far back."""
    order = np.argsort(owner, kind="stable")
    steps = np.diff(numbers[order])[np.diff(owner[order]) == 0]
    return len(steps) > 0 and float(np.mean(steps <= 0)) < 0.2


def restart_in(draft: Draft, blocks: Sequence[str]) -> bool:
    """Whether trials are counted from the start in each block, or not at all."""
    rows, owner = draft.chosen, draft.sequences()[draft.chosen]
    named = (*draft.columns("trial"), *named_like("trial", draft.free))
    counted = [c for c in named if are_numbers(draft, c, rows)]
    inside = together(owner, *(draft.sample.codes(block)[rows] for block in blocks))
    codes = [draft.sample.codes(c)[rows] for c in counted]
    restart = [unique_within(inside, c) and not unique_within(owner, c) for c in codes]
    return any(restart) or not any(unique_within(owner, c) for c in codes)


def unit_of(draft: Draft, blocks: Sequence[str]) -> str | None:
    """A column that names learner and block together, as if each were a learner."""
    rows, learner = draft.chosen, together(draft.learners())
    inside = together(learner, *(draft.sample.codes(block) for block in blocks))[rows]
    n = int(together(inside).max(initial=0)) + 1
    for column in draft.free if learner.max(initial=0) > 0 else ():
        codes = draft.sample.codes(column)[rows]
        if len(np.unique(codes)) == n and constant_within(inside, codes):
            return column
    return None
