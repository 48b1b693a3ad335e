"""The Q-learning family: the value of an action moves towards what it earns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.models.model import Model

ALPHA = Parameter("alpha", 0.0, 1.0, default=0.3, scale=0.001)


def _beta(largest: float) -> Parameter:
    return Parameter("beta", 0.0, largest, default=min(5.0, largest), scale=0.2)


@dataclass(frozen=True, repr=False)
class _Values(Model):
    """A value for each action in every cell, 0 at the start; p = softmax(β·Q)."""

    max_beta: float = 50.0

    smooth = True
    latents = ("value(action)", "prediction_error")

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[shown.cell, a]
        log_softmax(out)

    @staticmethod
    def observe(state, trial, theta, out):
        out[:-1] = state[trial.cell]
        out[-1] = trial.reward - state[trial.cell, trial.action]


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
    phrase = "Q-learning with a softmax policy"
    cites = ("rescorla1972", "sutton2018")
    latents = ("value(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return ALPHA, _beta(self.max_beta)

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


# Q-learning with two rates: better and worse than expected teach at different speeds.


@dataclass(frozen=True, repr=False)
class QLearningTwoRates(_Values):
    """Q_a ← Q_a + α·δ with δ = r − Q_a, α = α_better if δ > 0 and α_worse if δ < 0.

    p = softmax(β·Q), Q = 0 at the start: Frank, Moustafa, Haughey, Curran & Hutchison (2007);
    Lefebvre, Lebreton, Meyniel, Bourgeois-Gironde & Palminteri (2017). Where forgone outcomes are
    known, the other actions learn from theirs, by the sign of their own δ.

    >>> [parameter.name for parameter in QLearningTwoRates().parameters]
    ['alpha_better', 'alpha_worse', 'beta']
    """

    name = "q-two-rates"
    title = "Q-learning with one rate for better and one for worse than expected"
    phrase = "Q-learning with two learning rates"
    cites = ("frank2007",)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            Parameter("alpha_better", 0.0, 1.0, default=0.3, scale=0.001),
            Parameter("alpha_worse", 0.0, 1.0, default=0.1, scale=0.001),
            _beta(self.max_beta),
        )

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


# Q-learning with forgetting: the values of actions not chosen fade.


@dataclass(frozen=True, repr=False)
class QLearningForgetting(_Values):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action, Q_a ← (1 − φ)·Q_a for the others.

    p = softmax(β·Q), Q = 0 at the start. Values fade to 0 with a rate of their own: the DF-Q model
    of Ito & Doya (2009), whose F-Q model has φ = α; Niv et al. (2015) let the values of features
    fade so. Only the values of the cell at hand fade, and where the forgone outcome of an action is
    known, the action learns from it instead.

    >>> [parameter.name for parameter in QLearningForgetting().parameters]
    ['alpha', 'phi', 'beta']
    """

    name = "q-forgetting"
    title = "Q-learning in which the values of actions not chosen fade"
    phrase = "Q-learning with forgetting"
    cites = ("ito2009",)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            ALPHA,
            Parameter("phi", 0.0, 1.0, default=0.1, scale=0.1),
            _beta(self.max_beta),
        )

    @staticmethod
    def update(state, trial, theta):
        for a in range(state.shape[1]):
            outcome = trial.reward if a == trial.action else trial.forgone[a]
            if np.isnan(outcome):
                state[trial.cell, a] *= 1.0 - theta.phi
            else:
                state[trial.cell, a] += theta.alpha * (outcome - state[trial.cell, a])


# Q-learning with a choice kernel: what was often chosen is chosen again, whatever it earned.


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
    phrase = "Q-learning with a choice kernel"
    cites = ("wilson2019",)
    latents = ("value(action)", "kernel(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            ALPHA,
            _beta(self.max_beta),
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
