"""Products of matrices on one core, for threads that each have one."""

from __future__ import annotations

import numpy as np

from howlearn.core.arrays import Floats

ALONE = 2**18  # multiplications that OpenBLAS does on one core
WIDTH = 48  # columns at once: the fewer, the more rows go with them


def product(a: Floats, b: Floats) -> Floats:
    """a @ b in pieces that the library does not spread over cores, which are busy with others.

    >>> product(np.eye(3), np.arange(6.0).reshape(3, 2)).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    if b.shape[1] == 1:  # which the library spreads far earlier
        return np.einsum("ij,jk->ik", a, b)
    out = np.empty((len(a), b.shape[1]))
    for left in range(0, b.shape[1], WIDTH):
        part = np.ascontiguousarray(b[:, left : left + WIDTH])
        rows = max(1, ALONE // part.size)
        for first in range(0, len(a), rows):
            out[first : first + rows, left : left + WIDTH] = a[first : first + rows] @ part
    return out
