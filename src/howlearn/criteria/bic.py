"""The Bayesian information criterion, halved: in nats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.criteria.criterion import PerParameter


@dataclass(frozen=True, repr=False)
class BIC(PerParameter):
    """ℓ − ½·log(n)·D: Schwarz (1978), divided by −2."""

    name = "bic"
    title = "log-likelihood minus ½·log(n) nats per parameter"

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return 0.5 * np.log(n)
