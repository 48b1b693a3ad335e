"""Rates of one learner: an effect of the learner and one of each cell, both normal on log η.

log η_C = a + v_C with a ~ N(μ, τ²) and v_C ~ N(0, s²), on a grid of log rates: both are normalised
there, so that nothing lies outside of the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats, log_sum
from howlearn.core.rule import Rule
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.rate_grid import Curves

SMALLEST, LARGEST = 0.1, 3.0  # spreads of log rates
STRIDE = 2  # nodes of the cells between two nodes of the learner effect
UNDERFLOW = 1e-290


@dataclass(frozen=True)
class Hyper:
    """Where the log rates lie, how learners differ, and how cells of one learner do."""

    mu: float
    tau: float
    s: float


def normal(x: Floats, mean: float, spread: float) -> Floats:
    """Log-probabilities of the nodes: a normal that is normalised on them."""
    log_p = -0.5 * ((x - mean) / spread) ** 2
    return log_p - log_sum(log_p)


@dataclass(frozen=True)
class RateGroup:
    """Models that share the distribution of their rates."""

    models: tuple[PartitionModel, ...]
    columns: tuple[int, ...]  # of these models, among all candidates
    curves: Curves

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        found = [unit.rule for model in self.models for unit in model.units]
        return tuple(dict.fromkeys(rule for rule in found if isinstance(rule, Rule)))

    @cached_property
    def effects(self) -> Floats:
        """Nodes of the learner effect."""
        nodes = [self.curves.nodes[rule] for rule in self.rules]
        widest = max(nodes, key=len)
        low, high = min(x[0] for x in nodes), max(x[-1] for x in nodes)
        return np.linspace(low, high, len(widest) // STRIDE)

    @cached_property
    def units(self) -> dict[Rule, list[int]]:
        """The units of all models of the group, each once."""
        found: dict[Rule, dict[int, None]] = {rule: {} for rule in self.rules}
        for model in self.models:
            for rule, units in self.curves.units_of(model).items():
                found[rule].update(dict.fromkeys(units))
        return {rule: list(units) for rule, units in found.items()}

    @cached_property
    def scaled(self) -> dict[Rule, tuple[Floats, Floats]]:
        """Likelihoods with 1 as their largest, [learner, unit, node], and its logarithm."""
        found = {}
        for rule, units in self.units.items():
            values = self.curves.values[rule][:, units]
            top = values.max(axis=2)
            found[rule] = (np.exp(values - top[:, :, None]), top)
        return found

    def cells(self, s: float, rule: Rule, effects: Floats | None = None) -> Floats:
        """Log evidence of every unit, given the learner effect: [learner, unit, effect]."""
        nodes, effects = self.curves.nodes[rule], self.effects if effects is None else effects
        # Far above the largest rate all of a cell's distribution is at that rate.
        effects = np.minimum(effects, nodes[-1] + 8.0 * s)
        distance = (nodes[None, :] - effects[:, None]) ** 2
        kernel = np.exp(-0.5 * distance / s**2)
        scale = kernel.sum(axis=1)
        likelihood, top = self.scaled[rule]
        total = likelihood.reshape(-1, likelihood.shape[2]) @ (kernel / scale[:, None]).T
        total = total.reshape(*likelihood.shape[:2], -1)
        i, c, j = np.nonzero(total < UNDERFLOW)  # effects far from all that explains the data
        total[i, c, j] = 1.0
        found = np.log(total)
        if len(i):
            values = self.curves.values[rule][i, np.array(self.units[rule])[c]]
            joint = values - top[i, c][:, None] - 0.5 * distance[j] / s**2
            found[i, c, j] = log_sum(joint) - np.log(scale[j])
        return found + top[:, :, None]

    def sums(self, model: PartitionModel, cells: dict[Rule, Floats]) -> Floats:
        """The log evidence of a model's cells together, given the effect: [learner, effect]."""
        parts = []
        for rule, units in self.curves.units_of(model).items():
            at = [self.units[rule].index(unit) for unit in units]
            parts.append(cells[rule][:, at].sum(axis=1))
        return np.sum(parts, axis=0)

    def at_rate(self, model: PartitionModel, effects: Floats) -> Floats:
        """The log-likelihood of a model with one rate for all cells: [learner, effect]."""
        ((rule, (unit,)),) = self.curves.units_of(model).items()
        nodes, values = self.curves.nodes[rule], self.curves.values[rule][:, unit]
        place = np.interp(effects, nodes, np.arange(len(nodes)))
        below = np.minimum(place.astype(int), len(nodes) - 2)
        part = place - below
        return (1.0 - part) * values[:, below] + part * values[:, below + 1]


def median_rate(x: Floats, hyper: Hyper) -> float:
    """The rate under which half of the cells of all learners lie, within the bounds of x.

    >>> x = np.linspace(-9.0, 0.0, 193)
    >>> round(median_rate(x, Hyper(-3.0, 0.5, 0.3)), 3), median_rate(x, Hyper(0.0, 1.0, 0.3)) < 0.7
    (0.05, True)
    """
    kernel = np.exp(-0.5 * ((x[None, :] - x[:, None]) / hyper.s) ** 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    p = np.exp(normal(x, hyper.mu, hyper.tau)) @ kernel
    middles = np.cumsum(p) - 0.5 * p
    return float(np.exp(np.interp(0.5, middles, x)))


def groups_of(
    models: Sequence[PartitionModel], columns: Sequence[int], curves: Curves
) -> list[RateGroup]:
    """Models with the same rules share their rates' distribution."""
    found: dict[object, list[int]] = {}
    for k, model in enumerate(models):
        rules = frozenset(unit.rule for unit in model.units)
        found.setdefault(rules, []).append(k)
    return [
        RateGroup(tuple(models[k] for k in mine), tuple(columns[k] for k in mine), curves)
        for mine in found.values()
    ]
