"""The best parameters of models that are fitted whole, searched from many starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.engine.climb import ROUGH, SHARP, Curvature, Cuts, climb
from howlearn.engine.layout import Statuses
from howlearn.engine.whole import Space

# Where searches start: points that fill the space, the most likely ones that lie apart.


def filling(n: int, d: int, skip: int = 0) -> Floats:
    """n points that fill [0, 1]^d evenly, whatever n: multiples of generalised golden ratios.

    Roberts (2018), the sequence R_d.

    >>> filling(3, 1).round(3).tolist()
    [[0.618], [0.236], [0.854]]
    """
    if d == 0:
        return np.empty((1, 0))
    ratio = 2.0
    for _ in range(60):  # the root of x^(d+1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (d + 1))
    steps = ratio ** -np.arange(1.0, d + 1)
    return (np.arange(1 + skip, n + 1 + skip)[:, None] * steps) % 1.0


def best_apart(values: Floats, points: Floats, n: int) -> Ints:
    """Of every problem: the n best points, each outside the neighbourhood of those before it.

    ``values`` is [problem, point] and ``points`` [point, d] in the unit cube. Where the others all
    lie close, the best of them are taken all the same.

    >>> points = np.array([[0.1], [0.12], [0.9]])
    >>> best_apart(np.array([[3.0, 2.0, 1.0]]), points, 2).tolist()
    [[0, 2]]
    """
    left = np.where(np.isnan(values), -np.inf, values)
    n = min(n, len(points))
    radius = 0.5 * (1.0 / n) ** (1.0 / max(points.shape[1], 1))
    rows = np.arange(len(values))
    penalty = np.zeros_like(left)  # neighbours come after all that lie apart
    chosen = np.empty((len(values), n), np.int64)
    for k in range(n):
        order = np.where(np.isneginf(left), -np.inf, left - penalty)
        pick = np.argmax(order, axis=1)
        chosen[:, k] = pick
        away = np.max(np.abs(points[None] - points[pick][:, None]), axis=2, initial=0.0)
        penalty[away < radius] += 1e9
        penalty[rows, pick] = np.inf
    return chosen


def corners(n: int, d: int, skip: int = 0) -> Floats:
    """n points of which many lie close to the bounds: likelihoods have ridges that end there.

    Each coordinate is even, drawn towards 0 or drawn towards 1, in all combinations.

    >>> float(corners(99, 1).min().round(3)), float(corners(99, 1).max().round(3))
    (0.0, 1.0)
    """
    both = filling(n, 2 * d, skip)
    where, how = both[:, :d], both[:, d:]
    return np.where(how < 0.5, where, np.where(how < 0.75, where**4, 1.0 - (1.0 - where) ** 4))


AT_CHANCE = 0.5  # nats above tossing a coin: a fit this low is doubted
AGREE = 0.01  # nats; searches that end this close to the best agree with it
FEW = 0.25  # of the searches: where no more agree, a better top may have been missed
FLAT = 1e-6  # nats; a parameter that matters less than this is not informed
PROBES = 4  # values of a parameter at which that is tried


class SearchedLikelihood(Protocol):
    """What is climbed: some learners' likelihood, in u."""

    log_options: float | Floats  # the log of how many actions are on offer: one, or [learner, 1]
    analytic: bool  # whether ``both`` is there

    @property
    def whole(self) -> Space: ...

    def at(self, learner: Ints, x: Floats, marks: Ints) -> Floats: ...

    def value(self, learner: Ints, u: Floats, mark: Ints) -> Floats: ...

    def slope(
        self, learner: Ints, u: Floats, mark: Ints, value: Floats | None = None
    ) -> Floats: ...

    def both(self, learner: Ints, u: Floats, mark: Ints) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class Effort:
    """How hard to search."""

    screened: int  # points at which the likelihood is tried, per parameter and one more
    climbs: int  # searches that start from the best of them
    cuts: Cuts  # after so many rounds only so many searches, the highest, go on


SMOOTH = Effort(24, 5, ((4, 4), (10, 3)))  # where tops are few and wide
USUAL = Effort(60, 10, ((5, 4), (12, 3)))
LANED = Effort(60, 16, ((5, 8), (12, 4)))  # of loops with 16 points in lanes: no slower than 10
LARGE, MANY = Effort(24, 10, ((5, 4), (12, 3))), 7  # with so many parameters points add up
THOROUGH = Effort(300, 20, ((14, 8),))  # for short records: many tops, and little time for each
THOROUGH_LANED = Effort(300, 32, ((8, 16), (20, 8)))
JOINT = Effort(40, 12, ((8, 8), (16, 5)))  # of strategies that were fitted on their own before
ROUGH_JOINT = Effort(100, 24, ((10, 12), (20, 8)))  # the same where losses make many tops
FINER = 2  # times as many points where a search is repeated


@dataclass(frozen=True, eq=False)
class Tops:
    """The best point of every learner at every mark; the axes are learner, mark, (parameter)."""

    theta: Floats
    status: NDArray[np.int8]
    agreement: Floats  # share of the searches that ended at the best value


class NoNumber(Exception):
    """A model gave NaN as the likelihood of a learner at parameters x: a mistake in the model."""

    def __init__(self, learner: int, x: Floats) -> None:
        super().__init__(learner, x)
        self.learner, self.x = learner, x


class _Searches:
    """A learner and a mark per row of a hill to climb."""

    def __init__(
        self, likelihood: SearchedLikelihood, learner: Ints, mark: Ints, rough: bool
    ) -> None:
        self.likelihood, self.rough, self.joint = likelihood, rough, likelihood.analytic
        self.learner, self.mark = learner, mark

    def value(self, problem: Ints, u: Floats) -> Floats:
        return self.likelihood.value(self.learner[problem], u, self.mark[problem])

    def slope(self, problem: Ints, u: Floats, value: Floats) -> Floats:
        known = value if self.rough else None
        return self.likelihood.slope(self.learner[problem], u, self.mark[problem], known)

    def both(self, problem: Ints, u: Floats) -> tuple[Floats, Floats]:
        return self.likelihood.both(self.learner[problem], u, self.mark[problem])


def highest(
    likelihood: SearchedLikelihood,
    marks: Ints,
    n_seen: Ints,
    guesses: Floats,
    effort: Effort = USUAL,
) -> Tops:
    """The global maxima, as far as searches from many starts find them.

    ``marks`` are [learner, mark], ``n_seen`` counts the trials to fit before each, and ``guesses``
    are [learner, mark, guess, parameter]: further starts, such as the optimum of a simpler model.
    """
    whole, seen = likelihood.whole, n_seen > 0
    (n, m), d = marks.shape, len(whole.parameters)
    defaults = np.array([parameter.default for parameter in whole.parameters])
    theta = np.tile(defaults, (n, m, 1))
    status = np.full((n, m, d), Statuses.UNSEEN, np.int8)
    agreement = np.full((n, m), np.nan)
    if d == 0 or not seen.any():
        return Tops(theta, status, agreement)
    found = [_searched(likelihood, marks, guesses, effort)]
    value = found[0][1]
    alone = _agreeing(value).sum(axis=2) == 1
    chance = -n_seen * likelihood.log_options
    doubtful = alone | (value.max(axis=2) < chance + AT_CHANCE)
    if (doubtful & seen).any():  # look again, elsewhere and more closely
        # Only those: a fit does not depend on what else was asked for.
        none = np.empty((n, m, 0, d))
        found.append(_searched(likelihood, marks, none, effort, doubtful & seen))
    u, value, inverse = (np.concatenate(each, axis=2) for each in zip(*found, strict=True))
    best = np.argmax(value, axis=2)[:, :, None, None]
    top = np.take_along_axis(u, best, axis=2).reshape(-1, d)
    inverse = np.take_along_axis(inverse, best[..., None], axis=2).reshape(-1, d, d)
    curvature = Curvature(whole.ends, inverse, np.zeros(n * m, bool))
    each = _Searches(likelihood, np.repeat(np.arange(n), m), marks.reshape(-1), rough=False)
    top, height = climb(each, top, whole.ends, SHARP, curvature=curvature)  # the best must be sharp
    top, height = top.reshape(n, m, d), height.reshape(n, m)
    # Of the searches that were not given up on the way.
    finished = np.clip(np.isfinite(value).sum(axis=2), 1, effort.cuts[-1][1])
    agreeing = _agreeing(value).sum(axis=2)
    agreement = np.where(seen & np.isfinite(height), np.minimum(agreeing / finished, 1.0), np.nan)
    return _finished(likelihood, marks, seen, top, height, agreement, agreeing, theta, status)


def _agreeing(value: Floats) -> Bools:
    return np.isfinite(value) & (value >= value.max(axis=2, keepdims=True) - AGREE)


def _searched(
    likelihood: SearchedLikelihood,
    marks: Ints,
    guesses: Floats,
    effort: Effort,
    again: Bools | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Screen, pick, climb: tops u[learner, mark, start, parameter], values, inverse curvatures.

    ``again``, [learner, mark], are searched for a second time, between the points of the first;
    the values of all others are then −∞.
    """
    whole = likelihood.whole
    (n, m), d = marks.shape, len(whole.parameters)
    n_points = effort.screened * (d + 1)
    if again is None:
        again = np.ones((n, m), bool)
        defaults = np.array([[parameter.default for parameter in whole.parameters]])
        points = np.concatenate([whole.u(defaults) / whole.ends, corners(n_points, d)])
    else:
        points = corners(FINER * n_points, d, n_points)
    learners, rows = np.flatnonzero(again.any(axis=1)), np.flatnonzero(again)
    values = _screen(likelihood, learners, marks[learners], points * whole.ends)
    picked = best_apart(values[again[learners]], points, effort.climbs)
    start = (points * whole.ends)[picked]
    if guesses.shape[2]:
        flat = whole.u(guesses.reshape(-1, d)).reshape(n * m, -1, d)
        start = np.concatenate([flat[rows], start], axis=1)
    starts = start.shape[1]
    problems = _Searches(
        likelihood, np.repeat(rows // m, starts), np.repeat(marks[again], starts), rough=True
    )
    flat = start.reshape(-1, d)
    known = Curvature.unknown(len(flat), whole.ends)
    top, height = climb(problems, flat, whole.ends, ROUGH, starts, effort.cuts, known)
    u, value = np.zeros((n, m, starts, d)), np.full((n, m, starts), -np.inf)
    inverse = np.zeros((n, m, starts, d, d))
    u[again], value[again] = top.reshape(-1, starts, d), height.reshape(-1, starts)
    inverse[again] = known.inverse.reshape(-1, starts, d, d)
    return u, value, inverse


def _screen(likelihood: SearchedLikelihood, learners: Ints, marks: Ints, u: Floats) -> Floats:
    """Values [learner, mark, point]; one pass gives those of all marks."""
    n, p = len(learners), len(u)
    order = np.argsort(marks, axis=1, kind="stable")  # the compiled loop wants them ascending
    ascending = np.take_along_axis(marks, order, axis=1)
    found = likelihood.at(
        np.repeat(learners, p), np.tile(likelihood.whole.at(u), (n, 1)), np.repeat(ascending, p, 0)
    ).reshape(n, p, -1)
    if np.isnan(found).any():
        row = int(np.argmax(np.isnan(found).any(axis=2).reshape(-1)))
        raise NoNumber(int(learners[row // p]), likelihood.whole.at(u)[row % p])
    back = np.argsort(order, axis=1)
    return np.take_along_axis(found, back[:, None, :], axis=2).transpose(0, 2, 1)


def _finished(
    likelihood: SearchedLikelihood,
    marks: Ints,
    seen: Bools,
    top: Floats,
    height: Floats,
    agreement: Floats,
    agreeing: Ints,
    theta: Floats,
    status: NDArray[np.int8],
) -> Tops:
    """Estimates and how each of them ended."""
    whole = likelihood.whole
    d = len(whole.parameters)
    ok = seen & np.isfinite(height)
    theta[ok] = whole.at(top[ok])
    status[ok] = np.where(
        top[ok] <= 0.0,
        Statuses.AT_LOWER,
        np.where(top[ok] >= whole.ends, Statuses.AT_UPPER, Statuses.OK),
    )
    status[ok & ((agreeing == 1) | (agreement <= FEW))] = Statuses.ALONE
    defaults = whole.u(np.array([[parameter.default for parameter in whole.parameters]]))[0]
    for k in range(d):
        flat = _flat(likelihood, marks, top, height, k) & ok
        theta[flat, k] = whole.parameters[k].default
        status[flat, k] = Statuses.FLAT
        top[flat, k] = defaults[k]  # the next one is tried with this one as it will be
    status[seen & ~np.isfinite(height)] = Statuses.BROKEN
    return Tops(theta, status, agreement)


def _flat(
    likelihood: SearchedLikelihood, marks: Ints, top: Floats, height: Floats, k: int
) -> Bools:
    """Where parameter k could be anything, the others being as they are."""
    (n, m), d = marks.shape, top.shape[2]
    u = np.repeat(top.reshape(-1, d), PROBES, axis=0)
    u[:, k] = np.tile(np.linspace(0.0, likelihood.whole.ends[k], PROBES), n * m)
    learner = np.repeat(np.arange(n), m * PROBES)
    value = likelihood.value(learner, u, np.repeat(marks.reshape(-1), PROBES)).reshape(n, m, PROBES)
    with np.errstate(invalid="ignore"):  # nothing is flat where no value is finite
        return np.abs(value - height[:, :, None]).max(axis=2) < FLAT
