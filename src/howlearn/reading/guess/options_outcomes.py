"""Outcomes of all options, of which the chosen one's was earned."""

from __future__ import annotations

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.reading.columns import BLOCKS, CONDITIONS, GROUPS, KINDS, is_time, like
from howlearn.reading.guess.behaviour import families, goes_on, hangs_on, words_of
from howlearn.reading.guess.column_checks import (
    constant_within,
    examples,
    materialise,
    tell_the_same,
)
from howlearn.reading.guess.draft import BY_CONTENT, Answer, Draft, in_expression, in_quotes
from howlearn.reading.guess.reward import earnings


def find_reward_of_the_chosen(draft: Draft) -> None:
    """The outcome of what was chosen, where each option has a column with its outcome."""
    action, guess = draft.column("action"), draft.guesses.get("reward")
    if action is None or (guess is not None and guess.candidates[:1] == ()):
        return
    alone = [] if guess is None else [str(guess.value)]
    named = {*draft.named("reward"), *alone}
    for family in families([c for c in draft.sample.columns if c not in draft.computed]):
        if (alone and alone[0] not in family.values()) or named.isdisjoint(family.values()):
            continue
        text = _chosen_of(draft, action, family)
        if text is None:
            continue
        forgone = list(family.values())
        why = f"{' and '.join(forgone)} are the outcomes of the options: the chosen one's is taken"
        draft.guesses.pop("reward", None)
        draft.questions = [q for q in draft.questions if q.about != "reward"]
        draft.put("reward", text, BY_CONTENT, why)
        both = ",".join(family.values())
        draft.odd(
            f"{why}; what the others would have earned is not used",
            f"--forgone {both} if it was shown",
        )
        materialise(draft, "reward", text)
        return


def _chosen_of(draft: Draft, action: str, family: dict[str, str]) -> str | None:
    """An expression for the outcome of the chosen option; None where it cannot be told."""
    name = in_expression(action)
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
    *sides, last = columns
    text = str(columns[last])
    for side in reversed(sides):
        text = f"if({tests[side]}, {columns[side]}, {text})"
    return text


def _labels_of(draft: Draft, action: str, sides: list[str]) -> dict[str, str] | None:
    """The value of the action for each side; None where it cannot be told."""
    values = [*draft.sample.counts(action)]
    labels = {_plain_side(value): value for value in values}
    if {_plain_side(side) for side in sides} == labels.keys():
        return {side: labels[_plain_side(side)] for side in sides}
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


def _plain_side(word: str) -> str:
    word = word.lower()
    return {"l": "left", "r": "right", "first": "1", "second": "2"}.get(word, word)


# A choice without a telling name.


SURELY = 1e-4  # by chance
MOST_CHOSEN = 12


def ask_what_was_chosen(draft: Draft) -> None:
    """A column without a telling name on which the outcome hangs: was it chosen?"""
    reward, owner = draft.column("reward"), draft.learners()
    if reward is None or draft.answer is not None:
        return
    worth, found = earnings(draft.sample, reward), {}
    shown = draft.named("context")
    for column in [c for c in draft.free if c not in shown]:
        codes, values = draft.sample.codes(column), len(draft.sample.counts(column))
        other = is_time(column) or like(column, f"{BLOCKS} {GROUPS} {KINDS} {CONDITIONS}")
        if other or not 2 <= values <= MOST_CHOSEN or constant_within(owner, codes):
            continue
        if not tell_the_same(draft.sample, column, reward):
            found[column] = min(hangs_on(worth, codes, owner), goes_on(worth, codes, owner))
    best = min(found, key=lambda c: found[c], default=None)
    if best is not None and found[best] < SURELY:
        says = f"yes: {reward} hangs on it; its values are {examples(draft.sample, best)}"
        draft.ask("action", f"is {best} what was chosen?", [Answer("action", best, says)])
        draft.put("action", best, BY_CONTENT, f"{reward} hangs on it")
