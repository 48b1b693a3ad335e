"""Two things on screen at once, as stim_left and stim_right: neither alone is the context."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from howlearn.inspection.draft import BY_CONTENT, NONE, Draft, typed
from howlearn.inspection.names import is_feature, is_numbered, is_time, named_like, parts_of
from howlearn.inspection.sample import Sample, together
from howlearn.inspection.values import is_number

SIDES = [("left", "right"), ("l", "r"), ("bottom", "top"), ("down", "up"), ("1", "2"), ("a", "b")]
THIRD = [("1", "3"), ("2", "3"), ("a", "c"), ("b", "c"), ("left", "middle"), ("center", "left")]
ALIKE = 0.02  # of the rows may show the same thing twice
CHOSEN = {"chosen", "chose", "selected", "picked"}


def is_chosen(name: str) -> bool:
    """Whether a name is that of what was chosen, so that it is not what was shown."""
    return not CHOSEN.isdisjoint(parts_of(name))


def pair_on_screen(rows: Sample, columns: Sequence[str]) -> tuple[str, str] | None:
    """The columns that say what was on two sides; None if there are none."""
    words = {c: _words(c) for c in columns if not (is_time(c) or is_feature(c) or is_numbered(c))}
    for one, other in combinations(words, 2):
        if not _sides(words[one], words[other]):
            continue
        third = any(_sides(words[one], each, THIRD) for each in words.values())
        if not third and _are_two(rows, one, other):
            return one, other
    return None


def _words(name: str) -> list[str]:
    return [word for part in parts_of(name) for word in re.findall(r"[^\W\d_]+|[0-9]+", part)]


def _sides(one: list[str], other: list[str], sides: Sequence[tuple[str, str]] = SIDES) -> bool:
    """Whether two names differ by the words for two sides only."""
    differ = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) != len(other) or len(differ) != 1 or tuple(sorted(differ[0])) not in sides:
        return False
    return len(one) > 1 or len(one[0]) > 1  # left and right say enough, a and b do not


def _are_two(rows: Sample, one: str, other: str) -> bool:
    """Whether two columns show the same things, and never the same at once."""
    if named_like("reward", [one, other]) or named_like("trial", [one, other]):
        return False
    left, right = rows.counts(one), rows.counts(other)
    shown = named_like("context", [one]) or "option" in _words(one)
    if not shown and all(is_number(value) for value in (*left, *right)):
        return False  # chances or amounts
    if min(len(left), len(right)) < 2 or 2 * len({*left} & {*right}) < len({*left, *right}):
        return False
    a, b = _labels(rows, one), _labels(rows, other)
    return bool(np.mean(a == b) <= ALIKE)


def _labels(rows: Sample, column: str) -> np.ndarray:
    labels = np.array([label or "" for label in rows.columns[column].labels], dtype=object)
    return labels[rows.codes(column)]


def put_pair(draft: Draft, rows: Sample, pair: tuple[str, str]) -> None:
    """The context is what is on both sides, unless the same two are always there."""
    action, both_of = draft.column("action"), typed(",".join(pair))
    shown = {*rows.counts(pair[0]), *rows.counts(pair[1])}
    names_it = action is not None and {*rows.counts(action)} <= shown
    at = np.unique(together(*(rows.codes(c) for c in pair)), return_index=True)[1]
    two = {frozenset(both) for both in zip(*(_labels(rows, c)[at] for c in pair), strict=True)}
    what = f"what is on screen is a pair ({pair[0]} and {pair[1]})"
    if names_it and len(two) == 1:
        draft.put("context", (NONE,), BY_CONTENT, f"{what}, always the same two")
        draft.odd(
            f"{what}, always of the same two, so that only what is chosen counts",
            f"--context {both_of} if the sides are to be told apart",
        )
        return
    draft.put("context", pair, BY_CONTENT, what)
    chosen = [c for c in draft.free if is_chosen(c) and {*rows.counts(c)} <= shown]
    which = f" --action {typed(chosen[0])}" if chosen and not names_it else ""
    counts = "only what is chosen counts" if which or names_it else "what is shown does not matter"
    draft.odd(
        f"{what}: each pair is a context of its own, also the same two with sides exchanged",
        f"--context none{which} if {counts}",
    )
