"""Parts that are put on models: what changes the choices of any, or how values are learned."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry
from howlearn.core.rule import Parameter, Size
from howlearn.core.world import log_softmax
from howlearn.models.model import Model, sized

BASES = ("delta rule", "gradient bandit")


@dataclass(frozen=True)
class Part(ABC):
    """Something that a model may have or not, with parameters that all cells share."""

    registry: ClassVar[Registry[Any]] = Registry("adjustment")
    name: ClassVar[str]
    title: ClassVar[str]  # one plain sentence
    phrase: ClassVar[str] = ""  # what it is in the methods section; else the title
    cites: ClassVar[tuple[str, ...]] = ()  # keys of references.toml, or citations as they are
    needs: ClassVar[frozenset[str]] = frozenset()  # of what the data must tell: see NEEDS
    learns: ClassVar[bool] = False  # whether it changes what is learned, not only the choices
    # Whether the bandit that learns about every context competes with it, too, by default
    by_default: ClassVar[bool] = False
    # As a mechanism that people show or not (``howlearn mechanisms``):
    effect: ClassVar[Size | None] = None  # None: it is not one
    listed: ClassVar[bool] = False  # whether it is by default, where the data tell what it needs
    bases: ClassVar[tuple[str, ...]] = BASES  # what it can be put on
    only_with: ClassVar[tuple[str, ...]] = ()  # each passes for it: without them it is not told
    passes_for: ClassVar[tuple[str, ...]] = ()  # what it looks like where it is not listed
    excludes: ClassVar[tuple[str, ...]] = ()  # parts that it cannot be told from
    from_trials: ClassVar[int] = 0  # with fewer, it is told of all or none, and of nobody alone
    in_words: ClassVar[str] = ""  # what people do who show it, after "people": else the title

    @abstractmethod
    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        """Its parameters; their defaults are neutral: they leave the model as it is."""

    def _neutral_at_0(
        self, name: str, lower: float, upper: float, scale: float = math.nan
    ) -> Parameter:
        smallest = math.nan if self.effect is None else self.effect.smallest
        return Parameter(name, lower, upper, 0.0, scale, neutral=0.0, smallest=smallest)

    def __radd__(self, model: Model) -> Adjusted:
        return Adjusted(model.unadjusted, (*model.adjustments, self))


class Adjustment(Part):
    """A change of the policy of any model, if need be with a state.

    ``start(world)`` gives the state, ``adjust(state, shown, theta, out)`` changes log-probabilities
    in place (of actions that are not on offer they are −∞ before and afterwards), ``update(state,
    trial, theta)`` the state; here ``theta`` is an array.
    """

    adjust: ClassVar[Callable[..., None]]

    @staticmethod
    def start(world) -> Any:
        return np.zeros(0)

    @staticmethod
    def update(state, trial, theta):
        return  # without a state there is nothing to update


class LearningPart(Part):
    """A change of how values are learned: one parameter, which the base's own functions read."""

    learns = True
    parameter: ClassVar[Parameter]

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (self.parameter,)


@dataclass(frozen=True, repr=False)
class Adjusted(Model):
    """A model with parts, such as ``ByShape+lapse``; they are fitted together.

    >>> from howlearn.models.q_learning import QLearning
    >>> (QLearning() + Lapse()).name
    'q-learning+lapse'
    """

    base: Model
    adjustments: tuple[Part, ...] = field()
    cells = "none"

    def __post_init__(self) -> None:
        if self.base.not_adjusted:
            raise HowlearnError(f"{self.name}: {self.base.not_adjusted}")
        names = [adjustment.name for adjustment in self.adjustments]
        if len(set(names)) < len(names):
            raise HowlearnError(f"{self.name}: each adjustment can be added only once")
        for part in self.adjustments:
            if isinstance(part, LearningPart) and part.parameter.name not in self.base.carries:
                goes = ", ".join(_carriers(part)) or "howlearn mechanisms only"
                raise HowlearnError(
                    f"{self.name}: +{part.name} ({part.title}) cannot be put on {self.base.name}, "
                    f"which learns no values of this kind, or has it already; it goes with {goes}"
                )

    @cached_property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "+".join([self.base.name, *(adjustment.name for adjustment in self.adjustments)])

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.needs.union(*(part.needs for part in self.adjustments))

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        ordered = sorted(self.adjustments, key=lambda part: not part.learns)
        mine = [("all", p) for each in ordered for p in each.parameters(actions)]
        return (*self.base.owners(actions), *mine)

    @property
    def unadjusted(self) -> Model:
        return self.base

    def contains(self, other: Model, actions: Sequence[str]) -> tuple[str, ...]:
        held: tuple[str, ...] = ()
        if not self.base.repeats(other.unadjusted):
            held = self.base.contains(other.unadjusted, actions)
            if not held:
                return ()
        theirs = {part.name for part in other.adjustments}
        if not theirs <= {part.name for part in self.adjustments}:
            return ()
        for part in self.adjustments:
            if part.name not in theirs:
                mine = sized(part.parameters(actions))
                if not mine:  # of a part of the user's own nobody says how much of it is little
                    return ()
                held += mine
        return held

    def neutral(self, parameter: Parameter, rewards: tuple[float, float]) -> float | str:
        return self.base.neutral(parameter, rewards)

    @property
    def parts(self) -> tuple[Model, ...]:
        return (self.base,)

    @property
    def fitted_first(self) -> tuple[Model, ...]:
        return (self.base,)

    @property
    def in_words(self) -> str:
        return "; ".join([self.base.in_words, *(each.title for each in self.adjustments)])

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


def _carriers(part: LearningPart) -> list[str]:
    """The names of the models that can have a part."""
    made = {name: kind.for_features(0) for name, kind in Model.registry.items()}
    return [name for name, model in made.items() if part.parameter.name in model.carries]


# Lapses: now and then a choice has nothing to do with what was learned.


class Lapse(Adjustment):
    """p ← (1 − λ)·p + λ/K for K actions on offer.

    Wichmann & Hill (2001).

    >>> [parameter.name for parameter in Lapse().parameters(["A", "B"])]
    ['lapse']
    """

    name = "lapse"
    title = "makes some choices at random"
    phrase = "lapses"
    cites = ("wichmann2001",)
    effect = Size("share", 0.08, 0.6, 0.04, 0.6, smallest=0.04)
    listed = True
    passes_for = ("asymmetry",)
    from_trials = 400
    in_words = "lapse: some of their choices are made at random"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (self._neutral_at_0("lapse", 0.0, 1.0, scale=0.05),)

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
    title = "prefers some actions whatever they earn"
    phrase = "a bias towards some actions"
    effect = Size("vector", 0.5, 0.5, 0.25, 0.5, smallest=0.25)
    listed = True
    passes_for = ("asymmetry", "forgetting", "fictive")
    in_words = "prefer some actions whatever they earn"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return tuple(self._neutral_at_0(f"bias({a})", -5.0, 5.0) for a in actions[:-1])

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
    title = "tends to repeat (or avoid) the last choice"
    phrase = "stickiness"
    cites = ("schonberg2007",)
    by_default = True
    effect = Size("signed", 0.6, 0.5, 0.35, 0.5, smallest=0.3)
    listed = True
    passes_for = ("asymmetry", "forgetting", "fictive")
    in_words = "repeat (or avoid) their last choice, whatever it earned"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (self._neutral_at_0("stickiness", -5.0, 5.0),)

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


# A choice trace: what was often chosen is chosen again, whatever it earned.


class ChoiceTrace(Adjustment):
    """log p_a ← log p_a + κ·C_a, normalised, with C_a ← C_a + τ·(1{a was chosen} − C_a).

    C = 0 at the start, in every cell: Wilson & Collins (2019), model 4. Stickiness remembers one
    choice in whatever context, a trace many of them in the same one.

    >>> [parameter.name for parameter in ChoiceTrace().parameters(["A", "B"])]
    ['trace', 'trace_rate']
    """

    name = "trace"
    title = "tends to repeat (or avoid) frequent recent choices"
    phrase = "a choice trace"
    cites = ("wilson2019",)
    effect = Size("signed", 1.2, 0.5, 0.6, 0.5, smallest=0.5)
    passes_for = ("stickiness", "asymmetry", "forgetting", "fictive", "bias")
    in_words = "repeat (or avoid) what they chose often recently, whatever it earned"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        rate = Parameter("trace_rate", 0.0, 1.0, default=0.3, scale=0.1)
        return self._neutral_at_0("trace", -10.0, 10.0), rate

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def adjust(state, shown, theta, out):
        for a in range(len(out)):
            out[a] += theta[0] * state[shown.cell, a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        for a in range(state.shape[1]):
            chosen = 1.0 if a == trial.action else 0.0
            state[trial.cell, a] += theta[1] * (chosen - state[trial.cell, a])


# How values are learned: ValueLearner in models/q_learning.py has the formulas as code.


class Asymmetry(LearningPart):
    """logit α + δ/2 is the logit of the rate where r > Q, and logit α − δ/2 where r < Q.

    Frank et al. (2007) and Lefebvre et al. (2017) have a rate for each: q-two-rates.
    """

    name = "asymmetry"
    title = "learns at different rates from good and bad surprises"
    phrase = "an asymmetry between better and worse than expected"
    cites = ("frank2007",)
    effect = Size("signed", 0.9, 0.4, 0.5, 0.45, smallest=0.4)
    parameter = Parameter(
        "asymmetry", -6.0, 6.0, default=0.0, neutral=0.0, smallest=effect.smallest
    )
    listed = True
    bases = ("delta rule",)
    only_with = ("forgetting", "stickiness", "bias", "lapse")
    from_trials = 400
    in_words = "learn more (or less) from what is better than expected than from what is worse"


class Forgetting(LearningPart):
    """Q_a ← (1 − φ)·Q_a for the actions in the cell whose outcome was not seen.

    Ito & Doya (2009).
    """

    name = "forgetting"
    title = "forgets the values of unchosen actions"
    phrase = "forgetting"
    cites = ("ito2009",)
    effect = Size("share", 0.1, 0.7, 0.04, 0.7, smallest=0.05)
    parameter = Parameter(
        "phi", 0.0, 1.0, default=0.0, scale=0.1, neutral=0.0, smallest=effect.smallest
    )
    listed = True
    passes_for = ("asymmetry", "fictive")
    in_words = "forget what they did not just try"


class Fictive(LearningPart):
    """Q_a ← Q_a + f·α·(lowest + highest − r − Q_a) for the other actions on offer.

    They learn as if they had earned the opposite: Gläscher, Hampton & O'Doherty (2009).
    """

    name = "fictive"
    title = "updates unchosen actions as if they had earned the opposite"
    phrase = "fictive updating of the actions that were not chosen"
    cites = ("glascher2009",)
    effect = Size("share", 0.5, 0.7, 0.25, 0.7, smallest=0.15)  # Gläscher: 1
    parameter = Parameter("fictive", 0.0, 1.0, default=0.0, neutral=0.0, smallest=effect.smallest)
    bases = ("delta rule",)
    passes_for = ("forgetting", "asymmetry")
    listed = True
    in_words = "learn about actions they did not choose as if these had earned the opposite"


class Attention(LearningPart):
    """The rate is α·A_a with A_a ← A_a + η·(|δ| − A_a), A = 1 at the start.

    Pearce & Hall (1980), Li et al. (2011); q-learning with it is pearce-hall.
    """

    name = "attention"
    title = "learns faster after surprising outcomes"
    phrase = "Pearce–Hall attention"
    cites = ("pearce1980", "li2011")
    effect = Size("share", 0.3, 0.7, 0.1, 0.7, smallest=0.15)
    parameter = Parameter("attention", 0.0, 1.0, default=0.0, neutral=0.0, smallest=effect.smallest)
    bases = ("delta rule",)
    passes_for = ("asymmetry", "forgetting", "fictive")
    in_words = "learn faster where recent outcomes were surprising"


class GoBias(LearningPart):
    """β·Q_a + b for every action but the one that is called nogo: Guitart-Masip et al. (2012)."""

    name = "go-bias"
    title = "prefers (or avoids) to respond, whatever it earns"
    phrase = "a go bias"
    cites = ("guitart2012",)
    needs = frozenset({"no-go"})
    parameter = Parameter("go_bias", -5.0, 5.0, default=0.0, neutral=0.0, smallest=0.25)


class Pavlovian(LearningPart):
    """β·(Q_a + π·V) for every action but nogo, V ← V + α·(r − V) for the cell, whatever was done.

    Guitart-Masip et al. (2012).
    """

    name = "pavlovian"
    title = "responds more where rewards are expected, less where losses are"
    phrase = "a Pavlovian bias"
    cites = ("guitart2012",)
    needs = frozenset({"no-go", "losses"})
    effect = Size("signed", 1.0, 0.6, 0.4, 0.6, smallest=0.4)
    parameter = Parameter(
        "pavlovian", -5.0, 5.0, default=0.0, neutral=0.0, smallest=effect.smallest
    )
    listed = True
    bases = ("delta rule",)
    passes_for = ("bias",)
    in_words = "respond more where they expect gains than where they expect losses (or less)"
