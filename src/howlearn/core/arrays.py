"""Names for the types of arrays, and sums of what is given in logarithms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def log_sum(values: Floats) -> Floats:
    """log Σ exp over the last axis; far quicker than logaddexp, which goes pair by pair.

    >>> log_sum(np.log([[1.0, 2.0], [3.0, 1.0]])).round(3).tolist()
    [1.099, 1.386]
    """
    top = values.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - top).sum(axis=-1)) + top[..., 0]
