"""Component-cue: every value of every feature votes for the actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.model import Model
from howlearn.models.network import RUNAWAY, probabilities, teacher


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
    title = "a network that learns what each feature value speaks for"
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
