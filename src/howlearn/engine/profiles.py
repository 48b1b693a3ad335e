"""How far units' likelihoods stay within so many nats of their tops: profile-likelihood ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Parameter
from howlearn.engine.climb import climb
from howlearn.engine.crossings import (
    Brackets,
    Look,
    Reach,
    between_nodes,
    crossings,
    depth_of,
    march,
    on_nodes,
)
from howlearn.engine.layout import LANES, RATES
from howlearn.engine.search import SearchedLikelihood

if TYPE_CHECKING:
    from howlearn.engine.cell_fits import Passes


HALF = LANES // 2
# Nats: where losses make spikes, and a second top comes this close to the best one, which of them
# is the highest is chance, and so is what lies within a few nats of it.
ROUGH = 10.0
# Where there are two parameters the best value of the other may lie on a ridge far narrower than a
# row's nodes are apart; each look is as fine as the one before between the best node's neighbours.
LOOKS = 2
COLLAPSED = 1e6  # nats below the best: probabilities have left the floats


def line_ends(
    passes: Passes, nodes: Floats, values: Floats, u: Floats, top: Floats,
    parameter: Parameter, reach: Reach,
) -> Floats:  # fmt: skip
    """Of units with one parameter, whose profile is the likelihood itself: [curve, 2].

    ``values`` are those at the nodes, ``u`` and ``top`` the best point and its value. A curve with
    spikes tells nothing but the bounds.
    """
    curves = passes.up_to(reach.mark)
    values, u = values[curves], u[curves]
    top = np.maximum(top[curves], values.max(axis=1))
    depth = depth_of(top[:, None], values)
    brackets = on_nodes(nodes, depth, u, reach.limit)
    ends, sure = between_nodes(nodes, depth, u, brackets, reach.limit)
    open_ = np.flatnonzero(~sure.reshape(-1))

    def look(sides: Ints, x: Floats) -> Floats:
        # Both sides of a unit share a pass.
        sides = open_[sides]
        mine, place = np.unique(sides // 2, return_inverse=True)
        points = np.repeat(parameter.at(u[mine])[:, None], LANES, axis=1)
        half = HALF * (sides % 2)[:, None] + np.arange(HALF)
        points[place[:, None], half] = parameter.at(x)
        found = passes.probe_curves(curves[mine], points[:, None, :])[0]
        return depth_of(top[mine][place][:, None], found[place[:, None], half])

    if len(open_):
        ends.reshape(-1)[open_] = crossings(look, brackets.take(open_), reach.limit, HALF)
    if passes.spiky:
        # A learner whose choices follow no rate at all, beside rates that drive probabilities out
        # of the floats, may have learned at a rate whose spike nobody found.
        lost = (u <= 0.0) & (values.min(axis=1) < top - COLLAPSED)
        ends[several(values[:, None, :], ROUGH) | lost] = 0.0, parameter.end
    return parameter.at(ends)


def surface_ends(
    passes: Passes, nodes: tuple[Floats, Floats], grid: Floats, u: Floats, top: Floats,
    parameters: Sequence[Parameter], reach: Reach,
) -> Floats:  # fmt: skip
    """Of units with two parameters, [curve, parameter, 2]: for each value of one, the best other.

    ``grid[curve, second, first]`` are values at the nodes of both, ``u[curve, parameter]`` and
    ``top`` the best point and its value.
    """
    curves, limit = passes.up_to(reach.mark), reach.limit
    grid, u = grid[curves], u[curves]
    top = np.maximum(top[curves], grid.max(axis=(1, 2)))
    out = np.empty((len(u), 2, 2))
    for d, mine in enumerate(nodes):
        focus, other = parameters[d], parameters[1 - d]
        others = np.linspace(0.0, other.end, RATES)
        depth = depth_of(top[:, None], grid.max(axis=1 + d))

        def look(
            sides: Ints,
            x: Floats,
            focus: Parameter = focus,
            other: Parameter = other,
            others: Floats = others,
            d: int = d,
        ) -> Floats:
            which = sides // 2
            points = np.empty((len(which), 2, RATES))
            points[:, d] = focus.at(x)
            row = np.tile(others, (len(which), 1))
            best = np.full(len(which), -np.inf)
            for _ in range(LOOKS):
                points[:, 1 - d] = other.at(row)
                found = passes.scan(curves[which], points)
                best = np.maximum(best, _highest(found))
                row = _between(row, found)
            return depth_of(top[which], best)[:, None]

        brackets = on_nodes(mine, depth, u[:, d], limit).flat
        _outwards(look, mine, brackets, limit)
        out[:, d] = focus.at(crossings(look, brackets, limit)).reshape(-1, 2)
        if passes.spiky:
            out[several(grid, ROUGH), d] = focus.lower, focus.upper
    return out


def several(grid: Floats, within: float) -> Bools:
    """Whether some row of grid[curve, row, node] has a top besides its main one, at most so far
    below the best."""
    padded = np.pad(grid, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    top = (grid >= padded[:, :, :-2]) & (grid > padded[:, :, 2:])
    top &= grid > grid.max(axis=(1, 2), keepdims=True) - within
    return np.any(np.count_nonzero(top, axis=2) > 1, axis=1)


def _between(row: Floats, values: Floats) -> Floats:
    """As many points between the neighbours of each curve's best one."""
    every, i = np.arange(len(row)), values.argmax(axis=1)
    last = row.shape[1] - 1
    low, high = row[every, np.maximum(i - 1, 0)], row[every, np.minimum(i + 1, last)]
    return np.linspace(low, high, last + 1, axis=1)


def _highest(values: Floats) -> Floats:
    """The tops of values[curve, node], between the nodes by a parabola."""
    every = np.arange(len(values))
    i = np.clip(values.argmax(axis=1), 1, values.shape[1] - 2)
    left, middle, right = (values[every, i + k] for k in (-1, 0, 1))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        bend = left - 2.0 * middle + right
        rise = (right - left) ** 2 / (-8.0 * bend)
    inner = (middle >= left) & (middle >= right) & (bend < 0.0) & np.isfinite(rise)
    return values.max(axis=1) + np.where(inner, rise, 0.0)


def _outwards(look: Look, nodes: Floats, brackets: Brackets, limit: float) -> None:
    """Push brackets outwards, node by node, while the profile itself is above the level.

    The grid knows few values of the other parameter, so that it may put an end too far in.
    """
    inside, outside, inner, outer = brackets
    left = np.flatnonzero(inside != outside)
    for _ in range(len(nodes)):
        if not len(left):
            break
        depth = look(left, outside[left, None])[:, 0]
        outer[left] = depth
        above = depth <= limit
        going = left[above]
        way = np.sign(outside[going] - inside[going])
        place = np.searchsorted(nodes, outside[going])
        inside[going], inner[going] = outside[going], depth[above]
        outside[going] = nodes[np.clip(place + way.astype(int), 0, len(nodes) - 1)]
        left = going[inside[going] != outside[going]]


# Profile-likelihood ends of models that are fitted whole: the others are searched anew.
#
# One parameter is held at a value and the others climb from where they were best beside it. That is
# a search: it may miss a better place for the others, and an end may then lie too far in.

STEP = 0.03  # of the range: how far the first look goes
ENOUGH = 1e-2  # nats: a step of the others that promises less is not taken
TOLERANCE = 2e-3  # in u: searches are slow


def searched_ends(
    likelihood: SearchedLikelihood, marks: Ints, theta: Floats, top: Floats, limit: float
) -> Floats:
    """Of all parameters, [learner, parameter, 2], around theta[learner, parameter]."""
    whole = likelihood.whole
    u = whole.u(theta)
    n, d = u.shape
    out = np.empty((n, d, 2))
    for k in range(d):
        held = _HeldParameter(likelihood, marks, u, top, k)
        at, end = np.repeat(u[:, k], 2), whole.ends[k]
        bound = np.tile([0.0, end], n)
        brackets = march(held.look, at, np.full(2 * n, STEP * end), bound, limit)
        found = crossings(held.look, brackets, limit, tolerance=TOLERANCE)
        out[:, k] = whole.parameters[k].at(found).reshape(n, 2)
    return out


class _HeldParameter:
    """The hill of the other parameters, one of them being held; two sides for every learner."""

    def __init__(
        self, likelihood: SearchedLikelihood, marks: Ints, u: Floats, top: Floats, held: int
    ) -> None:
        self.likelihood, self.held, self.joint = likelihood, held, likelihood.analytic
        self.learner = np.repeat(np.arange(len(u)), 2)
        self.mark, self.top = np.repeat(marks, 2), np.repeat(top, 2)
        self.free = np.delete(np.arange(u.shape[1]), held)
        others = np.repeat(u[:, self.free], 2, axis=0)
        # Where the others were best last, and the time before: the next time lies in line.
        self.known = np.stack([others, others])
        self.places = np.tile(np.repeat(u[:, held], 2), (2, 1))
        self.sides, self.x = np.arange(0), np.empty(0)

    def look(self, sides: Ints, x: Floats) -> Floats:
        """Depths [side, 1] with the held parameter at x[side, 1] and the others at their best."""
        self.sides, self.x = sides, x[:, 0]
        ends = self.likelihood.whole.ends[self.free]
        last, before = self.known[:, sides]
        step = self.places[0, sides] - self.places[1, sides]
        share = np.where(
            step != 0.0, (self.x - self.places[0, sides]) / np.where(step, step, 1.0), 0.0
        )
        start = np.clip(last + np.clip(share, -4.0, 4.0)[:, None] * (last - before), 0.0, ends)
        others, value = climb(self, start, ends, ENOUGH)
        self.known[:, sides] = np.stack([others, last])
        self.places[:, sides] = np.stack([self.x, self.places[0, sides]])
        return depth_of(self.top[sides], value)[:, None]

    def _point(self, problem: Ints, others: Floats) -> tuple[Ints, Floats, Ints]:
        side = self.sides[problem]
        return self.learner[side], np.insert(others, self.held, self.x[problem], axis=1), side

    def value(self, problem: Ints, u: Floats) -> Floats:
        learner, point, side = self._point(problem, u)
        return self.likelihood.value(learner, point, self.mark[side])

    def slope(self, problem: Ints, u: Floats, value: Floats) -> Floats:
        learner, point, side = self._point(problem, u)
        return self.likelihood.slope(learner, point, self.mark[side], value)[:, self.free]

    def both(self, problem: Ints, u: Floats) -> tuple[Floats, Floats]:
        learner, point, side = self._point(problem, u)
        value, slope = self.likelihood.both(learner, point, self.mark[side])
        return value, slope[:, self.free]
