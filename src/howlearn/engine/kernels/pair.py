"""The Gradient Bandit in gain form with two actions and rewards ≥ 0, many rates at once.

The same recursion as ``rules.gradient_bandit``, written for the pair of probabilities (p, q) of
the chosen and the other action: q ← q·exp(−2ηg·q), then both are divided by their sum. One exp, one
division, no cancellation. ``engine.compile`` puts it in the place of ``general``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.numeric import (
    FLAGS,
    LANES,
    exp,
    exponent_of,
    log_of_product,
    mantissa_of,
)

# A cell of the grid's buffer: rate, p of the first action, p of the second, product, exponent.
ETA, FIRST, SECOND, PRODUCT, EXPONENT = 0, 1, 2, 3, 4
FIELDS = 5
# A row of the probe's buffer has the same, then the logit's slope and the sum of the gradient.
P_ETA, P_FIRST, P_SECOND, P_PRODUCT, P_EXPONENT = 0, LANES, 2 * LANES, 3 * LANES, 4 * LANES
P_SLOPE, P_GRADIENT = 5 * LANES, 6 * LANES
P_FIELDS = 7


@njit(**FLAGS)
def scratch_space(n_actions, rates, offered):
    """This kernel needs none."""
    return np.empty((0, 0))


@njit(**FLAGS)
def on_offer(scratch, n_actions, offered, t):
    """Both actions always are: where they are not, ``general`` does the work."""


@njit(**FLAGS)
def grid_buffer(n_rows, n_actions, rates):
    """One block of fields per cell."""
    buffer = np.empty((n_rows, FIELDS, rates.shape[1]))
    for row in range(n_rows):
        for i in range(rates.shape[1]):
            buffer[row, ETA, i] = rates[0, i]
            buffer[row, PRODUCT, i] = 1.0
            buffer[row, EXPONENT, i] = 0.0
    return buffer


@njit(**FLAGS)
def forget(buffer, n_actions):
    """Every cell is back at its start."""
    for row in range(len(buffer)):
        cell = buffer[row]
        for i in range(cell.shape[1]):
            cell[FIRST, i] = 0.5
            cell[SECOND, i] = 0.5


@njit(inline="always", **FLAGS)
def visit(cell, scratch, n_actions, action, gain, scored, learned):
    """One trial of one cell, for all rates; a reward of 0 moves nothing."""
    rates = cell.shape[1]
    if action == 0:
        if scored:
            for i in range(rates):
                cell[PRODUCT, i] *= cell[FIRST, i]
        if learned and gain != 0.0:
            for i in range(rates):
                p = cell[FIRST, i]
                q = cell[SECOND, i]
                q = q * exp(-2.0 * cell[ETA, i] * gain * q)
                s = 1.0 / (p + q)
                cell[FIRST, i] = p * s
                cell[SECOND, i] = q * s
    else:
        if scored:
            for i in range(rates):
                cell[PRODUCT, i] *= cell[SECOND, i]
        if learned and gain != 0.0:
            for i in range(rates):
                p = cell[SECOND, i]
                q = cell[FIRST, i]
                q = q * exp(-2.0 * cell[ETA, i] * gain * q)
                s = 1.0 / (p + q)
                cell[SECOND, i] = p * s
                cell[FIRST, i] = q * s


@njit(**FLAGS)
def move_exponents(cell, n_actions):
    """Keep the products from underflowing: their powers of two go into a counter."""
    for i in range(cell.shape[1]):
        product = cell[PRODUCT, i]
        cell[EXPONENT, i] += exponent_of(product)
        cell[PRODUCT, i] = mantissa_of(product)


@njit(**FLAGS)
def log_likelihood(cell, n_actions, total):
    """Add the log-likelihoods of a cell to those of its unit."""
    for i in range(len(total)):
        total[i] += log_of_product(cell[PRODUCT, i], cell[EXPONENT, i])


@njit(**FLAGS)
def probe_buffer(first_row, n_actions, points):
    """One row per cell, each with the points of its unit."""
    buffer = np.zeros((first_row[-1], P_FIELDS * LANES))
    for k in range(len(first_row) - 1):
        for row in range(first_row[k], first_row[k + 1]):
            for i in range(LANES):
                buffer[row, P_ETA + i] = points[k, 0, i]
                buffer[row, P_PRODUCT + i] = 1.0
    return buffer


@njit(**FLAGS)
def probe_forget(buffer, n_actions):
    """Every cell is back at its start, where its state depends on no parameter."""
    for row in range(len(buffer)):
        cell = buffer[row]
        for i in range(LANES):
            cell[P_FIRST + i] = 0.5
            cell[P_SECOND + i] = 0.5
            cell[P_SLOPE + i] = 0.0


@njit(inline="always", **FLAGS)
def probe_visit(cell, scratch, n_actions, action, gain, scored, learned):
    """One trial of one cell, with the derivative of its logit."""
    lanes = len(cell) // P_FIELDS  # LANES; a constant would be unrolled and then not vectorised
    if action == 0:
        if scored:
            for i in range(lanes):
                cell[P_PRODUCT + i] *= cell[P_FIRST + i]
                cell[P_GRADIENT + i] += cell[P_SECOND + i] * cell[P_SLOPE + i]
        if learned and gain != 0.0:
            for i in range(lanes):
                p = cell[P_FIRST + i]
                q = cell[P_SECOND + i]
                step = 2.0 * cell[P_ETA + i] * gain
                cell[P_SLOPE + i] = cell[P_SLOPE + i] * (1.0 - step * p * q) + 2.0 * gain * q
                q = q * exp(-step * q)
                s = 1.0 / (p + q)
                cell[P_FIRST + i] = p * s
                cell[P_SECOND + i] = q * s
    else:
        if scored:
            for i in range(lanes):
                cell[P_PRODUCT + i] *= cell[P_SECOND + i]
                cell[P_GRADIENT + i] -= cell[P_FIRST + i] * cell[P_SLOPE + i]
        if learned and gain != 0.0:
            for i in range(lanes):
                p = cell[P_SECOND + i]
                q = cell[P_FIRST + i]
                step = 2.0 * cell[P_ETA + i] * gain
                cell[P_SLOPE + i] = cell[P_SLOPE + i] * (1.0 - step * p * q) - 2.0 * gain * q
                q = q * exp(-step * q)
                s = 1.0 / (p + q)
                cell[P_SECOND + i] = p * s
                cell[P_FIRST + i] = q * s


@njit(**FLAGS)
def probe_move_exponents(cell, n_actions):
    """As ``move_exponents``."""
    for i in range(LANES):
        product = cell[P_PRODUCT + i]
        cell[P_EXPONENT + i] += exponent_of(product)
        cell[P_PRODUCT + i] = mantissa_of(product)


@njit(**FLAGS)
def probe_log_likelihood(cell, n_actions, i):
    """The log-likelihood of a cell so far, in lane i."""
    return log_of_product(cell[P_PRODUCT + i], cell[P_EXPONENT + i])


@njit(**FLAGS)
def probe_gradient(cell, n_actions, d, i):
    """Its derivative in the rate."""
    return cell[P_GRADIENT + i]
