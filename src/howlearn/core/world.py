"""What a model is told: about the task and its kind, what is shown and on offer, what happened."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError


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
    if len(scores) == 2:  # the same numbers; one exponential is that of 0
        total = 1.0 + np.exp(-abs(scores[0] - scores[1]))
    else:
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
    cells: tuple[tuple[str, ...], ...] = ()  # contexts that belong together in this kind of task
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


# What was on offer: a few sets of actions, of which every trial has one.


BETWEEN = "|"  # the actions of a set, as files have them
Offer = NDArray[np.int32]  # [trial]: which of the sets


def offer_label(offered: Bools, actions: Sequence[str]) -> str:
    """The actions of a set as they are written in files.

    >>> offer_label(np.array([True, False, True]), ["a", "b", "c"])
    'a|c'
    """
    return BETWEEN.join(a for a, there in zip(actions, offered, strict=True) if there)


def distinct_offers(offered: Bools) -> tuple[Bools | None, Offer | None]:
    """The distinct sets, and that of each trial; nothing where all actions are always on offer.

    >>> distinct_offers(np.array([[True, False], [True, True], [True, False]]))[1]
    array([0, 1, 0], dtype=int32)
    """
    if offered.all():
        return None, None
    sets, offer = np.unique(offered, axis=0, return_inverse=True)
    return sets, offer.reshape(-1).astype(np.int32)


def checked_offers(
    offered: Bools | Sequence[Sequence[object]],
    action: NDArray[np.integer],
    actions: Sequence[str],
) -> Bools:
    """What was on offer as [trial, action]: what was chosen is there, and some are real choices."""
    there = _as_flags(offered, actions)
    if there.shape != (len(action), len(actions)):
        raise HowlearnError(
            f"what was on offer has the shape {there.shape}; needed: one row for each of "
            f"{len(action):,} trials, and one column for each of {len(actions)} actions"
        )
    for t in np.flatnonzero(~there[np.arange(len(action)), action])[:1].tolist():
        told, chosen = offer_label(there[t], actions) or "nothing", actions[int(action[t])]
        raise HowlearnError(f"trial {t + 1}: {chosen} was chosen, and {told} was on offer")
    if len(there) and np.all(there.sum(axis=1) == 1):
        raise HowlearnError("only one action is on offer in every trial, so there is no choice")
    return there


def _as_flags(offered: Bools | Sequence[Sequence[object]], actions: Sequence[str]) -> Bools:
    if isinstance(offered, np.ndarray) and offered.dtype == np.bool_:
        return offered
    code = {name: i for i, name in enumerate(actions)}
    flags = np.zeros((len(offered), len(actions)), np.bool_)
    for t, labels in enumerate(offered):
        for label in map(str, labels):
            if label not in code:
                raise HowlearnError(
                    f"trial {t + 1}: {label} was on offer; the actions are {', '.join(actions)}"
                )
            flags[t, code[label]] = True
    return flags


def joined_offers(
    parts: Sequence[tuple[Bools | None, Offer | None, int]], n_actions: int
) -> tuple[Bools | None, Offer | None]:
    """The sets and the trials' sets of several studies, each with its number of trials.

    >>> some = np.array([[True, False]]), np.array([0], np.int32), 1
    >>> joined_offers([(None, None, 2), some], 2)[1]
    array([1, 1, 0], dtype=int32)
    """
    if all(sets is None for sets, _, _ in parts):
        return None, None
    everything = np.ones((1, n_actions), np.bool_)
    tables = [everything if sets is None else sets for sets, _, _ in parts]
    sets, number = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    number, done = number.reshape(-1), 0
    found = []
    for table, (_, offer, n) in zip(tables, parts, strict=True):
        mine = np.zeros(n, np.int32) if offer is None else offer
        found.append(number[done + mine])
        done += len(table)
    return sets, np.concatenate(found).astype(np.int32)


def renormalised(log_p: Floats, offered: Bools) -> Floats:
    """Log-probabilities [trial, action] over what was on offer; [0, action]: always everything.

    >>> np.exp(renormalised(np.log([[0.5, 0.25, 0.25]]), np.array([[True, True, False]]))).round(2)
    array([[0.67, 0.33, 0.  ]])
    """
    if not len(offered):
        return log_p
    kept = np.where(offered, log_p, -np.inf)
    top = kept.max(axis=1, keepdims=True)
    kept = np.where(offered & ~np.isfinite(top), 0.0, kept)  # all are equal if all are impossible
    kept = kept - np.where(np.isfinite(top), top, 0.0)
    found: Floats = kept - np.log(np.exp(kept).sum(axis=1, keepdims=True))
    return found


def drawn(p: Floats, draws: Floats, offered: Bools) -> NDArray[np.int64]:
    """The actions that draws from 0 to 1 mean, by probabilities [trial, action].

    Rounding may let probabilities end below 1: the last action on offer takes the rest.
    """
    action = (draws[:, None] >= np.cumsum(p[:, :-1], axis=1)).sum(axis=1)
    if len(offered):
        last = offered.shape[1] - 1 - np.argmax(offered[:, ::-1], axis=1)
        action = np.minimum(action, last)
    return action
