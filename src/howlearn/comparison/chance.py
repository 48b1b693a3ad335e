"""Learners drawn anew, and labels dealt anew: the two kinds of chance that intervals and p take."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from howlearn.comparison.groups import Groups
from howlearn.core.arrays import Floats
from howlearn.selection.shares import HELD, drawn_times


def resampled(groups: Groups, times: int, random: np.random.Generator) -> Iterator[Floats]:
    """How often each sequence is drawn, when learners are drawn within their groups.

    Where learners occur in every group they are drawn with all their sequences. Yields some
    resamples at a time, [resample, sequence].
    """
    size = max(1, HELD // len(groups.code))
    for start in range(0, times, size):
        many = min(size, times - start)
        if groups.design == "within":
            yield drawn_times(groups.owner, many, random)
            continue
        found = np.empty((many, len(groups.code)))
        for g in range(len(groups.names)):
            mine = groups.code == g
            _, owner = np.unique(groups.owner[mine], return_inverse=True)
            found[:, mine] = drawn_times(owner, many, random)
        yield found


def dealt(groups: Groups, times: int, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Groups dealt anew: between learners, or within each learner. [deal, sequence]"""
    size = max(1, HELD // len(groups.code))
    for start in range(0, times, size):
        many = min(size, times - start)
        if groups.design == "group":
            yield _between(groups, many, random)
        else:
            yield _within(groups, many, random)


def _between(groups: Groups, many: int, random: np.random.Generator) -> NDArray[np.int64]:
    own = np.zeros(groups.n_learners, np.int64)
    own[groups.owner] = groups.code
    order = np.argsort(random.random((many, len(own))), axis=1)
    return own[order][:, groups.owner]


def _within(groups: Groups, many: int, random: np.random.Generator) -> NDArray[np.int64]:
    base = np.argsort(groups.owner, kind="stable")
    order = np.argsort(groups.owner + random.random((many, len(base))), axis=1)
    found = np.empty_like(order)
    found[:, base] = groups.code[order]
    return found


def p_value(observed: float, others: Floats, slack: float) -> tuple[float, float]:
    """The share of deals at least as extreme, the observed one among them, and its error."""
    n = len(others)
    reached = int((others >= observed - slack).sum())
    p = (1 + reached) / (1 + n)
    return p, float(np.sqrt(p * (1 - p) / (1 + n)))
