"""T_ε of a cell: how many trials keep every probability at ε or above, whatever happens.

``rate`` is the largest rate of a trial, R/√n in the paper's units, for feedback of at most 1.
"""

from __future__ import annotations

import math

from howlearn.core.rule import Form


def gradient_horizon(epsilon: float, actions: int, rate: float) -> int:
    """Gradient Bandit, both forms: Proposition 5 of Aubert et al. (2025).

    >>> gradient_horizon(0.05, 2, 0.059)
    19
    """
    return _whole(math.log(1 / (actions * epsilon)) / 2 / rate)


def exp3_ix_horizon(epsilon: float, actions: int, rate: float, form: Form = "loss") -> int:
    """Exp3-IX, and Exp3: Proposition 4 for losses, this project's own bound for gains.

    Of the two parameters only the rate matters here: exploration makes updates smaller.

    >>> exp3_ix_horizon(0.1, 2, 1 / 500**0.5)
    8
    """
    if form == "loss":
        return _whole((1 / actions - epsilon) / rate)
    return _whole(math.log(1 / (actions * epsilon)) / (rate * (1 + rate / (8 * epsilon**2))))


def _whole(value: float) -> int:
    """⌊value⌋, and 0 where it is negative."""
    return max(math.floor(value), 0)
