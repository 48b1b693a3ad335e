"""Exp4: weights over strategies, learned from one learner's choices and rewards.

``advice[trial, strategy]`` is the log-probability that each strategy gave to what was chosen. The
weights are kept as H, log-weights up to a constant, with the largest at 0.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import (
    CACHED,
    FLAGS,
    LEARNED,
    LN2,
    RESET,
    SCORED,
    exp,
    exponent_of,
    mantissa_of,
)

LARGEST = 1e6  # of ξ/π in an update: beyond it the weights are 0 and 1 to double precision
FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
EXACT = 1e-17  # of the log-likelihood: how far an optimum may lie from the true one
CLOSE = 3.0  # nats; tops of the grid that are this close to the best are climbed too
# As in layout.Statuses.
OK, AT_LOWER, AT_UPPER, CAPPED, UNSTABLE, IS_FLAT, UNSEEN, BROKEN = 0, 1, 2, 3, 4, 5, 6, 8


@njit(**FLAGS)
def prepared(advice):
    """Each trial's advice relative to the largest, as probabilities; and that largest, as a log."""
    likely, largest = np.empty_like(advice), np.empty(len(advice))
    for t in range(len(advice)):
        largest[t] = np.max(advice[t])
        # What no strategy can explain makes the likelihood 0, and tells nothing about the weights.
        for k in range(advice.shape[1]):
            relative = advice[t, k] - largest[t] if largest[t] > -np.inf else 0.0
            likely[t, k] = exp(max(relative, -1e9))
    return likely, largest


@njit(**FLAGS)
def curve(likely, largest, feedback, flags, marks, rates, out):
    """Log-likelihoods out[mark, rate] of the scored trials before each mark."""
    n_experts, n_rates = likely.shape[1], len(rates)
    h = np.zeros((n_experts, n_rates))
    e = np.empty((n_experts, n_rates))
    top, total, mixed = np.empty(n_rates), np.empty(n_rates), np.empty(n_rates)
    mantissa, exponent = np.ones(n_rates), np.zeros(n_rates, np.int64)
    common = 0.0  # the largest advice of every trial, left out of the product
    for t in range(len(likely) + 1):
        for j in range(len(marks)):
            if marks[j] == t:
                for i in range(n_rates):
                    out[j, i] = math.log(mantissa[i]) + exponent[i] * LN2 + common
        if t == len(likely):
            break
        if flags[t] & RESET:
            h[:] = 0.0
        for i in range(n_rates):
            top[i], total[i], mixed[i] = h[0, i], 0.0, 0.0
        for k in range(1, n_experts):
            row = h[k]
            for i in range(n_rates):
                top[i] = max(top[i], row[i])
        for k in range(n_experts):
            row, weight, x = h[k], e[k], likely[t, k]
            for i in range(n_rates):
                row[i] -= top[i]
                weight[i] = exp(row[i])
                total[i] += weight[i]
                mixed[i] += weight[i] * x
        if flags[t] & SCORED:
            common += largest[t]
            for i in range(n_rates):
                product = mantissa[i] * (mixed[i] / total[i])
                exponent[i] += exponent_of(product)
                mantissa[i] = mantissa_of(product)
        if flags[t] & LEARNED and feedback[t] != 0.0:
            for i in range(n_rates):
                total[i] /= mixed[i]
            for k in range(n_experts):
                row, x = h[k], likely[t, k]
                for i in range(n_rates):
                    row[i] += rates[i] * feedback[t] * min(x * total[i], LARGEST)


@njit(**FLAGS)
def weigh(h, q):
    """q = softmax(h), and h moved so that its largest is 0; returns log Σ exp h."""
    largest = np.max(h)
    total = 0.0
    for k in range(len(h)):
        h[k] -= largest
        q[k] = math.exp(h[k])
        total += q[k]
    for k in range(len(h)):
        q[k] /= total
    return math.log(total)


@njit(**FLAGS)
def blended(h, log_total, log_p):
    """log Σ q ξ in log space: no weight and no probability underflows."""
    largest = -np.inf
    for k in range(len(h)):
        largest = max(largest, h[k] + log_p[k])
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for k in range(len(h)):
        total += math.exp(h[k] + log_p[k] - largest)
    return largest + math.log(total) - log_total


@njit(**FLAGS)
def slope(likely, largest, feedback, flags, stop, rate):
    """Of the scored trials before ``stop``: log-likelihood, slope, whether an update was capped.

    The derivatives of the log-weights are carried forward from trial to trial.
    """
    n_experts = likely.shape[1]
    h, u, e = np.zeros(n_experts), np.zeros(n_experts), np.empty(n_experts)
    common, mantissa, exponent = 0.0, 1.0, 0
    gradient, capped = 0.0, False
    for t in range(stop):
        if flags[t] & RESET:
            h[:] = 0.0
            u[:] = 0.0
        top = h[0]
        for k in range(1, n_experts):
            top = max(top, h[k])
        total, mixed, mean, d = 0.0, 0.0, 0.0, 0.0
        for k in range(n_experts):
            h[k] -= top
            e[k] = exp(h[k])
            total += e[k]
            mixed += e[k] * likely[t, k]
            mean += e[k] * u[k]
            d += e[k] * likely[t, k] * u[k]
        d = d / mixed - mean / total
        if flags[t] & SCORED:
            product = mantissa * (mixed / total)
            exponent += exponent_of(product)
            mantissa = mantissa_of(product)
            common += largest[t]
            gradient += d
        if flags[t] & LEARNED and feedback[t] != 0.0:
            for k in range(n_experts):
                y = likely[t, k] * total / mixed
                if y > LARGEST:
                    capped = True
                    h[k] += rate * feedback[t] * LARGEST
                    u[k] += feedback[t] * LARGEST
                else:
                    h[k] += rate * feedback[t] * y
                    u[k] += feedback[t] * y * (1.0 - rate * d)
    return math.log(mantissa) + exponent * LN2 + common, gradient, capped


@njit(**FLAGS)
def climb(likely, largest, feedback, flags, stop, width, i, last, scale):
    """The top near node i: u and the value there.

    ``a`` is the best point so far, and uphill from it lies ``b``, which is lower.
    """
    a = i * width
    value, d, _ = slope(likely, largest, feedback, flags, stop, scale * math.sinh(a))
    d *= scale * math.cosh(a)
    if d == 0.0 or (i == 0 and d < 0) or (i == last and d > 0):
        return a, value
    b = (i + 1) * width if d > 0 else (i - 1) * width
    d_b, known = 0.0, False
    for _ in range(100):
        middle = 0.5 * (a + b)
        point = middle
        if known and d * d_b < 0.0:
            secant = a - d * (b - a) / (d_b - d)
            curvature = (d_b - d) / (b - a)
            if curvature < 0 and d * d < -2 * curvature * EXACT * (1.0 + abs(value)):
                break
            # Never so near to an end that nothing is learned.
            if 0.01 < (secant - a) / (b - a) < 0.99:
                point = secant
        if abs(b - a) < 1e-13 * (1.0 + abs(a)):
            break
        there, d_there, _ = slope(likely, largest, feedback, flags, stop, scale * math.sinh(point))
        d_there *= scale * math.cosh(point)
        if there >= value:
            if d_there * (b - a) < 0:  # passed the top: it lies between the two points
                b, d_b, known = a, d, True
            a, value, d = point, there, d_there
            if d == 0.0:
                break
        else:
            b, d_b, known = point, d_there, True
    return a, value


@njit(**CACHED)
def fit(offsets, advice, feedback, flags, marks, seen, nodes, scale, u, value, rest, status):
    """The best rate of every learner at every mark, as u with rate = scale·sinh(u).

    ``value`` and ``rest`` are the log-likelihoods before and after the mark at that rate.
    """
    last = len(nodes) - 1
    width = nodes[1]
    rates = scale * np.sinh(nodes)
    values = np.empty((marks.shape[1], len(nodes)))
    for i in range(len(offsets) - 1):
        mine = slice(offsets[i], offsets[i + 1])
        likely, largest = prepared(advice[mine])
        f, kept = feedback[mine], flags[mine]
        curve(likely, largest, f, kept, marks[i], rates, values)
        for j in range(marks.shape[1]):
            stop = marks[i, j]
            grid = values[j]
            highest = np.max(grid)
            status[i, j] = OK
            if seen[i, j] == 0:
                status[i, j] = UNSEEN
            elif highest == -np.inf:
                status[i, j] = BROKEN
            elif highest - np.min(grid) < FLAT:
                status[i, j] = IS_FLAT
            else:
                best = -np.inf
                for node in range(last + 1):
                    if (
                        grid[node] >= highest - CLOSE
                        and (node == 0 or grid[node] >= grid[node - 1])
                        and (node == last or grid[node] > grid[node + 1])
                    ):
                        at, height = climb(likely, largest, f, kept, stop, width, node, last, scale)
                        if height > best:
                            best, u[i, j] = height, at
                rate = scale * math.sinh(u[i, j])
                for near in (0.999 * rate, 1.001 * rate):  # a top too narrow to trust
                    beside, _, _ = slope(likely, largest, f, kept, stop, near)
                    if beside < best - 1.0:
                        status[i, j] = UNSTABLE
                if u[i, j] <= 0.0:
                    status[i, j] = AT_LOWER
                elif u[i, j] >= nodes[last]:
                    status[i, j] = AT_UPPER
            rate = scale * math.sinh(u[i, j])
            total, _, capped = slope(likely, largest, f, kept, len(likely), rate)
            value[i, j] = total
            if stop < len(likely):
                value[i, j], _, _ = slope(likely, largest, f, kept, stop, rate)
            rest[i, j] = total - value[i, j] if total > -np.inf else total
            if capped and status[i, j] < IS_FLAT:
                status[i, j] = CAPPED


@njit(**CACHED)
def blend(advice, action, feedback, flags, rate, log_q, log_pi):
    """From advice[trial, strategy, action]: log-weights and the log-probabilities of all actions,
    before each trial's update."""
    n_experts, n_actions = advice.shape[1:]
    h, q = np.zeros(n_experts), np.empty(n_experts)
    for t in range(len(advice)):
        if flags[t] & RESET:
            h[:] = 0.0
        log_total = weigh(h, q)
        for k in range(n_experts):
            log_q[t, k] = h[k] - log_total
        for a in range(n_actions):
            log_pi[t, a] = blended(h, log_total, advice[t, :, a])
        chosen = action[t]
        if flags[t] & LEARNED and feedback[t] != 0.0 and log_pi[t, chosen] > -np.inf:
            for k in range(n_experts):
                y = math.exp(min(advice[t, k, chosen] - log_pi[t, chosen], 700.0))
                h[k] += rate * feedback[t] * min(y, LARGEST)


@njit(**CACHED)
def slopes(advice, slopes, owner, feedback, flags, rate, log_pi, out):
    """Log-probabilities log_pi[trial] of the choices, and their derivatives out[trial, parameter].

    The first parameter is the rate; parameter p + 1 belongs to strategy owner[p], whose advice has
    the derivatives slopes[trial, p] in it.
    """
    n_experts, n_own = advice.shape[1], len(owner)
    h, q = np.zeros(n_experts), np.empty(n_experts)
    u = np.zeros((n_experts, n_own + 1))
    share = np.empty(n_experts)
    for t in range(len(advice)):
        if flags[t] & RESET:
            h[:] = 0.0
            u[:] = 0.0
        log_total = weigh(h, q)
        log_pi[t] = blended(h, log_total, advice[t])
        if log_pi[t] == -np.inf:
            out[t] = 0.0
            continue
        for k in range(n_experts):
            share[k] = math.exp(h[k] - log_total + advice[t, k] - log_pi[t])
        for p in range(n_own + 1):
            mean = 0.0
            for k in range(n_experts):
                mean += q[k] * u[k, p]
            d = 0.0
            for k in range(n_experts):
                d += (u[k, p] - mean) * share[k]
            if p > 0:
                d += share[owner[p - 1]] * slopes[t, p - 1]
            out[t, p] = d
        if flags[t] & LEARNED and feedback[t] != 0.0:
            for k in range(n_experts):
                ratio = math.exp(min(advice[t, k] - log_pi[t], 700.0))
                capped = ratio > LARGEST
                ratio = min(ratio, LARGEST)
                for p in range(n_own + 1):
                    if not capped:
                        change = -out[t, p]
                        if p > 0 and owner[p - 1] == k:
                            change += slopes[t, p - 1]
                        u[k, p] += rate * feedback[t] * ratio * change
                u[k, 0] += feedback[t] * ratio
                h[k] += rate * feedback[t] * ratio
