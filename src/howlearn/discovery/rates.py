"""The rates over which a cell's likelihood is averaged: evenly spaced logs."""

from __future__ import annotations

from functools import cache

import numpy as np

from howlearn.engine.layout import RATES, Floats
from howlearn.rule import Parameter, Rule

SMALLEST = 1e-4  # a rate so small that nobody learns anything in an experiment
SPACING = 0.05  # of the logs, at most: half of the smallest spread between cells
SECOND = 8  # values of a second parameter
SPREADS = (0.1, 0.3, 0.7, 1.2)  # of the logs of the rates of one learner's cells
NOTHING = 1e-60  # what is less adds nothing, and products of it are slow
STEPS = {0.1: 2, 0.3: 4, 0.7: 6, 1.2: 10}  # of the grid between the learner's own means


@cache
def log_rates(rule: Rule) -> Floats:
    """From the smallest rate to the rule's largest.

    >>> from howlearn.rules import GradientBandit
    >>> found = log_rates(GradientBandit())
    >>> len(found), np.exp(found[[0, -1]]).round(9).tolist()
    (186, [0.0001, 1.0])
    """
    upper = rule.parameters[0].upper
    low, high = np.log(min(SMALLEST, upper / 100)), np.log(upper)
    return np.linspace(low, high, int(np.ceil((high - low) / SPACING)) + 1)


@cache
def through_nodes(rule: Rule) -> Floats:
    """Weights [node, rate] of a smooth curve: its values at even u make those at the rates."""
    from scipy.interpolate import CubicSpline

    parameter = rule.parameters[0]
    nodes = np.linspace(0.0, parameter.end, RATES)
    return CubicSpline(nodes, np.eye(RATES))(parameter.u(np.exp(log_rates(rule)))).T.copy()


def second_values(parameters: tuple[Parameter, ...]) -> list[tuple[float, ...]]:
    """The values over which parameters besides the rate are averaged, even in their own scale."""
    if len(parameters) == 1:
        return [()]
    (second,) = parameters[1:]
    middles = (np.arange(SECOND) + 0.5) / SECOND * second.end
    return [(float(value),) for value in second.at(middles)]


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
