"""Two things on screen at once, as stim_left and stim_right: neither alone is the context."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from howlearn.reading.columns import is_feature, is_numbered, is_time, like, named_like
from howlearn.reading.guess.behaviour import SHOWN, words_of
from howlearn.reading.guess.column_checks import is_number
from howlearn.reading.guess.sample import Sample

SIDES = [("left", "right"), ("l", "r"), ("bottom", "top"), ("down", "up"), ("1", "2"), ("a", "b")]
THIRD = [("1", "3"), ("2", "3"), ("a", "c"), ("b", "c"), ("left", "middle"), ("center", "left")]
ALIKE = 0.02  # of the rows may show the same thing twice


def pair_on_screen(rows: Sample, columns: Sequence[str]) -> tuple[str, str] | None:
    """The columns that say what was on two sides; None if there are none."""
    words = {c: words_of(c) for c in columns if not (is_time(c) or is_feature(c) or is_numbered(c))}
    for one, other in _differing(words):
        third = any(_sides(words[one], each, THIRD) for each in words.values())
        if not third and _are_two(rows, one, other):
            return one, other
    return None


def _differing(words: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The names that differ by the words for two sides only, in the order of the columns."""
    alike: dict[tuple[str, ...], dict[str, list[str]]] = {}  # without a word → that word → names
    for name, parts in words.items():
        for i, part in enumerate(parts):
            rest = (*parts[:i], "", *parts[i + 1 :])
            alike.setdefault(rest, {}).setdefault(part, []).append(name)
    place = {name: i for i, name in enumerate(words)}
    found = {
        pair if place[pair[0]] < place[pair[1]] else (pair[1], pair[0])
        for names in alike.values()
        for side in SIDES
        for pair in product(names.get(side[0], ()), names.get(side[1], ()))
        if _sides(words[pair[0]], words[pair[1]])
    }
    return sorted(found, key=lambda pair: (place[pair[0]], place[pair[1]]))


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
    shown = named_like("context", [one]) or like(one, SHOWN)
    if not shown and all(is_number(value) for value in (*left, *right)):
        return False  # chances or amounts
    if min(len(left), len(right)) < 2 or 2 * len({*left} & {*right}) < len({*left, *right}):
        return False
    a, b = rows.texts(one), rows.texts(other)
    return bool(np.mean(a == b) <= ALIKE)
