"""What a cell contributes to a partition's score, by each criterion; texts as for ``select``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.discovery.cells import Cells, Needs
from howlearn.discovery.rates import spread_kernels
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized, criterion_among
from howlearn.selection.criterion import Criterion, Likelihoods, PerParameter, Scores
from howlearn.selection.rate_grid import log_cells, log_rates, log_rising

TEXTS = (
    "ewens(alpha=1, cells='learner'), codelength(nats=1), kappa(nats=1), penalized(c=0.012), aic, "
    "bic, holdout(split=0.5)"
)


@dataclass(frozen=True, repr=False)
class Kappa(PerParameter):
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


class OverPartitions(Criterion):
    """A criterion that only makes sense for all partitions at once."""

    def scores(self, fits: Likelihoods) -> Scores:
        raise HowlearnError(f"{self!r} is for all partitions: it goes with howlearn discover only")


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

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise HowlearnError(f"alpha must be a number above 0, not {self.alpha:g}")
        if self.cells not in ("learner", "independent"):
            raise HowlearnError(f"cells are 'learner' or 'independent', not {self.cells!r}")


def _check_price(nats: float) -> None:
    if not 0 <= nats < np.inf:
        raise HowlearnError(f"a price is a number of nats from 0 on, not {nats:g}")


CRITERIA: dict[str, type[Criterion]] = {
    "ewens": Ewens,
    "codelength": Codelength,
    "kappa": Kappa,
    "penalized": Penalized,
    "aic": AIC,
    "bic": BIC,
    "holdout": HoldOut,
}
DEFAULT: tuple[Criterion, ...] = (Ewens(), Codelength())


def criterion_named(text: str) -> Criterion:
    """The criterion that a text names.

    >>> criterion_named("kappa(2)"), criterion_named("ewens(cells=independent)")
    (kappa(nats=2), ewens(alpha=1, cells=independent))
    """
    return criterion_among(CRITERIA, TEXTS, text, " for partitions")


def check_criteria(criteria: Sequence[Criterion | str] | Criterion | str) -> tuple[Criterion, ...]:
    """The criteria, each of them once, if partitions can be judged by them."""
    if isinstance(criteria, Criterion | str):
        criteria = [criteria]
    found = [criterion_named(c) if isinstance(c, str) else c for c in criteria]
    if not found:
        raise HowlearnError("there is no criterion")
    for i, criterion in enumerate(found):
        if type(criterion) not in CRITERIA.values():
            raise HowlearnError(
                f"{criterion!r} cannot judge all partitions at once; the criteria are {TEXTS}"
            )
        if isinstance(criterion, Penalized) and criterion.stop_at is not None:
            raise HowlearnError(f"{criterion!r}: stop_at goes with howlearn select only")
        if criterion in found[:i]:
            raise HowlearnError(f"criterion {criterion!r} is named twice")
    return tuple(found)


def needs_of(criteria: Sequence[Criterion]) -> Needs:
    """What must be known of every cell."""
    needs = Needs()
    for criterion in criteria:
        if isinstance(criterion, HoldOut):
            needs |= Needs(splits=(float(criterion.split),))
        else:
            curves = isinstance(criterion, Ewens)
            needs |= Needs(maxima=not curves, curves=curves)
    return needs


@dataclass(frozen=True)
class Terms:
    """A criterion for one learner with J contexts, as sums over cells.

    The score of a partition is log Σ_a exp(prior[a] + Σ_C of_cells(C)[a]) + by_size[cells].
    """

    of_cells: Callable[[Cells], Floats]  # [cell, column] for a single learner
    prior: Floats  # [column]
    by_size: Floats | None = None  # [number of cells, from 0 on]


def terms_of(criterion: Criterion, rule: Rule, n_contexts: int, n_trials: int) -> Terms:
    """A criterion as sums over cells."""
    if isinstance(criterion, Ewens):
        return _ewens(criterion, rule, n_contexts)
    if isinstance(criterion, HoldOut):
        split = float(criterion.split)
        return Terms(lambda cells: cells.held_out[split][0][:, None], np.zeros(1))
    if isinstance(criterion, Codelength):
        price, by_size = criterion.nats, -log_stirling(n_contexts)
    else:
        assert isinstance(criterion, PerParameter)
        price, by_size = float(criterion.price(np.array([float(n_trials)]))[0]), None
    price *= len(rule.parameters)
    return Terms(lambda cells: cells.maxima[0][:, None] - price, np.zeros(1), by_size)


def _ewens(criterion: Ewens, rule: Rule, n_contexts: int) -> Terms:
    alpha = criterion.alpha
    if criterion.cells == "independent":
        n_rates = len(log_rates(rule))
        kernel, prior = np.full((n_rates, 1), 1.0 / n_rates), np.zeros(1)
    else:
        kernel, prior = spread_kernels(rule)

    def of_cells(cells: Cells) -> Floats:
        return cells.averaged(kernel) + log_cells(cells.sizes, alpha)[:, None]

    return Terms(of_cells, prior - log_rising(n_contexts, alpha))


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
