"""A bounded quasi-Newton ascent for many problems at once.

All problems take their steps together, so that each round is a few calls of compiled code. The
variables are those in which searches are even (u), from 0 to an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints

Cuts = tuple[tuple[int, int], ...]

ROUNDS = 200
ROUGH, SHARP = 1e-4, 1e-12  # nats: a step that promises less is not taken
PATIENCE = 8  # rounds in which at least ten times that must be gained: kinks slow a climb down
LONGEST = 0.4  # of the range: no step is longer, so that none jumps out of its hill at once
HALVINGS = 40
RISE = 1e-4  # of the rise that the slope promises: a step that gains less is shortened
STILL = 1e-11  # of the value: rises smaller than that are noise


class Hill(Protocol):
    """What is climbed; ``problem`` numbers the rows of u."""

    joint: bool  # whether a slope costs little beside the value, so that both are asked for at once

    def value(self, problem: Ints, u: Floats) -> Floats: ...

    def slope(self, problem: Ints, u: Floats, value: Floats) -> Floats: ...

    def both(self, problem: Ints, u: Floats) -> tuple[Floats, Floats]: ...


def climb(
    hill: Hill,
    u: Floats,
    ends: Floats,
    enough: float = SHARP,
    together: int = 1,
    cuts: Cuts = (),
    curvature: Curvature | None = None,
) -> tuple[Floats, Floats]:
    """From u[problem] upwards, within 0 and ``ends``; the tops and the values there.

    A climb ends where the next step would gain less than ``enough`` nats. Every ``together``
    problems in a row are climbs of one hill from different starts; a cut (round, n) lets only the n
    highest of them go on from that round. The ``curvature`` is what is
    known of it, which is renewed.

    >>> class Parabola:
    ...     joint = False
    ...     def value(self, problem, u): return -((u - 0.3) ** 2).sum(axis=1)
    ...     def slope(self, problem, u, value): return -2 * (u - 0.3)
    >>> climb(Parabola(), np.array([[0.9, 0.1]]), np.array([1.0, 0.2]))[0].round(6).tolist()
    [[0.3, 0.2]]
    """
    n, d = u.shape
    u = u.copy()
    value = hill.value(np.arange(n), u)
    active = np.flatnonzero(np.isfinite(value))
    if not len(active) or not d:
        return u, value
    slope = np.zeros_like(u)
    slope[active] = hill.slope(active, u[active], value[active])
    curvature = curvature or Curvature.unknown(n, ends)
    still = np.zeros(n, np.int64)  # rounds without a rise worth the name
    lately = np.full((PATIENCE, n), -np.inf)  # values of the last rounds
    for r in range(ROUNDS):
        for cut, n_left in cuts:
            if r == cut:
                active = active[_among_highest(value, together, n_left)[active]]
        slow = value < lately[r % PATIENCE] + 10.0 * enough
        lately[r % PATIENCE] = value
        at = u[active]
        g, step = curvature.step(active, at, slope[active])
        with np.errstate(over="ignore"):  # a slope may be nearly vertical
            promised = (step * g).sum(axis=1)
            unknown = curvature.fresh[active] & (np.abs(g * ends) ** 2 > enough).any(axis=1)
        going = (promised > enough) | unknown | (promised < 0.0)
        going &= (still[active] < 2) & ~slow[active]
        active, at, g, step = active[going], at[going], g[going], step[going]
        if not len(active):
            break
        backward = promised[going] <= 0.0
        step[backward] = (g * ends**2)[backward]
        curvature.forget(active[backward])
        longest = np.max(np.abs(step) / (LONGEST * ends), axis=1)
        step /= np.maximum(longest, 1.0)[:, None]
        before = slope[active]
        new, reached, known = _search(hill, active, at, g, step, value[active], ends, slope)
        small = reached - value[active] <= STILL * (1.0 + np.abs(reached))
        u[active], value[active] = new, reached
        if not known.all():
            slope[active[~known]] = hill.slope(active[~known], new[~known], reached[~known])
        # Without a rise the curvature may be wrong: forget it once before giving up.
        still[active] = np.where(small, still[active] + 1, 0)
        lost = small & ~curvature.fresh[active]
        curvature.forget(active[lost])
        curvature.learn(active[~lost], (new - at)[~lost], (before - slope[active])[~lost])
    return u, value


def _among_highest(value: Floats, together: int, n: int) -> Bools:
    """Which climbs of each hill are among its n highest."""
    place = np.argsort(np.argsort(-value.reshape(-1, together), axis=1, kind="stable"), axis=1)
    return (place < n).reshape(-1)


def _search(
    hill: Hill,
    problem: Ints,
    at: Floats,
    g: Floats,
    step: Floats,
    value: Floats,
    ends: Floats,
    slope: Floats,
) -> tuple[Floats, Floats, Bools]:
    """Go along the step, projected on the bounds, and back until the value rises enough.

    Where the first point was high enough and slopes come with values, ``slope`` is renewed; the
    last array says where.
    """
    new, reached = at.copy(), value.copy()
    length = np.ones(len(problem))
    # Where the step leaves the box: along a ridge the projection beyond may fall off it.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(step > 0.0, (ends - at) / step, np.where(step < 0.0, -at / step, np.inf))
    leaves = np.min(np.where(room > 1e-9, room, np.inf), axis=1)
    left = np.arange(len(problem))
    known = np.zeros(len(problem), bool)
    for attempt in range(HALVINGS):
        point = np.clip(at[left] + length[left, None] * step[left], 0.0, ends)
        if hill.joint and attempt == 0:
            found, slopes = hill.both(problem[left], point)
        else:
            found, slopes = hill.value(problem[left], point), None
        promised = (g[left] * (point - at[left])).sum(axis=1)
        enough = found >= value[left] + RISE * np.maximum(promised, 0.0)
        enough &= found >= value[left]
        new[left[enough]], reached[left[enough]] = point[enough], found[enough]
        if slopes is not None:
            slope[problem[left[enough]]] = slopes[enough]
            known[left[enough]] = True
        short = left[~enough]
        if not len(short):
            break
        # A parabola through the value, the slope and the point found says how far to go back.
        lack = promised[~enough] - (found[~enough] - value[short])
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = np.where(np.isfinite(lack), promised[~enough] / (2.0 * lack), 0.1)
        shorter = length[short] * np.clip(np.nan_to_num(shrink, nan=0.1), 0.1, 0.5)
        edge = leaves[short] < length[short]
        length[short] = np.where(edge, leaves[short], shorter)
        left = short
    return new, reached, known


@dataclass(frozen=True, eq=False)
class Curvature:
    """What is known about the curvature at every problem's point."""

    ends: Floats
    inverse: Floats  # [problem, parameter, parameter]: of minus the second derivative
    fresh: Bools  # [problem]: nothing is known yet

    @classmethod
    def unknown(cls, n: int, ends: Floats) -> Curvature:
        return cls(ends, np.tile(np.diag(ends**2), (n, 1, 1)), np.ones(n, bool))

    def forget(self, problem: Ints) -> None:
        self.inverse[problem] = np.diag(self.ends**2)
        self.fresh[problem] = True

    def step(self, problem: Ints, at: Floats, slope: Floats) -> tuple[Floats, Floats]:
        """The slope and quasi-Newton's step among the variables that no bound holds."""
        free = ~(((at <= 0.0) & (slope < 0.0)) | ((at >= self.ends) & (slope > 0.0)))
        g = np.where(free, slope, 0.0)
        both = free[:, :, None] & free[:, None, :]
        return g, np.einsum("pij,pj->pi", np.where(both, self.inverse[problem], 0.0), g)

    def learn(self, problem: Ints, s: Floats, y: Floats) -> None:
        """The BFGS update with the step s and the fall y of the slope along it."""
        y = np.where(s == 0.0, 0.0, y)  # of variables held by a bound nothing was learned
        sy = (s * y).sum(axis=1)
        useful = sy > 1e-10 * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
        problem, s, y, sy = problem[useful], s[useful], y[useful], sy[useful]
        if not len(problem):
            return
        first = self.fresh[problem]
        if first.any():  # the size of the first step is all that is known of the curvature
            h = self.inverse[problem[first]]
            yhy = np.einsum("pi,pij,pj->p", y[first], h, y[first])
            self.inverse[problem[first]] = h * (sy[first] / yhy)[:, None, None]
            self.fresh[problem[first]] = False
        h = self.inverse[problem]
        hy = np.einsum("pij,pj->pi", h, y)
        yhy = (y * hy).sum(axis=1)
        outer = s[:, :, None] * hy[:, None, :]
        scale = ((sy + yhy) / sy**2)[:, None, None]
        self.inverse[problem] = (
            h
            + scale * s[:, :, None] * s[:, None, :]
            - (outer + outer.transpose(0, 2, 1)) / sy[:, None, None]
        )
