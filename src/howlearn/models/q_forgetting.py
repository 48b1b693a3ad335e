"""Q-learning with forgetting: the values of actions not chosen fade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.model import Model


@dataclass(frozen=True, repr=False)
class QLearningForgetting(Model):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action, Q_a ← (1 − φ)·Q_a for the others.

    p = softmax(β·Q), Q = 0 at the start. Values fade to 0 with a rate of their own: the DF-Q model
    of Ito & Doya (2009), whose F-Q model has φ = α; Niv et al. (2015) let the values of features
    fade so. Only the values of the cell at hand fade, and where the forgone outcome of an action is
    known, the action learns from it instead.

    >>> [parameter.name for parameter in QLearningForgetting().parameters]
    ['alpha', 'phi', 'beta']
    """

    max_beta: float = 50.0

    name = "q-forgetting"
    smooth = True
    title = "Q-learning in which the values of actions not chosen fade"
    latents = ("value(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("alpha", 0.0, 1.0, default=0.3, scale=0.001),
            Parameter("phi", 0.0, 1.0, default=0.1, scale=0.1),
            Parameter("beta", 0.0, self.max_beta, default=min(5.0, self.max_beta), scale=0.2),
        )

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[shown.cell, a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        for a in range(state.shape[1]):
            outcome = trial.reward if a == trial.action else trial.forgone[a]
            if np.isnan(outcome):
                state[trial.cell, a] *= 1.0 - theta.phi
            else:
                state[trial.cell, a] += theta.alpha * (outcome - state[trial.cell, a])

    @staticmethod
    def observe(state, trial, theta, out):
        out[:-1] = state[trial.cell]
        out[-1] = trial.reward - state[trial.cell, trial.action]
