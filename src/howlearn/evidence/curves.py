"""The log-likelihood of every cell of every learner as a curve over log rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.core.threads import in_threads
from howlearn.engine.cell_fits import Passes
from howlearn.evidence.rates import has_grid, log_rates, second_values
from howlearn.fitting.cells import Plan, block_of
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel

BLOCK = 50  # learners handled together


def on_grid(model: Model) -> bool:
    """Whether a model is a partition of cells whose rates can be integrated out."""
    return isinstance(model, PartitionModel) and all(has_grid(u.rule) for u in model.units)


@dataclass(frozen=True)
class Curves:
    """Log-likelihoods [learner, unit, node] by rule; the nodes are log rates."""

    plan: Plan
    nodes: dict[Rule, Floats]
    values: dict[Rule, Floats]

    def units_of(self, model: PartitionModel) -> dict[Rule, list[int]]:
        """Where the curves of a model's units stand, by rule."""
        found: dict[Rule, list[int]] = {}
        for unit in model.units:
            assert isinstance(unit.rule, Rule)
            found.setdefault(unit.rule, []).append(self.plan.units[unit.rule][unit])
        return found


def plan_of(models: Sequence[Model], study: Study) -> Plan:
    """The distinct units of the models that can be integrated on a grid."""
    exact = [m for m in models if isinstance(m, PartitionModel) and on_grid(m)]
    return Plan.of(exact, study.contexts)


def nodes_of(plan: Plan, study: Study) -> dict[Rule, Floats]:
    """The log rates of every rule."""
    largest = max(abs(value) for value in study.reward_range)
    return {rule: log_rates(rule, largest) for rule in plan.units}


def curves_of(study: Study, plan: Plan, threads: int | None = None) -> Curves:
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
    study: Study, plan: Plan, size: int, threads: int | None = None
) -> Iterator[tuple[slice, Curves]]:
    """The curves of some learners after the other, so that memory does not grow with the study."""
    for start in range(0, len(study), size):
        stop = min(start + size, len(study))
        yield slice(start, stop), curves_of(study.part(start, stop), plan, threads)


def rule_curves(study: Study, plan: Plan, rule: Rule, x: Floats) -> Floats:
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
