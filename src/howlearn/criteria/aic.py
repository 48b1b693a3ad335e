"""Akaike's criterion, halved: in nats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.criteria.criterion import PerParameter


@dataclass(frozen=True, repr=False)
class AIC(PerParameter):
    """ℓ − D: Akaike (1974), divided by −2."""

    name = "aic"
    title = "log-likelihood minus 1 nat per parameter"

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones_like(n)
