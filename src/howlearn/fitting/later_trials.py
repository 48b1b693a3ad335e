"""The likelihood of the trials between two truncations, at the parameters of the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.cell_fits import evaluate
from howlearn.engine.whole import RecordLikelihood, Records, Setting, Whole
from howlearn.fitting.cells import Plan, block_of
from howlearn.fitting.fits import ALL, Fits, Stop, Truncation, marks_of, sizes_of
from howlearn.fitting.replay import Advisor
from howlearn.fitting.settings import by_cells, records_of, setting_of, whole_of, whole_of_unit
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel, Unit


def between(fits: Fits, truncation: Truncation, following: Truncation) -> Floats:
    """Of the scored trials after ``truncation`` up to ``following``: [learner, model]."""
    if following == ALL and isinstance(following, float):
        return fits.rest(truncation)
    study, j = fits.study, fits.at(truncation)
    if isinstance(following, Stop):
        ends = fits.n_fitted(following)
    else:
        ends = sizes_of(study.n_scored, [following])[:, 0]
    sizes = np.column_stack([fits.sizes[:, j], ends])
    if np.any(sizes[:, 1] < sizes[:, 0]):
        raise HowlearnError(f"truncation {following!r} does not follow {truncation!r}")
    learners = np.flatnonzero(sizes[:, 1] > sizes[:, 0])
    found = {name: np.zeros(len(study)) for name in fits.of}
    if len(learners):
        marks = marks_of(study, sizes)[learners]
        theta = {name: part.theta[learners, j] for name, part in fits.of.items()}
        models = [m for m in fits.models if isinstance(m, PartitionModel) and by_cells(m)]
        for name, upto in _of_cells(study, models, theta, learners, marks[:, 1]).items():
            found[name][learners] = upto - fits.of[name].log_likelihood[learners, j]
        records = _Marked(study, setting_of(study), records_of(study), learners, marks)
        for model in fits.models:
            if isinstance(model, Coin):
                found[model.name][learners] = records.of_coin(theta[model.name])
            elif isinstance(model, Mixture | FixedPolicy):
                found[model.name][learners] = records.of_advice(model, theta[model.name])
            elif not by_cells(model):
                found[model.name][learners] = records.of_model(model, theta[model.name])
    return np.stack([*found.values()], axis=1)


def _of_cells(
    study: Study,
    models: Sequence[PartitionModel],
    theta: dict[str, Floats],
    learners: Ints,
    stop: Ints,
) -> dict[str, Floats]:
    """Of the trials before ``stop``, by model: the units' likelihoods, in one pass per rule."""
    plan = Plan.of(models, study.contexts)
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
        common: dict[Unit, Floats] = {}
        for task, value in zip(tasks, np.split(values, np.cumsum(sizes)[:-1]), strict=True):
            mine = common.setdefault(task.unit, value).copy()
            mine[task.who] = value
            sums[task.model] += mine
    return sums


@dataclass(frozen=True)
class _Task:
    """A unit at parameters that are computed for one model, and for some of the learners."""

    unit: Unit
    model: str
    who: Ints
    theta: Floats


def _tasks(
    unit: Unit, models: Sequence[PartitionModel], theta: dict[str, Floats]
) -> Iterator[_Task]:
    """Once for all models and learners, and anew where a model differs from the first.

    It differs where the trials fitted told nothing about the unit, and the mean over the model's
    other cells stands in.
    """
    first: Floats | None = None
    for model in models:
        if unit not in model.units:
            continue
        mine = _parameters(unit, model, theta[model.name])
        differs = np.ones(len(mine), bool) if first is None else np.any(mine != first, axis=1)
        first = mine if first is None else first
        yield _Task(unit, model.name, np.flatnonzero(differs), mine[differs])


def _parameters(unit: Unit, model: PartitionModel, theta: Floats) -> Floats:
    columns = [p for p, (owner, _) in enumerate(model.owned) if owner == unit]
    return theta[:, columns]


@dataclass(frozen=True, eq=False)
class _Marked:
    """Some learners' records, with the trials before which the likelihood begins and ends."""

    study: Study
    setting: Setting
    records: Records
    learners: Ints
    marks: Ints  # [learner of these, 2]

    def of_coin(self, theta: Floats) -> Floats:
        """Counts of the actions times their log-probabilities."""
        study, n_actions = self.study, len(self.study.actions)
        marks = np.zeros((len(study), 2), np.int64)
        marks[self.learners] = self.marks
        learner = np.repeat(np.arange(len(study)), np.diff(study.starts))
        position = np.arange(len(study.context)) - study.starts[learner]
        inside = study.scored & (position >= marks[learner, 0]) & (position < marks[learner, 1])
        cell = learner * n_actions + study.action
        counts = np.bincount(cell[inside], minlength=len(study) * n_actions)
        p = np.column_stack([theta, 1.0 - theta.sum(axis=1)])
        return np.sum(counts.reshape(-1, n_actions)[self.learners] * np.log(p), axis=1)

    def of_model(self, model: Model, theta: Floats) -> Floats:
        """A model that is fitted whole, or unit by unit, at theta[learner, parameter]."""
        study = self.study
        if not isinstance(model, PartitionModel):
            return self._of(whole_of(model, study.contexts, study.actions, self.setting), theta)
        total = np.zeros(len(theta))
        for unit in model.units:
            whole = whole_of_unit(unit, study.contexts, self.setting)
            total += self._of(whole, _parameters(unit, model, theta))
        return total

    def of_advice(self, model: Model, theta: Floats) -> Floats:
        """A mixture at theta[learner, parameter]."""
        study = self.study
        advisor = Advisor(model, study.contexts, study.actions, self.setting)
        out = np.empty(len(theta))
        for k, i in enumerate(self.learners.tolist()):
            one = study.part(i, i + 1)
            mine = slice(*self.marks[k].tolist())
            log_p = advisor.chosen(records_of(one), np.ascontiguousarray(theta[k]))
            out[k] = log_p[mine][one.scored[mine]].sum()
        return out

    def _of(self, whole: Whole, theta: Floats) -> Floats:
        likelihood = RecordLikelihood(whole, self.setting, self.records)
        found = likelihood.at(self.learners, theta, self.marks)
        with np.errstate(invalid="ignore"):
            value = found[:, 1] - found[:, 0]
        return np.where(np.isnan(value), -np.inf, value)  # no number: impossible, as in the fit
