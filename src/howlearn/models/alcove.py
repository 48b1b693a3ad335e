"""ALCOVE: exemplars vote by their similarity, and attention to features is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from howlearn.model import Model
from howlearn.models.teacher import RUNAWAY, teacher
from howlearn.rule import Parameter
from howlearn.world import log_softmax


class AlcoveState(NamedTuple):
    """A network with one hidden node per context."""

    exemplars: NDArray[np.float64]  # [context, feature]
    attention: NDArray[np.float64]  # [feature]
    weights: NDArray[np.float64]  # [context, action]
    active: NDArray[np.float64]  # [context]: room for the activations of an update
    error: NDArray[np.float64]  # [action]: room for its outputs and errors


@register_jitable
def apart(h, x):
    """The distance of two values of a feature: at most 1, as it always is between words.

    Numbers run from 0 to 1, and different words are numbered by different integers.
    """
    return min(1.0, abs(h - x))


@register_jitable
def activation(exemplars, j, x, attention, c):
    """exp(−c·Σ_i α_i·|h_ji − x_i|)."""
    distance = 0.0
    for i in range(len(attention)):
        distance += attention[i] * apart(exemplars[j, i], x[i])
    return np.exp(-c * distance)


@dataclass(frozen=True, repr=False)
class Alcove(Model):
    """out_k = Σ_j w_kj·a_j, a_j = exp(−c·Σ_i α_i·|h_ji − x_i|), p = softmax(φ·out).

    Every context is an exemplar h_j. Feedback teaches t_k = max(1, out_k) for the right action and
    min(−1, out_k) for the others: with δ = t − out, w_kj ← w_kj + λ_w·δ_k·a_j and
    α_i ← max(0, α_i − λ_α·c·Σ_j (Σ_k δ_k·w_kj)·a_j·|h_ji − x_i|). At the start w = 0 and attention
    α is spread evenly. Kruschke (1992), with r = q = 1. Words differ by 0 or 1. With more than two
    actions a wrong choice teaches about the chosen action only.

    >>> [parameter.name for parameter in Alcove().parameters]
    ['c', 'phi', 'lambda_w', 'lambda_alpha']
    """

    name = "alcove"
    title = "exemplars with learned attention to features (ALCOVE)"
    latents = ("attention(feature)", "output(action)")
    needs = frozenset({"features", "correct"})
    cells = "none"

    parameters = (
        Parameter("c", 0.0, 20.0, default=6.5, scale=1.0),
        Parameter("phi", 0.0, 20.0, default=2.0, scale=1.0),
        Parameter("lambda_w", 0.0, 1.0, default=0.05, scale=0.02),
        Parameter("lambda_alpha", 0.0, 1.0, default=0.005, scale=0.005),
    )

    @staticmethod
    def start(world):
        n_contexts, n_features = world.features.shape
        return AlcoveState(
            world.features,
            np.full(n_features, 1.0 / n_features),
            np.zeros((n_contexts, world.n_actions)),
            np.zeros(n_contexts),
            np.zeros(world.n_actions),
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        exemplars, attention, weights = state.exemplars, state.attention, state.weights
        out[:] = 0.0
        for j in range(len(exemplars)):
            a = activation(exemplars, j, shown.features, attention, theta.c)
            for k in range(len(out)):
                out[k] += weights[j, k] * a
        for k in range(len(out)):
            out[k] *= theta.phi
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        exemplars, attention, weights, active, error = state
        n, x = len(exemplars), trial.features
        error[:] = 0.0
        for j in range(n):
            active[j] = activation(exemplars, j, x, attention, theta.c)
            for k in range(len(error)):
                error[k] += weights[j, k] * active[j]
        for k in range(len(error)):
            if abs(error[k]) > RUNAWAY:
                return
        for k in range(len(error)):
            told = teacher(trial, k)
            if told > 0.0:
                error[k] = max(1.0, error[k]) - error[k]
            elif told < 0.0:
                error[k] = min(-1.0, error[k]) - error[k]
            else:
                error[k] = 0.0
        for j in range(n):
            blame = 0.0
            for k in range(len(error)):
                blame += error[k] * weights[j, k]
                weights[j, k] += theta.lambda_w * error[k] * active[j]
            active[j] *= blame
        for i in range(len(attention)):
            slope = 0.0
            for j in range(n):
                slope += active[j] * apart(exemplars[j, i], x[i])
            attention[i] = max(0.0, attention[i] - theta.lambda_alpha * theta.c * slope)

    @staticmethod
    def observe(state, trial, theta, out):
        n_features = len(state.attention)
        out[:n_features] = state.attention
        out[n_features:] = 0.0
        for j in range(len(state.exemplars)):
            a = activation(state.exemplars, j, trial.features, state.attention, theta.c)
            out[n_features:] += state.weights[j] * a
