"""How the rates of a learner's cells are distributed: on the grid of ``evidence.rates``."""

from __future__ import annotations

from functools import cache

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.engine.cell_fits import DEGREE, smooth_nodes
from howlearn.engine.layout import through
from howlearn.selection.rate_grid import SPREADS, log_rates

NOTHING = 1e-60  # what is less adds nothing, and products of it are slow
STEPS = {0.1: 2, 0.3: 4, 0.7: 6, 1.2: 10}  # of the grid between the learner's own means


@cache
def through_nodes(rule: Rule) -> Floats:
    """Weights [node, rate] of a smooth curve: its values at few nodes make those at the rates."""
    parameter = rule.parameters[0]
    return through(smooth_nodes(parameter), parameter.u(np.exp(log_rates(rule))), DEGREE)


@cache
def spread_kernels(rule: Rule) -> tuple[Floats, Floats]:
    """How a learner's cells have their rates: weights [rate, column], and the columns' log-priors.

    A column is a mean a of the learner's log-rates and a spread s; each cell's log-rate is normal
    around a, on the grid. Means are even on the grid, and the spreads equally probable.
    """
    grid = log_rates(rule)
    kernels, priors = [], []
    for s in SPREADS:
        means = grid[:: STEPS[s]]
        kernel = np.exp(-0.5 * ((grid[:, None] - means) / s) ** 2)
        kernel /= kernel.sum(axis=0)
        kernels.append(np.where(kernel < NOTHING, 0.0, kernel))
        priors.append(np.full(len(means), -np.log(len(means) * len(SPREADS))))
    return np.concatenate(kernels, axis=1), np.concatenate(priors)
