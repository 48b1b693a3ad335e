"""Outcomes of all options, of which the chosen one's was earned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    GROUPS,
    KINDS,
    is_answer,
    is_mistake,
    is_time,
    like,
    named_like,
)
from howlearn.reading.guess.action import is_derived, named_as_outcome
from howlearn.reading.guess.behaviour import (
    families,
    follows_from,
    goes_on,
    hangs_on,
    is_of_one_option,
    words_of,
)
from howlearn.reading.guess.coding import without_nothing
from howlearn.reading.guess.column_checks import (
    NOTHING_NUMBERS,
    constant_within,
    examples,
    is_key,
    is_number,
    materialise,
    runs_within,
    says_the_place,
    tell_the_same,
)
from howlearn.reading.guess.draft import BY_CONTENT, SAID, Answer, Draft, in_expression, in_quotes
from howlearn.reading.guess.evidence import centred
from howlearn.reading.guess.evidence import score as in_errors
from howlearn.reading.guess.missed import chosen_values
from howlearn.reading.guess.reward import ask_good_word, earnings, is_binary, is_outcome, says_right
from howlearn.reading.guess.sample import together
from howlearn.reading.labels import natural_key


def find_reward_of_the_chosen(draft: Draft) -> None:
    """The outcome of what was chosen, where each option has a column with its outcome."""
    action, guess = draft.column("action"), draft.guesses.get("reward")
    if action is None or (guess is not None and guess.how == SAID):
        return
    alone = [] if guess is None else [str(guess.value)]
    named = {*draft.named("reward"), *alone}
    told = draft.given.forgone
    recorded = [c for c in draft.sample.columns if c not in draft.computed]
    groups = [] if {*alone} & draft.computed else families(recorded)
    groups = [f for f in groups if {*alone} <= {*f.values()} and named & {*f.values()}]
    if guess is None or guess.how == BY_CONTENT or says_right(alone[0]):
        # what was pieced together, or says what was right, yields to a column for every option
        groups = [*_named_for(draft, action, recorded), *groups]
    if len(told) > 1:  # the user knows which they are
        groups = [{column: column for column in told}]
    for family in groups:
        each = [*family.values()]
        if not all(is_outcome(draft, c) for c in each) or _right_and_wrong(draft, each):
            continue
        text = _chosen_of(draft, action, family)
        ways = [text] if text is not None else _ways(draft, action, family)
        if not ways:
            continue
        columns = " and ".join(family.values())
        why = f"{columns} are the outcomes of the options: the chosen one's is taken"
        draft.guesses.pop("reward", None)
        draft.questions = [q for q in draft.questions if q.about != "reward"]
        draft.put("reward", ways[0], BY_CONTENT, why)
        if text is None:
            _ask_which_way(draft, action, columns, ways)
        elif not told:
            helps = f"--forgone {','.join(family.values())} if it was shown"
            draft.odd(f"{why}; what the others would have earned is not used", helps)
        materialise(draft, "reward", ways[0])
        return


def _right_and_wrong(draft: Draft, columns: list[str]) -> bool:
    """Whether two columns say that a choice was right and that it was wrong."""
    right = any(says_right(c) and not is_mistake(c) for c in columns)
    both = len(columns) == 2 and right and any(map(is_mistake, columns))
    return both and tell_the_same(draft.sample, *columns)


def _named_for(draft: Draft, action: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """Columns of outcomes that are called by the actions, each by one: out_f and out_j."""
    values = {"_".join(words_of(value)): value for value in chosen_values(draft, action)}
    found: dict[str, dict[str, str]] = {}
    for column in columns:
        words = words_of(column)
        for i in range(1, len(words)):
            stem, side = "_".join(words[:i]), "_".join(words[i:])
            if side in values and named_like("reward", [stem]):
                found.setdefault(stem, {})[side] = column
    return [family for family in found.values() if family.keys() == values.keys()]


def _ask_which_way(draft: Draft, action: str, columns: str, ways: list[str]) -> None:
    draft.ask(
        "reward",
        f"{columns} seem to be the outcomes of the options: which belongs to which {action}?",
        [Answer("reward", way, "the chosen one's is what was earned") for way in ways],
    )


def _ways(draft: Draft, action: str, family: dict[str, str]) -> list[str]:
    """How options may go with their outcomes, where no name tells: the likelier way first.

    Choices are repeated more often after a success.
    """
    values = sorted(chosen_values(draft, action), key=natural_key)
    columns = [in_expression(c) for c in sorted(family.values(), key=natural_key)]
    name = draft.written(action)
    if len(values) != len(columns) or name is None or None in columns:
        return []
    ways = [values, values[::-1]] if len(values) == 2 else [values]
    texts = [
        _chosen({f"{name} == {in_quotes(v)}": c for v, c in zip(way, columns, strict=True)})
        for way in ways
    ]
    owner, codes = draft.learners(), draft.sample.codes(action)
    score = {}
    for text in texts:
        materialise(draft, "reward", text)
        score[text] = _repeated(np.nan_to_num(earnings(draft.sample, text)), codes, owner)
    draft.sample = draft.sample.lacking(texts)
    return sorted(texts, key=lambda text: -score[text])


def _chosen(tests: Mapping[str, str | None]) -> str:
    """The outcome of the chosen option: the column of each, by the test that it was chosen."""
    *others, last = tests
    text = str(tests[last])
    for test in reversed(others):
        text = f"if({test}, {tests[test]}, {text})"
    return text


def _chosen_of(draft: Draft, action: str, family: dict[str, str]) -> str | None:
    """An expression for the outcome of the chosen option; None where it cannot be told."""
    name = draft.written(action)
    columns = {side: in_expression(column) for side, column in family.items()}
    if name is None or None in columns.values():
        return None
    offers = {side: c for group in families(draft.on_offer) for side, c in group.items()}
    places, options = draft.guesses.get("positions"), draft.columns("offered")
    if places is not None and offers.keys() == columns.keys():  # stim_left, reward_left and a side
        said = dict(zip(options, places.columns, strict=False))
        tests = {s: f"{name} == {in_quotes(said.get(offers[s], ''))}" for s in columns}
    elif offers and offers.keys() == columns.keys():  # stim_left and reward_left
        tests = {side: f"{name} == {in_expression(offers[side])}" for side in columns}
    else:
        labels = _labels_of(draft, action, [*columns])
        if labels is None:
            return None
        tests = {s: f"{name} == {in_quotes(labels[s])}" for s in columns}
    return _chosen({tests[side]: columns[side] for side in columns})


def _labels_of(draft: Draft, action: str, sides: list[str]) -> dict[str, str] | None:
    """The value of the action for each side; None where it cannot be told."""
    values = chosen_values(draft, action)
    if draft.given.forgone:
        ordered = sorted(values, key=natural_key)  # as reading does
        return dict(zip(sides, ordered, strict=True)) if len(ordered) == len(sides) else None
    found = {side: [v for v in values if _is_of(side, v)] for side in sides}
    if all(len(each) == 1 for each in found.values()):
        labels = {side: each[0] for side, each in found.items()}
        if {*labels.values()} == {*values}:
            return labels
    named = [side for side in sides if side in words_of(action)]  # is_choice_1: 1 or not
    yes = next((v for v in values if v.lower() in TRUE_WORDS), None)
    no = next((v for v in values if v.lower() in FALSE_WORDS), None)
    if len(sides) == 2 and len(values) == 2 and len(named) == 1 and yes and no:
        other = next(side for side in sides if side != named[0])
        return {named[0]: yes, other: no}
    right, wrong = ("cor", "correct"), ("inc", "incorrect")
    if yes and no and {*sides} in ({*pair} for pair in zip(right, wrong, strict=True)):
        return {side: yes if side in right else no for side in sides}
    return None


def _is_of(side: str, value: str) -> bool:
    """Whether a value is that of a side: by its name, or by a word of it, as left_urn."""
    return _plain_side(side) in {_plain_side(word) for word in (value, *words_of(value))}


def _plain_side(word: str) -> str:
    word = word.lower()
    return {"l": "left", "r": "right", "first": "1", "second": "2"}.get(word, word)


# A choice, or an outcome, without a telling name.


SURELY = 1e-4  # by chance
MOST_CHOSEN, MOST_ANSWERS = 12, 4
OFTEN = 4.0  # trials, for which a group of people would stay the same


def compares_choices(draft: Draft, action: str, column: str) -> bool:
    """Whether a column follows from a choice and the one before it, as stay and switch do."""
    order = np.argsort(draft.learners(), kind="stable")
    near = np.diff(draft.learners()[order]) == 0
    made, said = draft.sample.codes(action)[order], draft.sample.codes(column)[order]
    told = near & ~draft.sample.missing(column)[order][1:]
    pairs = together(made[1:][told], made[:-1][told])
    return follows_from(said[1:][told], pairs) and not follows_from(said[1:][told], made[1:][told])


def ask_what_was_chosen(draft: Draft) -> None:
    """A column without a telling name on which the outcome hangs: was it chosen?"""
    reward = draft.column("reward")
    if reward is None or draft.answer is not None:
        return
    found = what_it_hangs_on(draft, reward)
    both, due = compared(draft, reward)
    earned = {c: any(_is_earned(draft, c, other, reward) for other in found) for c in found}
    ranked = sorted(found, key=lambda c: (earned[c], -abs(found[c].again), found[c].chance))
    best, *others = both or ranked or [""]
    if not best:
        return
    again = 0.0 if both else found[best].again
    if due:
        draft.odd(
            f"{best} is taken as what was chosen, and {due}, which follows from what was shown, as "
            "what was right",
            f"--action {due} if it is the other way round",
        )
    elif again > FOLLOWED and all(CLEARLY * abs(found[c].again) < again for c in others):
        draft.odd(f"{best} is taken as what was chosen: {reward} depends on it, and it is repeated")
    else:
        others = both[1:] or [c for c in others if abs(found[c].again) > FOLLOWED]
        says = f"yes: {reward} depends on it; its values are "
        draft.ask(
            "action",
            "which of these was chosen?" if others else f"is {best} what was chosen?",
            [
                Answer("action", c, says + examples(draft.sample, c))
                for c in (best, *others)[:MOST_ANSWERS]
            ],
        )
    draft.put("action", best, BY_CONTENT, f"{reward} depends on it")


def _is_earned(draft: Draft, column: str, chosen: str, reward: str) -> bool:
    """Whether a column is what one of the choices in another one earned."""
    return column != chosen and is_of_one_option(draft.sample, column, chosen, reward)


def compared(draft: Draft, reward: str) -> tuple[list[str], str]:
    """What was chosen and what was right, where outcomes say whether the two are the same.

    Also the one that was right, if it follows from what was shown together and the other does not.
    What tells one of them by itself may be the choice once more.
    """
    sample, some = draft.sample, changing_columns(draft, MOST_CHOSEN)
    worth = earnings(sample, reward)
    if not is_binary(draft, reward) or not np.isfinite(worth).all():
        return [], ""
    for pair in combinations(some, 2):
        if {*sample.counts(pair[0])} != {*sample.counts(pair[1])}:
            continue
        if np.any((sample.texts(pair[0]) == sample.texts(pair[1])) != (worth > 0)):
            continue
        rest, codes = ([sample.codes(c) for c in some if (c in pair) == own] for own in (0, 1))
        own = [together(draft.learners(), one) for one in rest]
        alone = [any(follows_from(each, one) for each in codes) for one in own]
        shown = [one for one, tells in zip(rest, alone, strict=True) if not tells]
        follows = [bool(shown) and follows_from(each, together(*shown)) for each in codes]
        both = [*pair] if follows[1] or not follows[0] else [*pair[::-1]]
        return both, both[1] if follows[0] != follows[1] else ""
    return [], ""


def what_it_hangs_on(draft: Draft, reward: str) -> dict[str, Taught]:
    """The columns without telling names on which an outcome hangs."""
    worth, some = earnings(draft.sample, reward), changing_columns(draft, MOST_CHOSEN)
    no_choice = {
        *draft.named("context"),
        *filter(named_as_outcome, some),
    }
    some = [c for c in some if not tell_the_same(draft.sample, c, reward)]
    found = {c: _taught(draft, worth, c, some) for c in some if c not in no_choice}
    return {c: each for c, each in found.items() if each.chance < SURELY}


class Taught(NamedTuple):
    """How far an outcome could have taught a choice, and did."""

    chance: float  # that the outcome hangs on it this much by chance alone
    again: float  # standard errors by which it is repeated more after higher outcomes


def _taught(draft: Draft, worth: np.ndarray, column: str, shown: Sequence[str]) -> Taught:
    """Whether outcomes hang on a column: anywhere, or where another one is the same.

    Then they hang on the other one where the first is the same; what is chosen is repeated more.
    """
    sample, owner, codes = draft.sample, draft.learners(), draft.sample.codes(column)
    others = [sample.codes(c) for c in shown[:MOST_TRIED] if c != column]
    plain, best = np.nan_to_num(worth), Taught(1.0, 0.0)
    for place in (owner, *(together(owner, other) for other in others)):
        chance = hangs_on(worth, codes, place)
        chance = min(chance, goes_on(worth, codes, place)) if place is owner else 100 * chance
        here = Taught(chance, _repeated(plain, codes, place))
        if chance < SURELY and (best.chance >= SURELY or abs(here.again) > abs(best.again)):
            best = here
    return best


MOST_TRIED = 8  # columns, each with each


def ask_about_both(draft: Draft) -> None:
    """Two columns without telling names, of which one hangs on the other that follows it."""
    sample = draft.sample
    some, best = changing_columns(draft, MOST_CHOSEN)[:MOST_TRIED], (FOLLOWED, "", "", "")
    for earned in [c for c in some if c not in draft.design]:
        words, name = without_nothing(sample.counts(earned)), in_expression(earned)
        worth = earnings(sample, earned)
        known = bool(np.isfinite(worth).any())
        if name is None or not (known or len(words) == 2):
            continue
        worth = np.nan_to_num(worth) if known else (sample.texts(earned) == words[0]).astype(float)
        for made in [c for c in some if c != earned and not tell_the_same(sample, c, earned)]:
            found = _taught(draft, worth, made, [c for c in some if c != earned])
            if found.chance > SURELY / 100:
                continue
            text = earned if known else f"{name} == {in_quotes(words[found.again <= 0])}"
            best = max(best, (found.again if known else abs(found.again), made, earned, text))
    _, made, earned, text = best
    if not made:
        return
    draft.ask(
        "reward",
        f"{earned} depends on {made}, which is chosen again after some values of {earned}: are "
        "they outcome and choice?",
        [Answer("reward", text, f"{made}: {examples(sample, made)}", {"action": made})],
    )
    draft.put("action", made, BY_CONTENT, f"{earned} depends on it, and it follows {earned}")
    draft.put("reward", text, BY_CONTENT, f"it depends on {made}")
    if text != earned:
        materialise(draft, "reward", text)


def changing_columns(draft: Draft, most: int) -> list[str]:
    """The free columns with a few values that change within learners, whatever they are."""
    owner, sample = draft.learners(), draft.sample
    likely = [c for c in draft.free if 2 <= len(sample.counts(c)) <= most and not is_time(c)]
    likely = [c for c in likely if not like(c, f"{BLOCKS} {KINDS} {CONDITIONS}")]
    brief = {c for c in likely if runs_within(owner, sample.codes(c))[0] < OFTEN}
    likely = [c for c in likely if c in brief or not like(c, GROUPS)]  # a diagnosis may be a choice
    likely = [c for c in likely if not is_derived(c)]
    return [c for c in likely if not constant_within(owner, sample.codes(c))]


MOST_SHOWN = 30
CLEARLY = 1.5  # times as much: what is shown with a choice seems to be repeated, too
FOLLOWED = 4.0  # standard errors by which choices are repeated more after higher outcomes


def ask_what_was_earned(draft: Draft, action: str) -> None:
    """Outcomes that hang on the choice where something is shown, and that choices follow."""
    sample, owner, codes = draft.sample, draft.learners(), draft.sample.codes(action)
    some = [c for c in changing_columns(draft, MOST_SHOWN) if not says_the_place(draft, c, action)]
    score, unknown = dict[str, float](), set[str]()
    for column in [c for c in some if may_be_earned(draft, c)]:
        worth = np.nan_to_num(earnings(sample.without(column, NOTHING_NUMBERS), column))
        if not worth.any():  # two words of which nobody here knows the better one
            worth, unknown = sample.codes(column).astype(np.float64), unknown | {column}
        places = [owner, *(together(owner, sample.codes(c)) for c in some if c != column)]
        chance = [min(test(worth, codes, p) for test in (hangs_on, goes_on)) for p in places]
        taught = [p for p, c in zip(places, chance, strict=True) if c < SURELY / 100]
        again = [_repeated(worth, codes, p) for p in taught]
        score[column] = max(map(abs, again) if column in unknown else again, default=0.0)
    best = max(score, key=lambda c: score[c], default=None)
    if best is not None and score[best] > FOLLOWED and best in unknown:
        ask_good_word(draft, [best])
    elif best is not None and score[best] > FOLLOWED:
        says = f"yes: values {examples(sample, best)}, after which choices are repeated or not"
        draft.ask("reward", f"is {best} what a choice earned?", [Answer("reward", best, says)])
        draft.put("reward", best, BY_CONTENT, "it depends on the choice, and choices follow it")
    elif draft.open("reward"):
        _ask_about_totals(draft, codes, owner)


MOST_STEPS = 12


def _ask_about_totals(draft: Draft, codes: np.ndarray, owner: np.ndarray) -> None:
    """A sum of what was earned so far."""
    column, text = running_total(draft, codes, owner)
    if column:
        says = "yes: what was added in each trial was earned"
        draft.ask("reward", f"is {column} a running total?", [Answer("reward", text, says)])
        draft.put("reward", text, BY_CONTENT, f"{column} grows by what choices earn")
        materialise(draft, "reward", text)


def running_total(draft: Draft, codes: np.ndarray, owner: np.ndarray) -> tuple[str, str]:
    """A column whose steps hang on the choice, and the expression for them."""
    for column in [c for c in draft.free if not is_time(c)]:
        numbers, name = draft.sample.numbers(column), in_expression(column)
        if name is None or not np.isfinite(numbers).all():
            continue
        near = np.concatenate(([False], np.diff(owner) == 0))
        steps = np.where(near, np.diff(numbers, prepend=np.nan), np.nan)
        kinds, values = len(np.unique(steps[near])), len(draft.sample.counts(column))
        grows = kinds > 2 and bool(np.all(steps[near] >= 0))
        if not (grows or (2 <= kinds <= MOST_STEPS and values >= 2 * kinds)):
            continue
        if min(test(steps, codes, owner) for test in (hangs_on, goes_on)) < SURELY / 100:
            added, first = f"{name} - lag({name})", numbers[~near]
            whole = np.isin(first, steps[near]).all()  # what was there at first was earned, too
            return column, f"if(lag({name}) == missing, {name}, {added})" if whole else added
    return "", ""


def may_be_earned(draft: Draft, column: str) -> bool:
    """Whether a column has two words or outcomes, or numbers that are no part of the design."""
    chosen = named_like("action", [column]) and not named_like("reward", [column])
    if column in (*draft.design, *draft.on_offer) or is_answer(column) or chosen:
        return False
    words = [*draft.sample.counts(column)]
    told = all(map(is_number, words)) or (len(words) == 2 and not any(map(is_key, words)))
    return is_binary(draft, column) or (told and not named_like("context", [column]))


def _repeated(worth: np.ndarray, codes: np.ndarray, place: np.ndarray) -> float:
    """How much more often choices are repeated after higher outcomes, in standard errors."""
    order = np.argsort(place, kind="stable")
    near = np.diff(place[order]) == 0
    where = together(place[order][1:][near])
    stays = centred(where, np.diff(codes[order])[near] == 0)
    return in_errors(stays * centred(where, worth[order][:-1][near]))
