"""Where searches start: points that fill the space, the most likely ones that lie apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats


def filling(n: int, d: int, skip: int = 0) -> Floats:
    """n points that fill [0, 1]^d evenly, whatever n: multiples of generalised golden ratios.

    Roberts (2018), the sequence R_d.

    >>> filling(3, 1).round(3).tolist()
    [[0.618], [0.236], [0.854]]
    """
    if d == 0:
        return np.empty((1, 0))
    ratio = 2.0
    for _ in range(60):  # the root of x^(d+1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (d + 1))
    steps = ratio ** -np.arange(1.0, d + 1)
    return (np.arange(1 + skip, n + 1 + skip)[:, None] * steps) % 1.0


def best_apart(values: Floats, points: Floats, n: int) -> NDArray[np.int64]:
    """Of every problem: the n best points, each outside the neighbourhood of those before it.

    ``values`` is [problem, point] and ``points`` [point, d] in the unit cube. Where the others all
    lie close, the best of them are taken all the same.

    >>> points = np.array([[0.1], [0.12], [0.9]])
    >>> best_apart(np.array([[3.0, 2.0, 1.0]]), points, 2).tolist()
    [[0, 2]]
    """
    left = np.where(np.isnan(values), -np.inf, values)
    n = min(n, len(points))
    radius = 0.5 * (1.0 / n) ** (1.0 / max(points.shape[1], 1))
    rows = np.arange(len(values))
    penalty = np.zeros_like(left)  # neighbours come after all that lie apart
    chosen = np.empty((len(values), n), np.int64)
    for k in range(n):
        order = np.where(np.isneginf(left), -np.inf, left - penalty)
        pick = np.argmax(order, axis=1)
        chosen[:, k] = pick
        away = np.max(np.abs(points[None] - points[pick][:, None]), axis=2, initial=0.0)
        penalty[away < radius] += 1e9
        penalty[rows, pick] = np.inf
    return chosen


def corners(n: int, d: int, skip: int = 0) -> Floats:
    """n points of which many lie close to the bounds: likelihoods have ridges that end there.

    Each coordinate is even, drawn towards 0 or drawn towards 1, in all combinations.

    >>> float(corners(99, 1).min().round(3)), float(corners(99, 1).max().round(3))
    (0.0, 1.0)
    """
    both = filling(n, 2 * d, skip)
    where, how = both[:, :d], both[:, d:]
    return np.where(how < 0.5, where, np.where(how < 0.75, where**4, 1.0 - (1.0 - where) ** 4))
