"""Q-learning with two rates: better and worse than expected teach at different speeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.model import Model


@dataclass(frozen=True, repr=False)
class QLearningTwoRates(Model):
    """Q_a ← Q_a + α·δ with δ = r − Q_a, α = α_better if δ > 0 and α_worse if δ < 0.

    p = softmax(β·Q), Q = 0 at the start: Frank, Moustafa, Haughey, Curran & Hutchison (2007);
    Lefebvre, Lebreton, Meyniel, Bourgeois-Gironde & Palminteri (2017). Where forgone outcomes are
    known, the other actions learn from theirs, by the sign of their own δ.

    >>> [parameter.name for parameter in QLearningTwoRates().parameters]
    ['alpha_better', 'alpha_worse', 'beta']
    """

    max_beta: float = 50.0

    name = "q-two-rates"
    smooth = True
    title = "Q-learning with one rate for better and one for worse than expected"
    latents = ("value(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("alpha_better", 0.0, 1.0, default=0.3, scale=0.001),
            Parameter("alpha_worse", 0.0, 1.0, default=0.1, scale=0.001),
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
            error = outcome - state[trial.cell, a]
            # An unknown outcome is NaN, and neither.
            if error > 0.0:
                state[trial.cell, a] += theta.alpha_better * error
            elif error < 0.0:
                state[trial.cell, a] += theta.alpha_worse * error

    @staticmethod
    def observe(state, trial, theta, out):
        out[:-1] = state[trial.cell]
        out[-1] = trial.reward - state[trial.cell, trial.action]
