"""What all learners tell of parts: shares of people, and where sizes lie.

Every learner has points of every model (combination of parts), each with its likelihood over the
density it was drawn with. Sizes are logits, or logs; what has a sign has it apart. So a population
is one normal distribution per part, wherever the part appears.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.mechanisms import SIGNED
from howlearn.engine.kernels.numeric import CACHED, FLAGS

DEGREES = 3.0  # of freedom of the variances' prior
NARROWEST = 0.1  # standard deviation of a population
LOWEST = 1e-6  # a share
ALL_ALIKE = 0.25  # prior probability that nobody shows a part; and that everybody does
FREEDOM = 5.0  # of the t distribution around tops


@njit(**CACHED)
def sizes(x, model, on, first, kinds, area, who, y, positive, jacobian):
    """Sizes and signs [learner, point, part], and how much room a size has: log of its measure."""
    n_parts = len(kinds)
    for i in who:
        for q in range(len(model)):
            total = 0.0
            for g in range(n_parts):
                if not on[model[q], g]:
                    continue
                j, d = first[g], first[g + 1] - first[g]
                if kinds[g] < SIGNED:
                    y[i, q, g] = x[i, q, j]
                    continue
                square = 0.0
                for m in range(j, j + d):
                    square += x[i, q, m] ** 2
                log_size = 0.5 * math.log(max(square, 1e-18))
                y[i, q, g] = log_size
                positive[i, q, g] = x[i, q, j] > 0.0
                total += d * log_size + area[g]
            jacobian[i, q] = total


@njit(**CACHED)
def spread_out(z, model, ons, top, root, stretch, who, x):
    """Points at the tops plus roots times z[learner, point, coordinate]."""
    for i in who:
        for q in range(len(model)):
            k, d = model[q], 0
            for j in range(ons.shape[1]):
                if ons[k, j]:
                    x[i, q, j] = top[i, k, j]
                    for m in range(d + 1):
                        x[i, q, j] += stretch * root[i, k, d, m] * z[i, q, m]
                    d += 1


@njit(**CACHED)
def around_tops(x, model, ons, top, root, stretch, who, out):
    """Log densities of points under the t distribution around the tops."""
    d_all = ons.shape[1]
    z, place = np.zeros(d_all), np.zeros(d_all, np.int64)
    for i in who:
        for q in range(len(model)):
            k, d = model[q], 0
            for j in range(d_all):
                if ons[k, j]:
                    place[d] = j
                    d += 1
            square = log_det = 0.0
            for j in range(d):
                left = x[i, q, place[j]] - top[i, k, place[j]]
                for m in range(j):
                    left -= stretch * root[i, k, j, m] * z[m]
                z[j] = left / (stretch * root[i, k, j, j])
                log_det += math.log(stretch * root[i, k, j, j])
                square += z[j] ** 2
            constant = math.lgamma(0.5 * (FREEDOM + d)) - math.lgamma(0.5 * FREEDOM)
            constant -= 0.5 * d * math.log(FREEDOM * math.pi) + log_det
            out[i, q] = constant - 0.5 * (FREEDOM + d) * math.log1p(square / FREEDOM)


@njit(**CACHED)
def in_population(y, positive, model, on, kinds, mean, sd, plus, who, out):
    """Log densities of sizes and signs under normals."""
    for i in who:
        for q in range(len(model)):
            total = 0.0
            for g in range(len(kinds)):
                if on[model[q], g]:
                    z = (y[i, q, g] - mean[g]) / sd[g]
                    total -= 0.5 * z * z + math.log(sd[g]) + 0.9189385332046727
                    if kinds[g] == SIGNED:
                        total += math.log(plus[g] if positive[i, q, g] else 1.0 - plus[g])
            out[i, q] = total


@njit(**CACHED)
def weigh(log_weight, density, model, log_prior, out):
    """How probable every point of a learner is; returns the log evidence of all learners."""
    evidence = 0.0
    for i in range(len(log_weight)):
        top = -1e300
        for q in range(len(model)):
            out[i, q] = log_weight[i, q] + density[i, q] + log_prior[model[q]]
            top = max(top, out[i, q])
        total = 0.0
        for q in range(len(model)):
            out[i, q] = math.exp(max(out[i, q] - top, -700.0)) if out[i, q] > top - 40.0 else 0.0
            total += out[i, q]
        for q in range(len(model)):
            out[i, q] /= total
        evidence += top + math.log(total)
    return evidence


@njit(**CACHED)
def moments(y, positive, model, on, weight, found, uses):
    """found[part] = count, sum, sum of squares, positive ones; uses[learner, model]."""
    found[:] = 0.0
    uses[:] = 0.0
    for i in range(len(weight)):
        for q in range(len(model)):
            w = weight[i, q]
            if w < 1e-9:
                continue
            uses[i, model[q]] += w
            for g in range(len(found)):
                if on[model[q], g]:
                    found[g, 0] += w
                    found[g, 1] += w * y[i, q, g]
                    found[g, 2] += w * y[i, q, g] ** 2
                    found[g, 3] += w * positive[i, q, g]


@njit(**FLAGS)
def _above(mean, sd, floor):
    for _ in range(200):
        x = mean + sd * np.random.normal()
        if x >= floor:
            return x
    return floor


@njit(**FLAGS)
def _draw_population(found, prior, kinds, mean, variance, plus):
    """Locations, variances and signs of all parts, given everybody's sizes."""
    for g in range(len(kinds)):
        centre, spread, floor, scale, widest = prior[g]
        count, total, squares, positive = found[g]
        precision = count / variance[g] + 1.0 / spread**2
        middle = (total / variance[g] + centre / spread**2) / precision
        mean[g] = _above(middle, 1.0 / math.sqrt(precision), floor)
        left = squares - 2.0 * mean[g] * total + count * mean[g] ** 2 + DEGREES * scale**2
        new = widest**2
        for _ in range(100):
            new = left / (2.0 * np.random.gamma(0.5 * (count + DEGREES), 1.0))
            if NARROWEST**2 <= new <= widest**2:
                break
        variance[g] = min(max(new, NARROWEST**2), widest**2)
        if kinds[g] == SIGNED:
            drawn = np.random.beta(positive + 1.0, count - positive + 1.0)
            plus[g] = min(max(drawn, 1e-3), 1.0 - 1e-3)


@njit(**FLAGS)
def _draw_share(yes, no):
    """Of a part that so many show: nobody, everybody, or between, with the prior Beta(½, ½)."""
    if yes * no == 0.0 and yes + no > 0.0:
        between = math.exp(math.lgamma(yes + no + 0.5) - math.lgamma(yes + no + 1.0))
        between *= (1.0 - 2.0 * ALL_ALIKE) / math.sqrt(math.pi)
        if np.random.random() * (ALL_ALIKE + between) < ALL_ALIKE:
            return LOWEST if yes == 0.0 else 1.0 - LOWEST
    return min(max(np.random.beta(yes + 0.5, no + 0.5), LOWEST), 1.0 - LOWEST)


@njit(**FLAGS)
def _draw_shares(counts, shows, can, alpha, together, shares, log_prior):
    """Of every model: the log of how common it is; a share per part, or one per model."""
    n_models, n_parts = shows.shape
    if together:
        total = 0.0
        for k in range(n_models):
            log_prior[k] = max(np.random.gamma(counts[k] + alpha, 1.0), 1e-300)
            total += log_prior[k]
        for j in range(n_parts):
            shares[j] = 0.0
        for k in range(n_models):
            log_prior[k] /= total
            for j in range(n_parts):
                shares[j] += log_prior[k] * shows[k, j]
            log_prior[k] = math.log(max(log_prior[k], 1e-300))
        return
    for j in range(n_parts):
        yes = no = 0.0
        for k in range(n_models):
            if can[k, j]:
                yes += counts[k] * shows[k, j]
                no += counts[k] * (1 - shows[k, j])
        shares[j] = _draw_share(yes, no)
    for k in range(n_models):
        log_prior[k] = 0.0
        for j in range(n_parts):
            if can[k, j]:
                log_prior[k] += math.log(shares[j] if shows[k, j] else 1.0 - shares[j])


@njit(**CACHED)
def sample(
    y, positive, log_weight, model, on, kinds, shows, can, cumulated, log_proposal, prior, smallest,
    mean, variance, plus, log_prior, alpha, together, burn, sweeps, tries, seed, draws, people,
):  # fmt: skip
    """Points, shares and populations in turn; points by independence Metropolis.

    ``draws`` are (masks of the parts shown [sweep, learner], and per part [sweep, part]: number
    beyond the smallest size, location, variance, share of positive signs); ``people`` are sums
    [learner, part] of the sweeps with it: beyond, size, sign.
    """
    np.random.seed(seed)
    n, n_points, n_parts = y.shape
    n_models = len(on)
    counts, constant = np.zeros(n_models), np.zeros(n_models)
    found, shares = np.zeros((n_parts, 4)), np.zeros(shows.shape[1])
    mask = np.zeros(n_models, np.int64)
    for k in range(n_models):
        for j in range(shows.shape[1]):
            mask[k] += shows[k, j] << j
    at = np.zeros(n, np.int64)
    for i in range(n):
        at[i] = min(np.searchsorted(cumulated[i], np.random.random()), n_points - 1)
    log_plus, log_minus = np.zeros(n_parts), np.zeros(n_parts)
    for sweep in range(-burn, sweeps):
        for g in range(n_parts):
            log_plus[g] = log_minus[g] = 0.0
            if kinds[g] == SIGNED:
                log_plus[g], log_minus[g] = math.log(plus[g]), math.log(1.0 - plus[g])
        for k in range(n_models):
            counts[k] = 0.0
            constant[k] = log_prior[k]
            for g in range(n_parts):
                if on[k, g]:
                    constant[k] -= 0.5 * math.log(2.0 * math.pi * variance[g])
        found[:] = 0.0
        for i in range(n):
            old = 0.0
            for attempt in range(tries + 1):
                q = at[i]
                if attempt > 0:
                    q = min(np.searchsorted(cumulated[i], np.random.random()), n_points - 1)
                k = model[q]
                value = log_weight[i, q] + constant[k] - log_proposal[i, q]
                for g in range(n_parts):
                    if on[k, g]:
                        value -= 0.5 * (y[i, q, g] - mean[g]) ** 2 / variance[g]
                        value += log_plus[g] if positive[i, q, g] else log_minus[g]
                if attempt == 0 or math.log(np.random.random()) < value - old:
                    at[i], old = q, value
            q, k = at[i], model[at[i]]
            counts[k] += 1.0
            for g in range(n_parts):
                if on[k, g]:
                    size = y[i, q, g]
                    found[g, 0] += 1.0
                    found[g, 1] += size
                    found[g, 2] += size * size
                    found[g, 3] += positive[i, q, g]
                    if sweep >= 0:
                        beyond = 1.0 if size > smallest[g] else 0.0
                        sign = 1.0 if kinds[g] != SIGNED or positive[i, q, g] else -1.0
                        draws[1][sweep, g] += beyond
                        people[0][i, g] += beyond
                        people[1][i, g] += size
                        people[2][i, g] += sign
            if sweep >= 0:
                draws[0][sweep, i] = mask[k]
        _draw_population(found, prior, kinds, mean, variance, plus)
        _draw_shares(counts, shows, can, alpha, together, shares, log_prior)
        if sweep >= 0:
            for g in range(n_parts):
                draws[2][sweep, g], draws[3][sweep, g] = mean[g], variance[g]
                draws[4][sweep, g] = found[g, 3] / max(found[g, 0], 1.0)
