"""Ewens' (1972) probabilities of partitions: α^cells · Π (|C| − 1)! over α(α + 1)…(α + J − 1).

Two contexts share a cell with probability 1/(1 + α).
"""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats


def log_cells(sizes: NDArray[np.int64], alpha: float = 1.0) -> Floats:
    """What cells of these sizes contribute: log α·(size − 1)!; an empty one counts as one of one.

    >>> np.exp(log_cells(np.array([1, 2, 3, 4]), alpha=2.0)).round(9).tolist()
    [2.0, 2.0, 4.0, 12.0]
    """
    factorial = np.array([lgamma(max(size, 1)) for size in range(int(sizes.max(initial=0)) + 1)])
    return np.log(alpha) + factorial[sizes]


def log_rising(n: int, alpha: float = 1.0) -> float:
    """log α(α + 1)…(α + n − 1), over which the contributions of n contexts' cells are."""
    return lgamma(alpha + n) - lgamma(alpha)
