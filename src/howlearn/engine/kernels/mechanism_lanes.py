"""Eight points of a learner at once: a delta rule with two actions, of which both are on offer.

The same learner as in ``run``, and the same numbers but for rounding. A cell's row has the
parameters of all lanes, what was learned, and the product of probabilities; all in one row, since
then the compiler knows that nothing overlaps.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import OWN
from howlearn.engine.kernels.mechanisms import (
    ALPHA,
    ASYMMETRY,
    ATTENTION,
    BETA,
    BIAS,
    DELTA,
    DRIFT,
    FICTIVE,
    GENERALISATION,
    INSIDE,
    LAPSE,
    PAVLOVIAN,
    PHI,
    RESTING,
    STICKINESS,
    TRACE,
    TRACE_RATE,
)
from howlearn.engine.kernels.numeric import FLAGS, LANES, LEARNED, RESET, SCORED, exp

(
    UP, DOWN, KEEP, WARM, SLANT, STICKY, TRACED, MISSES, ELSE, CARES, DRIFTS, RESTS, Q_0, Q_1, A_0,
    A_1, T_0, T_1, PRODUCT, POWERS, CHANCE, WARMTH,
) = range(0, 22 * LANES, LANES)  # fmt: skip
ROWS = 22
LEAST = 400.0  # nats: a choice less probable than e^−400 counts as that probable
FEW, MORE, MORE_LOG = 1e-100, 1e100, 230.25850929940458  # when products are made larger


@njit(**INSIDE)
def _set(cells, thetas):
    """The parameters of all lanes, in every cell; theirs is [lane, parameter]."""
    for i in range(LANES):
        theta = thetas[i]
        up = down = theta[ALPHA]
        if theta[ASYMMETRY] != 0.0:
            odds, lift = up / (1.0 - up), exp(0.5 * theta[ASYMMETRY])
            up, down = odds * lift / (1.0 + odds * lift), odds / (lift + odds)
        for c in range(len(cells)):
            cell = cells[c]
            cell[UP + i], cell[DOWN + i], cell[KEEP + i] = up, down, 1.0 - theta[PHI]
            cell[WARM + i] = cell[WARMTH + i] = theta[BETA]
            cell[SLANT + i] = theta[BIAS] - theta[BIAS + 1]
            cell[STICKY + i], cell[TRACED + i] = theta[STICKINESS], theta[TRACE]
            cell[MISSES + i], cell[ELSE + i] = theta[LAPSE], theta[FICTIVE]
            cell[CARES + i], cell[DRIFTS + i] = theta[ATTENTION], theta[DRIFT]
            cell[RESTS + i] = theta[RESTING]
            cell[PRODUCT + i], cell[POWERS + i] = 1.0, 0.0


@njit(**INSIDE)
def _forget(cells, seen):
    for c in range(len(cells)):
        cell = cells[c]
        seen[c] = 0
        for i in range(LANES):
            cell[Q_0 + i] = cell[Q_1 + i] = cell[T_0 + i] = cell[T_1 + i] = 0.0
            cell[A_0 + i] = cell[A_1 + i] = 1.0


@njit(**INSIDE)
def _chances(cell, slant, stay, q, q_other, t, t_other):
    """Probabilities of the choice; ``slant`` and ``stay`` are signs of what speaks for it."""
    lanes = len(cell) // ROWS  # LANES; a constant would be unrolled and then not vectorised
    for i in range(lanes):
        gap = cell[WARM + i] * (cell[q + i] - cell[q_other + i]) + slant * cell[SLANT + i]
        gap += stay * cell[STICKY + i] + cell[TRACED + i] * (cell[t + i] - cell[t_other + i])
        p = 1.0 / (1.0 + exp(min(-gap, LEAST)))
        p = 0.5 * cell[MISSES + i] + (1.0 - cell[MISSES + i]) * p
        product = cell[PRODUCT + i] * p
        small = product < FEW
        cell[CHANCE + i] = p
        cell[PRODUCT + i] = product * MORE if small else product
        cell[POWERS + i] += 1.0 if small else 0.0


@njit(**INSIDE)
def _outcome(cell, r, q, q_other, a):
    """What is learned from an outcome."""
    lanes = len(cell) // ROWS
    for i in range(lanes):
        rest, up, down = cell[RESTS + i], cell[UP + i], cell[DOWN + i]
        error, other = r - rest - cell[q + i], -r - rest - cell[q_other + i]
        rate = (up if error > 0.0 else down) * cell[a + i]
        cell[a + i] += cell[CARES + i] * (min(1.0, abs(error)) - cell[a + i])
        cell[q + i] += rate * error
        step = cell[ELSE + i] * (up if other > 0.0 else down) * other
        cell[q_other + i] = (cell[q_other + i] + step) * cell[KEEP + i]


@njit(**INSIDE)
def _traces(cell, t, t_other):
    lanes = len(cell) // ROWS
    for i in range(lanes):
        cell[t + i] += TRACE_RATE * (1.0 - cell[t + i])
        cell[t_other + i] -= TRACE_RATE * cell[t_other + i]


@njit(**INSIDE)
def in_lanes(thetas, trials, cells, seen, power, each, value, keep):
    """The log-likelihoods of all lanes; ``keep``: each[trial, action, lane] are probabilities."""
    context, action, reward, flags, _, _, when = trials
    _set(cells, thetas)
    fades, drifts, traces = thetas[0, PHI] > 0.0 and len(cells) > 1, False, False
    for i in range(LANES):
        drifts, traces = drifts or thetas[i, DRIFT] != 0.0, traces or thetas[i, TRACE] != 0.0
    if fades:
        for i in range(LANES):
            power[0, i] = 1.0
        for t in range(1, len(power)):
            for i in range(LANES):
                power[t, i] = power[t - 1, i] * (1.0 - thetas[i, PHI])
    last, clock = -1, 0
    for t in range(len(context)):
        if t == 0 or flags[t] & RESET:
            _forget(cells, seen)
            last, clock = -1, 0
        c, k = context[t], action[t]
        cell = cells[c]
        if fades and seen[c] < clock:
            for i in range(LANES):
                cell[Q_0 + i] *= power[clock - seen[c], i]
                cell[Q_1 + i] *= power[clock - seen[c], i]
            seen[c] = clock
        if flags[t] & SCORED:
            if drifts:
                for i in range(len(cell) // ROWS):
                    cell[WARM + i] = cell[WARMTH + i] * exp(cell[DRIFTS + i] * when[t])
            stay = 0.0 if last < 0 else (1.0 if last == k else -1.0)
            if k == 0:
                _chances(cell, 1.0, stay, Q_0, Q_1, T_0, T_1)
            else:
                _chances(cell, -1.0, stay, Q_1, Q_0, T_1, T_0)
        if keep:
            scored = flags[t] & SCORED
            for i in range(LANES):
                each[t, k, i] = cell[CHANCE + i] if scored else 0.0
                each[t, 1 - k, i] = 1.0 - cell[CHANCE + i] if scored else 0.0
        if not flags[t] & LEARNED:
            continue
        if not math.isnan(reward[t]):
            clock += 1
            seen[c] = clock
            if k == 0:
                _outcome(cell, reward[t], Q_0, Q_1, A_0)
            else:
                _outcome(cell, reward[t], Q_1, Q_0, A_1)
        if traces and k == 0:
            _traces(cell, T_0, T_1)
        elif traces:
            _traces(cell, T_1, T_0)
        last = k
    for i in range(LANES):
        value[i] = 0.0
        for c in range(len(cells)):
            value[i] += math.log(cells[c, PRODUCT + i]) - MORE_LOG * cells[c, POWERS + i]


@njit(**INSIDE)
def paired(on, base, places, n_actions, trials):
    """Whether lanes can do the work; else ``run`` does it, point by point."""
    if OWN or base != DELTA or n_actions != 2 or len(trials[4]) or len(trials[5]):
        return False
    for j in range(len(on)):
        if on[j] and (places[j] == GENERALISATION or places[j] == PAVLOVIAN):
            return False
    return True


@njit(**FLAGS)
def lanes_for(n, world, n_actions, d):
    """Working memory of a learner with n trials, and d coordinates: points, and what they give."""
    cells = len(world[0])
    return (
        np.zeros((LANES, BIAS + n_actions + d)), np.zeros((cells, ROWS * LANES)),
        np.zeros(cells, np.int64), np.zeros((n + 1, LANES)), np.zeros((n, n_actions, LANES)),
        np.zeros(LANES), np.zeros((LANES, d)),
    )  # fmt: skip
