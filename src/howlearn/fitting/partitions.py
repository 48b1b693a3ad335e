"""Partition models: every distinct unit is fitted once, however many models contain it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.engine.layout import LEARNED, RESET, SCORED, Block, Statuses, UnitFits, Units, lay_out
from howlearn.engine.units import evaluate, fit_units, replay_unit
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
    drafts = [_draft(model, plan, found) for model in plan.models]
    for rule in plan.units:
        _evaluate_guesses(drafts, blocks[rule], plan.layouts[rule], rule)
    return [_finished(draft, plan, blocks, found) for draft in drafts]


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


@dataclass(frozen=True)
class _Draft:
    """A model's units put together; the axes are learner, mark, parameter or unit."""

    model: PartitionModel
    at: list[tuple[Rule, int, slice]]  # of each unit: its number and its parameters
    theta: NDArray[np.float64]
    status: NDArray[np.int8]
    value: NDArray[np.float64]
    total: NDArray[np.float64]


def _draft(model: PartitionModel, plan: Plan, found: dict[Rule, UnitFits]) -> _Draft:
    """Put a model's units together, and give cells without information the others' mean."""
    at, first = [], 0
    for unit in model.units:
        mine = slice(first, first + len(unit.rule.parameters))
        at.append((unit.rule, plan.units[unit.rule][unit], mine))
        first = mine.stop
    theta = np.concatenate([found[rule].theta[:, :, k] for rule, k, _ in at], axis=2)
    status = np.concatenate([found[rule].status[:, :, k] for rule, k, _ in at], axis=2)
    value = np.stack([found[rule].value[:, :, k] for rule, k, _ in at], axis=2)
    total = np.stack([found[rule].total[:, :, k] for rule, k, _ in at], axis=2)
    return _Draft(model, at, _filled(model, theta, status), status, value, total)


def _evaluate_guesses(drafts: Sequence[_Draft], block: Block, units: Units, rule: Rule) -> None:
    """Likelihoods at estimates that are the others' mean, of all models in one pass."""
    cut = block.marks < np.diff(block.offsets)[:, None]
    tasks, thetas = [], []  # learner, mark, unit and estimates of every guess
    targets = []  # the draft, its column and the guesses that belong there
    for draft in drafts:
        guessed = (draft.status >= Statuses.FLAT) & cut[:, :, None]
        if not guessed.any():
            continue
        for i, (mine_rule, k, mine) in enumerate(draft.at):
            if mine_rule == rule and guessed[:, :, mine].any():
                learner, mark = np.nonzero(guessed[:, :, mine].any(axis=2))
                tasks.append((learner, mark, np.full(len(learner), k)))
                thetas.append(draft.theta[learner, mark, mine])
                targets.append((draft, (learner, mark, i)))
    if not tasks:
        return
    learner, mark, unit = (np.concatenate(part) for part in zip(*tasks, strict=True))
    stop = block.marks[learner, mark]
    values, totals = evaluate(block, units, rule, learner, unit, np.concatenate(thetas), stop)
    first = 0
    for (draft, where), theta in zip(targets, thetas, strict=True):
        draft.value[where] = values[first : first + len(theta)]
        draft.total[where] = totals[first : first + len(theta)]
        first += len(theta)


def _finished(
    draft: _Draft, plan: Plan, blocks: dict[Rule, Block], found: dict[Rule, UnitFits]
) -> ModelFits:
    """Sums over a model's units."""
    for i, (rule, k, mine) in enumerate(draft.at):
        theta, total = draft.theta[:, :, mine], draft.total[:, :, i]
        for learner, mark in _capped(blocks[rule], plan.layouts[rule], rule, k, theta, total):
            draft.status[learner, mark, mine] = Statuses.CAPPED
    owners = draft.model.parameters
    return ModelFits(
        draft.model,
        tuple(unit.name for unit, _ in owners),
        tuple(parameter.name for _, parameter in owners),
        draft.theta,
        draft.status,
        draft.value.sum(axis=2),
        (draft.total - draft.value).sum(axis=2),
        np.sum([found[rule].shown[:, k] * (p.stop - p.start) for rule, k, p in draft.at], axis=0),
    )


def _capped(
    block: Block,
    units: Units,
    rule: Rule,
    unit: int,
    theta: NDArray[np.float64],
    total: NDArray[np.float64],
) -> list[tuple[int, int]]:
    """Fits (learner, mark) under which a choice was less probable than the rule can handle."""
    if rule.smallest == 0.0:
        return []
    limit = np.log(rule.smallest)
    found = []
    for learner, mark in np.argwhere(total < limit).tolist():
        log_p = replay_unit(block, units, rule, learner, unit, theta[learner, mark])
        trials = slice(block.offsets[learner], block.offsets[learner + 1])
        chosen = log_p[np.arange(len(log_p)), block.action[trials]]
        if np.min(chosen[block.feedback[trials] != 0.0], initial=0.0) < limit:
            found.append((learner, mark))
    return found


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
