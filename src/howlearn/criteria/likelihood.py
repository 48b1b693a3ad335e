"""The likelihood alone: for candidates with equally many parameters, such as sets of experts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from howlearn.core.errors import HowlearnError
from howlearn.criteria.criterion import Criterion, Likelihoods, Scores
from howlearn.fitting.fits import ALL, Truncation


@dataclass(frozen=True, repr=False)
class Likelihood(Criterion):
    """ℓ of the first ``trials``, or of all of them, without a penalty.

    Aubert et al. (2025), appendix on metalearning: sets of experts have one parameter each, so that
    no penalty is needed; the guarantee holds for the first T_ε trials (``howlearn.theory``).
    Between models with different numbers of parameters it favours the one that has more.

    >>> Likelihood(), Likelihood(trials=20)
    (likelihood, likelihood(trials=20))
    """

    trials: int | None = None
    name = "likelihood"
    title = "log-likelihood without a penalty: fair only where models have equally many parameters"

    def __post_init__(self) -> None:
        if self.trials is None:
            return
        if not (self.trials >= 1 and float(self.trials).is_integer()):
            raise HowlearnError(f"trials must be a whole number from 1 on, not {self.trials:g}")
        object.__setattr__(self, "trials", int(self.trials))  # a text gives 20.0

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        return (ALL if self.trials is None else self.trials,)

    def scores(self, fits: Likelihoods) -> Scores:
        value = fits.log_likelihood(self.truncations[0])
        return Scores(fits.n_fitted(self.truncations[0]), value, np.zeros_like(value))
