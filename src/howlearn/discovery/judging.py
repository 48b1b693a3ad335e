"""One learner by one criterion: the best partitions, and how probable it is that contexts go
together.

Exactly where there are few contexts. A learner's own mean rate ties the cells together, so that the
best partitions by ``ewens`` are sought cell by cell, and a bound on everything that may follow says
what need not be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.discovery.cells import Cells
from howlearn.discovery.criteria import Terms
from howlearn.engine import set_partitions
from howlearn.engine.layout import product
from howlearn.engine.set_partitions import TIE, Plain, Ranked, in_first_order, in_order
from howlearn.selection.hierarchy import log_sum

NEGLIGIBLE = 16.0  # nats under the largest: all that is left out is less than 1e-4
LIMIT = 20_000_000  # choices of a cell; beyond this the answer is not called exact


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
    plain = Plain.of(weight)
    totals = set_partitions.log_total(weight) if plain is None else plain.log_total
    total = float(np.logaddexp.reduce(prior + totals))
    share = np.exp(prior + totals - total)
    if plain is None:
        cells, _ = set_partitions.cell_probabilities(weight)
        average = product(cells, share[:, None])[:, 0]
    else:
        average = plain.mean_shares(share)
    terms = Terms(lambda cells: weight[1:], prior)
    ranked, exact = _best_of_mixture(weight, plain, prior - total, share, count)
    ranked = in_order([one._replace(score=one.score + total) for one in ranked])[:count]
    scores = [score_of(weight, terms, parts) for parts in named]
    return Judged(ranked, set_partitions.together(average), total, scores, exact)


def _best_of_mixture(
    weight: Floats, plain: Plain | None, prior: Floats, share: Floats, count: int
) -> tuple[list[Ranked], bool]:
    """The partitions with the largest sums over the columns, and whether that is sure.

    Those that are best by the mean of the columns are a guess; better ones are sought from there.
    """
    mean = product(weight, share[:, None])
    score, cells = set_partitions.best_of_columns(mean, 2 * count)
    cells = cells[0][np.isfinite(score[0])]
    scores = _scores(weight, prior, cells)
    sure = len(cells) < 2 * count  # these are all that there are
    if not sure and plain is not None:
        least = float(np.exp(np.sort(scores)[-count] - 10 * TIE))  # under all that is guessed
        by_share = np.argsort(share)
        spare = np.searchsorted(np.cumsum(share[by_share]), TIE / 10 * least)
        counted = np.sort(by_share[spare:])  # all other columns together do not matter
        factor = np.exp(prior + plain.log_alone)[counted]
        chosen = plain.weight[:, counted]
        found, sure = set_partitions.best_of_sum(chosen, factor, count, least, LIMIT)
        cells = found if sure else np.unique(np.concatenate([cells, found]), axis=0)
        scores = _scores(weight, prior, cells)
    each = zip(cells.tolist(), scores.tolist(), strict=True)
    return [Ranked(in_first_order(row), score) for row, score in each], sure


def _scores(weight: Floats, prior: Floats, cells: NDArray[np.int32]) -> Floats:
    """Of partitions as cells[i, :], filled by 0: row 0 of the weights is 0."""
    return log_sum(prior + weight[cells].sum(axis=1))
