"""Find the best rate from a grid, and decide whether it is exact.

Rates are laid out as lower + scale·sinh(u) with u uniform: fine near the lower end, logarithmic
beyond, and the bounds themselves are on the grid. All steps are taken in u.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import CACHED, FLAGS, LANES

FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
EXACT = 1e-17  # of the log-likelihood: how far a certified optimum may lie from the true one
CLIFF = 1e3  # nats between neighbours; no smooth curve can be laid through that
OK, AT_LOWER, AT_UPPER, IS_FLAT, UNSEEN, SEARCHING = 0, 1, 2, 5, 6, 11  # layout.Statuses


@njit(**FLAGS)
def slope_at(u, scale):
    """d rate / d u."""
    return scale * math.cosh(u)


@njit(**FLAGS)
def peak(f, i):
    """The top near node i of a smooth curve through f: offset in nodes, height, curvature."""
    last = len(f) - 1
    if i == 0 or i == last:
        return 0.0, f[i], 0.0
    if f[i] - min(f[i - 1], f[i + 1]) > CLIFF:
        return 0.0, f[i], 0.0
    if i < 2 or i > last - 2 or f[i] - min(f[i - 2], f[i + 2]) > CLIFF:
        slope = (f[i + 1] - f[i - 1]) / 2
        curvature = f[i + 1] - 2 * f[i] + f[i - 1]
        s = -slope / curvature if curvature < 0 else 0.0
        s = min(1.0, max(-1.0, s))
        return s, f[i] + slope * s + curvature * s * s / 2, curvature
    a, b, c, d, e = f[i - 2], f[i - 1], f[i], f[i + 1], f[i + 2]
    c1 = (a - 8 * b + 8 * d - e) / 12
    c2 = (-a + 16 * b - 30 * c + 16 * d - e) / 24
    c3 = (-a + 2 * b - 2 * d + e) / 12
    c4 = (a - 4 * b + 6 * c - 4 * d + e) / 24
    s = 0.0
    for _ in range(6):
        first = c1 + s * (2 * c2 + s * (3 * c3 + s * 4 * c4))
        second = 2 * c2 + s * (6 * c3 + s * 12 * c4)
        if not second < 0:
            break
        s = min(1.0, max(-1.0, s - first / second))
    return s, c + s * (c1 + s * (c2 + s * (c3 + s * c4))), 2 * c2 + s * (6 * c3 + s * 12 * c4)


@njit(**CACHED)
def locate(values, seen, width, close, u, node, curvature, status, rival_of, rival_node):
    """Choose the best top of every curve values[k, node]; returns how many rivals were listed.

    A rival is another local maximum that comes close (in nats): rival_of names its curve.
    """
    n_rivals = 0
    for k in range(len(values)):
        f = values[k]
        last = len(f) - 1
        if seen[k] == 0:
            status[k] = UNSEEN
            continue
        lowest, highest = f[0], f[0]  # numba's max would be compiled too, for half a second
        for i in range(1, last + 1):
            lowest, highest = min(lowest, f[i]), max(highest, f[i])
        if highest - lowest < FLAT:
            status[k] = IS_FLAT
            continue
        best = -np.inf
        for i in range(last + 1):
            if (i == 0 or f[i] >= f[i - 1]) and (i == last or f[i] > f[i + 1]):
                s, height, bend = peak(f, i)
                if height > best:
                    best, node[k], u[k], curvature[k] = height, i, (i + s) * width, bend
        u[k] = min(max(u[k], 0.0), last * width)
        curvature[k] /= width * width
        status[k] = SEARCHING
        for i in range(last + 1):
            if i != node[k] and (i == 0 or f[i] >= f[i - 1]) and (i == last or f[i] > f[i + 1]):
                _, height, _ = peak(f, i)
                # Not `best`: beside a cliff the curve laid through the nodes may rise far too high.
                if height > highest - close and n_rivals < len(rival_of):
                    rival_of[n_rivals] = k
                    rival_node[n_rivals] = i
                    n_rivals += 1
    return n_rivals


@njit(**FLAGS)
def settled(u, value, slope, curvature, end):
    """The status of a point: at a bound or exact, or still SEARCHING.

    Far stricter than likelihoods need: a hold-out score is of first order in the estimate's error.
    """
    if u <= 0.0:
        return AT_LOWER if slope <= 0 else SEARCHING
    if u >= end:
        return AT_UPPER if slope >= 0 else SEARCHING
    if curvature < 0 and slope * slope < -2 * curvature * EXACT * (1.0 + abs(value)):
        return OK
    return SEARCHING


@njit(**CACHED)
def newton(u, gradient, curvature, status, node, width, end, scale):
    """Move every point to where its slope and its curve's curvature say that the top is."""
    for k in range(len(u)):
        if status[k] == SEARCHING and 0.0 < u[k] < end and curvature[k] < 0:
            step = -gradient[k] * slope_at(u[k], scale) / curvature[k]
            low, high = max(0.0, (node[k] - 1) * width), min(end, (node[k] + 1) * width)
            u[k] = min(high, max(low, u[k] + step))


@njit(**CACHED)
def certify(u, value, gradient, curvature, status, end, scale):
    """Settle the curves whose point is exact, judged by the gradient in the rate there."""
    for k in range(len(u)):
        if status[k] == SEARCHING:
            slope = gradient[k] * slope_at(u[k], scale)
            status[k] = settled(u[k], value[k], slope, curvature[k], end)


@njit(**CACHED)
def spread(low, high, guess, points):
    """Lay LANES points out over every bracket, one of them at the guess where there is one."""
    for k in range(len(low)):
        step = (high[k] - low[k]) / (LANES - 2)
        for i in range(LANES - 1):
            points[k, i] = low[k] + i * step
        points[k, LANES - 2] = high[k]
        inside = low[k] < guess[k] < high[k]
        points[k, LANES - 1] = guess[k] if inside else 0.5 * (low[k] + high[k])


@njit(**CACHED)
def narrow(points, values, gradients, end, scale, low, high, guess, best, status):
    """Keep the best point of every bracket and the bracket of its neighbours."""
    for k in range(len(low)):
        top = 0
        for i in range(1, LANES):
            if values[k, i] > values[k, top]:
                top = i
        u = points[k, top]
        slope = gradients[k, top] * slope_at(u, scale)
        below, above = -1, -1
        apart = 1e-14 * (1.0 + abs(u))  # the guess may repeat another point up to rounding
        for i in range(LANES):
            if points[k, i] < u - apart and (below < 0 or points[k, i] > points[k, below]):
                below = i
            if points[k, i] > u + apart and (above < 0 or points[k, i] < points[k, above]):
                above = i
        # The neighbour on the side the slope points to, else the other one, gives the curvature.
        side = above if (slope > 0 and above >= 0) or below < 0 else below
        curvature = 0.0
        if side >= 0:
            other = gradients[k, side] * slope_at(points[k, side], scale)
            curvature = (other - slope) / (points[k, side] - u)
        best[k] = top
        status[k] = settled(u, values[k, top], slope, curvature, end)
        low[k] = points[k, below] if below >= 0 else u
        high[k] = points[k, above] if above >= 0 else u
        guess[k] = u - slope / curvature if curvature < 0 else u
        if status[k] == SEARCHING and high[k] - low[k] < 1e-12 * (1.0 + abs(u)):
            status[k] = OK
