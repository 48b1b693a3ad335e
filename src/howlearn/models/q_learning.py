"""The Q-learning family: the value of an action moves towards what it earns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.core.world import callable_when_compiled, log_softmax, no_go_of
from howlearn.models.adjustments import Asymmetry, Attention, Forgetting, GoBias, Pavlovian
from howlearn.models.model import EVERY_TASK, Model

ALPHA = Parameter("alpha", 0.0, 1.0, default=0.3, scale=0.001)


def _beta(largest: float) -> Parameter:
    return Parameter("beta", 0.0, largest, default=min(5.0, largest), scale=0.2)


class ValuesState(NamedTuple):
    """What is known of every action, and of being in a cell."""

    values: NDArray[np.float64]  # [cell, action]: 0 at the start
    attention: NDArray[np.float64]  # [cell, action]: 1 at the start
    level: NDArray[np.float64]  # [cell]: what is earned there, whatever is done
    ends: NDArray[np.float64]  # of the rewards: lowest, highest


# What the functions of a value learner know besides its rates and β, with the values that leave it
# as it is: the parameters of the parts that it can carry (models/adjustments.py).
NEUTRAL = {
    "asymmetry": 0.0, "phi": 0.0, "fictive": 0.0, "attention": 0.0, "go_bias": 0.0,
    "pavlovian": 0.0,
}  # fmt: skip


FUNCTIONS = ("start", "log_policy", "update")
IN_LANES = {"alpha", "alpha_better", "alpha_worse", "phi", "start", "beta"}


@callable_when_compiled
def rate_of(error, theta):
    """The learning rate for a prediction error; asymmetry moves its logit up, and down."""
    alpha = theta.alpha_better if error > 0.0 else theta.alpha_worse
    if theta.asymmetry == 0.0:
        return alpha
    odds = np.exp(0.5 * theta.asymmetry if error > 0.0 else -0.5 * theta.asymmetry)
    return alpha * odds / (1.0 - alpha + alpha * odds)


@dataclass(frozen=True, repr=False)
class ValueLearner(Model):
    """A value for each action in every cell, 0 at the start; p = softmax(β·Q).

    Its functions know all parts that a value learner may have. Those that a model does not have are
    held at their neutral values, so that all such models share their compiled code.
    """

    max_beta: float = 50.0

    smooth = True
    simpler = "q-learning"
    latents = ("value(action)", "prediction_error")
    signed: ClassVar[Any] = False  # whether rewards count from the one that was recorded as 0
    before_beta: ClassVar[tuple[Parameter, ...]] = (ALPHA,)  # its parameters, in their order
    after_beta: ClassVar[tuple[Parameter, ...]] = ()

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.before_beta, _beta(self.max_beta), *self.after_beta)

    def reads(self, actions: Sequence[str], zero: float = 0.0) -> Mapping[str, str | float]:
        own = {parameter.name for parameter in self.parameters}
        rates = {name: name if name in own else "alpha" for name in ("alpha_better", "alpha_worse")}
        parts = {name: name if name in own else value for name, value in NEUTRAL.items()}
        no_go = no_go_of(actions)
        held = {"no_go": -1.0 if no_go is None else float(no_go), "zero": zero * self.signed}
        start = (
            {"start": "start", "starts": 1.0} if "start" in own else {"start": 0.0, "starts": 0.0}
        )
        return {**rates, "beta": "beta", **parts, **held, **start}

    @property
    def kernel(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The loops in vector lanes know these parameters, and no functions of a user."""
        own = {parameter.name for parameter in self.parameters}
        same = all(getattr(type(self), f) is getattr(ValueLearner, f) for f in FUNCTIONS)
        return "values" if same and own <= IN_LANES else ""

    sticky_kernel = kernel

    @property
    def carries(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        own = {parameter.name for parameter in self.parameters}
        return frozenset(NEUTRAL) - own - ({"asymmetry"} if "alpha" not in own else set())

    def carrying(self, parts: Sequence[Parameter]) -> Model:
        return Carrying(self.max_beta, base=self, added=tuple(parts)) if parts else self

    @staticmethod
    def start(world):
        shape = (world.n_cells, world.n_actions)
        ends = np.array([world.lowest, world.highest])
        return ValuesState(np.zeros(shape), np.ones(shape), np.zeros(world.n_cells), ends)

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state.values[shown.cell, a]
        if theta.no_go >= 0.0:
            go = theta.go_bias + theta.beta * theta.pavlovian * state.level[shown.cell]
            for a in range(len(out)):
                out[a] += 0.0 if a == theta.no_go else go
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        q, attention = state.values[trial.cell], state.attention[trial.cell]
        low, high = state.ends
        # Values are kept relative to where they start.
        zero = theta.zero + theta.starts * (low + theta.start * (high - low))
        for a in range(len(q)):
            outcome = (trial.reward if a == trial.action else trial.forgone[a]) - zero
            if np.isnan(outcome):
                if theta.fictive > 0.0 and trial.offered[a]:
                    error = low + high - trial.reward - zero - q[a]
                    q[a] += theta.fictive * rate_of(error, theta) * error
                q[a] *= 1.0 - theta.phi
                continue
            error = outcome - q[a]
            rate = rate_of(error, theta)
            if theta.attention > 0.0:
                rate *= attention[a]
                surprise = min(1.0, abs(error) / (high - low))
                attention[a] += theta.attention * (surprise - attention[a])
            q[a] += rate * error
        error = trial.reward - theta.zero - state.level[trial.cell]
        state.level[trial.cell] += rate_of(error, theta) * error

    @staticmethod
    def observe(state, trial, theta, out):
        q, n = state.values[trial.cell], state.values.shape[1]
        low, high = state.ends
        started = theta.starts * (low + theta.start * (high - low))
        out[:n] = q + started
        if len(out) == n + 2:
            out[n] = state.level[trial.cell]
        elif len(out) > n + 1:
            out[n:-1] = state.attention[trial.cell]
        out[-1] = trial.reward - theta.zero - started - q[trial.action]


@dataclass(frozen=True, repr=False)
class Carrying(ValueLearner):
    """A value learner that reads the parameters of parts besides its own."""

    base: Model = field(kw_only=True)
    added: tuple[Parameter, ...] = field(kw_only=True)
    smooth = False

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.name

    @property
    def latents(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.latents

    @property
    def signed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return getattr(self.base, "signed", False)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*self.base.parameters, *self.added)


@dataclass(frozen=True, repr=False)
class QLearning(ValueLearner):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action, p = softmax(β·Q), Q = 0 at the start.

    The Rescorla–Wagner rule with a softmax policy: Rescorla & Wagner (1972); Sutton & Barto (2018),
    sections 2.4 and 2.8. Where forgone outcomes are known, the other actions learn from theirs.

    >>> [parameter.name for parameter in QLearning().parameters]
    ['alpha', 'beta']
    """

    name = "q-learning"
    title = "Q-learning: learns action values from prediction errors"
    phrase = "Q-learning with a softmax policy"
    simpler = ""
    cites = ("rescorla1972", "sutton2018")
    default_for = frozenset({EVERY_TASK})


# Value learners with parts, by the names of the field.


@dataclass(frozen=True, repr=False)
class QLearningTwoRates(ValueLearner):
    """Q_a ← Q_a + α·δ with δ = r − Q_a, α = α_better if δ > 0 and α_worse if δ < 0.

    p = softmax(β·Q), Q = 0 at the start: Frank, Moustafa, Haughey, Curran & Hutchison (2007);
    Lefebvre, Lebreton, Meyniel, Bourgeois-Gironde & Palminteri (2017). Where forgone outcomes are
    known, the other actions learn from theirs, by the sign of their own δ.

    >>> [parameter.name for parameter in QLearningTwoRates().parameters]
    ['alpha_better', 'alpha_worse', 'beta']
    """

    name = "q-two-rates"
    title = "Q-learning with separate rates for good and bad surprises"
    phrase = "Q-learning with two learning rates"
    cites = ("frank2007",)
    default_for = frozenset({"reversal", "probabilistic selection"})
    before_beta = (
        Parameter("alpha_better", 0.0, 1.0, default=0.3, scale=0.001),
        Parameter(
            "alpha_worse", 0.0, 1.0, default=0.1, scale=0.001, neutral="alpha_better",
            smallest=Asymmetry.parameter.smallest,
        ),
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class QLearningForgetting(ValueLearner):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action, Q_a ← (1 − φ)·Q_a for the others.

    p = softmax(β·Q), Q = 0 at the start. Values fade to 0 with their own rate: the DF-Q model
    of Ito & Doya (2009), whose F-Q model has φ = α; Niv et al. (2015) let the values of features
    fade so. Only the values of the current cell fade, and where the forgone outcome of an action is
    known, the action learns from it instead.

    >>> [parameter.name for parameter in QLearningForgetting().parameters]
    ['alpha', 'phi', 'beta']
    """

    name = "q-forgetting"
    title = "Q-learning that forgets the values of unchosen actions"
    phrase = "Q-learning with forgetting"
    cites = ("ito2009",)
    default_for = frozenset({EVERY_TASK})
    before_beta = (ALPHA, replace(Forgetting.parameter, default=0.1))


@dataclass(frozen=True, repr=False)
class QLearningStart(ValueLearner):
    """Q_a ← Q_a + α·(r − Q_a) for the chosen action; Q starts between all rewards.

    At the lowest reward (start = 0) or at the highest (1): whoever expects much of an option not
    tried yet explores more. Sutton & Barto (2018), section 2.6.

    >>> [parameter.name for parameter in QLearningStart().parameters]
    ['alpha', 'start', 'beta']
    """

    name = "q-start"
    title = "Q-learning with its own expectation of options not tried yet"
    phrase = "Q-learning with a free starting value"
    cites = ("sutton2018",)
    default_for = frozenset(
        {"bandit", "reversal", "contextual learning", "probabilistic selection"}
    )
    before_beta = (ALPHA, Parameter("start", 0.0, 1.0, default=0.5, smallest=0.15))

    def neutral(self, parameter: Parameter, rewards: tuple[float, float]) -> float | str:
        at_0 = -rewards[0] / (rewards[1] - rewards[0])  # where q-learning starts
        return at_0 if parameter.name == "start" else parameter.neutral


@dataclass(frozen=True, repr=False)
class QLearningSigned(ValueLearner):
    """Q_a ← Q_a + α·(u − Q_a) for the chosen action, where u is r minus what was recorded as 0.

    p = softmax(β·Q), Q = 0 at the start: an option that was not tried is worth neither a gain nor a
    loss. Where rewards were recorded from 0 it is q-learning; where they were stretched from −1150
    to 100 to lie between 0 and 1, values of q-learning start at the largest loss, and those of this
    model at 0 points. Sutton & Barto (2018), section 2.8.

    >>> [parameter.name for parameter in QLearningSigned().parameters]
    ['alpha', 'beta']
    """

    name = "q-signed"
    title = "Q-learning that expects 0 points of an option not tried yet"
    phrase = "Q-learning of gains and losses, with values that start at 0"
    cites = ("rescorla1972", "sutton2018")
    default_for = frozenset({"gambling with gains and losses"})
    signed = True


@dataclass(frozen=True, repr=False)
class PearceHall(ValueLearner):
    """Q_a ← Q_a + α·A_a·δ with δ = r − Q_a; then A_a ← A_a + η·(|δ| − A_a): surprise speeds up.

    p = softmax(β·Q), Q = 0 and attention A = 1 at the start; η is the parameter attention, and |δ|
    counts in shares of the rewards' range, at most 1. Pearce & Hall (1980), as the hybrid with a
    prediction error of Li, Schiller, Schoenbaum, Phelps & Daw (2011).

    >>> [parameter.name for parameter in PearceHall().parameters]
    ['alpha', 'attention', 'beta']
    """

    name = "pearce-hall"
    title = "Q-learning that is faster after surprising outcomes"
    phrase = "Q-learning with Pearce–Hall attention"
    cites = ("pearce1980", "li2011")
    default_for = frozenset({"reversal"})
    latents = ("value(action)", "attention(action)", "prediction_error")
    before_beta = (ALPHA, replace(Attention.parameter, default=0.3))


@dataclass(frozen=True, repr=False)
class GoNoGo(ValueLearner):
    """p = softmax(β·(Q + π·V·1{go}) + b·1{go}): a bias to act, and more so where much is earned.

    Q_a ← Q_a + α·(r − Q_a) for the chosen action, and V ← V + α·(r − V) for the cell, whatever was
    done; both are 0 at the start. π is the Pavlovian bias, b the go bias; every action but the one
    that is called nogo is go. With +lapse it is the best model of Guitart-Masip et al. (2012).

    >>> [parameter.name for parameter in GoNoGo().parameters]
    ['alpha', 'beta', 'go_bias', 'pavlovian']
    """

    name = "go-no-go"
    title = "Q-learning with a bias to act, stronger where rewards are expected"
    phrase = "Q-learning with a go bias and a Pavlovian bias"
    cites = ("guitart2012",)
    latents = ("value(action)", "state_value", "prediction_error")
    needs = frozenset({"no-go"})
    default_for = frozenset({"go/no-go"})
    after_beta = (GoBias.parameter, Pavlovian.parameter)


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
    title = "Q-learning with a tendency to repeat (or avoid) earlier choices"
    phrase = "Q-learning with a choice kernel"
    simpler = "q-learning"
    cites = ("wilson2019",)
    latents = ("value(action)", "kernel(action)", "prediction_error")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (
            ALPHA,
            _beta(self.max_beta),
            Parameter("tau", 0.0, 1.0, default=0.3, scale=0.1),
            Parameter("kappa", -10.0, 10.0, default=1.0, neutral=0.0, smallest=0.5),
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
