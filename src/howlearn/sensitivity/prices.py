"""The selected model of every learner as a function of κ, the price of a parameter: exactly.

Every score ℓ − κ·D is a line in κ, so the best model changes at the corners of their upper
envelope, each time to a model with fewer parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.selection.select import winners

NEVER = -1e300  # in place of a log-likelihood of −∞, so that differences are numbers
OUT = -1e308  # of models that are not asked


@dataclass(frozen=True)
class Intervals:
    """From ``start`` on (up to ``stop``, not included) a learner's selected model is ``model``."""

    learner: Ints
    start: Floats
    stop: Floats
    model: Ints


def intervals(log_likelihood: Floats, n_parameters: Ints, most: float) -> Intervals:
    """The intervals of κ from 0 to ``most`` over which each learner's selection stays the same.

    The axes of both arrays are learner, model. Ties are broken as ``select`` does: fewer
    parameters, then the order of the candidates.

    >>> found = intervals(np.array([[-10.0, -13.0]]), np.array([[3, 1]]), 10.0)
    >>> found.model.tolist(), found.start.tolist(), found.stop.tolist()
    ([0, 1], [0.0, 1.5], [1.5, 10.0])
    """
    height = np.where(np.isfinite(log_likelihood), log_likelihood, NEVER)
    who = np.arange(len(height))
    at, model = np.zeros(len(height)), winners(height, n_parameters)
    learners, starts, stops, models = [], [], [], []
    while len(who):
        own = height[who, model], n_parameters[who, model]
        fewer = n_parameters[who] < own[1][:, None]
        fall = np.where(fewer, own[0][:, None] - height[who], np.inf)
        price = np.where(fewer, fall / np.maximum(own[1][:, None] - n_parameters[who], 1), np.inf)
        until = np.minimum(np.maximum(price.min(axis=1), at), most)
        kept = (until > at) | (until >= most)
        for found, values in zip(
            (learners, starts, stops, models), (who, at, until, model), strict=True
        ):
            found.append(values[kept])
        left = until < most
        who, at, fewer = who[left], until[left], fewer[left]
        there = np.where(fewer, height[who] - at[:, None] * n_parameters[who], OUT)
        model = winners(there, n_parameters[who])
    learner, start, stop, selected = (
        np.concatenate(found) for found in (learners, starts, stops, models)
    )
    order = np.lexsort((start, learner))
    return Intervals(learner[order], start[order], stop[order], selected[order])
