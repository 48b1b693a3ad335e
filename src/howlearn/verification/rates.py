"""How fast a risk falls with the number of trials."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import ArrayLike


def rate_of(n: ArrayLike, mean: ArrayLike, error: ArrayLike) -> tuple[float, float]:
    """The slope of log mean against log n, weighted by the means' standard errors, and its own.

    >>> slope, _ = rate_of([100, 200, 400], [0.1, 0.05, 0.025], [0.01, 0.005, 0.0025])
    >>> round(slope, 6)
    -1.0
    """
    n, mean, error = (np.asarray(values, float) for values in (n, mean, error))
    known = (mean > 0) & (error > 0)
    if np.count_nonzero(known) < 2:
        return float("nan"), float("nan")
    x, y = np.log(n[known]), np.log(mean[known])
    weight = (mean[known] / error[known]) ** 2  # of a log, by the delta method
    centre = np.average(x, weights=weight)
    spread = float(np.sum(weight * (x - centre) ** 2))
    slope = float(np.sum(weight * (x - centre) * y)) / spread
    residual = y - np.average(y, weights=weight) - slope * (x - centre)
    # Where the points do not lie on a line, the error says so too.
    scatter = max(float(np.sum(weight * residual**2)) / max(len(x) - 2, 1), 1.0)
    return slope, float(np.sqrt(scatter / spread))


def mean_and_error(values: pl.Series) -> tuple[float, float]:
    """A mean with its standard error."""
    x = values.to_numpy()
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def ratio_and_error(above: pl.Series, below: pl.Series) -> tuple[float, float]:
    """The ratio of two means over the same learners, with its standard error (delta method)."""
    a, b = above.to_numpy(), below.to_numpy()
    if not b.mean() > 0:
        return float("nan"), float("nan")
    ratio = a.mean() / b.mean()
    if len(a) < 2:
        return float(ratio), float("nan")
    return float(ratio), float((a - ratio * b).std(ddof=1) / np.sqrt(len(a)) / b.mean())
