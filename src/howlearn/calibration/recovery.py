"""Parameter recovery: how far estimates lie from the truth, per cell and number of trials."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import Fits


def estimates_of(
    fits: Fits,
    model: str,
    theta: NDArray[np.float64],
    first: int | NDArray[np.int64] = 0,
) -> pl.DataFrame:
    """The true model's estimates beside the truth, one row per learner, split and parameter.

    Learners are numbered from ``first`` on, or have these numbers.
    """
    part = fits.of[model]
    shares = [j for j, t in enumerate(fits.truncations) if isinstance(t, float)]
    found, status, sizes = part.theta[:, shares], part.status[:, shares], fits.sizes[:, shares]
    n_learners, n_splits, n_parameters = found.shape
    rows = n_learners * n_splits
    numbers = np.arange(n_learners) + first if isinstance(first, int) else first

    def tiled(values: tuple[str, ...]) -> pl.Series:
        return pl.Series(values, dtype=pl.String).gather(np.tile(np.arange(n_parameters), rows))

    splits = np.array([t for t in fits.truncations if isinstance(t, float)])
    return pl.DataFrame(
        {
            "true_model": [model] * (rows * n_parameters),
            "learner": np.repeat(numbers, n_splits * n_parameters),
            "cell": tiled(part.cells),
            "parameter": tiled(part.parameters),
            "split": np.repeat(np.tile(splits, n_learners), n_parameters),
            "trials_fitted": np.repeat(sizes.reshape(-1), n_parameters),
            "true_value": np.repeat(theta[:, None], n_splits, axis=1).reshape(-1),
            "estimate": found.reshape(-1),
            "status": status.reshape(-1),
        },
        schema_overrides={"true_model": pl.String},
    ).filter(pl.col("status") != int(Statuses.UNSEEN))


KEYS = ["true_model", "cell", "parameter", "split"]


def recovery(estimates: pl.DataFrame) -> pl.DataFrame:
    """Relative errors |estimate − truth| / truth: median, quartiles, mean and its standard error.

    Where the truth is 0 there is no relative error; such learners are not counted in it.
    """
    groups = estimates.partition_by(KEYS, maintain_order=True, as_dict=True)
    rows = [dict(zip(KEYS, key, strict=True)) | _row(group) for key, group in groups.items()]
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(group: pl.DataFrame) -> dict[str, float | None]:
    truth, estimate = group["true_value"].to_numpy(), group["estimate"].to_numpy()
    some = truth > 0
    error = np.abs(estimate[some] - truth[some]) / truth[some]
    lower, median, upper = np.quantile(error, [0.25, 0.5, 0.75]) if some.any() else [None] * 3
    bound = np.isin(group["status"].to_numpy(), [int(Statuses.AT_LOWER), int(Statuses.AT_UPPER)])
    return {
        "trials_fitted": float(np.median(group["trials_fitted"].to_numpy())),
        "learners": int(some.sum()),  # of whom there is a relative error
        "true_value": float(truth.mean()),
        "median_estimate": float(np.median(estimate)),
        "relative_error": median,
        "lower_quartile": lower,
        "upper_quartile": upper,
        "mean_relative_error": float(error.mean()) if some.any() else None,
        "standard_error": float(error.std(ddof=1) / len(error) ** 0.5) if len(error) > 1 else None,
        "at_bound": float(bound.mean()),
    }
