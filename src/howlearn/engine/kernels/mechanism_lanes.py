"""Eight points of a learner at once, without Pavlovian bias and generalisation.

The same learner as in ``run``, and the same numbers but for rounding. Every action of a cell has a
row with the parameters of all lanes and what was learned; where fields of one row are at fixed
places, the compiler knows that nothing overlaps.
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
    ETA,
    FICTIVE,
    GENERALISATION,
    GRADIENT,
    INSIDE,
    LAPSE,
    PAVLOVIAN,
    PHI,
    RESTING,
    STICKINESS,
    TRACE,
    TRACE_RATE,
    _on_offer,
)
from howlearn.engine.kernels.numeric import FLAGS, LANES, LEARNED, RESET, SCORED, exp

# Fields of an action's row
(
    DOWN, MORE, KEEP, STEEP, WARM, SLANT, STICKY, TRACED, FANCY, CARES, DRIFTS, RESTS, VALUE, CARE,
    HABIT, SCORE,
) = range(0, 16 * LANES, LANES)  # fmt: skip
# Fields of all actions together
OTHERS, TOTAL, MISSES, PRODUCT, POWERS = range(0, 5 * LANES, LANES)
FIELDS, SHARED = 16, 5
MOST = 400.0  # nats: no action counts as more probable than another by more than that
SMALLEST, LARGER, LOG_LARGER = 1e-100, 1e100, 230.25850929940458  # of products of probabilities


@njit(**INSIDE)
def by_lanes(on, places, trials):
    """Whether lanes can do the work; else ``run`` does it, point by point."""
    if OWN or len(trials[5]):
        return False
    for j in range(len(on)):
        if on[j] and (places[j] == GENERALISATION or places[j] == PAVLOVIAN):
            return False
    return True


@njit(**INSIDE)
def _set(rows, shared, thetas, base):
    """The parameters of all lanes, in the rows of a cell where nothing was learned."""
    for i in range(LANES):
        theta = thetas[i]
        up = down = theta[ALPHA] if base == DELTA else theta[ETA]
        if theta[ASYMMETRY] != 0.0:
            odds, lift = up / (1.0 - up), exp(0.5 * theta[ASYMMETRY])
            up, down = odds * lift / (1.0 + odds * lift), odds / (lift + odds)
        shared[MISSES + i], shared[PRODUCT + i] = theta[LAPSE], 1.0
        shared[OTHERS + i] = shared[POWERS + i] = 0.0
        for a in range(len(rows)):
            row = rows[a]
            row[MORE + i], row[DOWN + i], row[KEEP + i] = up - down, down, 1.0 - theta[PHI]
            row[STEEP + i] = row[WARM + i] = theta[BETA] if base == DELTA else 1.0
            row[SLANT + i], row[STICKY + i] = theta[BIAS + a], theta[STICKINESS]
            row[TRACED + i], row[FANCY + i] = theta[TRACE], theta[FICTIVE]
            row[CARES + i], row[DRIFTS + i] = theta[ATTENTION], theta[DRIFT]
            row[RESTS + i], row[VALUE + i] = theta[RESTING], 0.0
            row[CARE + i], row[HABIT + i] = 1.0, 0.0


@njit(**INSIDE)
def _copy(rows, out):
    for a in range(len(rows)):
        source, target = rows[a], out[a]
        for i in range(len(source)):
            target[i] = source[i]


@njit(**INSIDE)
def _score(row, stays, drifts, when):
    lanes = len(row) // FIELDS  # LANES; a constant would be unrolled and then not vectorised
    if drifts:
        for i in range(lanes):
            row[WARM + i] = row[STEEP + i] * exp(row[DRIFTS + i] * when)
    for i in range(lanes):
        score = row[WARM + i] * row[VALUE + i] + row[SLANT + i] + stays * row[STICKY + i]
        row[SCORE + i] = score + row[TRACED + i] * row[HABIT + i]


@njit(**INSIDE)
def _others(rows, shared, scores, offered, t, k):
    """How much more probable than action k all others on offer are, into shared; their number."""
    chosen, lanes, count = rows[k], len(shared) // SHARED, 0
    for a in range(len(rows)):
        if a != k and _on_offer(offered, t, a):
            row, count = rows[a], count + 1
            for i in range(lanes):
                shared[OTHERS + i] += exp(min(row[scores + i] - chosen[scores + i], MOST))
    return count


@njit(**INSIDE)
def _choice(shared, count):
    """The product of probabilities, after a choice among so many; OTHERS are 0 again."""
    lanes = len(shared) // SHARED
    for i in range(lanes):
        total, shared[OTHERS + i] = 1.0 + shared[OTHERS + i], 0.0
        share = shared[MISSES + i] / count + (1.0 - shared[MISSES + i]) / total
        product = shared[PRODUCT + i] * share
        small = product < SMALLEST
        shared[TOTAL + i] = total
        shared[PRODUCT + i] = product * LARGER if small else product
        shared[POWERS + i] += 1.0 if small else 0.0


@njit(**INSIDE)
def _chances(row, chosen, shared, count, out):
    """The probability of an action."""
    lanes = len(shared) // SHARED
    for i in range(lanes):
        p = exp(min(row[SCORE + i] - chosen[SCORE + i], MOST)) / shared[TOTAL + i]
        out[i] = shared[MISSES + i] / count + (1.0 - shared[MISSES + i]) * p


@njit(**INSIDE)
def _learn_chosen(row, r):
    lanes = len(row) // FIELDS
    for i in range(lanes):
        error = r - row[RESTS + i] - row[VALUE + i]
        good = 1.0 if error > 0.0 else 0.0  # a choice between two fields is not vectorised
        rate = (row[DOWN + i] + good * row[MORE + i]) * row[CARE + i]
        row[CARE + i] += row[CARES + i] * (min(1.0, abs(error)) - row[CARE + i])
        row[VALUE + i] += rate * error


@njit(**INSIDE)
def _learn_other(row, r, there):
    """Of an action that was not chosen: it fades and, if it is there, earned the opposite."""
    lanes = len(row) // FIELDS
    for i in range(lanes):
        error = -r - row[RESTS + i] - row[VALUE + i]
        good = 1.0 if error > 0.0 else 0.0
        rate = there * row[FANCY + i] * (row[DOWN + i] + good * row[MORE + i])
        row[VALUE + i] = (row[VALUE + i] + rate * error) * row[KEEP + i]


@njit(**INSIDE)
def _pull_all(rows, shared, offered, t, k, gain):
    """The gradient bandit: as ``_pull``."""
    _others(rows, shared, VALUE, offered, t, k)
    chosen, lanes = rows[k], len(shared) // SHARED
    for a in range(len(rows)):
        row, there = rows[a], gain if _on_offer(offered, t, a) else 0.0
        for i in range(lanes if a != k else 0):
            p = exp(min(row[VALUE + i] - chosen[VALUE + i], MOST)) / (1.0 + shared[OTHERS + i])
            row[VALUE + i] = row[VALUE + i] * row[KEEP + i] - there * row[DOWN + i] * p
    for i in range(lanes):
        p, shared[OTHERS + i] = 1.0 / (1.0 + shared[OTHERS + i]), 0.0
        chosen[VALUE + i] += gain * chosen[DOWN + i] * (1.0 - p)


@njit(**INSIDE)
def _habit(row, chosen):
    lanes = len(row) // FIELDS
    for i in range(lanes):
        row[HABIT + i] += TRACE_RATE * (chosen - row[HABIT + i])


@njit(**INSIDE)
def _fade(rows, power):
    for a in range(len(rows)):
        row = rows[a]
        for i in range(LANES):
            row[VALUE + i] *= power[i]


@njit(**INSIDE)
def in_lanes(thetas, base, trials, rows, shared, seen, power, each, value, keep):
    """value[lane] at thetas[lane]; ``keep``: each[trial, action, lane] are probabilities."""
    context, action, reward, flags, offered, _, when = trials
    n_actions, new = rows.shape[1], rows[len(rows) - 1]
    fades = thetas[0, PHI] > 0.0 and len(seen) > 1
    drifts = traces = False
    for i in range(LANES):
        drifts, traces = drifts or thetas[i, DRIFT] != 0.0, traces or thetas[i, TRACE] != 0.0
        power[0, i] = 1.0
        for t in range(1, len(power) if fades else 0):
            power[t, i] = power[t - 1, i] * (1.0 - thetas[i, PHI])
    _set(new, shared, thetas, base)
    last, clock = -1, 0
    for t in range(len(context)):
        if t == 0 or flags[t] & RESET:
            seen[:] = -1
            last, clock = -1, 0
        c, k, scored = context[t], action[t], flags[t] & SCORED
        if seen[c] < 0:
            _copy(new, rows[c])
            seen[c] = clock
        if fades and seen[c] < clock:
            _fade(rows[c], power[clock - seen[c]])
            seen[c] = clock
        if scored:
            for a in range(n_actions):
                _score(rows[c, a], 1.0 if a == last else 0.0, drifts, when[t])
            count = 1 + _others(rows[c], shared, SCORE, offered, t, k)
            _choice(shared, count)
            for a in range(n_actions if keep else 0):
                if _on_offer(offered, t, a):
                    _chances(rows[c, a], rows[c, k], shared, count, each[t, a])
        if not flags[t] & LEARNED:
            continue
        known = not math.isnan(reward[t])
        if known:
            clock += 1
            seen[c] = clock
        if known and base == GRADIENT:
            _pull_all(rows[c], shared, offered, t, k, reward[t] + 0.5)
        for a in range(n_actions):
            if known and base == DELTA and a == k:
                _learn_chosen(rows[c, a], reward[t])
            elif known and base == DELTA:
                _learn_other(rows[c, a], reward[t], 1.0 if _on_offer(offered, t, a) else 0.0)
            if traces:
                _habit(rows[c, a], 1.0 if a == k else 0.0)
        last = k
    for i in range(LANES):
        value[i] = math.log(shared[PRODUCT + i]) - LOG_LARGER * shared[POWERS + i]


@njit(**FLAGS)
def lanes_for(n, world, n_actions, d):
    """Working memory of a learner with n trials, and d coordinates: points, and what they give."""
    cells = len(world[0])
    return (
        np.zeros((LANES, BIAS + n_actions + d)), np.zeros((cells + 1, n_actions, FIELDS * LANES)),
        np.zeros(SHARED * LANES), np.zeros(cells, np.int64), np.zeros((n + 1, LANES)),
        np.zeros((n, n_actions, LANES)), np.zeros(LANES), np.zeros((LANES, d)),
    )  # fmt: skip
