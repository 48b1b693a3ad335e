"""PartitionModel: one bandit per cell of a partition; those that contexts and features suggest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Cell, Partition, cell_name
from howlearn.core.rule import Parameter, Rule
from howlearn.core.rules import GradientBandit
from howlearn.core.study import Study
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


# Candidate models that need no task: from the contexts and their features alone.


def candidates(
    contexts: Sequence[str],
    features: Mapping[str, Mapping[str, str]] | None = None,
    rule: Rule | Model | str = GradientBandit(),  # noqa: B008  (frozen)
) -> tuple[PartitionModel, ...]:
    """One cell, one per context, one per value of each feature and of each pair of features.

    Partitions that are the same are listed once; the models with fewest cells come first.

    >>> features = {"1": {"shape": "square"}, "2": {"shape": "square"}, "3": {"shape": "circle"}}
    >>> [model.name for model in candidates(["1", "2", "3"], features)]
    ['OneForAll', 'ByShape', 'OnePerItem']
    """
    described = {context: (features or {}).get(context, {}) for context in contexts}
    names = list(dict.fromkeys(name for values in described.values() for name in values))
    groups = [*combinations(names, 1), *combinations(names, 2)]
    # OneForAll and OnePerItem come before the features, so that they keep their names.
    one = "OneForAll" if len(contexts) > 1 else _alone(rule)
    partitions = [(one, Partition.all(contexts)), ("OnePerItem", Partition.each(contexts))]
    partitions += [(_name(group), Partition.by(described, group)) for group in groups]
    models: dict[frozenset[frozenset[str]], PartitionModel] = {}
    for name, partition in partitions:
        cells = frozenset(frozenset(cell) for cell in partition.cells)
        if cells not in models:
            taken = {model.name for model in models.values()}
            models[cells] = PartitionModel(_untaken(name, taken), partition, rule)
    return tuple(sorted(models.values(), key=lambda model: len(model.partition.cells)))


def _alone(rule: Rule | Model | str) -> str:
    """What the bandit is called where there is one context only, and nothing to divide.

    >>> _alone("gradient"), _alone("q-learning")
    ('gradient bandit', 'q-learning')
    """
    from howlearn.models.names import learning_of  # which knows this module

    learns = learning_of(rule)
    return learns.title.lower() if isinstance(learns, Rule) and learns.title else learns.name


def candidates_of(study: Study, rule: Rule | Model | str) -> tuple[PartitionModel, ...]:
    """The candidates of a study: from contexts and features, and the categories of its task."""
    models = candidates(study.contexts, study.features, rule)
    cells = () if study.kind is None else study.kind.cells
    if {c for cell in cells for c in cell} != {*study.contexts}:
        return models
    own = frozenset(frozenset(cell) for cell in cells)
    if any(own == {frozenset(cell) for cell in model.partition.cells} for model in models):
        return models  # of type I, a feature tells it
    more = PartitionModel("ByCategory", Partition(cells, "category"), rule)
    return tuple(sorted((*models, more), key=lambda model: len(model.partition.cells)))


def one_rate_versions(models: Iterable[PartitionModel]) -> tuple[PartitionModel, ...]:
    """The models again with one rate for all cells, where there are several cells with one rule.

    >>> [model.name for model in one_rate_versions(candidates(["1", "2"]))]
    ['OnePerItem (one rate)']
    """
    return tuple(
        model.with_one_rate()
        for model in models
        if len(model.units) > 1 and len({unit.rule for unit in model.units}) == 1
    )


MANY_CONTEXTS = 20  # that a learner may meet however few the trials are
TRIALS_PER_CONTEXT = 5  # below which nothing much can be learned about each on its own


def too_many_contexts(study: Study) -> str | None:
    """A sentence where typical learners met too many contexts to learn about each; else None."""
    if len(study.contexts) <= MANY_CONTEXTS or not len(study):
        return None
    met = np.concatenate([_n_met(part) for part in study.parts()])
    scored = study.n_scored
    if np.median(met * TRIALS_PER_CONTEXT - scored) <= 0:
        return None
    return (
        f"there are {len(study.contexts):,} contexts, and a typical learner met "
        f"{np.median(met):,.0f} of them in {np.median(scored):,.0f} trials, but a partition model, "
        "or Q-learning, would have to learn each of them separately; --model gcm (with --features "
        "COL,COL) generalises between contexts by their similarity, and --bin COL:4 groups "
        "numbers into a few contexts"
    )


def _n_met(study: Study) -> NDArray[np.int64]:
    """How many contexts each learner met."""
    sequence = np.repeat(np.arange(len(study)), np.diff(study.starts))
    pairs = np.unique(sequence * len(study.contexts) + study.context)
    return np.bincount(pairs // len(study.contexts), minlength=len(study))


def check_contexts(study: Study, models: Iterable[Model] | None = None) -> None:
    """Refuse partition models with several cells where there are too many contexts for them.

    Without ``models`` the candidates of the study are meant: building them may take minutes.
    """
    if models is None or any(model.one_by_one for model in models):
        why = too_many_contexts(study)
        if why is not None:
            raise HowlearnError(why)


def _name(features: Sequence[str]) -> str:
    return "By" + "And".join(_camel_case(feature) for feature in features)


def _camel_case(column: str) -> str:
    words = [word for word in re.split(r"[\W_]+", column) if word]
    return "".join(word[0].upper() + word[1:] for word in words) or column


def _untaken(name: str, taken: set[str]) -> str:
    """Two columns such as `a b` and `a_b` give one name: the second is numbered."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free
