"""Who uses which model, and where parameters lie: loops that only reweigh tables of likelihoods.

Models come in three kinds, in this order. A *rated* model has a table over nodes of the learner's
effect, the mean of its log rates, for every spread of its cells: rated[spread, learner, model,
node]. Rated models of one rule are a family: effects are normal, with a centre and a width for
every group of learners, and an offset for every model. A *cloud* model has weighted points for
every learner: points[learner, model, parameter, point] and weight[learner, model, point]; its
parameters are normal, but for holes (``room_of``) where a simpler candidate says the same. A
*fixed* model has only its evidence. Tables are relative to their largest value of a learner;
``scale[learner, model]`` puts a learner's models on one scale.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import BARE, CACHED, FLAGS, exp

# Whether there are clouds: without them half of all this is not compiled (``compile.population``).
CLOUDS = True
# Sums may be taken in any order: eight at a time.
SUMS = {**BARE, "fastmath": {"contract", "reassoc", "nsz"}}
LOG_ROOT = 0.9189385332046727  # log √2π
NARROWEST, WIDEST = 0.1, 3.0  # standard deviations that are considered
LEAST = 1e-300  # an integral that the prior leaves nothing of
NO_HOLE, BOTH, BELOW, ABOVE = 0.0, 1.0, 2.0, 3.0  # sides of its place on which a hole lies
ROOT_2 = math.sqrt(2.0)
SMALLEST_ROOM = 1e-9
MOST_UNSEEN = 20.0  # learners in a hole for each one outside of it


@njit(**SUMS)
def dot(a, b):
    total = 0.0
    for x in range(len(a)):
        total += a[x] * b[x]
    return total


@njit(**SUMS)
def sum_of(a):
    total = 0.0
    for x in range(len(a)):
        total += a[x]
    return total


@njit(**BARE)
def add_to(a, b):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] += b[i, k]


@njit(**BARE)
def priors_of(nodes, family, centre, width, offset, out):
    """out[group, model]: a normal's density at the nodes, times their distance."""
    for g in range(centre.shape[1]):
        for k in range(len(family)):
            f = family[k]
            x, row, middle, sd = nodes[f], out[g, k], centre[f, g] + offset[k], width[f, g]
            step = (x[1] - x[0]) / sd * math.exp(-LOG_ROOT)
            for a in range(len(x)):
                z = (x[a] - middle) / sd
                row[a] = step * exp(-0.5 * z * z)


@njit(**BARE)
def _gone(hole, mean, variance):
    """How much of a normal one coordinate of a hole takes; mean and variance of that part there."""
    d, e = int(hole[0]), int(hole[1])
    kind, at, width = hole[2], hole[3], hole[4]
    m, v = mean[d] - at, variance[d]
    if e >= 0:
        m -= mean[e]
        v += variance[e]
    total = v + width**2
    root = math.sqrt(total)
    if kind == BOTH:
        part = width / root * math.exp(-0.5 * m * m / total)
        return part, at + m * width**2 / total, v * width**2 / total
    sign = 1.0 if kind == BELOW else -1.0
    z = sign * m / root
    part = max(0.5 * math.erfc(z / ROOT_2), 1e-12)
    steep = math.exp(-0.5 * z * z - LOG_ROOT) / part
    there = total * max(1.0 + z * steep - steep**2, 0.0)
    pull = v / total
    return part, at + m - sign * pull * root * steep, v - v * pull + pull**2 * there


@njit(**BARE)
def room_of(holes, mean, variance):
    """The part of a population that holes leave: what its density is divided by.

    A model that contains a simpler candidate means people for whom the difference matters: its
    density has a hole where it is that candidate. A hole is a product over coordinates: [parameter,
    parameter subtracted or −1, kind, place, width, number of the hole].
    """
    room, taken, number = 1.0, 0.0, -1.0
    for c in range(len(holes)):
        if holes[c, 2] == NO_HOLE:
            break
        part = _gone(holes[c], mean, variance)[0]
        if holes[c, 5] != number:
            room *= 1.0 - taken
            taken, number = part, holes[c, 5]
        else:
            taken *= part
    return max(room * (1.0 - taken), SMALLEST_ROOM)


@njit(**BARE)
def out_of_holes(holes, d, m):
    """The nearest mean of a parameter that is in no hole that reaches to a bound."""
    for c in range(len(holes)):
        if holes[c, 2] == NO_HOLE:
            break
        if int(holes[c, 0]) == d:
            if holes[c, 2] == BELOW:
                m = max(m, holes[c, 3])
            elif holes[c, 2] == ABOVE:
                m = min(m, holes[c, 3])
    return m


@njit(**BARE)
def density_of(points, weight, centre, variance, dim, holes, out):
    """Each point's weight times its density under independent normals with holes."""
    log_norm = -math.log(room_of(holes, centre, variance))
    for d in range(dim):
        log_norm -= LOG_ROOT + 0.5 * math.log(variance[d])
    for p in range(len(weight)):
        out[p] = 0.0
    for d in range(dim):
        m, half = centre[d], -0.5 / variance[d]
        row = points[d]
        for p in range(len(weight)):
            out[p] += half * (row[p] - m) * (row[p] - m)
    for p in range(len(weight)):
        out[p] = weight[p] * exp(out[p] + log_norm)


@njit(**BARE)
def integrate_rated(rated, family, spread, group, prior, out):
    """out[learner, model] of the rated models."""
    for i in range(out.shape[0]):
        for k in range(len(family)):
            out[i, k] = dot(rated[spread[family[k]], i, k], prior[group[i], k]) + LEAST


@njit(**BARE)
def integrate_cloud(
    points, weight, dims, holes, group, mean, variance, shares, n_rated, j, only, buffer, out
):  # fmt: skip
    """out[learner, n_rated + j] of a cloud model with a share; in one group, or (−1) in all."""
    for i in range(out.shape[0]):
        g = group[i]
        if (only >= 0 and g != only) or shares[g, n_rated + j] == 0.0:
            continue
        here = mean[j, g], variance[j, g], dims[j], holes[j]
        density_of(points[i, j], weight[i, j], *here, buffer)
        out[i, n_rated + j] = sum_of(buffer) + LEAST


@njit(**BARE)
def integrate_clouds(
    points, weight, dims, holes, group, mean, variance, shares, n_rated, buffer, out
):  # fmt: skip
    """out[learner, n_rated + model] of the cloud models."""
    where = mean, variance, shares, n_rated
    if CLOUDS:
        for j in range(len(dims)):
            integrate_cloud(points, weight, dims, holes, group, *where, j, -1, buffer, out)


@njit(**BARE)
def moments_of(values, x, share, out):
    """Add the share-weighted moments of x under weights that are not normalised."""
    s0 = s1 = s2 = 0.0
    for p in range(len(values)):
        s0 += values[p]
        s1 += values[p] * x[p]
        s2 += values[p] * x[p] * x[p]
    if s0 > 0.0:
        out[0] += share
        out[1] += share * s1 / s0
        out[2] += share * s2 / s0


@njit(**CACHED)
def climb(
    rated, nodes, family, points, weight, dims, holes, scale, group, before, apart, spread_free,
    rounds, enough, spread, centre, width, offset, mean, variance, shares, integral, posterior,
):  # fmt: skip
    """EM from where the last arguments are, which are changed; returns the objective reached.

    ``before`` are the location and variance of the priors: (rated_mean[family],
    rated_variance[family], cloud_mean[model, parameter], cloud_variance[…], location_sd).
    ``apart`` gives every rated model a location; a model whose share is 0 keeps it.
    """
    n_rated, n_groups = len(family), len(shares)
    prior = np.empty((n_groups, n_rated, nodes.shape[1]))
    buffer = np.empty(weight.shape[2])
    old = -np.inf
    for step in range(rounds):
        priors_of(nodes, family, centre, width, offset, prior)
        if spread_free and n_rated > 0 and step % 6 == 3:
            _better_spreads(rated, family, group, scale, shares, prior, integral, spread, step > 3)
        integrate_rated(rated, family, spread, group, prior, integral)
        integrate_clouds(
            points, weight, dims, holes, group, mean, variance, shares, n_rated, buffer, integral
        )
        value = _posterior(scale, integral, shares, group, posterior)
        value += _log_priors(before, family, dims, centre, width, offset, mean, variance)
        if step > 8 and value - old < enough:
            return value
        old = value
        _mean_shares(group, posterior, shares)
        _move_families(
            rated, nodes, family, spread, group, prior, posterior, before, apart, centre, width,
            offset,
        )  # fmt: skip
        if CLOUDS:
            _move_clouds(
                points, weight, dims, holes, group, n_rated, posterior, before, buffer, mean,
                variance,
            )  # fmt: skip
    return old


@njit(**BARE)
def _mean_shares(group, posterior, shares):
    """Of every group, the mean of what its learners use."""
    n_groups, n_models = shares.shape
    for g in range(n_groups):
        total = 0.0
        for k in range(n_models):
            shares[g, k] = 0.0
            for i in range(len(group)):
                if group[i] == g:
                    shares[g, k] += posterior[i, k]
            total += shares[g, k]
        for k in range(n_models):
            shares[g, k] /= max(total, LEAST)


@njit(**BARE)
def _posterior(scale, integral, shares, group, out):
    """out[learner, model], and the log-likelihood of all learners, but for their scales."""
    total = 0.0
    for i in range(len(scale)):
        each = 0.0
        for k in range(scale.shape[1]):
            out[i, k] = shares[group[i], k] * scale[i, k] * integral[i, k]
            each += out[i, k]
        each = max(each, LEAST)
        for k in range(scale.shape[1]):
            out[i, k] /= each
        total += math.log(each)
    return total


@njit(**BARE)
def log_location(x, m, sd):
    return -0.5 * ((x - m) / sd) ** 2


@njit(**BARE)
def log_variance(v, v0):
    """As a function of the log of v: √v is half-Cauchy, and may be far smaller than √v0."""
    return 0.5 * math.log(v) - math.log(1.0 + v / v0)


@njit(**BARE)
def likely_variance(left, count, v0):
    """The best, given ``count`` squares that sum to ``left``."""
    left, n = max(left, 0.0), 1.0 + count
    half = 0.5 * (left + (1.0 - count) * v0)
    return min(max((half + math.sqrt(half**2 + n * left * v0)) / n, NARROWEST**2), WIDEST**2)


@njit(**BARE)
def _log_priors(before, family, dims, centre, width, offset, mean, variance):
    rated_mean, rated_variance, cloud_mean, cloud_variance, sd = before
    total = 0.0
    for f in range(len(centre)):
        for g in range(centre.shape[1]):
            total += log_location(centre[f, g], rated_mean[f], sd)
            total += log_variance(width[f, g] ** 2, rated_variance[f])
    for k in range(len(family)):
        total += log_location(offset[k], 0.0, sd)
    for j in range(len(dims)):
        for g in range(mean.shape[1]):
            for d in range(dims[j]):
                total += log_location(mean[j, g, d], cloud_mean[j, d], sd)
                total += log_variance(variance[j, g, d], cloud_variance[j, d])
    return total


@njit(**BARE)
def _better_spreads(
    rated, family, group, scale, shares, prior, integral, spread, next_only
):  # fmt: skip
    """Of every family the spread of cells, the neighbours or all, that explains learners best."""
    for f in range(len(spread)):
        before, best, value = spread[f], spread[f], -np.inf
        first = max(0, before - 1) if next_only else 0
        last = min(len(rated), before + 2) if next_only else len(rated)
        for s in range(first, last):
            spread[f] = s
            integrate_rated(rated, family, spread, group, prior, integral)
            total = 0.0
            for i in range(len(scale)):
                each = 0.0
                for k in range(scale.shape[1]):
                    each += shares[group[i], k] * scale[i, k] * integral[i, k]
                total += math.log(max(each, LEAST))
            if total > value:
                best, value = s, total
        spread[f] = best


@njit(**FLAGS)
def _move_families(
    rated, nodes, family, spread, group, prior, posterior, before, apart, centre, width, offset
):  # fmt: skip
    """The M-step of centres, widths and, if models stand apart, offsets."""
    rated_mean, rated_variance, _, _, sd = before
    n_groups = centre.shape[1]
    sums = np.zeros((n_groups, len(family), 3))
    joint = np.empty(nodes.shape[1])
    for i in range(len(posterior)):
        g = group[i]
        for k in range(len(family)):
            if posterior[i, k] < 1e-8:
                continue
            table = rated[spread[family[k]], i, k]
            for a in range(len(joint)):
                joint[a] = table[a] * prior[g, k, a]
            moments_of(joint, nodes[family[k]], posterior[i, k], sums[g, k])
    for f in range(len(centre)):
        for g in range(n_groups):
            count = first = second = 0.0
            for k in range(len(family)):
                if family[k] == f:
                    s0, s1, s2 = sums[g, k, 0], sums[g, k, 1], sums[g, k, 2]
                    d = offset[k]
                    count += s0
                    first += s1 - d * s0
                    second += s2 - 2.0 * d * s1 + d * d * s0
            pull = width[f, g] ** 2 / sd**2
            m = (first + pull * rated_mean[f]) / (count + pull)
            left = second - 2.0 * m * first + m * m * count
            centre[f, g] = m
            width[f, g] = math.sqrt(likely_variance(left, count, rated_variance[f]))
    if apart:
        for k in range(len(family)):
            weight, total = 1.0 / sd**2, 0.0
            for g in range(n_groups):
                v = width[family[k], g] ** 2
                weight += sums[g, k, 0] / v
                total += (sums[g, k, 1] - sums[g, k, 0] * centre[family[k], g]) / v
            offset[k] = total / weight


@njit(**BARE)
def _add_unseen(holes, mean, variance, sums):
    """The moments of those whom a normal would have put into the holes, were there none."""
    c = 0
    while c < len(holes) and holes[c, 2] != NO_HOLE:
        last, part = c, 1.0
        while last < len(holes) and holes[last, 2] != NO_HOLE and holes[last, 5] == holes[c, 5]:
            part *= _gone(holes[last], mean, variance)[0]
            last += 1
        times = min(part / max(1.0 - part, SMALLEST_ROOM), MOST_UNSEEN)
        for x in range(c, last):
            _, m, v = _gone(holes[x], mean, variance)
            d, e = int(holes[x, 0]), int(holes[x, 1])
            whole, middle = variance[d], mean[d]
            if e >= 0:
                whole += variance[e]
                middle -= mean[e]
            for sign, y in ((1.0, d), (-1.0, e)):
                if y < 0:
                    continue
                pull = variance[y] / whole
                first = mean[y] + sign * pull * (m - middle)
                second = variance[y] * (1.0 - pull) + pull**2 * v + first**2
                count = times * sums[y, 0]
                sums[y, 0] += count
                sums[y, 1] += count * first
                sums[y, 2] += count * second
        c = last


@njit(**FLAGS)
def _move_clouds(
    points, weight, dims, holes, group, n_rated, posterior, before, buffer, mean, variance
):  # fmt: skip
    """The M-step of the clouds' means and variances."""
    _, _, cloud_mean, cloud_variance, sd = before
    n_groups = mean.shape[1]
    for j in range(len(dims)):
        sums = np.zeros((n_groups, dims[j], 3))
        for i in range(len(posterior)):
            share, g = posterior[i, n_rated + j], group[i]
            if share < 1e-8:
                continue
            here = mean[j, g], variance[j, g], dims[j], holes[j]
            density_of(points[i, j], weight[i, j], *here, buffer)
            for d in range(dims[j]):
                moments_of(buffer, points[i, j, d], share, sums[g, d])
        for g in range(n_groups):
            _add_unseen(holes[j], mean[j, g], variance[j, g], sums[g])
            for d in range(dims[j]):
                s0, s1, s2 = sums[g, d, 0], sums[g, d, 1], sums[g, d, 2]
                pull = variance[j, g, d] / sd**2
                m = (s1 + pull * cloud_mean[j, d]) / (s0 + pull)
                m = out_of_holes(holes[j], d, m)
                left = s2 - 2.0 * m * s1 + m * m * s0
                mean[j, g, d] = m
                variance[j, g, d] = likely_variance(left, s0, cloud_variance[j, d])


@njit(**CACHED)
def judge(
    rated, nodes, family, points, weight, dims, holes, scale, group, hyper, shares, posterior,
    evidence,
):  # fmt: skip
    """``posterior`` and ``evidence`` of learners, averaged over draws of all the rest."""
    centre, width, spread, offset, mean, variance = hyper
    n_rated = len(family)
    prior = np.empty((shares.shape[1], n_rated, nodes.shape[1]))
    buffer, each = np.empty(weight.shape[2]), np.empty(scale.shape)
    integral = np.ones(scale.shape)
    for x in range(len(shares)):
        priors_of(nodes, family, centre[x], width[x], offset[x], prior)
        integrate_rated(rated, family, spread[x], group, prior, integral)
        where = mean[x], variance[x], shares[x]
        integrate_clouds(points, weight, dims, holes, group, *where, n_rated, buffer, integral)
        _posterior(scale, integral, shares[x], group, each)
        add_to(posterior, each)
        add_to(evidence, integral)
    for i in range(len(scale)):
        for k in range(scale.shape[1]):
            posterior[i, k] /= len(shares)
            evidence[i, k] /= len(shares)
