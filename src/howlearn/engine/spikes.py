"""Tops between the nodes of the grid, which only the slopes on both sides betray.

Where feedback is negative (losses), an update drives preferences apart instead of together: what a
learner of another rate would have done soon differs altogether, and the likelihood may have a spike
a thousand times narrower than the grid, often at the rate that produced the data. Its flanks are
wide, though: between two nodes the slope changes from rising to falling. The structure has no
smallest scale, so that no search can promise the highest spike; a fit on one is called unstable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints, chi_square_tail
from howlearn.core.rule import Parameter
from howlearn.engine.layout import LANES, Statuses

if TYPE_CHECKING:
    from howlearn.engine.cell_fits import Passes

STEP = 0.02  # in u, between slopes; smaller would find more, without end
ROUNDS = 20  # each leaves a seventh of the bracket
EXACT = 1e-9  # nats that a bracket may still hide
POOR, CHANCE = 1.0, 1e-3  # nats above guessing; of choices that are guesses
SHIFT, LOSS = 1e-3, 1.0  # unstable: a rate 0.1% off loses a nat on both sides


def find_spikes(
    passes: Passes, curves: Ints, parameter: Parameter
) -> tuple[Ints, Floats, Floats, Floats]:
    """Curve, u, value and total of a top in every interval of nodes that must contain one."""
    # The same nodes whatever the bound, so that a wider one finds again what a narrower one found.
    nodes = np.arange(0.0, parameter.end, STEP)
    nodes = np.append(nodes, np.full(LANES - len(nodes) % LANES, parameter.end))
    slope = np.empty((len(curves), len(nodes)))
    for first in range(0, len(nodes), LANES):
        lanes = slice(first, first + LANES)
        points = np.tile(nodes[lanes], (len(curves), 1))
        slope[:, lanes] = _probe(passes, curves, points, parameter)[1]
    which, left = np.nonzero((slope[:, :-1] > 0) & (slope[:, 1:] < 0))
    curves = curves[which]
    low, high = nodes[left], nodes[left + 1]
    u, value, total = low.copy(), np.full(len(curves), -np.inf), np.zeros(len(curves))
    going = np.arange(len(curves))
    for _ in range(ROUNDS):
        if not len(going):
            break
        share = np.linspace(0.0, 1.0, LANES)
        points = low[going, None] + share * (high - low)[going, None]
        points[:, -1] = high[going]
        values, slopes, totals = _probe(passes, curves[going], points, parameter)
        every, top = np.arange(len(going)), values.argmax(axis=1)
        better = values[every, top] > value[going]
        for target, source in ((u, points), (value, values), (total, totals)):
            target[going[better]] = source[every, top][better]
        turns = (slopes[:, :-1] > 0) & (slopes[:, 1:] < 0)
        flank = np.where(turns, np.maximum(values[:, :-1], values[:, 1:]), -np.inf)
        at = flank.argmax(axis=1)
        low[going], high[going] = points[every, at], points[every, at + 1]
        hidden = np.maximum(slopes[every, at], -slopes[every, at + 1]) * (high - low)[going]
        narrow = (high - low)[going] < 1e-14 * (1.0 + high[going])
        going = going[turns.any(axis=1) & (hidden > EXACT) & ~narrow]
    return curves, u, value, total


def _probe(
    passes: Passes, curves: Ints, points: Floats, parameter: Parameter
) -> tuple[Floats, Floats, Floats]:
    """Values, slopes in u and totals of curves at points[curve, lane]."""
    values, gradients, totals = passes.probe_curves(curves, parameter.at(points)[:, None, :])
    with np.errstate(invalid="ignore", over="ignore"):  # far from any top, slopes leave the floats
        return values, gradients[:, 0] * parameter.slope(points), totals


def mark_unstable(
    passes: Passes,
    u: Floats,
    value: Floats,
    status: NDArray[np.int8],
    parameters: Sequence[Parameter],
) -> None:
    """Mark the fits u[curve, parameter] that sit on a top too narrow to mean anything."""
    inner = np.flatnonzero((status[:, 0] == Statuses.OK) | (status[:, 0] == Statuses.AT_UPPER))
    status[inner[narrow(passes, inner, u[inner], value[inner], parameters)]] = Statuses.UNSTABLE


def narrow(
    passes: Passes, curves: Ints, u: Floats, value: Floats, parameters: Sequence[Parameter]
) -> Bools:
    """Which of the tops u[curve, parameter] are gone beside them, along some parameter."""
    found = np.zeros(len(curves), bool)
    if not len(curves):
        return found
    points = np.repeat(u[:, :, None], LANES, axis=2)
    for d, parameter in enumerate(parameters):
        for lane, shift in ((2 * d, -SHIFT), (2 * d + 1, SHIFT)):
            points[:, d, lane] = np.clip(u[:, d] + shift, 0.0, parameter.end)
    theta = np.stack([p.at(points[:, d]) for d, p in enumerate(parameters)], axis=1)
    values, _, _ = passes.probe_curves(curves, theta)
    for d in range(len(parameters)):
        found |= value - np.fmax(values[:, 2 * d], values[:, 2 * d + 1]) > LOSS
    return found


def mark_missed(
    passes: Passes, value: Floats, guessing: Floats, ridged: Bools, status: NDArray[np.int8]
) -> None:
    """Mark fits no better than guessing where the search may have missed a better one."""
    known = status[:, 0] != Statuses.UNSEEN
    status[missed(passes, value, guessing, known, ridged)] = Statuses.UNSTABLE


def missed(passes: Passes, value: Floats, guessing: Floats, known: Bools, ridged: Bools) -> Bools:
    """Which of the known curves are explained no better than guesses, though they may be none.

    They may be where the surface has ridges, or where choices depend on the last one.
    """
    poor = known & (value < guessing + POOR)
    for curve in np.flatnonzero(poor & ~ridged):
        poor[curve] = _depends_on_the_last(passes, int(curve)) < CHANCE
    return poor


def _depends_on_the_last(passes: Passes, curve: int) -> float:
    """How likely choices at random would depend this much on the unit's last choice."""
    block, (starts, contexts, *_) = passes.block, passes.units
    learner, mark, unit = np.unravel_index(curve, passes.shape)
    first = int(block.offsets[learner])
    mine = slice(first, first + int(block.marks[learner, mark]))
    there = np.isin(block.context[mine], contexts[starts[unit] : starts[unit + 1]])
    action, k = block.action[mine][there].astype(np.int64), block.n_actions
    if len(block.offered) or len(action) < 2:
        return 1.0
    pairs = np.bincount(action[:-1] * k + action[1:], minlength=k * k).reshape(k, k)
    expected = pairs.sum(axis=1, keepdims=True) / k
    seen = pairs > 0
    gain = np.sum(pairs[seen] * np.log((pairs / np.maximum(expected, 1e-300))[seen]))
    return chi_square_tail(k * (k - 1), 2.0 * float(gain))
