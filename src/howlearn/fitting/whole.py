"""Fits of models that are not made of exact cell fits: searched from many starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.study import Study
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import Statuses
from howlearn.engine.profiles import searched_ends
from howlearn.engine.search import (
    LANED,
    LARGE,
    MANY,
    SMOOTH,
    THOROUGH,
    THOROUGH_LANED,
    USUAL,
    Effort,
    NoNumber,
    Tops,
    filling,
    highest,
)
from howlearn.engine.whole import RecordLikelihood, Records, Setting, Whole, replay
from howlearn.fitting.cells import filled, of_unit
from howlearn.fitting.fits import FitWork, ModelFits, Refused, Thetas, names_of
from howlearn.fitting.interpreted import (
    TOLERANCE,
    ModelError,
    Uncompiled,
    compiled_or_error,
    interpreted,
    wrong_gradient,
)
from howlearn.fitting.intervals import known_ends, stretch_of
from howlearn.fitting.remembered import searched_once
from howlearn.fitting.settings import (
    Marked,
    check_needs,
    records_of,
    setting_of,
    whole_of,
    whole_of_unit,
)
from howlearn.models.model import Model, own
from howlearn.models.partition_model import PartitionModel, Unit

SHORT = 150  # trials
SEARCH = 500  # curves that take as long as searching one parameter
NO_TOP = (Statuses.UNSEEN, Statuses.BROKEN)  # of all parameters at once
TRIED, ALL_TRIED = 200, 10_000  # trials on which a user's own model is looked at


class Wholes:
    """Models that are searched with all of their parameters at once: a way of fitting."""

    searched, slow, evidence, n_curves = True, True, "laplace", 0

    def __init__(self, models: Sequence[Model], study: Study, refused: Refused = None) -> None:
        self.models = sorted(models, key=lambda model: len(model.adjustments) > 0)
        self.setting = setting_of(study)
        self.wholes: dict[str, Whole] = {}
        for model in models:
            model.check_covers(study.contexts)
            check_needs(model, self.setting)
            whole = whole_of(model, study.contexts, study.actions, self.setting)
            if not model.adjustments:
                _try(model, study, self.setting, whole, refused)
            self.wholes[model.name] = whole
        self.n_units, self.kernels = _work_of(self.wholes.values())

    def fit(self, work: FitWork) -> list[ModelFits]:
        found, mine = dict(work.known), _WholeFits.of(work, self.setting)
        for model in self.models:
            found[model.name] = _of_whole(model, self.wholes[model.name], mine, found)
        return [found[model.name] for model in self.models]

    @staticmethod
    def later(models: Sequence[Model], at: Marked) -> Thetas:
        study, found = at.study, {}
        for model in models:
            whole = whole_of(model, study.contexts, study.actions, at.setting)
            found[model.name] = _later(whole, at, at.theta[model.name])
        return found


class UnitWise:
    """Partitions in whose cells models learn, searched unit by unit: a way of fitting."""

    searched, slow, evidence, n_curves = True, True, "laplace", 0

    def __init__(
        self, models: Sequence[PartitionModel], study: Study, refused: Refused = None
    ) -> None:
        self.models, self.setting = models, setting_of(study)
        self.units: dict[Unit, Whole] = {}
        for model in models:
            model.check_covers(study.contexts)
            for unit in model.units:
                check_needs(unit.rule, self.setting)
                if unit not in self.units:
                    self.units[unit] = whole_of_unit(unit, study.contexts, self.setting)
            for unit in {unit.rule: unit for unit in model.units}.values():
                if isinstance(unit.rule, Model):
                    _try(unit.rule, study, self.setting, self.units[unit], refused)
        self.n_units, self.kernels = _work_of(self.units.values())

    def fit(self, work: FitWork) -> list[ModelFits]:
        mine = _WholeFits.of(work, self.setting)
        tops = {unit: mine.tops(whole) for unit, whole in self.units.items()}
        return [_of_units(model, tops, self.units, mine) for model in self.models]

    @staticmethod
    def later(models: Sequence[PartitionModel], at: Marked) -> Thetas:
        found = {}
        for model in models:
            found[model.name] = np.zeros(len(at.learners))
            for unit in model.units:
                whole = whole_of_unit(unit, at.study.contexts, at.setting)
                mine = of_unit(unit, model, at.theta[model.name])
                found[model.name] += _later(whole, at, mine)
        return found


def _work_of(wholes: Iterable[Whole]) -> tuple[int, tuple[object, ...]]:
    """How many curves searches take as long as, about; and what must have been compiled."""
    parts = list(wholes)
    return (
        sum(SEARCH * (len(whole.parameters) + 1) for whole in parts),
        tuple((type(whole.first), whole.adjustments) for whole in parts),
    )


def _later(whole: Whole, at: Marked, theta: Floats) -> Floats:
    """The likelihood between two marks, at theta[learner, parameter]."""
    likelihood = RecordLikelihood(whole, at.setting, at.records)
    found = likelihood.at(at.learners, theta, at.marks)
    with np.errstate(invalid="ignore"):
        value = found[:, 1] - found[:, 0]
    return np.where(np.isnan(value), -np.inf, value)  # NaN: impossible, as in the fit


def _try(
    model: Model,
    study: Study,
    setting: Setting,
    whole: Whole,
    refused: dict[int, Exception] | None = None,
) -> None:
    """Look at a user's own model on the longest record, before compiled loops trust it.

    A learner on whom it fails may be ``refused``: then the next longest record is looked at.
    """
    if not own(model):
        return None
    longest = np.argsort(-np.diff(study.starts), kind="stable").tolist()
    if refused is None:
        return _try_on(longest[0], model, study, setting, whole)
    for learner in longest:
        if learner not in refused:
            try:
                return _try_on(learner, model, study, setting, whole)
            except Uncompiled:
                raise
            except ModelError as error:
                refused[learner] = error
    return None


def _try_on(learner: int, model: Model, study: Study, setting: Setting, whole: Whole) -> None:
    first = records_of(study.part(learner, learner + 1))
    default = np.array([[parameter.default for parameter in whole.parameters]])
    d = len(whole.parameters)
    u = np.concatenate([np.zeros((1, d)), np.ones((1, d)), filling(3, d)[: 3 if d else 0]])
    points = np.concatenate([default, whole.at(u * whole.ends)])
    for k, x in enumerate(points):
        most = TRIED if k else ALL_TRIED
        interpreted(model, setting, first, x, most, whole.cell_of)
    likelihood = RecordLikelihood(whole, setting, first)
    if likelihood.analytic:
        inside, trials = points[3:], int(first.offsets[1])
        problem = compiled_or_error(model, lambda: wrong_gradient(likelihood, inside, trials))
        if problem:
            raise ModelError(f"model {model.name}: {problem}")


@dataclass(frozen=True, eq=False)
class _WholeFits:
    """Some learners' records, and up to where they are fitted."""

    study: Study
    setting: Setting
    records: Records
    marks: NDArray[np.int64]
    reach: Reach | None = None

    @classmethod
    def of(cls, work: FitWork, setting: Setting) -> _WholeFits:
        return cls(work.study, setting, records_of(work.study), work.marks, work.reach)

    def seen(self, whole: Whole) -> NDArray[np.int64]:
        """Scored trials of the model's contexts before each mark, and in all."""
        mine = (whole.cell_of[self.study.context] >= 0) & self.study.scored
        counts = np.concatenate(([0], np.cumsum(mine)))
        starts = self.study.starts
        ends = np.column_stack([starts[:-1, None] + self.marks, starts[1:]])
        return counts[ends] - counts[starts[:-1], None]

    def tops(self, whole: Whole, guesses: Floats | None = None) -> Tops:
        """The best parameters at every mark; short records are searched more thoroughly."""
        if guesses is None:
            guesses = np.empty((*self.marks.shape, 0, len(whole.parameters)))
        if whole.smooth:
            return self._tops(whole, guesses, SMOOTH)
        short = np.diff(self.study.starts) <= SHORT
        usual, thorough = USUAL, THOROUGH
        if len(whole.parameters) >= MANY:
            usual = LARGE
        elif whole.kernel and not whole.kernel_slopes:
            usual, thorough = LANED, THOROUGH_LANED
        if short.all() or not short.any():
            return self._tops(whole, guesses, thorough if short.all() else usual)
        halves = [np.flatnonzero(short), np.flatnonzero(~short)]
        found = [
            self._only(who)._tops(whole, guesses[who], effort)
            for who, effort in zip(halves, (thorough, usual), strict=True)
        ]
        back = np.argsort(np.concatenate(halves))
        return Tops(
            np.concatenate([each.theta for each in found])[back],
            np.concatenate([each.status for each in found])[back],
            np.concatenate([each.agreement for each in found])[back],
        )

    def _only(self, who: NDArray[np.int64]) -> _WholeFits:
        study = self.study.take(who)
        return _WholeFits(study, self.setting, records_of(study), self.marks[who])

    def _tops(self, whole: Whole, guesses: Floats, effort: Effort) -> Tops:
        likelihood = RecordLikelihood(whole, self.setting, self.records)
        n_seen = self.seen(whole)[:, :-1]

        def search(some: Sequence[int]) -> Tops:
            marks, seen, starts = self.marks[:, some], n_seen[:, some], guesses[:, some]
            return compiled_or_error(
                whole.first, lambda: highest(likelihood, marks, seen, starts, effort)
            )

        try:
            return searched_once(likelihood, self.marks, guesses, effort, search)
        except NoNumber as error:
            values = [f"{p.name}={v:.4g}" for p, v in zip(whole.parameters, error.x, strict=True)]
            raise ModelError(
                f"model {whole.first.name} returns NaN for learner "
                f"{self.study.learners[error.learner]} at {', '.join(values)}; "
                "howlearn.check_model has details"
            ) from None

    def check(self, whole: Whole, theta: Floats) -> None:
        """Whether the probabilities of a user's own model add up to 1, all along, where it was
        fitted: what does not would win every contest."""
        if not own(whole.first):
            return
        for i in range(len(self.study)):
            one = self.study.part(i, i + 1)
            log_p, _ = replay(whole, self.setting, records_of(one), theta[i, -1])
            mine = whole.cell_of[one.context] >= 0
            total = np.exp(np.minimum(log_p[mine], 1.0)).sum(axis=1)
            wrong = np.flatnonzero(~(np.abs(total - 1.0) < TOLERANCE))
            if len(wrong):
                t = int(np.flatnonzero(mine)[wrong[0]]) + 1
                names = [parameter.name for parameter in whole.parameters]
                at = [f"{n}={v:.4g}" for n, v in zip(names, theta[i, -1], strict=True)]
                raise ModelError(
                    f"the probabilities of {whole.first.name} add up to {total[wrong[0]]:.6g} at "
                    f"trial {t} of learner {one.learners[0]}, with {', '.join(at)}, not to 1"
                )

    def ends(self, whole: Whole, theta: Floats, status: NDArray[np.int8], value: Floats) -> Floats:
        """Of intervals for all parameters, [learner, parameter, 2], where they are asked for."""
        assert self.reach is not None
        reach, parameters = self.reach.stretched(stretch_of(whole.first)), list(whole.parameters)
        j = reach.mark
        known = np.flatnonzero(~np.isin(status[:, j], NO_TOP).any(axis=1))
        out = np.full((len(theta), len(parameters), 2), np.nan)
        if len(known) and parameters:
            some = self if len(known) == len(theta) else self._only(known)
            likelihood = RecordLikelihood(whole, self.setting, some.records)
            out[known] = searched_ends(
                likelihood, some.marks[:, j], theta[known, j], value[known, j], reach.limit
            )
        return known_ends(out, status[:, j], parameters)

    def values(self, whole: Whole, theta: Floats) -> tuple[Floats, Floats]:
        """Log-likelihoods [learner, mark] of the trials before each mark, and of those after it."""
        likelihood = RecordLikelihood(whole, self.setting, self.records)
        n, m = self.marks.shape
        ends = np.repeat(np.diff(self.records.offsets), m)
        marks = np.column_stack([self.marks.reshape(-1), ends])
        flat = theta.reshape(n * m, -1)
        found = likelihood.at(np.repeat(np.arange(n), m), flat, marks)
        found = np.where(np.isnan(found), -np.inf, found).reshape(n, m, 2)
        with np.errstate(invalid="ignore"):
            rest = found[:, :, 1] - found[:, :, 0]
        return found[:, :, 0], np.where(np.isnan(rest), -np.inf, rest)


def _of_whole(
    model: Model, whole: Whole, work: _WholeFits, known: dict[str, ModelFits]
) -> ModelFits:
    guesses = None
    if model.adjustments and model.unadjusted.name in known:
        # A model that contains another is never worse than it.
        simpler = known[model.unadjusted.name].theta
        extra = [p.default for p in whole.parameters[simpler.shape[2] :]]
        more = np.broadcast_to(extra, (*simpler.shape[:2], len(extra)))
        guesses = np.concatenate([simpler, more], axis=2)[:, :, None]
    tops = work.tops(whole, guesses)
    work.check(whole, tops.theta)
    value, rest = work.values(whole, tops.theta)
    return ModelFits(
        model,
        *names_of(model, work.study.actions),
        tops.theta,
        tops.status,
        value,
        rest,
        np.full(len(work.study), len(whole.parameters)),
        tops.agreement,
        ends=work.ends(whole, tops.theta, tops.status, value) if work.reach else None,
    )


def _of_units(
    model: PartitionModel, units: dict[Unit, Tops], wholes: dict[Unit, Whole], work: _WholeFits
) -> ModelFits:
    tops = [units[unit] for unit in model.units]
    theta = np.concatenate([each.theta for each in tops], axis=2)
    status = np.concatenate([each.status for each in tops], axis=2)
    theta = filled(model, theta, np.isin(status, (Statuses.FLAT, Statuses.UNSEEN)))
    value, rest = np.zeros(work.marks.shape), np.zeros(work.marks.shape)
    counted, met = np.zeros(len(work.study), np.int64), np.zeros(work.marks.shape, np.int64)
    ends: list[Floats] = []
    first = 0
    for unit in model.units:
        size = len(unit.rule.parameters)
        mine = theta[:, :, first : first + size]
        work.check(wholes[unit], mine)
        before, after = work.values(wholes[unit], mine)
        value, rest = value + before, rest + after
        if work.reach:
            ends.append(work.ends(wholes[unit], mine, units[unit].status, before))
        seen = work.seen(wholes[unit]) > 0
        counted, met = counted + size * seen[:, -1], met + size * seen[:, :-1]
        first += size
    return ModelFits(
        model,
        *names_of(model, work.study.actions),
        theta,
        status,
        value,
        rest,
        counted,
        _least([each.agreement for each in tops]),
        met,
        np.concatenate(ends, axis=1) if ends else None,
    )


def _least(agreements: Sequence[Floats]) -> Floats:
    """The smallest agreement among a model's units; NaN only where none was searched."""
    least = np.min([np.nan_to_num(each, nan=np.inf) for each in agreements], axis=0)
    return np.where(np.isinf(least), np.nan, least)
