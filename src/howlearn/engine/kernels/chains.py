"""One chain of a population's sampler: hyperparameters, labels and shares in turn.

Every sweep: centres and widths of families by Metropolis with labels and effects summed out; what
every learner uses, and at which point; shares; then centres, offsets, widths and spreads of
families and means and variances of clouds, given these.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from howlearn.engine.kernels.leaps import (
    LEAN,
    copy_to,
    exchange,
    leap,
    log_all,
    log_owner,
    set_to,
)
from howlearn.engine.kernels.numeric import BARE, CACHED, FLAGS
from howlearn.engine.kernels.population import (
    CLOUDS,
    LEAST,
    NARROWEST,
    NO_HOLE,
    WIDEST,
    add_to,
    density_of,
    dot,
    integrate_clouds,
    integrate_rated,
    log_location,
    log_variance,
    out_of_holes,
    priors_of,
    room_of,
    sum_of,
)

RAREST = 1e-12  # a share: any learner's trials may still speak for the model
SELDOM = 2  # sweeps between two attempts to exchange learners
STEPS = 8  # of Metropolis for a parameter of a model with holes, per sweep


@njit(**BARE)
def _pick(values, total):
    """A place drawn in proportion to values."""
    left, last = np.random.random() * total, len(values) - 1
    for x in range(last):
        left -= values[x]
        if left < 0.0:
            return x
    return last


@njit(**BARE)
def _pick_log(values):
    top = values[0]
    for x in range(len(values)):
        top = max(top, values[x])
    for x in range(len(values)):
        values[x] = math.exp(values[x] - top)
    return _pick(values, sum_of(values))


@njit(**BARE)
def _draw_labels(
    owner, scale, integral, group, shares, kept, keeps, each, row, label, held, posterior
):  # fmt: skip
    """What every owner uses; ``posterior`` gains how probable that was of every row and model."""
    n_models = scale.shape[1]
    for o in range(len(owner) - 1):
        _, same = log_owner(owner, o, scale, integral, group, shares, kept, keeps, each)
        every = max(sum_of(each), LEAST)
        held[o] = same > 0.0 and np.random.random() < same
        common = _pick(each, every) if held[o] else 0
        for i in range(owner[o], owner[o + 1]):
            total = 0.0
            for k in range(n_models):
                row[k] = shares[group[i], k] * scale[i, k] * integral[i, k]
                total += row[k]
            total = max(total, LEAST)
            for k in range(n_models):
                posterior[i, k] += same * each[k] / every + (1.0 - same) * row[k] / total
            label[i] = common if held[o] else _pick(row, total)


@njit(**BARE)
def _draw_points(
    rated, nodes, family, spread, points, weight, dims, holes, group, prior, mean, variance, label,
    joint, buffer, at,
):  # fmt: skip
    """At which node or point every learner's model stands."""
    n_rated = len(family)
    for i in range(len(label)):
        k, g = label[i], group[i]
        if k < n_rated:
            table = rated[spread[family[k]], i, k]
            for a in range(len(joint)):
                joint[a] = table[a] * prior[g, k, a]
            at[i] = _pick(joint, sum_of(joint))
            continue
        if CLOUDS:
            j = k - n_rated
            if j < len(dims):
                here = mean[j, g], variance[j, g], dims[j], holes[j]
                density_of(points[i, j], weight[i, j], *here, buffer)
                at[i] = _pick(buffer, sum_of(buffer))


@njit(**BARE)
def _dirichlet(counts, out):
    total = 0.0
    for k in range(len(counts)):
        out[k] = max(np.random.gamma(counts[k], 1.0), RAREST)
        total += out[k]
    for k in range(len(counts)):
        out[k] /= total


@njit(**BARE)
def _draw_typical(counts, alpha, typical, row):
    """What the shares of several groups are drawn around, given how many use what in each.

    These count for LEAN learners of every group, so that a small group, or one whose trials tell
    little, is a priori like the others. Of those who use a model, the first and some of the others
    stand for draws from the typical shares themselves (Antoniak's counts).
    """
    for k in range(counts.shape[1]):
        row[k] = alpha
        mass = LEAN * typical[k]
        for g in range(counts.shape[0]):
            for x in range(counts[g, k]):
                row[k] += np.random.random() * (mass + x) < mass
    _dirichlet(row, typical)


@njit(**BARE)
def _draw_shares(
    owner, group, label, held, alpha, paired, shares, kept, typical, counts, row
):  # fmt: skip
    """Shares of every group, those of models that are kept, and how many owners keep theirs."""
    n_groups, n_models = shares.shape
    keep = 0
    for k in range(n_models):
        row[k] = alpha
        for g in range(n_groups):
            counts[g, k] = 0
    for o in range(len(owner) - 1):
        if held[o]:
            row[label[owner[o]]] += 1.0
            keep += 1
            continue
        for i in range(owner[o], owner[o + 1]):
            counts[group[i], label[i]] += 1
    if paired:
        _dirichlet(row, kept)
    mass = alpha * n_models
    if n_groups > 1:
        mass = LEAN
        _draw_typical(counts, alpha, typical, row)
    for g in range(n_groups):
        for k in range(n_models):
            row[k] = max(mass * typical[k], LEAST) + counts[g, k]
        _dirichlet(row, shares[g])
    if not paired:
        return 0.0
    yes, no = np.random.gamma(1.0 + keep, 1.0), np.random.gamma(len(owner) - keep + 0.0, 1.0)
    return yes / (yes + no)


@njit(**BARE)
def _variance(left, count, before, now):
    """A draw, given ``count`` squares: the half-Cauchy prior is a mixture of inverse gammas."""
    scale = np.random.gamma(1.0, 1.0) / (1.0 / before + 1.0 / now)
    found = (0.5 * left + scale) / np.random.gamma(0.5 * (count + 1.0), 1.0)
    return min(max(found, NARROWEST**2), WIDEST**2)


@njit(**FLAGS)
def _draw_families(
    nodes, family, group, label, at, before, apart, sds, free_width, centre, width, offset, sd_of
):  # fmt: skip
    """Centres, offsets with their spread, and widths, given labels and effects."""
    rated_mean, rated_variance, _, _, sd = before
    n_rated = len(family)
    for f in range(len(centre)):
        for g in range(centre.shape[1]):
            count = total = 0.0
            for i in range(len(label)):
                k = label[i]
                if group[i] == g and k < n_rated and family[k] == f:
                    count += 1.0
                    total += nodes[f, at[i]] - offset[k]
            pull = width[f, g] ** 2 / sd**2
            middle = (total + pull * rated_mean[f]) / (count + pull)
            centre[f, g] = middle + width[f, g] / math.sqrt(count + pull) * np.random.normal()
    if apart:
        for k in range(n_rated):
            f = family[k]
            precision, total = 1.0 / sd_of[f] ** 2, 0.0
            for i in range(len(label)):
                if label[i] == k:
                    v = width[f, group[i]] ** 2
                    precision += 1.0 / v
                    total += (nodes[f, at[i]] - centre[f, group[i]]) / v
            offset[k] = total / precision + np.random.normal() / math.sqrt(precision)
        for f in range(len(centre)):
            log_p = np.empty(len(sds))
            for x in range(len(sds)):
                log_p[x] = 0.0
            for k in range(n_rated):
                if family[k] == f:
                    for x in range(len(sds)):
                        log_p[x] -= math.log(sds[x]) + 0.5 * (offset[k] / sds[x]) ** 2
            sd_of[f] = sds[_pick_log(log_p)]
    if not free_width:
        return
    for f in range(len(centre)):
        for g in range(centre.shape[1]):
            count = left = 0.0
            for i in range(len(label)):
                k = label[i]
                if group[i] == g and k < n_rated and family[k] == f:
                    count += 1.0
                    left += (nodes[f, at[i]] - centre[f, g] - offset[k]) ** 2
            width[f, g] = math.sqrt(_variance(left, count, rated_variance[f], width[f, g] ** 2))


@njit(**FLAGS)
def _draw_spreads(rated, family, spread, group, label, prior):
    """The spread of every family's cells, given labels, with the effects summed out."""
    for f in range(len(spread)):
        log_p = np.empty(len(rated))
        for s in range(len(rated)):
            log_p[s] = 0.0
        for i in range(len(label)):
            k = label[i]
            if k < len(family) and family[k] == f:
                for s in range(len(rated)):
                    log_p[s] += math.log(dot(rated[s, i, k], prior[group[i], k]) + LEAST)
        spread[f] = _pick_log(log_p)


@njit(**BARE)
def _draw_clouds(points, dims, holes, group, label, at, n_rated, before, mean, variance):
    """Means and variances given points: drawn at once, or by steps where there are holes."""
    _, _, cloud_mean, cloud_variance, sd = before
    for j in range(len(dims)):
        holed = holes.shape[1] > 0 and holes[j, 0, 2] != NO_HOLE
        for g in range(mean.shape[1]):
            for d in range(dims[j]):
                count = total = square = 0.0
                for i in range(len(label)):
                    if label[i] == n_rated + j and group[i] == g:
                        x = points[i, j, d, at[i]]
                        count += 1.0
                        total += x
                        square += x * x
                m0, v0 = cloud_mean[j, d], cloud_variance[j, d]
                if holed:
                    found = count, total, square
                    _walk(holes[j], mean[j, g], variance[j, g], d, found, m0, v0, sd)
                    continue
                pull = variance[j, g, d] / sd**2
                m = (total + pull * m0) / (count + pull)
                m += math.sqrt(variance[j, g, d] / (count + pull)) * np.random.normal()
                mean[j, g, d] = m
                left = max(square - 2.0 * m * total + m * m * count, 0.0)
                variance[j, g, d] = _variance(left, count, v0, variance[j, g, d])


@njit(**BARE)
def _log_density(holes, mean, variance, d, found, m0, v0, sd):
    """Of one parameter's mean and log variance, given the points of those who use the model."""
    count, total, square = found
    m, v = mean[d], variance[d]
    left = square - 2.0 * m * total + m * m * count
    fits = -0.5 * (count * math.log(v) + left / v) - count * math.log(
        room_of(holes, mean, variance)
    )
    return fits + log_location(m, m0, sd) + log_variance(v, v0)


@njit(**BARE)
def _walk(holes, mean, variance, d, found, m0, v0, sd):
    """Steps of Metropolis, small and large ones, in a mean and a log variance.

    What a hole hides may reach far: the points alone would say another mean, nearly all of which
    the hole rules out.
    """
    now = _log_density(holes, mean, variance, d, found, m0, v0, sd)
    for _ in range(STEPS):
        m, v = mean[d], variance[d]
        size = math.exp(np.random.normal()) / math.sqrt(found[0] + 1.0)
        mean[d] = m + size * math.sqrt(v0) * np.random.normal()
        variance[d] = v * math.exp(size * np.random.normal())
        if NARROWEST**2 <= variance[d] <= WIDEST**2 and out_of_holes(holes, d, mean[d]) == mean[d]:
            new = _log_density(holes, mean, variance, d, found, m0, v0, sd)
            if math.log(np.random.random()) < new - now:
                now = new
                continue
        mean[d], variance[d] = m, v


@njit(**CACHED)
def sample(
    rated, nodes, family, points, weight, dims, holes, scale, pairs, group, owner, before, apart,
    sds, free_width, alpha, paired, seed, burn, sweeps, every, spread, centre, width, offset, mean,
    variance, shares, out_shares, out_keeps, out_hyper, posterior, evidence,
):  # fmt: skip
    """One chain from where the state is, which is changed.

    ``out_shares[sweep, group, model]`` are the shares drawn; ``posterior`` and ``evidence``
    [learner, model] the means over sweeps of how probable each model is, and of its integral.
    ``out_hyper`` = (centre, width, spread, offset, mean, variance), each with a first axis for
    every ``every``-th sweep.
    """
    np.random.seed(seed)
    n, n_models = scale.shape
    n_rated = len(family)
    integral, trial = np.empty((n, n_models)), np.empty((n, n_models))
    unused = np.empty((n, n_models))
    set_to(integral, 1.0)
    set_to(unused, 0.0)
    new_centre, new_width = np.empty(centre.shape), np.empty(width.shape)
    prior = np.empty((shares.shape[0], n_rated, nodes.shape[1]))
    joint, buffer = np.empty(nodes.shape[1]), np.empty(weight.shape[2])
    each, row = np.empty(n_models), np.empty(n_models)
    label, at = np.empty(n, np.int64), np.empty(n, np.int64)
    held = np.empty(len(owner) - 1, np.int64)
    kept, typical, keeps = np.empty(n_models), np.empty(n_models), 0.5 if paired else 0.0
    counts = np.empty(shares.shape, np.int64)
    for i in range(n):
        at[i] = 0  # of fixed models, too
    for k in range(n_models):
        kept[k] = typical[k] = 1.0 / n_models
    reach, sd_of = np.empty(len(spread)), np.empty(len(spread))
    for f in range(len(spread)):
        reach[f], sd_of[f] = 1.0, sds[len(sds) // 2]
    for sweep in range(-burn, sweeps):
        priors_of(nodes, family, centre, width, offset, prior)
        integrate_rated(rated, family, spread, group, prior, integral)
        integrate_clouds(
            points, weight, dims, holes, group, mean, variance, shares, n_rated, buffer, integral
        )
        if len(spread) > 0:
            now = log_all(owner, scale, integral, group, shares, kept, keeps, each)
            for f in range(len(spread)):
                now, moved = leap(
                    rated, nodes, family, spread, group, before, centre, width, offset,
                    free_width, prior, owner, scale, integral, trial, shares, kept, keeps,
                    each, now, f, reach[f], new_centre, new_width,
                )  # fmt: skip
                if sweep < 0:  # about three in ten moves are taken
                    reach[f] = min(reach[f] * (1.1 if moved else 0.96), 3.0)
            priors_of(nodes, family, centre, width, offset, prior)  # not of what failed
        if CLOUDS and len(pairs) > 0 and sweep % SELDOM == 0:
            exchange(
                points, weight, dims, holes, pairs, group, before, mean, variance, owner,
                scale, integral, trial, shares, kept, typical, keeps, each, buffer, n_rated,
            )  # fmt: skip
        told = posterior if sweep >= 0 else unused
        _draw_labels(
            owner, scale, integral, group, shares, kept, keeps, each, row, label, held, told
        )
        if sweep >= 0:
            add_to(evidence, integral)
        _draw_points(
            rated, nodes, family, spread, points, weight, dims, holes, group, prior, mean,
            variance, label, joint, buffer, at,
        )  # fmt: skip
        keeps = _draw_shares(
            owner, group, label, held, alpha, paired, shares, kept, typical, counts, row
        )
        _draw_families(
            nodes, family, group, label, at, before, apart, sds, free_width, centre, width,
            offset, sd_of,
        )  # fmt: skip
        priors_of(nodes, family, centre, width, offset, prior)
        _draw_spreads(rated, family, spread, group, label, prior)
        if CLOUDS:
            _draw_clouds(points, dims, holes, group, label, at, n_rated, before, mean, variance)
        if sweep >= 0:
            out_keeps[sweep] = keeps
            for g in range(shares.shape[0]):
                for k in range(n_models):
                    out_shares[sweep, g, k] = keeps * kept[k] + (1.0 - keeps) * shares[g, k]
            if sweep % every == every - 1:
                x = sweep // every
                copy_to(out_hyper[0][x], centre)
                copy_to(out_hyper[1][x], width)
                for f in range(len(spread)):
                    out_hyper[2][x, f] = spread[f]
                for k in range(n_rated):
                    out_hyper[3][x, k] = offset[k]
                for j in range(len(dims)):
                    copy_to(out_hyper[4][x, j], mean[j])
                    copy_to(out_hyper[5][x, j], variance[j])
    for i in range(n):
        for k in range(n_models):
            posterior[i, k] /= sweeps
            evidence[i, k] /= sweeps
