"""Choices that were not free: somebody else made them, so that they teach and do not count."""

from __future__ import annotations

import numpy as np

from howlearn.core.options import NONE
from howlearn.reading.columns import parts_of, plain
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    Answer,
    Draft,
    in_expression,
    in_quotes,
)
from howlearn.reading.guess.evidence import centred, score
from howlearn.reading.guess.reward import earnings
from howlearn.reading.guess.sample import together

FORCED = {"forced", "force", "instructed", "forcedchoice", "isforced"}
FORCED_WORDS = {"forced", "instructed", "yes", "true", "1"}


def find_forced(draft: Draft) -> None:
    """Choices that somebody else made, as a column says: they teach, and do not count."""
    if not draft.open("forced_when") or not draft.open("scored"):
        return
    for column in draft.free:
        counts, name = draft.sample.counts(column), in_expression(column)
        words = {*parts_of(column), plain(column)}
        if FORCED.isdisjoint(words) or len(counts) != 2 or name is None:
            continue
        yes = [value for value in counts if value.lower() in FORCED_WORDS]
        if len(yes) == 1:
            why = f"{column} says that these choices were not free: they teach, and do not count"
            draft.put("forced_when", f"{name} == {in_quotes(yes[0])}", BY_NAME, why)
            return


# Choices that were laid down: at the beginning of each block or game they follow no outcome.

MANY, FOLLOWED, UNFOLLOWED = 30, 6.0, 2.0  # stretches; standard errors of staying after a success


def ask_if_forced(draft: Draft) -> None:
    """Ask about the first trials of each stretch, where choices follow outcomes only after them."""
    action, reward, order = (draft.column(role) for role in ("action", "reward", "trial"))
    resets = draft.columns("reset_by")
    numbered = order or (draft.columns("trial") or (None,))[-1]
    if not (action and reward and numbered and resets and draft.open("forced_when")):
        return
    sample, rows = draft.sample, draft.chosen
    owner = draft.sequences()[rows]
    stretch = together(owner, *(sample.codes(c)[rows] for c in resets))
    place, worth = sample.numbers(numbered)[rows], np.nan_to_num(earnings(sample, reward)[rows])
    sort = np.lexsort((place, stretch))
    near = (np.diff(stretch[sort]) == 0) & (np.diff(place[sort]) == 1)
    after = place[sort][1:][near]
    where = together(owner[sort][1:][near], np.unique(after, return_inverse=True)[1])
    stays = centred(where, np.diff(sample.codes(action)[rows][sort])[near] == 0)
    first = stays * centred(where, worth[sort][:-1][near])
    each = [n for n in np.unique(after).tolist() if (after == n).sum() >= MANY]
    free = next((n for n in each if abs(score(first[after == n])) > UNFOLLOWED), None)
    if free is None or free - min(each) < 2 or score(first[after >= free]) < FOLLOWED:
        return
    if abs(score(first[after < free])) > UNFOLLOWED:
        return
    text = f"{in_expression(numbered)} < {free:g}"
    draft.ask(
        "forced_when",
        f"choices follow outcomes only from {numbered} {free:g} of each {resets[0]}: were the "
        "earlier ones free?",
        [
            Answer("forced_when", text, "no: they were laid down; they teach, and do not count"),
            Answer("forced_when", NONE, "yes"),
        ],
    )
    draft.put("forced_when", text, BY_CONTENT, "choices do not follow outcomes there")
