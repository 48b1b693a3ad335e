"""Two choices in a row: which columns are the stages of a two-step task."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from howlearn.reading.columns import is_answer, is_time, named_like, parts_of
from howlearn.reading.guess.draft import in_expression

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


def two_stages(every: Sequence[str], values: Values | None = None) -> TwoStages | None:
    """The stages of a two-step task; None if the columns are not such.

    Without ``values`` names alone tell.
    """
    columns = [c for c in every if not (is_time(c) or is_answer(c))]
    chosen = [c for c in columns if named_like("action", [c]) and _are_few(c, values)]
    words = {c: words_of(c) for c in chosen}
    for one, other in permutations(chosen, 2):
        if not _follows(words[one], words[other]):
            continue
        if any(_follows(words[one], words_of(c), THIRD) for c in columns):
            continue  # a list of answers, not two stages
        state = _state([c for c in columns if c not in (one, other)], values)
        named = STAGES & {*words[one]} or {"first", "i"} & {*words[one]}
        if state is None and not named:
            continue
        reasons = [f"{one} and {other} are two choices in a row"]
        if state is not None:
            reasons.append(f"{state} lies between them")
        return TwoStages(one, other, state or _computed(other, values), tuple(reasons))
    return None


def _are_few(column: str, values: Values | None) -> bool:
    return values is None or 2 <= len(values(column)) <= MOST_VALUES


def _computed(second: str, values: Values | None) -> str | None:
    """Where the second choice is one of four, in two pairs: the pair is the state."""
    found = sorted(values(second)) if values is not None else []
    name = in_expression(second)
    return f"{name} > {found[1]}" if found in (["1", "2", "3", "4"], ["0", "1", "2", "3"]) else None


def _follows(one: Sequence[str], other: Sequence[str], after: Mapping[str, str] = SECOND) -> bool:
    """Whether two names differ by the numbers of two stages only."""
    differ = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    return len(one) == len(other) and len(differ) == 1 and after.get(differ[0][0]) == differ[0][1]


def _state(columns: Sequence[str], values: Values | None) -> str | None:
    """The column with the state in which the second choice is made."""
    likely = [c for c in columns if BETWEEN & {*words_of(c)} and _are_few(c, values)]
    likely = [c for c in likely if {"1", "first", "one"}.isdisjoint(words_of(c))]
    likely.sort(key=lambda c: not STATES & {*words_of(c)})
    return likely[0] if likely else None
