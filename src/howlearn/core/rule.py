"""What a learning rule must offer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.registry import Registry

Form = Literal["gain", "loss"]
MAX_RATE = 20.0  # beyond this the update is no longer numerically safe


@dataclass(frozen=True)
class Parameter:
    """A number that a fit may choose.

    ``default`` is its value where the data hold no information; without one, the middle. Searches
    take their steps in u, where the parameter is lower + scale·sinh(u): even near the lower bound,
    logarithmic beyond. Without a ``scale`` the steps are even, or nearly so, throughout.

    At its ``neutral`` value, if it has one, the model is as if it did not have the parameter; the
    name of another parameter means where both are equal. Less than the ``smallest`` size of
    interest away from it (in logits, if that is another parameter) makes no difference.

    >>> Parameter("eta", 0.0, 1.0, default=0.03, scale=0.002).at(np.array([0.0]))
    array([0.])
    >>> Parameter("beta", 1, 9).default
    5.0
    """

    name: str
    lower: float
    upper: float
    default: float = math.nan
    scale: float = math.nan
    neutral: float | str = math.nan
    smallest: float = math.nan

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise HowlearnError(f"parameter {self.name} needs finite bounds")
        if not self.lower < self.upper:
            raise HowlearnError(
                f"parameter {self.name} needs a lower bound below its upper bound, got "
                f"{self.lower:g} and {self.upper:g}"
            )
        if math.isnan(self.default):
            object.__setattr__(self, "default", (self.lower + self.upper) / 2)
        if math.isnan(self.scale):
            object.__setattr__(self, "scale", float(self.upper - self.lower))
        if not self.lower <= self.default <= self.upper:
            raise HowlearnError(
                f"the default of parameter {self.name}, {self.default:g}, lies outside its bounds "
                f"{self.lower:g} and {self.upper:g}"
            )
        if not self.scale > 0:
            raise HowlearnError(f"the scale of parameter {self.name} must be positive")

    @property
    def end(self) -> float:
        """The u of the upper bound; that of the lower one is 0."""
        return float(np.arcsinh((self.upper - self.lower) / self.scale))

    def at(self, u: Floats) -> Floats:
        """From u to the parameter, exact at both bounds."""
        value = self.lower + self.scale * np.sinh(u)
        return np.where(u <= 0.0, self.lower, np.where(u >= self.end, self.upper, value))

    def u(self, value: Floats) -> Floats:
        """From the parameter to u."""
        return np.clip(np.arcsinh((value - self.lower) / self.scale), 0.0, self.end)

    def slope(self, u: Floats) -> Floats:
        """d parameter / d u."""
        return self.scale * np.cosh(u)


@dataclass(frozen=True)
class Size:
    """How large the effect of a part is among people who show it, as far as one knows beforehand.

    A size is a ``share`` between 0 and 1, a ``positive`` number, a ``signed`` one, or a ``vector``
    with an entry per action; 0 is neutral. Populations are normal in logits of shares and in logs
    of other sizes: ``spread`` (of where a population may lie) and ``widest`` (its largest standard
    deviation) are on that scale, the others are sizes.

    >>> Size("signed", 0.6, 0.5, 0.35, 0.5, smallest=0.3).scaled(1.0)
    0.0
    """

    kind: Literal["share", "positive", "signed", "vector"]
    centre: float
    spread: float
    floor: float  # of where a population lies: less is not an effect
    widest: float
    smallest: float  # size of interest

    def scaled(self, size: float) -> float:
        """A size as a logit or a log."""
        return float(np.log(size / (1.0 - size) if self.kind == "share" else size))

    def size(self, scaled: Any) -> Any:
        """A size from its logit or log."""
        return 1.0 / (1.0 + np.exp(-scaled)) if self.kind == "share" else np.exp(scaled)


def _built_in() -> None:
    import howlearn.core.rules  # noqa: F401 - it registers the rules that are always there


@dataclass(frozen=True)
class Rule:
    """How one cell learns, for any number of actions.

    A cell keeps one preference h per action, 0 at the start; p = softmax(h). After each trial the
    engine calls, for every action, ``update(h, p, chosen, p_chosen, feedback, *parameters) → h``
    with ``chosen`` 1.0 for the action taken and 0.0 for the others. ``feedback`` is the reward in
    gain form and minus the loss in loss form, so that an update is written once for both. Where not
    all actions are on offer, the softmax is of those that are, and p = 0 for the others.
    ``differential`` is the derivative of that update along a direction:
    ``(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, *parameters, *dparameters) → dh``.

    >>> from howlearn import GradientBandit
    >>> rule = GradientBandit(form="loss", max_rate=2.0)
    >>> isinstance(rule, Rule), rule.form, [p.name for p in rule.parameters]
    (True, 'loss', ['eta'])
    >>> rule.update(0.0, 0.5, 1.0, 0.5, -1.0, 0.1)  # the chosen action, after a loss of 1
    -0.05
    """

    form: Form = "gain"
    max_rate: float = 1.0

    registry: ClassVar[Registry[Any]] = Registry("rule", built_in=_built_in)
    name: ClassVar[str]  # as it is typed
    title: ClassVar[str] = ""
    phrase: ClassVar[str] = ""  # what it is in the methods section; else the title
    cites: ClassVar[tuple[str, ...]] = ()  # keys of references.toml, or citations as they are
    needs: ClassVar[frozenset[str]] = frozenset()  # of what the data must tell: nothing
    latents: ClassVar[tuple[str, ...]] = ("preference(action)",)
    smallest: ClassVar[float] = 0.0  # a chosen action less probable than this has a capped update
    # Whether the likelihood is smooth in log η where rewards count as gains. It then has one top,
    # and one rare choice does not decide where the learner ends up.
    smooth_with_gains: ClassVar[bool] = False
    pair_kernel: ClassVar[str] = ""  # the engine's quicker pass for gains and two actions, if any
    sticky_kernel: ClassVar[str] = ""  # that for gains, one rate and stickiness, if any
    update: ClassVar[Callable[..., float]]
    differential: ClassVar[Callable[..., float]]

    def __init_subclass__(cls) -> None:
        """What is proven of an update is not inherited by a rule with another one."""
        if "update" in vars(cls):
            for fact in ("smooth_with_gains", "pair_kernel", "sticky_kernel", "horizon"):
                if fact not in vars(cls):
                    setattr(cls, fact, getattr(Rule, fact))

    def __post_init__(self) -> None:
        if self.form not in ("gain", "loss"):
            raise HowlearnError(f"the form of a rule must be gain or loss, got {self.form!r}")
        if not 0 < self.max_rate <= MAX_RATE:
            raise HowlearnError(
                f"the largest rate must be above 0 and at most {MAX_RATE:g}, got {self.max_rate:g}"
            )

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of one cell, in the order in which ``update`` takes them."""
        return (Parameter("eta", 0.0, self.max_rate, min(0.03, self.max_rate), scale=0.002),)

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int | None:
        """T_ε: how many trials of a cell keep every probability at ε or above, whatever happens.

        None: no proposition covers the rule.
        """
        return None

    @property
    def no_horizon(self) -> str:
        """Why there is no ``horizon``, after "the paper's formula for …"."""
        return f"does not exist: no proposition covers the rule {self.name}"

    def largest_step(self, rewards: tuple[float, float]) -> float:
        """The largest rate of a trial for feedback of at most 1: R/√n in the paper's units."""
        return self.max_rate * (max(map(abs, rewards)) if self.form == "gain" else 1.0)

    # What models that learn in cells say of themselves too

    @property
    def in_words(self) -> str:
        """What it is, in a word."""
        return self.title or self.name

    @property
    def described_form(self) -> dict[str, str]:
        """Its form, for a manifest."""
        return {"form": self.form}

    def with_max_rate(self, bound: float) -> Rule:
        """The same rule with another largest rate."""
        return replace(self, max_rate=bound)


def whole_part(value: float) -> int:
    """⌊value⌋, and 0 where it is negative."""
    return max(math.floor(value), 0)
