"""One learner by one criterion: the best partitions, and how probable it is that contexts go
together.

Exactly where there are few contexts. A learner's own mean rate ties the cells together, so that the
best partitions by ``ewens`` are sought cell by cell, and a bound on everything that may follow says
what need not be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from howlearn.analyses.discover_criteria import Cells, Needs, Terms, fit_cells, terms_of
from howlearn.core.arrays import Floats, log_sum
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine import set_partitions
from howlearn.engine.layout import product
from howlearn.engine.set_partitions import TIE, Plain, Ranked, in_first_order, in_order
from howlearn.selection.criterion import Criterion

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


# Many contexts: partitions are searched, not enumerated, and only cells that are met are fitted.
#
# From each of several starts the best of all neighbours is taken until none is better. Neighbours
# have two cells merged, one cell split, or one context moved to another cell or to a new one.


RANDOM = 3  # starts, besides one cell, a cell each, and the partitions that are marked
SPLITS = 3  # pairs of contexts around which each cell is split

Masks = tuple[int, ...]


class Search:
    """One learner's cells, fitted when they are first met."""

    def __init__(
        self,
        study: Study,
        rule: Rule,
        codes: Sequence[int],
        criteria: Sequence[Criterion],
        needs: Needs,
    ) -> None:
        self.study, self.rule, self.codes, self.needs = study, rule, codes, needs
        n = int(study.n_scored[0])
        self.terms = [terms_of(criterion, rule, len(codes), n) for criterion in criteria]
        self.weights: list[dict[int, Floats]] = [{} for _ in criteria]

    def fit(self, masks: Sequence[int]) -> None:
        """Weights of these cells by every criterion."""
        new = [mask for mask in dict.fromkeys(masks) if mask not in self.weights[0]]
        if not new:
            return
        cells = [tuple(c for j, c in enumerate(self.codes) if mask >> j & 1) for mask in new]
        found = fit_cells(self.study, self.rule, cells, self.needs)
        for terms, known in zip(self.terms, self.weights, strict=True):
            known.update(zip(new, terms.of_cells(found), strict=True))

    def judge(self, k: int, count: int, named: Sequence[Masks] = ()) -> Judged:
        """What was found by the criterion with number k."""
        visited: dict[Masks, float] = {}
        for start in self._starts(named):
            self._climb(k, start, visited)
        ranked = in_order([Ranked(*one) for one in visited.items()])
        scores = np.array([one.score for one in ranked])
        total = float(np.logaddexp.reduce(scores))
        together = np.zeros((len(self.codes),) * 2)
        for one in ranked:
            if one.score > ranked[0].score - NEGLIGIBLE:
                for cell in one.cells:
                    inside = [j for j in range(len(self.codes)) if cell >> j & 1]
                    together[np.ix_(inside, inside)] += np.exp(one.score - total)
        known = [visited[in_first_order(cells)] for cells in named]
        return Judged(ranked[:count], np.minimum(together, 1.0), total, known, False, False)

    def _starts(self, named: Sequence[Masks]) -> list[Masks]:
        n = len(self.codes)
        draw = np.random.default_rng(n)
        starts = [((1 << n) - 1,), tuple(1 << j for j in range(n)), *named]
        for _ in range(RANDOM):
            cell_of = draw.integers(draw.integers(2, n), size=n)
            cells = [sum(1 << int(j) for j in np.flatnonzero(cell_of == c)) for c in set(cell_of)]
            starts.append(in_first_order(cells))
        return [in_first_order(start) for start in starts]

    def _climb(self, k: int, start: Masks, visited: dict[Masks, float]) -> None:
        terms, weights = self.terms[k], self.weights[k]
        self.fit(start)
        now = start
        score = visited[now] = self._score(terms, _sum(weights, now), len(now))
        while True:
            moves = self._moves(k, now)
            self.fit([cell for _, added in moves for cell in added])
            base = _sum(weights, now)
            best: tuple[float, Masks] | None = None
            for removed, added in moves:
                after = in_first_order((*(c for c in now if c not in removed), *added))
                if after not in visited:
                    sums = base - _sum(weights, removed) + _sum(weights, added)
                    visited[after] = self._score(terms, sums, len(after))
                if best is None or visited[after] > best[0]:
                    best = visited[after], after
            if best is None or not best[0] > score + TIE:
                return
            score, now = best

    @staticmethod
    def _score(terms: Terms, sums: Floats, n_cells: int) -> float:
        score = float(np.logaddexp.reduce(terms.prior + sums))
        return score if terms.by_size is None else score + float(terms.by_size[n_cells])

    def _moves(self, k: int, now: Masks) -> list[tuple[Masks, Masks]]:
        """What may be done: cells that go, and cells that come in their place."""
        moves: list[tuple[Masks, Masks]] = [((a, b), (a | b,)) for a, b in combinations(now, 2)]
        for cell in now:
            inside = [1 << j for j in range(len(self.codes)) if cell >> j & 1]
            if len(inside) == 1:
                continue
            for one in inside:
                moves.append(((cell,), (cell - one, one)))
                moves += [((cell, b), (cell - one, b | one)) for b in now if b != cell]
            if len(inside) > 3:  # of three contexts every split takes one out
                moves += [((cell,), parts) for parts in self._halves(k, inside)]
        return moves

    def _halves(self, k: int, inside: Sequence[int]) -> list[Masks]:
        """Splits around the pairs that go together least: each other context with the better."""
        self.fit([*inside, *(a | b for a, b in combinations(inside, 2))])
        terms, weights = self.terms[k], self.weights[k]

        def gain(a: int, b: int) -> float:
            apart = self._score(terms, weights[a] + weights[b], 2)
            return self._score(terms, weights[a | b], 1) - apart

        pairs = {pair: gain(*pair) for pair in combinations(inside, 2)}
        found = []
        for a, b in sorted(pairs, key=lambda pair: pairs[pair])[:SPLITS]:
            halves = [a, b]
            for other in inside:
                if other not in (a, b):
                    to_a, to_b = (pairs[min(x, other), max(x, other)] for x in (a, b))
                    halves[int(to_b > to_a)] |= other
            found.append(tuple(halves))
        return found


def _sum(weights: Mapping[int, Floats], cells: Sequence[int]) -> Floats:
    return np.sum([weights[cell] for cell in cells], axis=0)
