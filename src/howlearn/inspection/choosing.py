"""Which column is the action."""

from __future__ import annotations

from collections.abc import Sequence

from howlearn.inspection.draft import BY_CONTENT, BY_NAME, Draft, in_expression, in_quotes
from howlearn.inspection.looking import (
    follows,
    materialise,
    repeats,
    rows_among,
    tell_the_same,
    with_reward,
)
from howlearn.inspection.names import (
    BLOCKS,
    is_answer,
    is_feature,
    is_practice,
    is_time,
    like,
    named_like,
)
from howlearn.inspection.sample import Sample
from howlearn.inspection.values import are_words, constant_within, is_key, is_number, nothing_in
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
