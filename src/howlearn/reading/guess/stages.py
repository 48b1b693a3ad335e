"""Two choices in a row: which columns are the stages of a two-step task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from howlearn.reading.columns import is_answer, is_time, named_like, parts_of
from howlearn.reading.guess.draft import Draft

SECOND = {"1": "2", "first": "second", "one": "two", "i": "ii"}
THIRD = {"1": "3", "first": "third", "one": "three", "i": "iii"}
STAGES = {"stage", "level", "step", "stg"}
BETWEEN = {"state", "transition", "common", "rare", "transitions", "trans", "planet", "st"}
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
        return f"{self.first}; {self.second}@{self.state or 'STATE'}"


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


def two_stages(draft: Draft) -> TwoStages | None:
    """The stages of a two-step task; None if the columns are not such."""
    columns = [c for c in draft.sample.columns if not (is_time(c) or is_answer(c))]
    chosen = [c for c in columns if _is_choice(draft, c)]
    words = {c: words_of(c) for c in chosen}
    for first, second in combinations(chosen, 2):
        one, other = (first, second) if _follows(words[first], words[second]) else (second, first)
        if not _follows(words[one], words[other]):
            continue
        if any(_follows(words[one], words_of(c), THIRD) for c in columns):
            continue  # a list of answers, not two stages
        reasons = [f"{one} and {other} are two choices in a row"]
        state = _state(draft, columns, one, other)
        named = STAGES & {*words[one]} or {"first", "i"} & {*words[one]}
        if state is None and not named:
            continue
        if state is not None:
            reasons.append(f"{state} lies between them")
        return TwoStages(one, other, state, tuple(reasons))
    return None


def _is_choice(draft: Draft, column: str) -> bool:
    if not named_like("action", [column]):
        return False
    return 2 <= len(draft.sample.counts(column)) <= MOST_VALUES


def _follows(one: Sequence[str], other: Sequence[str], after: Mapping[str, str] = SECOND) -> bool:
    """Whether two names differ by the numbers of two stages only."""
    differ = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    return len(one) == len(other) and len(differ) == 1 and after.get(differ[0][0]) == differ[0][1]


def _state(draft: Draft, columns: Sequence[str], first: str, second: str) -> str | None:
    """The column with the state in which the second choice is made."""
    sample = draft.sample
    likely = [c for c in columns if c not in (first, second) and BETWEEN & {*words_of(c)}]
    likely = [c for c in likely if 2 <= len(sample.counts(c)) <= MOST_VALUES]
    second_ones = [c for c in likely if {"1", "first", "one"}.isdisjoint(words_of(c))]
    ranked = sorted(second_ones, key=lambda c: not {"state", "planet", "st"} & {*words_of(c)})
    return ranked[0] if ranked else None
