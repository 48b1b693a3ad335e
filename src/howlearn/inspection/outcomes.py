"""Which column is the reward."""

from __future__ import annotations

import numpy as np

from howlearn.core.text import shortened
from howlearn.inspection.amounts import without_nothing, worth
from howlearn.inspection.draft import BY_CONTENT, BY_NAME, Draft, in_expression, in_quotes, typed
from howlearn.inspection.looking import follows, materialise, sparse, tell_the_same
from howlearn.inspection.mistakes import find_reward_in_mistakes
from howlearn.inspection.names import (
    BLOCKS,
    CONDITIONS,
    GROUPS,
    KINDS,
    is_answer,
    is_feature,
    is_mistake,
    is_practice,
    is_time,
    like,
    named_like,
)
from howlearn.inspection.values import are_words, is_number
from howlearn.reading.roles import plain

SIDES = "gain win"  # what losses may be set against
FEW_WORDS = 6  # that are put into an option as it is to be typed
FEW_LETTERS = 40
FOLLOWS = 0.1  # how much likelier a choice is repeated after a success, to be a learned one


def find_reward(draft: Draft) -> None:
    """A column of numbers, or of words for right and wrong."""
    if "reward" in draft.guesses:
        return
    named = named_like("reward", [c for c in draft.free if not is_mistake(c)])
    fit = [c for c in named if _is_outcome(draft, c)]
    if "action" not in draft.guesses:
        fit = [c for c in fit if not is_practice(c)] or fit
    few, said = sparse(draft, fit), "action" in draft.guesses  # then it is where the choices are
    fit.sort(
        key=lambda c: (len(draft.sample.counts(c)) < 2, said and c in few, -named[c], c in few)
    )
    if not any(named[c] == 3 and not like(c, SIDES) for c in fit):
        _gain_and_loss(draft)  # an outcome of its own says more than their sum
    if fit:
        how = BY_NAME if named[fit[0]] > 1 else BY_CONTENT
        draft.put("reward", fit[0], how, "", tuple(fit[1:]))
    find_reward_in_mistakes(draft)
    if "reward" not in draft.guesses:
        _unreadable(draft, [c for c in named if len(draft.sample.counts(c)) > 1])


def _gain_and_loss(draft: Draft) -> None:
    """Gains and losses in two columns: their sum is what was earned."""
    names = {plain(column): column for column in draft.free}
    gain = names.get("gain") or names.get("win")
    loss = names.get("loss") or names.get("lose")
    if gain is None or loss is None:
        return
    sides = [in_expression(gain), in_expression(loss)]
    numbers = draft.sample.numbers(loss)
    if None in sides or np.isnan(numbers).all() or np.isnan(draft.sample.numbers(gain)).all():
        return
    sign = "+" if np.nanmin(numbers) < 0 or np.nanmax(numbers) <= 0 else "-"
    text = f"{sides[0]} {sign} {sides[1]}"
    draft.put("reward", text, BY_NAME, "gains and losses are in two columns", (gain,))
    if draft.guesses["reward"].value == text:
        materialise(draft, "reward", text)


def _is_outcome(draft: Draft, column: str) -> bool:
    counts = draft.sample.counts(column)
    if not counts or is_time(column):
        return False
    if are_words(counts):
        return True
    rest = without_nothing(counts)
    if (rest and are_words(rest)) or (draft.open("recode") and worth(counts) is not None):
        return True
    if not all(is_number(value) for value in rest):
        return False
    return not _is_total(draft, column)


def _unreadable(draft: Draft, columns: list[str]) -> None:
    """Columns that have a reward's name, and what keeps them from being one."""
    for column in columns:
        odd = [v for v in without_nothing(draft.sample.counts(column)) if not is_number(v)]
        if not odd or is_time(column) or in_expression(column) is None:
            continue
        pairs = ",".join(f"{value}=NUMBER" for value in odd)
        helps = f'--reward {typed(column)} --recode "{column}:{pairs}"'
        if len(odd) > FEW_WORDS or any("," in value for value in odd) or ":" in column:
            helps = (
                f'--reward "{in_expression(column)} == {in_quotes(odd[0])}" if that is a success'
            )
        draft.odd(
            f"{column} looks like the reward, but {shortened(odd[0], FEW_LETTERS)!r} is no number",
            helps,
        )


def _is_total(draft: Draft, column: str) -> bool:
    """Whether numbers only ever grow within a learner: a sum of what was earned so far."""
    numbers, owner = draft.sample.numbers(column), draft.learners()
    if len(draft.sample.counts(column)) < 6:
        return False
    order = np.argsort(owner, kind="stable")
    steps, same = np.diff(numbers[order]), np.diff(owner[order]) == 0
    steps = steps[same & ~np.isnan(steps)]
    if len(steps) and np.all(steps >= 0):
        draft.odd(f"{column} only ever grows within a learner: a running total, not a reward")
        return True
    return False


def find_reward_by_content(draft: Draft) -> None:
    """Without a telling name: whether the choice is the right answer, or what choices follow."""
    action = draft.column("action")
    if "reward" in draft.guesses or action is None:
        return
    answer = draft.answer
    names = in_expression(action), in_expression(answer or "")
    if answer is not None and None not in names:
        shared = {*draft.sample.counts(action)} & {*draft.sample.counts(answer)}
        if len(shared) >= 2:
            text = f"{names[0]} == {names[1]}"
            draft.put("reward", text, BY_CONTENT, "the choice is compared with the right answer")
            materialise(draft, "reward", text)
            return
    _same_values(draft, action)
    likely = [c for c in draft.free if _is_binary(draft, c)]
    score = {}
    for column in likely:
        trial = Draft(draft.sample, draft.given, refused=draft.refused)
        trial.guesses = {**draft.guesses}
        trial.put("reward", column, BY_CONTENT, "")
        score[column] = follows(trial, draft.sample.only(draft.sample.rows), action)
    best = max(score, key=lambda c: score[c], default=None)
    if best is not None and (len(likely) == 1 or score[best] > FOLLOWS):
        others = tuple(c for c in likely if c != best)
        draft.put("reward", best, BY_CONTENT, "it has two values that choices follow", others)


def _same_values(draft: Draft, action: str) -> None:
    """What turned out to be right may stand under any name, in the words of the choices."""
    counts = draft.sample.counts(action)
    for column in draft.free:
        same = {*draft.sample.counts(column)} == {*counts} and not all(map(is_number, counts))
        if same and not tell_the_same(draft.sample, column, action):
            names = in_expression(action), in_expression(column)
            draft.odd(
                f"{column} has the same values as {action}; is it what turned out to be right?",
                f'--reward "{names[0]} == {names[1]}" if so',
            )


def _is_binary(draft: Draft, column: str) -> bool:
    counts = draft.sample.counts(column)
    if len(counts) != 2 or is_feature(column) or is_answer(column) or is_time(column):
        return False
    if is_mistake(column) or like(column, f"{BLOCKS} {CONDITIONS} {GROUPS} {KINDS}"):
        return False
    return {*counts} in ({"0", "1"}, {"-1", "1"}) or are_words(counts)
