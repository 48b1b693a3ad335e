"""Units with two parameters: a grid of both, then a bounded Newton search from its best tops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from howlearn.engine import spikes
from howlearn.engine.layout import LANES, RATES, Floats, Statuses, UnitFits
from howlearn.rule import Parameter

if TYPE_CHECKING:
    from howlearn.engine.units import Passes

STEP = 0.04  # in u, between rates on the grid
ROWS = 12  # values of the second parameter on the grid, twice as many where losses make it rough
STARTS = 8  # tops that are refined, at most
CLOSE = 4.0  # nats below the best node; lower tops are not refined
EXACT = 1e-12  # nats; the Newton decrement at which a point is certified
FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
NUDGE = 1e-4  # in u, for the Hessian by differences of gradients
ROUNDS = 100
LENGTHS = np.array([1.0, 2.0, 4.0, 0.5, 0.2, 0.05, 0.01, 0.001])  # of the Newton step: LANES


def fit_surface(
    passes: Passes,
    seen: NDArray[np.int64],
    shown: NDArray[np.bool_],
    parameters: Sequence[Parameter],
) -> UnitFits:
    """The global maximum over two parameters of each unit's likelihood up to each mark."""
    first, second = parameters
    ends = np.array([first.end, second.end])
    # The same nodes whatever the bound, so that a wider one finds again what a narrower one found.
    rates = np.arange(0.0, first.end, STEP)
    rates = np.append(rates, np.full(RATES - len(rates) % RATES, first.end))
    rows = np.linspace(0.0, second.end, 2 * ROWS if passes.spiky else ROWS)
    grid = np.stack([passes.curves(first.at(rates), value) for value in second.at(rows)], axis=1)
    flat = grid.max(axis=(1, 2)) - grid.min(axis=(1, 2)) < FLAT
    curves, starts = _tops(grid, rates, rows)
    keep = ~flat[curves] & (seen.reshape(-1)[curves] > 0)
    curves, starts = curves[keep], starts[keep]
    search = _Search(passes, seen.shape, curves, parameters, ends)
    x, value, total = search.climb(starts)
    best_first = np.lexsort((-value, curves))
    chosen, place = np.unique(curves[best_first], return_index=True)
    pick = best_first[place]
    n = len(grid)
    theta = np.tile([p.default for p in parameters], (n, 1))
    theta[chosen] = search.parameters_at(x[pick])
    values = grid[:, 0, 0].copy()  # flat and unseen: the same everywhere
    totals = values.copy()
    values[chosen], totals[chosen] = value[pick], total[pick]
    status = np.where(seen.reshape(-1) == 0, Statuses.UNSEEN, Statuses.FLAT)
    status = np.repeat(status.astype(np.int8)[:, None], 2, axis=1)
    status[chosen] = _statuses(x[pick], ends)
    at = np.zeros((n, 2))
    at[chosen] = x[pick]
    spikes.mark_unstable(passes, seen.shape, at, values, status, parameters)
    return UnitFits(
        theta.reshape(*seen.shape, 2),
        status.reshape(*seen.shape, 2),
        values.reshape(seen.shape),
        totals.reshape(seen.shape),
        shown,
    )


def _tops(grid: Floats, rates: Floats, rows: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The highest local maxima of every curve's grid [curve, row, rate]: (curve, point) pairs."""
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    top = np.ones(grid.shape, bool)
    for i in range(3):
        for j in range(3):
            top &= grid >= padded[:, i : i + len(rows), j : j + len(rates)]
    top[:, :, 1:] &= np.diff(rates) > 0  # the end stands there several times
    top[:, 1:, 0] = False  # at rate 0 the second parameter says nothing: one of them is enough
    top &= grid > grid.max(axis=(1, 2), keepdims=True) - CLOSE
    heights = np.where(top, grid, -np.inf).reshape(len(grid), -1)
    order = np.argsort(-heights, axis=1, kind="stable")[:, :STARTS]
    curve, rank = np.nonzero(np.isfinite(np.take_along_axis(heights, order, axis=1)))
    row, rate = np.divmod(order[curve, rank], len(rates))
    return curve, np.stack([rates[rate], rows[row]], axis=1)


def _statuses(x: Floats, ends: Floats) -> NDArray[np.int8]:
    status = np.full(x.shape, Statuses.OK, np.int8)
    status[x <= 0.0] = Statuses.AT_LOWER
    status[x >= ends] = Statuses.AT_UPPER
    status[x[:, 0] <= 0.0, 1] = Statuses.FLAT  # a rate of 0 leaves the second without effect
    return status


class _Search:
    """Newton steps inside the box, for many (curve, start) tasks at once."""

    def __init__(
        self,
        passes: Passes,
        shape: Sequence[int],
        curves: NDArray[np.int64],
        parameters: Sequence[Parameter],
        ends: Floats,
    ) -> None:
        self.passes, self.parameters, self.ends = passes, parameters, ends
        self.learner, mark, self.unit = np.unravel_index(curves, tuple(shape))
        self.stop = passes.block.marks[self.learner, mark]

    def parameters_at(self, x: Floats) -> Floats:
        """From u to parameters, along the last axis."""
        return np.stack([p.at(x[..., d]) for d, p in enumerate(self.parameters)], axis=-1)

    def probe(self, tasks: NDArray[np.int64], x: Floats) -> tuple[Floats, Floats, Floats]:
        """Values [task, lane], gradients in u [task, lane, parameter] and totals."""
        points = self.parameters_at(x).transpose(0, 2, 1)
        stops = np.repeat(self.stop[tasks][:, None], LANES, axis=1)
        values, gradients, totals = self.passes.probe(
            self.learner[tasks], self.unit[tasks], points, stops
        )
        slopes = np.stack([p.slope(x[..., d]) for d, p in enumerate(self.parameters)], axis=-1)
        return values, gradients.transpose(0, 2, 1) * slopes, totals

    def climb(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """The top reached from every start, with its value and total."""
        x = x.copy()
        value, total = np.full(len(x), -np.inf), np.zeros(len(x))
        left = np.arange(len(x))
        for _ in range(ROUNDS):
            if not len(left):
                break
            step, decrement = self.newton(left, x[left], value, total)
            going = decrement > EXACT
            left, step = left[going], step[going]
            if not len(left):
                break
            points = x[left][:, None, :] + LENGTHS[:, None] * step[:, None, :]
            points = np.clip(points, 0.0, self.ends)
            values, _, totals = self.probe(left, points)
            values = np.where(np.isfinite(values), values, -np.inf)
            every, best = np.arange(len(left)), values.argmax(axis=1)
            better = values[every, best] > value[left]
            x[left[better]] = points[every, best][better]
            value[left[better]] = values[every, best][better]
            total[left[better]] = totals[every, best][better]
            left = left[better]  # no step helps: the point is a top to rounding
        return x, value, total

    def newton(
        self, left: NDArray[np.int64], x: Floats, value: Floats, total: Floats
    ) -> tuple[Floats, Floats]:
        """The ascent step of every task and how much it promises, with value and total set."""
        nudges = np.zeros((LANES, 2))
        nudges[1:5] = [[NUDGE, 0], [-NUDGE, 0], [0, NUDGE], [0, -NUDGE]]
        points = np.clip(x[:, None, :] + nudges, 0.0, self.ends)
        values, gradients, totals = self.probe(left, points)
        value[left], total[left] = values[:, 0], totals[:, 0]
        slope = gradients[:, 0]
        bend = np.empty((len(left), 2, 2))
        for d in range(2):
            run = points[:, 1 + 2 * d, d] - points[:, 2 + 2 * d, d]
            bend[:, d] = (gradients[:, 1 + 2 * d] - gradients[:, 2 + 2 * d]) / run[:, None]
        bend = 0.5 * (bend + bend.transpose(0, 2, 1))
        held = ((x <= 0.0) & (slope <= 0.0)) | ((x >= self.ends) & (slope >= 0.0))
        slope = np.where(held, 0.0, np.nan_to_num(slope))
        bend = np.nan_to_num(np.where(held[:, :, None] | held[:, None, :], 0.0, bend))
        # Curvatures are made negative, so that every step climbs, also away from a saddle.
        weights, axes = np.linalg.eigh(bend)
        along = np.einsum("kij,ki->kj", axes, slope)
        scaled = along / np.maximum(np.abs(weights), 1e-6)
        step = np.einsum("kij,kj->ki", axes, scaled)
        size = np.abs(step).max(axis=1, keepdims=True)
        return step / np.maximum(1.0, size), 0.5 * np.sum(along * scaled, axis=1)
