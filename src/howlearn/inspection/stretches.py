"""Stretches of trials within learners: conditions with problems of their own, and blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.inspection.draft import BY_CONTENT, SAID, Draft, Guess
from howlearn.inspection.names import BLOCKS, CONDITIONS, KINDS, is_answer, is_time, like
from howlearn.inspection.sample import together
from howlearn.inspection.values import constant_within, is_number, runs_within

SHORTEST = 4  # trials of a stretch, on average
SHOWN_OFTEN = 4  # times each context of a stretch is shown, so that none is missing by chance
CHANGED = 0.2  # of the contexts: more are another problem
Codes = NDArray[np.intp]


def find_stretches(draft: Draft) -> None:
    """Conditions under which the same contexts have other answers, and blocks with new contexts."""
    context = draft.contexts()
    likely = [c for c in draft.free if _is_stretch(draft, c, draft.learners())]
    conditions = [c for c in likely if like(c, CONDITIONS) and not like(c, "block")]
    if context is not None and draft.open("by") and "reset_by" not in draft.guesses:
        found = [c for c in conditions if _answers_change(draft, c, context)]
        if found:
            why = "the same contexts have other right answers under each of its values"
            draft.put("by", (found[0],), BY_CONTENT, why, tuple(found[1:]))
    blocks = [c for c in likely if like(c, BLOCKS) and c in draft.free]
    blocks = [c for c in blocks if _is_stretch(draft, c, draft.sequences())]
    if context is not None and draft.open("reset_by"):
        _find_sets(draft, blocks, context)
    where = draft.guesses.get("where")
    rest = [c for c in dict.fromkeys((*conditions, *blocks)) if c in draft.free]
    rest = [c for c in rest if where is None or c not in str(where.value)]
    for column in [c for c in rest if c not in draft.columns("context")][:3]:
        if _without_rewards(draft, column).any():
            continue  # a test of what was learned before it
        if _is_stretch(draft, column, draft.sequences()):
            draft.odd(
                f"{column} divides each learner's trials into stretches, and learning is taken to "
                "go on over them",
                f"--reset-by {column} if it starts anew in each, --by {column} to judge each alone",
            )


def _is_stretch(draft: Draft, column: str, owner: Codes) -> bool:
    """Whether each value of a column has one stretch of trials within each owner."""
    if not like(column, f"{BLOCKS} {CONDITIONS} {KINDS}") or is_time(column) or is_answer(column):
        return False
    codes = draft.sample.codes(column)
    if draft.sample.missing(column).any() or constant_within(owner, codes):
        return False
    length, one_run = runs_within(owner, codes)
    return one_run and length >= SHORTEST


def _answers_change(draft: Draft, column: str, context: Codes) -> bool:
    """Whether what is right in a context differs between the stretches of a learner."""
    sample, action, reward = draft.sample, draft.column("action"), draft.column("reward")
    rows = draft.chosen
    if draft.answer is not None:
        right = sample.codes(draft.answer)
        rows = rows & ~sample.missing(draft.answer)
    elif action is not None and reward is not None:
        right = sample.codes(action)
        numbers = sample.numbers(reward)
        if np.isnan(numbers).all():
            return False
        rows = rows & (numbers == np.nanmax(numbers))
    else:
        return False
    if not rows.any():
        return False
    place = together(draft.learners()[rows], context[rows])
    stretch = together(place, sample.codes(column)[rows])
    answers = right[rows]
    one_answer = constant_within(stretch, answers)  # else what is right is a matter of chance
    changes = _differing(place, answers)
    return one_answer and changes > CHANGED


def _differing(owner: Codes, codes: NDArray[np.integer]) -> float:
    """The share of owners with several values."""
    pairs, first = np.unique(together(owner, codes), return_index=True)
    several = np.bincount(owner[first], minlength=int(owner.max(initial=0)) + 1) > 1
    return float(several.mean()) if len(pairs) else 0.0


def _find_sets(draft: Draft, blocks: list[str], context: Codes) -> None:
    """Blocks that bring new contexts, even if they have the same names."""
    for block in blocks:
        if not _sets_differ(draft, block, context):
            continue
        names = draft.guesses["context"]
        if names.how != SAID:
            draft.guesses["context"] = Guess(
                "context",
                (block, *names.columns),
                BY_CONTENT,
                f"each {block} shows another set, so that a context is {block} × "
                f"{' × '.join(names.columns)}; if {names.typed} means the same in all, take it "
                "alone",
                names.others,
            )
        why = f"each {block} shows another set of contexts; without this line learning goes on"
        draft.put("reset_by", (block,), BY_CONTENT, why)
        return


def _without_rewards(draft: Draft, block: str) -> NDArray[np.bool_]:
    """The choices in blocks in which nobody was ever rewarded, though others were."""
    reward, rows = draft.column("reward"), draft.chosen
    if reward is None:
        return np.zeros(int(rows.sum()), dtype=np.bool_)
    codes = draft.sample.codes(block)[rows]
    told = np.bincount(codes, weights=~draft.sample.missing(reward)[rows])
    return told[codes] == 0 if told.any() else np.zeros(len(codes), dtype=np.bool_)


def _sets_differ(draft: Draft, block: str, context: Codes) -> bool:
    """Whether contexts are missing in blocks that show each of theirs often."""
    rows = draft.chosen
    rows[rows] = ~_without_rewards(draft, block)
    if not rows.any():
        return False
    owner, context = draft.sequences()[rows], context[rows]
    place = together(owner, draft.sample.codes(block)[rows])
    pairs, first = np.unique(together(place, context), return_index=True)
    met = np.bincount(place[first])  # contexts of each block
    trials = np.bincount(place)
    _, start = np.unique(place, return_index=True)
    known, at = np.unique(together(owner, context), return_index=True)
    all_met = np.bincount(owner[at])[owner[start]]  # contexts of the learner of each block
    often = trials >= SHOWN_OFTEN * met
    if len(pairs) > len(known) and not _are_numbered(draft, block):
        return False  # some come back, and are the same
    return len(known) > 0 and float(np.mean(often & (met < all_met))) > CHANGED


def _are_numbered(draft: Draft, block: str) -> bool:
    """Whether blocks have numbers, and contexts too, so that 1 may be another one in each block."""
    labels = [value for name in draft.columns("context") for value in draft.sample.counts(name)]
    numbers = all(is_number(value) for value in draft.sample.counts(block))
    return numbers and all(is_number(value) or len(value) == 1 for value in labels)
