"""The Gradient Bandit with one rate and stickiness, gains only, 16 points of a learner at once.

As ``whole`` goes through it, with the same numbers but for rounding. The weights exp(h − max h) of
all actions give both policies: stickiness multiplies that of the last choice by e^κ.
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
PREFERENCE, WEIGHT = 0, POINTS  # fields of an action's row in a cell
# Fields of what all cells share: the rate, stickiness and e to its power; the largest preference,
# the sums of the weights without and with stickiness; of the log-likelihood Σ(h − max h), the
# product of sums and its power of two.
ETA, KAPPA, FACTOR, LARGEST, TOTAL, STUCK, LINEAR, PRODUCT, POWERS = range(0, 9 * POINTS, POINTS)
FIELDS, SHARED = 2, 9


@njit(**BARE)
def begin(shared, x):
    """The parameters of all lanes, the last point in those that are left."""
    for i in range(POINTS):
        p = min(i, len(x) - 1)
        shared[ETA + i], shared[KAPPA + i], shared[FACTOR + i] = x[p, 0], x[p, 1], exp(x[p, 1])
        shared[LINEAR + i], shared[PRODUCT + i], shared[POWERS + i] = 0.0, 1.0, 0.0


@njit(**BARE)
def start_sums(shared, lanes):
    for i in range(lanes):
        shared[LARGEST + i] = -np.inf
        shared[TOTAL + i] = shared[STUCK + i] = 0.0


@njit(**BARE)
def find_largest(row, shared, lanes):
    for i in range(lanes):
        shared[LARGEST + i] = max(shared[LARGEST + i], row[PREFERENCE + i])


@njit(**BARE)
def weigh(row, shared, was_last, lanes):
    """The weight of an action, and both sums."""
    for i in range(lanes):
        weight = exp(row[PREFERENCE + i] - shared[LARGEST + i])
        row[WEIGHT + i] = weight
        shared[TOTAL + i] += weight
        shared[STUCK + i] += weight * (1.0 + was_last * (shared[FACTOR + i] - 1.0))


@njit(**BARE)
def count_choice(row, shared, was_last, lanes):
    for i in range(lanes):
        away = row[PREFERENCE + i] - shared[LARGEST + i]
        shared[LINEAR + i] += away + was_last * shared[KAPPA + i]
        shared[PRODUCT + i] *= shared[STUCK + i]


@njit(**BARE)
def normalise(shared, lanes):
    """Move the product's power of two into a counter."""
    for i in range(lanes):
        product = shared[PRODUCT + i]
        shared[POWERS + i] += exponent_of(product) + (product - product)  # NaN stays NaN
        shared[PRODUCT + i] = mantissa_of(product)


@njit(**BARE)
def learn(row, shared, reward, chosen, lanes):
    for i in range(lanes):
        p = row[WEIGHT + i] / shared[TOTAL + i]
        row[PREFERENCE + i] += shared[ETA + i] * reward * (chosen - p)


@njit(**BARE)
def told(shared, out):
    """The log-likelihood at every point."""
    for i in range(len(out)):
        log_sums = math.log(shared[PRODUCT + i]) + shared[POWERS + i] * LN2
        out[i] = shared[LINEAR + i] - log_sums


@njit(**BARE)
def go_through(
    first, last, rows, shared, block, cell_of, context, action, reward, flags, offered, marks, out
):
    """The trials of one learner; out[point, mark]. A cell starts when its block first shows it."""
    n_actions, n_blocks, j, before, count = rows.shape[1], 0, 0, -1, 0
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
        start_sums(shared, lanes)
        for a in range(n_actions):
            if len(offered) == 0 or offered[t, a]:
                find_largest(cell[a], shared, lanes)
        for a in range(n_actions):
            if len(offered) == 0 or offered[t, a]:
                weigh(cell[a], shared, 1.0 if a == before else 0.0, lanes)
        if flags[t] & SCORED:
            count_choice(cell[k], shared, 1.0 if k == before else 0.0, lanes)
            count += 1
            if count % OFTEN == 0:
                normalise(shared, lanes)
        if flags[t] & LEARNED and reward[t] != 0.0:
            for a in range(n_actions):
                if len(offered) == 0 or offered[t, a]:
                    learn(cell[a], shared, reward[t], 1.0 if a == k else 0.0, lanes)
        before = k
    for rest in range(j, len(marks)):
        told(shared, out[:, rest])


@njit(**CACHED)
def likelihoods(
    sizes, rewards, cell_of, context, action, reward, flags, load, offered,
    offsets, learner, x, marks, out, slopes,
):  # fmt: skip
    """As ``whole.likelihoods``, without slopes; the sizes: the numbers of cells and of actions."""
    rows, shared = np.empty((sizes[0], sizes[1], FIELDS * POINTS)), np.empty(SHARED * POINTS)
    block = np.empty(sizes[0], np.int64)
    p = 0
    while p < len(learner):
        n, who = n_together(p, learner, marks, POINTS), learner[p]
        begin(shared, x[p : p + n])
        go_through(
            offsets[who], offsets[who + 1], rows, shared, block, cell_of, context, action, reward,
            flags, offered, marks[p], out[p : p + n],
        )  # fmt: skip
        p += n
