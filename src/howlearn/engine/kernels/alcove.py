"""ALCOVE at up to 16 points of a learner at once.

The model of ``howlearn.models.networks`` again, with the same numbers but for rounding. Rows of all
arrays are lanes: one point each.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import (
    BARE,
    CACHED,
    LEARNED,
    RESET,
    SCORED,
    exp,
    log,
    n_together,
)

FOUR = 4  # features at a time
POINTS = 16
RUNAWAY = 1e100  # outputs beyond this teach nothing
C, PHI, LAMBDA_W, LAMBDA_ALPHA, TOP, TOTAL, BLAME, FOUND, SHARED = range(
    9
)  # rows of what is shared


@njit(**BARE)
def gap(features, context, j, f):
    """Between two contexts in a feature; none in those that only fill up."""
    if f >= features.shape[1]:
        return 0.0
    return min(1.0, abs(features[j, f] - features[context, f]))


@njit(**BARE)
def begin(n_features, shared, attention, weights, x):
    """The parameters of all lanes, the last point in those that are left; nothing is learned."""
    for i in range(shared.shape[1]):
        for d in range(x.shape[1]):
            shared[d, i] = x[min(i, len(x) - 1), d]
    attention[:] = 1.0 / n_features
    weights[:] = 0.0


@njit(**BARE)
def look(context, features, shared, attention, weights, near, out):
    """Activations and outputs."""
    lanes = near.shape[1]
    out[:] = 0.0
    for j in range(len(features)):
        for i in range(lanes):
            near[j, i] = 0.0
        for f in range(0, len(attention), FOUR):
            a, b = gap(features, context, j, f), gap(features, context, j, f + 1)
            c, d = gap(features, context, j, f + 2), gap(features, context, j, f + 3)
            for i in range(lanes):
                near[j, i] += (
                    attention[f, i] * a + attention[f + 1, i] * b
                    + attention[f + 2, i] * c + attention[f + 3, i] * d
                )  # fmt: skip
        for i in range(lanes):
            near[j, i] = exp(-shared[C, i] * near[j, i])
        for k in range(len(out)):
            for i in range(lanes):
                out[k, i] += weights[j, k, i] * near[j, i]


@njit(**BARE)
def choose(shared, out, k, offered, t):
    """Count the log-probability of a choice among what is on offer."""
    lanes = out.shape[1]
    shared[TOP], shared[TOTAL] = -np.inf, 0.0
    for a in range(len(out)):
        if len(offered) == 0 or offered[t, a]:
            for i in range(lanes):
                shared[TOP, i] = max(shared[TOP, i], out[a, i])
    for a in range(len(out)):
        if len(offered) == 0 or offered[t, a]:
            for i in range(lanes):
                shared[TOTAL, i] += exp(shared[PHI, i] * (out[a, i] - shared[TOP, i]))
    for i in range(lanes):
        shared[FOUND, i] += shared[PHI, i] * (out[k, i] - shared[TOP, i]) - log(shared[TOTAL, i])


@njit(**BARE)
def mistake(k, right, shared, out):
    """From outputs to errors. A humble teacher does not mind outputs beyond what is taught.

    A wrong choice among more than two tells about the chosen one only.
    """
    lanes = out.shape[1]
    shared[BLAME] = 0.0
    for a in range(len(out)):
        for i in range(lanes):
            shared[BLAME, i] = max(shared[BLAME, i], abs(out[a, i]))
    for a in range(len(out)):
        sign = 1.0 if a == right else -1.0 if right >= 0 or a == k else 0.0
        for i in range(lanes):
            error = sign * max(0.0, 1.0 - sign * out[a, i])
            out[a, i] = error if shared[BLAME, i] <= RUNAWAY else 0.0


@njit(**BARE)
def learn(context, features, shared, attention, weights, near, out, slope):
    """What errors teach."""
    lanes = near.shape[1]
    slope[:] = 0.0
    for j in range(len(features)):
        for i in range(lanes):
            shared[BLAME, i] = 0.0
        for a in range(len(out)):
            for i in range(lanes):
                shared[BLAME, i] += out[a, i] * weights[j, a, i]
                weights[j, a, i] += shared[LAMBDA_W, i] * out[a, i] * near[j, i]
        for i in range(lanes):
            shared[BLAME, i] *= near[j, i]
        for f in range(0, len(attention), FOUR):
            a, b = gap(features, context, j, f), gap(features, context, j, f + 1)
            c, d = gap(features, context, j, f + 2), gap(features, context, j, f + 3)
            for i in range(lanes):
                slope[f, i] += shared[BLAME, i] * a
                slope[f + 1, i] += shared[BLAME, i] * b
                slope[f + 2, i] += shared[BLAME, i] * c
                slope[f + 3, i] += shared[BLAME, i] * d
    for f in range(len(attention)):
        for i in range(lanes):
            step = shared[LAMBDA_ALPHA, i] * shared[C, i] * slope[f, i]
            attention[f, i] = max(0.0, attention[f, i] - step)


@njit(**BARE)
def go_through(
    first, last, features, shared, attention, weights, near, outputs, slope, cell_of, context,
    action, flags, offered, right, x, marks, out,
):  # fmt: skip
    """The trials of one learner; out[point, mark]."""
    begin(features.shape[1], shared, attention, weights, x)
    shared[FOUND] = 0.0
    j = 0
    for t in range(first, last):
        while j < len(marks) and marks[j] <= t - first:
            for i in range(len(out)):
                out[i, j] = shared[FOUND, i]
            j += 1
        if j == len(marks):
            break
        if flags[t] & RESET and t > first:
            begin(features.shape[1], shared, attention, weights, x)
        c, k = context[t], action[t]
        if cell_of[c] < 0:
            continue
        look(c, features, shared, attention, weights, near, outputs)
        if flags[t] & SCORED:
            choose(shared, outputs, k, offered, t)
        if flags[t] & LEARNED:
            mistake(k, right[t], shared, outputs)
            learn(c, features, shared, attention, weights, near, outputs, slope)
    for rest in range(j, len(marks)):
        for i in range(len(out)):
            out[i, rest] = shared[FOUND, i]


@njit(**CACHED)
def likelihoods(
    sizes, rewards, cell_of, context, action, reward, flags, load, offered, right, features,
    offsets, learner, x, marks, out, slopes,
):  # fmt: skip
    """As ``whole.likelihoods``, without slopes; the sizes are the numbers of cells and actions."""
    n, n_actions = len(features), sizes[1]
    filled = (features.shape[1] + FOUR - 1) // FOUR * FOUR
    p = 0
    while p < len(learner):
        points, who = n_together(p, learner, marks, POINTS), learner[p]
        lanes = points
        if points > 4:
            lanes = 8 if points <= 8 else POINTS
        shared, attention = np.empty((SHARED, lanes)), np.empty((filled, lanes))
        weights, near = np.empty((n, n_actions, lanes)), np.empty((n, lanes))
        outputs, slope = np.empty((n_actions, lanes)), np.empty((filled, lanes))
        go_through(
            offsets[who], offsets[who + 1], features, shared, attention, weights, near, outputs,
            slope, cell_of, context, action, flags, offered, right, x[p : p + points], marks[p],
            out[p : p + points],
        )  # fmt: skip
        p += points
