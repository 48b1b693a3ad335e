"""Units with two parameters: a coarse grid of both, a finer one where it is rough, then Newton.

Most surfaces are smooth at the scale of the coarse grid, and its tops lead to the highest one.
Where interpolation between the nodes misses so much that a higher top could hide there, the surface
is looked at more closely; where it is a landscape of cliffs, along its ``ridges``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.rule import Parameter
from howlearn.engine import profiles, ridges, spikes
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import Statuses, UnitFits
from howlearn.engine.newton import Climb, nodes_to

if TYPE_CHECKING:
    from howlearn.engine.units import Passes

COARSE_STEP = 0.111  # in u, between rates on the coarse grid: 63 of them up to a rate of 1
COARSE_ROWS = 7  # values of the second parameter
STEP, ROWS = 0.04, 12  # on the fine grid
STARTS, FEW = 8, 2  # tops that are refined, at most: where the surface is rough, and smooth
CLOSE = 4.0  # nats below the best node; lower tops are not refined
FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
SURPRISE = 2.0  # nats that a closer look may find above the best node of the coarse grid
EDGE, CLIFF = 5.0, 10.0  # nats below the best, nats between neighbours of a row
STEEP = 8.0  # nats between the best row of the coarse grid and the next
FAR = 30.0  # nats below the best: further down a second top of a row is no matter
MISSED = 0.5  # nats that interpolation may miss before a surface is rough


def fit_surface(
    passes: Passes,
    seen: NDArray[np.int64],
    shown: NDArray[np.bool_],
    parameters: Sequence[Parameter],
    reach: Reach | None = None,
) -> UnitFits:
    """The global maximum over two parameters of each unit's likelihood up to each mark."""
    first, second = parameters
    ends = np.array([first.end, second.end])
    rates, rows = nodes_to(first.end, COARSE_STEP), np.linspace(0.0, second.end, COARSE_ROWS)
    grid = np.stack([passes.curves(first.at(rates), value) for value in second.at(rows)], axis=1)
    flat = grid.max(axis=(1, 2)) - grid.min(axis=(1, 2)) < FLAT
    known = ~flat & (seen.reshape(-1) > 0)
    climb = Climb(passes, seen.shape, parameters, ends)
    once = grid[:, :, : len(np.unique(rates))]  # the end, too
    ridged = (
        _steep(once) | _edged(once) | (passes.spiky & profiles.several(once, profiles.COLLAPSED))
    )
    ridged &= known
    rough = known & (ridged | _rough(once))
    smooth = np.flatnonzero(known & ~rough)
    curves, starts = _tops(grid[smooth], rates, rows, FEW)
    found = [climb.climbed(smooth[curves], starts)]
    if rough.any():
        found.append(climb.climbed(*_closer(climb, np.flatnonzero(rough))))
        # Tops that the coarse grid knew nothing of: there may be others.
        higher = np.full(len(grid), -np.inf)
        np.maximum.at(higher, found[-1][0], found[-1][2])
        surprise = higher - grid.max(axis=(1, 2)) > SURPRISE
        ridged |= rough & surprise & profiles.several(once, FAR)
    if ridged.any():
        found.append(climb.climbed(*ridges.highest(climb, np.flatnonzero(ridged))))
    curve, x, value, total = (np.concatenate(each) for each in zip(*found, strict=True))
    best_first = np.lexsort((-value, curve))
    chosen, place = np.unique(curve[best_first], return_index=True)
    pick = best_first[place]
    n = len(grid)
    theta = np.tile([p.default for p in parameters], (n, 1))
    theta[chosen] = climb.parameters_at(x[pick])
    values = grid[:, 0, 0].copy()  # flat and unseen: the same everywhere
    totals = values.copy()
    values[chosen], totals[chosen] = value[pick], total[pick]
    status = np.where(seen.reshape(-1) == 0, Statuses.UNSEEN, Statuses.FLAT)
    status = np.repeat(status.astype(np.int8)[:, None], 2, axis=1)
    status[chosen] = _statuses(x[pick], ends)
    at = np.zeros((n, 2))
    at[chosen] = x[pick]
    spikes.mark_unstable(passes, seen.shape, at, values, status, parameters)
    interval = None
    if reach is not None:
        mine = np.arange(n).reshape(seen.shape)[:, reach.mark].reshape(-1)
        interval = profiles.surface_ends(
            passes, (np.unique(rates), rows), once[mine], at[mine], values[mine], parameters, reach
        )
        interval = interval.reshape(seen.shape[0], seen.shape[2], 2, 2)
    return UnitFits(
        theta.reshape(*seen.shape, 2),
        status.reshape(*seen.shape, 2),
        values.reshape(seen.shape),
        totals.reshape(seen.shape),
        shown,
        interval,
    )


def _rough(grid: Floats) -> NDArray[np.bool_]:
    """Where the coarse grid may have missed the highest top: [curve].

    Some row has two tops that are not far below the best, or the best one is not smooth: fourth
    differences vanish on anything up to a cubic.
    """
    best = grid.max(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        missed = np.abs(np.diff(grid, n=4, axis=2))
    near = np.pad(grid > best - CLOSE, ((0, 0), (0, 0), (1, 1)))
    beside = (near[:, :, 2:] | near[:, :, :-2])[:, :, 2:-2]  # of a node near the best
    sharp = np.any((missed > MISSED) & beside, axis=(1, 2))
    return sharp | profiles.several(grid, FAR)


def _steep(grid: Floats) -> NDArray[np.bool_]:
    """Whether the row beside the best one is far below it, so that a ridge may lie between."""
    by_row = grid.max(axis=2)
    best, beside = by_row.max(axis=1), by_row.argmax(axis=1)[:, None] + np.array([-1, 1])
    inside = (beside >= 0) & (beside < grid.shape[1])
    heights = np.take_along_axis(by_row, np.clip(beside, 0, grid.shape[1] - 1), axis=1)
    return np.any(inside & (heights < best[:, None] - STEEP), axis=1)


def _edged(grid: Floats) -> NDArray[np.bool_]:
    """Whether some row falls off a cliff not far below the best: the top may be at its edge."""
    best = grid.max(axis=(1, 2))[:, None, None]
    with np.errstate(invalid="ignore"):
        falls = np.abs(np.diff(grid, axis=2)) > CLIFF
    edge = np.maximum(grid[:, :, 1:], grid[:, :, :-1]) > best - EDGE
    return np.any(falls & edge, axis=(1, 2))


def _closer(climb: Climb, curves: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """The tops of some curves on the fine grid: (curve, point) pairs."""
    rates = nodes_to(climb.parameters[0].end, STEP)
    rows = np.linspace(0.0, climb.parameters[1].end, ROWS)
    which, starts = _tops(climb.scanned(curves, rates, rows), rates, rows, close=2 * CLOSE)
    return curves[which], starts


def _tops(
    grid: Floats, rates: Floats, rows: Floats, most: int = STARTS, close: float = CLOSE
) -> tuple[NDArray[np.int64], Floats]:
    """The highest local maxima of every curve's grid [curve, row, rate]: (curve, point) pairs."""
    padded = np.pad(grid, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    top = np.ones(grid.shape, bool)
    for i in range(3):
        for j in range(3):
            top &= grid >= padded[:, i : i + len(rows), j : j + len(rates)]
    top[:, :, 1:] &= np.diff(rates) > 0  # the end stands there several times
    top[:, 1:, 0] = False  # at rate 0 the second parameter says nothing: one of them is enough
    top &= grid > grid.max(axis=(1, 2), keepdims=True, initial=-np.inf) - close
    heights = np.where(top, grid, -np.inf).reshape(len(grid), len(rows) * len(rates))
    order = np.argsort(-heights, axis=1, kind="stable")[:, :most]
    curve, rank = np.nonzero(np.isfinite(np.take_along_axis(heights, order, axis=1)))
    row, rate = np.divmod(order[curve, rank], len(rates))
    return curve, np.stack([rates[rate], rows[row]], axis=1)


def _statuses(x: Floats, ends: Floats) -> NDArray[np.int8]:
    status = np.full(x.shape, Statuses.OK, np.int8)
    status[x <= 0.0] = Statuses.AT_LOWER
    status[x >= ends] = Statuses.AT_UPPER
    status[x[:, 0] <= 0.0, 1] = Statuses.FLAT  # a rate of 0 leaves the second without effect
    return status
