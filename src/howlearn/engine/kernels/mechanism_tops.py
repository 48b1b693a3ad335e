"""Where the likelihoods of a learner's models have their tops, and their values at points."""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.mechanism_lanes import by_lanes, in_lanes, lanes_for
from howlearn.engine.kernels.mechanisms import BIAS, natural, of_learner, room_for, run
from howlearn.engine.kernels.numeric import CACHED, FLAGS, LANES, SCORED

STEP = 0.01  # of differences
TINY = 1e-12  # a probability that tells nothing of slopes
ENOUGH = 1e-6  # nats that a step must gain
TRIES, SHORTER = 6, 0.4  # of lengths of a step, and how much shorter each is
FIRST_STEP = 0.1  # off a signed part's neutral value, where a slope may vanish


@njit(**FLAGS)
def _penalty(x, on, mean, variance):
    total = 0.0
    for j in range(len(x)):
        if on[j]:
            total += 0.5 * (x[j] - mean[j]) ** 2 / variance[j]
    return total


@njit(**FLAGS)
def _values(count, on, base, coded, learner, keep):
    """Log-likelihoods of the first points, and with ``keep`` the probabilities of all actions."""
    trials, world, room, own, (thetas, rows, shared, seen, power, each, value, points) = learner
    kinds, places, directions = coded
    for i in range(LANES):
        natural(points[min(i, count - 1)], on, kinds, places, directions, thetas[i])
    if by_lanes(on, places, trials):
        in_lanes(thetas, base, trials, rows, shared, seen, power, each, value, keep)
        return
    none, no_gains = np.empty(0), np.empty((0, 0))
    for i in range(count):
        value[i] = run(
            thetas[i], base, trials, world, room, own, each, i, keep, False, none, no_gains
        )


@njit(**FLAGS)
def _copied(each, i, here):
    for t in range(len(here)):
        for a in range(here.shape[1]):
            here[t, a] = each[t, a, i]


@njit(**FLAGS)
def _slopes(x, on, base, coded, learner, here, slopes):
    """How probabilities change with every coordinate that is on; returns how many these are."""
    each, points = learner[4][5], learner[4][7]
    d, count = 0, 0
    for j in range(len(x)):
        if on[j]:
            points[count] = x
            points[count, j] += STEP
            count += 1
        if count == LANES or (count and j == len(x) - 1):
            _values(count, on, base, coded, learner, True)
            for t in range(len(here)):
                for a in range(here.shape[1]):
                    for i in range(count):
                        slopes[t, a, d + i] = (each[t, a, i] - here[t, a]) / STEP
            d, count = d + count, 0
    return d


@njit(**FLAGS)
def _information(x, on, base, coded, learner, here, slopes, g, h):
    """Slopes and expected curvature of the log-likelihood from probabilities of all actions."""
    action, flags = learner[0][1], learner[0][3]
    d = _slopes(x, on, base, coded, learner, here, slopes)
    for j in range(d):
        g[j] = 0.0
        for m in range(d):
            h[j, m] = 0.0
    for t in range(len(here)):
        if not flags[t] & SCORED:
            continue
        k = action[t]
        for j in range(d):
            g[j] += slopes[t, k, j] / here[t, k]
        for a in range(here.shape[1]):
            if here[t, a] < TINY:
                continue
            for j in range(d):
                lean = slopes[t, a, j] / here[t, a]
                for m in range(j + 1):
                    h[j, m] += lean * slopes[t, a, m]
    for j in range(d):
        for m in range(j):
            h[m, j] = h[j, m]
    return d


@njit(**FLAGS)
def _climb(x, on, base, coded, mean, variance, learner, rounds, work):
    """The top of log-likelihood and prior by Fisher scoring; its curvature is in ``work``."""
    each, value, points = learner[4][5:]
    here, slopes, g, h = work
    # Lanes try all lengths of a step at once
    ahead = TRIES if by_lanes(on, coded[1], learner[0]) else 1
    points[0] = x
    _values(1, on, base, coded, learner, True)
    _copied(each, 0, here)
    best = value[0] - _penalty(x, on, mean, variance)
    d = 0
    for _ in range(rounds):
        d = _information(x, on, base, coded, learner, here, slopes, g, h)
        m = 0
        for j in range(len(x)):
            if on[j]:
                g[m] -= (x[j] - mean[j]) / variance[j]
                h[m, m] += 1.0 / variance[j]
                m += 1
        step = np.linalg.solve(h[:d, :d].copy(), g[:d].copy())
        size, gain = min(1.0, 2.0 / max(np.abs(step).max(), 1e-12)), 0.0
        for tried in range(TRIES):
            i = tried % ahead
            if i == 0:
                for s in range(ahead):
                    points[s] = x
                    m = 0
                    for j in range(len(x)):
                        if on[j]:
                            points[s, j] += size * SHORTER**s * step[m]
                            m += 1
                _values(ahead, on, base, coded, learner, True)
            gain = value[i] - _penalty(points[i], on, mean, variance) - best
            if gain > ENOUGH:
                x[:] = points[i]
                _copied(each, i, here)
                break
            size *= SHORTER
        if gain <= ENOUGH:
            break
        best += gain
        if gain < 0.02:
            break
    return best, d


@njit(**FLAGS)
def _work_for(n, n_actions, d):
    return (
        np.zeros((n, n_actions)), np.zeros((n, n_actions, d)), np.zeros(d), np.zeros((d, d)),
    )  # fmt: skip


@njit(**FLAGS)
def _learner(i, starts, data, world, own, n_actions, d):
    """Trials, and working memory for them."""
    trials = of_learner(i, starts, data)
    n = len(trials[0])
    return (
        trials, world, room_for(n, world, n_actions), own, lanes_for(n, world, n_actions, d)
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
        learner = _learner(i, starts, data, world, own, n_actions, d_all)
        work = _work_for(len(learner[0][0]), n_actions, d_all)
        for q in range(n_models):
            k = order[q]
            fresh = len(parent) > 0 and parent[k] < 0
            x = start[i, k].copy()
            if len(parent) > 0 and parent[k] >= 0:
                x = top[i, parent[k]].copy()
            best, d = _climb(
                x, ons[k], bases[k], coded, mean, variance, learner, 12 if fresh else rounds, work
            )
            if fresh:
                other = mean.copy()
                for j in range(d_all):
                    other[j] += FIRST_STEP
                second, d = _climb(
                    other, ons[k], bases[k], coded, mean, variance, learner, 12, work
                )
                if second > best:
                    x = other
                else:  # so that the curvature is that of the better one
                    _climb(x, ons[k], bases[k], coded, mean, variance, learner, 1, work)
            for j in range(d_all):
                top[i, k, j] = x[j] if ons[k, j] else 0.0
            root[i, k, :d, :d] = np.linalg.cholesky(np.linalg.inv(work[3][:d, :d].copy()))


@njit(**CACHED)
def likelihoods(x, model, ons, bases, coded, starts, data, world, own, who, out):
    """out[learner, point] at the points x[learner, point] of model[point]."""
    for i in who:
        learner = _learner(i, starts, data, world, own, len(coded[2]), x.shape[2])
        value, points = learner[4][6:]
        q = 0
        while q < len(model):
            k, count = model[q], 0
            while count < LANES and q + count < len(model) and model[q + count] == k:
                points[count] = x[i, q + count]
                count += 1
            _values(count, ons[k], bases[k], coded, learner, False)
            out[i, q : q + count] = value[:count]
            q += count


@njit(**CACHED)
def play(x, model, ons, bases, coded, starts, data, world, own, draws, gains):
    """Choices and rewards of learners who follow model[learner] at x[learner], in ``data``."""
    kinds, places, directions = coded
    n_actions = len(directions)
    theta = np.zeros(BIAS + n_actions + len(kinds))
    nothing = np.empty((0, 0, 0))
    for i in range(len(starts) - 1):
        trials = of_learner(i, starts, data)
        room = room_for(len(trials[0]), world, n_actions)
        natural(x[i], ons[model[i]], kinds, places, directions, theta)
        s, e = starts[i], starts[i + 1]
        run(
            theta, bases[model[i]], trials, world, room, own, nothing, 0, False, True, draws[s:e],
            gains[s:e],
        )  # fmt: skip
