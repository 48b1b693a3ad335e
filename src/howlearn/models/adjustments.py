"""What changes the choices of any model, without changing what it learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry
from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.models.model import Model


@dataclass(frozen=True)
class Adjustment(ABC):
    """A change of the policy, with parameters that all cells share and, if need be, a state.

    ``start(world)`` gives the state, ``adjust(state, shown, theta, out)`` changes log-probabilities
    in place (of actions that are not on offer they are −∞ before and afterwards), ``update(state,
    trial, theta)`` the state; here ``theta`` is an array.
    """

    registry: ClassVar[Registry[Any]] = Registry("adjustment")
    name: ClassVar[str]
    title: ClassVar[str]
    phrase: ClassVar[str] = ""  # what it is in the methods section; else the title
    cites: ClassVar[tuple[str, ...]] = ()  # keys of references.toml, or citations as they are
    adjust: ClassVar[Callable[..., None]]

    @staticmethod
    def start(world):
        return np.zeros(0)

    @staticmethod
    def update(state, trial, theta):
        return  # without a state there is nothing to update

    @abstractmethod
    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        """Its parameters; their defaults leave the model as it is."""

    def __radd__(self, model: Model) -> Adjusted:
        return Adjusted(model.unadjusted, (*model.adjustments, self))


@dataclass(frozen=True, repr=False)
class Adjusted(Model):
    """A model with adjustments, such as ``ByShape+lapse``; they are fitted together.

    >>> from howlearn.models.q_learning import QLearning
    >>> (QLearning() + Lapse()).name
    'q-learning+lapse'
    """

    base: Model
    adjustments: tuple[Adjustment, ...] = field()
    cells = "none"

    def __post_init__(self) -> None:
        if self.base.not_adjusted:
            raise HowlearnError(f"{self.name}: {self.base.not_adjusted}")
        names = [adjustment.name for adjustment in self.adjustments]
        if len(set(names)) < len(names):
            raise HowlearnError(f"{self.name}: an adjustment can be made once only")

    @cached_property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "+".join([self.base.name, *(adjustment.name for adjustment in self.adjustments)])

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.needs

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        mine = [("all", p) for each in self.adjustments for p in each.parameters(actions)]
        return (*self.base.owners(actions), *mine)

    @property
    def unadjusted(self) -> Model:
        return self.base

    @property
    def parts(self) -> tuple[Model, ...]:
        return (self.base,)

    @property
    def fitted_first(self) -> tuple[Model, ...]:
        return (self.base,)

    @property
    def in_words(self) -> str:
        return ", ".join([self.base.in_words, *(each.title for each in self.adjustments)])

    def describe(self) -> dict[str, Any]:
        return {**self.base.describe(), "name": self.name}

    def check_covers(self, contexts: Sequence[str]) -> None:
        self.base.check_covers(contexts)

    @property
    def has_max_rate(self) -> bool:
        return self.base.has_max_rate

    def with_max_rate(self, bound: float) -> Adjusted:
        base = self.base.with_max_rate(bound)
        return self if base is self.base else replace(self, base=base)


# Lapses: now and then a choice has nothing to do with what was learned.


class Lapse(Adjustment):
    """p ← (1 − λ)·p + λ/K for K actions on offer.

    Wichmann & Hill (2001).

    >>> [parameter.name for parameter in Lapse().parameters(["A", "B"])]
    ['lapse']
    """

    name = "lapse"
    title = "some choices are made at random"
    phrase = "lapses"
    cites = ("wichmann2001",)

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (Parameter("lapse", 0.0, 1.0, default=0.0, scale=0.05),)

    @staticmethod
    def adjust(state, shown, theta, out):
        lapse, n = theta[0], shown.n_offered
        if lapse > 0.0:
            for a in range(len(out)):  # what is not on offer is left out afterwards
                out[a] = np.log((1.0 - lapse) * np.exp(out[a]) + lapse / n)


# Bias: some actions are preferred whatever they earn.


class Bias(Adjustment):
    """log p_a ← log p_a + b_a, normalised; b = 0 for the last action.

    >>> [parameter.name for parameter in Bias().parameters(["A", "B", "C"])]
    ['bias(A)', 'bias(B)']
    """

    name = "bias"
    title = "some actions are preferred whatever they earn"
    phrase = "a bias towards some actions"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return tuple(Parameter(f"bias({a})", -5.0, 5.0, default=0.0) for a in actions[:-1])

    @staticmethod
    def adjust(state, shown, theta, out):
        for a in range(len(out) - 1):
            out[a] += theta[a]
        log_softmax(out)


# Stickiness: the last choice is repeated, or avoided, whatever it earned.


class Stickiness(Adjustment):
    """log p_a ← log p_a + κ·1{a was chosen on the trial before}, normalised, in whatever context.

    Schönberg, Daw, Joel & O'Doherty (2007).

    >>> [parameter.name for parameter in Stickiness().parameters(["A", "B"])]
    ['stickiness']
    """

    name = "stickiness"
    title = "the last choice is repeated, or avoided, whatever it earned"
    phrase = "stickiness"
    cites = ("schonberg2007",)

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (Parameter("stickiness", -5.0, 5.0, default=0.0),)

    @staticmethod
    def start(world):
        return np.full(1, -1)  # the action chosen last

    @staticmethod
    def adjust(state, shown, theta, out):
        if state[0] >= 0:
            out[state[0]] += theta[0]
            log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state[0] = trial.action
