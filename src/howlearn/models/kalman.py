"""Kalman filters: what every action earns, how uncertain that is, and choices that use both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.core.world import callable_when_compiled, log_softmax
from howlearn.models.model import Model

FAR = -35.0  # below it Φ is taken from its expansion: erfc would soon be 0


class KalmanState(NamedTuple):
    """What is believed of every action."""

    mean: NDArray[np.float64]  # [cell, action]
    variance: NDArray[np.float64]  # [cell, action]
    span: NDArray[np.float64]  # [1]: of the rewards, the unit of noise and drift


@callable_when_compiled
def log_normal_cdf(z):
    """log Φ(z), also where Φ is 0 to the computer.

    >>> round(log_normal_cdf(0.0), 6), round(log_normal_cdf(-50.0), 3)
    (-0.693147, -1254.831)
    """
    if z > FAR:
        if z > 0.0:
            return math.log1p(-0.5 * math.erfc(z / math.sqrt(2.0)))
        return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))
    s = 1.0 / (z * z)
    series = -s * (1.0 - s * (3.0 - s * (15.0 - s * 105.0)))
    return -0.5 * z * z - math.log(-z) - 0.5 * math.log(2.0 * math.pi) + math.log1p(series)


@dataclass(frozen=True, repr=False)
class KalmanMean(Model):
    """p = softmax(β·m): a Kalman filter learns the mean m of what an action earns.

    After an outcome r of an action with variance v, k = v/(v + σ²), m ← m + k·(r − m) and
    v ← (1 − k)·v; after every trial v ← v + q for all actions, which may drift. σ is the parameter
    noise and √q drift, both in shares of the rewards' range; m starts in its middle, with a
    standard deviation √v of half of it. Daw, O'Doherty, Dayan, Seymour & Dolan (2006). Where
    forgone outcomes are known, the other actions learn from theirs.

    >>> [parameter.name for parameter in KalmanMean().parameters]
    ['noise', 'drift', 'beta']
    """

    name = "kalman-mean"
    title = "Kalman filter: learns faster while it is uncertain"
    phrase = "a Kalman filter with a softmax of its means"
    cites = ("daw2006",)
    default_for = frozenset({"graded rewards", "drifting rewards"})
    latents = ("value(action)", "uncertainty(action)", "prediction_error")
    cells = "shared"
    held: ClassVar[Mapping[str, float]] = {"explore": 0.0, "thompson": 0.0}

    parameters = (
        Parameter("noise", 0.01, 2.0, default=0.3, scale=0.1),
        Parameter("drift", 0.0, 1.0, default=0.05, scale=0.02),
        Parameter("beta", 0.0, 50.0, default=5.0, scale=0.2),
    )

    def reads(self, actions: Sequence[str], zero: float = 0.0) -> Mapping[str, str | float]:
        own = {parameter.name for parameter in self.parameters}
        names = ("noise", "drift", "beta", "explore", "thompson")
        return {name: name if name in own else self.held[name] for name in names}

    @staticmethod
    def start(world):
        shape, span = (world.n_cells, world.n_actions), world.highest - world.lowest
        middle = world.lowest + 0.5 * span
        return KalmanState(
            np.full(shape, middle), np.full(shape, 0.25 * span * span), np.full(1, span)
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        mean, variance = state.mean[shown.cell], state.variance[shown.cell]
        for a in range(len(out)):
            if theta.thompson == 0.0:
                out[a] = theta.beta * (mean[a] + theta.explore * math.sqrt(variance[a]))
                continue
            out[a] = 0.0
            for b in range(len(out)):
                if b != a and shown.offered[b]:
                    spread = math.sqrt(variance[a] + variance[b])
                    out[a] += log_normal_cdf((mean[a] - mean[b]) / spread)
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        mean, variance, span = state.mean[trial.cell], state.variance[trial.cell], state.span[0]
        noise, drift = (theta.noise * span) ** 2, (theta.drift * span) ** 2
        for a in range(len(mean)):
            outcome = trial.reward if a == trial.action else trial.forgone[a]
            if not np.isnan(outcome):
                gain = variance[a] / (variance[a] + noise)
                mean[a] += gain * (outcome - mean[a])
                variance[a] = gain * noise  # (1 − k)·v, without the rounding of 1 − k
        for c in range(state.variance.shape[0]):
            for a in range(len(mean)):
                state.variance[c, a] += drift

    @staticmethod
    def observe(state, trial, theta, out):
        n = state.mean.shape[1]
        out[:n] = state.mean[trial.cell]
        for a in range(n):
            out[n + a] = math.sqrt(state.variance[trial.cell, a])
        out[-1] = trial.reward - state.mean[trial.cell, trial.action]


@dataclass(frozen=True, repr=False)
class KalmanUCB(KalmanMean):
    """p = softmax(β·(m + γ·√v)): what is uncertain is tried for that, or avoided if γ < 0.

    The upper confidence bound of a Kalman filter: Gershman (2018). γ is the parameter explore.

    >>> [parameter.name for parameter in KalmanUCB().parameters]
    ['noise', 'drift', 'beta', 'explore']
    """

    name = "kalman-ucb"
    title = "Kalman filter that prefers uncertain options (UCB)"
    phrase = "a Kalman filter with a softmax of upper confidence bounds"
    cites = ("gershman2018",)
    simpler = "kalman-mean"
    parameters = (
        *KalmanMean.parameters,
        Parameter("explore", -5.0, 5.0, default=0.0, neutral=0.0, smallest=0.2),
    )


@dataclass(frozen=True, repr=False)
class KalmanThompson(KalmanMean):
    """p_1 = Φ((m_1 − m_2)/√(v_1 + v_2)): the more uncertain, the more choices are random.

    Thompson sampling from a Kalman filter: Gershman (2018). With more than two actions, p_a is in
    proportion to the product of Φ((m_a − m_b)/√(v_a + v_b)) over the others on offer.

    >>> [parameter.name for parameter in KalmanThompson().parameters]
    ['noise', 'drift']
    """

    name = "kalman-thompson"
    title = "Kalman filter that explores more while it is uncertain (Thompson sampling)"
    phrase = "a Kalman filter with Thompson sampling"
    cites = ("gershman2018",)
    parameters = KalmanMean.parameters[:2]
    held: ClassVar[Mapping[str, float]] = {"beta": 0.0, "explore": 0.0, "thompson": 1.0}
