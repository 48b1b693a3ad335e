"""What columns do: which follow from others, are one of those on offer, hang on a choice."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import chi_square_tail
from howlearn.reading.columns import (
    is_count,
    is_feature,
    is_numbered,
    is_time,
    like,
    named_like,
    parts_of,
    plain,
)
from howlearn.reading.guess.column_checks import bare, is_number, nothing_in
from howlearn.reading.guess.sample import Sample, scaled, together

LOOKED_AT = 20_000  # rows; more tell nothing new about how columns go together
FEWEST = 20  # rows from which it can be told that a column follows from another
NEARLY = 0.99  # of the rows: a few mistakes are in every file
ALWAYS = 0.9995  # people who know the answers deviate from them now and then
Codes = NDArray[np.integer]


def follows_from(codes: Codes, owner: Codes, share: float = NEARLY) -> bool:
    """Whether a column has one value only (nearly) wherever another has the same, often enough.

    >>> shown = np.tile([0, 1, 2, 3], 10)
    >>> follows_from(shown // 2, shown), follows_from(np.arange(40) % 3, shown)
    (True, False)
    """
    if len(codes) < FEWEST or len(np.unique(codes)) < 2:
        return False
    owner = together(owner)
    if 3 * (int(owner.max(initial=-1)) + 1) > len(codes):
        return False  # met too seldom to tell
    return purity(codes, owner) >= share


def purity(codes: Codes, owner: Codes) -> float:
    """The share of rows with the commonest value of their owner."""
    _pairs, at, times = np.unique(together(owner, codes), return_index=True, return_counts=True)
    most = np.zeros(int(owner.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, owner[at], times)
    return float(most.sum() / max(1, len(codes)))


def hangs_on(worth: NDArray[np.float64], action: Codes, place: Codes) -> float:
    """How likely outcomes differ between actions this much by chance alone; 1 where nothing tells.

    Within each place (a learner in a context) the outcomes of the actions are compared.

    >>> draw = np.random.default_rng(1)
    >>> action, place = draw.integers(0, 2, 400), np.zeros(400, int)
    >>> hangs_on((draw.random(400) < 0.3 + 0.4 * action).astype(float), action, place) < 1e-6
    True
    >>> hangs_on(draw.random(400), action, place) > 1e-3
    True
    """
    told = np.isfinite(worth)
    worth, action, place = scaled(worth[told]), together(action[told]), together(place[told])
    if not len(worth):
        return 1.0
    cell = together(place, action)
    _, first = np.unique(cell, return_index=True)
    times = np.bincount(place)
    mean = np.bincount(place, worth) / times
    spread = np.bincount(place, (worth - mean[place]) ** 2) / np.maximum(times - 1, 1)
    each = np.bincount(cell)
    gap = np.bincount(cell, worth) / each - mean[place[first]]
    usable = (spread > 0) & (times >= 4)
    part = np.where(
        usable[place[first]], each * gap**2 / np.where(spread > 0, spread, 1)[place[first]], 0
    )
    freedom = float((np.bincount(place[first]) - 1)[usable].sum())
    return chi_square_tail(int(freedom), float(part.sum())) if freedom > 0 else 1.0


def goes_on(worth: NDArray[np.float64], action: Codes, place: Codes) -> float:
    """How likely an outcome resembles the last one of the same action this much by chance alone.

    So does what an action earns where it drifts or reverses, also if no action is better overall.
    """
    told = np.isfinite(worth)
    worth = worth[told]
    cell = together(place[told], action[told])
    order = np.argsort(cell, kind="stable")
    same = np.diff(cell[order]) == 0
    before, after = worth[order][:-1][same], worth[order][1:][same]
    if len(before) < FEWEST:
        return 1.0
    before, after = scaled(before), scaled(after)  # each: one may have what is huge
    before, after = scaled(before - before.mean()), scaled(after - after.mean())
    if not before.any() or not after.any():
        return 1.0
    alike = before @ after / np.sqrt((before @ before) * (after @ after))
    return math.erfc(abs(alike) * math.sqrt(len(before) / 2))


# Columns that are alike but for one word of their names: what is on the left, what is on the right.

_SIDES = [
    {*words.split()}
    for words in (
        "left right middle center centre",
        "l r m c",
        "top bottom middle",
        "up down left right",
        "first second third fourth",
        "one two three four",
        "0 1 2 3 4 5 6 7 8 9",
        "a b c d e f g h",
        "links rechts",
        "gauche droite",
        "izquierda derecha",
        "izq der",
        "sinistra destra",
        "esquerda direita",
        "upper lower",
        "cor inc",
        "correct incorrect",
        "better worse",
        "good bad",
        "high low",
    )
]
_ANY_SIDE = set().union(*_SIDES)
TWO_SIDES = [
    ("left", "right"),
    ("l", "r"),
    ("bottom", "top"),
    ("down", "up"),
    ("1", "2"),
    ("a", "b"),
    ("links", "rechts"),
    ("droite", "gauche"),
    ("derecha", "izquierda"),
    ("der", "izq"),
    ("destra", "sinistra"),
    ("direita", "esquerda"),
]


def families(names: Sequence[str]) -> list[dict[str, str]]:
    """Columns whose names differ in a side, a number or a letter only: side → column.

    >>> families(["L_choice", "R_choice", "stim1", "stim2", "rt"])
    [{'l': 'L_choice', 'r': 'R_choice'}, {'1': 'stim1', '2': 'stim2'}]
    """
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for name in names:
        if is_time(name):
            continue
        words = words_of(name)
        for i, word in enumerate(words):
            if word in _ANY_SIDE and (len(words) > 1 or len(word) > 1):
                stem = (*words[:i], "*", *words[i + 1 :])
                found.setdefault(stem, {})[word] = name
    some = [  # beside left_colour and right_colour there may be correct_colour
        max(({w: n for w, n in all_.items() if w in sides} for sides in _SIDES), key=len)
        for all_ in found.values()
        if len(all_) > 1
    ]
    return [family for family in some if len(family) > 1]


def words_of(name: str) -> list[str]:
    """The words and numbers of a name, without case; none where nobody would have typed it."""
    if len(name) > LONGEST_NAME:
        return []
    return [word for part in parts_of(name) for word in re.findall(r"[^\W\d_]+|[0-9]+", part)]


LONGEST_NAME = 200
SHOWN = """
stim stimulus stimuli option offer arm image img picture pic card symbol bandit machine door item
cue slot deck shape object choice fractal
"""
MOST_OPTIONS = 60  # different things that may be on offer in a study
ALIKE = 0.02  # of the rows may show the same thing twice


def on_offer(rows: Sample, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that say what was on offer, and those that are always one of these; or none."""
    likely = [c for c in names if not is_time(c) and 2 <= len(rows.counts(c)) <= MOST_OPTIONS]
    coded = _coded_together(rows, likely, but_nothing=True)
    alike = [tuple(family.values()) for family in families(likely)]
    groups = alike + [pair for pair in combinations(likely[:12], 2) if pair not in alike]
    best = _chosen_and_not(coded)
    for group in groups:
        words = not any(is_number(value) for c in group for value in rows.counts(c))
        shared = _are_options(coded, group)
        if not shared and not (group in alike and words and _are_options(coded, group, False)):
            continue
        values = {v for c in group for v in rows.counts(c)}
        if group not in alike and len(values) < 3:
            continue  # of two values everything is one
        one_of = tuple(c for c in likely if c not in group and is_one_of(coded, c, group))
        one_of = one_of if len(values) > 2 or not all(map(is_number, values)) else ()  # or sides
        things = any(like(c, SHOWN) for c in group) or _are_sides_with_words(rows, group)
        things |= len(group) > 2 and _are_numbered_things(coded, rows, group)
        if not one_of and not (shared and group in alike and things):
            continue  # amounts or chances, rather than things
        if (bool(one_of), len(group)) > (bool(best[1]), len(best[0])):
            best = (group, one_of)
    return best


def _are_numbered_things(
    coded: Mapping[str, NDArray[np.int64]], rows: Sample, group: Sequence[str]
) -> bool:
    """Whether three or more columns have whole numbers, never the same: amounts would be."""
    whole = all(is_count(value) for c in group for value in rows.counts(c))
    same = any(np.any((coded[a] == coded[b]) & (coded[a] >= 0)) for a, b in combinations(group, 2))
    return whole and not same and rows.height >= 10 * FEWEST


_SIDE_WORDS = {word for pair in TWO_SIDES for word in pair} - {"1", "2", "a", "b"}


def _are_sides_with_words(rows: Sample, group: Sequence[str]) -> bool:
    """Whether columns named after two sides have the same words: things, and no amounts."""
    values = [{*rows.counts(c)} for c in group]
    words = values[0] == values[1] and not any(v.replace(".", "").isdigit() for v in values[0])
    sided = all(_SIDE_WORDS & {*words_of(c)} for c in group)
    return len(group) == 2 and words and sided


UNCHOSEN = {"unchosen", "nonchosen", "notchosen", "rejected", "foregone", "forgone", "unselected"}


def _chosen_and_not(
    coded: Mapping[str, NDArray[np.int64]],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was chosen and what was not: together they were on offer."""
    for other in [c for c in coded if not UNCHOSEN.isdisjoint(words_of(c))]:
        stem = [word for word in words_of(other) if word not in UNCHOSEN]
        for column in coded:
            words = words_of(column)
            mine = not {"chosen", "choice", "chose", "selected"}.isdisjoint(words)
            fits = column != other and mine and {*stem} <= {*words}
            if fits and _are_options(coded, (column, other)):
                return (column, other), (column,)
    return (), ()


def says_the_outcome(rows: Sample, column: str, reward: str | None) -> bool:
    """Whether a column and what was earned follow from each other, in whatever words."""
    if reward is None or len(rows.counts(reward)) < 3:
        return False  # of two values what is shown may tell which it will be
    both = rows.codes(column), rows.codes(reward)
    return any(follows_from(one, other) for one, other in (both, both[::-1]))


def is_of_one_option(rows: Sample, column: str, action: str, reward: str) -> bool:
    """Whether a column is what one of the actions would have earned, chosen or not.

    It equals the reward wherever that action was chosen, and not always elsewhere.
    """
    known = _coded_together(rows, [column, reward])
    mine, earned = known[column], known[reward]
    codes = rows.codes(action)[:LOOKED_AT]
    same = mine == earned
    hits = []
    for each in np.unique(codes):
        here = (codes == each) & (mine >= 0) & (earned >= 0)
        varied = len(np.unique(earned[here])) > 1
        hits.append(float(same[here].mean()) if here.sum() >= FEWEST and varied else 0.0)
    return max(hits, default=0) >= NEARLY and min(hits, default=1) < NEARLY


def are_right_and_wrong(columns: Sequence[str]) -> bool:
    """Whether two columns say what was right and what was wrong.

    >>> are_right_and_wrong(["cor_option", "inc_option"]), are_right_and_wrong(["stim1", "stim2"])
    (True, False)
    """
    words = [word for column in columns for word in words_of(column)]
    pairs = (("cor", "inc"), ("correct", "incorrect"), ("better", "worse"), ("good", "bad"))
    return len(columns) == 2 and any({*pair} <= {*words} for pair in pairs)


def _coded_together(
    rows: Sample, names: Sequence[str], but_nothing: bool = False
) -> dict[str, NDArray[np.int64]]:
    """Columns with the same code for the same label, −1 where there is none, or nothing chosen."""
    book: dict[str, int] = {}
    coded = {}
    for name in names:
        column = rows.columns[name]
        nothing = (None, *(nothing_in(rows.counts(name)) if but_nothing else ()))
        table = [-1 if v in nothing else book.setdefault(bare(v), len(book)) for v in column.labels]
        coded[name] = np.array(table or [-1], dtype=np.int64)[rows.codes(name)[:LOOKED_AT]]
    return coded


def _are_options(
    coded: Mapping[str, NDArray[np.int64]], group: Sequence[str], shared: bool = True
) -> bool:
    """Whether columns show the same things, or each its own, and never the same one at once."""
    for one, other in combinations(group, 2):
        a, b = coded[one], coded[other]
        both = (a >= 0) & (b >= 0)
        if both.sum() < FEWEST or np.mean(a[both] == b[both]) > ALIKE:
            return False
        apart = not len(np.intersect1d(a[both], b[both]))
        if shared and apart and not are_right_and_wrong((one, other)):
            return False
    return True


def is_one_of(coded: Mapping[str, NDArray[np.int64]], name: str, group: Sequence[str]) -> bool:
    """Whether a column is always one of several others, and each of them now and then."""
    mine = coded[name]
    told = np.all([coded[each] >= 0 for each in (name, *group)], axis=0)
    hits = [
        float(np.mean(mine[told] == coded[each][told])) if told.any() else 0.0 for each in group
    ]
    return int(told.sum()) >= FEWEST and min(hits) >= ALIKE and sum(hits) >= NEARLY


def explained(worth: NDArray[np.float64], action: Codes, place: Codes) -> float:
    """The share of the outcomes' variance that action and place tell together, beyond chance."""
    told = np.isfinite(worth)
    worth, cell = scaled(worth[told]), together(place[told], action[told])
    cells = int(cell.max(initial=-1)) + 1
    total = float(((worth - worth.mean()) ** 2).sum()) if len(worth) else 0.0
    if total == 0 or len(worth) <= cells + 1:
        return 0.0
    mean = np.bincount(cell, worth) / np.bincount(cell)
    left = float(((worth - mean[cell]) ** 2).sum())
    return 1 - (left / (len(worth) - cells)) / (total / (len(worth) - 1))  # adjusted R squared


def told_by_chance(
    codes: np.ndarray, owner: np.ndarray, base: np.ndarray, told: Callable[[np.ndarray], float]
) -> float:
    """The most that a column tells when its values are shuffled within each learner.

    A few large losses, as in gambling tasks, seem to depend on anything.
    """
    draw, found = np.random.default_rng(1), [0.0]
    for _ in range(SHUFFLES):
        order = np.lexsort((draw.random(len(owner)), owner))
        mixed = np.empty_like(codes)
        mixed[np.argsort(owner, kind="stable")] = codes[order]
        place = together(base, mixed)
        found += [told(place), told(together(owner, place))]
    return max(found)


SHUFFLES = 20


def settles(rows: Sample, column: str, action: str, reward: str) -> bool:
    """Whether a column names the right answer in other words: with the choice it fixes outcomes."""
    few = len(rows.counts(column)) <= len(rows.counts(action))
    codes = together(rows.codes(column), rows.codes(action))
    return few and follows_from(rows.codes(reward), codes)


# Two things on screen at once, as stim_left and stim_right: neither alone is the context.

THIRD = [("1", "3"), ("2", "3"), ("a", "c"), ("b", "c"), ("left", "middle"), ("center", "left")]


def pair_on_screen(rows: Sample, columns: Sequence[str]) -> tuple[str, str] | None:
    """The columns that say what was on two sides; None if there are none."""
    words = {c: words_of(c) for c in columns if not (is_time(c) or is_feature(c) or is_numbered(c))}
    for one, other in _differing(words):
        third = any(_sides(words[one], each, THIRD) for each in words.values())
        if not third and _are_two(rows, one, other):
            return one, other
    return _same_things(rows, [*words])


def _same_things(rows: Sample, columns: Sequence[str]) -> tuple[str, str] | None:
    """Two columns with the same things, never the same at once; two things need a telling name."""
    having: dict[frozenset[str], list[str]] = {}
    for column in columns:
        if rows.height >= FEWEST and len(rows.counts(column)) <= MOST_OPTIONS:
            having.setdefault(frozenset(rows.counts(column)), []).append(column)
    for values, group in having.items():
        if len(group) != 2 or not _are_two(rows, *group):
            continue
        never = not np.any(rows.texts(group[0]) == rows.texts(group[1]))
        if _sides([*plain(group[0])], [*plain(group[1])]) or (never and len(values) > 2):
            return group[0], group[1]
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
        for side in TWO_SIDES
        for pair in product(names.get(side[0], ()), names.get(side[1], ()))
        if _sides(words[pair[0]], words[pair[1]])
    }
    return sorted(found, key=lambda pair: (place[pair[0]], place[pair[1]]))


def _sides(one: list[str], other: list[str], sides: Sequence[tuple[str, str]] = TWO_SIDES) -> bool:
    """Whether two names differ by the words for two sides only."""
    differ = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) != len(other) or len(differ) != 1 or tuple(sorted(differ[0])) not in sides:
        return False
    return len(one) > 1 or len(one[0]) > 1  # left and right say enough, a and b do not


MOST_COUNTED = 12


def _are_counted(values: set[str]) -> bool:
    """Whether values are the numbers of several things, from 0 or 1 on without a gap."""
    if not 3 <= len(values) <= MOST_COUNTED or not all(map(is_count, values)):
        return False
    numbers = sorted(map(int, values))
    return numbers[0] < 2 and numbers[-1] - numbers[0] == len(numbers) - 1


def _are_two(rows: Sample, one: str, other: str) -> bool:
    """Whether two columns show the same things, and never the same at once."""
    if named_like("reward", [one, other]) or named_like("trial", [one, other]):
        return False
    left, right = rows.counts(one), rows.counts(other)
    shown = named_like("context", [one]) or like(one, SHOWN)
    numbers = all(is_number(value) for value in (*left, *right))
    if numbers and not shown and not _are_counted({*left, *right}):
        return False  # chances or amounts
    if min(len(left), len(right)) < 2 or 2 * len({*left} & {*right}) < len({*left, *right}):
        return False
    a, b = rows.texts(one), rows.texts(other)
    return bool(np.mean(a == b) <= ALIKE)
