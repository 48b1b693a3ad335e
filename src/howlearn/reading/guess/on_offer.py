"""What was on offer, where learners could not choose every action in every trial."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.options import NONE
from howlearn.reading.columns import is_answer, is_count, is_numbered, is_time, like
from howlearn.reading.guess.action import MOST_LABELS, lists_in, places_in
from howlearn.reading.guess.behaviour import (
    FEWEST,
    NEARLY,
    follows_from,
    goes_on,
    hangs_on,
    pair_on_screen,
    words_of,
)
from howlearn.reading.guess.column_checks import (
    are_shares,
    first_word,
    is_number,
    materialise,
    runs_within,
    tell_the_same,
    worth_in,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    SAID,
    Answer,
    Draft,
    in_expression,
    in_quotes,
    typed,
)
from howlearn.reading.guess.evidence import centred
from howlearn.reading.guess.missed import chosen_values, leave_empty_places_out, missed_codes
from howlearn.reading.guess.sample import Sample, together

TELLS = 3.0  # decimal places of chance by which one reading is better than another
PAIR_NAMES = "type pair stim stimulus stimuli cue options trial_type condition context set"
_LEFT = (
    "left l f z q s d arrowleft leftarrow 37 1 first a 'f' up gauche links izquierda sinistra 左"
)
_RIGHT = (
    "right r j m p k arrowright rightarrow 39 2 second b 'j' down droite rechts derecha destra 右"
)


def find_offers(draft: Draft) -> None:
    """Columns that show what could be chosen, and how the choice names one of them."""
    action = draft.column("action")
    said = draft.columns("offered")
    if action is None or not (draft.open("positions") and draft.open("offers")):
        return
    values, rows = chosen_values(draft, action), draft.sample.only(_chosen(draft, action))
    if 2 <= len(said) == len(values) <= MOST_PLACES:
        shown = {value for column in said for value in draft.sample.counts(column)}
        if not {*values} <= shown:
            _put_sides(draft, rows, action, said)
    if not draft.open("offered"):
        return
    if draft.on_offer and action in draft.one_of:
        _put_columns(draft, action)
        return
    if _put_lists(draft, rows, action, values):
        return
    if 2 < len(draft.on_offer) == len(values) <= MOST_PLACES:
        _put_sides(draft, rows, action, draft.on_offer)
        return
    pair = pair_on_screen(rows, [c for c in draft.free if not is_answer(c)])
    if pair is not None and len(values) == 2:
        _put_sides(draft, rows, action, pair)
    elif pair is None and not _put_one_side(draft, rows, action):
        _put_labels(draft, rows, action)


def _chosen(draft: Draft, action: str) -> NDArray[np.bool_]:
    """Which of all rows have a choice."""
    column = draft.sample.columns[action]
    codes = (column.labels.index_of(value) for value in missed_codes(draft, action))
    missed = [code for code in codes if code is not None]
    return ~(column.missing() | np.isin(column.codes, missed))


def _put_columns(draft: Draft, action: str) -> None:
    """One column per option, of which the choice is always one; nothing if it is always all."""
    sample, columns = draft.sample, draft.on_offer
    names = np.stack([sample.texts(c) for c in columns])[:, draft.chosen]
    shown = {frozenset(trial) for trial in zip(*names.tolist(), strict=True)}
    shown = {trial for trial in shown if "" not in trial}  # of other screens
    if len(shown) == 1:
        draft.put("context", (NONE,), BY_CONTENT, f"{' and '.join(columns)} always show the same")
        draft.odd(
            f"{' and '.join(columns)} always show the same things, so only what is chosen counts",
            f"--context {typed(','.join(columns))} to distinguish their places",
        )
        return
    why = f"{action} is always one of {' and '.join(columns)}"
    if {*chosen_values(draft, action)} <= {one for trial in shown for one in trial}:
        draft.put("offered", columns, BY_CONTENT, why)
    else:  # by the names of their pictures
        draft.put("context", columns, BY_CONTENT, why)


def _put_lists(draft: Draft, rows: Sample, action: str, values: Sequence[str]) -> bool:
    """A list of what was on offer in each trial, of which the choice is one by name or place."""
    for column in draft.free:
        if not (lists := lists_in(rows, column)):
            continue
        shown, chosen = rows.texts(column), rows.texts(action)
        told = [(s, c) for s, c in zip(shown[:2_000], chosen[:2_000], strict=True) if s and c]
        hits = sum(c in lists[s] for s, c in told)
        if len(told) >= FEWEST and hits >= NEARLY * len(told):
            draft.put("offered", (column,), BY_CONTENT, f"{action} is always one of its list")
            return True
        sure, sides = _in_order([*values], ("1", "2")) if len(values) == 2 else (False, ())
        order = places_in([*lists.values()], values, sides if sure else ())
        if order and _tell_more(draft, rows, action, order, [lists.get(s, order) for s in shown]):
            _put_positions(draft, (column,), order, f"{action} is a place in its list")
            return True
    return False


def _tell_more(
    draft: Draft,
    rows: Sample,
    action: str,
    order: tuple[str, ...],
    lists: Sequence[tuple[str, ...]],
) -> bool:
    """Whether outcomes hang at least as much on what stood in a place as on the place itself."""
    reward, made = draft.column("reward"), rows.texts(action)
    if reward is None:
        return False
    places = [order.index(m) if m in order else 0 for m in made]
    things = np.array([each[place] for each, place in zip(lists, places, strict=True)])
    sets = np.unique(["|".join(sorted(each)) for each in lists], return_inverse=True)[1]
    codes, there = (np.unique(each.astype(str), return_inverse=True)[1] for each in (things, made))
    told = (_hang(draft, rows, reward, codes, at) for at in (None, sets))
    by_place = (_hang(draft, rows, reward, there, at) for at in (None, sets))
    return max(told) + TELLS > max(by_place)


# A side that was chosen, beside what was shown on each.


def _put_sides(draft: Draft, rows: Sample, action: str, columns: tuple[str, ...]) -> None:
    """The stimulus that was chosen, where stimuli change sides."""
    shown = [rows.texts(c) for c in columns]
    if not {*shown[0].tolist()}.intersection(*(each.tolist() for each in shown[1:])):
        return  # a stimulus and its side are one
    sure, order = _in_order(chosen_values(draft, action), columns)
    side, telling = _how_telling(draft, rows, action, order, shown)
    best, second = sorted(telling, key=lambda each: -telling[each])[:2]
    if side > telling[best] + TELLS:
        named, way = typed(",".join(columns)), ",".join(order)
        draft.odd(
            f"stimuli change sides ({', '.join(columns)}), and outcomes depend on the side: the "
            "side is taken as what was chosen",
            f"--offered {named} --positions {way} takes the stimulus",
        )
        draft.put("context", (NONE,), BY_CONTENT, "outcomes depend on the side that was chosen")
        return
    clear = telling[best] > telling[second] + TELLS
    if clear and not sure:
        order, sure = best, True
    why = f"{action} says which side was chosen, and stimuli change sides: the stimulus is taken"
    _put_positions(draft, columns, order, why)
    leave_empty_places_out(draft, rows, action, dict(zip(columns, order, strict=True)))
    if not sure:
        _ask_order(draft, action, columns, order)


MOST_PLACES = 4  # for stimuli that change places


def _put_positions(
    draft: Draft, columns: tuple[str, ...], order: tuple[str, ...], why: str
) -> None:
    draft.put("offered", columns, BY_CONTENT, why)
    draft.put("positions", order, BY_CONTENT, f"{order[0]} is the first of what was shown")


def _ask_order(draft: Draft, action: str, columns: tuple[str, ...], order: tuple[str, ...]) -> None:
    ways = (order, order[::-1])
    also = {o: draft.guesses[o].value for o in ("offered", "offers") if o in draft.guesses}
    draft.ask(
        "positions",
        f"which of {' and '.join(columns)} does {action} = {order[0]} mean?",
        [Answer("positions", way, f"in their order: {' then '.join(way)}", also) for way in ways],
    )


def _in_order(values: list[str], columns: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Whether words tell which value means the first column, and the values in this order."""
    ranks = {v: _rank(v) for v in values}
    several = len(columns) > 2
    if several and all(map(is_number, values)):
        return True, tuple(sorted(values, key=float))
    if several:  # left, in between, right
        middle_last = sorted(values, key=lambda v: (0, 2, 1)[ranks[v]])
        return sorted(ranks.values()) == [0, 1, 2], tuple(middle_last)
    named = {column: [v for v in values if _stands_in(v, column)] for column in columns}
    if (
        all(len(found) == 1 for found in named.values())
        and len({v for found in named.values() for v in found}) == 2
    ):
        return True, tuple(found[0] for found in named.values())
    if all(map(is_number, values)) and float(values[0]) == -float(values[1]):
        return True, tuple(sorted(values, key=float))  # -1 is left of 1
    if sorted(ranks.values()) == [0, 1]:
        values = sorted(values, key=lambda v: ranks[v])
        swapped = _rank(first_word(columns[0], columns[1])) == 1  # right stands first
        return True, tuple(values[::-1] if swapped else values)
    return False, tuple(sorted(values))


def _stands_in(value: str, name: str) -> bool:
    """Whether a value is a word of a name; in Chinese or Japanese no blanks are between words."""
    return value.lower() in words_of(name) or (not value.isascii() and value in name)


def _rank(value: str) -> int:
    word = re.sub(r"[\s_\[\]-]+", "", value.lower())
    return 0 if word in _LEFT.split() else 1 if word in _RIGHT.split() else 2


def _how_telling(
    draft: Draft,
    rows: Sample,
    action: str,
    order: tuple[str, ...],
    shown: Sequence[NDArray[np.object_]],
) -> tuple[float, dict[tuple[str, ...], float]]:
    """How surely outcomes hang on the place, and on the stimulus for each order of the places."""
    reward = draft.column("reward")
    ways = [*permutations(order)]
    if reward is None:
        return 0.0, dict.fromkeys(ways, 0.0)
    made = rows.texts(action)
    beside = _beside(draft, rows, shown, action)

    def hang(chosen: NDArray[np.object_]) -> float:
        codes = np.unique(chosen.astype(str), return_inverse=True)[1]
        return max(_hang(draft, rows, reward, codes, place) for place in (None, *beside))

    chosen = {way: np.select([made == value for value in way], shown, "") for way in ways}
    return hang(made), {way: hang(each) for way, each in chosen.items()}


MOST_BESIDE = 6  # columns


def _beside(
    draft: Draft, rows: Sample, shown: Sequence[NDArray[np.object_]], action: str
) -> list[NDArray[np.integer]]:
    """What changes from trial to trial beside the stimuli, on which of them may be right."""
    owner = draft.learners()[rows.rows[draft.sample.rows]]
    texts = {tuple(each[:FEWEST]) for each in shown}
    likely = [c for c in draft.free if 2 <= len(rows.counts(c)) <= MOST_PLACES**2]
    likely = [c for c in likely if not (is_time(c) or is_answer(c) or rows.missing(c).any())]
    likely = [c for c in likely if not {*rows.counts(c)} <= {*rows.counts(action)}]  # the right one
    likely = [c for c in likely if not are_shares(*rows.counts(c))]
    likely = [c for c in likely if tuple(rows.texts(c)[:FEWEST]) not in texts]
    changing = [c for c in likely if runs_within(owner, rows.codes(c))[0] < OFTEN]
    things = together(*(np.unique(each.astype(str), return_inverse=True)[1] for each in shown))
    after = [together(things, rows.codes(c)) for c in (draft.guesses["reward"].columns[0], action)]
    changing = [  # what follows from the outcome, or the choice, was not there before it
        c
        for c in changing
        if not any(follows_from(rows.codes(c), each) for each in after)
        or follows_from(rows.codes(c), things)
    ]
    return [rows.codes(c) for c in changing[:MOST_BESIDE]]


SIDE_WORDS = {"left", "right", "l", "r", "top", "bottom", "up", "down"}
PLACES = "side position pos location loc place"


def _put_one_side(draft: Draft, rows: Sample, action: str) -> bool:
    """What was chosen, where one column says what is on one side, or on which side a thing is."""
    sides = {_rank(value): value for value in chosen_values(draft, action)}
    guess = draft.guesses["action"]
    if (
        sides.keys() != {0, 1}
        or len(sides) < len(chosen_values(draft, action))
        or guess.how == SAID
    ):
        return False
    made, owner = draft.written(action), draft.learners()[rows.rows[draft.sample.rows]]
    for column in [c for c in draft.free if len(rows.counts(c)) == 2 and not is_answer(c)]:
        one, other = sorted(rows.counts(column))
        words, name = words_of(column), in_expression(column)
        named = [_rank(word) for word in words if word in SIDE_WORDS and _rank(word) in sides]
        are_sides = {one.lower(), other.lower()} <= SIDE_WORDS
        if name is None or rows.missing(column).any() or len(words) < 2:
            continue
        if are_shares(one, other):
            continue  # chances, which nobody saw
        if len(named) == 1 and not are_sides:
            there = f"{made} == {in_quotes(sides[named[0]])}"  # what is on the left
            what, not_it = (
                name,
                f"if({name} == {in_quotes(one)}, {in_quotes(other)}, {in_quotes(one)})",
            )
        elif like(column, PLACES) and are_sides:
            left = in_quotes(one if _rank(one) == 0 else other)  # where the blue one is
            there = f"({made} == {in_quotes(sides[0])}) == ({name} == {left})"
            thing = "_".join(w for w in words if not like(w, PLACES))
            what, not_it = in_quotes(thing), in_quotes(f"not_{thing}")
        else:
            continue
        if runs_within(owner, rows.codes(column))[0] > OFTEN:
            continue
        text = f"if({there}, {what}, {not_it})"
        materialise(draft, "action", text)
        if _telling(draft, rows, text) < _telling(draft, rows, action) + TELLS:
            continue
        reward = draft.column("reward")
        if reward is not None and tell_the_same(draft.sample, text, reward):
            continue  # it says only whether the choice was right
        why = f"{action} says which side was chosen, and {column} what was there"
        draft.guesses["action"] = replace(guess, value=text, how=BY_CONTENT, why=why)
        draft.put("context", (NONE,), BY_CONTENT, "stimuli change sides: what is chosen counts")
        draft.odd(f"{why}: the stimulus is taken", f"--action {typed(action)} takes the side")
        return True
    return False


OFTEN = 4.0  # trials, at most, for which a thing stays on the same side


def _telling(draft: Draft, rows: Sample, column: str) -> float:
    """How surely outcomes hang on what a column says was chosen."""
    reward = draft.column("reward")
    codes = draft.sample.codes(column)[rows.rows[draft.sample.rows]]
    return 0.0 if reward is None else _hang(draft, rows, reward, codes)


def _hang(
    draft: Draft,
    rows: Sample,
    reward: str,
    codes: NDArray[np.integer],
    place: NDArray[np.integer] | None = None,
) -> float:
    """How surely outcomes hang on these choices, in decimal places of chance.

    What a place earns whatever was chosen says nothing of them.
    """
    worth = worth_in(rows, reward)
    worth = worth if place is None else centred(together(place), worth)
    owner = draft.learners()[rows.rows[draft.sample.rows]]
    nowhere = np.zeros_like(owner) if place is None else place
    owner = owner if place is None else together(owner, place)
    tests = (
        hangs_on(worth, codes, nowhere),
        hangs_on(worth, codes, owner),
        goes_on(worth, codes, owner),
    )
    return -float(np.log10(max(min(tests), 1e-300)))


# A label that names a pair: 12, AB, A-B.


def _put_labels(draft: Draft, rows: Sample, action: str) -> None:
    """Labels of pairs, of which the choice is one by name or by place."""
    values = chosen_values(draft, action)
    for column in draft.free:
        if is_time(column) or is_numbered(column) or not like(column, PAIR_NAMES):
            continue
        pairs = _pairs(rows, column, values)
        if pairs is None:
            continue
        things = {thing for pair in pairs.values() for thing in pair}
        table = tuple(f"{label}={'|'.join(pair)}" for label, pair in pairs.items())
        if {*values} <= things and _names_one(rows, column, action, pairs):
            draft.put("offered", (column,), BY_CONTENT, f"{action} is always one of the two in it")
            draft.put("offers", table, BY_CONTENT, f"{column} names what was shown")
            return
        if len(values) == 2:
            _put_places(draft, rows, action, column, pairs)
            return


def _pairs(rows: Sample, column: str, actions: Sequence[str]) -> dict[str, tuple[str, str]] | None:
    """Labels that are two things each, of which none is the same; None if they are not."""
    counts = rows.counts(column)
    if not 2 <= len(counts) <= MOST_LABELS:
        return None
    found = {}
    for label in counts:
        match = re.fullmatch(r"([A-Z])([A-Z])|([0-9])([0-9])", label)
        match = match or re.fullmatch(r"(\w{1,12})(?:/|\||:| vs\.? | ?& ?)(\w{1,12})", label)
        two = [part for part in match.groups() if part] if match else []
        if not two:  # with anything between them, where they are what was chosen
            two = [part for part in re.split(r"[\s_,;+.-]+", label) if part in actions]
            two = two if len(two) == 2 and len(label) <= len("".join(two)) + 3 else []
        if len({*two}) != 2:
            return None
        found[label] = (two[0], two[1])
    things = {thing for pair in found.values() for thing in pair}
    numbers = sorted(int(thing) for thing in things if is_count(thing))
    if numbers and (len(numbers) < len(things) or any(b - a > 1 for a, b in pairwise(numbers))):
        return None  # 10, 12, 27: numbers of something
    return found if len(things) > 2 else None


def _names_one(rows: Sample, column: str, action: str, pairs: dict[str, tuple[str, str]]) -> bool:
    shown, chosen = rows.texts(column), rows.texts(action)
    told = [c in pairs[s] for s, c in zip(shown, chosen, strict=True) if s and c]
    return len(told) >= FEWEST and float(np.mean(told)) >= NEARLY


def _put_places(
    draft: Draft, rows: Sample, action: str, column: str, pairs: dict[str, tuple[str, str]]
) -> None:
    """Pairs that are named, and a choice that says the first or the second of them."""
    sure, order = _in_order(chosen_values(draft, action), ("1", "2"))
    shown = rows.texts(column)
    first, second = (np.array([pairs[s][i] if s else "" for s in shown], object) for i in (0, 1))
    if {*order} == {"0", "1"}:  # in most files 1 is the first, and 0 that it was not chosen
        order = ("1", "0")
    _, telling = _how_telling(draft, rows, action, order, (first, second))
    straight, crossed = telling[order], telling[order[::-1]]
    apart = len({t for pair in pairs.values() for t in pair}) == 2 * len(pairs)
    if order == ("1", "0"):
        sure = apart or straight > crossed + TELLS
    if crossed > straight + TELLS and not sure:
        order, sure = order[::-1], True
    table = tuple(f"{label}={'|'.join(pair)}" for label, pair in pairs.items())
    why = f"{column} names the two that were shown, {action} which of them was chosen"
    _put_positions(draft, (column,), order, why)
    draft.put("offers", table, BY_CONTENT, f"the two in each label of {column}")
    draft.put("context", (NONE,), BY_CONTENT, "what is shown is on offer, and always the same task")
    if not sure and not apart:  # with pairs of their own both readings say the same of learners
        _ask_order(draft, action, (column,), order)
