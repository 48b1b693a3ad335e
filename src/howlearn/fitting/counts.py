"""The exact fit of a coin: frequencies, none of them under the floor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.study import Study
from howlearn.engine.crossings import Reach, crossings, depth_of, march
from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import FitWork, ModelFits, Refused, Thetas, names_of
from howlearn.fitting.intervals import known_ends
from howlearn.fitting.settings import Marked
from howlearn.models.coin import Coin


class Counts:
    """Coins, whose fit is a count: a way of fitting."""

    searched, slow, evidence = False, False, "exact"
    n_units, n_curves = 0, 0
    kernels: tuple[object, ...] = ()

    def __init__(self, models: Sequence[Coin], study: Study, refused: Refused = None) -> None:
        self.models = models

    def fit(self, work: FitWork) -> list[ModelFits]:
        return [fit_coin(work.study, model, work.marks, work.reach) for model in self.models]

    @staticmethod
    def later(models: Sequence[Coin], at: Marked) -> Thetas:
        """Counts of the actions times their log-probabilities."""
        study, n_actions = at.study, len(at.study.actions)
        marks = np.zeros((len(study), 2), np.int64)
        marks[at.learners] = at.marks
        learner = np.repeat(np.arange(len(study)), np.diff(study.starts))
        position = np.arange(len(study.context)) - study.starts[learner]
        inside = study.scored & (position >= marks[learner, 0]) & (position < marks[learner, 1])
        cell = learner * n_actions + study.action
        counts = np.bincount(cell[inside], minlength=len(study) * n_actions)
        counts = counts.reshape(-1, n_actions)[at.learners]
        found = {}
        for model in models:
            mine = at.theta[model.name]
            p = np.column_stack([mine, 1.0 - mine.sum(axis=1)])
            found[model.name] = np.sum(counts * np.log(p), axis=1)
        return found


def fit_coin(
    study: Study, model: Coin, marks: NDArray[np.int64], reach: Reach | None = None
) -> ModelFits:
    """Count the actions before and after every mark."""
    n_actions = len(study.actions)
    before = np.zeros((*marks.shape, n_actions))
    total = np.zeros((len(study), 1, n_actions))
    learner = np.repeat(np.arange(len(study)), np.diff(study.starts))
    position = np.arange(len(study.context)) - study.starts[learner]
    cell = learner * n_actions + study.action
    for j in range(marks.shape[1]):
        inside = study.scored & (position < marks[learner, j])
        counts = np.bincount(cell[inside], minlength=len(study) * n_actions)
        before[:, j] = counts.reshape(len(study), n_actions)
    counts = np.bincount(cell[study.scored], minlength=len(study) * n_actions)
    total[:, 0] = counts.reshape(len(study), n_actions)
    p = floored(before, model.floor(n_actions))
    log_p = np.log(p)
    floor, ceiling = model.floor(n_actions), 1 - (n_actions - 1) * model.floor(n_actions)
    status = np.full(p.shape, Statuses.OK, np.int8)
    status[p <= floor] = Statuses.AT_LOWER
    status[p >= ceiling] = Statuses.AT_UPPER
    status[before.sum(axis=-1) == 0] = Statuses.UNSEEN
    ends = None
    if reach is not None:
        j, last = reach.mark, n_actions - 1
        parameters = [parameter for _, parameter in model.owners(study.actions)]
        ends = _ends(before[:, j], p[:, j], (floor, ceiling), reach.limit)[:, :last]
        ends = known_ends(ends, status[:, j, :last], parameters)
    return ModelFits(
        model,
        *names_of(model, study.actions),
        p[..., :-1],
        status[..., :-1],
        np.sum(before * log_p, axis=-1),
        np.sum((total - before) * log_p, axis=-1),
        np.full(len(study), n_actions - 1),
        ends=ends,
    )


def _ends(
    counts: NDArray[np.float64],
    p: NDArray[np.float64],
    bounds: tuple[float, float],
    limit: float,
) -> NDArray[np.float64]:
    """Of intervals for every probability, the others sharing the rest: [learner, action, 2]."""
    mine, all_ = counts.reshape(-1), np.repeat(counts.sum(axis=1), counts.shape[1])

    def value(who: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        count, others = mine[who][:, None], (all_ - mine)[who][:, None]
        return count * np.log(at) + others * np.log1p(-at)

    at = np.repeat(p.reshape(-1), 2)
    top = value(np.arange(len(mine)), p.reshape(-1, 1))[:, 0]

    def look(sides: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        return depth_of(top[sides // 2][:, None], value(sides // 2, x))

    step, bound = np.full(len(at), 0.05), np.tile(bounds, len(mine))
    found = crossings(look, march(look, at, step, bound, limit), limit, tolerance=1e-5)
    # The floor is there for scores; as a value a probability may be 0 or 1.
    found = np.where(found <= bounds[0], 0.0, np.where(found >= bounds[1], 1.0, found))
    return found.reshape(*counts.shape, 2)


def floored(counts: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """The probabilities that maximise Σ counts·log p with every p at least at the floor.

    What falls under the floor is set to it and the others share the rest in proportion, until none
    falls. Without any count all are equal.

    >>> floored(np.array([[9.0, 1.0, 0.0]]), 0.1).round(3).tolist()
    [[0.8, 0.1, 0.1]]
    """
    low = np.zeros(counts.shape, bool)
    empty = counts.sum(axis=-1, keepdims=True) == 0
    counts = np.where(empty, 1.0, counts)
    while True:
        free = np.where(low, 0.0, counts)
        mass = 1.0 - floor * low.sum(axis=-1, keepdims=True)
        p = np.where(low, floor, mass * free / free.sum(axis=-1, keepdims=True))
        if np.all(p >= floor):
            return p
        low |= p < floor
