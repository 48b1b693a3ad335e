"""Learners who gain or lose one part at a time: for more parts than there can be tables of.

No combination is looked at beforehand. A learner has some parts, with their sizes; a part that is
gained has a size from the population, and the other parameters move as they do between the tops
with and without it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.mechanism_chains import _draw_population, _draw_share
from howlearn.engine.kernels.mechanisms import (
    BIAS,
    SHARE,
    SIGNED,
    VECTOR,
    natural,
    of_learner,
    room_for,
    run,
)
from howlearn.engine.kernels.numeric import CACHED, FLAGS

STRIDE = 1.7  # of a step among a learner's sizes, divided by the root of their number
FURTHEST_SHIFT = 1.5  # of another parameter, when a part is gained or lost
TOGETHER = 0.4  # how far the sizes of all who show a part are moved at once


@njit(**FLAGS)
def _log_size(x, g, first, kinds):
    """The size of a quantity as the population has it: a logit, or a log."""
    if kinds[g] < SIGNED:
        return x[first[g]]
    square = 1e-18
    for j in range(first[g], first[g + 1]):
        square += x[j] ** 2
    return 0.5 * math.log(square)


@njit(**FLAGS)
def _density(x, on, but, first, kinds, mean, variance, plus):
    """Of a learner's coordinates in the population, but for quantity ``but``; up to a constant."""
    total = 0.0
    for g in range(len(kinds)):
        if not on[g] or g == but:
            continue
        y = _log_size(x, g, first, kinds)
        total -= 0.5 * (y - mean[g]) ** 2 / variance[g]
        if kinds[g] >= SIGNED:
            total -= (first[g + 1] - first[g]) * y
        if kinds[g] == SIGNED:
            total += math.log(plus[g] if x[first[g]] > 0.0 else 1.0 - plus[g])
    return total


@njit(**FLAGS)
def _gained(x, g, first, kinds, mean, variance, plus):
    """A size from the population."""
    y = mean[g] + math.sqrt(variance[g]) * np.random.normal()
    if kinds[g] < SIGNED:
        x[first[g]] = y
        return
    square = 0.0
    for j in range(first[g], first[g + 1]):
        x[j] = np.random.normal()
        square += x[j] ** 2
    if kinds[g] == SIGNED:
        x[first[g]], square = 1.0 if np.random.random() < plus[g] else -1.0, 1.0
    for j in range(first[g], first[g + 1]):
        x[j] *= math.exp(y) / math.sqrt(square)


@njit(**FLAGS)
def _shift(x, on, g, way, fall, first, kinds):
    """The other parameters, moved as far as the size of part g says; ``way`` −1: back."""
    if kinds[g] == VECTOR:
        return
    size = x[first[g]]
    if kinds[g] == SHARE:
        size = 1.0 / (1.0 + math.exp(-size))
    elif kinds[g] < SIGNED:
        size = math.exp(size)
    for o in range(len(kinds)):
        if on[o] and o != g:
            for j in range(first[o], first[o + 1]):
                x[j] += way * min(max(fall[g, j] * size, -FURTHEST_SHIFT), FURTHEST_SHIFT)


@njit(**FLAGS)
def _turned(x, on, g, fall, first, kinds, mean, variance, plus):
    """Part g is gained if it was not there, else lost."""
    if on[g]:
        _shift(x, on, g, -1.0, fall, first, kinds)
        x[first[g] : first[g + 1]] = 0.0
    else:
        _gained(x, g, first, kinds, mean, variance, plus)
        _shift(x, on, g, 1.0, fall, first, kinds)
    on[g] = not on[g]


@njit(**FLAGS)
def _stepped(x, on, curve, pull, place, a):
    """A step of all coordinates that are on, as long as the likelihood is wide, into x."""
    d = 0
    for j in range(len(x)):
        if on[j]:
            place[d] = j
            d += 1
    for m in range(d):  # the root of the curvature, below the diagonal
        for k in range(m + 1):
            total = curve[place[m], place[k]]
            if m == k:
                total += pull[place[m]]
            for s in range(k):
                total -= a[m, s] * a[k, s]
            a[m, k] = math.sqrt(max(total, 1e-3)) if m == k else total / a[k, k]
    for m in range(d - 1, -1, -1):
        total = STRIDE / math.sqrt(d) * np.random.normal()
        for k in range(m + 1, d):
            total -= a[k, m] * a[d, k]
        a[d, m] = total / a[m, m]
    for m in range(d):
        x[place[m]] += a[d, m]


@njit(**FLAGS)
def _coordinates(on, first, out):
    for g in range(len(on)):
        for j in range(first[g], first[g + 1]):
            out[j] = on[g]


@njit(**FLAGS)
def _pulls(first, kinds, mean, variance, out):
    """How much the population holds every coordinate, for the length of steps."""
    for g in range(len(kinds)):
        size = 1.0 if kinds[g] < SIGNED else math.exp(mean[g])
        for j in range(first[g], first[g + 1]):
            out[j] = 1.0 / (variance[g] * size**2)


@njit(**FLAGS)
def _counted(i, sweep, x, on, n_own, first, kinds, smallest, found, draws, people):
    """One learner's sizes among those of all; ``draws`` and ``people`` as in ``sample``."""
    mask = 0
    for g in range(len(kinds)):
        if not on[g]:
            continue
        mask += 1 << (g - n_own) if g >= n_own else 0
        size, positive = _log_size(x, g, first, kinds), x[first[g]] > 0.0
        found[g, 0] += 1.0
        found[g, 1] += size
        found[g, 2] += size * size
        found[g, 3] += positive
        if sweep >= 0:
            beyond = 1.0 if size > smallest[g] else 0.0
            draws[1][sweep, g] += beyond
            people[0][i, g] += beyond
            people[1][i, g] += size
            people[2][i, g] += 1.0 if kinds[g] != SIGNED or positive else -1.0
    if sweep >= 0:
        draws[0][sweep, i] = mask


@njit(**FLAGS)
def _all_moved(
    g, x, on, value, base, coded, first, kinds, prior, mean, starts, data, world, own, theta
):
    """One part's sizes of all learners, with their mean: those who tell little else hold it."""
    kinds_of, places, directions = coded
    none, nothing, no_gains = np.empty(0), np.empty((0, 0, 0)), np.empty((0, 0))
    far = TOGETHER * np.random.normal()
    if mean[g] + far < prior[g, 2]:
        return
    gap = 0.5 * ((mean[g] - prior[g, 0]) / prior[g, 1]) ** 2
    gap -= 0.5 * ((mean[g] + far - prior[g, 0]) / prior[g, 1]) ** 2
    moved, new = x.copy(), value.copy()
    onto = np.zeros(x.shape[1], np.bool_)
    for i in range(len(x)):
        if on[i, g]:
            for j in range(first[g], first[g + 1]):
                moved[i, j] = x[i, j] + far if kinds[g] < SIGNED else x[i, j] * math.exp(far)
            _coordinates(on[i], first, onto)
            natural(moved[i], onto, kinds_of, places, directions, theta)
            trials = of_learner(i, starts, data)
            room = room_for(len(trials[0]), world, len(directions))
            new[i] = run(
                theta, base, trials, world, room, own, nothing, 0, False, False, none, no_gains
            )
            gap += new[i] - value[i]
    if math.log(np.random.random()) < gap:
        mean[g] += far
        x[:], value[:] = moved, new


@njit(**CACHED)
def jump(
    x, on, n_own, base, coded, first, kinds, curve, fall, prior, smallest, mean, variance, plus,
    starts, data, world, own, burn, sweeps, tries, seed, draws, people,
):  # fmt: skip
    """Sizes, parts, shares and populations in turn, from x[learner] with on[learner, quantity].

    Parts that are gained and lost come after ``n_own`` quantities; ``curve`` are curvatures of
    every learner's log-likelihood, ``fall`` how parameters differ with a part of size 1. The
    results are as in ``sample``.
    """
    np.random.seed(seed)
    kinds_of, places, directions = coded
    n, d_all, n_quantities = len(x), x.shape[1], len(kinds)
    theta = np.zeros(BIAS + len(directions) + d_all)
    none, nothing, no_gains = np.empty(0), np.empty((0, 0, 0)), np.empty((0, 0))
    place, a = np.zeros(d_all, np.int64), np.zeros((d_all + 1, d_all))
    found, pull, y = np.zeros((n_quantities, 4)), np.zeros(d_all), np.zeros(d_all)
    now, onto = np.zeros(n_quantities, np.bool_), np.zeros(d_all, np.bool_)
    odds, value = np.zeros(n_quantities), np.full(n, -1e300)
    for sweep in range(-burn, sweeps):
        _pulls(first, kinds, mean, variance, pull)
        found[:] = 0.0
        for i in range(n):
            trials = of_learner(i, starts, data)
            room = room_for(len(trials[0]), world, len(directions))
            for attempt in range(tries + 1):
                now[:] = on[i]
                y[:] = x[i]
                gap, g = 0.0, -1
                if attempt > 0:
                    g = n_own + np.random.randint(n_quantities - n_own)
                    gap = odds[g] if not on[i, g] else -odds[g]
                    _turned(y, now, g, fall[i], first, kinds, mean, variance, plus)
                _coordinates(now, first, onto)
                if attempt == 0 and value[i] > -1e299:
                    _stepped(y, onto, curve[i], pull, place, a)
                natural(y, onto, kinds_of, places, directions, theta)
                new = run(
                    theta, base, trials, world, room, own, nothing, 0, False, False, none, no_gains
                )
                gap += _density(y, now, g, first, kinds, mean, variance, plus)
                gap -= _density(x[i], on[i], g, first, kinds, mean, variance, plus)
                if math.log(np.random.random()) < new - value[i] + gap:
                    value[i] = new
                    on[i] = now
                    x[i] = y
            _counted(i, sweep, x[i], on[i], n_own, first, kinds, smallest, found, draws, people)
        _draw_population(found, prior, kinds, mean, variance, plus)
        g = n_own + np.random.randint(n_quantities - n_own)
        _all_moved(
            g, x, on, value, base, coded, first, kinds, prior, mean, starts, data, world, own, theta
        )
        for g in range(n_own, n_quantities):
            share = _draw_share(found[g, 0], n - found[g, 0])
            odds[g] = math.log(share / (1.0 - share))
        if sweep >= 0:
            for g in range(n_quantities):
                draws[2][sweep, g], draws[3][sweep, g] = mean[g], variance[g]
                draws[4][sweep, g] = found[g, 3] / max(found[g, 0], 1.0)
