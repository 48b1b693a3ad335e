"""The probabilities of one learner's record under given parameters, trial by trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.engine.units import replay_unit
from howlearn.engine.whole import replay
from howlearn.fitting.partitions import Plan, block_of
from howlearn.model import Model
from howlearn.models import Coin, PartitionModel
from howlearn.rule import Rule
from howlearn.staging.setting import records_of, setting_of
from howlearn.staging.wholes import by_cells, whole_of, whole_of_unit
from howlearn.study import Study


def replayed(
    study: Study, model: Model, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-probabilities [trial, action] of one learner, and latents [trial, …]."""
    setting, records = setting_of(study), records_of(study)
    theta = np.ascontiguousarray(theta)
    if not isinstance(model, PartitionModel):
        whole = whole_of(model, study.contexts, study.actions, setting)
        return replay(whole, setting, records, theta)
    out: NDArray[np.float64] | None = None
    latents: NDArray[np.float64] | None = None
    for unit, mine in model.by_unit(theta):
        log_p, look = replay(whole_of_unit(unit, study.contexts, setting), setting, records, mine)
        # A trial belongs to one unit; the others leave 0 and NaN there.
        out = log_p if out is None else out + log_p
        latents = look if latents is None else np.where(np.isnan(latents), look, latents)
    assert out is not None
    assert latents is not None
    return out, latents


def log_probabilities(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probability of every action at every trial: [trial, action]."""
    study = study.part(learner, learner + 1)
    out = np.zeros((len(study.context), len(study.actions)))
    if isinstance(model, Coin):
        out[:] = np.log([*theta, 1.0 - theta.sum()])
        return out
    if not isinstance(model, PartitionModel) or not by_cells(model):
        return replayed(study, model, theta)[0]
    plan = Plan.of([model], study.contexts)
    for unit, mine in model.by_unit(theta):
        assert isinstance(unit.rule, Rule)
        block = block_of(study, unit.rule, np.zeros((1, 0), np.int64))
        at = plan.units[unit.rule][unit]
        # A trial belongs to one unit; the others leave 0 there.
        out += replay_unit(block, plan.layouts[unit.rule], unit.rule, 0, at, mine)
    return out
