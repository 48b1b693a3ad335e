"""PartitionModel: one bandit per cell of a partition of the contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeGuard

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Cell, Partition, cell_name
from howlearn.core.rule import Parameter, Rule
from howlearn.core.rules import GradientBandit
from howlearn.core.text import few
from howlearn.models.model import Model, bounds_of, code

Rates = Literal["per-cell", "shared"]


@dataclass(frozen=True)
class Unit:
    """Cells that share their parameters, though not their state: the unit of fitting."""

    cells: tuple[Cell, ...]
    rule: Rule | Model

    @cached_property
    def name(self) -> str:
        """As in the tables: ``1+2+7`` for a cell, ``1+2|7+8`` for cells with one rate."""
        return "|".join(cell_name(cell) for cell in self.cells)

    @property
    def by_rule(self) -> bool:
        """Whether a rule learns in the cells, not a model: then its fit is exact."""
        return isinstance(self.rule, Rule)

    def describe(self) -> dict[str, Any]:
        """All that decides its fit, for a manifest."""
        form, bounds = self.rule.described_form, bounds_of(self.rule.parameters)
        name = {"cells": self.name, "rule": self.rule.name}
        return {**name, **form, "bounds": bounds, **code(self.rule)}


@dataclass(frozen=True)
class PartitionModel(Model):
    """Contexts in one cell share state; ``rates`` says whether cells share parameters too.

    Aubert et al. (2025), Algorithm 2. ``rules`` is one rule for all cells, or one per cell, each
    itself or by its name; any other model may stand in for a rule, such as ``QLearning()``.

    >>> PartitionModel("pair", Partition.each(["a", "b"])).n_parameters(n_actions=2)
    2
    >>> PartitionModel("pair", Partition.each(["a", "b"]), rates="shared").n_parameters(2)
    1
    """

    name: str
    partition: Partition
    rules: Any = field(default_factory=GradientBandit)  # a Rule or Model, or a tuple of them
    rates: Rates = "per-cell"
    cells = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.partition, Partition):
            raise HowlearnError(f"model {self.name} needs a Partition, got {self.partition!r}")
        from howlearn.models.names import learning_of  # which knows this class

        one = not isinstance(self.rules, tuple)
        rules = tuple(learning_of(rule) for rule in ((self.rules,) if one else self.rules))
        object.__setattr__(self, "rules", rules[0] if one else rules)
        for rule in rules:
            if isinstance(rule, Model) and rule.cells == "none":
                raise HowlearnError(
                    f"model {rule.name} makes no use of cells, so it cannot learn "
                    f"in each cell of {self.name}"
                )
            if not isinstance(rule, Rule | Model):
                raise HowlearnError(
                    f"model {self.name} needs rules such as GradientBandit(), got {self.rules!r}"
                )
        if self.rates not in ("per-cell", "shared"):
            raise HowlearnError(
                f"model {self.name}: rates must be per-cell or shared, got {self.rates!r}"
            )
        for rule in rules:
            if self.rates == "per-cell" and isinstance(rule, Model) and rule.cells == "shared":
                raise HowlearnError(
                    f"the cells of {rule.name} depend on each other, so that they share their "
                    'parameters: rates="shared"'
                )
        if isinstance(self.rules, tuple):
            if len(self.rules) != len(self.partition.cells):
                raise HowlearnError(
                    f"model {self.name} has {len(self.partition.cells)} cells and "
                    f"{len(self.rules)} rules: give one rule, or one per cell"
                )
            if self.rates == "shared" and len(set(self.rules)) > 1:
                raise HowlearnError(
                    f"model {self.name}: cells with different rules cannot share their rates"
                )

    def repeats(self, other: Model) -> bool:
        if not isinstance(other, PartitionModel) or self.partition != other.partition:
            return False
        return self.rules == other.rules and other.rates in ("per-cell", self.rates)

    @property
    def way(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "cells" if all(unit.by_rule for unit in self.units) else "units"

    @cached_property
    def units(self) -> tuple[Unit, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The parts of the model that are fitted on their own."""
        cells = self.partition.cells
        rules = self.rules if isinstance(self.rules, tuple) else (self.rules,) * len(cells)
        if self.rates == "shared":
            return (Unit(cells, rules[0]),)
        return tuple(Unit((cell,), rule) for cell, rule in zip(cells, rules, strict=True))

    @cached_property
    def owned(self) -> tuple[tuple[Unit, Parameter], ...]:
        """Every parameter with the unit it belongs to, in the order of the cells."""
        return tuple((unit, p) for unit in self.units for p in unit.rule.parameters)

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        return tuple((unit.name, parameter) for unit, parameter in self.owned)

    def horizon(self, epsilon: float, actions: int, rewards: tuple[float, float]) -> int | None:
        found = [unit.rule.horizon(epsilon, actions, rewards) for unit in self.units]
        known = [horizon for horizon in found if horizon is not None]
        return min(known) if len(known) == len(found) else None

    @property
    def no_horizon(self) -> str:
        uncovered = (u.rule for u in self.units if u.rule.horizon(0.05, 2, (0.0, 1.0)) is None)
        return next(uncovered, self.units[0].rule).no_horizon

    @property
    def parts(self) -> tuple[Model, ...]:
        return tuple(unit.rule for unit in self.units if isinstance(unit.rule, Model))

    @property
    def latents(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(dict.fromkeys(name for unit in self.units for name in unit.rule.latents))

    @property
    def one_by_one(self) -> bool:
        return len(self.partition.cells) > 1

    @property
    def in_words(self) -> str:
        rules = dict.fromkeys(unit.rule for unit in self.units)
        n, each = len(self.partition.cells), len(self.partition.contexts)
        words = " or ".join(rule.in_words for rule in rules)
        if each == 1:
            return f"chooses what was rewarded more often ({words})"
        made_by = self.partition.made_by
        told = f"groups contexts by {made_by}" if made_by else f"groups contexts into {n} sets"
        if n == 1:
            told = "treats all contexts alike"
        elif n == each:
            told = "learns about each context separately"
        rate = ", at one rate" * (self.rates == "shared" and n > 1)
        usual = all(isinstance(rule, GradientBandit) for rule in rules)
        return f"{told}{rate}" if usual else f"{told}{rate} ({words})"

    def describe(self) -> dict[str, Any]:
        units = [unit.describe() for unit in self.units]
        return {"name": self.name, "rates": self.rates, "units": units}

    @property
    def meaning(self) -> object:
        rules = {unit.rule for unit in self.units}
        if len(rules) > 1:
            return super().meaning
        cells = frozenset(frozenset(cell) for cell in self.partition.cells)
        return cells, *rules, self.rates

    @property
    def not_adjusted(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        if len({unit.rule for unit in self.units}) == 1:
            return ""
        return (
            f"the cells of {self.name} differ in their rules, and can be adjusted only where they "
            "share one"
        )

    @property
    def carries(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        # a rule of the package is fitted exactly, and has no other parts
        rule = self.units[0].rule
        return rule.carries if isinstance(rule, Model) else frozenset()

    @property
    def has_max_rate(self) -> bool:
        return any(unit.by_rule for unit in self.units)

    def with_max_rate(self, bound: float) -> PartitionModel:
        """The model with this largest rate in every cell.

        >>> model = PartitionModel("pair", Partition.each(["a", "b"]))
        >>> model.with_max_rate(5.0).rules.max_rate, model.with_max_rate(1.0) is model
        (5.0, True)
        """
        given = self.rules if isinstance(self.rules, tuple) else (self.rules,)
        rules = tuple(rule.with_max_rate(bound) for rule in given)
        if rules == given:
            return self
        return replace(self, rules=rules if isinstance(self.rules, tuple) else rules[0])

    def check_covers(self, contexts: Sequence[str]) -> None:
        """Refuse contexts for which the model has no cell."""
        covered = set(self.partition.contexts)
        left_out = [context for context in contexts if context not in covered]
        if left_out:
            shown = few(left_out, 1, " and {left} more")
            raise HowlearnError(f"model {self.name} has no cell for context {shown}")

    def with_one_rate(self) -> PartitionModel:
        """The same cells with one rate for all of them, as ``NAME (one rate)``."""
        return replace(self, name=f"{self.name} (one rate)", rates="shared")


def is_partition(model: Model) -> TypeGuard[PartitionModel]:
    """Whether a model is a partition, without adjustments."""
    return len(model.units) > 0
