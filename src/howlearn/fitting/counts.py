"""The exact fit of a coin: frequencies, none of them under the floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
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
        study = at.study
        marks = np.zeros((len(study), 2), np.int64)
        marks[at.learners] = at.marks
        counts = counts_upto(study, marks)
        between = Choices(*(each[at.learners, 1] - each[at.learners, 0] for each in counts))
        found = {}
        for model in models:
            mine = at.theta[model.name]
            p = np.column_stack([mine, 1.0 - mine.sum(axis=1)])
            found[model.name] = log_likelihood(between, p, study.offers)
        return found


class Choices(NamedTuple):
    """How often each action was chosen, and each set was on offer; together enough for a coin."""

    times: Floats  # [learner, mark, action]
    of_set: Floats  # [learner, mark, set]


def counts_upto(study: Study, marks: NDArray[np.int64]) -> Choices:
    """Of the scored trials before each mark."""
    learner = np.repeat(np.arange(len(study)), np.diff(study.starts))
    position = np.arange(len(study.context)) - study.starts[learner]

    def counted(codes: NDArray[np.integer], size: int) -> Floats:
        cell, out = learner * size + codes, np.zeros((*marks.shape, size))
        for j in range(marks.shape[1]):
            inside = study.scored & (position < marks[learner, j])
            out[:, j] = np.bincount(cell[inside], minlength=len(study) * size).reshape(-1, size)
        return out

    times = counted(study.action, len(study.actions))
    if study.offers is None or study.offer is None:
        return Choices(times, np.zeros((*marks.shape, 0)))
    return Choices(times, counted(study.offer, len(study.offers)))


def log_likelihood(counts: Choices, p: Floats, offers: Bools | None) -> Floats:
    """Under p[…, action], renormalised over each set."""
    value: Floats = np.sum(counts.times * np.log(p), axis=-1)
    if offers is None:
        return value
    return value - np.sum(counts.of_set * np.log(p @ offers.T), axis=-1)


def fit_coin(
    study: Study, model: Coin, marks: NDArray[np.int64], reach: Reach | None = None
) -> ModelFits:
    """Count the actions before and after every mark."""
    n_actions, offers = len(study.actions), study.offers
    everything = np.diff(study.starts)[:, None]
    counts = counts_upto(study, np.concatenate([marks, everything], axis=1))
    before = Choices(*(each[:, :-1] for each in counts))
    after = Choices(*(each[:, -1:] - each[:, :-1] for each in counts))
    floor, ceiling = model.floor(n_actions), 1 - (n_actions - 1) * model.floor(n_actions)
    n_parameters = np.full(len(study), n_actions - 1)
    p = floored(before.times, floor) if offers is None else luce(before, offers, floor)
    if offers is not None:
        n_parameters = n_actions - n_groups(comparable(counts.of_set[:, -1] > 0, offers))
    status = np.full(p.shape, Statuses.OK, np.int8)
    status[p <= floor] = Statuses.AT_LOWER
    status[p >= ceiling] = Statuses.AT_UPPER
    status[before.times.sum(axis=-1) == 0] = Statuses.UNSEEN
    ends = None
    if reach is not None:
        j, last = reach.mark, n_actions - 1
        parameters = [parameter for _, parameter in model.owners(study.actions)]
        ends = np.full((len(study), last, 2), np.nan)
        if offers is None:  # else the others do not simply share the rest
            mine = before.times[:, j], p[:, j]
            ends = _ends(*mine, (floor, ceiling), reach.limit)[:, :last]
        ends = known_ends(ends, status[:, j, :last], parameters)
    return ModelFits(
        model,
        *names_of(model, study.actions),
        p[..., :-1],
        status[..., :-1],
        log_likelihood(before, p, offers),
        log_likelihood(after, p, offers),
        n_parameters,
        ends=ends,
    )


# With offers the probabilities of a coin are those of Luce's choice rule, which Hunter's MM
# algorithm (2004, Ann. Stat. 32, 384–406) fits. Actions that are never on offer together, not even
# by way of others, cannot be compared: each group of those that can has its share of 1.


ROUNDS, CONVERGED, LONGEST = 500, 1e-11, 1e4


def comparable(seen: Bools, offers: Bools) -> Ints:
    """[problem, action]: the first action of its group, by the sets seen[problem, set].

    >>> offers = np.array([[True, True, False, False], [False, True, False, True]])
    >>> comparable(np.array([[True, True], [True, False]]), offers).tolist()
    [[0, 0, 2, 0], [0, 0, 2, 3]]
    """
    n_actions = offers.shape[1]
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    found = np.tile(np.arange(n_actions), (len(patterns), 1))
    for pattern, group in zip(patterns, found, strict=True):
        sets = offers[pattern]
        while len(sets):
            first = np.where(sets, group, n_actions).min(axis=1)
            lower = np.minimum(group, np.where(sets, first[:, None], n_actions).min(axis=0))
            if np.array_equal(lower, group):
                break
            group[:] = lower
    return found[which.reshape(-1)]


def n_groups(groups: Ints) -> Ints:
    """How many there are: each has one parameter less than actions."""
    return np.sum(groups == np.arange(groups.shape[1]), axis=1)


def luce(counts: Choices, offers: Bools, floor: float) -> Floats:
    """The probabilities p[…, action] of the highest likelihood, none of them under the floor.

    >>> offers = np.array([[True, True, False, False], [False, False, True, True]])
    >>> counts = Choices(np.array([[3.0, 1.0, 2.0, 2.0]]), np.array([[4.0, 4.0]]))
    >>> luce(counts, offers, 1e-3).round(3).tolist()
    [[0.375, 0.125, 0.25, 0.25]]
    """
    n_actions = offers.shape[1]
    times, of_set = counts.times.reshape(-1, n_actions), counts.of_set.reshape(-1, len(offers))
    groups = comparable(of_set > 0, offers)
    p = np.full(times.shape, 1.0 / n_actions)

    def step(who: Ints, at: Floats) -> Floats:
        price = np.where(of_set[who] > 0, of_set[who] / (at @ offers.T), 0.0) @ offers
        return _shared(times[who], price, groups[who], floor)

    def value(who: Ints, at: Floats) -> Floats:
        return log_likelihood(Choices(times[who], of_set[who]), at, offers)

    left = np.flatnonzero(of_set.sum(axis=1) > 0)
    for _ in range(ROUNDS):
        if not len(left):
            break
        one = step(left, p[left])
        two = step(left, one)
        first, second = np.log(one / p[left]), np.log(two / one)
        # Two steps tell where they lead to (SQUAREM); whatever is not better is not taken.
        bend = np.linalg.norm(second - first, axis=1, keepdims=True)
        length = np.linalg.norm(first, axis=1, keepdims=True) / np.maximum(bend, 1e-300)
        length = np.minimum(np.maximum(length, 1.0), LONGEST)
        jump = np.clip(2 * length * first + length**2 * (second - first), -30.0, 30.0)
        far = step(left, np.maximum(p[left] * np.exp(jump), floor))
        better = value(left, far) >= value(left, two)
        new = np.where(better[:, None], far, two)
        moved = np.maximum(
            np.max(np.abs(second), axis=1), np.max(np.abs(np.log(new / two)), axis=1)
        )
        p[left] = new
        left = left[moved > CONVERGED]
    return p.reshape(counts.times.shape)


def _shared(times: Floats, price: Floats, groups: Ints, floor: float) -> Floats:
    """max(floor, times/(price + λ)), with the λ of every group for which it adds up to its share.

    A sum of such terms is convex and falls with λ: Newton's steps do not pass the root from below.
    """
    n, n_actions = times.shape
    place = (np.arange(n)[:, None] * n_actions + groups).reshape(-1)
    chosen = times > 0

    def total(values: Floats) -> Floats:
        sums = np.bincount(place, values.reshape(-1), minlength=n * n_actions).astype(np.float64)
        return sums[place].reshape(n, n_actions)

    size = total(np.ones_like(times))
    share = size / n_actions
    # Where one action alone has the whole share: all terms are positive, and the sum too large.
    level = np.full(n * n_actions, -np.inf)
    np.maximum.at(level, place, np.where(chosen, times / share - price, -np.inf).reshape(-1))
    level = level[place].reshape(n, n_actions)
    level = np.where(np.isfinite(level), level, 0.0)
    for _ in range(60):
        under = np.where(chosen, price + level, 1.0)
        each = np.where(chosen, times / under, 0.0)
        free = each > floor
        value = total(np.where(free, each, floor)) - share
        slope = total(np.where(free, each / under, 0.0))
        moved = np.where(slope > 0, value / np.where(slope > 0, slope, 1.0), 0.0)
        level = level + moved
        if np.all(np.abs(moved) <= 1e-15 * (1.0 + np.abs(level))):
            break
    each = np.where(chosen, times / np.where(chosen, price + level, 1.0), 0.0)
    return np.where(size == 1, share, np.maximum(each, floor))


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
