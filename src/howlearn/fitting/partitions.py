"""Partition models: every distinct unit is fitted once, however many models contain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.engine.layout import LEARNED, RESET, SCORED, Block, Statuses, UnitFits, Units, lay_out
from howlearn.engine.units import evaluate, fit_units
from howlearn.errors import HowlearnError
from howlearn.fitting.fits import ModelFits
from howlearn.models.partition_model import PartitionModel, Unit
from howlearn.rule import Rule
from howlearn.study import Study


@dataclass(frozen=True)
class Plan:
    """The distinct units of some models, by rule, laid out for the engine."""

    models: tuple[PartitionModel, ...]
    units: dict[Rule, dict[Unit, int]]
    layouts: dict[Rule, Units]

    @classmethod
    def of(cls, models: Sequence[PartitionModel], contexts: Sequence[str]) -> Plan:
        code = {context: i for i, context in enumerate(contexts)}
        units: dict[Rule, dict[Unit, int]] = {}
        for model in models:
            _check_covers(model, contexts)
            for unit in model.units:
                same_rule = units.setdefault(unit.rule, {})
                same_rule.setdefault(unit, len(same_rule))
        layouts = {
            rule: lay_out(
                [[[code[c] for c in cell if c in code] for cell in unit.cells] for unit in known],
                len(contexts),
            )
            for rule, known in units.items()
        }
        return cls(tuple(models), units, layouts)

    @property
    def n_units(self) -> int:
        """How many curves a learner has, counting a two-parameter unit with its grid."""
        return sum(
            len(known) * (12 if len(r.parameters) > 1 else 1) for r, known in self.units.items()
        )


def fit_partitions(study: Study, plan: Plan, marks: NDArray[np.int64]) -> list[ModelFits]:
    """Fit all of the models to some learners."""
    blocks = {rule: block_of(study, rule, marks) for rule in plan.units}
    found = {rule: fit_units(blocks[rule], plan.layouts[rule], rule) for rule in plan.units}
    return [_assemble(model, plan, blocks, found) for model in plan.models]


def block_of(study: Study, rule: Rule, marks: NDArray[np.int64]) -> Block:
    """The trials as the engine takes them; a loss form sees minus the loss."""
    low, high = study.reward_range
    feedback = study.reward if rule.form == "gain" else (study.reward - high) / (high - low)
    flags = SCORED * study.scored + LEARNED * study.learned + RESET * study.reset
    return Block(
        study.starts - study.starts[0],
        study.context,
        study.action,
        np.where(study.learned, feedback, 0.0),
        flags.astype(np.uint8),
        marks,
        len(study.actions),
    )


def _check_covers(model: PartitionModel, contexts: Sequence[str]) -> None:
    left_out = [c for c in contexts if c not in set(model.partition.contexts)]
    if left_out:
        raise HowlearnError(
            f"model {model.name} has no cell for context {left_out[0]}"
            + (f" and {len(left_out) - 1} others" if len(left_out) > 1 else "")
        )


def _assemble(
    model: PartitionModel,
    plan: Plan,
    blocks: dict[Rule, Block],
    found: dict[Rule, UnitFits],
) -> ModelFits:
    """Put a model's units together, and give cells without information the others' mean."""
    at = [(unit.rule, plan.units[unit.rule][unit]) for unit in model.units]
    theta = np.concatenate([found[rule].theta[:, :, k] for rule, k in at], axis=2)
    status = np.concatenate([found[rule].status[:, :, k] for rule, k in at], axis=2)
    value = np.stack([found[rule].value[:, :, k] for rule, k in at], axis=2)
    total = np.stack([found[rule].total[:, :, k] for rule, k in at], axis=2)
    theta = _filled(model, theta, status)
    first = 0
    for i, (rule, k) in enumerate(at):
        mine = slice(first, first + len(rule.parameters))
        first = mine.stop
        guessed = np.any(status[:, :, mine] >= Statuses.FLAT, axis=2)
        guessed &= blocks[rule].marks < np.diff(blocks[rule].offsets)[:, None]
        learner, mark = np.nonzero(guessed)
        if len(learner):
            value[learner, mark, i], total[learner, mark, i] = evaluate(
                blocks[rule],
                plan.layouts[rule],
                rule,
                learner,
                np.full(len(learner), k),
                theta[learner, mark, mine],
                blocks[rule].marks[learner, mark],
            )
    owners = model.parameters
    return ModelFits(
        model,
        tuple(unit.name for unit, _ in owners),
        tuple(parameter.name for _, parameter in owners),
        theta,
        status,
        value.sum(axis=2),
        (total - value).sum(axis=2),
    )


def _filled(
    model: PartitionModel, theta: NDArray[np.float64], status: NDArray[np.int8]
) -> NDArray[np.float64]:
    """Estimates with the default where there is no information.

    The default is the mean over the model's informed cells of the same parameter and rule, from the
    same trials: it uses nothing of the trials that a hold-out scores.
    """
    theta = theta.copy()
    owners = model.parameters
    informed = status < Statuses.FLAT
    for kind in {(unit.rule, parameter) for unit, parameter in owners}:
        columns = [p for p, owner in enumerate(owners) if (owner[0].rule, owner[1]) == kind]
        known = informed[:, :, columns]
        count = known.sum(axis=2, keepdims=True)
        mean = np.where(known, theta[:, :, columns], 0.0).sum(axis=2, keepdims=True)
        mean = np.where(count > 0, mean / np.maximum(count, 1), kind[1].default)
        theta[:, :, columns] = np.where(known, theta[:, :, columns], mean)
    return theta
