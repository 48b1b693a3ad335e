"""The probabilities of one learner's record under given parameters, trial by trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.whole import replay
from howlearn.models.adjustments import Adjusted
from howlearn.models.coin import FixedPolicy
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.staging.advice import Advisor
from howlearn.staging.setting import feature_names, records_of, setting_of
from howlearn.staging.wholes import latent_names, whole_of, whole_of_unit


def replayed(
    study: Study, model: Model, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities [trial, action] of one learner, and latents [trial, …]."""
    setting, records = setting_of(study), records_of(study)
    theta = np.ascontiguousarray(theta)
    if isinstance(model, Mixture | FixedPolicy):
        advisor = Advisor(model, study.contexts, study.actions, setting)
        if isinstance(model, FixedPolicy):
            return advisor.log_probabilities(records, theta), np.empty((len(study.context), 0))
        log_q, log_pi = advisor.blended(records, theta)
        return log_pi, np.exp(log_q)
    if not isinstance(model, PartitionModel):
        whole = whole_of(model, study.contexts, study.actions, setting)
        return replay(whole, setting, records, theta)
    names = latents_named(study, model)
    out = np.zeros((len(study.context), len(study.actions)))
    latents = np.full((len(study.context), len(names)), np.nan)
    for unit, mine in model.by_unit(theta):
        log_p, look = replay(whole_of_unit(unit, study.contexts, setting), setting, records, mine)
        # A trial belongs to one unit; the others leave 0 and NaN there.
        out += log_p
        own = [names.index(name) for name in _names(study, unit.rule)]
        latents[:, own] = np.where(np.isnan(latents[:, own]), look, latents[:, own])
    return out, latents


def latents_of(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The latent variables of a model with their names: [trial, latent], before each update."""
    study = study.part(learner, learner + 1)
    names = latents_named(study, model)
    if not names:  # such as Coin, which is not replayed
        return names, np.empty((len(study.context), 0))
    return names, replayed(study, model, theta)[1]


def latents_named(study: Study, model: Model) -> tuple[str, ...]:
    """The names of a model's latent variables, with the actions and features of the study.

    >>> from howlearn.models.q_learning import QLearning
    >>> from howlearn.simulation import simulate
    >>> from howlearn.models.task import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.05}, 1, 10, seed=1)
    >>> latents_named(study, QLearning())
    ('value(A)', 'value(B)', 'prediction_error')
    """
    base = model.base if isinstance(model, Adjusted) else model
    firsts = [unit.rule for unit in base.units] if isinstance(base, PartitionModel) else [base]
    return tuple(dict.fromkeys(name for first in firsts for name in _names(study, first)))


def _names(study: Study, first: Rule | Model) -> tuple[str, ...]:
    features = feature_names(study.contexts, study.features)
    return latent_names(first, study.actions, features)


def log_probabilities(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probability of every action at every trial: [trial, action]."""
    study = study.part(learner, learner + 1)
    advisor = Advisor(model, study.contexts, study.actions, setting_of(study))
    return advisor.log_probabilities(records_of(study), np.ascontiguousarray(theta))


def weights(
    study: Study, learner: int, model: Mixture, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-weights of a mixture's strategies before every trial: [trial, strategy]."""
    study = study.part(learner, learner + 1)
    advisor = Advisor(model, study.contexts, study.actions, setting_of(study))
    return advisor.blended(records_of(study), np.ascontiguousarray(theta))[0]
