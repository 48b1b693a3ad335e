"""What a cell contributes to a partition's score, by each criterion; texts as for ``select``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.cell_fits import (
    DEGREE,
    Passes,
    evaluate,
    fit_units,
    profile_units,
    smooth_curves,
    smooth_nodes,
)
from howlearn.engine.layout import Block, Statuses, Units, lay_out, product, through
from howlearn.fitting.cells import block_of
from howlearn.fitting.fits import marks_of, sizes_of
from howlearn.selection import select
from howlearn.selection.criteria import CRITERIA, criterion_among
from howlearn.selection.criterion import Criterion, Likelihoods, Scores
from howlearn.selection.rate_grid import SPREADS, averaged_curves, log_cells, log_rates, log_rising

# How the rates of a learner's cells are distributed: on the grid of ``evidence.rates``.


NOTHING = 1e-60  # what is less adds nothing, and products of it are slow
STEPS = {0.1: 2, 0.3: 4, 0.7: 6, 1.2: 10}  # of the grid between the learner's own means


@cache
def through_nodes(rule: Rule) -> Floats:
    """Weights [node, rate] of a smooth curve: its values at few nodes make those at the rates."""
    parameter = rule.parameters[0]
    return through(smooth_nodes(parameter), parameter.u(np.exp(log_rates(rule))), DEGREE)


@cache
def spread_kernels(rule: Rule) -> tuple[Floats, Floats]:
    """How a learner's cells have their rates: weights [rate, column], and the columns' log-priors.

    A column is a mean a of the learner's log-rates and a spread s; each cell's log-rate is normal
    around a, on the grid. Means are even on the grid, and the spreads equally probable.
    """
    grid = log_rates(rule)
    kernels, priors = [], []
    for s in SPREADS:
        means = grid[:: STEPS[s]]
        kernel = np.exp(-0.5 * ((grid[:, None] - means) / s) ** 2)
        kernel /= kernel.sum(axis=0)
        kernels.append(np.where(kernel < NOTHING, 0.0, kernel))
        priors.append(np.full(len(means), -np.log(len(means) * len(SPREADS))))
    return np.concatenate(kernels, axis=1), np.concatenate(priors)


# The likelihoods of cells: of all sets of contexts, or of those that a search asks for.


GROUP = 128  # cells that go through the trials together: their states stay in fast memory


@dataclass(frozen=True)
class Needs:
    """What criteria look at: maxima, whole curves, hold-outs at these splits."""

    maxima: bool = False
    curves: bool = False
    splits: tuple[float, ...] = ()

    def __or__(self, other: Needs) -> Needs:
        splits = tuple(dict.fromkeys((*self.splits, *other.splits)))
        return Needs(self.maxima or other.maxima, self.curves or other.curves, splits)


@dataclass(frozen=True)
class Cells:
    """Log-likelihoods of cells; the axes are learner, cell, (rate). What nobody needs is empty."""

    rule: Rule
    sizes: NDArray[np.int64]  # contexts in each cell
    n_trials: NDArray[np.int64]  # [learner]: scored trials
    maxima: Floats  # of all trials at the best parameters
    curves: Floats  # at the nodes of ``through_nodes`` where smooth, or at the rates themselves
    held_out: dict[float, Floats]  # of the trials after each split

    def of(self, learner: int) -> Cells:
        """One learner only."""
        one = slice(learner, learner + 1)
        return Cells(
            self.rule,
            self.sizes,
            self.n_trials[one],
            self.maxima[one],
            self.curves[one],
            {split: part[one] for split, part in self.held_out.items()},
        )

    def averaged(self, kernel: Floats) -> Floats:
        """The log of the mean likelihood of the first learner, by kernel[rate, column]."""
        curves = self.curves[0]
        smooth = curves.shape[1] != len(kernel)
        likely = product(curves, through_nodes(self.rule)) if smooth else curves.copy()
        top = likely.max(axis=1, keepdims=True)
        likely -= top
        np.maximum(likely, np.log(NOTHING), out=likely)
        found = product(np.exp(likely, out=likely), kernel)
        with np.errstate(divide="ignore"):  # rates that are out of the question
            np.log(found, out=found)
        found += top
        return found


def fit_cells(study: Study, rule: Rule, cells: Sequence[tuple[int, ...]], needs: Needs) -> Cells:
    """What is needed of these cells, of every learner of the study."""
    ends = np.diff(study.starts)[:, None]
    block = block_of(study, rule, ends)
    held = {
        split: block_of(study, rule, marks_of(study, sizes_of(study.n_scored, [split])))
        for split in needs.splits
    }
    parts: list[tuple[Floats, Floats]] = []
    rest: dict[float, list[Floats]] = {split: [] for split in needs.splits}
    for first in range(0, len(cells), GROUP):
        group = [[list(cell)] for cell in cells[first : first + GROUP]]
        units = lay_out(group, len(study.contexts))
        parts.append(_profiles(block, units, rule, needs))
        for split, marked in held.items():
            rest[split].append(_held_out(marked, units, rule))
    return Cells(
        rule,
        np.array([len(cell) for cell in cells]),
        study.n_scored,
        np.concatenate([maxima for maxima, _ in parts], axis=1),
        np.concatenate([curves for _, curves in parts], axis=1),
        {split: np.concatenate(found, axis=1) for split, found in rest.items()},
    )


def _profiles(block: Block, units: Units, rule: Rule, needs: Needs) -> tuple[Floats, Floats]:
    """Maxima [learner, cell], and curves [learner, cell, node]."""
    shape = (len(block), len(units[3]))
    maxima, curves = np.empty((len(block), 0)), np.empty((*shape, 0))
    if not needs.maxima and not needs.curves:
        return maxima, curves
    smooth = smooth_curves(block, units, rule)
    if needs.maxima:
        rough = smooth is None
        found = (
            fit_units(block, units, rule) if rough else profile_units(block, units, rule, smooth)
        )
        maxima = found.value[:, -1]
    if needs.curves:
        values = smooth
        if values is None:
            values = averaged_curves(Passes.prepare(block, units, rule), rule, log_rates(rule))
        curves = values.reshape(*shape, -1)
    return maxima, curves


def _held_out(block: Block, units: Units, rule: Rule) -> Floats:
    """Likelihoods [learner, cell] of the trials after the mark, parameters from those before.

    A cell without information there has the parameters' defaults: what other cells of a partition
    know (as in ``select``) would make its score depend on the partition.
    """
    found = fit_units(block, units, rule)
    rest = found.total[:, 0] - found.value[:, 0]
    guessed = found.status[:, 0] >= Statuses.FLAT
    learner, unit = np.nonzero(guessed.any(axis=2))
    if len(learner):
        default = np.array([parameter.default for parameter in rule.parameters])
        theta = np.where(guessed, default, found.theta[:, 0])[learner, unit]
        stop = block.marks[learner, 0]
        value, total = evaluate(block, units, rule, learner, unit, theta, stop)
        rest[learner, unit] = total - value
    return rest


@dataclass(frozen=True, repr=False)
class Kappa(Criterion):
    """ℓ − κ·D: a plain price in nats for every parameter.

    >>> Kappa(), Kappa(2.5)
    (kappa(nats=1), kappa(nats=2.5))
    """

    nats: float = 1.0
    name = "kappa"
    title = "log-likelihood minus a plain price per parameter"

    def __post_init__(self) -> None:
        _check_price(self.nats)

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.full_like(n, self.nats)


@dataclass(frozen=True)
class Terms:
    """A criterion for one learner with J contexts, as sums over cells.

    The score of a partition is log Σ_a exp(prior[a] + Σ_C of_cells(C)[a]) + by_size[cells].
    """

    of_cells: Callable[[Cells], Floats]  # [cell, column] for a single learner
    prior: Floats  # [column]
    by_size: Floats | None = None  # [number of cells, from 0]


class OverPartitions(Criterion):
    """A criterion that only makes sense for all partitions at once."""

    over_partitions = True
    needs: ClassVar[Needs] = Needs(maxima=True)

    def scores(self, fits: Likelihoods) -> Scores:
        raise HowlearnError(f"{self!r} is for all partitions: it goes with howlearn discover only")

    @abstractmethod
    def terms(self, rule: Rule, n_contexts: int) -> Terms:
        """The criterion as sums over cells."""


@dataclass(frozen=True, repr=False)
class Codelength(OverPartitions):
    """ℓ − κ·D − log S(J, cells): how long it takes to say the number of cells, and then which.

    S(J, k), Stirling's number, is how many partitions J contexts have with k cells. There are far
    more partitions of medium size than of few or many cells, and so one of them is the best by
    chance more easily: its log makes up for that. Σ exp(−penalty) stays under 1 however many
    contexts there are, which is what the penalised theorem of Aubert et al. (2025) asks for.

    >>> Codelength()
    codelength(nats=1)
    """

    nats: float = 1.0
    name = "codelength"
    title = "log-likelihood minus a price per parameter and the log-number of such partitions"

    def __post_init__(self) -> None:
        _check_price(self.nats)

    def terms(self, rule: Rule, n_contexts: int) -> Terms:
        return _priced(self.nats, rule, -log_stirling(n_contexts))


@dataclass(frozen=True, repr=False)
class Ewens(OverPartitions):
    """log P(partition) + log-evidence, the likelihood averaged over all rates.

    Before the data, a partition has the probability of Ewens (1972): α^cells · Π (|C| − 1)! over
    α(α + 1)…(α + J − 1), so that two contexts share a cell with probability 1/(1 + α). The log-rate
    of a cell is uniform between those of 1e-4 and the largest rate; with ``cells="independent"``
    each on its own, by default around a mean of the learner's own, with a spread of .1, .3, .7
    or 1.2 between cells.

    >>> Ewens(), Ewens(alpha=2, cells="independent")
    (ewens(alpha=1, cells=learner), ewens(alpha=2, cells=independent))
    """

    alpha: float = 1.0
    cells: str = "learner"
    name = "ewens"
    title = "log-probability of the partition, the likelihood averaged over the rates"
    example = "ewens(alpha=1, cells='learner')"
    needs = Needs(curves=True)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise HowlearnError(f"alpha must be a number above 0, got {self.alpha:g}")
        if self.cells not in ("learner", "independent"):
            raise HowlearnError(f"cells must be 'learner' or 'independent', got {self.cells!r}")

    def terms(self, rule: Rule, n_contexts: int) -> Terms:
        if self.cells == "independent":
            n_rates = len(log_rates(rule))
            kernel, prior = np.full((n_rates, 1), 1.0 / n_rates), np.zeros(1)
        else:
            kernel, prior = spread_kernels(rule)

        def of_cells(cells: Cells) -> Floats:
            return cells.averaged(kernel) + log_cells(cells.sizes, self.alpha)[:, None]

        return Terms(of_cells, prior - log_rising(n_contexts, self.alpha))


def _check_price(nats: float) -> None:
    if not 0 <= nats < np.inf:
        raise HowlearnError(f"a price in nats must be 0 or greater, got {nats:g}")


OWN: tuple[type[Criterion], ...] = (Ewens, Codelength, Kappa)
DEFAULT: tuple[Criterion, ...] = (Ewens(), Codelength())


def known_criteria() -> dict[str, type[Criterion]]:
    """What can judge partitions: its own criteria, and those of ``select`` that sum over cells."""
    shared = [each for each in CRITERIA.values() if each.over_partitions]
    return {each.name: each for each in (*OWN, *sorted(shared, key=lambda each: each.later))}


def _texts() -> str:
    return ", ".join(
        each.example if each in OWN and each.example else repr(each())
        for each in known_criteria().values()
    )


def criterion_named(text: str) -> Criterion:
    """The criterion that a text names.

    >>> criterion_named("kappa(2)"), criterion_named("ewens(cells=independent)")
    (kappa(nats=2), ewens(alpha=1, cells=independent))
    """
    return criterion_among(known_criteria(), _texts(), text, " for partitions")


def check_criteria(criteria: Sequence[Criterion | str] | Criterion | str) -> tuple[Criterion, ...]:
    """The criteria, each of them once, if partitions can be judged by them."""
    found = select.check_criteria(criteria, criterion_named)
    for criterion in found:
        if not criterion.over_partitions:
            raise HowlearnError(
                f"{criterion!r} cannot judge all partitions at once; the criteria are {_texts()}"
            )
        if not all(isinstance(each, float) for each in criterion.truncations):
            raise HowlearnError(f"{criterion!r}: stop_at goes with howlearn select only")
    return found


def needs_of(criteria: Sequence[Criterion]) -> Needs:
    """What must be known of every cell."""
    needs = Needs()
    for criterion in criteria:
        if isinstance(criterion, OverPartitions):
            needs |= criterion.needs
        else:
            needs |= Needs(splits=_splits(criterion)) if criterion.later else Needs(maxima=True)
    return needs


def _splits(criterion: Criterion) -> tuple[float, ...]:
    return tuple(float(each) for each in criterion.truncations if isinstance(each, float))


def terms_of(criterion: Criterion, rule: Rule, n_contexts: int, n_trials: int) -> Terms:
    """A criterion as sums over cells."""
    if isinstance(criterion, OverPartitions):
        return criterion.terms(rule, n_contexts)
    if criterion.later:
        (split,) = _splits(criterion)
        return Terms(lambda cells: cells.held_out[split][0][:, None], np.zeros(1))
    assert criterion.priced
    return _priced(float(criterion.price(np.array([float(n_trials)]))[0]), rule)


def _priced(price: float, rule: Rule, by_size: Floats | None = None) -> Terms:
    """The likelihood of cells minus a price per parameter."""
    price *= len(rule.parameters)
    return Terms(lambda cells: cells.maxima[0][:, None] - price, np.zeros(1), by_size)


def log_stirling(n: int) -> Floats:
    """log S(n, k) for k from 0 to n; how many partitions with k cells there are.

    >>> np.exp(log_stirling(9)[1:]).round().astype(int).tolist()
    [1, 255, 3025, 7770, 6951, 2646, 462, 36, 1]
    """
    found = np.full(n + 1, -np.inf)
    found[0] = 0.0
    k = np.arange(1, n + 1)
    for _ in range(n):
        with np.errstate(divide="ignore"):
            found[1:] = np.logaddexp(found[:-1], np.log(k) + found[1:])
        found[0] = -np.inf
    return found
