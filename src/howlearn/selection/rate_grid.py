"""Likelihoods of cells on a grid of log rates, and Ewens' probabilities of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lgamma
from typing import TypeGuard

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES
from howlearn.fitting.cells import UnitPlan, block_of
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.runs.parts import in_threads

LOWEST = 1e-4  # a rate that teaches nothing in a thousand trials, where rewards go up to 1
SPACING = 0.05  # of log rates: half of the smallest spread of cells
SECOND = 8  # values of a cell's second parameter
SPREADS = (0.1, 0.3, 0.7, 1.2)  # of the log rates of one learner's cells, equally probable


def log_rates(rule: Rule, largest_reward: float = 1.0) -> Floats:
    """Log rates up to the rule's bound, evenly; their number fills the engine's lanes.

    >>> from howlearn.core.rules import GradientBandit
    >>> x = log_rates(GradientBandit())
    >>> len(x), np.exp(x[[0, -1]]).round(4).tolist(), bool(np.diff(x).max() < SPACING)
    (192, [0.0001, 1.0], True)
    """
    upper = rule.parameters[0].upper
    lower = min(LOWEST / max(1.0, largest_reward), upper / 100)
    passes = int(np.ceil(np.log(upper / lower) / (SPACING * RATES)))
    x = np.linspace(np.log(lower), np.log(upper), passes * RATES)
    return np.minimum(x, np.log(upper))


def second_values(rule: Rule) -> list[tuple[float, ...]]:
    """Over which a second parameter is averaged: middles of equal parts of the search's scale.

    That is dense near the lower bound, where most happens.
    """
    if len(rule.parameters) == 1:
        return [()]
    (second,) = rule.parameters[1:]
    middles = np.linspace(0.0, second.end, 2 * SECOND + 1)[1::2]
    return [(float(value),) for value in second.at(middles)]


def has_grid(rule: object) -> bool:
    """Whether a rule's cells can be integrated on a grid: a rate from 0 on, and one more at most.

    >>> from howlearn.core.rules import Exp3IX
    >>> has_grid(Exp3IX()), has_grid("alcove")
    (True, False)
    """
    if not isinstance(rule, Rule) or not 1 <= len(rule.parameters) <= 2:
        return False
    return rule.parameters[0].lower == 0.0


# The log-likelihood of every cell of every learner as a curve over log rates.

BLOCK = 50  # learners handled together


def on_grid(model: Model) -> TypeGuard[PartitionModel]:
    """Whether a model is a partition of cells whose rates can be integrated out."""
    return model.way == "cells" and all(has_grid(unit.rule) for unit in model.units)


@dataclass(frozen=True)
class Curves:
    """Log-likelihoods [learner, unit, node] by rule; the nodes are log rates."""

    plan: UnitPlan
    nodes: dict[Rule, Floats]
    values: dict[Rule, Floats]

    def units_of(self, model: Model) -> dict[Rule, list[int]]:
        """Where the curves of a model's units stand, by rule."""
        found: dict[Rule, list[int]] = {}
        for unit in model.units:
            assert isinstance(unit.rule, Rule)
            found.setdefault(unit.rule, []).append(self.plan.units[unit.rule][unit])
        return found


def plan_of(models: Sequence[Model], study: Study) -> UnitPlan:
    """The distinct units of the models that can be integrated on a grid."""
    return UnitPlan.of([m for m in models if on_grid(m)], study.contexts)


def nodes_of(plan: UnitPlan, study: Study) -> dict[Rule, Floats]:
    """The log rates of every rule."""
    largest = max(abs(value) for value in study.reward_range)
    return {rule: log_rates(rule, largest) for rule in plan.units}


def curves_of(study: Study, plan: UnitPlan, threads: int | None = None) -> Curves:
    """The curves of all learners of a study; see ``in_blocks`` for studies of any size."""
    nodes = nodes_of(plan, study)
    edges = [*range(0, len(study), BLOCK), len(study)]
    values = {
        rule: np.empty((len(study), len(known), len(nodes[rule])))
        for rule, known in plan.units.items()
    }

    def work(block: int) -> None:
        mine = slice(edges[block], edges[block + 1])
        part = study.part(mine.start, mine.stop)
        for rule in plan.units:
            values[rule][mine] = rule_curves(part, plan, rule, nodes[rule])

    blocks = range(len(edges) - 1)
    if not plan.units:
        return Curves(plan, nodes, values)
    work(0)  # what is compiled on first use is compiled before threads would wait for it
    in_threads(work, blocks[1:], threads)
    return Curves(plan, nodes, values)


def in_blocks(
    study: Study, plan: UnitPlan, size: int, threads: int | None = None
) -> Iterator[tuple[slice, Curves]]:
    """The curves of some learners after the other, so that memory does not grow with the study."""
    for start in range(0, len(study), size):
        stop = min(start + size, len(study))
        yield slice(start, stop), curves_of(study.part(start, stop), plan, threads)


def rule_curves(study: Study, plan: UnitPlan, rule: Rule, x: Floats) -> Floats:
    """[learner, unit, node]; a second parameter is averaged over its range."""
    marks = np.diff(study.starts)[:, None]
    passes = Passes.prepare(block_of(study, rule, marks), plan.layouts[rule], rule)
    shape = (len(study), len(plan.units[rule]), len(x))
    return averaged_curves(passes, rule, x).reshape(shape)


def averaged_curves(passes: Passes, rule: Rule, x: Floats) -> Floats:
    """[curve, node] at log rates; every rate is evaluated, since a likelihood may be rough."""
    rates = np.minimum(np.exp(x), rule.parameters[0].upper)
    each = [passes.curves(rates, *values) for values in second_values(rule)]
    return each[0] if len(each) == 1 else np.logaddexp.reduce(each) - np.log(len(each))


# Ewens' (1972) probabilities of partitions: α^cells · Π (|C| − 1)! over α(α + 1)…(α + J − 1).
#
# Two contexts share a cell with probability 1/(1 + α).


def log_cells(sizes: Ints, alpha: float = 1.0) -> Floats:
    """What cells of these sizes contribute: log α·(size − 1)!; an empty one counts as one of one.

    >>> np.exp(log_cells(np.array([1, 2, 3, 4]), alpha=2.0)).round(9).tolist()
    [2.0, 2.0, 4.0, 12.0]
    """
    factorial = np.array([lgamma(max(size, 1)) for size in range(int(sizes.max(initial=0)) + 1)])
    return np.log(alpha) + factorial[sizes]


def log_rising(n: int, alpha: float = 1.0) -> float:
    """log α(α + 1)…(α + n − 1), over which the contributions of n contexts' cells are."""
    return lgamma(alpha + n) - lgamma(alpha)
