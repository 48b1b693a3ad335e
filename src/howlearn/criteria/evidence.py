"""Bayesian evidence of one learner alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.criteria.criterion import Criterion, Likelihoods, Scores
from howlearn.evidence.alone import log_evidence_alone
from howlearn.evidence.curves import curves_of, on_grid, plan_of
from howlearn.evidence.hierarchy import groups_of, log_sum
from howlearn.evidence.laplace import log_evidence_by_laplace, log_evidence_of_coin
from howlearn.fitting.fits import Fits
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel


@dataclass(frozen=True, repr=False)
class Evidence(Criterion):
    """log of the likelihood averaged over learning rates, with nothing but the learner's trials.

    The rates of a learner's cells lie around a rate of the learner's own, which may be anything on
    a log scale; how far around is averaged over four spreads. A model that needs its parameters to
    be just so is averaged down, so that no penalty is needed.

    >>> Evidence()
    evidence
    """

    name = "evidence"
    title = "log of the likelihood averaged over learning rates, one learner alone"
    gives_probabilities = True

    def scores(self, fits: Likelihoods) -> Scores:
        fits = with_trials(fits, self)
        evidence = alone(fits)
        probability = np.exp(evidence - log_sum(evidence)[:, None])
        zero = np.zeros_like(evidence)
        return Scores(fits.n_scored, evidence, zero, probability=probability)

    def chance(self, fits: Likelihoods, scores: Scores) -> Floats:
        return chance_evidence(with_trials(fits, self).study)


def with_trials(fits: Likelihoods, criterion: Criterion) -> Fits:
    """Refuse likelihoods without the trials they are of."""
    if isinstance(fits, Fits):
        return fits
    raise HowlearnError(
        f"{criterion!r} needs the trials themselves, and a calibration keeps likelihoods only: use "
        "it with howlearn select or recover"
    )


def alone(fits: Fits) -> Floats:
    """[learner, model]: by quadrature, or by an approximation where there is no grid."""
    out = unintegrated(fits, fits.models)
    curves = curves_of(fits.study, plan_of(fits.models, fits.study))
    exact = [(k, m) for k, m in enumerate(fits.models) if on_grid(m)]
    parts = [m for _, m in exact if isinstance(m, PartitionModel)]
    for group in groups_of(parts, [k for k, _ in exact], curves, per_model=False):
        out[:, group.columns] = log_evidence_alone(group)
    return out


def unintegrated(fits: Fits, models: Sequence[Model]) -> Floats:
    """[learner, model]: the evidence of models without a grid; NaN for the others."""
    out = np.full((len(fits.study), len(models)), np.nan)
    for k, model in enumerate(models):
        if not on_grid(model):
            out[:, k] = log_evidence_by_laplace(fits, model.name)
    return out


def chance_evidence(study: Study) -> Floats:
    """Of a learner who does not learn: a fair coin, or one that is not."""
    fair = -study.n_scored * np.log(len(study.actions))
    return np.maximum(fair, log_evidence_of_coin(study))
