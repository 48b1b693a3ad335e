"""Which column is the action: what learners chose, not what they should have chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from howlearn.core.text import few
from howlearn.reading.columns import (
    BLOCKS,
    GROUPS,
    KINDS,
    is_answer,
    is_feature,
    is_mistake,
    is_practice,
    is_rt,
    is_time,
    like,
    named_like,
    parts_of,
)
from howlearn.reading.formats.wide import parse_stages
from howlearn.reading.guess.behaviour import (
    ALWAYS,
    FEWEST,
    MOST_OPTIONS,
    NEARLY,
    follows_from,
    hangs_on,
    on_offer,
)
from howlearn.reading.guess.column_checks import (
    are_words,
    constant_within,
    is_key,
    is_number,
    materialise,
    nothing_in,
    repeats,
    rows_among,
    runs_within,
    share,
    tell_the_same,
    with_reward,
    worth_in,
)
from howlearn.reading.guess.context import is_chosen
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    Answer,
    Candidate,
    Draft,
    in_expression,
    in_quotes,
)
from howlearn.reading.guess.sample import Sample, together
from howlearn.reading.offers import options_in
from howlearn.reading.rewards import GOOD_WORDS

MOST_ACTIONS, MOST_NAMED_ACTIONS = 12, 100
FOR_A_NAME = {4: 5.0, 3: 3.0, 2: 2.0, 1: 1.5, 0: 0.5}  # what a name is worth, as log odds
FOR_KEYS, FOR_ONE_ON_OFFER = 1.0, 3.0
AGAINST_ANSWERS, AGAINST_PRACTICE, AGAINST_OPTIONS = 2.5, 2.0, 4.0
AGAINST_DERIVED, AGAINST_PERCEPTUAL = 2.5, 1.5
DERIVED = {
    *"switch stay stayed shift repeat repeated acc accuracy correct corr optimal best good".split(),
    *"high low prob better worse sim simulated model predicted num latency confidence".split(),
    *"conf count exploded explosion popped burst".split(),
}
MOST_LABELS = 60  # of pairs, or of contexts with offers of their own
NEVER = 20  # choices that would be expected, where an action was on offer and never chosen
KEYS = "its values are keys or sides"
RANK = 0.1  # for each likelier name in the vocabulary


def find_on_offer(draft: Draft) -> None:
    """Columns that show what could be chosen, as stim_left and stim_right."""
    draft.derived |= copies_of_the_last(draft)
    if not draft.open("offered"):
        return
    stages = parse_stages(draft.given.stages) if draft.given.stages else ()
    made = {choice for choice, _ in stages}  # of which the choices were put together
    names = [c for c in (*draft.free, *draft.columns("action")) if c not in made]
    draft.on_offer, draft.one_of = on_offer(draft.sample, names)


COPIED, APART = 0.98, 0.9  # of the trials


def copies_of_the_last(draft: Draft) -> set[str]:
    """Columns that say what another one said in the trial before, as prev_choice does."""
    sample, owner = draft.sample, draft.learners()
    order = np.argsort(owner, kind="stable")
    near = np.diff(owner[order]) == 0
    few = [c for c in draft.free if 2 <= len(sample.counts(c)) <= MOST_ACTIONS]
    texts = {c: sample.texts(c)[order] for c in few}
    found = set()
    for column, other in permutations(few if near.sum() >= FEWEST else [], 2):
        if not {*sample.counts(column)} <= {*sample.counts(other)}:
            continue
        now, told = texts[column][1:][near], texts[column][1:][near] != ""
        before, same = texts[other][:-1][near], texts[other][1:][near]
        if share(now[told] == before[told]) >= COPIED and share(now[told] == same[told]) < APART:
            found.add(column)
    return found


def action_candidates(draft: Draft, reward: str | None) -> list[Candidate]:
    """The columns that may hold the choices, the likeliest first."""
    rewarded = with_reward(draft)
    named = draft.named("action")
    free = [c for c in draft.free if not _is_part(c, reward)]
    found = _candidates(draft, rewarded, free, named, reward)
    if not found and reward in draft.sample.columns:  # choices in fewer than half of all rows
        rewarded = draft.sample.only(~draft.sample.columns[reward].missing())
        found = _candidates(draft, rewarded, free, named, reward)
    if not any(each.score > 0 for each in found):  # no name tells: keys and sides
        found += [
            Candidate(c, FOR_KEYS, (KEYS,))
            for c in free
            if c not in named
            and c not in draft.on_offer
            and not (is_derived(c) or named_as_outcome(c))
            and fixed_by(draft, rewarded, c) is None
            and _are_keys(draft, rewarded, c, reward)
        ]
    return sorted(found, key=lambda each: -each.score)


def _is_part(column: str, reward: str | None) -> bool:
    """Whether a column is the reward, or a part of the expression for it."""
    return reward is not None and (
        column == reward
        or ("==" not in reward and " " in reward and in_expression(column) in reward.split())
    )


def _candidates(
    draft: Draft, rewarded: Sample, free: Sequence[str], named: dict[str, int], reward: str | None
) -> list[Candidate]:
    """The columns for which their names speak, or that are always one of those on offer."""
    found = []
    for column in free:
        score, reasons = _by_name(draft, rewarded, column, named, reward)
        if not reasons:
            continue
        shown = fixed_by(draft, rewarded, column)
        if shown is not None:
            draft.design.add(column)
            if named.get(column, 0) >= 3:
                draft.odd(
                    f"{column} is always the same where {shown} is: what was required or planned, "
                    "not what was chosen",
                    f"--action {column} if it was chosen after all",
                )
            continue
        found.append(Candidate(column, score, tuple(reasons)))
    return found


def _by_name(
    draft: Draft, rows: Sample, column: str, named: dict[str, int], reward: str | None
) -> tuple[float, list[str]]:
    """What a column's name and values are worth; no reasons where it cannot be the action."""
    score, reasons = 0.0, []
    if column in named and _is_choice(draft, rows, column, named[column], reward):
        rank = [c for c in named if named[c] == named[column]].index(column)
        score = FOR_A_NAME[named[column]] - RANK * min(rank, 5)
        reasons.append("its description" if named[column] == 4 else "its name")
    elif column not in draft.one_of or not _is_choice(draft, rows, column, 3, reward):
        return 0.0, []
    if column in draft.one_of:
        score += FOR_ONE_ON_OFFER
        reasons.append(f"it is always one of {' and '.join(draft.on_offer)}")
    if column in draft.about and "perceptual" in draft.about[column].text.lower():
        score -= AGAINST_PERCEPTUAL  # of two decisions the one that is paid for
    score -= AGAINST_ANSWERS * is_answer(column) + AGAINST_PRACTICE * is_practice(column)
    score -= AGAINST_OPTIONS * (column in draft.on_offer and column not in draft.one_of)
    told = named.get(column) == 4 and not DERIVED & {*parts_of(column)}  # it outranks the name
    score -= 0 if told else AGAINST_DERIVED * (is_derived(column) or named_as_outcome(column))
    return score, reasons


def is_derived(column: str) -> bool:
    """Whether a name is that of something computed from choices, as whether they changed."""
    return not DERIVED.isdisjoint(parts_of(column))


def named_as_outcome(column: str) -> bool:
    """Whether a name speaks for the outcome at least as much as for the choice."""
    speaks = named_like("reward", [column]).get(column, 0)
    return speaks >= 2 and speaks >= named_like("action", [column]).get(column, 0)


def fixed_by(draft: Draft, rows: Sample, column: str) -> str | None:
    """What is shown and fixes a column, for everybody or for each learner; None if nothing does."""
    owner = draft.learners()[rows_among(draft, rows)]
    codes = rows.codes(column)
    for shown in draft.shown():
        if shown == column or is_chosen(shown) or not repeats(rows, shown):
            continue
        place = rows.codes(shown)
        if any(follows_from(codes, at, ALWAYS) for at in (place, together(owner, place))):
            # what is shown after a choice fixes it, too: then choice and outcome fix what is shown
            told = [rows.codes(c) for c in (draft.column("reward"),) if c is not None]
            if len(np.unique(place)) > 1 and not follows_from(place, together(codes, *told)):
                return shown
    return None


def _is_choice(draft: Draft, rows: Sample, column: str, strength: int, reward: str | None) -> bool:
    counts = rows.counts(column)
    nothing = nothing_in(counts)
    values = [value for value in counts if value not in nothing]
    if len(values) < 2 or 2 * sum(counts.values()) < rows.height:
        return False
    most = MOST_NAMED_ACTIONS if strength >= 3 else MOST_ACTIONS
    if len(values) > (MOST_OPTIONS if column in draft.one_of else most):
        return False
    if strength < 3 and any(is_number(value) and not float(value).is_integer() for value in values):
        return False  # amounts, chances
    if reward is not None and column != reward and _says_whether(rows, column, values, reward):
        draft.odd(
            f"{column} says only whether a choice was right, not which it was",
            "--action COL, or an expression such as --action \"(answer == 'f') == (correct == 1)\"",
        )
        return False
    owner = draft.learners()[rows_among(draft, rows)]
    return not (
        constant_within(owner, rows.codes(column)) or _is_of_stretches(draft, rows, column, owner)
    )


def _says_whether(rows: Sample, column: str, values: Sequence[str], reward: str) -> bool:
    """Whether a column has the outcome in other words; the outcome may also say "too slow"."""
    if is_derived(column) and follows_from(rows.codes(column), rows.codes(reward)):
        return True
    alike = are_words(values) or {*values} <= {*rows.counts(reward)}
    return alike and tell_the_same(rows, column, reward)


LONG, MANY = 4, 4  # trials of a stretch, and stretches


def _is_of_stretches(draft: Draft, rows: Sample, column: str, owner: np.ndarray) -> bool:
    """Whether a column never changes within the blocks or games that another one counts."""
    codes = rows.codes(column)
    if runs_within(owner, codes)[0] < LONG:
        return False
    for other in [c for c in draft.free if c != column and len(rows.counts(c)) >= MANY]:
        stretch = together(owner, rows.codes(other))
        length, at_once = runs_within(owner, rows.codes(other))
        if length >= LONG and at_once and constant_within(stretch, codes):
            return not tell_the_same(rows, column, other)
    return False


def _are_keys(draft: Draft, rows: Sample, column: str, reward: str | None) -> bool:
    counts = rows.counts(column)
    nothing = nothing_in(counts)
    values = [value for value in counts if value not in nothing]
    if not 2 <= len(values) <= 6 or not all(is_key(value) for value in values):
        return False
    if is_answer(column) or is_time(column) or is_feature(column) or is_mistake(column):
        return False
    if like(column, f"{BLOCKS} {GROUPS}"):
        return False
    if not repeats(rows, column) or named_like("context", [column]):
        return False
    return _is_choice(draft, rows, column, 1, reward)


def are_plain_numbers(rows: Sample, column: str) -> bool:
    """Whether a column without a telling name has numbers only, so that its name says nothing."""
    return all(is_number(value) for value in rows.counts(column))


def from_right_and_wrong(draft: Draft, answer: str, mark: str) -> str | None:
    """With two answers, which was right and whether the choice was tell which it was."""
    answers = sorted(draft.sample.counts(answer))
    marks = sorted(draft.sample.counts(mark), key=lambda one: is_number(one) and float(one))
    names = in_expression(answer), in_expression(mark)
    if len(answers) != 2 or len(marks) != 2 or None in names:
        return None
    good = marks[1] if all(map(is_number, marks)) else _good(marks)
    if good is None:
        return None
    return f"({names[0]} == {in_quotes(answers[0])}) == ({names[1]} == {in_quotes(good)})"


def _good(marks: Sequence[str]) -> str | None:
    return next((mark for mark in marks if mark.lower() in GOOD_WORDS), None)


# Lists of what was on offer, one in each trial.


def lists_in(sample: Sample, column: str) -> dict[str, tuple[str, ...]]:
    """The options in each value of a column; none where not all values are lists."""
    counts = sample.counts(column)
    if not 2 <= len(counts) <= 5_000 or not all(re.search(r"[|,;\s]", v) for v in counts):
        return {}
    lists = {value: options_in(value) for value in counts}
    return {} if any(len({*mine}) < 2 for mine in lists.values()) else lists


def places_in(
    lists: Sequence[tuple[str, ...]], values: Sequence[str], sides: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """What choices call the places of such lists: by number or side; options change places.

    >>> places_in([("a", "b"), ("b", "c")], ["1", "0"]), places_in([("a", "b")] * 2, ["1", "2"])
    (('0', '1'), ())
    """
    if len({len(each) for each in lists}) > 1 or len(values) < 2:
        return ()
    size, places = len(lists[0]), zip(*lists, strict=True)
    if sum(len({*each}) for each in places) == len({one for each in lists for one in each}):
        return ()
    if not all(map(str.isdecimal, values)):
        return sides if len(sides) == size else ()
    first, last = min(map(int, values)), max(map(int, values))
    fits = (first == 0 and last < size) or (first == 1 and last == size)
    return tuple(map(str, range(first, first + size))) if fits else ()


# Contexts in which only some actions ever occur, in anyone.


def find_offers_of_contexts(draft: Draft) -> None:
    """Actions that nobody ever chose in a context, though they would have been by chance."""
    action, columns = draft.column("action"), draft.columns("context")
    if (
        action is None
        or not columns
        or not all(map(draft.open, ("offered", "offers", "positions")))
    ):
        return
    chosen = draft.chosen
    context = draft.contexts()
    if context is None:
        return
    kinds, at, where = np.unique(context[chosen], return_index=True, return_inverse=True)
    if len(kinds) > MOST_LABELS or len(kinds) < 2:
        return
    codes = draft.sample.codes(action)[chosen]
    values, which = np.unique(codes, return_inverse=True)
    table = np.zeros((len(kinds), len(values)), dtype=np.int64)
    np.add.at(table, (where, which), 1)
    offered = table > 0
    usual = 1 / np.maximum(offered.sum(axis=1, keepdims=True), 1)
    never = ~offered & (table.sum(axis=1, keepdims=True) * usual / 2 >= NEVER)
    certain = never.sum(axis=1) == (~offered).sum(axis=1)  # nothing is absent by chance alone
    if not never.any() or not certain.all() or (offered.sum(axis=1) < 2).any():
        return
    labels = draft.sample.columns[action].labels
    rows = np.flatnonzero(chosen)[at]
    names = [":".join(str(draft.sample.texts(c)[row]) for c in columns) for row in rows]
    sets = [sorted(str(labels[int(v)]) for v in values[mine]) for mine in offered]
    if any(re.search(r"[=|,]", text) for text in (*names, *(s for each in sets for s in each))):
        return
    offers = tuple(f"{name}={'|'.join(mine)}" for name, mine in zip(names, sets, strict=True))
    said = few([f"{name}: {'/'.join(mine)}" for name, mine in zip(names, sets, strict=True)], 4)
    draft.put("offers", offers, BY_CONTENT, "nobody ever chose anything else in these contexts")
    draft.odd(
        f"in each context only some actions were ever chosen by anyone ({said}): the others are "
        "taken as not on offer",
        "--offers none if all could be chosen",
    )


# To act or not to act, where only the one leaves a mark.

GOES = (0.05, 0.95)  # the share of trials with a response, where none is a choice too
HANGS = 1e-3  # by chance


def find_go_or_not(draft: Draft) -> None:
    """One key that is pressed or not, with an outcome either way: not to press it is a choice.

    Under a name that does not tell it, this is asked.
    """
    named = draft.named("action")
    aliens = {c for c in draft.free if is_time(c) or like(c, KINDS)} | {*draft.named("context")}
    others = [c for c in draft.free if c not in named and c not in aliens]
    sure = named if draft.column("reward") is not None else ()
    likely = [c for c in (*named, *others) if _may_go(draft, c)]
    likely = [c for c in likely if c in sure or _is_about_trials(draft, c)]
    if not likely:
        return
    column, value = likely[0], next(iter(draft.sample.counts(likely[0])))
    text = f"if({in_expression(column)} == missing, 'no-go', 'go')"
    why = f"{column} has one key or none, and outcomes either way: none is a choice, too"
    materialise(draft, "action", text)
    draft.put("action", text, BY_CONTENT, why)
    if column in named:
        draft.odd(why, f"--action {column} treats rows without a key as missed")
    else:
        says = "yes: to do nothing is the other choice"
        sentence = f"is {column}, which is {value} or empty, what people did?"
        draft.ask("action", sentence, [Answer("action", text, says)])


def _may_go(draft: Draft, column: str) -> bool:
    """Whether a column has one value in some trials of each learner, and none in others."""
    sample, reward = draft.sample, draft.column("reward")
    if len(sample.counts(column)) != 1 or in_expression(column) is None:
        return False
    gone = sample.missing(column)
    told = np.ones(len(gone), np.bool_) if reward is None else ~sample.missing(reward)
    varies = not constant_within(draft.learners(), gone.astype(np.intp))
    return GOES[0] < 1 - gone.mean() < GOES[1] and varies and told[gone].mean() > NEARLY


def _is_about_trials(draft: Draft, column: str) -> bool:
    """Whether gaps go with response times that are missing or 0, or the outcome hangs on them."""
    sample, reward, owner = draft.sample, draft.column("reward"), draft.learners()
    gone = sample.missing(column)
    for times in [sample.numbers(c) for c in draft.free if is_rt(c)]:
        if np.mean((np.nan_to_num(times) > 0) != gone) > NEARLY:
            return True
    if reward is None:
        return False
    shown = [np.zeros(len(owner), np.intp), *(sample.codes(c) for c in draft.named("context"))]
    worth, made = np.nan_to_num(worth_in(sample, reward)), gone.astype(np.intp)
    return any(hangs_on(worth, made, together(owner, codes)) < HANGS for codes in shown)
