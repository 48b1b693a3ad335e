"""The candidates' likelihoods for learners whose true model is known: all that errors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import ALL, Fits, Truncation
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import winners

NO_BLOCKS = (
    "simulated learners are not fitted block by block, so that prequential cannot be judged before "
    "the experiment; holdout, or prequential with blocks=1, can"
)


@dataclass(frozen=True, eq=False)
class Contest:
    """Candidates fitted to simulated learners; the axes are learner, (split), model."""

    truths: tuple[str, ...]
    models: tuple[str, ...]
    splits: tuple[float, ...]
    true: NDArray[np.int64]  # of each learner: which of the truths made it
    n_scored: NDArray[np.int64]
    n_parameters: NDArray[np.int64]
    all_trials: Floats  # log-likelihoods at the estimates from all trials
    later_trials: Floats  # of the trials after each split, at the estimates from those before
    trained: NDArray[np.int64]  # trials before each split: [learner, split]
    n_lost: int = 0  # learners who could not be fitted, and are not among these

    def __len__(self) -> int:
        return len(self.true)

    def log_likelihood(self, truncation: Truncation) -> Floats:
        if truncation != ALL:
            raise HowlearnError(f"the likelihood of the first {truncation!r} was not kept")
        return self.all_trials

    def n_parameters_at(self, truncation: Truncation) -> NDArray[np.int64]:
        if truncation != ALL:
            raise HowlearnError(f"the likelihood of the first {truncation!r} was not kept")
        return self.n_parameters

    def rest(self, truncation: Truncation) -> Floats:
        return self.later_trials[:, self._at(truncation)]

    def between(self, truncation: Truncation, following: Truncation) -> Floats:
        if following != ALL:
            raise HowlearnError(NO_BLOCKS)
        return self.rest(truncation)

    def n_fitted(self, truncation: Truncation) -> NDArray[np.int64]:
        return self.n_scored if truncation == ALL else self.trained[:, self._at(truncation)]

    def _at(self, truncation: Truncation) -> int:
        if not isinstance(truncation, float) or truncation not in self.splits:
            raise HowlearnError(
                f"nothing was fitted at split {truncation!r}; there are "
                f"{', '.join(f'{split:g}' for split in self.splits)}"
            )
        return self.splits.index(truncation)

    def selected(self, criterion: Criterion) -> NDArray[np.int64]:
        """The model that a criterion selects for each learner."""
        return winners(criterion.scores(self).score, self.n_parameters)

    @property
    def own(self) -> NDArray[np.int64]:
        """Of each learner: the true model among the candidates, −1 if it is none of them."""
        places = [self.models.index(t) if t in self.models else -1 for t in self.truths]
        return np.array(places)[self.true]

    def frame(self) -> pl.DataFrame:
        """One row per learner, to be kept in a file."""
        columns = {
            "true": self.true,
            "n_scored": self.n_scored,
            "n_parameters": self.n_parameters,
            "all_trials": self.all_trials,
        }
        if self.splits:
            columns["later_trials"] = self.later_trials.reshape(len(self), -1)
            columns["trained"] = self.trained
        return pl.DataFrame(columns)


def contest_of(fits: Fits, truths: Sequence[str], true: NDArray[np.int64]) -> Contest:
    """What is kept of fits at ``ALL`` and at splits."""
    splits = tuple(t for t in fits.truncations if isinstance(t, float) and t != ALL)
    later = [fits.rest(split) for split in splits]
    return Contest(
        tuple(truths),
        tuple(fits.of),
        splits,
        true,
        fits.n_scored,
        fits.n_parameters,
        fits.log_likelihood(ALL),
        np.stack(later, axis=1) if later else np.empty((len(true), 0, len(fits.of))),
        np.stack([fits.n_fitted(split) for split in splits], axis=1)
        if splits
        else np.empty((len(true), 0), np.int64),
    )


def contest_from(
    frame: pl.DataFrame, truths: Sequence[str], models: Sequence[str], splits: Sequence[float]
) -> Contest:
    """A contest from the rows of its ``frame``."""
    n = len(frame)
    later, trained = np.empty((n, 0, len(models))), np.empty((n, 0), np.int64)
    if splits:
        later = frame["later_trials"].to_numpy().reshape(n, len(splits), len(models))
        trained = frame["trained"].to_numpy()
    return Contest(
        tuple(truths),
        tuple(models),
        tuple(splits),
        frame["true"].to_numpy(),
        frame["n_scored"].to_numpy(),
        frame["n_parameters"].to_numpy(),
        frame["all_trials"].to_numpy(),
        later,
        trained,
    )
