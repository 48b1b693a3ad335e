"""Q-learning and the Gradient Bandit with one rate, with stickiness or without, in vector lanes.

16 points of a learner at once, with slopes. As ``whole`` goes through these models, with the same
numbers but for rounding. With x_a = β·v_a, the weights exp(x_a − max x) of all actions give both
policies: stickiness multiplies that of the last choice by e^κ.
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

POINTS = 16  # in lanes, or half as many: an exponential is waited for longer than computed
OFTEN = 8  # trials whose sums of weights are multiplied before the product is normalised
# What the functions of a value learner read, in the order of ``ValueLearner.reads``; of a rule
# that learns preferences there is only the rate. Stickiness follows.
READ_BETTER, READ_WORSE, READ_BETA, READ_PHI, READ_ZERO, READ_START, STARTS, N_READ = (
    0, 1, 2, 4, 10, 11, 12, 13,
)  # fmt: skip
# Fields of an action's row in a cell: its value (or preference), the slopes of that in the rates
# for good and bad surprises, forgetting and where values start; its weight.
VALUE, BY_BETTER, BY_WORSE, BY_PHI, BY_ZERO, WEIGHT = range(0, 6 * POINTS, POINTS)
# Fields of what all cells share: parameters; the largest β·v; the sums of weights without and with
# stickiness, of weights times each field of a row, and those of the last choice; of the
# log-likelihood Σ(x − max x), the product of sums, its power of two, and the slopes.
(
    BETTER, WORSE, PHI, ZERO, BETA, KAPPA, FACTOR, LARGEST, TOTAL, STUCK, MEAN, M_BETTER, M_WORSE,
    M_PHI, M_ZERO, M_LAST, PURE, LINEAR, PRODUCT, POWERS, S_BETTER, S_WORSE, S_PHI, S_ZERO, S_BETA,
    S_KAPPA,
) = range(0, 26 * POINTS, POINTS)  # fmt: skip
FIELDS, SHARED = 6, 26


@njit(**BARE)
def begin(shared, x, rewards):
    """The parameters of all lanes, the last point in those that are left."""
    shared[:] = 0.0
    values = x.shape[1] >= N_READ
    for i in range(POINTS):
        p = min(i, len(x) - 1)
        shared[BETTER + i] = shared[WORSE + i] = x[p, 0]
        shared[BETA + i] = shared[PRODUCT + i] = 1.0
        if values:
            shared[WORSE + i], shared[BETA + i] = x[p, READ_WORSE], x[p, READ_BETA]
            begins = rewards[0] + x[p, READ_START] * (rewards[1] - rewards[0])
            shared[PHI + i] = x[p, READ_PHI]
            shared[ZERO + i] = x[p, READ_ZERO] + x[p, STARTS] * begins
        n = N_READ if values else 1
        shared[KAPPA + i] = x[p, n] if x.shape[1] > n else 0.0
        shared[FACTOR + i] = exp(shared[KAPPA + i])


@njit(**BARE)
def start_sums(shared, lanes):
    for i in range(lanes):
        shared[LARGEST + i] = -np.inf
        shared[TOTAL + i] = shared[STUCK + i] = 0.0


@njit(**BARE)
def start_means(shared, lanes):
    for i in range(lanes):
        shared[MEAN + i] = shared[M_LAST + i] = shared[PURE + i] = 0.0
        shared[M_BETTER + i] = shared[M_WORSE + i] = shared[M_PHI + i] = shared[M_ZERO + i] = 0.0


@njit(**BARE)
def find_largest(row, shared, lanes):
    for i in range(lanes):
        shared[LARGEST + i] = max(shared[LARGEST + i], shared[BETA + i] * row[VALUE + i])


@njit(**BARE)
def weigh(row, shared, was_last, lanes):
    """The weight of an action, and both sums."""
    for i in range(lanes):
        weight = exp(shared[BETA + i] * row[VALUE + i] - shared[LARGEST + i])
        row[WEIGHT + i] = weight
        shared[TOTAL + i] += weight
        shared[STUCK + i] += weight * (1.0 + was_last * (shared[FACTOR + i] - 1.0))


@njit(**BARE)
def average(row, shared, was_last, lanes):
    """What slopes need: sums of values and of their slopes."""
    for i in range(lanes):
        weight = row[WEIGHT + i]
        shared[PURE + i] += weight * row[BY_BETTER + i]
        weight *= 1.0 + was_last * (shared[FACTOR + i] - 1.0)
        shared[MEAN + i] += weight * row[VALUE + i]
        shared[M_BETTER + i] += weight * row[BY_BETTER + i]
        shared[M_WORSE + i] += weight * row[BY_WORSE + i]
        shared[M_PHI + i] += weight * row[BY_PHI + i]
        shared[M_ZERO + i] += weight * row[BY_ZERO + i]
        shared[M_LAST + i] += was_last * weight


@njit(**BARE)
def count_choice(row, shared, was_last, lanes):
    for i in range(lanes):
        away = shared[BETA + i] * row[VALUE + i] - shared[LARGEST + i]
        shared[LINEAR + i] += away + was_last * shared[KAPPA + i]
        shared[PRODUCT + i] *= shared[STUCK + i]


@njit(**BARE)
def count_slopes(row, shared, was_last, lanes):
    """Of the log-probability of a choice: what it has above the mean of all."""
    for i in range(lanes):
        inverse, beta = 1.0 / shared[STUCK + i], shared[BETA + i]
        shared[S_BETTER + i] += beta * (row[BY_BETTER + i] - shared[M_BETTER + i] * inverse)
        shared[S_WORSE + i] += beta * (row[BY_WORSE + i] - shared[M_WORSE + i] * inverse)
        shared[S_PHI + i] += beta * (row[BY_PHI + i] - shared[M_PHI + i] * inverse)
        shared[S_ZERO + i] += beta * (row[BY_ZERO + i] - shared[M_ZERO + i] * inverse)
        shared[S_BETA + i] += row[VALUE + i] - shared[MEAN + i] * inverse
        shared[S_KAPPA + i] += was_last - shared[M_LAST + i] * inverse


@njit(**BARE)
def normalise(shared, lanes):
    """Move the product's power of two into a counter."""
    for i in range(lanes):
        product = shared[PRODUCT + i]
        shared[POWERS + i] += exponent_of(product) + (product - product)  # NaN stays NaN
        shared[PRODUCT + i] = mantissa_of(product)


@njit(**BARE)
def pull(row, shared, reward, chosen, slopes, lanes):
    """The Gradient Bandit's update of an action on offer."""
    for i in range(lanes):
        p, eta = row[WEIGHT + i] / shared[TOTAL + i], shared[BETTER + i]
        row[VALUE + i] += eta * reward * (chosen - p)
        if slopes:
            moved = p * (row[BY_BETTER + i] - shared[PURE + i] / shared[TOTAL + i])
            row[BY_BETTER + i] += reward * (chosen - p - eta * moved)


@njit(**BARE)
def learn(row, shared, reward, slopes, lanes):
    """A value moves towards what was earned."""
    for i in range(lanes):
        error = reward - shared[ZERO + i] - row[VALUE + i]
        good = 1.0 if error > 0.0 else 0.0
        rate = shared[WORSE + i] + good * (shared[BETTER + i] - shared[WORSE + i])
        row[VALUE + i] += rate * error
        if slopes:
            keep = 1.0 - rate
            row[BY_BETTER + i] = keep * row[BY_BETTER + i] + good * error
            row[BY_WORSE + i] = keep * row[BY_WORSE + i] + (1.0 - good) * error
            row[BY_PHI + i] *= keep
            row[BY_ZERO + i] = keep * row[BY_ZERO + i] - rate


@njit(**BARE)
def forget(row, shared, slopes, lanes):
    """The value of an action that was not chosen fades."""
    for i in range(lanes):
        keep = 1.0 - shared[PHI + i]
        if slopes:
            row[BY_PHI + i] = keep * row[BY_PHI + i] - row[VALUE + i]
            row[BY_BETTER + i] *= keep
            row[BY_WORSE + i] *= keep
            row[BY_ZERO + i] *= keep
        row[VALUE + i] *= keep


@njit(**BARE)
def told(shared, out):
    """The log-likelihood at every point."""
    for i in range(len(out)):
        log_sums = math.log(shared[PRODUCT + i]) + shared[POWERS + i] * LN2
        out[i] = shared[LINEAR + i] - log_sums


@njit(**BARE)
def tell_slopes(shared, x, rewards, out):
    """Of every point, in the order of x."""
    values = x.shape[1] >= N_READ
    out[:] = 0.0
    for i in range(len(out)):
        out[i, 0] = shared[S_BETTER + i]
        if values:
            out[i, READ_WORSE], out[i, READ_BETA] = shared[S_WORSE + i], shared[S_BETA + i]
            out[i, READ_PHI], out[i, READ_ZERO] = shared[S_PHI + i], shared[S_ZERO + i]
            out[i, READ_START] = shared[S_ZERO + i] * x[i, STARTS] * (rewards[1] - rewards[0])
        n = N_READ if values else 1
        if x.shape[1] > n:
            out[i, n] = shared[S_KAPPA + i]


@njit(**BARE)
def compare(cell, shared, before, offered, t, slopes, lanes):
    """The weights of all actions on offer, and their sums."""
    start_sums(shared, lanes)
    for a in range(len(cell)):
        if len(offered) == 0 or offered[t, a]:
            find_largest(cell[a], shared, lanes)
    for a in range(len(cell)):
        if len(offered) == 0 or offered[t, a]:
            weigh(cell[a], shared, 1.0 if a == before else 0.0, lanes)
    if slopes:
        start_means(shared, lanes)
        for a in range(len(cell)):
            if len(offered) == 0 or offered[t, a]:
                average(cell[a], shared, 1.0 if a == before else 0.0, lanes)


@njit(**BARE)
def update(cell, shared, k, r, values, offered, t, slopes, lanes):
    """What a trial teaches."""
    for a in range(len(cell)):
        if values and a == k and not math.isnan(r):
            learn(cell[a], shared, r, slopes, lanes)
        elif values:
            forget(cell[a], shared, slopes, lanes)
        elif r != 0.0 and (len(offered) == 0 or offered[t, a]):
            pull(cell[a], shared, r, 1.0 if a == k else 0.0, slopes, lanes)


@njit(**BARE)
def go_through(
    first, last, rows, shared, block, values, cell_of, context, action, reward, flags, offered,
    marks, out, slopes,
):  # fmt: skip
    """The trials of one learner; out[point, mark]. A cell starts when its block first shows it."""
    n_blocks, j, before, count = 0, 0, -1, 0
    lanes = LANES if len(out) <= LANES else POINTS
    block[:] = -1
    for t in range(first, last):
        while j < len(marks) and marks[j] <= t - first:
            told(shared, out[:, j])
            j += 1
        if j == len(marks):
            break
        if flags[t] & RESET and t > first:
            n_blocks, before = n_blocks + 1, -1
        c, k = cell_of[context[t]], action[t]
        if c < 0:
            continue
        cell = rows[c]
        if block[c] != n_blocks:
            block[c], cell[:] = n_blocks, 0.0
        if flags[t] & SCORED or not values:
            compare(cell, shared, before, offered, t, slopes, lanes)
        if flags[t] & SCORED:
            stayed = 1.0 if k == before else 0.0
            count_choice(cell[k], shared, stayed, lanes)
            if slopes:
                count_slopes(cell[k], shared, stayed, lanes)
            count += 1
            if count % OFTEN == 0:
                normalise(shared, lanes)
        if flags[t] & LEARNED:
            update(cell, shared, k, reward[t], values, offered, t, slopes, lanes)
        before = k
    for rest in range(j, len(marks)):
        told(shared, out[:, rest])


@njit(**CACHED)
def likelihoods(
    sizes, rewards, cell_of, context, action, reward, flags, load, offered, right, features,
    offsets, learner, x, marks, out, slopes,
):  # fmt: skip
    """As ``whole.likelihoods``; the sizes are the numbers of cells and of actions."""
    rows, shared = np.empty((sizes[0], sizes[1], FIELDS * POINTS)), np.empty(SHARED * POINTS)
    block = np.empty(sizes[0], np.int64)
    p = 0
    while p < len(learner):
        n, who = n_together(p, learner, marks, POINTS), learner[p]
        begin(shared, x[p : p + n], rewards)
        go_through(
            offsets[who], offsets[who + 1], rows, shared, block, x.shape[1] >= N_READ, cell_of,
            context, action, reward, flags, offered, marks[p], out[p : p + n], len(slopes) > 0,
        )  # fmt: skip
        if len(slopes):
            tell_slopes(shared, x[p : p + n], rewards, slopes[p : p + n])
        p += n
