"""One learner by one criterion: the best partitions, and how probable it is that contexts go
together.

Exactly where there are few contexts. A learner's own mean rate ties the cells together, so that the
best partition by ``ewens`` is sought in the lists of the best ones given that mean, and a bound on
everything outside the lists says when they were long enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.discovery.cells import Cells
from howlearn.discovery.criteria import Terms
from howlearn.engine import set_partitions
from howlearn.engine.layout import Floats
from howlearn.engine.set_partitions import Ranked, in_first_order, in_order

NEGLIGIBLE = 16.0  # nats under the largest: all that is left out is less than 1e-4
LEFT = 6.0  # nats; at first the columns without a list have less than 1/400 of the mass
LONGEST = 640  # partitions in a list; beyond this the answer is not called exact


@dataclass(frozen=True)
class Judged:
    """What one criterion says about one learner; contexts are counted among those met."""

    ranked: list[Ranked]  # best first
    together: Floats  # [context, context]
    total: float  # log Σ exp(score) over all partitions
    named: list[float]  # scores of the partitions that were asked for
    exact: bool  # nothing better than these partitions was missed
    complete: bool = True  # the sums are over all partitions


def judge(terms: Terms, cells: Cells, count: int, named: Sequence[tuple[int, ...]] = ()) -> Judged:
    """All partitions of a learner's contexts; ``cells`` are those of all sets, in order."""
    weight = np.concatenate([np.zeros((1, len(terms.prior))), terms.of_cells(cells)])
    if len(terms.prior) > 1:
        return _judge_mixture(weight, terms.prior, count, named)
    column = np.ascontiguousarray(weight[:, 0]), terms.by_size
    prior = float(terms.prior[0])
    if terms.by_size is None:
        probability, totals = set_partitions.cell_probabilities(weight)
        probability, total = probability[:, 0], float(totals[0])
    else:
        probability, total = set_partitions.cell_probabilities_by_size(column[0], terms.by_size)
    ranked = [
        one._replace(score=one.score + prior)
        for one in set_partitions.best(column[0], count, column[1])
    ]
    scores = [score_of(weight, terms, parts) for parts in named]
    return Judged(ranked, set_partitions.together(probability), total + prior, scores, True)


def score_of(weight: Floats, terms: Terms, cells: Sequence[int]) -> float:
    """The score of one partition, from the weights [cell, column]."""
    score = float(np.logaddexp.reduce(terms.prior + weight[list(cells)].sum(axis=0)))
    return score if terms.by_size is None else score + float(terms.by_size[len(cells)])


def _judge_mixture(
    weight: Floats, prior: Floats, count: int, named: Sequence[tuple[int, ...]]
) -> Judged:
    mass = prior + set_partitions.log_total(weight)
    total = float(np.logaddexp.reduce(mass))
    counted = np.flatnonzero(mass > mass.max() - NEGLIGIBLE)
    probability, _ = set_partitions.cell_probabilities(np.ascontiguousarray(weight[:, counted]))
    average = probability @ np.exp(mass[counted] - np.logaddexp.reduce(mass[counted]))
    terms = Terms(lambda cells: weight[1:], prior)
    ranked, exact = _best_of_mixture(weight, terms, mass, count)
    scores = [score_of(weight, terms, parts) for parts in named]
    return Judged(ranked, set_partitions.together(average), total, scores, exact)


def _best_of_mixture(
    weight: Floats, terms: Terms, mass: Floats, count: int
) -> tuple[list[Ranked], bool]:
    """The partitions with the largest sums over the columns, and whether that is sure.

    A partition in none of the lists weighs at most what comes last in each of them, and in a column
    without a list at most all of its mass.
    """
    by_mass = np.argsort(-mass)
    left = np.logaddexp.accumulate(mass[by_mass][::-1])[::-1]  # from a column on
    length, n_columns = 2 * count, int(np.searchsorted(-left, LEFT - left[0]))
    while True:
        columns = by_mass[:n_columns]
        score, cells = set_partitions.best_of_columns(weight[:, columns], length)
        lists = np.unique(cells[np.isfinite(score)], axis=0)  # row 0 of the weights is 0
        scores = np.logaddexp.reduce(terms.prior + weight[lists].sum(axis=1), axis=1)
        best = np.argsort(-scores)[:count]
        rest = left[n_columns] if n_columns < len(mass) else -np.inf
        highest = np.logaddexp(rest, np.logaddexp.reduce(terms.prior[columns] + score[:, -1]))
        sure = highest == -np.inf or (len(best) == count and scores[best[-1]] >= highest)
        if sure or length >= LONGEST:
            found = zip(lists[best].tolist(), scores[best].tolist(), strict=True)
            return in_order([Ranked(in_first_order(row), s) for row, s in found]), bool(sure)
        # What limits the bound is made smaller: the columns without lists, or the lists' ends.
        if rest > highest - np.log(2):
            n_columns = min(2 * n_columns, len(mass))
        else:
            length = min(2 * length, LONGEST)
