"""``fit``: every model to every learner, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.crossings import Reach
from howlearn.fitting.fits import (
    ALL,
    Fits,
    FitWork,
    ModelFits,
    Refused,
    Stop,
    Truncation,
    check_epsilon,
    fullest,
    joined,
    marks_of,
    of_nobody,
    sizes_of,
)
from howlearn.fitting.intervals import nats_within
from howlearn.fitting.joint import with_others
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.settings import records_of
from howlearn.fitting.unfittable import PASSED_ON, CannotFit, Guard, reason
from howlearn.fitting.ways import Way, by_way, kept_inside
from howlearn.models.model import Model, same
from howlearn.models.names import among, models_of
from howlearn.runs.parts import in_threads, threads_of

BLOCK = 50  # learners handled together: enough work per call, little enough memory
MANY_TRIALS = 40_000  # of few learners
BLOCK_BYTES = 64e6  # of likelihoods on the grid
_compiled: set[tuple[object, ...]] = set()  # kernels that were used in this process

Progress = Callable[[int, int], None]  # learners done, learners in all


def fit(
    study: Study,
    models: Sequence[Model | str] | Model | str,
    truncations: Sequence[Truncation] = (ALL,),
    threads: int | None = None,
    progress: Progress | None = None,
    level: float | None = None,
    searched: bool = True,
) -> Fits:
    """Fit every model to every learner, exactly, at every truncation.

    Models may be given by their names, as in ``select``.

    A truncation is a share of the learner's scored trials (0.5, 1.0), their number (20, 50), or a
    ``Stop`` at the end of T_ε. With a ``level`` (0.95) parameters get intervals, from the fits that
    saw most trials; without ``searched`` only those of models that are fitted cell by cell do.

    A learner who cannot be fitted ends it.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByShape", {"eta": 0.03}, learners=2, trials=200, seed=1)
    >>> hl.fit(study, task.models, [0.5, 1.0]).log_likelihood(1.0).shape
    (2, 6)
    """
    own = models_of(models, among(study))
    return guarded_fit(None, study, own, truncations, threads, progress, level, searched)


def guarded_fit(
    guard: Guard | None,
    study: Study,
    models: Sequence[Model],
    truncations: Sequence[Truncation] = (ALL,),
    threads: int | None = None,
    progress: Progress | None = None,
    level: float | None = None,
    searched: bool = True,
) -> Fits:
    """``fit`` to those who can be fitted: of the others the ``guard`` knows who and why."""
    check_models(models)
    others, another = study.without_excluded(), None if guard is None else Guard()
    models = with_others(
        others, models, lambda experts: guarded_fit(another, others, experts, [ALL], threads)
    )
    study = study if guard is None else guard.long_enough(study)
    whole = None
    if any(isinstance(t, Stop) and t.by == "path" for t in truncations):
        # Where to stop is known from fits to all trials: half of the work comes first.
        sizes = sizes_of(study.n_scored, [ALL])
        half = _scaled(progress, 0.0, 0.5)
        whole = fit_at(study, models, (ALL,), sizes, threads, half, guard=guard)
        study, progress = whole.study, _scaled(progress, 0.5, 1.0)
    sizes = _sizes(study, models, truncations, whole)
    reach = None if level is None else Reach(nats_within(level), fullest(truncations, sizes))
    return fit_at(study, models, truncations, sizes, threads, progress, reach, searched, guard)


def _scaled(progress: Progress | None, start: float, end: float) -> Progress | None:
    """Progress of a part of the work, which goes from start to end."""
    if progress is None:
        return None
    return lambda done, total: progress(int(start * total + (end - start) * done), total)


def _sizes(
    study: Study, models: Sequence[Model], truncations: Sequence[Truncation], whole: Fits | None
) -> NDArray[np.int64]:
    """Scored trials fitted: [learner, truncation]; ``whole`` are fits to all trials."""
    if not truncations:
        raise HowlearnError("at least one truncation is needed, such as 1.0 for all trials")
    columns = []
    for truncation in truncations:
        if not isinstance(truncation, Stop):
            columns.append(sizes_of(study.n_scored, [truncation]))
            continue
        check_epsilon(truncation.epsilon, len(study.actions))
        if truncation.by == "paper" or whole is None:
            horizon = by_formula(study, models, truncation.epsilon)
            columns.append(sizes_of(study.n_scored, [horizon]))
        else:
            columns.append(along_path(whole, truncation.epsilon)[:, None])
    return np.concatenate(columns, axis=1)


def check_stops(study: Study, models: Sequence[Model], truncations: Sequence[Truncation]) -> None:
    """Refuse stops that these models cannot have, before any work is done."""
    for stop in truncations:
        if isinstance(stop, Stop):
            check_epsilon(stop.epsilon, len(study.actions))
            if stop.by == "paper":
                by_formula(study, models, stop.epsilon)


def fit_at(
    study: Study,
    models: Sequence[Model],
    truncations: Sequence[Truncation],
    sizes: NDArray[np.int64],
    threads: int | None = None,
    progress: Progress | None = None,
    reach: Reach | None = None,
    searched: bool = True,
    guard: Guard | None = None,
) -> Fits:
    """``fit`` with the numbers of scored trials [learner, truncation] that truncations mean."""
    if guard is not None and not len(study):
        return of_nobody(study, models, truncations, reach)
    refused: Refused = None if guard is None else {}
    plan = check(study, models, refused)
    if guard is not None and refused:
        sizes = np.delete(sizes, [*refused], axis=0)
        study = guard.without(study, refused)
        if not len(study):
            return of_nobody(study, models, truncations, reach)
    bytes_each = plan.n_curves * sizes.shape[1] * 64 * 8
    workers = threads_of(threads)
    size = int(min(BLOCK, max(1, BLOCK_BYTES // max(bytes_each, 1))))
    slow = any(way.slow for way in plan.ways) or len(study.context) > MANY_TRIALS
    if slow and workers > 1:  # so much that every worker should have some
        size = min(size, -(-len(study) // (2 * workers)))
    edges = [*range(0, len(study), size), len(study)]
    done, lost = 0, {}

    def some(part: Study, sizes: NDArray[np.int64]) -> Fits:
        return _fit_block(part, models, plan, tuple(truncations), sizes, reach, searched)

    def work(block: int) -> list[Fits]:
        nonlocal done
        mine = slice(edges[block], edges[block + 1])
        part = study.part(mine.start, mine.stop)
        if guard is None:
            result = [some(part, sizes[mine])]
        else:
            result, alone = guard.tried(some, part, sizes[mine])
            for i, error in alone.items():
                at = sizes[mine][i : i + 1]
                lost[mine.start + i] = _with_model(error, part.part(i, i + 1), models, at)
        done += edges[block + 1] - edges[block]
        if progress:
            progress(done, len(study))
        return result

    blocks = list(range(len(edges) - 1))
    kernels = (*plan.kernels, len(study.actions) == 2 and study.offers is None)
    # What is compiled on first use is compiled before threads would wait for each other.
    first = [] if kernels in _compiled else [work(blocks.pop(0))]
    _compiled.add(kernels)
    found = first + in_threads(work, blocks, workers)
    if guard is not None and lost:
        study = guard.without(study, lost)
        if not len(study):
            return of_nobody(study, models, truncations, reach)
    return joined(study, [part for parts in found for part in parts])


def _with_model(
    error: Exception, one: Study, models: Sequence[Model], sizes: NDArray[np.int64]
) -> Exception:
    """The error of one learner; with the model's name where nobody said it."""
    if isinstance(error, HowlearnError):
        return error
    for model in models:
        try:
            fit_at(one, [model], [ALL] * sizes.shape[1], sizes, threads=1)
        except PASSED_ON:
            raise
        except HowlearnError as again:
            return again
        except Exception as again:
            return CannotFit(f"{model.name}: {reason(again)}", again)
    return error


def _fit_block(
    study: Study,
    models: Sequence[Model],
    plan: FitPlan,
    truncations: tuple[Truncation, ...],
    sizes: NDArray[np.int64],
    reach: Reach | None,
    searched: bool,
) -> Fits:
    marks = marks_of(study, sizes)
    of: dict[str, ModelFits] = {}
    for way in plan.ways:
        wide = reach if searched or not way.searched else None
        found = way.fit(FitWork(study, marks, of, wide))
        of |= {part.model.name: part for part in found}
    wanted = {model.name: kept_inside(of[model.name], study, marks) for model in models}
    return Fits(study, truncations, sizes, wanted, reach)


@dataclass(frozen=True, eq=False)
class FitPlan:
    """Models and those they are made of, way by way, ready to be fitted."""

    ways: tuple[Way, ...]

    @property
    def n_units(self) -> int:
        """How many curves of 64 nodes a learner's fits take as long as, about."""
        return sum(way.n_units for way in self.ways)

    @property
    def n_curves(self) -> int:
        """How many of them are held in memory at once."""
        return sum(way.n_curves for way in self.ways)

    @property
    def kernels(self) -> tuple[object, ...]:
        """What must have been compiled."""
        return tuple(kernel for way in self.ways for kernel in way.kernels)


def check_models(models: Sequence[Model]) -> None:
    """Refuse what is not a model, or two of one name."""
    if not models:
        raise HowlearnError("there is no candidate model")
    for model in models:
        if isinstance(model, type) and issubclass(model, Model):
            raise HowlearnError(f"{model.__name__} is a class; give a model, {model.__name__}()")
        if not isinstance(model, Model):
            raise HowlearnError(f"{model!r} is not a model that can be fitted")
    names = [model.name for model in models]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise HowlearnError(f"two candidates have the same name: {', '.join(twice)}")


def check(study: Study, models: Sequence[Model], refused: Refused = None) -> FitPlan:
    """Whether these models can be fitted to this study, before any work is done.

    A learner to whom one of them cannot be fitted ends it; or is ``refused``, if there is such a
    list, and the others are looked at.
    """
    check_models(models)
    if np.any(study.n_scored == 0):
        nobody = study.learners[int(np.argmin(study.n_scored))]
        raise HowlearnError(f"learner {nobody} has no scored trial, so no model can be judged")
    every = by_way(_with_bases(models))
    return FitPlan(tuple(way(mine, study, refused) for way, mine in every))


def _with_bases(models: Sequence[Model]) -> list[Model]:
    """The models, and those they are made of: what is adjusted, and strategies to be fitted."""
    known = {model.name: model for model in models}

    def add(model: Model, of: Model) -> None:
        if not same(known.setdefault(model.name, model), model):
            raise HowlearnError(
                f"{model.name} in {of.name} is not the same model as the candidate of that name"
            )
        for part in model.fitted_first:
            add(part, model)

    for model in models:
        for part in model.fitted_first:
            add(part, model)
    return list(known.values())


# The smallest probabilities along a record, and where they fall under ε.


class Lowest(NamedTuple):
    """Of fits [learner, truncation], over all trials of the record; trials count from 1."""

    probability: NDArray[np.float64]  # the smallest one that any action has
    trial: Ints  # where
    first_under: Ints  # the first trial at which some action has less than ε; 0: never


def lowest(study: Study, part: ModelFits, epsilon: float) -> Lowest:
    """Replay every fit of a model, and look at all actions."""
    shape = part.theta.shape[:2]
    found = Lowest(np.empty(shape), np.empty(shape, np.int64), np.zeros(shape, np.int64))
    advisor = advisor_for(part.model, study)
    for i in range(shape[0]):
        records = records_of(study.part(i, i + 1))
        for j in range(shape[1]):
            log_p = advisor.log_probabilities(records, np.ascontiguousarray(part.theta[i, j]))
            if len(records.offered):  # what is not on offer does not count
                log_p = np.where(records.offered, log_p, 0.0)
            least = np.exp(log_p.min(axis=1))
            at = int(np.argmin(least))
            found.probability[i, j], found.trial[i, j] = least[at], at + 1
            if least[at] < epsilon:
                found.first_under[i, j] = int(np.argmax(least < epsilon)) + 1
    return found


def scored_before(study: Study, trial: Ints) -> Ints:
    """How many scored trials each learner has before a trial; all of them where it is 0."""
    counts = np.concatenate(([0], np.cumsum(study.scored)))
    starts = study.starts[:-1]
    last = np.where(trial == 0, np.diff(study.starts), trial - 1)
    return counts[starts + last] - counts[starts]


def along_path(fits: Fits, epsilon: float) -> Ints:
    """Of every learner: the scored trials before any candidate falls under ε, at least 1.

    The candidates are at their fits to the most trials.
    """
    j = fits.at(fits.fullest)
    sizes = []
    for part in fits.of.values():
        under = lowest(fits.study, part, epsilon).first_under[:, j]
        sizes.append(scored_before(fits.study, under))
    return np.maximum(np.min(sizes, axis=0), 1)


def paper_horizon(model: Model, study: Study, epsilon: float) -> int | None:
    """T_ε as the propositions have it, for a model's bounds; None: they do not cover the model."""
    return model.horizon(epsilon, len(study.actions), study.reward_range)


def by_formula(study: Study, models: Sequence[Model], epsilon: float) -> int:
    """The smallest T_ε of the candidates; refuses what the propositions do not cover."""
    found = {}
    for model in models:
        horizon = paper_horizon(model, study, epsilon)
        if horizon is None:
            raise HowlearnError(
                f"stop_at=paper({epsilon:g}): the paper's formula for {model.name} "
                f"{model.no_horizon}; give an epsilon (stop_at=0.05) or a trial (stop_at=150)"
            )
        found[model.name] = horizon
    name = min(found, key=lambda key: found[key])
    if found[name] < 2:
        raise HowlearnError(
            f"stop_at=paper({epsilon:g}): T_epsilon is {found[name]} for {name}, and Theorem 3 "
            "needs at least 2; allow smaller rates only (--max-rate), or take a smaller epsilon"
        )
    return found[name]
