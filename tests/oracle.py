"""The slow and obvious way: learning rules, replay and maxima in plain Python.

Written from the formulas of the paper, without numpy and without howlearn, so that the package's
fast paths have something independent to be equal to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

Point = tuple[float, ...]


@dataclass(frozen=True)
class Trial:
    """One row of a record; ``action`` counts from 0."""

    context: Hashable
    action: int
    reward: float
    scored: bool = True
    learned: bool = True
    reset: bool = False


def log_softmax(h: Sequence[float]) -> list[float]:
    """log p of every action."""
    largest = max(h)
    log_sum = largest + math.log(sum(math.exp(x - largest) for x in h))
    return [x - log_sum for x in h]


# Rules: preferences, log-probabilities, action, gain or loss g, its sign (+1 or −1), parameters.


def gradient_bandit(h, log_p, action, g, sign, eta):
    """h ← h + s·η·g·(e_A − p)."""
    return [
        x + sign * eta * g * ((1.0 if a == action else 0.0) - math.exp(log_p[a]))
        for a, x in enumerate(h)
    ]


def exp3(h, log_p, action, g, sign, eta):
    """Exp3-IX without implicit exploration."""
    return exp3_ix(h, log_p, action, g, sign, eta, 0.0)


def exp3_ix(h, log_p, action, g, sign, eta, gamma):
    """h_A ← h_A + s·η·g/(p_A + γ)."""
    if log_p[action] < -700.0 and gamma == 0.0:
        increment = math.copysign(1e6, g) if eta * g else 0.0  # 1/p would overflow
    else:
        increment = eta * g / (math.exp(log_p[action]) + gamma)
    return [x + sign * increment if a == action else x for a, x in enumerate(h)]


RULES: dict[str, Callable[..., list[float]]] = {
    "gradient": gradient_bandit,
    "exp3": exp3,
    "exp3-ix": exp3_ix,
}


def feedback(reward: float, form: str, reward_range: tuple[float, float]) -> tuple[float, float]:
    """What the rule sees, and with which sign: the reward, or the loss (HI − reward)/(HI − LO)."""
    low, high = reward_range
    if form == "gain":
        return reward, 1.0
    return (high - reward) / (high - low), -1.0


def replay(
    trials: Sequence[Trial],
    cells: Sequence[Sequence[Hashable]],
    rule: str,
    points: Sequence[Point],
    form: str = "gain",
    n_actions: int = 2,
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> list[list[float]]:
    """Log-probabilities of all actions before each trial; cell c has the parameters points[c]."""
    cell_of = {context: c for c, cell in enumerate(cells) for context in cell}
    h = [[0.0] * n_actions for _ in cells]
    before = []
    for trial in trials:
        if trial.reset:
            h = [[0.0] * n_actions for _ in cells]
        c = cell_of[trial.context]
        log_p = log_softmax(h[c])
        before.append(log_p)
        if trial.learned:
            g, sign = feedback(trial.reward, form, reward_range)
            h[c] = RULES[rule](h[c], log_p, trial.action, g, sign, *points[c])
    return before


def log_likelihood(trials: Sequence[Trial], *args, stop: int | None = None, **kwargs) -> float:
    """Σ log p(A) over the scored trials before ``stop``; the other arguments as in ``replay``."""
    trials = trials[:stop]
    before = replay(trials, *args, **kwargs)
    return sum(
        log_p[trial.action] for trial, log_p in zip(trials, before, strict=True) if trial.scored
    )


def mark_of(trials: Sequence[Trial], n_scored: int) -> int:
    """The position just behind the n-th scored trial; all trials where that is the last one."""
    positions = [t for t, trial in enumerate(trials) if trial.scored]
    if n_scored == len(positions):
        return len(trials)
    return positions[n_scored - 1] + 1 if n_scored else 0


def dense(lower: float, upper: float, n: int) -> list[float]:
    """Both bounds, and n points between them whose distance from the lower one is logarithmic."""
    smallest = 1e-5 * (upper - lower)
    ratio = math.log((upper - lower) / smallest) / n
    inner = [lower + smallest * math.exp(ratio * i) for i in range(n)]
    return [lower, *inner, upper]


def maximum(
    function: Callable[..., float], bounds: Sequence[tuple[float, float]], n: int = 400
) -> tuple[Point, float]:
    """The highest value on a dense grid, then on finer and finer grids around its best points.

    Several points are followed, so that a narrow top is not lost to a wide one.
    """
    axes = [dense(low, high, n) for low, high in bounds]
    best = sorted(_evaluated(function, axes), reverse=True)
    followed: list[tuple[float, Point]] = []
    for value, point in best:
        if len(followed) == 3:
            break
        if all(_apart(point, other, axes) for _, other in followed):
            followed.append((value, point))
    return max(
        (_zoomed(function, point, value, axes) for value, point in followed), key=lambda top: top[1]
    )


def _evaluated(function, axes):
    points: list[Point] = [()]
    for axis in axes:
        points = [(*point, x) for point in points for x in axis]
    return [(function(*point), point) for point in points]


def _apart(one: Point, other: Point, axes) -> bool:
    return any(
        abs(axis.index(x) - axis.index(y)) > 3 for x, y, axis in zip(one, other, axes, strict=True)
    )


def _zoomed(function, point, value, axes):
    """Ever finer grids around a point of the grid."""
    sides = []
    for x, axis in zip(point, axes, strict=True):
        i = axis.index(x)
        sides.append((axis[max(i - 1, 0)], axis[min(i + 1, len(axis) - 1)]))
    steps = 8
    for _ in range(14):
        finer = [[low + (high - low) * k / steps for k in range(steps + 1)] for low, high in sides]
        top, where = max(_evaluated(function, finer))
        if top > value:
            value, point = top, where
        # Half of every side is kept, around the best point so far.
        sides = [
            (max(low, x - (high - low) / 4), min(high, x + (high - low) / 4))
            for x, (low, high) in zip(point, sides, strict=True)
        ]
    return point, value


def exp4(
    advice: Sequence[Sequence[Sequence[float]]],
    trials: Sequence[Trial],
    rate: float,
    form: str = "gain",
    reward_range: tuple[float, float] = (0.0, 1.0),
) -> tuple[list[list[float]], list[list[float]]]:
    """Weights and probabilities before each trial; advice[trial][expert][action] are probabilities.

    Plain probabilities, as the paper writes them; only the exponents are kept apart.
    """
    n_experts = len(advice[0])
    exponents = [0.0] * n_experts
    weights, policies = [], []
    for trial, given in zip(trials, advice, strict=True):
        if trial.reset:
            exponents = [0.0] * n_experts
        q = [math.exp(x) for x in log_softmax(exponents)]
        policy = [sum(q[j] * given[j][a] for j in range(n_experts)) for a in range(len(given[0]))]
        weights.append(q)
        policies.append(policy)
        if trial.learned:
            g, sign = feedback(trial.reward, form, reward_range)
            for j in range(n_experts):
                exponents[j] += sign * rate * given[j][trial.action] * g / policy[trial.action]
    return weights, policies
