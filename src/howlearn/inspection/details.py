"""Features of contexts, reaction times, and learners that are too short."""

from __future__ import annotations

import numpy as np

from howlearn.core.study import SHORTEST
from howlearn.inspection.draft import BY_CONTENT, BY_NAME, Draft
from howlearn.inspection.looking import sparse
from howlearn.inspection.names import is_answer, is_feature, is_practice, is_rt, is_time
from howlearn.inspection.values import constant_within


def find_features(draft: Draft) -> None:
    """Columns with the names of features that are the same wherever a context is shown."""
    context = draft.contexts()
    if context is None or not draft.open("features") or draft.task is not None:
        return
    rows = draft.chosen
    found = tuple(
        column
        for column in draft.free
        if is_feature(column) and describes(draft, column, rows, context)
    )
    if found:
        draft.put("features", found, BY_NAME, "they describe the context: each gives candidates")


def describes(draft: Draft, column: str, rows: np.ndarray, context: np.ndarray) -> bool:
    """Whether a column is a function of the context, and coarser than it."""
    sample = draft.sample
    if is_answer(column) or is_time(column) or sample.missing(column)[rows].any():
        return False
    codes = sample.codes(column)[rows]
    different = len(np.unique(codes))
    if not 2 <= different < len(np.unique(context[rows])):
        return False
    return constant_within(context[rows], codes)


def find_rt(draft: Draft) -> None:
    """The column with reaction times."""
    numbers = [c for c in draft.free if is_rt(c) and np.isfinite(draft.sample.numbers(c)).any()]
    few = sparse(draft, numbers)
    numbers.sort(key=lambda c: (c in few, is_practice(c)))
    if numbers:
        draft.put("rt", numbers[0], BY_NAME, "for --exclude", tuple(numbers[1:]))


def find_shortest(draft: Draft) -> None:
    """Learners with so few choices that they would be refused."""
    if draft.given.min_trials is not None or not draft.sample.whole:
        return
    owner = draft.sequences()
    trials = np.bincount(owner[draft.chosen], minlength=int(owner.max(initial=0)) + 1)
    short = int(np.count_nonzero(trials < SHORTEST))
    if short and short < len(trials):
        why = f"{short:,} of {len(trials):,} sequences have fewer than {SHORTEST} choices"
        draft.put("min_trials", SHORTEST, BY_CONTENT, why)
