"""Ridges of two-parameter surfaces that are rough: with losses, or where rare choices are paid.

With losses an update drives preferences apart: beside the points where a model keeps in step with
the choices the likelihood falls off a cliff, by thousands of nats within a thousandth of a rate.
What is left are ridges: for every value of the second parameter a narrow top along the first, whose
place and height change little with the second. So tops are found along rows, then followed across
them. There is no smallest scale, and no search can promise the highest top of such a surface.
"""

from __future__ import annotations

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.engine.layout import RATES
from howlearn.engine.newton import Climb, nodes_to

# Values of the second parameter, and a power that draws them towards 0: with losses, with gains.
ROWS, FEW_ROWS = (10, 2.0), (6, 2.5)
STEP = 0.02  # in u, between rates
WIDE, NARROW = 2, 3  # rounds of narrowing: of all tops, and of the best; each leaves a 32nd
KEPT = 8  # tops of a curve that are narrowed to the end
FOLLOWED = 2  # that are followed across the rows
TURNS = 6  # in which a top is followed, each leaves a fifth of the bracket
ACROSS = 5  # points across the rows in a turn


def highest(climb: Climb, curves: Ints) -> tuple[Ints, Floats]:
    """The highest ridge point of each of some curves."""
    n, power = ROWS if climb.passes.spiky else FEW_ROWS
    # The smaller the second parameter is, the more it matters.
    rows = climb.parameters[1].end * np.linspace(0.0, 1.0, n) ** power
    return curves, np.stack([_of_one(climb, int(curve), rows) for curve in curves])


def _of_one(climb: Climb, curve: int, rows: Floats) -> Floats:
    first = climb.parameters[0]
    rates = nodes_to(first.end, STEP)
    grid = climb.scanned(np.array([curve]), rates, rows)[0]
    padded = np.pad(grid, ((0, 0), (1, 1)), constant_values=-np.inf)
    row, node = np.nonzero((grid >= padded[:, :-2]) & (grid > padded[:, 2:]))
    # However low: a node beside a cliff may be thousands of nats under the top next to it.
    u, value = _narrowed(climb, curve, rates[node], rows[row], STEP, WIDE)
    best = np.argsort(-value)[:KEPT]
    v = rows[row[best]]
    u, value = _narrowed(climb, curve, u[best], v, STEP / 31.0**WIDE, NARROW)
    order = np.argsort(-value)[:FOLLOWED]
    tops = [(np.array([u[k], v[k]]), float(value[k])) for k in order]
    gaps = np.diff(rows, append=2 * rows[-1] - rows[-2])
    spacing = [float(max(gaps[k - 1] if k else 0.0, gaps[k])) for k in row[best][order]]
    tops += [
        _followed(climb, curve, x, height, gap)
        for (x, height), gap in zip(tops, spacing, strict=True)
    ]
    return max(tops, key=lambda top: top[1])[0]


def _narrowed(
    climb: Climb, curve: int, u: Floats, v: Floats, width: Floats | float, rounds: int
) -> tuple[Floats, Floats]:
    """The tops along rows v within a width of u, and their heights."""
    first, second = climb.parameters
    learner, mark, unit = (np.full(len(u), k) for k in np.unravel_index(curve, climb.shape))
    stop = climb.passes.block.marks[learner, mark]
    every, share = np.arange(len(u)), np.linspace(-1.0, 1.0, RATES)
    best, at, reach = np.full(len(u), -np.inf), u.copy(), np.broadcast_to(width, len(u))
    other = np.repeat(second.at(v)[:, None], RATES, axis=1)
    for _ in range(rounds):
        points = np.clip(at[:, None] + share * reach[:, None], 0.0, first.end)
        theta = np.stack([first.at(points), other], axis=1)
        values = climb.passes.scan(learner, unit, theta, stop)
        values = np.where(np.isfinite(values), values, -np.inf)
        top = values.argmax(axis=1)
        better = values[every, top] > best
        best = np.where(better, values[every, top], best)
        at = np.where(better, points[every, top], at)
        reach = reach * (2.0 / (RATES - 1))
    return at, best


def _followed(
    climb: Climb, curve: int, x: Floats, value: float, spacing: float
) -> tuple[Floats, float]:
    """The top of a ridge: across the rows it is sought, along the first parameter narrowed."""
    second = climb.parameters[1].end
    width, turn, bent = spacing / 2, 0.0, spacing
    for _ in range(TURNS):
        v = np.clip(x[1] + np.linspace(-width, width, ACROSS), 0.0, second)
        away = v - x[1]
        u, heights = _narrowed(
            climb, curve, np.clip(x[0] + turn * away, 0.0, climb.parameters[0].end), v,
            np.maximum(bent * np.abs(away), 1e-7), NARROW,
        )  # fmt: skip
        known = np.abs(away) > 0
        if known.any():  # how the ridge runs
            slopes = (u[known] - x[0]) / away[known]
            turn, bent = float(np.mean(slopes)), float(np.ptp(slopes)) + 0.05
        k = int(np.argmax(heights))
        if heights[k] > value:
            x, value = np.array([u[k], v[k]]), float(heights[k])
        width *= 2.5 / ACROSS
    return x, value
