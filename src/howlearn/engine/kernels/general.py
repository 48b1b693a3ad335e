"""Any rule, any number of actions, many parameter points at once.

A cell keeps the preference h of every action; p = softmax(h). The log-likelihood is kept as
Σ(h_chosen − max h) − log Π Σ_a exp(h_a − max h): exact however improbable a choice was, and the
product only ever grows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import N_PARAMETERS, differential_at, update_at
from howlearn.engine.kernels.numeric import (
    BARE,
    FLAGS,
    LANES,
    exp,
    exponent_of,
    log_of_product,
    mantissa_of,
)

# Segments of a cell: parameters, preferences, Σ(h_chosen − max), product, exponent; a probe adds
# the derivatives of the preferences, parameter by parameter, and the sums of the gradient.


@njit(**FLAGS)
def scratch_space(n_actions, rates, offered):
    """exp(h − max) per action, max, sum, p of the chosen action, and two for derivatives.

    Where not all actions are always on offer, there is one more segment per action, which says
    whether it is.
    """
    more = n_actions if len(offered) else 0
    return np.empty((n_actions + 5 + more, rates.shape[1]))


@njit(**BARE)
def on_offer(scratch, n_actions, offered, t):
    """Note what is on offer at trial t."""
    for a in range(n_actions):
        scratch[n_actions + 5 + a, 0] = 1.0 if offered[t, a] else 0.0


@njit(**BARE)
def softmax_offered(cell, scratch, n_actions, lanes):
    """``softmax_parts`` of the actions on offer; the others have probability 0."""
    largest, total = scratch[n_actions], scratch[n_actions + 1]
    for i in range(lanes):
        largest[i] = -np.inf
        total[i] = 0.0
    for a in range(n_actions):
        if scratch[n_actions + 5 + a, 0] != 0.0:
            h = cell[N_PARAMETERS + a]
            for i in range(lanes):
                largest[i] = max(largest[i], h[i])
    for a in range(n_actions):
        weight = scratch[a]
        if scratch[n_actions + 5 + a, 0] != 0.0:
            h = cell[N_PARAMETERS + a]
            for i in range(lanes):
                e = exp(h[i] - largest[i])
                weight[i] = e
                total[i] += e
        else:
            for i in range(lanes):
                weight[i] = 0.0


@njit(**FLAGS)
def grid_buffer(n_rows, n_actions, rates):
    """One block of segments per cell."""
    buffer = np.zeros((n_rows, N_PARAMETERS + n_actions + 3, rates.shape[1]))
    for row in range(n_rows):
        for d in range(N_PARAMETERS):
            for i in range(rates.shape[1]):
                buffer[row, d, i] = rates[d, i]
        buffer[row, N_PARAMETERS + n_actions + 1, :] = 1.0
    return buffer


@njit(**FLAGS)
def forget(buffer, n_actions):
    """Every cell is back at its start."""
    buffer[:, N_PARAMETERS : N_PARAMETERS + n_actions] = 0.0


@njit(**BARE)
def softmax_parts(cell, scratch, n_actions, lanes):
    """exp(h − max), the max and the sum."""
    if len(scratch) > n_actions + 5:
        softmax_offered(cell, scratch, n_actions, lanes)
        return
    largest, total = scratch[n_actions], scratch[n_actions + 1]
    first = cell[N_PARAMETERS]
    if n_actions == 2:  # one of the two is exp(0)
        second = cell[N_PARAMETERS + 1]
        for i in range(lanes):
            d = second[i] - first[i]
            e = exp(-abs(d))
            largest[i] = max(first[i], second[i])
            scratch[0, i] = e if d > 0.0 else 1.0
            scratch[1, i] = 1.0 if d > 0.0 else e
            total[i] = 1.0 + e
        return
    for i in range(lanes):
        largest[i] = first[i]
        total[i] = 0.0
    for a in range(1, n_actions):
        h = cell[N_PARAMETERS + a]
        for i in range(lanes):
            largest[i] = max(largest[i], h[i])
    for a in range(n_actions):
        h = cell[N_PARAMETERS + a]
        weight = scratch[a]
        for i in range(lanes):
            e = exp(h[i] - largest[i])
            weight[i] = e
            total[i] += e


@njit(**BARE)
def score(cell, scratch, n_actions, action, lanes):
    """Count the choice."""
    largest, total = scratch[n_actions], scratch[n_actions + 1]
    h = cell[N_PARAMETERS + action]
    linear = cell[N_PARAMETERS + n_actions]
    product = cell[N_PARAMETERS + n_actions + 1]
    for i in range(lanes):
        linear[i] += h[i] - largest[i]
        product[i] *= total[i]


@njit(**BARE)
def probabilities(scratch, n_actions, action, lanes):
    """Turn exp(h − max) into probabilities, and keep that of the chosen action apart."""
    total, p_chosen = scratch[n_actions + 1], scratch[n_actions + 2]
    for i in range(lanes):
        total[i] = 1.0 / total[i]
    for a in range(n_actions):
        weight = scratch[a]
        for i in range(lanes):
            weight[i] *= total[i]
    chosen = scratch[action]
    for i in range(lanes):
        p_chosen[i] = chosen[i]


@njit(**BARE)
def update_all(cell, scratch, n_actions, action, feedback, lanes):
    """The rule, for every action."""
    p_chosen = scratch[n_actions + 2]
    for a in range(n_actions):
        h = cell[N_PARAMETERS + a]
        p = scratch[a]
        chosen = 1.0 if a == action else 0.0
        for i in range(lanes):
            h[i] = update_at(cell, i, h[i], p[i], chosen, p_chosen[i], feedback)


@njit(**BARE)
def visit(cell, scratch, n_actions, action, feedback, scored, learned):
    """One trial of one cell, for all rates."""
    lanes = cell.shape[1]  # a small constant would be unrolled, and not vectorised
    softmax_parts(cell, scratch, n_actions, lanes)
    if scored:
        score(cell, scratch, n_actions, action, lanes)
    if learned:
        probabilities(scratch, n_actions, action, lanes)
        update_all(cell, scratch, n_actions, action, feedback, lanes)


@njit(**BARE)
def shift_exponents(cell, n_actions, lanes):
    """Keep the products from overflowing: their powers of two go into a counter."""
    product = cell[N_PARAMETERS + n_actions + 1]
    exponent = cell[N_PARAMETERS + n_actions + 2]
    for i in range(lanes):
        exponent[i] += exponent_of(product[i])
        product[i] = mantissa_of(product[i])


@njit(**BARE)
def move_exponents(cell, n_actions):
    shift_exponents(cell, n_actions, cell.shape[1])


@njit(**BARE)
def log_likelihood(cell, n_actions, total):
    """Add the log-likelihoods of a cell to those of its unit."""
    for i in range(len(total)):
        total[i] += probe_log_likelihood(cell, n_actions, i)


@njit(**FLAGS)
def probe_buffer(first_row, n_actions, points):
    """One block of segments per cell, with derivatives, at the points of its unit."""
    segments = N_PARAMETERS + n_actions + 3 + N_PARAMETERS * (n_actions + 1)
    buffer = np.zeros((first_row[-1], segments, LANES))
    for k in range(len(first_row) - 1):
        for row in range(first_row[k], first_row[k + 1]):
            buffer[row, N_PARAMETERS + n_actions + 1, :] = 1.0
            for d in range(N_PARAMETERS):
                for i in range(LANES):
                    buffer[row, d, i] = points[k, d, i]
    return buffer


@njit(**FLAGS)
def probe_forget(buffer, n_actions):
    """Every cell is back at its start, where its state depends on no parameter."""
    forget(buffer, n_actions)
    first = N_PARAMETERS + n_actions + 3
    buffer[:, first : first + N_PARAMETERS * n_actions] = 0.0


@njit(**BARE)
def differentiate(cell, scratch, n_actions, action, feedback, scored, learned, d):
    """Move the derivatives in parameter d; preferences and probabilities are still the old ones."""
    first = N_PARAMETERS + n_actions + 3
    slopes, lanes = first + d * n_actions, cell.shape[1]
    p_chosen, mean, dp_chosen = (
        scratch[n_actions + 2],
        scratch[n_actions + 3],
        scratch[n_actions + 4],
    )
    for i in range(lanes):
        mean[i] = 0.0
    for a in range(n_actions):
        for i in range(lanes):
            mean[i] += scratch[a, i] * cell[slopes + a, i]
    for i in range(lanes):
        dp_chosen[i] = p_chosen[i] * (cell[slopes + action, i] - mean[i])
    if scored:
        gradient = first + N_PARAMETERS * n_actions + d
        for i in range(lanes):
            cell[gradient, i] += cell[slopes + action, i] - mean[i]
    if learned:
        for a in range(n_actions):
            chosen = 1.0 if a == action else 0.0
            for i in range(lanes):
                p = scratch[a, i]
                dh = cell[slopes + a, i]
                cell[slopes + a, i] = differential_at(
                    cell,
                    i,
                    d,
                    cell[N_PARAMETERS + a, i],
                    dh,
                    p,
                    p * (dh - mean[i]),
                    chosen,
                    p_chosen[i],
                    dp_chosen[i],
                    feedback,
                )


@njit(**BARE)
def probe_visit(cell, scratch, n_actions, action, feedback, scored, learned):
    """One trial of one cell, with the derivatives of its preferences."""
    lanes = cell.shape[1]
    softmax_parts(cell, scratch, n_actions, lanes)
    if scored:
        score(cell, scratch, n_actions, action, lanes)
    probabilities(scratch, n_actions, action, lanes)
    for d in range(N_PARAMETERS):
        differentiate(cell, scratch, n_actions, action, feedback, scored, learned, d)
    if learned:
        update_all(cell, scratch, n_actions, action, feedback, lanes)


@njit(**BARE)
def probe_move_exponents(cell, n_actions):
    shift_exponents(cell, n_actions, cell.shape[1])


@njit(**BARE)
def probe_log_likelihood(cell, n_actions, i):
    """The log-likelihood of a cell so far, in lane i."""
    at = N_PARAMETERS + n_actions
    return cell[at, i] - log_of_product(cell[at + 1, i], cell[at + 2, i])


@njit(**BARE)
def probe_gradient(cell, n_actions, d, i):
    """Its derivative in parameter d."""
    return cell[N_PARAMETERS + n_actions + 3 + N_PARAMETERS * n_actions + d, i]
