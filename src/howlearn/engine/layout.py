"""How units and learners are handed to the compiled loops; products and splines of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints

# As in the kernels, which cannot import them: bits of a trial's flags, lanes of the passes.
SCORED, LEARNED, RESET = 1, 2, 4
RATES, LANES, POINTS = 64, 8, 32

# A unit as codes: for each of its cells the codes of its contexts.
CodedUnit = Sequence[Sequence[int]]
# Starts, contexts and their slots, cells per unit, number of contexts.
Units = tuple[Ints, Ints, Ints, Ints, int]


def lay_out(units: Sequence[CodedUnit], n_contexts: int) -> Units:
    """Units as flat arrays.

    >>> starts, contexts, slots, rows, _ = lay_out([[[0, 1]], [[0], [1]]], 2)
    >>> starts.tolist(), contexts.tolist(), slots.tolist(), rows.tolist()
    ([0, 2, 4], [0, 1, 0, 1], [0, 0, 0, 1], [1, 2])
    """
    entries = [
        [(context, slot) for slot, cell in enumerate(unit) for context in cell] for unit in units
    ]
    starts = np.cumsum([0, *(len(unit) for unit in entries)], dtype=np.int64)
    flat = np.array([entry for unit in entries for entry in unit], np.int64).reshape(-1, 2)
    rows = np.array([len(unit) for unit in units], np.int64)
    contexts, slots = np.ascontiguousarray(flat[:, 0]), np.ascontiguousarray(flat[:, 1])
    return starts, contexts, slots, rows, n_contexts


@dataclass(frozen=True)
class Block:
    """Some learners' trials with the marks (trial positions) up to which likelihoods are wanted."""

    offsets: Ints  # learner i has the trials offsets[i]:offsets[i + 1]
    context: NDArray[np.int32]
    action: NDArray[np.int16]
    feedback: Floats  # what the rule sees: the reward, or minus the loss
    flags: NDArray[np.uint8]
    marks: Ints  # [learner, mark]
    n_actions: int
    offered: Bools  # [trial, action]: what was on offer; [0, action]: always everything

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def trials(self) -> tuple[NDArray[Any], ...]:
        """As all passes take them."""
        return (
            self.offsets, self.context, self.action, self.feedback, self.flags, self.offered
        )  # fmt: skip


class Statuses:
    """How a parameter's fit ended, as codes."""

    OK, AT_LOWER, AT_UPPER, CAPPED, UNSTABLE, FLAT, UNSEEN, ALONE, BROKEN = range(9)
    PLUGGED, BORROWED = 9, 10  # of strategies in a mixture
    SEARCHING = 11


@dataclass(frozen=True)
class UnitFits:
    """Every unit of every learner at every mark; the axes are learner, mark, unit, (parameter)."""

    theta: Floats
    status: NDArray[np.int8]
    value: Floats  # log-likelihood of the trials before the mark
    total: Floats  # of all trials, at the same parameters
    shown: Bools  # [learner, unit]: whether the learner met its contexts at all
    ends: Floats | None = None  # [learner, unit, parameter, 2]: of intervals, at one of the marks


# Products of matrices on one core, for threads that each have one.

ALONE = 2**18  # multiplications that OpenBLAS does on one core
WIDTH = 48  # columns at once: the fewer, the more rows go with them


def product(a: Floats, b: Floats) -> Floats:
    """a @ b in pieces that the library does not spread over cores, which are busy with others.

    >>> product(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    if b.shape[1] == 1:  # which the library spreads far earlier
        return np.einsum("ij,jk->ik", a, b)
    out = np.empty((len(a), b.shape[1]))
    for left in range(0, b.shape[1], WIDTH):
        part = np.ascontiguousarray(b[:, left : left + WIDTH])
        rows = max(1, ALONE // part.size)
        for first in range(0, len(a), rows):
            out[first : first + rows, left : left + WIDTH] = a[first : first + rows] @ part
    return out


def through(nodes: Floats, at: Floats, degree: int = 3) -> Floats:
    """Weights [node, at] of a spline: values[curve, node] @ weights are its values[curve, at].

    >>> x = np.arange(8.0)
    >>> bool(np.allclose(x**3 @ through(x, np.array([2.5])), 2.5**3))
    True
    """
    side = (degree + 1) // 2  # not a knot: so many nodes at each end
    ends = np.repeat(nodes[[0, -1]], degree + 1)
    knots = np.concatenate([ends[: degree + 1], nodes[side:-side], ends[degree + 1 :]])
    here, there = _splines(knots, nodes, degree), _splines(knots, at, degree)
    return np.asarray(np.linalg.solve(here.T, there.T), np.float64)


def _splines(knots: Floats, x: Floats, degree: int) -> Floats:
    """The B-splines [x, spline] of a degree, by the recursion of Cox and de Boor."""
    n = len(knots) - degree - 1
    left = np.clip(np.searchsorted(knots, x, "right") - 1, degree, n - 1)
    values = np.ones((len(x), 1))
    for d in range(1, degree + 1):
        above, below = (knots[left[:, None] + np.arange(d) + shift] for shift in (1, 1 - d))
        parts = values / (above - below)
        values = np.zeros((len(x), d + 1))
        values[:, :-1] += (above - x[:, None]) * parts
        values[:, 1:] += (x[:, None] - below) * parts
    out = np.zeros((len(x), n))
    np.put_along_axis(out, left[:, None] + np.arange(-degree, 1), values, axis=1)
    return out
