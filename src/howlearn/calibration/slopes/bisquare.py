"""A straight line that a few outlying points cannot bend."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TUNING = 4.685  # 95% efficiency for normal errors
MAD = 0.6745  # median |error| / standard deviation, for normal errors
ITERATIONS = 20  # as rlm of R's MASS, which capushe uses
CONVERGED = 1e-4  # relative change of the residuals, as rlm
ROUNDING = 1e-12  # part of the range: residuals below it are noise of the arithmetic


class Line(NamedTuple):
    slope: float
    r_squared: float  # weighted as the line is


def bisquare_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> Line:
    """Tukey's bisquare by reweighting: w = (1 − (r / 4.685σ)²)², σ = median|r| / 0.6745.

    Starts from least squares, and stays with it where the weights leave no line.

    Reference: Venables & Ripley (2002), Modern Applied Statistics with S, section 6.5 (rlm).

    >>> x = np.arange(10.0)
    >>> y = 2 * x
    >>> y[4] = 50
    >>> round(bisquare_line(x, y).slope, 6)
    2.0
    """
    x, y = x - x.mean(), y - y.mean()  # a line through a far-off cloud would lose digits
    weights = np.ones_like(x)
    slope, residuals = _weighted(x, y, weights)
    for _ in range(ITERATIONS):
        scale = np.median(np.abs(residuals)) / MAD
        if scale <= ROUNDING * np.ptp(y):
            break
        trial = np.clip(1 - (residuals / (TUNING * scale)) ** 2, 0, None) ** 2
        if len(np.unique(x[trial > 0])) < 2:
            weights = np.ones_like(x)
            slope, residuals = _weighted(x, y, weights)
            break
        weights, before = trial, residuals
        slope, residuals = _weighted(x, y, weights)
        if np.linalg.norm(residuals - before) <= CONVERGED * np.linalg.norm(before):
            break
    total = np.sum(weights * (y - np.average(y, weights=weights)) ** 2)
    left = np.sum(weights * residuals**2)
    return Line(slope, float(1 - left / total) if total > 0 else 0.0)


def _weighted(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    dx, dy = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    slope = float(np.sum(weights * dx * dy) / np.sum(weights * dx**2))
    return slope, dy - slope * dx
