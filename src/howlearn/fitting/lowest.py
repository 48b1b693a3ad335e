"""The smallest probabilities along a record, and where they fall under ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fits import Fits, ModelFits
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.settings import records_of
from howlearn.models.model import Model


class Lowest(NamedTuple):
    """Of fits [learner, truncation], over all trials of the record; trials count from 1."""

    probability: NDArray[np.float64]  # the smallest one that any action has
    trial: Ints  # where
    first_under: Ints  # the first trial at which some action has less than ε; 0: never


def lowest(study: Study, part: ModelFits, epsilon: float) -> Lowest:
    """Replay every fit of a model, and look at all actions."""
    shape = part.theta.shape[:2]
    found = Lowest(np.empty(shape), np.empty(shape, np.int64), np.zeros(shape, np.int64))
    advisor = advisor_for(part.model, study)
    for i in range(shape[0]):
        records = records_of(study.part(i, i + 1))
        for j in range(shape[1]):
            log_p = advisor.log_probabilities(records, np.ascontiguousarray(part.theta[i, j]))
            if len(records.offered):  # what is not on offer does not count
                log_p = np.where(records.offered, log_p, 0.0)
            least = np.exp(log_p.min(axis=1))
            at = int(np.argmin(least))
            found.probability[i, j], found.trial[i, j] = least[at], at + 1
            if least[at] < epsilon:
                found.first_under[i, j] = int(np.argmax(least < epsilon)) + 1
    return found


def scored_before(study: Study, trial: Ints) -> Ints:
    """How many scored trials each learner has before a trial; all of them where it is 0."""
    counts = np.concatenate(([0], np.cumsum(study.scored)))
    starts = study.starts[:-1]
    last = np.where(trial == 0, np.diff(study.starts), trial - 1)
    return counts[starts + last] - counts[starts]


def along_path(fits: Fits, epsilon: float) -> Ints:
    """Of every learner: the scored trials before any candidate falls under ε, at least 1.

    The candidates are at their fits to the most trials.
    """
    j = fits.at(fits.fullest)
    sizes = []
    for part in fits.of.values():
        under = lowest(fits.study, part, epsilon).first_under[:, j]
        sizes.append(scored_before(fits.study, under))
    return np.maximum(np.min(sizes, axis=0), 1)


def paper_horizon(model: Model, study: Study, epsilon: float) -> int | None:
    """T_ε as the propositions have it, for a model's bounds; None: they do not cover the model."""
    return model.horizon(epsilon, len(study.actions), study.reward_range)


def by_formula(study: Study, models: Sequence[Model], epsilon: float) -> int:
    """The smallest T_ε of the candidates; refuses what the propositions do not cover."""
    found = {}
    for model in models:
        horizon = paper_horizon(model, study, epsilon)
        if horizon is None:
            raise HowlearnError(
                f"stop_at=paper({epsilon:g}): the paper's formula for {model.name} "
                f"{model.no_horizon}; give an epsilon (stop_at=0.05) or a trial (stop_at=150)"
            )
        found[model.name] = horizon
    name = min(found, key=lambda key: found[key])
    if found[name] < 2:
        raise HowlearnError(
            f"stop_at=paper({epsilon:g}): T_epsilon is {found[name]} for {name}, and Theorem 3 "
            "needs at least 2; allow smaller rates only (--max-rate), or take a smaller epsilon"
        )
    return found[name]
