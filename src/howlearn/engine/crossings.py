"""How far from its top a profile stays above a level, on either side, for many profiles at once.

A profile is looked at by its depth √(top − value): the signed root of a likelihood is nearly linear
where the likelihood is nearly quadratic, so that a secant finds the crossing in a step or two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints

Look = Callable[[Ints, Floats], Floats]  # sides, points u[side, lane] → depths [side, lane]

TOLERANCE = 5e-4  # in u, which is about log η
ROUNDS = 60
BISECT = 3  # every so many rounds a single lane halves the bracket, in case secants crawl
GROWTH = (1.3, 4.0)  # how much further a march may look at a time


@dataclass(frozen=True)
class Reach:
    """What intervals hold: values at most so many nats worse than the best, at one of the marks.

    Before it is stretched for what learns (``fitting.intervals``).
    """

    nats: float
    mark: int

    @property
    def limit(self) -> float:
        """The depth where an interval ends."""
        return float(np.sqrt(self.nats))

    def stretched(self, by: float) -> Reach:
        """So many times as far."""
        return replace(self, nats=by * self.nats)


class Brackets(NamedTuple):
    """Where crossings lie: points at most as deep as the limit, points that are deeper, depths.

    Both points are the bound where the bound itself is inside.
    """

    inside: Floats
    outside: Floats
    inner: Floats
    outer: Floats

    def take(self, sides: Ints) -> Brackets:
        """Of some sides, one after the other."""
        return Brackets(*(each.reshape(-1)[sides] for each in self))

    @property
    def flat(self) -> Brackets:
        return Brackets(*(each.reshape(-1) for each in self))


def depth_of(top: Floats, value: Floats) -> Floats:
    """√(top − value), 0 above the top; infinite where there is no value."""
    with np.errstate(invalid="ignore"):
        below = top - value
    return np.sqrt(np.maximum(np.where(np.isnan(below), np.inf, below), 0.0))


def on_nodes(nodes: Floats, depth: Floats, at: Floats, limit: float) -> Brackets:
    """The outermost crossings of depth[curve, node] on both sides of the tops ``at``: [curve, 2].

    What lies between two stretches above the level counts as inside.
    """
    last, every = len(nodes) - 1, np.arange(len(depth))
    above = depth <= limit
    some = above.any(axis=1)
    first = np.where(some, above.argmax(axis=1), last)
    final = np.where(some, last - above[:, ::-1].argmax(axis=1), 0)
    # The top may stand alone between two nodes.
    under = np.clip(np.searchsorted(nodes, at, side="left") - 1, 0, last)
    over = np.clip(np.searchsorted(nodes, at, side="right"), 0, last)
    inside, outside, inner, outer = np.empty((4, len(depth), 2))
    for side, (node, beyond, alone) in enumerate((
        (first, np.maximum(first - 1, 0), ~some | (at < nodes[first])),
        (final, np.minimum(final + 1, last), ~some | (at > nodes[final])),
    )):  # fmt: skip
        inside[:, side] = np.where(alone, at, nodes[node])
        inner[:, side] = np.where(alone, 0.0, depth[every, node])
        out = np.where(alone, under if side == 0 else over, beyond)
        outside[:, side], outer[:, side] = nodes[out], depth[every, out]
    return Brackets(inside, outside, inner, outer)


def between_nodes(
    nodes: Floats, depth: Floats, at: Floats, brackets: Brackets, limit: float
) -> tuple[Floats, Bools]:
    """Crossings [curve, 2] by inverse interpolation of the signed root, and which to trust.

    Trusted are those where a cubic and a parabola agree within the tolerance, and where the nodes
    know of the top at all.
    """
    every, last = np.arange(len(depth)), len(nodes) - 1
    inside, outside = brackets.inside, brackets.outside
    found, sure = np.empty((len(depth), 2)), np.empty((len(depth), 2), bool)
    for side, target in enumerate((-limit, limit)):
        low = np.minimum(inside[:, side], outside[:, side])
        i = np.searchsorted(nodes, low, side="right") - 1
        four = np.clip(i[:, None] + np.arange(-1, 3), 0, last)
        u = nodes[four]
        root = np.sign(u - at[:, None]) * depth[every[:, None], four]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            smooth = np.all(np.diff(root, axis=1) > 0.0, axis=1) & np.isfinite(root).all(axis=1)
            cubic = _lagrange(root, u, target)
            three = slice(0, 3) if side else slice(1, 4)  # the inner ones
            agree = np.abs(cubic - _lagrange(root[:, three], u[:, three], target)) < TOLERANCE
        between = (cubic >= low) & (cubic <= nodes[np.minimum(i + 1, last)])
        sure[:, side] = smooth & agree & between & (inside[:, side] != at)
        found[:, side] = cubic
    bound = inside == outside
    return np.where(bound, inside, found), sure | bound


def _lagrange(x: Floats, y: Floats, at: float) -> Floats:
    """The polynomials through (x, y)[curve, node], at one place."""
    total = np.zeros(len(x))
    for k in range(x.shape[1]):
        others = np.delete(x, k, axis=1)
        total += y[:, k] * np.prod((at - others) / (x[:, k : k + 1] - others), axis=1)
    return total


def crossings(
    look: Look,
    brackets: Brackets,
    limit: float,
    lanes: int = 1,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Where each side's depth crosses the limit.

    >>> parabola = lambda sides, u: np.abs(u - 1.0)
    >>> around = Brackets(np.ones(2), np.array([0.0, 3.0]), np.zeros(2), np.array([1.0, 2.0]))
    >>> crossings(parabola, around, 0.5).round(3).tolist()
    [0.5, 1.5]
    """
    a, b, low, high = (each.copy() for each in brackets)
    found = _secant(a, b, low, high, limit)
    left = np.flatnonzero(np.abs(b - a) > tolerance)
    for r in range(ROUNDS):
        if not len(left):
            break
        middle = 0.5 * (a[left] + b[left])
        if lanes == 1:
            x = np.where(r % BISECT == BISECT - 1, middle, found[left])[:, None]
        else:
            shift = 0.4 * tolerance * np.array([0.0, -1.0, 1.0])
            x = np.concatenate([found[left, None] + shift, middle[:, None]], axis=1)
        ends = np.sort(np.stack([a[left], b[left]]), axis=0)[:, :, None]
        x = np.clip(x, ends[0], ends[1])
        depth = look(left, x)
        share = (x - a[left, None]) / (b - a)[left, None]
        above = depth <= limit
        every = np.arange(len(left))
        # The outermost point that is inside, and the next one beyond it.
        reached = np.where(above, share, -1.0)
        k = reached.argmax(axis=1)
        moves = reached[every, k] > 0.0
        beyond = np.where(
            above | (share <= np.maximum(reached[every, k], 0.0)[:, None]), 2.0, share
        )
        j = beyond.argmin(axis=1)
        falls = beyond[every, j] < 1.0
        for mine, ends_at, source in ((moves, k, (a, low)), (falls, j, (b, high))):
            source[0][left[mine]] = x[every, ends_at][mine]
            source[1][left[mine]] = depth[every, ends_at][mine]
        found[left] = _secant(a[left], b[left], low[left], high[left], limit)
        moved = np.abs(x - found[left, None]).min(axis=1)
        done = (moved < 0.5 * tolerance) | (np.abs(b - a)[left] < tolerance)
        left = left[~done]
    return found


def _secant(a: Floats, b: Floats, low: Floats, high: Floats, limit: float) -> Floats:
    """Where the line through both ends of the bracket crosses; the middle beside a cliff."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (limit - low) / (high - low)
    share = np.where(np.isfinite(high) & np.isfinite(share), np.clip(share, 0.0, 1.0), 0.5)
    return np.where(a == b, a, a + share * (b - a))


def march(look: Look, at: Floats, step: Floats, bound: Floats, limit: float) -> Brackets:
    """Go outwards from the tops until a depth exceeds the limit, or the bound is reached."""
    inside, inner = at.copy(), np.zeros(len(at))
    outside, outer = bound.copy(), np.zeros(len(at))
    length = step.copy()
    left = np.flatnonzero(at != bound)
    outside[at == bound] = at[at == bound]
    for _ in range(ROUNDS):
        if not len(left):
            break
        way = bound[left] - at[left]
        x = at[left] + np.sign(way) * np.minimum(length[left], np.abs(way))
        depth = look(left, x[:, None])[:, 0]
        out, ends = depth > limit, x == bound[left]
        inside[left[~out]], inner[left[~out]] = x[~out], depth[~out]
        outside[left[out]], outer[left[out]] = x[out], depth[out]
        outside[left[~out & ends]], outer[left[~out & ends]] = x[~out & ends], depth[~out & ends]
        with np.errstate(divide="ignore"):
            length[left] *= np.clip(1.15 * limit / depth, *GROWTH)
        left = left[~(out | ends)]
    return Brackets(inside, outside, inner, outer)
