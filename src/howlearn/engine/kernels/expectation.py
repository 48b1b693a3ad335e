"""The expected log-likelihood of a record whose true probabilities are known, at several points."""

from __future__ import annotations

import numpy as np
from numba import njit

from howlearn.engine.kernels.example import N_PARAMETERS
from howlearn.engine.kernels.general import probabilities, softmax_parts, update_all
from howlearn.engine.kernels.numeric import (
    CACHED,
    FLAGS,
    LEARNED,
    RESET,
    SCORED,
    exponent_of,
    log_of_product,
    mantissa_of,
    unowned,
)

POINTS = 32  # in the lanes of a pass
EVERY = 16  # scored visits between two moves of exponents


@njit(**CACHED)
def expected(context, action, feedback, flags, cell_of, points, p_true, first, out):
    """out[cell, lane] = Σ over scored trials from ``first`` on of Σ_a p*(a) log p(a).

    points[cell, parameter, lane] are the parameters of each cell in each lane.
    """
    n_actions = p_true.shape[1]
    owner = np.zeros((len(points), N_PARAMETERS + n_actions + 3, POINTS))
    space = np.empty((n_actions + 5, POINTS))
    _trials(
        context, action, feedback, flags, cell_of, points, p_true, first, owner, space, out
    )  # fmt: skip


@njit(**FLAGS)
def _trials(context, action, feedback, flags, cell_of, points, p_true, first, owner, space, out):
    """The trials of ``expected``, one after the other, in the cells of ``owner``."""
    n_cells, n_actions = len(points), p_true.shape[1]
    buffer, scratch = unowned(owner), unowned(space)
    visits = np.zeros(n_cells, np.int64)
    last = N_PARAMETERS + n_actions
    buffer[:, :N_PARAMETERS] = points
    buffer[:, last + 1] = 1.0
    for t in range(len(context)):
        if flags[t] & RESET:
            buffer[:, N_PARAMETERS:last] = 0.0
        c = cell_of[context[t]]
        if c < 0:
            continue
        cell = buffer[c]
        softmax_parts(cell, scratch, n_actions, POINTS)
        if t >= first and flags[t] & SCORED:
            largest, total = scratch[n_actions], scratch[n_actions + 1]
            linear, product = cell[last], cell[last + 1]
            for a in range(n_actions):
                h, share = cell[N_PARAMETERS + a], p_true[t, a]
                for i in range(POINTS):
                    linear[i] += share * (h[i] - largest[i])
            for i in range(POINTS):
                product[i] *= total[i]
            visits[c] += 1
            if visits[c] == EVERY:
                visits[c] = 0
                for i in range(POINTS):
                    cell[last + 2, i] += exponent_of(cell[last + 1, i])
                    cell[last + 1, i] = mantissa_of(cell[last + 1, i])
        if flags[t] & LEARNED:
            probabilities(scratch, n_actions, action[t], POINTS)
            update_all(cell, scratch, n_actions, action[t], feedback[t], POINTS)
    for c in range(n_cells):
        for i in range(POINTS):
            log_sums = log_of_product(buffer[c, last + 1, i], buffer[c, last + 2, i])
            out[c, i] = buffer[c, last, i] - log_sums
