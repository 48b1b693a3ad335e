"""Steps of a chain with labels and effects summed out: how a population's sampler gets far.

Given the labels, where the learners of a model lie is known well, and hardly anything of a model
that nobody uses: one by one, learners would not change to it. These steps look at all labels.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import BARE
from howlearn.engine.kernels.population import (
    LEAST,
    NARROWEST,
    WIDEST,
    integrate_cloud,
    integrate_rated,
    log_location,
    log_variance,
    out_of_holes,
    priors_of,
    sum_of,
)

LEAN = 2.0  # learners that the shares typical of all groups count for in each of them


@njit(**BARE)
def copy_to(a, b):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] = b[i, k]


@njit(**BARE)
def set_to(a, value):
    """For numbers and counts; ``ones`` and ``zeros`` would be compiled again for each kind."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] = value


@njit(**BARE)
def log_owner(owner, o, scale, integral, group, shares, kept, keeps, each):
    """The log-likelihood of an owner's rows; ``each[model]``: what keeping a model explains.

    With probability ``keeps`` an owner of several rows uses one model in all of them, drawn with
    shares ``kept``; else a model for every row.
    """
    free = 1.0
    n_models = scale.shape[1]
    several = owner[o + 1] - owner[o] > 1 and keeps > 0.0
    for k in range(n_models):
        each[k] = kept[k]
    for i in range(owner[o], owner[o + 1]):
        total = 0.0
        for k in range(n_models):
            found = scale[i, k] * integral[i, k]
            total += shares[group[i], k] * found
            each[k] *= found
        free *= total
    if not several:
        return math.log(max(free, LEAST)), 0.0
    same = keeps * sum_of(each)
    free *= 1.0 - keeps
    return math.log(max(same + free, LEAST)), same / max(same + free, LEAST)


@njit(**BARE)
def log_all(owner, scale, integral, group, shares, kept, keeps, each):
    total = 0.0
    for o in range(len(owner) - 1):
        total += log_owner(owner, o, scale, integral, group, shares, kept, keeps, each)[0]
    return total


@njit(**BARE)
def leap(
    rated, nodes, family, spread, group, before, centre, width, offset, free_width, prior,
    owner, scale, integral, trial, shares, kept, keeps, each, now, f, reach, new_centre, new_width,
):  # fmt: skip
    """Metropolis on centres and widths of a family; returns the log-likelihood, and if it moved."""
    rated_mean, rated_variance, _, _, sd = before
    copy_to(new_centre, centre)
    copy_to(new_width, width)
    ratio = 0.0
    for g in range(centre.shape[1]):
        new_centre[f, g] += 0.3 * reach * np.random.normal()
        if free_width:
            new_width[f, g] *= math.exp(0.5 * reach * np.random.normal())
        if not NARROWEST <= new_width[f, g] <= WIDEST:
            return now, False
        m, v = rated_mean[f], rated_variance[f]
        ratio += log_location(new_centre[f, g], m, sd) - log_location(centre[f, g], m, sd)
        ratio += log_variance(new_width[f, g] ** 2, v) - log_variance(width[f, g] ** 2, v)
    copy_to(trial, integral)
    priors_of(nodes, family, new_centre, new_width, offset, prior)
    integrate_rated(rated, family, spread, group, prior, trial)
    value = log_all(owner, scale, trial, group, shares, kept, keeps, each)
    if math.log(np.random.random()) >= value - now + ratio:
        return now, False
    copy_to(centre, new_centre)
    copy_to(width, new_width)
    copy_to(integral, trial)
    return value, True


@njit(**BARE)
def _exchange(values, a, b):
    values[a], values[b] = values[b], values[a]


@njit(**BARE)
def _exchange_all(pair, only, n_rated, mean, variance, shares, kept, typical):
    """The shares of two clouds, and where those parameters lie that mean the same in both.

    In one group ``only``, or in all of them.
    """
    a, b = pair[0], pair[1]
    for g in range(mean.shape[1]):
        if only >= 0 and g != only:
            continue
        for d in range(mean.shape[2]):
            e = pair[2 + d]
            if e >= 0:
                mean[a, g, d], mean[b, g, e] = mean[b, g, e], mean[a, g, d]
                variance[a, g, d], variance[b, g, e] = variance[b, g, e], variance[a, g, d]
        _exchange(shares[g], n_rated + a, n_rated + b)
    if only < 0:
        _exchange(kept, n_rated + a, n_rated + b)
        _exchange(typical, n_rated + a, n_rated + b)


@njit(**BARE)
def _log_prior(before, dims, holes, mean, variance, j):
    """Of where a cloud lies; −∞ in a hole."""
    _, _, cloud_mean, cloud_variance, sd = before
    total = 0.0
    for g in range(mean.shape[1]):
        for d in range(dims[j]):
            m = mean[j, g, d]
            if out_of_holes(holes[j], d, m) != m:
                return -np.inf
            total += log_location(m, cloud_mean[j, d], sd)
            total += log_variance(variance[j, g, d], cloud_variance[j, d])
    return total


@njit(**BARE)
def exchange(
    points, weight, dims, holes, pairs, group, before, mean, variance, owner, scale, integral,
    trial, shares, kept, typical, keeps, each, buffer, n_rated,
):  # fmt: skip
    """Metropolis: two clouds exchange their shares, and with them their learners.

    A row of ``pairs`` has two clouds and, for every parameter of the first, the parameter of the
    second that means the same, or −1. Where two models explain everybody alike, nearly all use one
    or nearly all the other; this step goes from one to the other, in one of several groups or in
    all of them at once.
    """
    pair, n_groups = pairs[np.random.randint(len(pairs))], len(shares)
    a, b = pair[0], pair[1]
    only = np.random.randint(n_groups + 1) - 1 if n_groups > 1 else -1
    ratio = -log_all(owner, scale, integral, group, shares, kept, keeps, each)
    for j in (a, b):
        ratio -= _log_prior(before, dims, holes, mean, variance, j)
    if only >= 0:  # what the shares typical of all groups say of this one's
        x, y = n_rated + a, n_rated + b
        ratio += LEAN * (typical[x] - typical[y]) * math.log(shares[only, y] / shares[only, x])
    _exchange_all(pair, only, n_rated, mean, variance, shares, kept, typical)
    for j in (a, b):
        ratio += _log_prior(before, dims, holes, mean, variance, j)
    if ratio > -np.inf:
        copy_to(trial, integral)
        for j in (a, b):
            integrate_cloud(
                points, weight, dims, holes, group, mean, variance, shares, n_rated, j, only,
                buffer, trial,
            )  # fmt: skip
        ratio += log_all(owner, scale, trial, group, shares, kept, keeps, each)
    if math.log(np.random.random()) < ratio:
        copy_to(integral, trial)
    else:
        _exchange_all(pair, only, n_rated, mean, variance, shares, kept, typical)
