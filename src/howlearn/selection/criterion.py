"""What a criterion must offer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.fitting.fits import ALL, Truncation

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.fitting.fits import Fits
    from howlearn.models.model import Model

Progress = Callable[[int, int], None]  # learners done, learners in all


class Likelihoods(Protocol):
    """What a criterion looks at: ``Fits``, or what a calibration keeps of them."""

    @property
    def n_scored(self) -> NDArray[np.int64]: ...

    def n_parameters_at(self, truncation: Truncation) -> NDArray[np.int64]: ...

    def n_fitted(self, truncation: Truncation) -> NDArray[np.int64]: ...

    def log_likelihood(self, truncation: Truncation) -> NDArray[np.float64]: ...

    def rest(self, truncation: Truncation) -> NDArray[np.float64]: ...

    def between(self, truncation: Truncation, following: Truncation) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Scores:
    """In nats, larger is better: score = log_likelihood − penalty; the axes are learner, model."""

    n_trials: NDArray[np.int64]  # [learner]: the trials that log_likelihood is of
    log_likelihood: NDArray[np.float64]
    penalty: NDArray[np.float64]
    n_parameters: NDArray[np.int64] | None = None  # those that are paid for, where not all of D
    probability: NDArray[np.float64] | None = None  # of the models, where the criterion knows it
    p_other: NDArray[np.float64] | None = None  # [learner]: that it is a partition not listed
    outside: Scores | None = None  # of such a partition as one more candidate, if it competes

    @property
    def score(self) -> NDArray[np.float64]:
        return self.log_likelihood - self.penalty


@dataclass(frozen=True, repr=False)
class Criterion(ABC):
    """Scores every model for every learner; may look at all learners at once."""

    name: ClassVar[str]
    title: ClassVar[str]  # one sentence for the summary
    gives_probabilities: ClassVar[bool] = False  # of the models, for every learner

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        """The truncations that must have been fitted."""
        return (ALL,)

    @abstractmethod
    def scores(self, fits: Likelihoods) -> Scores:
        """The score of every model for every learner."""

    def of_nobody(self, n_models: int) -> Scores:
        """The scores of no learner, with the parts that those of others have."""
        nothing = np.empty((0, n_models))
        probability = nothing if self.gives_probabilities else None
        return Scores(np.empty(0, np.int64), nothing, nothing, probability=probability)

    def check(self, study: Study) -> None:  # noqa: B027
        """Refuse a study that the criterion cannot judge, before any work is done."""

    def learn(
        self,
        study: Study,
        models: Sequence[Model],
        fits: Fits | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Criterion:
        """A criterion that knows what all learners of a study tell; most need not know it."""
        return self

    def knowledge(self) -> pl.DataFrame | None:
        """What ``learn`` found, to be kept; None for a criterion that learns nothing."""
        return None

    def knowing(self, knowledge: pl.DataFrame, models: Sequence[Model]) -> Criterion:
        """The criterion with what one like it has learned before."""
        return self

    def chance(self, fits: Likelihoods, scores: Scores) -> NDArray[np.float64] | None:
        """The score of a learner who does not learn; None: that of a coin's fit."""
        return None

    def __repr__(self) -> str:
        values = ", ".join(f"{k}={_text(v)}" for k, v in vars(self).items() if v is not None)
        return f"{self.name}({values})" if values else self.name

    @property
    def key(self) -> str:
        """The text without brackets, for names of columns: ``penalized_0.012``."""
        words = [self.name, *(_text(v) for v in vars(self).values() if v is not None)]
        return "_".join(words).replace("(", "_").replace(")", "")


def _text(value: float | str) -> str:
    """Short, and exact: two criteria never have the same text; what is counted stays whole."""
    if isinstance(value, int | str):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


class PerParameter(Criterion):
    """The log-likelihood minus a price for each parameter."""

    @abstractmethod
    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        """Nats per parameter for a learner with n trials."""

    def scores(self, fits: Likelihoods) -> Scores:
        upto = self.truncations[0]
        n, count = fits.n_fitted(upto), fits.n_parameters_at(upto)
        penalty = self.price(n.astype(float))[:, None] * count
        return Scores(n, fits.log_likelihood(upto), penalty, count)
