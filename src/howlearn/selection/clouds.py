"""Points of a model's parameters for every learner, weighted so that sums over them are integrals.

A model without a grid is integrated by importance sampling, in u = logit of where a parameter lies
between its bounds. A learner's points come from three places: around the top of its own likelihood
(a t distribution), from all over (a broad normal), and from where the population lies once that is
known. Each point is weighted by its likelihood over the density of all three together, so that a
prior needs nothing but its density at the points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from howlearn.core.arrays import Floats, Ints, special
from howlearn.core.study import Study
from howlearn.engine.search import filling
from howlearn.fitting.replay import advisor_for
from howlearn.models.model import Model
from howlearn.runs.parts import in_threads

LOCAL, BROAD, POPULATION = 64, 32, 128  # points of each kind
FREEDOM = 5.0  # of the t distribution
STRETCH, WIDER = 1.2, 1.5  # how much wider than the top, and than the population
WIDE = 2.5  # standard deviation of the broad normal: of a logit, nearly all of the range
FURTHEST = 12.0  # a logit: closer to a bound is at it
MOST = 6  # parameters up to which that many points are enough
FEWEST = 10.0  # points that the weights must be worth
STEP, ROUNDS, ENOUGH = 0.05, 20, 1e-4  # of the search for tops
BLOCK = 25  # learners in a thread's task
LOG_2PI = float(np.log(2.0 * np.pi))


def uniform(n: int, points: int, d: int, seed: int) -> Floats:
    """[learner, point, d] in (0, 1): one set that fills the cube, shifted for every learner.

    Points common to all learners would let a population collapse onto one of them.

    >>> uniform(2, 4, 1, seed=1)[0].shape
    (4, 1)
    """
    shift = np.random.default_rng(seed).random((n, 1, d))
    return np.clip((filling(points, d) + shift) % 1.0, 1e-6, 1.0 - 1e-6)


def _normals(u: Floats) -> Floats:
    return special().ndtri(u)


class Likelihood:
    """The likelihood of some learners' records in u = logit of each parameter's place."""

    def __init__(self, model: Model, study: Study, threads: int | None = None) -> None:
        self.model, self.study, self.threads = model, study, threads
        self.advisor = advisor_for(model, study)
        parameters = self.advisor.parameters
        self.lower = np.array([parameter.lower for parameter in parameters])
        self.width = np.array([parameter.upper for parameter in parameters]) - self.lower
        self.d = len(parameters)

    def theta(self, u: Floats) -> Floats:
        return self.lower + self.width / (1.0 + np.exp(-u))

    def at(self, u: Floats, who: Ints | None = None) -> Floats:
        """[learner, point] at u[learner, point, parameter]; what is not a number is impossible."""
        who = np.arange(len(self.study)) if who is None else who
        n, points, d = u.shape
        out = np.empty((n, points))

        def work(first: int) -> None:
            mine = slice(first, first + BLOCK)
            learner, theta = np.repeat(who[mine], points), self.theta(u[mine])
            found = self.advisor.log_likelihoods(self.study, learner, theta.reshape(-1, d))
            out[mine] = found.reshape(-1, points)

        blocks = range(0, n, BLOCK)
        if n:
            work(0)  # what is compiled on first use is compiled before threads would wait for it
        in_threads(work, blocks[1:], self.threads)
        return np.where(np.isnan(out), -np.inf, out)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points [learner, point, parameter] with the log of likelihood over density and number."""

    likelihood: Likelihood
    top: Floats  # [learner, parameter]
    root: Floats  # [learner, parameter, parameter]: of the local points' scale
    points: Floats
    value: Floats  # [learner, point]: log-likelihoods
    seed: int
    population: tuple[Floats, Floats] | None = None  # [learner, parameter]: mean, deviation

    @classmethod
    def around(cls, likelihood: Likelihood, seed: int) -> Cloud:
        """Points around every learner's own top, and from all over."""
        n, d = len(likelihood.study), likelihood.d
        broad = WIDE * _normals(uniform(n, BROAD, d, seed))
        known = likelihood.at(broad)
        best = np.take_along_axis(broad, known.argmax(axis=1)[:, None, None], axis=1)[:, 0]
        top, hessian = _tops(likelihood, best)
        root: Floats = STRETCH * np.linalg.cholesky(np.linalg.inv(hessian)).astype(float)
        local = top[:, None] + _t_draws(n, d, seed) @ root.transpose(0, 2, 1)
        local = np.clip(local, -FURTHEST, FURTHEST)
        points = np.concatenate([local, np.clip(broad, -FURTHEST, FURTHEST)], axis=1)
        value = np.concatenate([likelihood.at(local), known], axis=1)
        return cls(likelihood, top, root, points, value, seed)

    def renewed(self, mean: Floats, variance: Floats) -> Cloud:
        """With points where the population lies: [learner, parameter]."""
        n, d = self.top.shape
        deviation = WIDER * np.sqrt(variance)
        drawn = _normals(uniform(n, POPULATION, d, self.seed + 2))
        new = np.clip(mean[:, None] + deviation[:, None] * drawn, -FURTHEST, FURTHEST)
        own = LOCAL + BROAD
        points = np.concatenate([self.points[:, :own], new], axis=1)
        value = np.concatenate([self.value[:, :own], self.likelihood.at(new)], axis=1)
        return replace(self, points=points, value=value, population=(mean, deviation))

    def denser(self) -> Cloud:
        """With more points around every learner's own top, where no population is known."""
        return self.renewed(self.top, (self.root**2).sum(axis=2))

    @property
    def log_weight(self) -> Floats:
        """[learner, point]"""
        d = self.points.shape[2]
        away = self.points - self.top[:, None]
        z = np.linalg.solve(self.root[:, None], away[..., None])[..., 0]
        log_det = np.log(np.abs(np.diagonal(self.root, axis1=1, axis2=2))).sum(axis=1)
        parts = [
            np.log(LOCAL) + _log_t((z**2).sum(axis=2), d) - log_det[:, None],
            np.log(BROAD) + _log_normal(self.points, 0.0, WIDE),
        ]
        if self.population is not None:
            mean, deviation = (each[:, None] for each in self.population)
            parts.append(np.log(POPULATION) + _log_normal(self.points, mean, deviation))
        return self.value - np.logaddexp.reduce(parts)


def log_evidence_of_cloud(cloud: Cloud) -> Floats:
    """Of every learner, with parameters a priori even in the scale in which they are searched."""
    place = 1.0 / (1.0 + np.exp(-cloud.points))
    log_p = np.log(place) + np.log1p(-place)  # how fast a place moves with its logit
    for d, parameter in enumerate(cloud.likelihood.advisor.parameters):
        width = parameter.upper - parameter.lower
        u = np.arcsinh(width * place[..., d] / parameter.scale)
        log_p[..., d] += np.log(width / (parameter.scale * parameter.end)) - np.log(np.cosh(u))
    return np.logaddexp.reduce(cloud.log_weight + log_p.sum(axis=2), axis=1)


def effective(log_weight: Floats, points: Floats, mean: Floats, variance: Floats) -> Floats:
    """Of every learner: how many equally weighted points the cloud is worth under a population.

    NaN where the model rules the learner's choices out at all of them: nothing is approximate.
    """
    log_w = log_weight + _log_normal(points, mean[:, None], np.sqrt(variance)[:, None])
    top = log_w.max(axis=1, keepdims=True)
    w = np.exp(log_w - np.where(np.isfinite(top), top, 0.0))
    total, square = w.sum(axis=1), (w**2).sum(axis=1)
    return np.divide(total**2, square, out=np.full(len(w), np.nan), where=square > 0.0)


def _log_normal(x: Floats, mean: Floats | float, sd: Floats | float) -> Floats:
    log_sd = np.broadcast_to(np.log(sd), x.shape)
    return (-0.5 * (((x - mean) / sd) ** 2 + LOG_2PI) - log_sd).sum(axis=-1)


def _log_t(square: Floats, d: int) -> Floats:
    from math import lgamma

    constant = lgamma((FREEDOM + d) / 2) - lgamma(FREEDOM / 2) - d / 2 * np.log(FREEDOM * np.pi)
    return constant - (FREEDOM + d) / 2 * np.log1p(square / FREEDOM)


def _t_draws(n: int, d: int, seed: int) -> Floats:
    """[learner, point, parameter] of the standard t distribution."""
    u = uniform(n, LOCAL, d + 1, seed + 1)
    square = np.maximum(2.0 * special().gammaincinv(FREEDOM / 2, u[..., d]), 1e-9)  # chi²
    return _normals(u[..., :d]) * np.sqrt(FREEDOM / square)[..., None]


def _tops(likelihood: Likelihood, start: Floats) -> tuple[Floats, Floats]:
    """The top of ℓ(u) − |u|²/2·WIDE² near the start, by damped Newton steps, and its curvature."""
    n, d = start.shape
    best, hessian = start.copy(), np.broadcast_to(np.eye(d) / WIDE**2, (n, d, d)).copy()
    pairs = [(a, b) for a in range(d) for b in range(a)]
    left = np.arange(n)
    value = _penalised(likelihood, best[:, None], left)[:, 0]
    for _ in range(ROUNDS):
        if not len(left):
            break
        gradient, bend = _differences(likelihood, best[left], value[left], left, pairs)
        width, axes = np.linalg.eigh(bend)
        width = np.maximum(width, WIDE**-2.0)
        hessian[left] = (axes * width[:, None]) @ axes.transpose(0, 2, 1)
        step = np.linalg.solve(hessian[left], gradient[..., None])[..., 0]
        step /= np.maximum(np.abs(step).max(axis=1, keepdims=True) / 3.0, 1.0)
        sizes = 0.5 ** np.arange(5)
        tried = best[left][:, None] + sizes[:, None] * step[:, None]
        found = _penalised(likelihood, tried, left)
        pick = found.argmax(axis=1)
        gain = found[np.arange(len(left)), pick] - value[left]
        up = gain > 0.0
        best[left[up]] = tried[np.flatnonzero(up), pick[up]]
        value[left[up]] += gain[up]
        left = left[gain > ENOUGH]
    return best, hessian


def _penalised(likelihood: Likelihood, u: Floats, who: Ints) -> Floats:
    found = likelihood.at(u, who) - 0.5 * (u**2).sum(axis=2) / WIDE**2
    return np.where(np.isfinite(found), found, -1e300)


def _differences(
    likelihood: Likelihood, u: Floats, value: Floats, who: Ints, pairs: list[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """Slopes, and minus the second derivatives, from points at a distance of STEP."""
    n, d = u.shape
    moves = [sign * STEP * np.eye(d)[a] for a in range(d) for sign in (1.0, -1.0)]
    for a, b in pairs:
        moves += [STEP * (s * np.eye(d)[a] + t * np.eye(d)[b]) for s in (1, -1) for t in (1, -1)]
    found = _penalised(likelihood, u[:, None] + np.array(moves), who)
    up, down = found[:, 0 : 2 * d : 2], found[:, 1 : 2 * d : 2]
    gradient = (up - down) / (2 * STEP)
    bend = np.zeros((n, d, d))
    bend[:, np.arange(d), np.arange(d)] = -(up + down - 2 * value[:, None]) / STEP**2
    for k, (a, b) in enumerate(pairs):
        pp, pm, mp, mm = found[:, 2 * d + 4 * k : 2 * d + 4 * k + 4].T
        bend[:, a, b] = bend[:, b, a] = -(pp - pm - mp + mm) / (4 * STEP**2)
    bend = np.where(np.isfinite(bend) & (np.abs(bend) < 1e12), bend, 0.0)
    return np.nan_to_num(np.clip(gradient, -1e6, 1e6)), bend
