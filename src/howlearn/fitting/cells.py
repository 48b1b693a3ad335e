"""Partition models: every distinct unit is fitted once, however many models contain it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.cell_fits import evaluate, fit_units, replay_unit
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import LEARNED, RESET, SCORED, Block, Statuses, UnitFits, Units, lay_out
from howlearn.fitting.fits import FitWork, ModelFits, Refused, Thetas
from howlearn.fitting.intervals import known_ends, stretch_of
from howlearn.fitting.settings import Marked, on_offer
from howlearn.models.partition_model import PartitionModel, Unit


@dataclass(frozen=True)
class Place:
    """Where one model's units and parameters stand among those of all models."""

    model: PartitionModel
    units: NDArray[np.int64]
    parameters: NDArray[np.int64]
    owner: NDArray[np.int64]  # of each parameter: which of the model's units has it
    first: NDArray[np.int64]  # of each unit: its first parameter


@dataclass(frozen=True)
class UnitPlan:
    """The distinct units of some models, rule after rule, laid out for the engine."""

    units: dict[Rule, dict[Unit, int]]
    layouts: dict[Rule, Units]
    places: tuple[Place, ...]

    @classmethod
    def of(cls, models: Sequence[PartitionModel], contexts: Sequence[str]) -> UnitPlan:
        code = {context: i for i, context in enumerate(contexts)}
        units: dict[Rule, dict[Unit, int]] = {}
        for model in models:
            model.check_covers(contexts)
            for unit in model.units:
                assert isinstance(unit.rule, Rule)
                same_rule = units.setdefault(unit.rule, {})
                same_rule.setdefault(unit, len(same_rule))
        layouts = {
            rule: lay_out(
                [[[code[c] for c in cell if c in code] for cell in unit.cells] for unit in known],
                len(contexts),
            )
            for rule, known in units.items()
        }
        number = {unit: i for i, unit in enumerate(u for known in units.values() for u in known)}
        sizes = np.array([len(unit.rule.parameters) for unit in number])
        first = np.cumsum(sizes) - sizes
        return cls(units, layouts, tuple(_place(model, number, first) for model in models))

    @property
    def n_units(self) -> int:
        """How many curves of 64 nodes a learner may need, the finest grids counted."""
        return sum(
            len(known) * (16 if len(r.parameters) == 1 else 96) for r, known in self.units.items()
        )


def _place(model: PartitionModel, number: dict[Unit, int], first: NDArray[np.int64]) -> Place:
    mine = np.array([number[unit] for unit in model.units])
    sizes = np.array([len(unit.rule.parameters) for unit in model.units])
    owner = np.repeat(np.arange(len(mine)), sizes)
    local = np.cumsum(sizes) - sizes
    parameters = first[mine][owner] + np.arange(len(owner)) - local[owner]
    return Place(model, mine, parameters, owner, local)


class Cells:
    """Partitions in whose cells rules learn, fitted exactly: a way of fitting."""

    searched, slow, evidence = False, False, "laplace"

    def __init__(
        self, models: Sequence[PartitionModel], study: Study, refused: Refused = None
    ) -> None:
        self.plan = UnitPlan.of(models, study.contexts)
        self.n_units = self.n_curves = self.plan.n_units
        self.kernels: tuple[object, ...] = tuple(self.plan.units)

    def fit(self, work: FitWork) -> list[ModelFits]:
        return fit_partitions(work.study, self.plan, work.marks, work.reach)

    @staticmethod
    def later(models: Sequence[PartitionModel], at: Marked) -> Thetas:
        found = _upto(at.study, models, at.theta, at.learners, at.marks[:, 1])
        return {name: value - at.fitted[name] for name, value in found.items()}


def fit_partitions(
    study: Study, plan: UnitPlan, marks: NDArray[np.int64], reach: Reach | None = None
) -> list[ModelFits]:
    """Fit all of the models to some learners; with a ``reach`` also intervals."""
    blocks = {rule: block_of(study, rule, marks) for rule in plan.units}
    found = _together(
        [
            fit_units(blocks[rule], layout, rule, reach and reach.stretched(stretch_of(rule)))
            for rule, layout in plan.layouts.items()
        ]
    )
    drafts = [_draft(place, found) for place in plan.places]
    for rule, layout in plan.layouts.items():
        _evaluate_guesses(drafts, blocks[rule], layout, rule, plan.units[rule])
        if rule.smallest > 0.0:
            _mark_capped(drafts, blocks[rule], layout, rule, plan.units[rule])
    return [_finished(draft, found, reach) for draft in drafts]


def _together(found: Sequence[UnitFits]) -> UnitFits:
    """The fits of all rules side by side; the last axis of theta and status is the parameter."""
    shape = found[0].value.shape[:2]
    return UnitFits(
        np.concatenate([part.theta.reshape(*shape, -1) for part in found], axis=2),
        np.concatenate([part.status.reshape(*shape, -1) for part in found], axis=2),
        np.concatenate([part.value for part in found], axis=2),
        np.concatenate([part.total for part in found], axis=2),
        np.concatenate([part.shown for part in found], axis=1),
        None
        if found[0].ends is None
        else np.concatenate(
            [p.ends.reshape(shape[0], -1, 2) for p in found if p.ends is not None], 1
        ),
    )


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
        on_offer(study),
    )


@dataclass(frozen=True)
class _CellFit:
    """A model's units put together; the axes are learner, mark, parameter or unit."""

    place: Place
    theta: NDArray[np.float64]
    status: NDArray[np.int8]
    value: NDArray[np.float64]
    total: NDArray[np.float64]

    def of_rule(self, rule: Rule) -> NDArray[np.bool_]:
        """Which of the model's units follow a rule."""
        return np.array([unit.rule == rule for unit in self.place.model.units])


def _draft(place: Place, found: UnitFits) -> _CellFit:
    """Put a model's units together, and give cells without information the others' mean."""
    status = found.status[:, :, place.parameters]
    theta = filled(place.model, found.theta[:, :, place.parameters], status >= Statuses.FLAT)
    return _CellFit(
        place, theta, status, found.value[:, :, place.units], found.total[:, :, place.units]
    )


def _evaluate_guesses(
    drafts: Sequence[_CellFit], block: Block, units: Units, rule: Rule, number: dict[Unit, int]
) -> None:
    """Likelihoods at estimates that are the others' mean, of all models in one pass."""
    cut = (block.marks < np.diff(block.offsets)[:, None])[:, :, None]
    guesses = []  # draft, learner, mark, unit of the draft
    for draft in drafts:
        guessed = draft.status >= Statuses.FLAT
        if not guessed.any():
            continue
        by_unit = np.logical_or.reduceat(guessed, draft.place.first, axis=2)
        guesses.append((draft, *np.nonzero(by_unit & cut & draft.of_rule(rule))))
    if not sum(len(learner) for _, learner, _, _ in guesses):
        return
    learner = np.concatenate([learner for _, learner, _, _ in guesses])
    mark = np.concatenate([mark for _, _, mark, _ in guesses])
    at = [
        np.array([number.get(unit, -1) for unit in draft.place.model.units])[unit]
        for draft, _, _, unit in guesses
    ]
    theta = np.concatenate([_parameters(draft, i, j, unit, rule) for draft, i, j, unit in guesses])
    values, totals = evaluate(
        block, units, rule, learner, np.concatenate(at), theta, block.marks[learner, mark]
    )
    done = 0
    for draft, *where in guesses:
        mine = slice(done, done + len(where[0]))
        draft.value[tuple(where)], draft.total[tuple(where)] = values[mine], totals[mine]
        done = mine.stop


def _parameters(
    draft: _CellFit,
    learner: NDArray[np.int64],
    mark: NDArray[np.int64],
    unit: NDArray[np.int64],
    rule: Rule,
) -> NDArray[np.float64]:
    """The estimates [task, parameter] of units that follow a rule."""
    columns = draft.place.first[unit][:, None] + np.arange(len(rule.parameters))
    return draft.theta[learner[:, None], mark[:, None], columns]


def _mark_capped(
    drafts: Sequence[_CellFit], block: Block, units: Units, rule: Rule, number: dict[Unit, int]
) -> None:
    """Mark fits under which a choice was less probable than the rule can handle."""
    limit = np.log(rule.smallest)
    for draft in drafts:
        suspects = np.argwhere((draft.total < limit) & draft.of_rule(rule))
        for learner, mark, i in suspects.tolist():
            mine = draft.place.owner == i
            at = number[draft.place.model.units[i]]
            log_p = replay_unit(block, units, rule, learner, at, draft.theta[learner, mark, mine])
            trials = slice(block.offsets[learner], block.offsets[learner + 1])
            chosen = log_p[np.arange(len(log_p)), block.action[trials]]
            if np.min(chosen[block.feedback[trials] != 0.0], initial=0.0) < limit:
                known = mine & (draft.status[learner, mark] != Statuses.UNSEEN)
                draft.status[learner, mark, known] = Statuses.CAPPED


def _finished(draft: _CellFit, found: UnitFits, reach: Reach | None) -> ModelFits:
    """Sums over a model's units."""
    owners = draft.place.model.owned
    ends = None
    if reach is not None and found.ends is not None:
        mine, status = found.ends[:, draft.place.parameters], draft.status[:, reach.mark]
        ends = known_ends(mine, status, [parameter for _, parameter in owners])
    shown = found.shown[:, draft.place.units]
    return ModelFits(
        draft.place.model,
        tuple(unit.name for unit, _ in owners),
        tuple(parameter.name for _, parameter in owners),
        draft.theta,
        draft.status,
        draft.value.sum(axis=2),
        (draft.total - draft.value).sum(axis=2),
        shown[:, draft.place.owner].sum(axis=1),
        n_met=np.sum(draft.status != Statuses.UNSEEN, axis=2),
        ends=ends,
    )


def filled(
    model: PartitionModel, theta: NDArray[np.float64], guessed: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Estimates with the default where there is no information.

    The default is the mean over the model's informed cells of the same parameter and rule, from the
    same trials: it uses nothing of the trials that a hold-out scores.
    """
    if not guessed.any():
        return theta
    theta = theta.copy()
    owners = model.owned
    for kind in {(unit.rule, parameter) for unit, parameter in owners}:
        columns = [p for p, owner in enumerate(owners) if (owner[0].rule, owner[1]) == kind]
        known = ~guessed[:, :, columns]
        count = known.sum(axis=2, keepdims=True)
        mean = np.where(known, theta[:, :, columns], 0.0).sum(axis=2, keepdims=True)
        mean = np.where(count > 0, mean / np.maximum(count, 1), kind[1].default)
        theta[:, :, columns] = np.where(known, theta[:, :, columns], mean)
    return theta


def of_unit(unit: Unit, model: PartitionModel, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The parameters of one of a model's units: [learner, parameter]."""
    columns = [p for p, (owner, _) in enumerate(model.owned) if owner == unit]
    return theta[:, columns]


def _upto(
    study: Study,
    models: Sequence[PartitionModel],
    theta: Thetas,
    learners: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> dict[str, NDArray[np.float64]]:
    """Of the trials before ``stop``, by model: the units' likelihoods, in one pass per rule."""
    plan = UnitPlan.of(models, study.contexts)
    sums = {model.name: np.zeros(len(learners)) for model in models}
    for rule, units in plan.units.items():
        tasks = [task for unit in units for task in _tasks(unit, models, theta)]
        sizes = [len(task.who) for task in tasks]
        who = np.concatenate([task.who for task in tasks])
        values, _ = evaluate(
            block_of(study, rule, np.empty((len(study), 0), np.int64)),
            plan.layouts[rule],
            rule,
            learners[who],
            np.repeat([units[task.unit] for task in tasks], sizes),
            np.concatenate([task.theta for task in tasks]),
            stop[who],
        )
        common: dict[Unit, NDArray[np.float64]] = {}
        for task, value in zip(tasks, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
            mine = common.setdefault(task.unit, value).copy()
            mine[task.who] = value
            sums[task.model] += mine
    return sums


@dataclass(frozen=True)
class _UnitAt:
    """A unit at parameters that are computed for one model, and for some of the learners."""

    unit: Unit
    model: str
    who: NDArray[np.int64]
    theta: NDArray[np.float64]


def _tasks(unit: Unit, models: Sequence[PartitionModel], theta: Thetas) -> Iterator[_UnitAt]:
    """Once for all models and learners, and again where a model differs from the first.

    It differs where the trials fitted told nothing about the unit, and the mean over the model's
    other cells stands in.
    """
    first: NDArray[np.float64] | None = None
    for model in models:
        if unit not in model.units:
            continue
        mine = of_unit(unit, model, theta[model.name])
        differs = np.ones(len(mine), bool) if first is None else np.any(mine != first, axis=1)
        first = mine if first is None else first
        yield _UnitAt(unit, model.name, np.flatnonzero(differs), mine[differs])
