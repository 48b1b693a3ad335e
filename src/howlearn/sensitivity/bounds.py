"""The same candidates with another largest learning rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import MAX_RATE, Rule
from howlearn.models.adjustments import Adjusted
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel

MAX_RATES = (0.5, 1.0, 2.0, 5.0, 20.0)


def check_bounds(bounds: Sequence[float]) -> tuple[float, ...]:
    """Largest rates, ascending, each once."""
    for bound in bounds:
        if not 0 < bound <= MAX_RATE:
            raise HowlearnError(
                f"a largest rate lies above 0 and at most at {MAX_RATE:g}, not at {bound:g}"
            )
    return tuple(sorted({float(bound) for bound in bounds}))


def with_bound(model: Model, bound: float) -> Model:
    """The model with this largest rate in every cell; as it is, where it has no such bound.

    The strategies of a mixture are models like the others; its own rate stays as it is.

    >>> from howlearn.core.partition import Partition
    >>> model = PartitionModel("pair", Partition.each(["a", "b"]))
    >>> with_bound(model, 5.0).rules.max_rate, with_bound(model, 1.0) is model
    (5.0, True)
    """
    if isinstance(model, Adjusted):
        base = with_bound(model.base, bound)
        return model if base is model.base else replace(model, base=base)
    if isinstance(model, Mixture):
        experts = tuple(replace(e, model=with_bound(e.model, bound)) for e in model.experts)
        same = all(a.model is b.model for a, b in zip(experts, model.experts, strict=True))
        return model if same else replace(model, experts=experts)
    if not isinstance(model, PartitionModel):
        return model
    given = model.rules if isinstance(model.rules, tuple) else (model.rules,)
    rules = tuple(_bounded(rule, bound) for rule in given)
    if rules == given:
        return model
    return replace(model, rules=rules if isinstance(model.rules, tuple) else rules[0])


def has_bound(model: Model) -> bool:
    """Whether another largest rate makes another model of it."""
    if isinstance(model, Adjusted):
        return has_bound(model.base)
    if isinstance(model, Mixture):
        return any(has_bound(expert.model) for expert in model.experts)
    return isinstance(model, PartitionModel) and any(isinstance(u.rule, Rule) for u in model.units)


def _bounded(rule: Rule | Model, bound: float) -> Rule | Model:
    return replace(rule, max_rate=bound) if isinstance(rule, Rule) else rule
