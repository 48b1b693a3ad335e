"""R's ``loess`` in one dimension, with R's interpolation: the smoother behind Figure 2c."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError

CELL = 0.2  # R's default: a cell of the tree holds at most this share of a neighbourhood
MARGIN = 0.005  # of the range of x, on both sides of the data


def loess(x: ArrayLike, y: ArrayLike, span: float = 0.75, degree: int = 2) -> Floats:
    """The fitted values at x: ``predict(loess(y ~ x, span = span, degree = degree))`` of R.

    Local polynomials with tricube weights are fitted at the vertices of a tree of cells, and a
    cubic with the fitted values and slopes joins them (R's surface = "interpolate"). ``y`` may
    hold several curves as columns.

    >>> x = np.arange(1, 101)
    >>> bool(np.allclose(loess(x, x**2), x**2))
    True

    Cleveland & Grosse (1991), Computational methods for local regression.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    _check(x, y, span, degree)
    order = np.argsort(x, kind="stable")
    at = _vertices(x[order], math.floor(len(x) * span * CELL))
    columns = y.reshape(len(x), -1)
    value, slope = _local_fits(x, columns, at, span, degree)
    return _blend(x, at, value, slope).reshape(y.shape)


def _check(x: Floats, y: Floats, span: float, degree: int) -> None:
    if x.ndim != 1 or y.ndim not in (1, 2) or len(y) != len(x):
        raise HowlearnError(f"loess: x has shape {x.shape} and y {y.shape}; one y per x is needed")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise HowlearnError("loess: x and y must be finite numbers")
    if degree not in (0, 1, 2):
        raise HowlearnError(f"loess: degree {degree} is not 0, 1 or 2")
    if (different := len(np.unique(x))) <= degree:
        raise HowlearnError(f"loess: {degree + 1} different x are needed, {different} found")
    if _neighbours(len(x), span) <= degree:
        raise HowlearnError(
            f"loess: span {span} of {len(x)} points leaves too few for degree {degree}"
        )


def _neighbours(n: int, span: float) -> int:
    return min(n, math.floor(n * span + 1e-5))


def _vertices(x: Floats, most: int) -> Floats:
    """Where cells meet: halved at the median until at most ``most`` points are in each."""
    low, high = x[0], x[-1]
    margin = MARGIN * max(high - low, 1e-10 * max(abs(low), abs(high)) + 1e-30)
    cuts = {low - margin, high + margin}
    pending = [(0, len(x), low - margin, high + margin)]  # points start:stop, and the cell's ends
    while pending:
        start, stop, left, right = pending.pop()
        if stop - start <= most:
            continue
        middle = _untied(x, start, stop)
        cut = x[middle]
        if cut in (left, right):
            continue
        cuts.add(cut)
        pending += [(start, middle + 1, left, cut), (middle + 1, stop, cut, right)]
    return np.array(sorted(cuts))


def _untied(x: Floats, start: int, stop: int) -> int:
    """The last point of the lower half, moved to the nearest place where x changes."""
    middle = (start + stop + 1) // 2 - 1
    for step in range(stop - start):
        for place in (middle + step, middle - step):
            if not start <= place < stop - 1:
                return middle
            if x[place] != x[place + 1]:
                return place
    return middle


def _local_fits(
    x: Floats, y: Floats, at: Floats, span: float, degree: int
) -> tuple[Floats, Floats]:
    """Value and slope of the weighted polynomial around every vertex."""
    distance = np.abs(x - at[:, None])
    nearest = np.partition(distance, _neighbours(len(x), span) - 1, axis=1)
    width = nearest[:, [_neighbours(len(x), span) - 1]] * math.sqrt(
        max(1.0, span)
    )  # R scales squares
    if (width == 0).any():
        raise HowlearnError(f"loess: with span {span} all neighbours of a point have the same x")
    inside = distance < width
    weight = np.where(inside, 1 - np.minimum(distance / width, 1) ** 3, 0) ** 1.5  # square root
    powers = (x - at[:, None])[:, :, None] ** np.arange(degree + 1)
    design = weight[:, :, None] * powers
    # Columns of one length, as in R: with ties in x the fit of least norm depends on it.
    size = np.sqrt((design**2).sum(axis=1, keepdims=True))
    size[size == 0] = 1.0
    inverse = np.linalg.pinv(design / size, rcond=100 * np.finfo(float).eps)
    fitted = inverse @ (weight[:, :, None] * y) / size.swapaxes(1, 2)
    slope = fitted[:, 1] if degree else np.zeros_like(fitted[:, 0])
    return fitted[:, 0], slope


def _blend(x: Floats, at: Floats, value: Floats, slope: Floats) -> Floats:
    """The cubic through values and slopes at both ends of each point's cell."""
    left = np.clip(np.searchsorted(at, x) - 1, 0, len(at) - 2)
    width = (at[left + 1] - at[left])[:, None]
    h = (x - at[left])[:, None] / width
    ends = (1 - h) ** 2 * (1 + 2 * h) * value[left] + h**2 * (3 - 2 * h) * value[left + 1]
    slopes = h * (1 - h) ** 2 * slope[left] - h**2 * (1 - h) * slope[left + 1]
    return ends + slopes * width
