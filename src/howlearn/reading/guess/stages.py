"""Two steps in a trial: which columns are the stages, or what a choice led to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from howlearn.reading.columns import (
    BLOCKS,
    GROUPS,
    KINDS,
    is_answer,
    is_time,
    like,
    named_like,
    parts_of,
)
from howlearn.reading.guess.behaviour import follows_from, goes_on, hangs_on
from howlearn.reading.guess.column_checks import constant_within, runs_within, worth_in
from howlearn.reading.guess.draft import BY_CONTENT, SAID, Draft, in_expression, in_quotes, typed
from howlearn.reading.guess.evidence import centred, score
from howlearn.reading.guess.sample import together

SECOND = {"1": "2", "first": "second", "one": "two", "i": "ii"}
THIRD = {"1": "3", "first": "third", "one": "three", "i": "iii"}
STAGES = {"stage", "level", "step", "stg"}
STATES = {"state", "planet", "st"}
BETWEEN = {*STATES, "transition", "common", "rare", "transitions", "trans"}
MOST_VALUES = 8


@dataclass(frozen=True)
class TwoStages:
    """The columns of the first and the second choice, and of the state between them."""

    first: str
    second: str
    state: str | None
    reasons: tuple[str, ...]

    @property
    def typed(self) -> str:
        """As --stages takes them."""
        return f"{self.first}; {self.second}" + (f"@{self.state}" if self.state else "")


def words_of(name: str) -> list[str]:
    """The words and numbers of a name.

    >>> words_of("level1_choice"), words_of("stepTwoChoice"), words_of("stepone_key")
    (['level', '1', 'choice'], ['step', 'two', 'choice'], ['step', 'one', 'key'])
    """
    found = []
    for part in parts_of(name):
        for word in re.findall(r"[^\W\d_]+|[0-9]+", part):
            match = re.fullmatch(r"(stage|step|level)(one|two|three)", word)
            found += [*match.groups()] if match else [word]
    return found


Values = Callable[[str], Collection[str]]  # of a column
Words = tuple[str, ...]  # of its name


def two_stages(every: Sequence[str], values: Values | None = None) -> TwoStages | None:
    """The stages of a two-step task; None if the columns are not such.

    Without ``values`` names alone tell.
    """
    columns = [c for c in every if not (is_time(c) or is_answer(c))]
    words = {c: tuple(words_of(c)) for c in columns}
    chosen = [c for c in columns if named_like("action", [c]) and _are_few(c, values)]
    states = _states(words)
    for one, other in _in_a_row(chosen, words):
        likely = (c for c in states if c not in (one, other) and _are_few(c, values))
        state = next(likely, None)
        named = STAGES & {*words[one]} or {"first", "i"} & {*words[one]}
        if state is None and not named:
            continue
        reasons = [f"{one} and {other} are two choices in a row"]
        if state is not None:
            reasons.append(f"{state} lies between them")
        return TwoStages(one, other, state or _computed(other, values), tuple(reasons))
    return None


def _in_a_row(chosen: Sequence[str], words: Mapping[str, Words]) -> Iterator[tuple[str, str]]:
    """Columns whose names differ by the numbers of two stages only, without a third."""
    called: dict[Words, list[str]] = {}  # looked up: thousands of columns make millions of pairs
    for column in chosen:
        called.setdefault(words[column], []).append(column)
    every = {*words.values()}
    for one in chosen:
        if every.isdisjoint(_after(words[one], THIRD)):  # otherwise it is a list of answers
            for later in _after(words[one], SECOND):
                for other in called.get(later, ()):
                    yield one, other


def _are_few(column: str, values: Values | None) -> bool:
    return values is None or 2 <= len(values(column)) <= MOST_VALUES


def _computed(second: str, values: Values | None) -> str | None:
    """Where the second choice is one of four, in two pairs: the pair is the state."""
    found = sorted(values(second)) if values is not None else []
    name = in_expression(second)
    return f"{name} > {found[1]}" if found in (["1", "2", "3", "4"], ["0", "1", "2", "3"]) else None


def _after(words: Words, following: Mapping[str, str]) -> list[Words]:
    """The names that differ by the number of a later stage only."""
    places = [i for i, word in enumerate(words) if word in following]
    return [(*words[:i], following[words[i]], *words[i + 1 :]) for i in places]


def _states(words: Mapping[str, Words]) -> list[str]:
    """The columns that may be the state in which the second choice is made, likeliest first."""
    first = {"1", "first", "one"}
    likely = [c for c in words if BETWEEN & {*words[c]} and first.isdisjoint(words[c])]
    return sorted(likely, key=lambda c: not STATES & {*words[c]})


# One choice in a row: it leads to a state that pays, or to the choice in the next row.

LATER = {"2", "second", "two", "final", "end", "next", "reached", "ii"}
TRANSITIONS = BETWEEN - STATES
LED, UNTOLD = 1e-8, 1e-3  # by chance: the state hangs on the choice; beyond it nothing does
FEWEST = 20  # rows
SURELY = 4.0  # standard errors
TURNS = 0.9  # of the rows, where stages take turns


@dataclass(frozen=True)
class OneChoice:
    """Why rows with one choice each are a two-step task, and what reads them all the same."""

    reason: str
    helps: str


def one_choice_of_two(draft: Draft) -> OneChoice | None:
    """What the choices of a two-step task with one choice per row lead to; None if it is none."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None or draft.chosen.sum() < FEWEST:
        return None
    bandit = f"--action {typed(action)} continues as if it were a bandit"
    for column in draft.sample.columns:
        words, values = {*words_of(column)}, [*draft.sample.counts(column)]
        if not 2 <= len(values) <= MOST_VALUES or column in (action, reward) or is_time(column):
            continue
        if STAGES & words and len(values) == 2 and _take_turns(draft, column):
            only = f"{in_expression(column)} == {in_quotes(max(values))}"
            why = f"{column} says which of two choices in a trial each row is"
            return OneChoice(why, f"--where {typed(only)} reads the second ones only")
        if TRANSITIONS & words and len(values) == 2 and not _hangs(draft, column, action):
            return OneChoice(f"{column} says how each choice led on", bandit)
        named = STATES & words or ({"s", "step", "stage", "room"} & words and LATER & words)
        if named and not is_answer(column) and _is_led_to(draft, column, action, reward):
            why = f"{action} leads to {column}, on which {reward} depends"
            led = f"--action {typed(column)} reads choices between what they led to"
            return OneChoice(why, f"{led}, {bandit}")
    return None


def filled(draft: Draft, first: str = "", second: str = "") -> TwoStages | None:
    """The two choices of a row and the state between them, by what columns do; None if unclear.

    The state hangs on the first choice, and only by chance; the outcome hangs on the second.
    """
    reward, sample, owner = draft.column("reward"), draft.sample, draft.learners()
    few = [c for c in sample.columns if _are_few(c, sample.counts) and c not in draft.computed]
    few = [c for c in few if not (is_time(c) or is_answer(c) or c == reward)]
    few = [c for c in few if not constant_within(owner, sample.codes(c))]
    if reward is None or (first and first not in few) or (second and second not in few):
        return None
    shown = sorted(few, key=lambda c: (not STATES & {*words_of(c)}, not LATER & {*words_of(c)}))
    bare = {c: "_".join(w for w in words_of(c) if not w.isdigit()) for c in few}
    named = {c for c in few if named_like("action", [c, bare[c]])} | {draft.column("action")}
    for state in shown:
        for one in [first] if first else sorted(few, key=lambda c: c not in named):
            if state in (first, second, one) or not _leads_to(draft, one, state, reward):
                continue
            others = [c for c in few if c not in (one, state) and not BETWEEN & {*words_of(c)}]
            others = [second] if second else others
            chance = {c: _earns(draft, c, state, reward) for c in others}
            sure = [c for c in others if chance[c] < (UNTOLD if c in named else LED)]
            best = min(sure, key=lambda c: chance[c], default=second)
            if best:
                reasons = f"{one} and {best} are two choices in a row", f"{state} lies between them"
                return TwoStages(one, best, state, reasons)
    return None


OFTEN, MOST_TRIED = 8.0, 12  # trials for which a choice stays the same, at most; columns
PAYS = 1e-4  # by chance, where no name tells that the second choice is one


def under_any_names(draft: Draft) -> TwoStages | None:
    """As ``filled``, of columns in their order in the table, one of which may be the action."""
    reward, action, sample = draft.column("reward"), draft.column("action"), draft.sample
    if reward is None or action is None or draft.computed & {reward, action}:
        return None
    rows, design = draft.chosen & ~sample.missing(reward), f"{BLOCKS} {KINDS} {GROUPS}"
    owner, earned = draft.learners()[rows], sample.codes(reward)[rows]
    few = [c for c in sample.columns if _are_few(c, sample.counts) and c not in draft.computed]
    few = [c for c in few if not (is_time(c) or is_answer(c) or c == reward or like(c, design))]
    context = draft.guesses.get("context")
    shown = context.columns if context is not None and context.how == SAID else ()
    few = [c for c in few if c not in (*draft.on_offer, *draft.columns("offered"), *shown)]
    few = [c for c in few if c == action or not sample.missing(c)[rows].any()]
    codes = {c: together(sample.codes(c)[rows]) for c in few}
    few = [c for c in few if runs_within(owner, codes[c])[0] < OFTEN][:MOST_TRIED]
    guess = draft.guesses["action"]
    likely = {action, *(each.column for each in guess.candidates)}
    sure = () if guess.how == BY_CONTENT else (action,)
    for one, state, second in combinations(few, 3):
        there = codes[state], codes[second]
        if likely.isdisjoint((one, second)) or state in sure:
            continue
        if follows_from(earned, together(*there)):
            continue  # an answer that was right, and whether it was given
        if follows_from(codes[second], together(there[0], earned)):
            continue  # how the outcome was shown
        if not _is_chosen(draft, one, state, reward):
            continue
        if _leads_to(draft, one, state, reward) and _earns(draft, second, state, reward) < PAYS:
            reasons = f"{one} and {second} are two choices in a row", f"{state} lies between them"
            return TwoStages(one, second, state, reasons)
    return None


REPEATED = 0.01  # by chance


def _is_chosen(draft: Draft, first: str, state: str, reward: str) -> bool:
    """Whether a column follows the outcomes before it, as choices do; what is shown does not."""
    rows = draft.chosen & ~draft.sample.missing(reward)
    owner, made = draft.learners()[rows], draft.sample.codes(first)[rows]
    order = np.argsort(owner, kind="stable")
    near = np.diff(owner[order]) == 0
    worth = worth_in(draft.sample, reward)[rows]
    won = together((worth > worth.mean())[order][:-1][near])
    stays = (np.diff(made[order])[near] == 0).astype(float)
    before = together(owner, made, draft.sample.codes(state)[rows])[order][:-1][near]
    return hangs_on(stays, won, before) < REPEATED


def _leads_to(draft: Draft, first: str, state: str, reward: str) -> bool:
    """Whether a choice leads to a state by chance, beyond which it earns nothing."""
    rows = draft.chosen & ~draft.sample.missing(reward)
    made, there = (draft.sample.codes(c)[rows] for c in (first, state))
    owner = draft.learners()[rows]
    if follows_from(there, together(owner, made)) or follows_from(made, together(owner, there)):
        return False
    if not _hangs(draft, state, first):
        return False
    worth = worth_in(draft.sample, reward)[rows]
    return hangs_on(worth, made, together(draft.learners()[rows], there)) > UNTOLD


def _earns(draft: Draft, second: str, state: str, reward: str) -> float:
    """How likely outcomes differ between the choices in a state this much by chance alone."""
    rows = draft.chosen & ~draft.sample.missing(reward)
    made, there = (draft.sample.codes(c)[rows] for c in (second, state))
    place = together(draft.learners()[rows], there)
    worth = worth_in(draft.sample, reward)[rows]
    return min(hangs_on(worth, made, place), goes_on(worth, together(made), place))


def _take_turns(draft: Draft, column: str) -> bool:
    """Whether a column has its two values in turn."""
    owner, codes = draft.learners(), draft.sample.codes(column)
    order = np.argsort(owner, kind="stable")
    return float(np.mean(np.diff(codes[order]) != 0)) > TURNS


def _hangs(draft: Draft, column: str, action: str) -> bool:
    """Whether a column hangs on the choice of the trial, whatever it was in the trial before.

    Choices follow hidden states and blocks, too, but not their changes.
    """
    rows = draft.chosen & ~draft.sample.missing(column)
    codes, owner = together(draft.sample.codes(column)[rows]), draft.learners()[rows]
    before = np.concatenate(([0], 1 + codes[:-1]))
    made = draft.sample.codes(action)[rows]
    return hangs_on(codes.astype(float), made, together(owner, before)) < LED


def _is_led_to(draft: Draft, column: str, action: str, reward: str) -> bool:
    """Whether a column hangs on the choice, and the outcome on it, or it on the last outcome.

    What is shown before the choice is not such: there the same choice pays otherwise in each, and
    what comes next has nothing to do with what was earned.
    """
    sample = draft.sample
    rows = draft.chosen & ~sample.missing(column) & ~sample.missing(reward)
    shown = [c for role in ("offered", "context") for c in draft.columns(role) if c != column]
    state, made = sample.codes(column)[rows], sample.codes(action)[rows]
    if shown and follows_from(state, together(*(sample.codes(c)[rows] for c in shown))):
        return False
    owner, worth = draft.learners()[rows], worth_in(sample, reward)[rows]
    if not _hangs(draft, column, action):
        return False
    stays = centred(owner[1:], state[1:] == state[:-1])
    won = centred(owner[1:], worth[:-1] > worth.mean())
    return hangs_on(worth, made, together(owner, state)) > UNTOLD or score(stays * won) > SURELY
