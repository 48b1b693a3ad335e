"""Where the likelihoods of a learner's models have their tops, and their values at points."""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.mechanisms import BIAS, natural, of_learner, room_for, run
from howlearn.engine.kernels.numeric import CACHED, FLAGS, SCORED

STEP = 0.01  # of differences
TINY = 1e-12  # a probability that tells nothing of slopes
ENOUGH = 1e-6  # nats that a step must gain
FIRST_STEP = 0.1  # off a signed part's neutral value, where a slope may vanish


@njit(**FLAGS)
def _penalty(x, on, mean, variance):
    total = 0.0
    for j in range(len(x)):
        if on[j]:
            total += 0.5 * (x[j] - mean[j]) ** 2 / variance[j]
    return total


@njit(**FLAGS)
def _information(x, on, base, coded, trials, world, room, own, theta, here, there, slopes, g, h):
    """Slopes and expected curvature of the log-likelihood from probabilities of all actions."""
    kinds, places, directions = coded
    none, no_gains = np.empty(0), np.empty((0, 0))
    action, flags = trials[1], trials[3]
    n, n_actions = here.shape
    d = 0
    for j in range(len(x)):
        if not on[j]:
            continue
        before = x[j]
        x[j] += STEP
        natural(x, on, kinds, places, directions, theta)
        run(theta, base, trials, world, room, own, there, True, False, none, no_gains)
        x[j] = before
        for t in range(n):
            for a in range(n_actions):
                slopes[d, t, a] = (there[t, a] - here[t, a]) / STEP
        d += 1
    for j in range(d):
        g[j] = 0.0
        for m in range(d):
            h[j, m] = 0.0
    for t in range(n):
        if not flags[t] & SCORED:
            continue
        k = action[t]
        for j in range(d):
            g[j] += slopes[j, t, k] / here[t, k]
        for a in range(n_actions):
            if here[t, a] < TINY:
                continue
            for j in range(d):
                lean = slopes[j, t, a] / here[t, a]
                for m in range(j + 1):
                    h[j, m] += lean * slopes[m, t, a]
    for j in range(d):
        for m in range(j):
            h[m, j] = h[j, m]
    return d


@njit(**FLAGS)
def _climb(x, on, base, coded, mean, variance, trials, world, room, own, rounds, work):
    """The top of log-likelihood and prior by Fisher scoring; its curvature is in ``work``."""
    theta, here, there, slopes, g, h = work
    kinds, places, directions = coded
    none, no_gains = np.empty(0), np.empty((0, 0))
    natural(x, on, kinds, places, directions, theta)
    value = run(theta, base, trials, world, room, own, here, True, False, none, no_gains)
    best = value - _penalty(x, on, mean, variance)
    d, y = 0, x.copy()
    for _ in range(rounds):
        d = _information(
            x, on, base, coded, trials, world, room, own, theta, here, there, slopes, g, h
        )
        m = 0
        for j in range(len(x)):
            if on[j]:
                g[m] -= (x[j] - mean[j]) / variance[j]
                h[m, m] += 1.0 / variance[j]
                m += 1
        step = np.linalg.solve(h[:d, :d].copy(), g[:d].copy())
        size, gain = min(1.0, 2.0 / max(np.abs(step).max(), 1e-12)), 0.0
        for _ in range(6):
            m = 0
            for j in range(len(x)):
                y[j] = x[j]
                if on[j]:
                    y[j] += size * step[m]
                    m += 1
            natural(y, on, kinds, places, directions, theta)
            new = run(theta, base, trials, world, room, own, there, True, False, none, no_gains)
            gain = new - _penalty(y, on, mean, variance) - best
            if gain > ENOUGH:
                break
            size *= 0.4
        if gain <= ENOUGH:
            break
        best += gain
        for j in range(len(x)):
            x[j] = y[j]
        for t in range(len(here)):
            for a in range(here.shape[1]):
                here[t, a] = there[t, a]
        if gain < 0.02:
            break
    return best, d


@njit(**FLAGS)
def _work_for(n, n_actions, d):
    return (
        np.zeros(BIAS + n_actions + d), np.zeros((n, n_actions)), np.zeros((n, n_actions)),
        np.zeros((d, n, n_actions)), np.zeros(d), np.zeros((d, d)),
    )  # fmt: skip


@njit(**CACHED)
def tops(
    start, ons, bases, order, parent, coded, mean, variance, starts, data, world, own, rounds, top,
    root, who,
):  # fmt: skip
    """The tops of some learners' models, and roots of what is the inverse of their curvatures.

    A model starts at the top of its parent, which has one part more; where it has none, at
    ``start`` or, if that is better, at the prior's mean. ``parent`` is empty where tops are known.
    """
    n_models, d_all = ons.shape
    n_actions = len(coded[2])
    for i in who:
        trials = of_learner(i, starts, data)
        n = len(trials[0])
        room = room_for(n, world, n_actions)
        work = _work_for(n, n_actions, d_all)
        for q in range(n_models):
            k = order[q]
            fresh = len(parent) > 0 and parent[k] < 0
            x = start[i, k].copy()
            if len(parent) > 0 and parent[k] >= 0:
                x = top[i, parent[k]].copy()
            best, d = _climb(
                x, ons[k], bases[k], coded, mean, variance, trials, world, room, own,
                12 if fresh else rounds, work,
            )  # fmt: skip
            if fresh:
                other = mean.copy()
                for j in range(d_all):
                    other[j] += FIRST_STEP
                second, d = _climb(
                    other, ons[k], bases[k], coded, mean, variance, trials, world, room, own, 12,
                    work,
                )  # fmt: skip
                if second > best:
                    x = other
                else:  # so that the curvature is that of the better one
                    _climb(
                        x, ons[k], bases[k], coded, mean, variance, trials, world, room, own, 1,
                        work,
                    )  # fmt: skip
            for j in range(d_all):
                top[i, k, j] = x[j] if ons[k, j] else 0.0
            root[i, k, :d, :d] = np.linalg.cholesky(np.linalg.inv(work[5][:d, :d].copy()))


@njit(**CACHED)
def again(
    x, model, ons, bases, coded, mean, variance, starts, data, world, own, rounds, who, value
):
    """Every learner's x, moved to the top of model[learner]; its value, prior included."""
    for i in who:
        trials = of_learner(i, starts, data)
        room = room_for(len(trials[0]), world, len(coded[2]))
        work = _work_for(len(trials[0]), len(coded[2]), len(coded[0]))
        k = model[i]
        here = x[i].copy()
        value[i], _ = _climb(
            here, ons[k], bases[k], coded, mean, variance, trials, world, room, own, rounds, work
        )
        x[i] = here


@njit(**CACHED)
def likelihoods(x, model, ons, bases, coded, starts, data, world, own, who, out):
    """out[learner, point] at the points x[learner, point] of model[point]."""
    kinds, places, directions = coded
    n_actions = len(directions)
    theta = np.zeros(BIAS + n_actions + len(kinds))
    none, nothing = np.empty(0), np.empty((0, 0))
    for i in who:
        trials = of_learner(i, starts, data)
        room = room_for(len(trials[0]), world, n_actions)
        for q in range(len(model)):
            k = model[q]
            natural(x[i, q], ons[k], kinds, places, directions, theta)
            out[i, q] = run(
                theta, bases[k], trials, world, room, own, nothing, False, False, none, nothing
            )


@njit(**CACHED)
def play(x, model, ons, bases, coded, starts, data, world, own, draws, gains):
    """Choices and rewards of learners who follow model[learner] at x[learner], in ``data``."""
    kinds, places, directions = coded
    n_actions = len(directions)
    theta = np.zeros(BIAS + n_actions + len(kinds))
    nothing = np.empty((0, 0))
    for i in range(len(starts) - 1):
        trials = of_learner(i, starts, data)
        room = room_for(len(trials[0]), world, n_actions)
        natural(x[i], ons[model[i]], kinds, places, directions, theta)
        s, e = starts[i], starts[i + 1]
        run(
            theta, bases[model[i]], trials, world, room, own, nothing, False, True, draws[s:e],
            gains[s:e],
        )  # fmt: skip
