"""Log-evidence at the door, and as likelihoods that cannot overflow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError


def checked(log_evidence: ArrayLike) -> Floats:
    """Log-evidence as [learner, model]; every learner has a model that can be."""
    found = np.asarray(log_evidence, np.float64)
    if found.ndim != 2 or not found.size:
        raise HowlearnError(
            f"log-evidence has a row per learner and a column per model, not the shape "
            f"{found.shape}"
        )
    if np.isnan(found).any() or np.isposinf(found).any():
        raise HowlearnError("log-evidence is a number of nats, or -inf for an impossible model")
    bare = np.flatnonzero(np.isneginf(found).all(axis=1))
    if len(bare):
        raise HowlearnError(
            f"no model can have made the choices of row {bare[0] + 1}: all its log-evidence is -inf"
        )
    return found


def scaled(log_evidence: Floats) -> tuple[Floats, Floats]:
    """Likelihoods divided by the largest of their row, and the logs of those."""
    top = log_evidence.max(axis=-1)
    return np.exp(log_evidence - top[..., None]), top


def certain(selected: NDArray[np.int64], n_models: int) -> Floats:
    """Log-evidence that knows nothing but the selected models.

    >>> certain(np.array([1]), 2).tolist()
    [[-inf, 0.0]]
    """
    return np.where(np.arange(n_models) == selected[:, None], 0.0, -np.inf)


def checked_prior(prior: float | ArrayLike, n_models: int) -> Floats:
    """α0 of every model's share."""
    found = np.broadcast_to(np.asarray(prior, np.float64), (n_models,)).copy()
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise HowlearnError(f"the prior of the shares is a number above 0, not {prior}")
    return found
