"""Products of matrices on one core, for threads that each have one."""

from __future__ import annotations

import numpy as np

from howlearn.engine.layout import Floats

ALONE = 2**18  # multiplications that OpenBLAS does on one core


def product(a: Floats, b: Floats) -> Floats:
    """a @ b in pieces that the library does not spread over cores, which are busy with others.

    >>> product(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    out = np.empty((len(a), b.shape[1]))
    rows = max(1, ALONE // b.size)
    for first in range(0, len(a), rows):
        np.matmul(a[first : first + rows], b, out=out[first : first + rows])
    return out
