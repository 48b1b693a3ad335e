"""The paper's hold-out criterion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.criteria.criterion import Criterion, Likelihoods, Scores
from howlearn.fitting.fits import Truncation


@dataclass(frozen=True, repr=False)
class HoldOut(Criterion):
    """Fit on the first trials, score the others: Aubert et al. (2025), Theorem 1.

    The first ⌊split·n⌋ scored trials train; then the state is carried on with frozen parameters.

    >>> HoldOut(split=0.5)
    holdout(split=0.5)
    """

    split: float = 0.5
    name = "holdout"
    title = "log-likelihood of the later trials, parameters fitted on the earlier ones"

    def __post_init__(self) -> None:
        if not 0 < self.split < 1:
            raise HowlearnError(f"the split must lie between 0 and 1, not at {self.split:g}")

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        return (float(self.split),)

    def scores(self, fits: Likelihoods) -> Scores:
        split = float(self.split)
        rest = fits.rest(split)
        left = fits.n_scored - fits.n_fitted(split)
        return Scores(left, rest, np.zeros_like(rest))
