"""What was on offer: a few sets of actions, of which every trial has one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats
from howlearn.core.errors import HowlearnError

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
