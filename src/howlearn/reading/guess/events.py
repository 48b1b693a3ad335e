"""One row per event: a choice stands in one row, and what it earned in a later one."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.reading.columns import is_time, like
from howlearn.reading.guess.behaviour import words_of
from howlearn.reading.guess.coding import worth
from howlearn.reading.guess.column_checks import (
    GOOD_WORDS,
    are_words,
    is_number,
    materialise,
    share,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    SAID,
    Answer,
    Draft,
    Guess,
    in_expression,
    in_quotes,
    is_among,
    typed,
)
from howlearn.reading.guess.rows import FEWEST_TRIALS, leave_out

FARTHEST = 6  # rows from a choice to its outcome
MOSTLY, HARDLY, RARELY = 0.5, 0.05, 0.01
MOST_EVENTS, MOST_OUTCOMES = 40, 3
MOST_LOOKED_AT = 60  # columns that may stand in the choices' rows


def find_events(draft: Draft) -> None:
    """Choices and outcomes in columns that are never filled in the same row, or in one column."""
    roles = all(map(draft.open, ("action", "reward", "stages")))
    if roles and draft.given.where is None and "where" not in draft.refused:
        _in_several_columns(draft)
        more = ("where", "action", "context")
        if all(map(draft.open, more)) and not draft.named("reward"):
            _in_one_column(draft)
    elif "action" in draft.guesses and draft.open("reward") and draft.given.where is None:
        _refuse_without_outcome(draft)


def _refuse_without_outcome(draft: Draft) -> None:
    """An action that was named as it stands in its own rows, where no outcome ever stands."""
    action = draft.column("action")
    rewards = [c for c, strength in draft.named("reward").items() if strength > 1]
    if action is None or not rewards:
        return
    told = {c: ~draft.sample.missing(c) for c in (action, *rewards)}
    ends = told[rewards[0]]
    if ends.sum() < FEWEST_TRIALS or any((told[action] & told[c]).any() for c in rewards):
        return
    if text := _before(draft, action, ends, True):
        raise HowlearnError(
            f"{rewards[0]} never stands in a row with {action}, but in a later one; each row with "
            f"an outcome is a trial: type --action {typed(text)}"
        )


def _in_several_columns(draft: Draft) -> None:
    """A row for what was shown, one for the response, one for the feedback."""
    sample = draft.sample
    rewards = [c for c, strength in draft.named("reward").items() if strength > 1]
    actions = [c for c in draft.named("action") if not is_time(c)]
    filled = {c: ~sample.missing(c) for c in (*rewards, *actions)}
    enough = [c for c in filled if filled[c].sum() >= FEWEST_TRIALS]
    rewards, actions = ([c for c in some if c in enough] for some in (rewards, actions))
    apart = [r for r in rewards if not any((filled[r] & filled[a]).any() for a in actions)]
    if len(apart) < len(rewards) or not apart or not actions:
        return
    ends = filled[apart[0]]
    name = in_expression(apart[0])
    shown = draft.columns("context")
    looked_at = dict.fromkeys([*actions, *shown, *draft.free[:MOST_LOOKED_AT]])
    before = {c: text for c in looked_at if (text := _before(draft, c, ends, c in actions))}
    if name is None or before.keys().isdisjoint(actions):
        return
    why = f"{apart[0]} stands in another row than the choice: each such row is a trial"
    for column, text in before.items():  # they are columns of the outcomes' rows from now on
        materialise(draft, "action", text)
        draft.computed.discard(text)
        if column in draft.about:
            draft.about = {**draft.about, text: draft.about[column]}
    if not before.keys().isdisjoint(shown):  # the user said which, as it stands in other rows
        there = tuple(before.get(c, c) for c in shown)
        draft.guesses["context"] = Guess("context", there, SAID, "as it was at the choice")
    leave_out(draft, f"{name} != missing", BY_CONTENT, why)
    draft.odd(why, "--action, --reward, --context and --where take other rows")


def _before(draft: Draft, column: str, ends: np.ndarray, is_made: bool) -> str | None:
    """A column as it was some rows before the outcomes; None where it was not.

    What ``is_made`` stands always as many rows before: where it did not, it would pass for missed.
    """
    told, name = ~draft.sample.missing(column), in_expression(column)
    at = np.flatnonzero(ends)
    if name is None or told[at].any():
        return None
    steps = range(1, FARTHEST + 1)
    often = {k: share(told[at[at >= k] - k]) for k in steps}
    best = max(often, key=lambda k: often[k])
    since = np.diff(at, prepend=-1)  # rows, of which the last is the outcome's
    ever = np.any([told[np.maximum(at - k, 0)] & (k < since) for k in steps], axis=0)
    if is_made and share(ever) > often[best] + RARELY:
        return None
    return _lag(name, best) if often[best] > MOSTLY else None


def _lag(name: str, rows: int) -> str:
    return f"lag({name})" if rows == 1 else f"lag({name}, {rows})"


def _in_one_column(draft: Draft) -> None:
    """Codes of events, of which some are always followed by one of a few others."""
    for column in draft.free:
        counts, name = draft.sample.counts(column), in_expression(column)
        numbers = all(map(is_number, counts)) and not like(column, "event code marker trigger")
        if not 4 <= len(counts) <= MOST_EVENTS or numbers or name is None:
            continue
        found = _cycle(draft, column)
        if found is not None:
            _ask(draft, name, *found)
            return


def _cycle(draft: Draft, column: str) -> tuple[list[str], list[str], list[str]] | None:
    """What was shown, chosen and earned, in the cycle of events; None if there is none."""
    codes, owner = draft.sample.codes(column), draft.learners()
    labels = draft.sample.columns[column].labels.to_list()
    near = owner[1:] == owner[:-1]
    times = np.zeros((len(labels), len(labels)))
    np.add.at(times, (codes[:-1][near], codes[1:][near]), 1)
    after = times / np.maximum(times.sum(axis=1, keepdims=True), 1) > HARDLY
    since = times / np.maximum(times.sum(axis=0, keepdims=True), 1) > HARDLY
    met = [i for i in range(len(labels)) if labels[i] is not None and times[i].sum() > 0]
    found: list[tuple[list[str], list[str], list[str]]] = []
    groups: dict[tuple[int, ...], list[int]] = {}
    for i in met:
        groups.setdefault(tuple(np.flatnonzero(after[i]).tolist()), []).append(i)
    for ends, made in groups.items():
        apart = {*ends}.isdisjoint(made) and None not in [labels[i] for i in ends]
        if len(made) < 2 or not 2 <= len(ends) <= MOST_OUTCOMES or not apart:
            continue
        if all({*np.flatnonzero(since[:, i]).tolist()} == {*made} for i in ends):
            shown = {*np.flatnonzero(since[:, made].any(axis=1)).tolist()} - {*ends, *made}
            some = [[str(labels[i]) for i in each] for each in (sorted(shown), made, ends)]
            found.append((some[0], some[1], some[2]))
    # A cycle has no beginning: it ends with words for success, or after what is called a response.
    return max(found, key=lambda one: _ends_with_outcomes(draft, column, *one), default=None)


RESPONSES = {*"response resp key keypress press button choice lick poke nosepoke touch".split()}


def _ends_with_outcomes(
    draft: Draft, column: str, shown: list[str], made: list[str], ends: list[str]
) -> tuple[bool, bool, bool]:
    """What speaks for these events being what was shown, chosen and earned."""
    rows = np.isin(draft.sample.texts(column), made)
    said = [{*draft.sample.texts(c)[rows]} for c in draft.free if c != column]
    beside = [{*words_of(values.pop())} for values in said if len(values) == 1]
    named = any(not RESPONSES.isdisjoint(words) for words in (*beside, *map(words_of, made)))
    return bool(_rated(ends)), named, not any(map(is_number, ends))


def _rated(ends: list[str]) -> Mapping[str, str]:
    """What each outcome is as a number; nothing where that cannot be told."""
    if are_words(ends):
        return {end: str(int(end.lower() in GOOD_WORDS)) for end in ends}
    return worth(ends) or {}


def _ask(draft: Draft, name: str, shown: list[str], made: list[str], ends: list[str]) -> None:
    """Which event is a success, where each outcome comes right after a choice."""
    plain = {end: re.sub(r"[\W_]+", "", end.lower()) for end in ends}
    known = _rated(ends)
    good = [e for e in ends if f"no{plain[e]}" in plain.values() or known.get(e) == "1"]
    action, where = _lag(name, 1), is_among(name, ends)
    context = (_lag(name, 2),) if len(shown) > 1 else ("none",)
    ways = {e: f"{name} == {in_quotes(e)}" for e in sorted(ends, key=lambda e: e not in good)}
    also = {"action": action, "where": where, "context": context}
    why = f"{' or '.join(made)} is followed by {' or '.join(ends)}"
    if len(good) == 1 and known:
        draft.odd(f"each row is an event: {why}, and {good[0]} is taken as a success")
    else:
        draft.ask(
            "reward",
            f"each row is an event: {why}; are these choices and outcomes?",
            [Answer("reward", way, f"yes: {e} is a success", also) for e, way in ways.items()],
        )
    first = next(iter(ways.values()))
    for option, text in (("action", action), ("reward", first), ("context", context[0])):
        if text != "none":
            materialise(draft, option, text)
        draft.put(option, (text,) if option == "context" else text, BY_CONTENT, why)
    leave_out(draft, where, BY_CONTENT, "the other rows are other events")


REPEATED, PAIRED = 0.98, 0.3


def leave_repeats_out(draft: Draft) -> None:
    """Rows with the number of the trial before them that say the same again, such as feedback."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None or draft.given.where is not None:
        return
    sample, owner = draft.sample, draft.learners()
    for column in draft.named("trial"):
        codes, name = sample.codes(column), in_expression(column)
        again = np.zeros(len(codes), dtype=np.bool_)
        again[1:] = (codes[1:] == codes[:-1]) & (owner[1:] == owner[:-1])
        if name is None or share(again) < PAIRED or share(again[1:] & again[:-1]) > RARELY:
            continue
        rows = np.flatnonzero(again)
        alike = [
            (sample.codes(c)[rows] == sample.codes(c)[rows - 1]) | (sample.missing(c)[rows] & blank)
            for c, blank in ((action, True), (reward, False))
        ]
        if share(alike[0] & alike[1]) < REPEATED or len(np.unique(sample.codes(reward)[rows])) < 2:
            continue
        why = f"the second row of each {column} says the same again"
        leave_out(draft, f"{name} != lag({name})", BY_CONTENT, why)
        draft.odd(f"{why}, and was left out", "--where keeps other rows")
        return
