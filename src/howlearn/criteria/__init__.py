"""The criteria, one per file; their text is the same in options, tables and Python."""

from __future__ import annotations

from howlearn.criteria.aic import AIC
from howlearn.criteria.bic import BIC
from howlearn.criteria.criterion import Criterion, Scores
from howlearn.criteria.evidence import Evidence
from howlearn.criteria.holdout import HoldOut
from howlearn.criteria.likelihood import Likelihood
from howlearn.criteria.named import criterion_among
from howlearn.criteria.penalized import Penalized
from howlearn.criteria.population import FEWEST, Population
from howlearn.criteria.prequential import Prequential

__all__ = [
    "AIC",
    "BIC",
    "DEFAULT",
    "Criterion",
    "Evidence",
    "HoldOut",
    "Likelihood",
    "Penalized",
    "Population",
    "Prequential",
    "Scores",
    "criterion_named",
    "usual",
]

CRITERIA: dict[str, type[Criterion]] = {
    "population": Population,
    "evidence": Evidence,
    "penalized": Penalized,
    "holdout": HoldOut,
    "prequential": Prequential,
    "aic": AIC,
    "bic": BIC,
    "likelihood": Likelihood,
}
TEXTS = (
    "population(per_model=true), evidence, penalized(c=0.012, stop_at=150), holdout(split=0.5), "
    "prequential(blocks=5, start=0.5), aic, bic, likelihood(trials=20)"
)
DEFAULT: tuple[Criterion, ...] = (Penalized(), HoldOut(), AIC())  # from likelihoods alone


def usual(n_learners: int) -> tuple[Criterion, ...]:
    """The criteria of ``select`` unless others are named: the first one, then the paper's two.

    >>> usual(9), usual(10)[0]
    ((evidence, penalized(c=0.012), holdout(split=0.5)), population)
    """
    first = Population() if n_learners >= FEWEST else Evidence()
    return first, Penalized(), HoldOut()


def criterion_named(text: str) -> Criterion:
    """The criterion that a text names.

    >>> criterion_named("penalized(c=0.05)")
    penalized(c=0.05)
    >>> criterion_named("AIC"), criterion_named("holdout(0.3)")
    (aic, holdout(split=0.3))
    >>> criterion_named("penalized(c=0.05, stop_at=paper(epsilon=0.01))")
    penalized(c=0.05, stop_at=paper(0.01))
    """
    return criterion_among(CRITERIA, TEXTS, text)
