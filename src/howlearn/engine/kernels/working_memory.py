"""Working memory beside slow learning, 16 points of a learner at once, with slopes.

The model of ``howlearn.models.working_memory`` again, with the same numbers but for rounding. The
probability of a choice k is 1/(1 + Σ exp(β·(x_a − x_k))) over the other actions, in both tables.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import (
    BARE,
    CACHED,
    LANES,
    LEARNED,
    LN2,
    RESET,
    SCORED,
    exp,
    exponent_of,
    mantissa_of,
    n_together,
)

BETA = 25.0
POINTS = 16  # in lanes, or half as many: an exponential is waited for longer than computed
OFTEN = 8  # trials whose probabilities, each above 1e-24, are multiplied without underflow
# Fields of an action's row in a cell: slow values and their slopes in alpha and b_slow; what memory
# holds above 1/A, and its slopes in phi and b_memory.
SLOW, SLOW_1, SLOW_2, MEMORY, MEMORY_1, MEMORY_2 = range(0, 6 * POINTS, POINTS)
# Fields of what all cells share: parameters in their order; the weight of memory and its slopes in
# rho and capacity; how memory has faded and its slope in phi; sums over other actions; the product
# of probabilities and its power of two; the slopes of the log-likelihood.
(
    ALPHA, KAPPA, RHO, PHI, EPSILON, B_MEMORY, B_SLOW, CAPACITY, AFTER_LOSS, WEIGHT, HELD, FREE,
    LEFT, D_LEFT, BASE, FAST_ALL, FAST_0, FAST_1, FAST_2, SLOW_ALL, SLOW_0, D_SLOW_1, D_SLOW_2,
    PRODUCT, POWERS, SLOPES,
) = range(0, 26 * POINTS, POINTS)  # fmt: skip
FIELDS, SHARED, N_SLOPES = 6, 34, 8


@njit(**BARE)
def set_load(shared, load, lanes):
    """How much working memory has to say in a block of so many stimuli."""
    for i in range(lanes):
        shared[HELD + i] = min(1.0, shared[CAPACITY + i] / load)
        shared[WEIGHT + i] = shared[RHO + i] * shared[HELD + i]
        shared[FREE + i] = shared[RHO + i] / load if shared[CAPACITY + i] < load else 0.0


@njit(**BARE)
def fade(shared, trials, lanes):
    """What remains of memory after so many trials: powers by squaring."""
    for i in range(lanes):
        shared[LEFT + i], shared[BASE + i] = 1.0, 1.0 - shared[PHI + i]
    left = trials - 1
    while left > 0:
        odd = left & 1
        for i in range(lanes):
            shared[LEFT + i] *= shared[BASE + i] if odd else 1.0
            shared[BASE + i] *= shared[BASE + i]
        left >>= 1
    for i in range(lanes):
        shared[D_LEFT + i] = -trials * shared[LEFT + i]
        shared[LEFT + i] *= 1.0 - shared[PHI + i] if trials else 1.0


@njit(**BARE)
def compare(row, chosen, shared, stays, slopes, lanes):
    """Add an action that was not chosen to the sums."""
    for i in range(lanes):
        push = stays * shared[KAPPA + i]
        apart, left = row[MEMORY + i] - chosen[MEMORY + i], shared[LEFT + i]
        fast = exp(BETA * (left * apart + push))
        slow = exp(BETA * (row[SLOW + i] - chosen[SLOW + i] + push))
        shared[FAST_ALL + i] += fast
        shared[SLOW_ALL + i] += slow
        if slopes:
            phi = left * (row[MEMORY_1 + i] - chosen[MEMORY_1 + i]) + shared[D_LEFT + i] * apart
            shared[FAST_0 + i] += fast * stays
            shared[FAST_1 + i] += fast * phi
            shared[FAST_2 + i] += fast * left * (row[MEMORY_2 + i] - chosen[MEMORY_2 + i])
            shared[SLOW_0 + i] += slow * stays
            shared[D_SLOW_1 + i] += slow * (row[SLOW_1 + i] - chosen[SLOW_1 + i])
            shared[D_SLOW_2 + i] += slow * (row[SLOW_2 + i] - chosen[SLOW_2 + i])


@njit(**BARE)
def count_choice(shared, n_offered, slopes, lanes):
    """Multiply by the probability of the choice, add to its slopes; all sums are empty again."""
    even = 1.0 / n_offered
    for i in range(lanes):
        fast, slow = 1.0 / shared[FAST_ALL + i], 1.0 / shared[SLOW_ALL + i]
        w, engaged = shared[WEIGHT + i], 1.0 - shared[EPSILON + i]
        mixed = w * fast + (1.0 - w) * slow
        p = shared[EPSILON + i] * even + engaged * mixed
        shared[PRODUCT + i] *= p
        shared[FAST_ALL + i] = shared[SLOW_ALL + i] = 1.0
        if slopes:
            inverse = 1.0 / p
            share, apart = engaged * inverse, fast - slow
            by_fast, by_slow = BETA * share * w * fast**2, BETA * share * (1.0 - w) * slow**2
            kappa = by_fast * shared[FAST_0 + i] + by_slow * shared[SLOW_0 + i]
            shared[SLOPES + i] -= by_slow * shared[D_SLOW_1 + i]
            shared[SLOPES + POINTS + i] -= kappa
            shared[SLOPES + 2 * POINTS + i] += share * shared[HELD + i] * apart
            shared[SLOPES + 3 * POINTS + i] -= by_fast * shared[FAST_1 + i]
            shared[SLOPES + 4 * POINTS + i] += (even - mixed) * inverse
            shared[SLOPES + 5 * POINTS + i] -= by_fast * shared[FAST_2 + i]
            shared[SLOPES + 6 * POINTS + i] -= by_slow * shared[D_SLOW_2 + i]
            shared[SLOPES + 7 * POINTS + i] += share * shared[FREE + i] * apart
            shared[FAST_0 + i] = shared[FAST_1 + i] = shared[FAST_2 + i] = 0.0
            shared[SLOW_0 + i] = shared[D_SLOW_1 + i] = shared[D_SLOW_2 + i] = 0.0


@njit(**BARE)
def normalise(shared, lanes):
    """Move the product's power of two into a counter."""
    for i in range(lanes):
        product = shared[PRODUCT + i]
        shared[POWERS + i] += exponent_of(product) + (product - product)  # NaN stays NaN
        shared[PRODUCT + i] = mantissa_of(product)


@njit(**BARE)
def forget(row, shared, slopes, lanes):
    """One more trial's fading of memory."""
    for i in range(lanes):
        keep = 1.0 - shared[PHI + i]
        left = keep * shared[LEFT + i]
        if slopes:
            d_left = keep * shared[D_LEFT + i] - shared[LEFT + i]
            row[MEMORY_1 + i] = left * row[MEMORY_1 + i] + d_left * row[MEMORY + i]
            row[MEMORY_2 + i] *= left
        row[MEMORY + i] *= left


@njit(**BARE)
def learn_chosen(row, shared, r, even, slopes, lanes):
    """Both tables, after memory has faded."""
    lost = 0.0 if r >= 0.5 else 1.0
    for i in range(lanes):
        rate, error = 1.0 - lost + lost * shared[B_MEMORY + i], r - even - row[MEMORY + i]
        row[MEMORY + i] += rate * error
        share, alpha = 1.0 - lost + lost * shared[B_SLOW + i], shared[ALPHA + i]
        miss = r + (1.0 - r) * shared[AFTER_LOSS + i] - row[SLOW + i]
        row[SLOW + i] += share * alpha * miss
        if slopes:
            keep = 1.0 - share * alpha
            row[MEMORY_1 + i] *= 1.0 - rate
            row[MEMORY_2 + i] = (1.0 - rate) * row[MEMORY_2 + i] + lost * error
            row[SLOW_1 + i] = keep * row[SLOW_1 + i] + share * miss
            row[SLOW_2 + i] = keep * row[SLOW_2 + i] + lost * alpha * miss


@njit(**BARE)
def begin(shared, x):
    """The parameters of all lanes, the last point in those that are left."""
    shared[:] = 0.0
    for i in range(POINTS):
        for d in range(x.shape[1]):
            shared[d * POINTS + i] = x[min(i, len(x) - 1), d]
        shared[FAST_ALL + i] = shared[SLOW_ALL + i] = shared[PRODUCT + i] = 1.0


@njit(**BARE)
def scored(cell, shared, k, last, offered, t, slopes, lanes):
    """A choice that counts."""
    n = 1
    for a in range(len(cell)):
        if a != k and (len(offered) == 0 or offered[t, a]):
            stays = (1.0 if a == last else 0.0) - (1.0 if k == last else 0.0)
            compare(cell[a], cell[k], shared, stays, slopes, lanes)
            n += 1
    count_choice(shared, n, slopes, lanes)


@njit(**BARE)
def told(shared, out):
    """The log-likelihood at every point."""
    for i in range(len(out)):
        out[i] = math.log(shared[PRODUCT + i]) + shared[POWERS + i] * LN2


@njit(**BARE)
def go_through(
    first, last, rows, shared, met, block, rewards, cell_of, context, action, reward, flags, load,
    offered, marks, out, slopes,
):  # fmt: skip
    """The trials of one learner; out[point, mark]. A cell starts when its block first shows it."""
    n_actions, n_blocks, j, now, before, held, count = rows.shape[1], 0, 0, 0, -1, 0.0, 0
    lanes = LANES if len(out) <= LANES else POINTS
    block[:] = -1
    for t in range(first, last):
        while j < len(marks) and marks[j] <= t - first:
            told(shared, out[:, j])
            j += 1
        if j == len(marks):
            break
        if flags[t] & RESET and t > first:
            n_blocks, now, before = n_blocks + 1, 0, -1
        c, k = cell_of[context[t]], action[t]
        if c < 0:
            continue
        cell = rows[c]
        if block[c] != n_blocks:
            block[c], met[c], cell[:] = n_blocks, now, 0.0
            cell[:, SLOW : SLOW + POINTS] = 1.0 / n_actions
        if load[t] != held:
            held = load[t]
            set_load(shared, held, lanes)
        fade(shared, now - met[c], lanes)
        if flags[t] & SCORED:
            scored(cell, shared, k, before, offered, t, slopes, lanes)
            count += 1
            if count % OFTEN == 0:
                normalise(shared, lanes)
        if flags[t] & LEARNED:
            for a in range(n_actions):
                forget(cell[a], shared, slopes, lanes)
            r = (reward[t] - rewards[0]) / (rewards[1] - rewards[0])
            learn_chosen(cell[k], shared, r, 1.0 / n_actions, slopes, lanes)
            now += 1
            met[c], before = now, k
    for rest in range(j, len(marks)):
        told(shared, out[:, rest])


@njit(**CACHED)
def likelihoods(
    sizes, rewards, cell_of, context, action, reward, flags, load, offered, right, features,
    offsets, learner, x, marks, out, slopes,
):  # fmt: skip
    """As ``whole.likelihoods``; the sizes are the numbers of cells and of actions."""
    rows, shared = np.empty((sizes[0], sizes[1], FIELDS * POINTS)), np.empty(SHARED * POINTS)
    met, block = np.empty(sizes[0], np.int64), np.empty(sizes[0], np.int64)
    p = 0
    while p < len(learner):
        n, who = n_together(p, learner, marks, POINTS), learner[p]
        begin(shared, x[p : p + n])
        go_through(
            offsets[who], offsets[who + 1], rows, shared, met, block, rewards, cell_of, context,
            action, reward, flags, load, offered, marks[p], out[p : p + n], len(slopes) > 0,
        )  # fmt: skip
        for i in range(n if len(slopes) else 0):
            for d in range(slopes.shape[1]):
                slopes[p + i, d] = shared[SLOPES + d * POINTS + i] if d < N_SLOPES else 0.0
        p += n
