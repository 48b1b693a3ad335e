"""Profile-likelihood ends of models that are fitted whole: the others are searched anew.

One parameter is held at a value and the others climb from where they were best beside it. That is a
search: it may miss a better place for the others, and an end may then lie too far in.
"""

from __future__ import annotations

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.engine.climb import climb
from howlearn.engine.crossings import crossings, depth_of, march
from howlearn.engine.tops import Likelihood

STEP = 0.03  # of the range: how far the first look goes
ENOUGH = 1e-2  # nats: a step of the others that promises less is not taken
TOLERANCE = 2e-3  # in u: searches are slow


def searched_ends(
    likelihood: Likelihood, marks: Ints, theta: Floats, top: Floats, limit: float
) -> Floats:
    """Of all parameters, [learner, parameter, 2], around theta[learner, parameter]."""
    whole = likelihood.whole
    u = whole.u(theta)
    n, d = u.shape
    out = np.empty((n, d, 2))
    for k in range(d):
        held = _Held(likelihood, marks, u, top, k)
        at, end = np.repeat(u[:, k], 2), whole.ends[k]
        bound = np.tile([0.0, end], n)
        brackets = march(held.look, at, np.full(2 * n, STEP * end), bound, limit)
        found = crossings(held.look, brackets, limit, tolerance=TOLERANCE)
        out[:, k] = whole.parameters[k].at(found).reshape(n, 2)
    return out


class _Held:
    """The hill of the other parameters, one of them being held; two sides for every learner."""

    def __init__(
        self, likelihood: Likelihood, marks: Ints, u: Floats, top: Floats, held: int
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
