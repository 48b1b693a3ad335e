"""What changes the choices of any model, without changing what it learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.model import Model
from howlearn.models.coin import Coin
from howlearn.models.fixed_policy import FixedPolicy
from howlearn.models.mixture import Mixture
from howlearn.models.partition_model import PartitionModel


@dataclass(frozen=True)
class Adjustment(ABC):
    """A change of the policy, with parameters that all cells share and a state of its own.

    ``start(world)`` gives the state, ``adjust(state, shown, theta, out)`` changes log-probabilities
    in place, ``update(state, trial, theta)`` the state; here ``theta`` is an array.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    start: ClassVar[Callable[..., Any]]
    adjust: ClassVar[Callable[..., None]]
    update: ClassVar[Callable[..., None]]

    @abstractmethod
    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        """Its parameters; their defaults leave the model as it is."""

    def __radd__(self, model: Model) -> Adjusted:
        if isinstance(model, Adjusted):
            return Adjusted(model.base, (*model.adjustments, self))
        return Adjusted(model, (self,))


@dataclass(frozen=True, repr=False)
class Adjusted(Model):
    """A model with adjustments, such as ``ByShape+lapse``; they are fitted together.

    >>> from howlearn.models import Lapse, QLearning
    >>> (QLearning() + Lapse()).name
    'q-learning+lapse'
    """

    base: Model
    adjustments: tuple[Adjustment, ...]
    cells = "none"

    def __post_init__(self) -> None:
        if isinstance(self.base, Mixture | FixedPolicy):
            raise HowlearnError(
                f"{self.name}: a mixture is not adjusted itself, but its experts can be, as in "
                "exp4(ByShape+lapse, ByPattern+lapse)"
            )
        names = [adjustment.name for adjustment in self.adjustments]
        if len(set(names)) < len(names):
            raise HowlearnError(f"{self.name}: an adjustment can be made once only")
        rules = self.base.rules if isinstance(self.base, PartitionModel) else ()
        if isinstance(rules, tuple) and len(set(rules)) > 1:
            raise HowlearnError(
                f"{self.name}: the cells of {self.base.name} differ in their rules, and can be "
                "adjusted only where they share one"
            )
        if isinstance(self.base, Coin):
            raise HowlearnError(f"{self.name}: a coin does not learn, so nothing can be adjusted")

    @cached_property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "+".join([self.base.name, *(adjustment.name for adjustment in self.adjustments)])

    @property
    def needs(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.needs

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        mine = [("all", p) for each in self.adjustments for p in each.parameters(actions)]
        return (*self.base.owners(actions), *mine)
