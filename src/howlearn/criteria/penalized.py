"""The paper's AIC-type criterion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.criteria.criterion import PerParameter
from howlearn.errors import HowlearnError


@dataclass(frozen=True, repr=False)
class Penalized(PerParameter):
    """ℓ − c·log(n)²·D with the learner's own n: Aubert et al. (2025), Theorem 3.

    >>> Penalized(c=0.012)
    penalized(c=0.012)
    """

    c: float = 0.012
    name = "penalized"
    title = "log-likelihood minus c·log(n)² nats per parameter, n the learner's own trials"

    def __post_init__(self) -> None:
        if not 0 <= self.c < np.inf:
            raise HowlearnError(f"c must be a number from 0 on, not {self.c:g}")

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.c * np.log(n) ** 2
