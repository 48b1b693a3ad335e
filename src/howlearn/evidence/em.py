"""Shares of models and the distribution of rates, estimated together from all learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from howlearn.evidence.hierarchy import LARGEST, SMALLEST, Group, Hyper, log_sum, normal
from howlearn.evidence.rates import Floats
from howlearn.rule import Rule

ROUNDS = 400
ENOUGH = 1e-5  # nats per learner and round
NEWTON = 20  # steps

State = tuple[tuple[Hyper, ...], Floats]  # of every group; shares of every model


@dataclass(frozen=True)
class Estimated:
    """What EM ended at."""

    hypers: tuple[Hyper, ...]  # of every group
    shares: Floats  # of every model
    log_evidence: Floats  # [learner, model]
    objectives: tuple[float, ...]  # the log-likelihood of all learners after every round

    @property
    def objective(self) -> float:
        """The log-likelihood of all learners."""
        return self.objectives[-1]


def log_shares(shares: Floats) -> Floats:
    """Finite, though a share may have become too small for a number."""
    return np.log(np.maximum(shares, np.finfo(float).tiny))


def estimate(
    groups: Sequence[Group],
    fixed: Floats,
    start: State | None = None,
    rounds: int = ROUNDS,
    watch: Callable[[int, int], None] | None = None,
) -> Estimated:
    """EM with squared steps (Varadhan & Roland 2008), taken only where the objective does not fall.

    ``fixed`` [learner, model] is the evidence of models in no group.
    """
    n_models = fixed.shape[1]
    state = start or (tuple(map(_start, groups)), np.full(n_models, 1.0 / n_models))
    found = _Round(groups, fixed, state)
    objectives = [found.objective]
    while len(objectives) < rounds:
        middle = _Round(groups, fixed, found.next())
        last = middle.next()
        leap = _leap(found.state, middle.state, last, groups)
        far = _Round(groups, fixed, leap) if leap else None
        if far is None or far.objective < middle.objective:
            far = _Round(groups, fixed, last)
        gain = far.objective - found.objective
        found = far
        objectives.append(found.objective)
        if watch:
            watch(len(objectives), rounds)
        if gain < ENOUGH * len(fixed):
            break
    return Estimated(found.state[0], found.state[1], found.evidence, tuple(objectives))


class _Round:
    """The E-step at a state; ``next`` is the M-step."""

    def __init__(self, groups: Sequence[Group], fixed: Floats, state: State) -> None:
        self.groups, self.state = groups, state
        self.evidence = fixed.copy()
        self.parts = []
        for group, hyper in zip(groups, state[0], strict=True):
            cells = {rule: group.cells(hyper.s, rule, moments=True) for rule in group.rules}
            joint = group.by_effect(hyper, {rule: part[0] for rule, part in cells.items()})
            for column, part in zip(group.columns, joint, strict=True):
                self.evidence[:, column] = log_sum(part)
            self.parts.append((cells, joint))
        weighed = self.evidence + log_shares(state[1])
        total = log_sum(weighed)
        self.posterior = np.exp(weighed - total[:, None])
        self.objective = float(total.sum())

    def next(self) -> State:
        hypers = [
            _better(group, hyper, self.posterior, *part)
            for group, hyper, part in zip(self.groups, self.state[0], self.parts, strict=True)
        ]
        return tuple(hypers), self.posterior.mean(axis=0)


def _leap(first: State, middle: State, last: State, groups: Sequence[Group]) -> State | None:
    """A step of the length that three states suggest, within the bounds."""
    x0, x1, x2 = (_vector(state) for state in (first, middle, last))
    r, v = x1 - x0, x2 - 2 * x1 + x0
    if np.linalg.norm(v) < 1e-12:
        return None
    length = max(1.0, float(np.linalg.norm(r) / np.linalg.norm(v)))
    point = x0 + 2 * length * r + length**2 * v
    hypers = []
    for k, group in enumerate(groups):
        mu, tau, s = point[3 * k : 3 * k + 3]
        tau, s = np.clip(np.exp(np.clip([tau, s], -9, 9)), SMALLEST, LARGEST)
        hypers.append(Hyper(float(np.clip(mu, *group.effects[[0, -1]])), float(tau), float(s)))
    tail = point[3 * len(groups) :]
    shares = np.exp(tail - tail.max())
    return tuple(hypers), shares / shares.sum()


def _vector(state: State) -> Floats:
    numbers = [value for h in state[0] for value in (h.mu, np.log(h.tau), np.log(h.s))]
    return np.array([*numbers, *log_shares(state[1])])


def _start(group: Group) -> Hyper:
    """The middle of what all learners' curves say, and wide spreads."""
    mass, moment = 0.0, 0.0
    for rule in group.rules:
        likelihood, _ = group.scaled[rule]
        weight = (likelihood / likelihood.sum(axis=2, keepdims=True)).sum(axis=(0, 1))
        mass += weight.sum()
        moment += weight @ group.curves.nodes[rule]
    return Hyper(float(moment / mass), 1.0, 0.5)


def _better(
    group: Group,
    old: Hyper,
    posterior: Floats,
    cells: dict[Rule, tuple[Floats, Floats]],
    joint: Sequence[Floats],
) -> Hyper:
    """The M-step, exactly: normals are normalised on the grid, so moments alone would not do."""
    effects = np.zeros(len(group.effects))
    by_cell = {rule: np.zeros_like(part[0]) for rule, part in cells.items()}
    for model, column, part in zip(group.models, group.columns, joint, strict=True):
        weight = posterior[:, column, None] * np.exp(part - log_sum(part)[:, None])
        effects += weight.sum(axis=0)
        for rule, units in group.curves.units_of(model).items():
            at = [group.units[rule].index(unit) for unit in units]
            by_cell[rule][:, at] += weight[:, None, :]
    if effects.sum() < 1e-9:  # nobody follows any of these models
        return old
    mu, tau = fitted_normal(group.effects, effects, old.mu, old.tau)
    moment = sum(float(np.sum(by_cell[rule] * cells[rule][1])) for rule in cells)
    counts = [(by_cell[rule].sum(axis=(0, 1)), group.distances[rule]) for rule in cells]
    return Hyper(mu, tau, _fitted_spread(moment, counts, old.s))


def fitted_normal(x: Floats, weight: Floats, mean: float, spread: float) -> tuple[float, float]:
    """The normal on the nodes x that explains weights best; never worse than the one given."""
    share = weight / weight.sum()
    middle = float(share @ x)
    moments = float(np.clip(middle, x[0], x[-1])), _spread(np.sqrt(share @ (x - middle) ** 2))
    tried = [(mean, spread), moments]
    powers = np.stack([x - middle, (x - middle) ** 2])
    m, t = moments
    for _ in range(NEWTON):  # in m/t² and −1/2t², where the problem is concave
        p = np.exp(normal(x, m, t))
        surplus = powers @ (share - p)
        off = powers - (powers @ p)[:, None]
        step = np.linalg.solve((off * p) @ off.T + 1e-12 * np.eye(2), surplus)
        precision = 1.0 / t**2 - 2.0 * step[1]
        if not precision > 1.0 / (2 * LARGEST) ** 2:  # beyond the widest one allowed
            break
        m = float(np.clip(middle + ((m - middle) / t**2 + step[0]) / precision, x[0], x[-1]))
        t = _spread(precision**-0.5)
        tried.append((m, t))
        if np.max(np.abs(surplus)) < 1e-12:
            break
    return max(tried, key=lambda point: float(share @ normal(x, *point)))


def _spread(value: float) -> float:
    return float(np.clip(value, SMALLEST, LARGEST))


def _fitted_spread(moment: float, counts: list[tuple[Floats, Floats]], old: float) -> float:
    """The spread of cells: a problem in one dimension, with a single top in 1/s²."""
    from scipy.optimize import minimize_scalar

    def loss(log_s: float) -> float:
        precision = np.exp(-2.0 * log_s)
        value = 0.5 * moment * precision
        for weight, distance in counts:
            value += float(weight @ np.log(np.exp(-0.5 * distance * precision).sum(axis=1)))
        return value

    ends = (float(np.log(SMALLEST)), float(np.log(LARGEST)))
    inner = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-6})
    tried = [float(inner.x), *ends, float(np.log(old))]
    return float(np.exp(min(tried, key=loss)))
