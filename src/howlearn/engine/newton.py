"""Newton steps inside the box, for many (curve, start) tasks of two parameters at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.rule import Parameter
from howlearn.engine.layout import LANES, RATES

if TYPE_CHECKING:
    from howlearn.engine.units import Passes

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

    def __init__(
        self, passes: Passes, shape: Sequence[int], parameters: Sequence[Parameter], ends: Floats
    ) -> None:
        self.passes, self.parameters, self.ends = passes, parameters, ends
        self.shape = tuple(shape)

    def parameters_at(self, x: Floats) -> Floats:
        """From u to parameters, along the last axis."""
        return np.stack([p.at(x[..., d]) for d, p in enumerate(self.parameters)], axis=-1)

    def scanned(self, curves: Ints, rates: Floats, rows: Floats) -> Floats:
        """Values [curve, row, rate] of some curves on a grid in u, RATES rates at a time."""
        learner, mark, unit = np.unravel_index(curves, self.shape)
        stop = self.passes.block.marks[learner, mark]
        out = np.empty((len(curves), len(rows), len(rates)))
        for r, row in enumerate(self.parameters[1].at(rows)):
            for k in range(0, len(rates), RATES):
                each = np.stack([
                    self.parameters[0].at(rates[k : k + RATES]), np.full(RATES, row)
                ])  # fmt: skip
                points = np.broadcast_to(each, (len(curves), 2, RATES))
                out[:, r, k : k + RATES] = self.passes.scan(learner, unit, points, stop)
        return out

    def probe(self, curves: Ints, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Values [task, lane], gradients in u [task, lane, parameter] and totals."""
        learner, mark, unit = np.unravel_index(curves, self.shape)
        points = self.parameters_at(x).transpose(0, 2, 1)
        stops = np.repeat(self.passes.block.marks[learner, mark][:, None], LANES, axis=1)
        values, gradients, totals = self.passes.probe(learner, unit, points, stops)
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
