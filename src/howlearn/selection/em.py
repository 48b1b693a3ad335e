"""Shares of models and the distribution of rates, estimated together from all learners.

The objective is Σ_i log Σ_m w_m e^{L_im}. For a given spread s of the cells, shares and the
distribution of learner effects are climbed by EM, which takes no more than sums over the effects.
The spread itself is a problem in one dimension: EM would take hundreds of rounds to approach a
small one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from howlearn.core.arrays import Floats, log_sum
from howlearn.selection.hierarchy import LARGEST, SMALLEST, Hyper, RateGroup, normal

ROUNDS = 200  # of EM
CYCLES = 6  # over the groups
TRIES = 10  # spreads in a search
ENOUGH = 1e-5  # nats per learner and round
NEWTON = 20  # steps
START = 0.4  # the spread of cells to begin with

State = tuple[tuple[Hyper, ...], Floats]  # of every group; shares of every model


@dataclass(frozen=True)
class Estimated:
    """What was found."""

    hypers: tuple[Hyper, ...]  # of every group
    shares: Floats  # of every model
    log_evidence: Floats  # [learner, model]
    objectives: tuple[float, ...]  # after every step: none is lower than the one before

    @property
    def objective(self) -> float:
        """The log-likelihood of all learners."""
        return self.objectives[-1]


def log_shares(shares: Floats) -> Floats:
    """Finite, though a share may have become too small for a number."""
    return np.log(np.maximum(shares, np.finfo(float).tiny))


def estimate(
    groups: Sequence[RateGroup],
    fixed: Floats,
    start: State | None = None,
    independent: bool = False,
) -> Estimated:
    """The shares and distributions of rates that explain the learners best.

    ``fixed`` [learner, model] is the evidence of models in no group. ``independent`` cells of a
    learner have nothing in common: no learner effect, τ = 0.
    """
    n_models = fixed.shape[1]
    state = start or (tuple(map(_start, groups)), np.full(n_models, 1.0 / n_models))
    if independent:
        state = tuple(Hyper(h.mu, 0.0, h.s) for h in state[0]), state[1]
        return _climbed([_Independent(group) for group in groups], fixed, state)
    effects = [_Effects(group) for group in groups]
    found = _climbed(effects, fixed, state)
    for cycle in range(CYCLES if groups else 0):
        before = found.objective
        for k in range(len(groups)):
            found = _with_spread(effects, found, k, wide=cycle == 0)
        if len(groups) == 1 or found.objective - before < ENOUGH * len(fixed):
            break
    return found


def _with_spread(effects: Sequence[_Effects], found: Estimated, k: int, wide: bool) -> Estimated:
    """The spread of one group that is best when its effects and the shares follow it."""
    from scipy.optimize import minimize_scalar

    others = found.log_evidence  # of the other groups, as it is
    old, best = found.hypers[k], found

    def loss(log_s: float) -> float:
        nonlocal best
        now = best.hypers[k]
        state = (Hyper(now.mu, now.tau, float(np.exp(log_s))),), best.shares
        tried = _climbed(effects[k : k + 1], others, state)
        if tried.objective > best.objective:
            hypers = (*found.hypers[:k], tried.hypers[0], *found.hypers[k + 1 :])
            best = replace(tried, hypers=hypers)
        return -tried.objective

    low, high, middle = np.log([SMALLEST, LARGEST, old.s]).tolist()
    if not wide:
        low, high = max(low, middle - 0.7), min(high, middle + 0.7)
    options = {"xatol": 0.01, "maxiter": TRIES}
    minimize_scalar(loss, bounds=(low, high), method="bounded", options=options)
    if best.hypers[k].s < SMALLEST * 1.2:  # the search never tries the very end
        loss(float(np.log(SMALLEST)))
    return replace(best, objectives=(*found.objectives, best.objective))


@dataclass(eq=False)
class _Effects:
    """A group's models, given the spread of cells, as sums over learner effects."""

    group: RateGroup
    kept: dict[float, list[Floats]] = field(default_factory=dict)  # by spread

    def sums(self, s: float) -> list[Floats]:
        """Of every model [learner, effect]."""
        if s not in self.kept:
            if len(self.kept) > 1:
                self.kept.pop(next(iter(self.kept)))
            cells = {rule: self.group.cells(s, rule) for rule in self.group.rules}
            self.kept[s] = [self.group.sums(model, cells) for model in self.group.models]
        return self.kept[s]

    def evidence(self, hyper: Hyper) -> tuple[Floats, list[Floats]]:
        """[learner, model], and of every model how probable effects are [learner, effect]."""
        prior = normal(self.group.effects, hyper.mu, hyper.tau)
        columns, weights = [], []
        for part in self.sums(hyper.s):
            joint = part + prior
            top = joint.max(axis=1, keepdims=True)
            joint -= top
            np.exp(joint, out=joint)
            total = joint.sum(axis=1, keepdims=True)
            columns.append(np.log(total[:, 0]) + top[:, 0])
            joint /= total
            weights.append(joint)
        return np.stack(columns, axis=1), weights

    def better(self, hyper: Hyper, weights: list[Floats], posterior: Floats) -> Hyper:
        """The M-step, exactly: normals are normalised on the grid, so moments would not do."""
        pairs = zip(weights, posterior.T, strict=True)
        weight = np.sum([own @ part for part, own in pairs], axis=0)
        if weight.sum() < 1e-9:  # nobody follows any of these models
            return hyper
        mu, tau = fitted_normal(self.group.effects, weight, hyper.mu, hyper.tau)
        return Hyper(mu, tau, hyper.s)


@dataclass(eq=False)
class _Independent:
    """A group's models where a learner's cells have nothing in common."""

    group: RateGroup

    def evidence(self, hyper: Hyper) -> tuple[Floats, None]:
        return self.group.log_evidence(hyper), None

    def better(self, hyper: Hyper, _: None, posterior: Floats) -> Hyper:
        group = self.group
        x = group.curves.nodes[group.rules[0]]
        weight = np.zeros(len(x))
        for rule in group.rules:
            nodes, (likelihood, _top) = group.curves.nodes[rule], group.scaled[rule]
            joint = likelihood * np.exp(normal(nodes, hyper.mu, hyper.s))
            joint /= np.maximum(joint.sum(axis=2, keepdims=True), np.finfo(float).tiny)
            uses = np.zeros(likelihood.shape[:2])
            for model, own in zip(group.models, posterior.T, strict=True):
                units = group.curves.units_of(model).get(rule, [])
                uses[:, [group.units[rule].index(unit) for unit in units]] += own[:, None]
            found = np.einsum("ic,icg->g", uses, joint)
            weight += found if len(nodes) == len(x) else np.interp(x, nodes, found)
        if weight.sum() < 1e-9:
            return hyper
        mu, s = fitted_normal(x, weight, hyper.mu, hyper.s)
        return Hyper(mu, 0.0, s)


class _Round:
    """The E-step at a state; ``next`` is the M-step."""

    def __init__(self, parts: Sequence[_Effects | _Independent], fixed: Floats, state: State):
        self.parts, self.state = parts, state
        self.evidence = fixed.copy()
        self.weights = []
        for part, hyper in zip(parts, state[0], strict=True):
            self.evidence[:, part.group.columns], weights = part.evidence(hyper)
            self.weights.append(weights)
        weighed = self.evidence + log_shares(state[1])
        total = log_sum(weighed)
        self.posterior = np.exp(weighed - total[:, None])
        self.objective = float(total.sum())

    def next(self) -> State:
        hypers = [
            part.better(hyper, weights, self.posterior[:, part.group.columns])
            for part, hyper, weights in zip(self.parts, self.state[0], self.weights, strict=True)
        ]
        return tuple(hypers), self.posterior.mean(axis=0)


def _climbed(parts: Sequence[_Effects | _Independent], fixed: Floats, state: State) -> Estimated:
    """EM with squared steps (Varadhan & Roland 2008), taken only where the objective rises."""
    found = _Round(parts, fixed, state)
    objectives = [found.objective]
    for _ in range(ROUNDS):
        middle = _Round(parts, fixed, found.next())
        last = middle.next()
        leap = _leap(found.state, middle.state, last, parts)
        far = _Round(parts, fixed, leap) if leap else None
        if far is None or far.objective < middle.objective:
            far = _Round(parts, fixed, last)
        gain = far.objective - found.objective
        found = far
        objectives.append(found.objective)
        if gain < ENOUGH * len(fixed):
            break
    return Estimated(found.state[0], found.state[1], found.evidence, tuple(objectives))


def _leap(
    first: State, middle: State, last: State, parts: Sequence[_Effects | _Independent]
) -> State | None:
    """A step of the length that three states suggest, within the bounds."""
    x0, x1, x2 = (_vector(state) for state in (first, middle, last))
    r, v = x1 - x0, x2 - 2 * x1 + x0
    if np.linalg.norm(v) < 1e-12:
        return None
    length = max(1.0, float(np.linalg.norm(r) / np.linalg.norm(v)))
    point = x0 + 2 * length * r + length**2 * v
    hypers = []
    for k, part in enumerate(parts):
        mu, tau, s = point[3 * k : 3 * k + 3]
        mu = float(np.clip(mu, *part.group.effects[[0, -1]]))
        tau, s = (_spread(float(np.exp(np.clip(value, -9, 9)))) for value in (tau, s))
        hypers.append(Hyper(mu, tau if first[0][k].tau > 0 else 0.0, s))
        if isinstance(part, _Effects):  # exactly: sums are kept by it
            hypers[-1] = Hyper(mu, hypers[-1].tau, first[0][k].s)
    tail = point[3 * len(parts) :]
    shares = np.exp(tail - tail.max())
    return tuple(hypers), shares / shares.sum()


def _vector(state: State) -> Floats:
    numbers = [v for h in state[0] for v in (h.mu, np.log(h.tau or 1.0), np.log(h.s))]
    return np.array([*numbers, *log_shares(state[1])])


def _start(group: RateGroup) -> Hyper:
    """The middle of what all learners' curves say, and wide spreads."""
    mass, moment = 0.0, 0.0
    for rule in group.rules:
        likelihood, _ = group.scaled[rule]
        weight = (likelihood / likelihood.sum(axis=2, keepdims=True)).sum(axis=(0, 1))
        mass += weight.sum()
        moment += weight @ group.curves.nodes[rule]
    return Hyper(float(moment / mass), 1.0, START)


def fitted_normal(x: Floats, weight: Floats, mean: float, spread: float) -> tuple[float, float]:
    """The normal on the nodes x that explains weights best; never worse than the one given."""
    share = weight / weight.sum()
    middle = float(share @ x)
    moments = float(np.clip(middle, x[0], x[-1])), _spread(np.sqrt(share @ (x - middle) ** 2))
    powers = np.stack([x - middle, (x - middle) ** 2])

    def value(point: tuple[float, float]) -> float:
        return float(share @ normal(x, *point))

    best = max([(mean, spread), moments], key=value)
    reached, clipped = value(best), False
    for _ in range(NEWTON):  # in m/t² and −1/2t², where the problem is concave
        m, t = best
        p = np.exp(normal(x, m, t))
        surplus = powers @ (share - p)
        off = powers - (powers @ p)[:, None]
        step = np.linalg.solve((off * p) @ off.T + 1e-12 * np.eye(2), surplus)
        for size in (1.0, 0.5, 0.25, 0.1, 0.02):
            precision = max(1.0 / t**2 - 2.0 * size * step[1], LARGEST**-2)
            mu = middle + ((m - middle) / t**2 + size * step[0]) / precision
            tried = float(np.clip(mu, x[0], x[-1])), _spread(precision**-0.5)
            clipped = tried != (mu, precision**-0.5) or precision == LARGEST**-2
            if value(tried) > reached:
                break
        gain = value(tried) - reached
        if gain > 0.0:
            best, reached = tried, value(tried)
        if gain < 1e-12:
            break
    if clipped:  # the best one may lie at a bound
        best = max([best, _at_bound(x, share)], key=value)
    return best


def _at_bound(x: Floats, share: Floats) -> tuple[float, float]:
    """The best normal whose mean lies at an end of the nodes, or whose spread is at a bound.

    In m/t² and −1/2t² the bounds are straight lines and the problem is concave, so along each of
    them the best one is where a moment of the normal is that of the weights.
    """

    def moment(m: float, t: float, powers: Floats) -> float:
        return float(np.exp(normal(x, m, t)) @ powers - share @ powers)

    ends = np.log([SMALLEST, LARGEST]).tolist()
    first, last = float(x[0]), float(x[-1])
    found = [
        (_crossing(lambda m, t=t: moment(m, t, x), first, last), t) for t in (SMALLEST, LARGEST)
    ]
    for end in (first, last):
        square = (x - end) ** 2
        log_t = _crossing(lambda at, e=end, q=square: moment(e, float(np.exp(at)), q), *ends)
        found.append((end, _spread(float(np.exp(log_t)))))
    return max(found, key=lambda point: float(share @ normal(x, *point)))


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises is 0; an end if it is nowhere."""
    from scipy.optimize import brentq

    if rising(low) >= 0.0:
        return low
    return high if rising(high) <= 0.0 else cast(float, brentq(rising, low, high, xtol=1e-10))


def _spread(value: float) -> float:
    return float(np.clip(value, SMALLEST, LARGEST))
