"""The probabilities of one learner's record under given parameters, trial by trial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.engine.units import replay_unit
from howlearn.errors import HowlearnError
from howlearn.fitting.partitions import Plan, block_of
from howlearn.model import Model
from howlearn.models import Coin, PartitionModel
from howlearn.study import Study


def log_probabilities(
    study: Study, learner: int, model: Model, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Log-probability of every action at every trial: [trial, action]."""
    study = study.part(learner, learner + 1)
    out = np.zeros((len(study.context), len(study.actions)))
    if isinstance(model, Coin):
        out[:] = np.log([*theta, 1.0 - theta.sum()])
        return out
    if not isinstance(model, PartitionModel):
        raise HowlearnError(f"model {model.name} cannot be replayed")
    plan = Plan.of([model], study.contexts)
    for unit, mine in model.by_unit(theta):
        block = block_of(study, unit.rule, np.zeros((1, 0), np.int64))
        at = plan.units[unit.rule][unit]
        # A trial belongs to one unit; the others leave 0 there.
        out += replay_unit(block, plan.layouts[unit.rule], unit.rule, 0, at, mine)
    return out
