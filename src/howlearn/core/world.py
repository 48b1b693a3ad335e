"""What a model is told: about the task and its kind, what is shown, and what then happened."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints


class World(NamedTuple):
    """What is the same at every trial: all that a start state may depend on."""

    n_actions: int
    n_cells: int  # of the model's partition; without one every context is a cell
    n_contexts: int
    features: Floats  # [context, feature]: numbers from 0 to 1, words numbered
    levels: Ints  # [context, feature]: the values of each feature, numbered from 0
    n_levels: Ints  # [feature]
    numeric: Bools  # [feature]: whether its values are numbers
    lowest: float  # of the rewards
    highest: float


class Shown(NamedTuple):
    """What a learner knows before a choice."""

    context: int
    cell: int
    features: Floats  # of the context
    offered: Bools  # [action]: whether it can be chosen
    n_offered: int  # how many can
    load: float  # how many stimuli the block has; of all contexts, where that is not said


class Trial(NamedTuple):
    """What a learner knows after a choice."""

    context: int
    cell: int
    features: Floats
    offered: Bools  # [action]: whether it could be chosen
    n_offered: int  # how many could
    load: float  # how many stimuli the block has
    action: int
    reward: float
    correct: int  # the action that was right, where that is known; else −1
    forgone: Floats  # [action]: what the others would have earned; NaN if unknown
    ends_episode: bool
    duration: float  # NaN if unknown


Function = TypeVar("Function", bound=Callable[..., Any])
_untold: list[Callable[..., Any]] = []


def callable_when_compiled(function: Function) -> Function:
    """Let compiled functions call this one; the compiler takes a while to load, and may wait."""
    _untold.append(function)
    if "numba" in sys.modules:
        tell_compiler()
    return function


def tell_compiler() -> None:
    """What compiled functions may call."""
    from numba.extending import register_jitable

    _linear_algebra_waits()
    while _untold:
        register_jitable(_untold.pop())


@cache
def _linear_algebra_waits() -> None:
    """Spare a quarter of a second: numba asks whether matrices can be multiplied, by importing all
    of scipy's linear algebra. It is there, and is imported once a function multiplies matrices.
    """
    from numba.np import linalg

    ask = linalg.ensure_blas
    try:
        linalg.ensure_blas = lambda: None
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = ask


@callable_when_compiled
def log_softmax(scores):
    """Turn scores into log-probabilities, in place.

    >>> scores = np.array([0.0, 0.0])
    >>> log_softmax(scores)
    >>> np.exp(scores)
    array([0.5, 0.5])
    """
    largest = scores[0]
    for a in range(1, len(scores)):
        largest = max(largest, scores[a])
    total = 0.0
    for a in range(len(scores)):
        total += np.exp(scores[a] - largest)
    log_total = np.log(total)
    for a in range(len(scores)):
        scores[a] = (scores[a] - largest) - log_total  # in this order: the largest may be huge


@callable_when_compiled
def keep_offered(log_p, offered):
    """Renormalise log-probabilities over what is on offer, in place; those of others are −∞.

    Where all that is on offer has probability 0, nothing is known of it: all are equal.

    >>> log_p = np.log([0.5, 0.25, 0.25])
    >>> keep_offered(log_p, np.array([False, True, True]))
    >>> np.exp(log_p)
    array([0. , 0.5, 0.5])
    """
    count, largest = 0, -np.inf
    for a in range(len(log_p)):
        if offered[a]:
            count += 1
            largest = max(largest, log_p[a])
    if count == len(log_p):
        return
    total = 0.0
    for a in range(len(log_p)):
        if offered[a]:
            total += np.exp(log_p[a] - largest) if largest > -np.inf else 1.0
    log_total = np.log(total)
    for a in range(len(log_p)):
        if not offered[a]:
            log_p[a] = -np.inf
        elif largest > -np.inf:
            log_p[a] = (log_p[a] - largest) - log_total
        else:
            log_p[a] = -log_total


# The kind of task that trials come from.


# What it is called not to respond, in letters and digits only
NO_GO = ("nogo", "withhold", "nopress", "noresponse", "notpress", "nothing", "passive")


def no_go_of(actions: Sequence[str]) -> int | None:
    """The place of the action that is not to respond; None: there is none.

    >>> no_go_of(["Go", "No-Go"]), no_go_of(["A", "B"])
    (1, None)
    """
    words = [re.sub(r"[\W_]+", "", label.lower()) for label in actions]
    return next((i for i, word in enumerate(words) if word in NO_GO), None)


@dataclass(frozen=True)
class FoundKind:
    """The kind of task that trials come from, and why."""

    name: str
    reasons: tuple[str, ...] = ()  # the main one first
    stops: str | None = None  # a sentence that says what is missing, where nothing can be analysed
    cells: tuple[tuple[str, ...], ...] = ()  # contexts that belong together in such a task
    traits: tuple[str, ...] = ()  # what else candidates depend on: see Model.default_for

    def __str__(self) -> str:
        return f"{self.name} ({'; '.join(self.reasons)})" if self.reasons else self.name

    def record(self) -> dict[str, Any]:
        """As a manifest has it."""
        stops = {"stops": self.stops} if self.stops else {}
        return {"name": self.name, "reasons": [*self.reasons], **stops}

    @staticmethod
    def recorded(record: Any) -> FoundKind | None:
        """What a manifest has; None if it has nothing of the kind."""
        if not isinstance(record, Mapping) or not isinstance(record.get("name"), str):
            return None
        reasons = record.get("reasons")
        return FoundKind(
            record["name"], tuple(map(str, reasons if isinstance(reasons, list) else ()))
        )
