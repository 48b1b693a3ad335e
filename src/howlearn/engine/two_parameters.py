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

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Parameter
from howlearn.engine import profiles, spikes
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import RATES, Statuses, UnitFits
from howlearn.engine.trial_by_trial import followed

if TYPE_CHECKING:
    from howlearn.engine.cell_fits import Passes

# Newton steps inside the box, for many (curve, start) tasks at once.

Tops = tuple[Ints, Floats, Floats, Floats]  # curve, x, value, total

EXACT = 1e-12  # nats; the Newton decrement at which a point is certified
NUDGE = 1e-4  # in u, for the Hessian by differences of gradients
ROUNDS = 200
# The lanes of a probe: a point with its neighbours, and other lengths of the step to it.
NEIGHBOURS = np.array([[0, 0], [NUDGE, 0], [-NUDGE, 0], [0, NUDGE], [0, -NUDGE]])
OTHERS = np.array([3.0, 0.3, 0.08])
OTHER = len(NEIGHBOURS)
SHORTER, FAILURES = 0.02, 2  # where no length helps: how much shorter to try, and how often


def nodes_to(end: float, step: float) -> Floats:
    """Nodes up to the end, which stands there as often as fills the last lanes.

    The same nodes whatever the bound, so that a wider one finds again what a narrower one found.
    """
    nodes = np.arange(0.0, end - 0.1 * step, step)
    return np.append(nodes, np.full(RATES - len(nodes) % RATES, end))


class Climb:
    """Searches in u, where a point x has one coordinate per parameter."""

    def __init__(self, passes: Passes, parameters: Sequence[Parameter]) -> None:
        self.passes, self.parameters = passes, parameters
        self.ends = np.array([parameter.end for parameter in parameters])

    def parameters_at(self, x: Floats) -> Floats:
        """From u to parameters, along the last axis."""
        return np.stack([p.at(x[..., d]) for d, p in enumerate(self.parameters)], axis=-1)

    def scanned(self, curves: Ints, rates: Floats, rows: Floats) -> Floats:
        """Values [curve, row, rate] of some curves on a grid in u, RATES rates at a time."""
        out = np.empty((len(curves), len(rows), len(rates)))
        for r, row in enumerate(self.parameters[1].at(rows)):
            for k in range(0, len(rates), RATES):
                each = np.stack([
                    self.parameters[0].at(rates[k : k + RATES]), np.full(RATES, row)
                ])  # fmt: skip
                points = np.broadcast_to(each, (len(curves), 2, RATES))
                out[:, r, k : k + RATES] = self.passes.scan(curves, points)
        return out

    def probe(self, curves: Ints, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Values [task, lane], gradients in u [task, lane, parameter] and totals."""
        points = self.parameters_at(x).transpose(0, 2, 1)
        values, gradients, totals = self.passes.probe_curves(curves, points)
        slopes = np.stack([p.slope(x[..., d]) for d, p in enumerate(self.parameters)], axis=-1)
        return values, gradients.transpose(0, 2, 1) * slopes, totals

    def climbed(self, curves: Ints, starts: Floats) -> Tops:
        """The top reached from every start.

        One probe looks at the point that Newton's step leads to, at its neighbours, for the slope
        and curvature there, and at a longer and two shorter steps in case the point is worse.
        """
        x, step = starts.copy(), np.zeros_like(starts)
        value, total = np.full(len(x), -np.inf), np.zeros(len(x))
        failures = np.zeros(len(x), np.int64)
        left = np.arange(len(x))
        for _ in range(ROUNDS):
            if not len(left):
                break
            centre = np.clip(x[left] + step[left], 0.0, self.ends)
            others = x[left][:, None] + OTHERS[:, None] * step[left][:, None]
            points = np.concatenate([centre[:, None] + NEIGHBOURS, others], axis=1)
            points = np.clip(points, 0.0, self.ends)
            values, gradients, totals = self.probe(curves[left], points)
            values = np.where(np.isfinite(values), values, -np.inf)
            looking = np.all(step[left] == 0.0, axis=1)  # at the point itself, for its curvature
            whole = looking | (values[:, 0] > value[left])
            lane = np.where(whole, 0, OTHER + values[:, OTHER:].argmax(axis=1))
            every = np.arange(len(left))
            better = whole | (values[every, lane] > value[left])
            for mine, source in ((x, points), (value, values), (total, totals)):
                mine[left[better]] = source[every, lane][better]
            ahead, promise = self._newton(centre, points, gradients)
            failures[left] = np.where(better, 0, failures[left] + 1)
            shorter = np.where(better[:, None], 0.0, SHORTER * step[left])
            step[left] = np.where(whole[:, None], ahead, shorter)
            done = (whole & (promise <= EXACT)) | (failures[left] > FAILURES)
            left = left[~done]
        return curves, x, value, total

    def _newton(self, x: Floats, points: Floats, gradients: Floats) -> tuple[Floats, Floats]:
        """The ascent step from every x and how much it promises."""
        with np.errstate(over="ignore", invalid="ignore"):  # beside a cliff slopes leave the floats
            return self._ascent(x, points, gradients)

    def _ascent(self, x: Floats, points: Floats, gradients: Floats) -> tuple[Floats, Floats]:
        slope = gradients[:, 0]
        bend = np.empty((len(x), 2, 2))
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


# Ridges of two-parameter surfaces that are rough: with losses, or where rare choices are paid.
#
# With losses an update drives preferences apart: beside the points where a model keeps in step with
# the choices the likelihood falls off a cliff, by thousands of nats within a thousandth of a rate.
# What is left are ridges: for every value of the second parameter a narrow top along the first,
# whose place and height change little with the second. So tops are found along rows, then followed
# across them. There is no smallest scale, and no search can promise the highest top of such a
# surface.

# Values of the second parameter, and a power that draws them towards 0: with losses, with gains.
RIDGE_ROWS, FEW_ROWS = (10, 2.0), (6, 2.5)
RIDGE_STEP = 0.02  # in u, between rates
WIDE, NARROW = 2, 3  # rounds of narrowing: of all tops, and of the best; each leaves a 32nd
KEPT = 8  # tops of a curve that are narrowed to the end
FOLLOWED = 2  # that are followed across the rows
TURNS = 6  # in which a top is followed, each leaves a fifth of the bracket
ACROSS = 5  # points across the rows in a turn


def highest(climb: Climb, curves: Ints) -> tuple[Ints, Floats]:
    """The highest ridge point of each of some curves."""
    n, power = RIDGE_ROWS if climb.passes.spiky else FEW_ROWS
    # The smaller the second parameter is, the more it matters.
    rows = climb.parameters[1].end * np.linspace(0.0, 1.0, n) ** power
    return curves, np.stack([_of_one(climb, int(curve), rows) for curve in curves])


def _of_one(climb: Climb, curve: int, rows: Floats) -> Floats:
    first = climb.parameters[0]
    rates = nodes_to(first.end, RIDGE_STEP)
    grid = climb.scanned(np.array([curve]), rates, rows)[0]
    padded = np.pad(grid, ((0, 0), (1, 1)), constant_values=-np.inf)
    row, node = np.nonzero((grid >= padded[:, :-2]) & (grid > padded[:, 2:]))
    # However low: a node beside a cliff may be thousands of nats under the top next to it.
    u, value = _narrowed(climb, curve, rates[node], rows[row], RIDGE_STEP, WIDE)
    best = np.argsort(-value)[:KEPT]
    v = rows[row[best]]
    u, value = _narrowed(climb, curve, u[best], v, RIDGE_STEP / 31.0**WIDE, NARROW)
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
    curves = np.full(len(u), curve)
    every, share = np.arange(len(u)), np.linspace(-1.0, 1.0, RATES)
    best, at, reach = np.full(len(u), -np.inf), u.copy(), np.broadcast_to(width, len(u))
    other = np.repeat(second.at(v)[:, None], RATES, axis=1)
    for _ in range(rounds):
        points = np.clip(at[:, None] + share * reach[:, None], 0.0, first.end)
        theta = np.stack([first.at(points), other], axis=1)
        values = climb.passes.scan(curves, theta)
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


COARSE_STEP = 0.111  # in u, between rates on the coarse grid: 63 of them up to a rate of 1
COARSE_ROWS = 7  # values of the second parameter
STEP, ROWS = 0.04, 12  # on the fine grid
STARTS, FEW = 8, 2  # tops that are refined, at most: where the surface is rough, and smooth
AGREE = 0.01  # nats; climbs that end this close to the best agree with it
CLOSE = 4.0  # nats below the best node; lower tops are not refined
FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
SURPRISE = 2.0  # nats that a closer look may find above the best node of the coarse grid
EDGE, CLIFF = 5.0, 10.0  # nats below the best, nats between neighbours of a row
STEEP = 8.0  # nats between the best row of the coarse grid and the next
FAR = 30.0  # nats below the best: further down a second top of a row is no matter
# Searches along the trials: of a broad top, of a needle, and where nothing was found.
CLOUDS, ALL_CLOUDS = 3, 8
MISSED = 0.5  # nats that interpolation may miss before a surface is rough


def fit_surface(
    passes: Passes,
    seen: Ints,
    shown: Bools,
    parameters: Sequence[Parameter],
    reach: Reach | None = None,
) -> UnitFits:
    """The global maximum over two parameters of each unit's likelihood up to each mark."""
    first, second = parameters
    shape, n = passes.shape, seen.size
    rates, rows = nodes_to(first.end, COARSE_STEP), np.linspace(0.0, second.end, COARSE_ROWS)
    grid = np.stack([passes.curves(first.at(rates), value) for value in second.at(rows)], axis=1)
    climb = Climb(passes, parameters)
    once = grid[:, :, : len(np.unique(rates))]  # the end, too
    tops, ridged = _highest_tops(climb, seen.reshape(-1), grid, once, rates, rows)
    chosen, x, value, total = tops
    theta = np.tile([p.default for p in parameters], (n, 1))
    theta[chosen] = climb.parameters_at(x)
    values = grid[:, 0, 0].copy()  # flat and unseen: the same everywhere
    totals = values.copy()
    values[chosen], totals[chosen] = value, total
    status = np.where(seen.reshape(-1) == 0, Statuses.UNSEEN, Statuses.FLAT)
    status = np.repeat(status.astype(np.int8)[:, None], 2, axis=1)
    status[chosen] = _statuses(x, climb.ends)
    at = np.zeros((n, 2))
    at[chosen] = x
    spikes.mark_unstable(passes, at, values, status, parameters)
    if passes.spiky:
        spikes.mark_missed(passes, values, grid[:, 0, 0], ridged, status)
    interval = None
    if reach is not None:
        nodes = np.unique(rates), rows
        interval = profiles.surface_ends(passes, nodes, once, at, values, parameters, reach)
        interval = interval.reshape(shape[0], shape[2], 2, 2)
    return UnitFits(
        theta.reshape(*shape, 2),
        status.reshape(*shape, 2),
        values.reshape(shape),
        totals.reshape(shape),
        shown,
        interval,
    )


def _highest_tops(
    climb: Climb, seen: Ints, grid: Floats, once: Floats, rates: Floats, rows: Floats
) -> tuple[Tops, Bools]:
    """Of every curve that is neither unseen nor flat, each as closely as its surface is rough.

    Also which curves have ridges.
    """
    flat = grid.max(axis=(1, 2)) - grid.min(axis=(1, 2)) < FLAT
    known = ~flat & (seen > 0)
    collapsed = climb.passes.spiky & profiles.several(once, profiles.COLLAPSED)
    ridged = known & (_steep(once) | _edged(once) | collapsed)
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
    if climb.passes.spiky:
        found += _needles(climb, found, known, ridged, grid[:, 0, 0])
    elif ridged.any():
        found.append(climb.climbed(*highest(climb, np.flatnonzero(ridged))))
    return _best(found), ridged


def _best(found: Sequence[Tops]) -> Tops:
    """The highest top of every curve that has one."""
    curve, x, value, total = (np.concatenate(each) for each in zip(*found, strict=True))
    best_first = np.lexsort((-value, curve))
    chosen, place = np.unique(curve[best_first], return_index=True)
    pick = best_first[place]
    return chosen, x[pick], value[pick], total[pick]


def _alone(found: Sequence[Tops], higher: Floats) -> Bools:
    """Which curves' highest tops were reached by a single climb."""
    curve, _, value, _ = (np.concatenate(each) for each in zip(*found, strict=True))
    return np.bincount(curve[value > higher[curve] - AGREE], minlength=len(higher)) == 1


def _needles(
    climb: Climb, known_tops: Sequence[Tops], known: Bools, ridged: Bools, guessing: Floats
) -> list[Tops]:
    """With losses: tops that the cloud finds; where those are needles or no good, more is tried."""
    passes, found = climb.passes, [*known_tops]
    for seed in range(ALL_CLOUDS):
        curve, x, value, _ = _best(found)
        higher = np.full(len(known), -np.inf)
        higher[curve] = value
        # A needle may stand where the coarse grid sees nothing but a plain.
        missed = spikes.missed(passes, higher, guessing, known, ridged)
        if seed > 0:
            poor = _alone(found, higher)
            poor[curve] |= spikes.narrow(passes, curve, x, value, climb.parameters)
            ridged = ridged & (poor | missed) & (seed < CLOUDS)
        wanted = np.flatnonzero(ridged | missed)
        if not len(wanted):
            break
        found.append(climb.climbed(*followed(climb, wanted, seed)))
        if seed == 1:  # the first cloud finds broad tops
            found.append(climb.climbed(*highest(climb, wanted)))
    return found[len(known_tops) :]


def _rough(grid: Floats) -> Bools:
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


def _steep(grid: Floats) -> Bools:
    """Whether the row beside the best one is far below it, so that a ridge may lie between."""
    by_row = grid.max(axis=2)
    best, beside = by_row.max(axis=1), by_row.argmax(axis=1)[:, None] + np.array([-1, 1])
    inside = (beside >= 0) & (beside < grid.shape[1])
    heights = np.take_along_axis(by_row, np.clip(beside, 0, grid.shape[1] - 1), axis=1)
    return np.any(inside & (heights < best[:, None] - STEEP), axis=1)


def _edged(grid: Floats) -> Bools:
    """Whether some row falls off a cliff not far below the best: the top may be at its edge."""
    best = grid.max(axis=(1, 2))[:, None, None]
    with np.errstate(invalid="ignore"):
        falls = np.abs(np.diff(grid, axis=2)) > CLIFF
    edge = np.maximum(grid[:, :, 1:], grid[:, :, :-1]) > best - EDGE
    return np.any(falls & edge, axis=(1, 2))


def _closer(climb: Climb, curves: Ints) -> tuple[Ints, Floats]:
    """The tops of some curves on the fine grid: (curve, point) pairs."""
    rates = nodes_to(climb.parameters[0].end, STEP)
    rows = np.linspace(0.0, climb.parameters[1].end, ROWS)
    which, starts = _tops(climb.scanned(curves, rates, rows), rates, rows, close=2 * CLOSE)
    return curves[which], starts


def _tops(
    grid: Floats, rates: Floats, rows: Floats, most: int = STARTS, close: float = CLOSE
) -> tuple[Ints, Floats]:
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
