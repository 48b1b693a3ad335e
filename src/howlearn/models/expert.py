"""Expert: a strategy in a mixture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.model import Model
from howlearn.models.coin import Coin
from howlearn.models.fixed_policy import FixedPolicy
from howlearn.models.partition_model import PartitionModel
from howlearn.models.values import parameter_values


@dataclass(frozen=True)
class Expert:
    """A strategy: a model, and its parameters where they are given.

    >>> from howlearn.models.candidates import candidates
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
            raise HowlearnError(f"an expert is a model, not {self.model!r}")
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
                f"expert {self.model.name}: {name} is a number, or one per cell, not {value!r}"
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

    @property
    def fitted(self) -> bool:
        """Whether its parameters are still to be found."""
        return not self.given and not isinstance(self.model, FixedPolicy)

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
        return self.strategy, one

    @property
    def strategy(self) -> object:
        """Its model, whatever its name."""
        model = self.model
        if isinstance(model, PartitionModel):
            rules = model.rules if isinstance(model.rules, tuple) else (model.rules,)
            cells = frozenset(frozenset(cell) for cell in model.partition.cells)
            if len(set(rules)) == 1:
                return cells, rules[0], model.rates
        if isinstance(model, Coin):
            return Coin
        if isinstance(model, FixedPolicy):
            return FixedPolicy, model.meaning
        return type(model), vars(model)


def _short(value: float) -> str:
    """Short, and exact: two experts never have the same text."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
