"""Networks that learn categories: ALCOVE and the component-cue model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.core.world import callable_when_compiled, log_softmax
from howlearn.models.model import Model

# What networks with one output per action share: their choices, and what feedback teaches.


# An output beyond this comes from steps too large to converge: weights stay as they are, since they
# would overflow.
RUNAWAY = 1e100


@callable_when_compiled
def teacher(trial, action):
    """1 for the right action, −1 for a wrong one, NaN where the feedback does not tell.

    A wrong choice among more than two actions tells about the chosen one only.

    >>> from types import SimpleNamespace
    >>> [teacher(SimpleNamespace(correct=-1, action=2), action) for action in (1, 2)]
    [nan, -1.0]
    """
    if action == trial.correct:
        return 1.0
    if trial.correct >= 0 or action == trial.action:
        return -1.0
    return np.nan


@callable_when_compiled
def probabilities(phi, out):
    """From outputs to the logs of softmax(φ·out), in place, however large the outputs are.

    >>> out = np.array([3e99, 3e99, -1.0])
    >>> probabilities(2.0, out)
    >>> np.exp(out)
    array([0.5, 0.5, 0. ])
    """
    largest = out[0]
    for k in range(1, len(out)):
        largest = max(largest, out[k])
    for k in range(len(out)):
        out[k] = phi * (out[k] - largest)
    log_softmax(out)


class AlcoveState(NamedTuple):
    """A network with one hidden node per context."""

    exemplars: NDArray[np.float64]  # [context, feature]
    attention: NDArray[np.float64]  # [feature]
    weights: NDArray[np.float64]  # [context, action]
    # [context, then action, then 1]: activations; errors; for which context, counted from 1
    room: NDArray[np.float64]


@callable_when_compiled
def apart(h, x):
    """The distance of two values of a feature: at most 1, as it always is between words.

    Numbers run from 0 to 1, and different words are numbered by different integers.
    """
    return min(1.0, abs(h - x))


@callable_when_compiled
def activation(exemplars, j, x, attention, c):
    """exp(−c·Σ_i α_i·|h_ji − x_i|)."""
    distance = 0.0
    for i in range(len(attention)):
        distance += attention[i] * apart(exemplars[j, i], x[i])
    return np.exp(-c * distance)


@callable_when_compiled
def outputs(state, x, c, out):
    """out_k = Σ_j w_kj·a_j; the activations a_j for context x stay until an update."""
    exemplars, attention, weights, room = state
    if room[-1] != x + 1.0:
        for j in range(len(exemplars)):
            distance = 0.0
            for i in range(len(attention)):
                distance += attention[i] * apart(exemplars[j, i], exemplars[x, i])
            room[j] = np.exp(-c * distance)
        room[-1] = x + 1.0
    for k in range(len(out)):
        total = 0.0
        for j in range(len(exemplars)):
            total += weights[j, k] * room[j]
        out[k] = total


@callable_when_compiled
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
    title = "compares with examples and learns which features matter (ALCOVE)"
    phrase = "ALCOVE"
    cites = ("kruschke1992",)
    latents = ("attention(feature)", "output(action)")
    needs = frozenset({"features", "correct"})
    cells = "none"
    kernel, kernel_slopes = "alcove", False

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
            np.zeros(n_contexts + world.n_actions + 1),
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        outputs(state, shown.context, theta.c, out)
        probabilities(theta.phi, out)

    @staticmethod
    def update(state, trial, theta):
        exemplars, attention, weights, room = state
        (n, n_actions), x = weights.shape, trial.context
        errors = room[n:-1]
        outputs(state, x, theta.c, errors)
        for k in range(n_actions):
            if abs(errors[k]) > RUNAWAY:
                return
        for k in range(n_actions):
            errors[k] = humble_error(teacher(trial, k), errors[k])
        room[-1] = 0.0
        for j in range(n):
            a, blame = room[j], 0.0
            for k in range(n_actions):
                w = weights[j, k]
                blame += errors[k] * w
                weights[j, k] = w + theta.lambda_w * errors[k] * a
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
        outputs(state, trial.context, theta.c, out[n:])


# Component-cue: every value of every feature votes for the actions.


class ComponentCueState(NamedTuple):
    """A network with one input per value of a feature."""

    inputs: NDArray[np.int64]  # [context, feature]: which inputs are on
    weights: NDArray[np.float64]  # [input, action]
    output: NDArray[np.float64]  # [action]: room for the sums of an update


@dataclass(frozen=True, repr=False)
class ComponentCue(Model):
    """out_k = Σ_i w_ki over the inputs i that are on, p = softmax(φ·out), w = 0 at the start.

    There is one input per value of each feature. Feedback teaches t = 1 for the right action and −1
    for the others: w_ki ← w_ki + λ_w·(t_k − out_k), the least-mean-squares rule. Gluck & Bower
    (1988). With more than two actions a wrong choice teaches about the chosen action only.

    >>> [parameter.name for parameter in ComponentCue().parameters]
    ['lambda_w', 'phi']
    """

    name = "component-cue"
    title = "learns how strongly each feature value predicts an action"
    phrase = "the component-cue model"
    cites = ("gluck1988",)
    latents = ("output(action)",)
    needs = frozenset({"features", "correct"})
    cells = "none"

    parameters = (
        Parameter("lambda_w", 0.0, 1.0, default=0.05, scale=0.001),
        Parameter("phi", 0.0, 20.0, default=2.0, scale=0.1),
    )

    @staticmethod
    def start(world):
        inputs = np.empty(world.levels.shape, np.int64)
        first = 0
        for i in range(len(world.n_levels)):
            inputs[:, i] = first + world.levels[:, i]
            first += world.n_levels[i]
        weights = np.zeros((first, world.n_actions))
        return ComponentCueState(inputs, weights, np.zeros(world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        for k in range(len(out)):
            total = 0.0
            for i in range(state.inputs.shape[1]):
                total += state.weights[state.inputs[shown.context, i], k]
            out[k] = total
        probabilities(theta.phi, out)

    @staticmethod
    def update(state, trial, theta):
        inputs, weights, output = state
        for k in range(len(output)):
            output[k] = 0.0
            for i in range(inputs.shape[1]):
                output[k] += weights[inputs[trial.context, i], k]
            if abs(output[k]) > RUNAWAY:
                return
        for k in range(len(output)):
            error = teacher(trial, k) - output[k]
            if not np.isnan(error):
                for i in range(inputs.shape[1]):
                    weights[inputs[trial.context, i], k] += theta.lambda_w * error

    @staticmethod
    def observe(state, trial, theta, out):
        out[:] = 0.0
        for i in range(state.inputs.shape[1]):
            out += state.weights[state.inputs[trial.context, i]]
