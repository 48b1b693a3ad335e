"""``select``: which model explains each learner best, by each criterion, and how clearly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.defaults import candidates
from howlearn.fitting.fit import Progress, fit_at, guarded_fit
from howlearn.fitting.fits import Fits, ModelFits, distinct
from howlearn.fitting.interpreted import ModelError
from howlearn.fitting.intervals import LEVEL
from howlearn.fitting.unfittable import PASSED_ON, Guard, NoNumbers
from howlearn.models.coin import Coin
from howlearn.models.model import Model
from howlearn.models.names import among, models_of
from howlearn.models.partition_model import check_contexts
from howlearn.selection import tables
from howlearn.selection.criteria import criterion_named, usual
from howlearn.selection.criterion import Criterion, Scores

CLOSE = 1e-6  # nats; more than ties can add up to
TIE = 1e-9  # nats; closer scores are equal, and the model with fewer parameters is preferred
WITHIN = 2.0  # nats; models closer to the best than this are not told apart


@dataclass(frozen=True)
class Choice:
    """One criterion's answer for every learner; the axes are learner, (rank)."""

    criterion: Criterion
    scores: Scores
    order: NDArray[np.int64]  # models, best first
    coin: NDArray[np.float64]  # the best score of a learner who does not learn

    @property
    def selected(self) -> NDArray[np.int64]:
        """The chosen model of every learner."""
        return self.order[:, 0]

    @property
    def outside(self) -> NDArray[np.bool_]:
        """The learners for whom a partition that is not listed is selected."""
        other = self.scores.outside
        if other is None:
            return np.zeros(len(self.order), bool)
        return other.score[:, 0] > self.ranked[:, 0]

    @property
    def ranked(self) -> NDArray[np.float64]:
        """Scores, best first."""
        return np.take_along_axis(self.scores.score, self.order, axis=1)

    @property
    def above_coin(self) -> NDArray[np.float64]:
        """Nats by which the selected model beats not learning; 0 where it does not."""
        ahead = self.ranked[:, 0] - self.coin
        return np.where(ahead > TIE, ahead, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """What was selected, with the fits it rests on, as tidy tables."""

    fits: Fits
    choices: tuple[Choice, ...]
    within: float = WITHIN
    asked: tuple[Criterion, ...] = ()  # before they learned from the learners who are included
    given: Study | None = None  # with the learners who cannot be fitted, if there are any
    why: Mapping[int, str] = field(default_factory=dict)  # by their place among those given

    @property
    def places(self) -> NDArray[np.int64]:
        """Of the sequences that were fitted, among those given."""
        n = len(self.fits.study) + len(self.why)
        return np.delete(np.arange(n), [*self.why])

    @cached_property
    def unfitted(self) -> pl.DataFrame:
        """One row per learner who could not be fitted, and why; they are in no other count."""
        return tables.unfitted(self)

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per learner, criterion and model, best first."""
        return tables.scores(self)

    @cached_property
    def estimates(self) -> pl.DataFrame:
        """One row per learner, model, cell, parameter and number of trials fitted."""
        return tables.estimates(self.fits)

    @cached_property
    def selection(self) -> pl.DataFrame:
        """One row per learner and criterion: the model, its margin, a verdict."""
        return tables.selection(self)

    @cached_property
    def learners(self) -> pl.DataFrame:
        """One wide row per learner."""
        return tables.learners(self)

    def lowest(self, epsilon: float = 0.05) -> pl.DataFrame:
        """How small the probabilities of every fit become, and from which trial on under ε."""
        return tables.lowest(self.fits, epsilon)

    @cached_property
    def everybody(self) -> Selection:
        """The selection as it would be if no learner were excluded."""
        study = self.fits.study
        if study.excluded is None:
            return self
        fits = replace(self.fits, study=replace(study, excluded=None))
        return choose(fits, self.asked, self.within)


def asked(
    study: Study,
    models: Sequence[Model | str] | Model | str | None,
    criteria: Sequence[Criterion | str] | None,
) -> tuple[tuple[Model, ...], tuple[Criterion, ...]]:
    """The candidates and the criteria; those that are usual for a study where none are named."""
    if models is None:
        check_contexts(study)
        models = candidates(study)
    if criteria is None:
        criteria = usual(len(set(study.without_excluded().learners)))
    return models_of(models, among(study)), check_criteria(criteria)


def select_in_memory(
    study: Study,
    models: Sequence[Model],
    criteria: Sequence[Criterion],
    within: float = WITHIN,
    threads: int | None = None,
    progress: Progress | None = None,
    intervals: float | None = None,
) -> Selection:
    """Fit every model to every learner, and let every criterion choose; an error if for nobody."""
    fits, guard = _fitted(study, models, criteria, threads, progress, intervals)
    found = _judged(study, fits, guard, criteria, within, threads) if len(fits.study) else None
    if found is None or not len(found.fits.study):
        guard.end()
    return found


def attempt(
    study: Study,
    models: Sequence[Model],
    criteria: Sequence[Criterion],
    within: float = WITHIN,
    threads: int | None = None,
    progress: Progress | None = None,
    intervals: float | None = None,
) -> Selection:
    """The same for a part of a study, by criteria that know it: perhaps nobody can be fitted."""
    fits, guard = _fitted(study, models, criteria, threads, progress, intervals)
    return _judged(study, fits, guard, criteria, within, threads)


def _fitted(
    study: Study,
    models: Sequence[Model],
    criteria: Sequence[Criterion],
    threads: int | None,
    progress: Progress | None,
    intervals: float | None,
) -> tuple[Fits, Guard]:
    truncations = distinct(t for criterion in criteria for t in criterion.truncations)
    level, searched = (LEVEL, False) if intervals is None else (intervals, True)
    guard = Guard()
    fits = guarded_fit(guard, study, models, truncations, threads, progress, level, searched)
    return fits, guard


def _judged(
    study: Study,
    fits: Fits,
    guard: Guard,
    criteria: Sequence[Criterion],
    within: float,
    threads: int | None,
) -> Selection:
    """What the criteria choose for those who were fitted; whom they cannot judge is lost too."""
    check_within(within)
    known = _learned(fits, criteria, threads)
    while True:
        found, lost = _chosen(fits, known, within)
        if found is not None and not lost:
            break
        fits = fits.take(guard.lose(len(fits.study), lost))
    given = study if guard.why else None
    return replace(found, asked=tuple(criteria), given=given, why=guard.reasons)


def _chosen(
    fits: Fits, criteria: Sequence[Criterion], within: float
) -> tuple[Selection | None, dict[int, Exception]]:
    """What criteria choose that have learned; and whom they cannot judge, found by halving."""
    try:
        found = _choices(fits, criteria, within)
    except PASSED_ON:
        raise
    except Exception as error:
        if isinstance(error, HowlearnError) and not isinstance(error, ModelError):
            raise  # about the study, or what was asked
        n = len(fits.study)
        if n == 1:
            return None, {0: error}
        lost = {}
        for start, stop in ((0, n // 2), (n // 2, n)):
            _, alone = _chosen(fits.part(start, stop), criteria, within)
            lost |= {start + i: why for i, why in alone.items()}
        if not lost:
            raise  # each can be judged alone, so that the fault is not with a learner
        return None, lost
    return found, _no_scores(found)


def _no_scores(selection: Selection) -> dict[int, Exception]:
    """Learners with a score that is no number."""
    found: dict[int, Exception] = {}
    for choice in selection.choices:
        for i, k in np.argwhere(np.isnan(choice.scores.score)).tolist():
            name = [*selection.fits.of][k]
            found.setdefault(
                i, NoNumbers(f"{name}: its {choice.criterion!r} is not a number (NaN)")
            )
    return found


def _of_nobody(criterion: Criterion, fits: Fits) -> Choice:
    order = np.empty((0, len(fits.of)), np.int64)
    return Choice(criterion, criterion.of_nobody(len(fits.of)), order, np.empty(0))


def check_criteria(
    criteria: Sequence[Criterion | str] | Criterion | str,
    named: Callable[[str], Criterion] = criterion_named,
) -> tuple[Criterion, ...]:
    """The criteria, each of them once."""
    if isinstance(criteria, Criterion | str):
        criteria = [criteria]
    found = [named(c) if isinstance(c, str) else c for c in criteria]
    if not found:
        raise HowlearnError("there is no criterion")
    for i, criterion in enumerate(found):
        if not isinstance(criterion, Criterion):
            raise HowlearnError(f"{criterion!r} is not a criterion such as AIC() or 'aic'")
        if criterion in found[:i]:
            raise HowlearnError(f"criterion {criterion!r} is named twice")
    return tuple(found)


def choose(
    fits: Fits,
    criteria: Sequence[Criterion],
    within: float = WITHIN,
    threads: int | None = None,
) -> Selection:
    """Select from fits that are already there; criteria learn from learners not excluded."""
    check_within(within)
    found = _choices(fits, _learned(fits, criteria, threads), within)
    return replace(found, asked=tuple(criteria))


def check_within(within: float) -> None:
    """Refuse what is no number of nats."""
    if not within >= 0:
        raise HowlearnError(f"within must be 0 nats or more, got {within}")


def _learned(fits: Fits, criteria: Sequence[Criterion], threads: int | None) -> list[Criterion]:
    """The criteria that know what the learners tell who are not excluded."""
    if not len(fits.study):
        return [*criteria]
    all_in = bool(fits.study.included.all())
    study, known = (fits.study, fits) if all_in else (fits.study.without_excluded(), None)
    return [criterion.learn(study, fits.models, known, threads) for criterion in criteria]


def _choices(fits: Fits, criteria: Sequence[Criterion], within: float) -> Selection:
    if not len(fits.study):
        return Selection(fits, tuple(_of_nobody(c, fits) for c in criteria), within)
    coin = fit_at(fits.study, [Coin()], fits.truncations, fits.sizes, threads=1)
    fair = _fair(fits)
    return Selection(fits, tuple(_choice(c, fits, (coin, fair)) for c in criteria), within)


def _choice(criterion: Criterion, fits: Fits, baselines: tuple[Fits, Fits]) -> Choice:
    scores = criterion.scores(fits)
    coin = criterion.chance(fits, scores)
    if coin is None:
        coin = np.max([criterion.scores(baseline).score[:, 0] for baseline in baselines], axis=0)
    count = fits.n_parameters if scores.n_parameters is None else scores.n_parameters
    return Choice(criterion, scores, ranking(scores.score, count, criterion.tie), coin)


def ranking(
    score: NDArray[np.float64], n_parameters: NDArray[np.int64], tie: float = 0.0
) -> NDArray[np.int64]:
    """Models best first; among those within TIE of a better one, fewer parameters come first.

    With a ``tie``, of those within it of the best the one with the fewest parameters is the first.

    >>> ranking(np.array([[-5.0, -5.0 + 1e-10, -4.0]]), np.array([[1, 2, 9]])).tolist()
    [[2, 0, 1]]
    >>> ranking(np.array([[-5.0, -4.6, -4.3]]), np.array([[1, 2, 9]]), tie=0.5).tolist()
    [[1, 2, 0]]
    """
    if tie > TIE:
        order = ranking(score, n_parameters)
        level = np.take_along_axis(score, order, axis=1)
        count = np.take_along_axis(n_parameters, order, axis=1)
        count = np.where(level < level[:, :1] - tie, np.iinfo(np.int64).max, count)
        later = np.arange(order.shape[1]) != count.argmin(axis=1)[:, None]
        return np.take_along_axis(order, np.argsort(later, axis=1, kind="stable"), axis=1)
    down = np.argsort(-score, axis=1, kind="stable")
    with np.errstate(invalid="ignore"):  # two that are ruled out fall by no number: a tie
        falls = -np.diff(np.take_along_axis(score, down, axis=1), axis=1) > TIE
    level = np.concatenate([np.zeros((len(score), 1), int), np.cumsum(falls, axis=1)], axis=1)
    levels = np.empty_like(down)
    np.put_along_axis(levels, down, level, axis=1)
    listed = np.broadcast_to(np.arange(score.shape[1]), score.shape)
    return np.lexsort((listed, n_parameters, levels), axis=1)


def winners(
    score: NDArray[np.float64], n_parameters: NDArray[np.int64], tie: float = 0.0
) -> NDArray[np.int64]:
    """The first of every ``ranking``, quicker: only where scores are close is there a tie to break.

    >>> winners(np.array([[-5.0, -5.0 + 1e-10, -9.0]]), np.array([[1, 2, 9]])).tolist()
    [0]
    """
    best = np.argmax(score, axis=1)
    near = score.max(axis=1, keepdims=True) - max(CLOSE, tie)
    close = np.count_nonzero(score >= near, axis=1) > 1
    best[close] = ranking(score[close], n_parameters[close], tie)[:, 0]
    return best


def _fair(fits: Fits) -> Fits:
    """A coin that is not even fitted: every action equally probable, no parameter."""
    actions = fits.study.actions
    theta = np.full((*fits.sizes.shape, len(actions) - 1), 1 / len(actions))
    before, after = _at_random(fits.study, fits.sizes)
    fair = Coin("fair")
    part = ModelFits(
        fair,
        tuple(cell for cell, _ in fair.owners(actions)),
        tuple(parameter.name for _, parameter in fair.owners(actions)),
        theta,
        np.zeros(theta.shape, np.int8),
        before,
        after,
        np.zeros(len(before), np.int64),
    )
    return Fits(fits.study, fits.truncations, fits.sizes, {"fair": part})


def _at_random(study: Study, sizes: NDArray[np.int64]) -> tuple[NDArray[np.float64], ...]:
    """Log-likelihoods of chance, one over what was on offer: of so many scored trials, and after.

    ``sizes`` are [learner, truncation].
    """
    if study.offers is None:
        log_k = np.log(len(study.actions))
        return -log_k * sizes, -log_k * (study.n_scored[:, None] - sizes)
    each = np.concatenate(([0.0], -np.cumsum(np.log(study.n_offered[study.scored]))))
    edges = np.concatenate(([0], np.cumsum(study.n_scored)))[:, None]
    middle = each[edges[:-1] + sizes]
    return middle - each[edges[:-1]], each[edges[1:]] - middle
