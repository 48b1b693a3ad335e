"""Q-learning with a choice kernel: what was often chosen is chosen again, whatever it earned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.model import Model


@dataclass(frozen=True, repr=False)
class QLearningPerseveration(Model):
    """p = softmax(β·Q + κ·C) with a choice kernel C_a ← C_a + τ·(1{a was chosen} − C_a).

    Q_a ← Q_a + α·(r − Q_a) as in Q-learning; Q = C = 0 at the start, in every cell. A negative κ
    avoids what was chosen before. Wilson & Collins (2019), model 5.

    >>> [parameter.name for parameter in QLearningPerseveration().parameters]
    ['alpha', 'beta', 'tau', 'kappa']
    """

    max_beta: float = 50.0

    name = "q-perseveration"
    title = "Q-learning with a choice kernel: earlier choices are repeated, or avoided"
    latents = ("value(action)", "kernel(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("alpha", 0.0, 1.0, default=0.3, scale=0.001),
            Parameter("beta", 0.0, self.max_beta, default=min(5.0, self.max_beta), scale=0.2),
            Parameter("tau", 0.0, 1.0, default=0.3, scale=0.1),
            Parameter("kappa", -10.0, 10.0, default=1.0),
        )

    @staticmethod
    def start(world):
        return np.zeros((2, world.n_cells, world.n_actions))  # values, kernels

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[0, shown.cell, a] + theta.kappa * state[1, shown.cell, a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        for a in range(state.shape[2]):
            chosen = 1.0 if a == trial.action else 0.0
            outcome = trial.reward if a == trial.action else trial.forgone[a]
            if not np.isnan(outcome):
                state[0, trial.cell, a] += theta.alpha * (outcome - state[0, trial.cell, a])
            state[1, trial.cell, a] += theta.tau * (chosen - state[1, trial.cell, a])

    @staticmethod
    def observe(state, trial, theta, out):
        n = state.shape[2]
        out[:n] = state[0, trial.cell]
        out[n:-1] = state[1, trial.cell]
        out[-1] = trial.reward - state[0, trial.cell, trial.action]
