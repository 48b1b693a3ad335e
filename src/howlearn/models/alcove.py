"""ALCOVE: exemplars vote by their similarity, and attention to features is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.model import Model
from howlearn.models.network import RUNAWAY, probabilities, teacher


class AlcoveState(NamedTuple):
    """A network with one hidden node per context."""

    exemplars: NDArray[np.float64]  # [context, feature]
    attention: NDArray[np.float64]  # [feature]
    weights: NDArray[np.float64]  # [context, action]
    room: NDArray[np.float64]  # [context, then action]: for the activations and errors of an update


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


@register_jitable
def outputs(exemplars, attention, weights, x, c, out):
    """out_k = Σ_j w_kj·a_j."""
    # Two at a time: the sums stay in registers, and each similarity serves both.
    for k in range(0, len(out), 2):
        other = min(k + 1, len(out) - 1)
        one, two = 0.0, 0.0
        for j in range(len(exemplars)):
            distance = 0.0
            for i in range(len(attention)):
                distance += attention[i] * apart(exemplars[j, i], exemplars[x, i])
            a = np.exp(-c * distance)
            one += weights[j, k] * a
            two += weights[j, other] * a
        out[k], out[other] = one, two


@register_jitable
def humble_error(told, out):
    """Of one output; a humble teacher does not mind outputs beyond what is taught."""
    if told > 0.0:
        return max(told, out) - out
    if told < 0.0:
        return min(told, out) - out
    return 0.0


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
        Parameter("phi", 0.0, 20.0, default=2.0, scale=0.1),
        Parameter("lambda_w", 0.0, 1.0, default=0.05, scale=0.001),
        Parameter("lambda_alpha", 0.0, 1.0, default=0.005, scale=0.001),
    )

    @staticmethod
    def start(world):
        n_contexts, n_features = world.features.shape
        return AlcoveState(
            world.features,
            np.full(n_features, 1.0 / n_features),
            np.zeros((n_contexts, world.n_actions)),
            np.zeros(n_contexts + world.n_actions),
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        outputs(state.exemplars, state.attention, state.weights, shown.context, theta.c, out)
        probabilities(theta.phi, out)

    @staticmethod
    def update(state, trial, theta):
        exemplars, attention, weights, room = state
        (n, n_actions), x = weights.shape, trial.context
        for j in range(n):
            distance = 0.0
            for i in range(len(attention)):
                distance += attention[i] * apart(exemplars[j, i], exemplars[x, i])
            room[j] = np.exp(-theta.c * distance)
        for k in range(n_actions):
            out = 0.0
            for j in range(n):
                out += weights[j, k] * room[j]
            if abs(out) > RUNAWAY:
                return
            room[n + k] = humble_error(teacher(trial, k), out)
        for j in range(n):
            a, blame = room[j], 0.0
            for k in range(n_actions):
                w = weights[j, k]
                blame += room[n + k] * w
                weights[j, k] = w + theta.lambda_w * room[n + k] * a
            room[j] = a * blame
        for i in range(len(attention)):
            slope = 0.0
            for j in range(n):
                slope += room[j] * apart(exemplars[j, i], exemplars[x, i])
            attention[i] = max(0.0, attention[i] - theta.lambda_alpha * theta.c * slope)

    @staticmethod
    def observe(state, trial, theta, out):
        attention, n = state.attention, len(state.attention)
        out[:n] = attention
        outputs(state.exemplars, attention, state.weights, trial.context, theta.c, out[n:])
