"""Which column is the action: what learners chose, not what they should have chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.reading.columns import (
    BLOCKS,
    is_answer,
    is_feature,
    is_practice,
    is_time,
    like,
    named_like,
)
from howlearn.reading.guess.behaviour import MOST_OPTIONS, follows_from, on_offer
from howlearn.reading.guess.column_checks import (
    are_words,
    constant_within,
    is_key,
    is_number,
    materialise,
    nothing_in,
    repeats,
    rows_among,
    tell_the_same,
    with_reward,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    Candidate,
    Draft,
    Sample,
    in_expression,
    in_quotes,
    together,
)
from howlearn.reading.guess.learner_and_context import is_chosen
from howlearn.reading.rewards import GOOD_WORDS

MOST_ACTIONS, MOST_NAMED_ACTIONS = 12, 100
FOR_A_NAME = {4: 5.0, 3: 3.0, 2: 2.0, 1: 1.5, 0: 0.5}  # what a name is worth, as log odds
FOR_KEYS, FOR_ONE_ON_OFFER = 1.0, 3.0
AGAINST_ANSWERS, AGAINST_PRACTICE, AGAINST_OPTIONS = 2.5, 2.0, 4.0
RANK = 0.1  # for each likelier name in the vocabulary


def find_on_offer(draft: Draft) -> None:
    """Columns that show what could be chosen, as stim_left and stim_right."""
    if not draft.open("offered"):
        return
    draft.on_offer, draft.one_of = on_offer(draft.sample, [*draft.free, *draft.columns("action")])


def action_candidates(draft: Draft, reward: str | None) -> list[Candidate]:
    """The columns that may hold the choices, the likeliest first."""
    rewarded = with_reward(draft)
    named = draft.named("action")
    found = []
    for column in draft.free:
        score, reasons = _by_name(draft, rewarded, column, named, reward)
        if not reasons:
            continue
        shown = fixed_by(draft, rewarded, column)
        if shown is not None:
            draft.design.add(column)
            draft.odd(
                f"{column} is always the same where {shown} is: what was required or planned, "
                "not what was chosen",
                f"--action {column} if it was chosen after all",
            )
            continue
        found.append(Candidate(column, score, tuple(reasons)))
    return sorted(found, key=lambda each: -each.score)


def _by_name(
    draft: Draft, rows: Sample, column: str, named: dict[str, int], reward: str | None
) -> tuple[float, list[str]]:
    """What a column's name and values are worth; no reasons where it cannot be the action."""
    score, reasons = 0.0, []
    if column in named and _is_choice(draft, rows, column, named[column], reward):
        rank = [c for c in named if named[c] == named[column]].index(column)
        score = FOR_A_NAME[named[column]] - RANK * min(rank, 5)
        reasons.append("its description" if named[column] == 4 else "its name")
    elif column in draft.one_of and _is_choice(draft, rows, column, 3, reward):
        pass
    elif _are_keys(draft, rows, column, reward):
        score = FOR_KEYS
        reasons.append("its values are keys or sides")
    else:
        return 0.0, []
    if column in draft.one_of:
        score += FOR_ONE_ON_OFFER
        reasons.append(f"it is always one of {' and '.join(draft.on_offer)}")
    score -= AGAINST_ANSWERS * is_answer(column) + AGAINST_PRACTICE * is_practice(column)
    score -= AGAINST_OPTIONS * (column in draft.on_offer)
    return score, reasons


def fixed_by(draft: Draft, rows: Sample, column: str) -> str | None:
    """What is shown and fixes a column, for everybody or for each learner; None if nothing does."""
    owner = draft.learners()[rows_among(draft, rows)]
    codes = rows.codes(column)
    for shown in named_like("context", draft.free):
        if shown == column or is_chosen(shown) or not repeats(rows, shown):
            continue
        place = rows.codes(shown)
        if follows_from(codes, place) or follows_from(codes, together(owner, place)):
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
    alike = reward is not None and (are_words(values) or {*values} <= {*rows.counts(reward)})
    if reward is not None and alike and column != reward and tell_the_same(rows, column, reward):
        draft.odd(
            f"{column} says only whether a choice was right, not which it was",
            "--action COL, or an expression such as --action \"(answer == 'f') == (correct == 1)\"",
        )
        return False
    return not constant_within(draft.learners()[rows_among(draft, rows)], rows.codes(column))


def _are_keys(draft: Draft, rows: Sample, column: str, reward: str | None) -> bool:
    counts = rows.counts(column)
    nothing = nothing_in(counts)
    values = [value for value in counts if value not in nothing]
    if not 2 <= len(values) <= 6 or not all(is_key(value) for value in values):
        return False
    if is_answer(column) or is_time(column) or is_feature(column) or like(column, BLOCKS):
        return False
    if not repeats(rows, column) or named_like("context", [column]):
        return False
    return _is_choice(draft, rows, column, 1, reward)


def are_plain_numbers(rows: Sample, column: str) -> bool:
    """Whether a column without a telling name has numbers only, so that its name says nothing."""
    return all(is_number(value) for value in rows.counts(column))


def from_right_and_wrong(draft: Draft) -> None:
    """With two answers, which was right and whether the choice was tell which it was."""
    reward, answer = draft.column("reward"), draft.answer
    if reward is None or answer is None or draft.named("action"):
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
