"""All partitions of a few contexts at once: their sum, the best of them, who shares a cell.

A set of contexts is a number: bit j says whether it holds context j. ``log_weight[C]`` is what a
cell C contributes to a partition's log-weight, the sum over its cells; row 0, the empty set, is not
used. Everything is exact and takes 3^J/2 steps, where there are Bell(J) partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats
from howlearn.engine import compile as compiled
from howlearn.engine.layout import product

LARGEST = 14  # contexts; beyond it a step for every pair of sets takes minutes
COLUMNS = 32  # summed side by side, or more while ...
MEMORY = 2**17  # ... so many weights stay in the processor's own memory
SMALLEST = -300.0  # of logs whose exponentials are used: far smaller floats are slow
TIE = 1e-9  # nats; of partitions this close the one with fewer cells comes first


class Ranked(NamedTuple):
    """A partition as its cells, in order of their first contexts, and its log-weight."""

    cells: tuple[int, ...]
    score: float


def log_total(log_weight: Floats) -> Floats:
    """log Σ over all partitions of exp(Σ over cells of log_weight[C, a]), for every column a.

    Z(S) = Σ w(C) Z(S \\ C) over the cells C that hold the last context of S.

    >>> log_total(np.zeros((2**9, 1))).round(9) == np.log(21147).round(9)
    array([ True])
    """
    plain = Plain.of(log_weight, every=False)
    return _by_columns(log_weight, every=False)[-1] if plain is None else plain.log_total


def log_totals(log_weight: Floats) -> Floats:
    """The same [S, a] for the partitions of every set S of contexts."""
    return _by_columns(log_weight, every=True)


def cell_probabilities(log_weight: Floats) -> tuple[Floats, Floats]:
    """How probable it is that C is a cell, [C, a], and the log-total [a].

    What is left of the partitions that have C as a cell are the partitions of all other contexts.
    """
    plain = Plain.of(log_weight)
    if plain is not None:
        return plain.shares, plain.log_total
    log_z = log_totals(log_weight)
    others = log_z[::-1]  # row C: the complement of C
    return _share(log_weight + others - log_z[-1]), log_z[-1]


@dataclass(frozen=True)
class Plain:
    """Weights and sums [set, column] as plain floats: over those of each context in a cell alone.

    Many times as quick as sums that may be of any size.
    """

    weight: Floats
    z: Floats
    log_alone: Floats  # [column]: of all contexts, each alone

    @classmethod
    def of(cls, log_weight: Floats, every: bool = True) -> Plain | None:
        """None where something is too large for a float. Without ``every`` some sums are empty.

        Partitions have the weight 1 with each context alone, so that what is too small for a float
        is nothing beside it.
        """
        n_sets, n = log_weight.shape
        alone = np.zeros((n_sets, n))
        for j in range(n_sets.bit_length() - 1):
            np.add(alone[: 1 << j], log_weight[1 << j], out=alone[1 << j : 2 << j])
        log_alone = alone[-1].copy()
        if not np.isfinite(log_alone).all():
            return None
        weight = np.subtract(log_weight, alone, out=alone)
        np.maximum(weight, SMALLEST, out=weight)
        z = np.empty_like(weight)
        with np.errstate(over="ignore"):
            np.exp(weight, out=weight)
        sums = compiled.set_partitions().plain_totals
        width = max(COLUMNS, MEMORY // n_sets)
        if n <= width:
            sums(weight, every, z)
        else:
            for first in range(0, n, width):
                some = np.ascontiguousarray(weight[:, first : first + width])
                part = np.empty_like(some)
                sums(some, every, part)
                z[:, first : first + width] = part
        return cls(weight, z, log_alone) if np.isfinite(z[-1]).all() else None

    @property
    def log_total(self) -> Floats:
        """[column]."""
        return np.log(self.z[-1]) + self.log_alone

    @property
    def shares(self) -> Floats:
        """How probable it is that C is a cell, [C, column]."""
        return self.weight * (self.z[::-1] / self.z[-1])

    def mean_shares(self, of_columns: Floats) -> Floats:
        """The same on average [C], columns having these probabilities."""
        return product(self.weight * self.z[::-1], (of_columns / self.z[-1])[:, None])[:, 0]


def best_of_sum(
    weight: Floats, factor: Floats, count: int, least: float, limit: int
) -> tuple[NDArray[np.int32], bool]:
    """The partitions with the largest Σ_a factor[a]·Π weight[C, a], where that is over ``least``.

    Their cells [i, J], best first, and whether ``limit`` choices of a cell were enough.
    """
    n_contexts = len(weight).bit_length() - 1
    score, cells = np.empty(count), np.empty((count, n_contexts), np.int32)
    search = compiled.set_partitions().best_of_sum
    sure = search(np.ascontiguousarray(weight), factor, least, limit, score, cells)
    return cells[score > least], bool(sure)


def cell_probabilities_by_size(log_weight: Floats, by_size: Floats) -> tuple[Floats, float]:
    """The same for one column, where by_size[k] is added to the log-weight of k cells."""
    n_contexts = len(by_size) - 1
    log_z = np.empty((len(log_weight), n_contexts + 1))
    compiled.set_partitions().totals_by_size(np.ascontiguousarray(log_weight), log_z)
    total = float(np.logaddexp.reduce(log_z[-1, 1:] + by_size[1:]))
    others = np.logaddexp.reduce(log_z[::-1, :-1] + by_size[1:], axis=1)
    return _share(log_weight + others - total), total


def _share(log_share: Floats) -> Floats:
    """As numbers that are not so small as to be slow; the empty set is no cell."""
    # Rounding may make it more than all, where likelihoods are as small as numbers can be.
    share = np.exp(np.clip(log_share, SMALLEST, 0.0))
    share[0] = 0.0
    return share


def together(cell_probability: Floats) -> Floats:
    """How probable it is that contexts i and j share a cell: [i, j], with 1 on the diagonal."""
    n_contexts = len(cell_probability).bit_length() - 1
    holds = members(n_contexts).astype(np.float64)
    return np.clip(holds.T @ (holds * cell_probability[:, None]), 0.0, 1.0)


@lru_cache(maxsize=64)
def all_sets(codes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Every set of these contexts but the empty one; set C stands at place C − 1.

    >>> all_sets((4, 7))
    ((4,), (7,), (4, 7))
    """
    return tuple(
        tuple(code for j, code in enumerate(codes) if mask >> j & 1)
        for mask in range(1, 2 ** len(codes))
    )


def members(n_contexts: int) -> Bools:
    """Which contexts each set holds: [set, context]."""
    return (np.arange(2**n_contexts)[:, None] >> np.arange(n_contexts) & 1).astype(bool)


def best(log_weight: Floats, count: int = 1, by_size: Floats | None = None) -> list[Ranked]:
    """The partitions with the largest log-weights, best first; by_size[k] is added for k cells.

    >>> weight = np.array([0.0, -1.0, -1.0, -1.5])  # of {}, {0}, {1}, {0, 1}
    >>> best(weight, 9)
    [Ranked(cells=(3,), score=-1.5), Ranked(cells=(1, 2), score=-2.0)]
    """
    n_contexts = len(log_weight).bit_length() - 1
    if by_size is None:
        score, cells = best_of_columns(log_weight[:, None], count)
    else:
        score = np.empty((n_contexts + 1, count))
        cells = np.empty((*score.shape, n_contexts), np.int32)
        weight = np.ascontiguousarray(log_weight)
        compiled.set_partitions().best_by_size(weight, count, score, cells)
        score[1:] += by_size[1:, None]
    found = np.isfinite(score)
    return in_order(
        [
            Ranked(in_first_order(row), value)
            for row, value in zip(cells[found].tolist(), score[found].tolist(), strict=True)
        ]
    )[:count]


def best_of_columns(log_weight: Floats, count: int) -> tuple[Floats, NDArray[np.int32]]:
    """The best partitions by each column: scores [column, i], best first, −inf where there are no
    more, and cells [column, i, J], filled by 0."""
    n_contexts = len(log_weight).bit_length() - 1
    score = np.empty((log_weight.shape[1], count))
    cells = np.empty((*score.shape, n_contexts), np.int32)
    weight = np.ascontiguousarray(log_weight)
    compiled.set_partitions().best_of_columns(weight, count, score, cells)
    return score, cells


def in_first_order(cells: Iterable[int]) -> tuple[int, ...]:
    """Cells in the order of their first contexts, without empty ones."""
    return tuple(sorted((c for c in cells if c), key=lambda c: c & -c))


def in_order(found: list[Ranked]) -> list[Ranked]:
    """Best first; of those within a tie of the first of them the one with fewer cells is first."""
    left = sorted(found, key=lambda one: -one.score)
    ordered: list[Ranked] = []
    while left:
        tied = [one for one in left if one.score >= left[0].score - TIE]
        ordered += sorted(tied, key=lambda one: (len(one.cells), one.cells))
        left = left[len(tied) :]
    return ordered


def _by_columns(log_weight: Floats, every: bool) -> Floats:
    sums = compiled.set_partitions().totals
    log_z = np.empty(log_weight.shape)
    for first in range(0, log_weight.shape[1], COLUMNS):
        mine = slice(first, first + COLUMNS)
        part = np.empty((len(log_weight), log_weight[:, mine].shape[1]))
        sums(np.ascontiguousarray(log_weight[:, mine]), every, part)
        log_z[:, mine] = part
    return log_z
