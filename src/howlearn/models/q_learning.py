"""Q-learning: the value of an action moves towards what it earns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.model import Model


@dataclass(frozen=True, repr=False)
class QLearning(Model):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action, p = softmax(β·Q), Q = 0 at the start.

    The Rescorla–Wagner rule with a softmax policy: Rescorla & Wagner (1972); Sutton & Barto (2018),
    sections 2.4 and 2.8. Where forgone outcomes are known, the other actions learn from theirs.

    >>> [parameter.name for parameter in QLearning().parameters]
    ['alpha', 'beta']
    """

    max_beta: float = 50.0

    name = "q-learning"
    smooth = True
    title = "Q-learning (Rescorla–Wagner) with softmax"
    latents = ("value(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("alpha", 0.0, 1.0, default=0.3, scale=0.001),
            Parameter("beta", 0.0, self.max_beta, default=min(5.0, self.max_beta), scale=0.2),
        )

    @staticmethod
    def start(world):
        # Values, and their derivatives in alpha for the gradient.
        return np.zeros((2, world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[0, shown.cell, a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        q, dq = state[0, trial.cell], state[1, trial.cell]
        for a in range(len(q)):
            outcome = trial.reward if a == trial.action else trial.forgone[a]
            if not np.isnan(outcome):
                dq[a] += outcome - q[a] - theta.alpha * dq[a]
                q[a] += theta.alpha * (outcome - q[a])

    @staticmethod
    def observe(state, trial, theta, out):
        q = state[0, trial.cell]
        out[:-1] = q
        out[-1] = trial.reward - q[trial.action]

    @staticmethod
    def gradient(state, shown, theta, action, out):
        q, dq = state[0, shown.cell], state[1, shown.cell]
        largest = theta.beta * np.max(q)
        total = mean = slope = 0.0
        for a in range(len(q)):
            weight = np.exp(theta.beta * q[a] - largest)
            total += weight
            mean += weight * q[a]
            slope += weight * dq[a]
        out[0] = theta.beta * (dq[action] - slope / total)
        out[1] = q[action] - mean / total
