"""Which columns are the action and the reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.text import shortened
from howlearn.reading.columns import (
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
    plain,
)
from howlearn.reading.guess.coding import without_nothing, worth
from howlearn.reading.guess.column_checks import (
    are_words,
    constant_within,
    follows,
    is_key,
    is_number,
    materialise,
    nothing_in,
    repeats,
    rows_among,
    sparse,
    tell_the_same,
    with_reward,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    SAID,
    Draft,
    Sample,
    in_expression,
    in_quotes,
    typed,
)
from howlearn.reading.rewards import GOOD_WORDS

MOST_ACTIONS, MOST_NAMED_ACTIONS = 12, 100
FOLLOWS = 0.1  # how much likelier a choice is repeated after a success, to be a learned one


def find_action(draft: Draft) -> None:
    """A column with a few values, which learners choose among."""
    draft.answer = next((c for c in draft.free if is_answer(c)), None)
    if "action" in draft.guesses:
        return
    rewarded = with_reward(draft)
    named = named_like("action", draft.free)
    fit = [c for c in named if _is_choice(draft, rewarded, c, named[c])]
    fit = [c for c in fit if not is_answer(c)] or fit
    fit = [c for c in fit if not is_practice(c)] or fit
    if fit:
        best = [c for c in fit if named[c] == 3 or named[fit[0]] < 3]
        first = best[0]
        if named[first] < 3 and len(best) > 1:
            first = max(best, key=lambda c: follows(draft, rewarded, c))
        others = tuple(c for c in fit if c != first)
        why = "its values are chosen again more often after a success" if first != best[0] else ""
        draft.put("action", first, BY_NAME if named[first] > 1 else BY_CONTENT, why, others)
        return
    keys = [c for c in draft.free if _are_keys(draft, rewarded, c)]
    if keys:
        first = max(keys, key=lambda c: follows(draft, rewarded, c))
        others = tuple(c for c in keys if c != first)
        draft.put("action", first, BY_CONTENT, "its values are keys or sides", others)
        return
    _from_right_and_wrong(draft, named)
    reward = draft.column("reward")
    if "action" not in draft.guesses and reward is not None:
        draft.odd(
            f"{reward} says what a choice earned or whether it was right, and no column says which "
            "it was: models of learning need the choices themselves",
            "--action COL",
        )


def _is_choice(draft: Draft, rows: Sample, column: str, strength: int) -> bool:
    counts = rows.counts(column)
    nothing = nothing_in(counts)
    values = [value for value in counts if value not in nothing]
    if len(values) < 2 or 2 * sum(counts.values()) < rows.height:
        return False
    if len(values) > (MOST_NAMED_ACTIONS if strength == 3 else MOST_ACTIONS):
        return False
    reward = draft.column("reward")
    alike = reward is not None and (are_words(values) or {*values} <= {*rows.counts(reward)})
    if reward is not None and alike and column != reward and tell_the_same(rows, column, reward):
        draft.odd(
            f"{column} says only whether a choice was right, not which it was",
            "--action COL, or an expression such as --action \"(answer == 'f') == (correct == 1)\"",
        )
        return False
    return not constant_within(draft.learners()[rows_among(draft, rows)], rows.codes(column))


def _are_keys(draft: Draft, rows: Sample, column: str) -> bool:
    counts = rows.counts(column)
    nothing = nothing_in(counts)
    values = [value for value in counts if value not in nothing]
    if not 2 <= len(values) <= 6 or not all(is_key(value) for value in values):
        return False
    if is_answer(column) or is_time(column) or is_feature(column) or like(column, BLOCKS):
        return False
    if not repeats(rows, column) or named_like("context", [column]):
        return False
    if all(is_number(value) for value in values) and follows(draft, rows, column) < FOLLOWS:
        return False
    return _is_choice(draft, rows, column, 1)


def _from_right_and_wrong(draft: Draft, named: dict[str, int]) -> None:
    """With two answers, which was right and whether the choice was tell which it was."""
    reward, answer = draft.column("reward"), draft.answer
    if reward is None or answer is None or named:
        return
    answers = list(draft.sample.counts(answer))
    marks = sorted(draft.sample.counts(reward), key=lambda mark: is_number(mark) and float(mark))
    names = in_expression(answer), in_expression(reward)
    if len(answers) != 2 or len(marks) != 2 or None in names:
        return
    good = marks[1] if all(map(is_number, marks)) else _good(marks)
    if good is None:
        return
    text = f"({names[0]} == {in_quotes(answers[0])}) == ({names[1]} == {in_quotes(good)})"
    why = f"computed from the right answer and whether the choice was right: yes is {answers[0]}"
    materialise(draft, "action", text)
    if len(draft.sample.counts(text)) == 2:
        draft.put("action", text, BY_CONTENT, why)


def _good(marks: Sequence[str]) -> str | None:
    return next((mark for mark in marks if mark.lower() in GOOD_WORDS), None)


# Columns that count what went wrong: a success is where they have nothing to say.


NO_WORDS = ("false", "f", "no", "n")
YES_WORDS = ("true", "t", "yes", "y")


def find_reward_in_mistakes(draft: Draft) -> None:
    """The reward from errors or losses, turned round; never such a column as it is."""
    for column in [c for c in draft.free if is_mistake(c)]:
        text = turned_round(draft, column)
        if "reward" in draft.guesses:
            return
        if text is None:
            continue
        if text == in_expression(column):
            draft.put("reward", column, BY_NAME, "losses, with their sign")
            return
        why = f"{column} says what went wrong, so that it is turned round"
        draft.put("reward", text, BY_NAME, why)
        materialise(draft, "reward", text)
        draft.odd(
            f"{column} is taken the other way round, since its name says that more of it is worse",
            f"--reward {typed(column)} takes it as it is",
        )


def turned_round(draft: Draft, column: str) -> str | None:
    """The expression that is higher where less went wrong; None where the column is no such one."""
    counts, name = draft.sample.counts(column), in_expression(column)
    if name is None or len(counts) < 2:
        return None
    lower = {value.lower(): value for value in counts}
    if len(counts) == 2 and {*lower} <= {*NO_WORDS, *YES_WORDS}:
        good = [lower[word] for word in lower if word in NO_WORDS]
        return f"{name} == {in_quotes(good[0])}" if len(good) == 1 else None
    if not all(is_number(value) for value in counts):
        return None
    numbers = np.array([float(value) for value in counts])
    if numbers.min() < 0:
        return name if numbers.max() <= 0 else None  # losses with their sign are rewards
    return f"{name} == 0" if {*numbers.tolist()} == {0.0, 1.0} else f"0 - {name}"


def remark_mistakes(draft: Draft) -> None:
    """What the user calls the reward may be the opposite of one."""
    guess, column = draft.guesses.get("reward"), draft.column("reward")
    if guess is None or guess.how != SAID or column is None or not is_mistake(column):
        return
    text = turned_round(draft, column)
    if text is not None and text != in_expression(column):
        draft.odd(
            f"{column} sounds as if more of it were worse, and is taken as the reward as it is",
            f'--reward "{text}" turns it round',
        )


# Which column is the reward.


SIDES = "gain win"  # what losses may be set against
FEW_WORDS = 6  # that are put into an option as it is to be typed
FEW_LETTERS = 40


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
