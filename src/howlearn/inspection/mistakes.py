"""Columns that count what went wrong: a success is where they have nothing to say."""

from __future__ import annotations

import numpy as np

from howlearn.inspection.draft import BY_NAME, SAID, Draft, in_expression, in_quotes, typed
from howlearn.inspection.looking import materialise
from howlearn.inspection.names import is_mistake
from howlearn.inspection.values import is_number

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
