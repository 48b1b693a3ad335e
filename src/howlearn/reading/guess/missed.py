"""Values of the choice that mean that there was none: codes for missed trials."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from howlearn.core.options import NONE
from howlearn.reading.columns import is_rt
from howlearn.reading.guess.coding import worth
from howlearn.reading.guess.column_checks import (
    are_words,
    is_key,
    is_number,
    nothing_in,
    share,
    worth_in,
)
from howlearn.reading.guess.draft import Answer, Draft, add_missing
from howlearn.reading.guess.sample import Sample
from howlearn.reading.options import parse_missing

FEW = 0.05  # by chance
FEWEST = 8  # missed trials that would show more than one outcome by now


def find_missing_choices(draft: Draft) -> None:
    """Values of the action that mean that there was none."""
    action = draft.column("action")
    told = {parse_missing(text)[0] for text in draft.given.missing}
    if action is None or not told.isdisjoint({None, "action", action}):
        return
    counts, codes = draft.sample.counts(action), missed_codes(draft, action)
    if codes and not any("," in code or ":" in code for code in codes):
        times = ", ".join(f"{code} ({counts[code]:,} rows)" for code in codes)
        add_missing(draft, "action", action, codes, f"taken as no choice: {times}")
    elif not codes:
        _ask_about_the_odd(draft, action, counts)


def missed_codes(draft: Draft, action: str) -> tuple[str, ...]:
    """The values of the action that mean none."""
    counts = draft.sample.counts(action)
    told = draft.about[action].levels if action in draft.about else {}
    said = [c for c in counts if nothing_in({told.get(c, c): 1, "x": 2, "y": 2}) and c in told]
    likely = dict.fromkeys((*nothing_in(counts), *_without_time(draft, action, counts)))
    codes = (*said, *(c for c in likely if c not in said and was_missed(draft, action, c)))
    return codes if len(counts) - len(codes) > 1 else ()


def chosen_values(draft: Draft, action: str) -> list[str]:
    """What was chosen, without codes for nothing, the most frequent first."""
    nothing = missed_codes(draft, action)
    return [value for value in draft.sample.counts(action) if value not in nothing]


OFTENER = 5  # times as often as what was missed
RARE = 0.2  # of the trials: more are hardly missed
VARIED = 0.3  # as many values as rows, of what is measured


def _times(draft: Draft) -> list[np.ndarray]:
    """Numbers that may be response times: by their names, else as measured for each choice anew."""
    named = [c for c in draft.free if is_rt(c)]
    if named:
        return [draft.sample.numbers(c) for c in named]
    many = [c for c in draft.free if len(draft.sample.counts(c)) > VARIED * draft.sample.height]
    found = [draft.sample.numbers(c) for c in many]
    return [f for f in found if share(f > 0) > 0.5 and share(np.diff(f) < 0) > VARIED]


def _took_no_time(times: np.ndarray, here: np.ndarray) -> bool | None:
    """Whether these rows, unlike the others, have no time or one limit; None if times tell none."""
    if share(times[~here] > 0) < 0.5:
        return None
    same = here.sum() >= FEWEST and len(np.unique(times[here])) == 1 < len(np.unique(times[~here]))
    return bool(same or share(times[here] > 0) < 0.5)


def _without_time(draft: Draft, action: str, counts: Mapping[str, int]) -> list[str]:
    """Values among three choices or more that never took any time, unlike the others."""
    times, labels = _times(draft), draft.sample.columns[action].labels
    if len(counts) < 3 or not times:
        return []
    codes = draft.sample.codes(action)
    likely = [v for v in counts if counts[v] < RARE * sum(counts.values())]
    return [v for v in likely if _took_no_time(times[0], codes == labels.index_of(v))]


def was_missed(draft: Draft, action: str, code: str) -> bool:
    """Whether a value of the action means none: it has no outcome of its own and took no time."""
    sample, reward = draft.sample, draft.column("reward")
    unclear = is_number(code) or re.sub(r"[\W_]+", "", code.lower()) in ("none", "miss", "skip", "")
    if not unclear and code in nothing_in({code: 1, "x": 2, "y": 2}):
        return True  # a word such as timeout says it
    here = sample.codes(action) == sample.columns[action].labels.index_of(code)
    counts = [times for value, times in sample.counts(action).items() if value != code]
    if not is_number(code) and min(sorted(counts)[-2:], default=0) > OFTENER * here.sum():
        return len(counts) > 1  # beside two that were chosen far more often
    told = [found for times in _times(draft) if (found := _took_no_time(times, here)) is not None]
    if told and not told[0] and any(map(is_rt, draft.free)):  # what else is measured may go on
        return False
    if code == "0" and not (told and told[0]):  # may be one of the options
        return reward is None or not _outcomes(draft, reward, here)
    return reward is None or here.sum() < FEWEST or _outcomes(draft, reward, here) < 2


def _outcomes(draft: Draft, reward: str, here: np.ndarray) -> int:
    """How many outcomes rows have; none where most have none."""
    told = draft.sample.codes(reward)[here & ~draft.sample.missing(reward)]
    return 0 if 2 * len(told) < here.sum() else len(np.unique(told))


def _ask_about_the_odd(draft: Draft, action: str, counts: Mapping[str, int]) -> None:
    """A rare value unlike all others, which never earned anything: was it a choice?"""
    reward = draft.column("reward")
    odd = [value for value in counts if _is_odd(value, [v for v in counts if v != value])]
    if reward is None or len(counts) < 3 or len(odd) != 1 or _times(draft):
        return
    here = draft.sample.codes(action) == draft.sample.columns[action].labels.index_of(odd[0])
    worth = worth_in(draft.sample, reward)
    rare = FEWEST <= here.sum() < RARE * len(here)
    if not rare or _outcomes(draft, reward, here) != 1 or worth[here].max() > worth.min():
        return
    if share(worth[~here] <= worth.min()) ** here.sum() > FEW:
        return  # by chance
    draft.ask(
        "missing",
        f"{action} is {odd[0]} in {int(here.sum()):,} rows, which earned nothing: is it a choice?",
        [
            Answer("missing", (f"action:{odd[0]}",), "no: nothing was chosen there"),
            Answer("missing", (NONE,), "yes: it is one of the actions"),
        ],
    )
    add_missing(draft, "action", action, (odd[0],), f"taken as no choice: {odd[0]}")


def _is_odd(value: str, others: list[str]) -> bool:
    """Whether a value is no key among keys, a word among numbers, or 0 or less below all others."""
    if is_number(value) and all(map(is_number, others)):
        return float(value) <= 0 and all(float(value) < float(other) for other in others)
    if any(mark in value for mark in ",:"):
        return False
    alike = any(all(map(kind, others)) and not kind(value) for kind in (is_key, is_number))
    return alike or (is_number(value) and not any(map(is_number, others)))


OFTEN_SHOWN = 20  # times, without being chosen


def leave_empty_places_out(draft: Draft, rows: Sample, action: str, places: dict[str, str]) -> None:
    """A code such as 0 or -1 at a place that was never chosen while it stood there: nothing."""
    made = rows.texts(action)
    for column, place in places.items():
        shown = rows.texts(column)
        for value, times in rows.counts(column).items():
            empty = value in nothing_in({value: 1, "x": 2, "y": 2}) or value == "0"
            if empty and times >= OFTEN_SHOWN and not np.any((shown == value) & (made == place)):
                add_missing(draft, column, column, (value,), f"{value} in {column}: nothing there")


def apply_missing(draft: Draft) -> None:
    """Take the values that the user calls missing as such."""
    for text in draft.given.missing:
        name, value = parse_missing(text)
        named = [c for c in (name, draft.column(name) if name else None) if c is not None]
        for column in draft.sample.columns if name is None else named:
            if column in draft.sample.columns:
                draft.sample = draft.sample.without(column, (value,))


def find_third_words(draft: Draft) -> None:
    """Words beside two outcomes that stand exactly where another column has no choice: too slow."""
    sample, named = draft.sample, draft.named("reward")
    for column in draft.free if NONE not in draft.given.missing else ():
        counts = sample.counts(column)
        if len(counts) != 3 or any(is_number(v) or {*v} & {*",:"} for v in counts):
            continue
        third = min(counts, key=lambda value: counts[value])
        rest = [value for value in counts if value != third]
        known = are_words(rest) or worth(rest) is not None or column in named
        if not known or worth(counts) is not None or are_words(counts):
            continue
        here = sample.codes(column) == sample.columns[column].labels.index_of(third)
        if any(_is_silent(draft, other, here) for other in draft.free if other != column):
            draft.thirds[column] = third
            draft.sample = draft.sample.without(column, (third,))


def _is_silent(draft: Draft, column: str, here: np.ndarray) -> bool:
    """Whether a column has no value, or one of many that is nowhere else, in just these rows."""
    sample, counts = draft.sample, draft.sample.counts(column)
    if np.array_equal(sample.missing(column), here):
        return True
    codes = sample.codes(column)
    one = len(counts) > 2 and len(np.unique(codes[here])) == 1
    return bool(one and np.array_equal(codes == codes[here][0], here))
