"""GCM: what is shown is compared with every example met so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.core.world import callable_when_compiled, log_softmax
from howlearn.models.model import Model
from howlearn.models.networks import activation, apart

FEW = 64  # contexts whose similarities are kept in a table


class GCMState(NamedTuple):
    """The examples met so far."""

    exemplars: NDArray[np.float64]  # [context, feature]
    attention: NDArray[np.float64]  # [feature]: weights that sum to 1
    counts: NDArray[np.float64]  # [context, action]: how often it was the right answer there
    met: NDArray[np.int64]  # the contexts with a count
    n_met: NDArray[np.int64]  # [1]: how many
    similar: NDArray[np.float64]  # [i, context]: to the i-th context met; empty if there are many
    room: NDArray[np.float64]  # [action, then feature]: for a gradient


@callable_when_compiled
def evidence(state, shown, theta, out):
    """b + Σ exp(−c·Σ_i w_i·|x_i − h_i|) for every answer."""
    exemplars, attention, counts, met, n_met, similar, _ = state
    # Two at a time: the sums stay in registers, and each similarity serves both.
    for k in range(0, len(out), 2):
        other = min(k + 1, len(out) - 1)
        one, two = theta.b, theta.b
        for i in range(n_met[0]):
            if len(similar):
                alike = similar[i, shown.context]
            else:
                alike = activation(exemplars, met[i], shown.features, attention, theta.c)
            one += alike * counts[met[i], k]
            two += alike * counts[met[i], other]
        out[k], out[other] = one, two


@callable_when_compiled
def attention_slopes(theta, by_feature, out):
    """The derivatives in the shares, from those in c·w_i of every feature i."""
    last = min(len(theta) - 3, len(by_feature) - 1)
    later = by_feature[last]  # of the remaining attention, shared out among the later features
    for i in range(last - 1, -1, -1):
        left = 1.0
        for j in range(i):
            left *= 1.0 - theta[3 + j]
        out[3 + i] = theta.c * left * (by_feature[i] - later)
        later = theta[3 + i] * by_feature[i] + (1.0 - theta[3 + i]) * later


MANY_DIMENSIONS = 6  # beyond this, attention to each is more than a learner's data can tell


@dataclass(frozen=True, repr=False)
class GCM(Model):
    """P(k) ∝ (b + Σ exp(−c·Σ_i w_i·|x_i − h_i|))^γ over all earlier examples h of answer k.

    The generalised context model, Nosofsky (1986), as a learning model: its examples accumulate
    trial by trial against a background noise b (Nosofsky, Kruschke & McKinley 1992), and γ scales
    the response (Nosofsky & Zaki 2002). Words differ by 0 or 1. Without a known right answer
    nothing is stored.

    Attention w is the same for all features unless ``dimensions`` says how many there are: then
    ``share_i`` is what feature i takes of the attention left over by those before it.

    >>> [parameter.name for parameter in GCM(dimensions=3).parameters]
    ['c', 'gamma', 'b', 'share_1', 'share_2']
    """

    dimensions: int = 0

    name = "gcm"
    title = "compares with all examples seen so far (generalised context model)"
    phrase = "the generalised context model"
    cites = ("nosofsky1986",)
    latents = ("evidence(action)",)
    needs = frozenset({"features", "correct"})
    cells = "none"

    def __post_init__(self) -> None:
        if self.dimensions != 0 and self.dimensions < 2:
            raise HowlearnError(
                f"the dimensions of gcm are 0, for equal attention, or at least 2, "
                f"got {self.dimensions}"
            )

    @classmethod
    def for_features(cls, n_features: int) -> GCM:
        return cls(n_features) if 2 <= n_features <= MANY_DIMENSIONS else cls()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        d = self.dimensions
        return (
            Parameter("c", 0.0, 50.0, default=5.0, scale=1.0),
            Parameter("gamma", 0.0, 20.0, default=1.0, scale=1.0),
            Parameter("b", 1e-6, 10.0, default=0.1, scale=1e-3),
            *(Parameter(f"share_{i}", 0.0, 1.0, default=1 / (d - i + 1)) for i in range(1, d)),
        )

    @staticmethod
    def start(world, theta):
        n_contexts, n_features = world.features.shape
        attention = np.full(n_features, 1.0 / n_features)
        n_shares = len(theta) - 3
        if n_shares > 0:
            left = 1.0
            for i in range(n_features):
                # The last one takes the rest, so that the weights sum to 1.
                last = i == n_features - 1 or i == n_shares
                attention[i] = left if last else left * theta[3 + i]
                left = 0.0 if last else left * (1.0 - theta[3 + i])
        rows = n_contexts if n_contexts <= FEW else 0
        return GCMState(
            world.features,
            attention,
            np.zeros((n_contexts, world.n_actions)),
            np.zeros(n_contexts, np.int64),
            np.zeros(1, np.int64),
            np.zeros((rows, n_contexts)),
            np.zeros(world.n_actions + n_features),
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        evidence(state, shown, theta, out)
        for k in range(len(out)):
            out[k] = theta.gamma * np.log(out[k])
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        if trial.correct < 0:
            return
        total = 0.0
        for k in range(state.counts.shape[1]):
            total += state.counts[trial.context, k]
        if total == 0.0:
            i = state.n_met[0]
            state.met[i] = trial.context
            state.n_met[0] += 1
            if len(state.similar):
                for j in range(len(state.exemplars)):
                    state.similar[i, j] = activation(
                        state.exemplars, j, trial.features, state.attention, theta.c
                    )
        state.counts[trial.context, trial.correct] += 1.0

    @staticmethod
    def observe(state, trial, theta, out):
        evidence(state, trial, theta, out)

    @staticmethod
    def gradient(state, shown, theta, action, out):
        exemplars, attention, counts, met, n_met, similar, room = state
        n, d = counts.shape[1], len(attention)
        known, by_feature = room[:n], room[n:]
        evidence(state, shown, theta, known)
        largest, total, mean = known[0], 0.0, 0.0
        for k in range(1, n):
            largest = max(largest, known[k])
        largest = theta.gamma * np.log(largest)
        for k in range(n):
            weight = np.exp(theta.gamma * np.log(known[k]) - largest)
            total += weight
            mean += weight * np.log(known[k])
        out[:] = 0.0
        out[1] = np.log(known[action]) - mean / total
        for k in range(n):  # from here on: how log p moves with the evidence for k
            p = np.exp(theta.gamma * np.log(known[k]) - largest) / total
            known[k] = theta.gamma * ((1.0 if k == action else 0.0) - p) / known[k]
            out[2] += known[k]
        by_feature[:] = 0.0
        for i in range(n_met[0]):
            if len(similar):
                moved = similar[i, shown.context]
            else:
                moved = activation(exemplars, met[i], shown.features, attention, theta.c)
            weight = 0.0
            for k in range(n):
                weight += known[k] * counts[met[i], k]
            moved *= weight
            for f in range(d):
                by_feature[f] -= moved * apart(exemplars[met[i], f], shown.features[f])
        for f in range(d):
            out[0] += attention[f] * by_feature[f]
        attention_slopes(theta, by_feature, out)
