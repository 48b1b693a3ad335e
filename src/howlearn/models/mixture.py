"""What mixtures of strategies share: experts, where their parameters come from, weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry
from howlearn.core.rule import Parameter
from howlearn.core.study import Study
from howlearn.models.model import ONLY_EXPERTS, Model, bounds_of
from howlearn.models.values import parameter_values

# Expert: a strategy in a mixture.


@dataclass(frozen=True)
class Expert:
    """A strategy: a model, and its parameters where they are given.

    >>> from howlearn.models.partition_model import candidates
    >>> Expert(candidates(["1", "2"])[1], {"eta": [0.01, 0.03]}).name
    'OnePerItem[eta=0.01/0.03]'
    """

    model: Model
    given: Mapping[str, float | Sequence[float]] | tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.model, type) and issubclass(self.model, Model):
            raise HowlearnError(
                f"{self.model.__name__} is a class; give a model, {self.model.__name__}()"
            )
        if not isinstance(self.model, Model):
            raise HowlearnError(f"an expert must be a model, got {self.model!r}")
        if not isinstance(self.given, Mapping | tuple):
            raise HowlearnError(
                f"expert {self.model.name}: parameters are given by name, as in "
                f"{{'eta': 0.03}}, not as {self.given!r}"
            )
        if isinstance(self.given, Mapping):
            fixed = tuple((name, self._numbers(name, v)) for name, v in self.given.items())
            object.__setattr__(self, "given", fixed)

    def _numbers(self, name: str, value: object) -> tuple[float, ...]:
        try:
            return tuple(np.atleast_1d(np.asarray(value, dtype=float)).tolist())
        except (TypeError, ValueError):
            raise HowlearnError(
                f"expert {self.model.name}: {name} must be a number, or one per cell, got {value!r}"
            ) from None

    @property
    def fixed(self) -> dict[str, list[float]]:
        """What is given, by parameter: one value, or one per cell."""
        return {name: [*values] for name, values in self.given}  # pyright: ignore

    @cached_property
    def name(self) -> str:
        """The model's, with what is given in brackets."""
        texts = [f"{k}={'/'.join(map(_short, v))}" for k, v in self.fixed.items()]
        return self.model.name + (f"[{', '.join(texts)}]" if texts else "")

    def describe(self) -> dict[str, Any]:
        """Its model and what is given, for a manifest."""
        return {**self.model.describe(), **({"given": self.fixed} if self.given else {})}

    @property
    def fitted(self) -> bool:
        """Whether its parameters are still to be found."""
        return not self.given and not self.model.fixed

    def parameters(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        """What is still to be found: every parameter with its cell; none where they are given."""
        return () if self.given else self.model.owners(actions)

    def values(self, actions: Sequence[str]) -> Floats:
        """The given parameters, checked, in the order of the model's own."""
        if not self.given:
            return np.empty(0)
        try:
            found = parameter_values(self.model, self.fixed, actions)
        except HowlearnError as error:
            raise HowlearnError(f"expert {self.name}: {error}") from None
        return np.array(found, dtype=float)

    @property
    def meaning(self) -> object:
        """What decides its advice: two experts that mean the same are one, whatever their names."""
        one = {k: v[:1] if len(set(v)) == 1 else v for k, v in self.fixed.items()}
        return self.model.meaning, one


def _short(value: float) -> str:
    """Short, and exact: two experts never have the same text."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


Source = Literal["training", "joint", "population"]
SOURCES: dict[str, str] = {
    "training": "each strategy fitted separately; counted as parameters",
    "joint": "all strategies fitted together with the mixture; counted as parameters",
    "population": "the median of the other learners' estimates; not counted",
}


@dataclass(frozen=True, repr=False)
class Mixture(Model, ABC):
    """Strategies that all see the learner's choices and rewards, and weights that say who chooses.

    The strategies of the ``experts`` have parameters that are given, or come from the ``source``.
    """

    experts: tuple[Expert, ...] = field()
    source: Source = "training"
    label: str = ""  # a name in place of the usual one
    # With source "population": for every learner the parameters that are not given, and under ""
    # those of anybody else.
    of_others: Mapping[str, Floats] | None = field(default=None, compare=False, kw_only=True)
    origin: str = field(default="", compare=False, kw_only=True)  # of these, in words

    registry: ClassVar[Registry[Any]] = Registry("mixture", key="kind")
    kind: ClassVar[str]  # as it is typed
    allowed: ClassVar[tuple[str, ...]] = ("source",)  # what may be set where it is typed
    # Its own parameter, none where there is nothing to mix; for how many it counts in D.
    own: ClassVar[Any] = ()
    counts: ClassVar[int] = 1
    rough: ClassVar[Any] = False  # whether its likelihood has many tops
    profiled: ClassVar[bool]  # whether its own parameter is found again for any advice, exactly
    cells = "none"
    way = "mixture"
    not_adjusted = ONLY_EXPERTS

    def __post_init__(self) -> None:
        given = [self.experts] if isinstance(self.experts, Model | Expert) else self.experts
        if not isinstance(given, Iterable) or isinstance(given, str):
            raise HowlearnError(f"{self.kind} needs a list of experts, got {given!r}")
        experts = tuple(e if isinstance(e, Expert) else Expert(_named(e)) for e in given)
        object.__setattr__(self, "experts", experts)
        if not experts:
            raise HowlearnError(
                f"{self.kind} has no experts; name some, such as {self.kind}(ByShape, ByShapeExc)"
            )
        if self.source not in SOURCES:
            raise HowlearnError(
                f"{self.name}: the parameters of experts come from {', '.join(SOURCES)}, not from "
                f"{self.source!r}"
            )
        for expert in experts:
            if expert.model.experts:
                raise HowlearnError(
                    f"{self.name}: {expert.name} is itself a mixture, and cannot be an expert of "
                    f"another mixture"
                )
        if not any(expert.fitted for expert in experts):
            object.__setattr__(self, "source", "training")  # there is nothing left to find
        if self.joint:
            self._refuse_open_coins()
        self._refuse_identical([expert.meaning for expert in experts])

    def _refuse_open_coins(self) -> None:
        """The probabilities of a coin add up to 1, which a joint search does not know."""
        for expert in self.experts:
            if expert.fitted and expert.model.adds_up:
                raise HowlearnError(
                    f"{self.name}: the probabilities of a coin cannot be fitted jointly; give "
                    "them, as in Coin[p(A)=0.5] for an action A, or use source=training"
                )

    def _refuse_identical(self, meanings: Sequence[object]) -> None:
        for k, meaning in enumerate(meanings):
            if meaning in meanings[:k]:
                one, other = self.experts[meanings.index(meaning)].name, self.experts[k].name
                same = f"{one} twice" if one == other else f"{one} and {other}, which are the same"
                raise HowlearnError(f"{self.name}: two experts are identical: {same}")

    @classmethod
    def of(cls, experts: Sequence[Expert], settings: Mapping[str, Any]) -> Mixture:
        """The mixture of these experts, with what was set."""
        return cls(tuple(experts), **settings)

    def check_given(self, actions: Sequence[str]) -> None:
        """Refuse given parameters that cannot be, now that the actions are known."""
        given = [expert.values(actions).tolist() for expert in self.experts]
        meanings = [(expert.model.meaning, expert.fitted) for expert in self.experts]
        self._refuse_identical([*zip(meanings, given, strict=True)])

    @property
    def parts(self) -> tuple[Model, ...]:
        return tuple(expert.model for expert in self.experts)

    @property
    def fitted_first(self) -> tuple[Model, ...]:
        known = self.source == "population"
        return () if known else tuple(e.model for e in self.experts if e.fitted)

    @property
    def joint(self) -> bool:
        """Whether the strategies are fitted together with the mixture."""
        return self.source == "joint"

    @property
    def asks_others(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the experts' parameters are still to come from other learners."""
        told = self.source != "population" or self.of_others is not None
        return not told and any(expert.fitted for expert in self.experts)

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "experts": [expert.describe() for expert in self.experts],
            "parameters_from": self.parameters_from,
            "bounds": bounds_of(self.own),
        }

    @property
    def has_max_rate(self) -> bool:
        return any(expert.model.has_max_rate for expert in self.experts)

    def with_max_rate(self, bound: float) -> Mixture:
        # Its strategies are models like the others; its own rate stays as it is.
        found = [expert.model.with_max_rate(bound) for expert in self.experts]
        pairs = [*zip(self.experts, found, strict=True)]
        if all(model is expert.model for expert, model in pairs):
            return self
        return self._with(experts=tuple(replace(e, model=model) for e, model in pairs))

    def is_like(self, other: Model) -> bool:
        """Whether two mixtures are one, whatever their names and the order of their experts."""
        if not isinstance(other, Mixture):
            return False
        mine, theirs = ([e.meaning for e in each.experts] for each in (self, other))
        same = (self.kind, self.settings) == (other.kind, other.settings)
        return same and len(mine) == len(theirs) and all(each in theirs for each in mine)

    @cached_property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.label or f"{self.kind}({', '.join([*self._names, *self.settings])})"

    @property
    def settings(self) -> tuple[str, ...]:
        """What differs from the usual, as in a text that names the model."""
        return () if self.source == "training" else (f"source={self.source}",)

    @property
    def _names(self) -> list[str]:
        return [expert.name for expert in self.experts]

    @cached_property
    def strategies(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The experts' names, without what is given where that is not needed."""
        short = [expert.model.name for expert in self.experts]
        return tuple(
            name if short.count(name) == 1 else long
            for name, long in zip(short, self._names, strict=True)
        )

    @property
    def latents(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(f"weight({name})" for name in self.strategies)

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset(need for expert in self.experts for need in expert.model.needs)

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        theirs = [
            (f"{name}: {cell}", parameter)
            for name, expert in zip(self.strategies, self.experts, strict=True)
            for cell, parameter in expert.parameters(actions)
        ]
        return (*(("all", parameter) for parameter in self.own), *theirs)

    def n_parameters(self, n_actions: int) -> int:
        own = self.counts * len(self.own)
        if self.source == "population":
            return own
        return own + super().n_parameters(n_actions) - len(self.own)

    def split(self, theta: Floats, actions: Sequence[str]) -> tuple[Floats, list[Floats]]:
        """The mixture's own parameter, and each expert's, given ones included."""
        done = len(self.own)
        each = []
        for expert in self.experts:
            size = len(expert.parameters(actions))
            each.append(expert.values(actions) if expert.given else theta[done : done + size])
            done += size
        return theta[: len(self.own)], each

    def known_from(self, values: Mapping[str, Floats], origin: str = "") -> Mixture:
        """The same with every learner's parameters, as the other learners tell them."""
        return self._with(of_others=values, origin=origin)

    def from_source(self, source: Source) -> Mixture:
        """The same with another source of the experts' parameters."""
        other = self._with(source=source)
        other.__post_init__()
        return other

    def _with(self, **changed: object) -> Mixture:
        other = copy(self)
        for name in ("name", "strategies", "own"):
            vars(other).pop(name, None)  # what was computed from the fields
        for name, value in changed.items():
            object.__setattr__(other, name, value)
        return other

    def values_of_others(self, study: Study) -> Floats:
        """What other learners tell of the parameters that are not given: [learner, parameter]."""
        if self.of_others is None or not study.learners:
            return np.empty((len(study), 0))  # all are given
        usual = self.of_others[""]
        found = np.stack([self.of_others.get(name, usual) for name in study.learners])
        alone = np.flatnonzero(np.isnan(found).any(axis=1))
        if len(alone):
            raise HowlearnError(
                f"{self.name}: what is known of the strategies' parameters comes from learner "
                f"{study.learners[alone[0]]} alone, who is to be explained; source=training or "
                "source=joint needs no others"
            )
        return found

    @property
    def parameters_from(self) -> str:
        """Where the experts' parameters come from, in words."""
        if not any(expert.fitted for expert in self.experts):
            return "given; not counted"
        source = self.origin or SOURCES[self.source]
        return f"given, or {source}" if any(e.given for e in self.experts) else source

    def feedback(
        self, reward: Floats, learned: NDArray[np.bool_], extent: tuple[float, float]
    ) -> Floats:
        """What the weights learn from: nothing, unless rewards decide which strategy chooses."""
        return np.zeros(len(reward))

    # What a kind of mixture does with one learner's trials. ``advice`` are log-probabilities: of
    # what was chosen, [trial, expert], or of all actions, [trial, expert, action].

    @abstractmethod
    def blend(self, own: Floats, advice: Floats, trials: WeighedTrials) -> tuple[Floats, Floats]:
        """Log-weights [trial, expert] and log-probabilities [trial, action]."""

    @abstractmethod
    def slopes(
        self, own: Floats, advice: Floats, slopes: Floats, owner: Ints, trials: WeighedTrials
    ) -> tuple[Floats, Floats]:
        """Log-probabilities [trial] of what was chosen, and their derivatives.

        ``slopes[trial, p]`` are those of the advice in a parameter of expert ``owner[p]``; the
        derivatives in the mixture's own parameter come first.
        """

    @abstractmethod
    def best(self, advice: Floats, trials: WeighedTrials, marks: Ints, seen: Ints) -> Best:
        """The mixture's own parameter, for many learners whose trials follow each other."""

    def states(self, own: Floats, advice: Floats, trials: WeighedTrials) -> States | None:
        """Who chose, as all trials tell it, from advice [trial, expert]; None: weights say all."""
        return None


class States(NamedTuple):
    """Which strategy chose, where that is a hidden state."""

    filtered: Floats  # [trial, expert]: probabilities after the choice
    smoothed: Floats  # [trial, expert]: and after all trials
    path: Ints  # [trial]: the likeliest sequence of strategies


class WeighedTrials(NamedTuple):
    """What the weights learn from: trials of one learner, or of several one after the other."""

    offsets: Ints
    action: Ints
    feedback: Floats
    flags: NDArray[np.uint8]


class Best(NamedTuple):
    """The best fit of a mixture's own parameter; the axes are learner, mark, (parameter)."""

    theta: Floats
    status: NDArray[np.int8]
    value: Floats  # log-likelihood of the scored trials before the mark
    rest: Floats  # and after it


def _named(given: Any) -> Any:
    """The model that a text names, of those that need no task; anything else as it is."""
    if not isinstance(given, str):
        return given
    from howlearn.models.names import model_named  # which knows mixtures

    try:
        return model_named((), given)
    except HowlearnError:
        raise HowlearnError(
            f"an expert {given!r} is not known without its task: give the model itself, "
            f"task.model({given!r}), or one of the field's, such as 'q-learning+lapse'"
        ) from None
