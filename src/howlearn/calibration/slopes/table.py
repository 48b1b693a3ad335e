"""Dimension jump and slope heuristic over the candidates, for each learner and for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.calibration.contest import Contest
from howlearn.calibration.slopes.ddse import slope_heuristic
from howlearn.calibration.slopes.jump import dimension_jump
from howlearn.calibration.slopes.pooled import pooled_jump
from howlearn.core.arrays import Floats
from howlearn.core.columns import of
from howlearn.fitting.fits import ALL, Fits

MOST = 500  # learners who are looked at one by one; of more, so many are picked evenly


def slope_of(learners: Fits | Contest) -> pl.DataFrame:
    """What both methods say of recorded learners, or of simulated ones."""
    if isinstance(learners, Contest):
        number = np.arange(len(learners)) - np.searchsorted(learners.true, learners.true) + 1
        names = [f"{learners.truths[k]} {i}" for k, i in zip(learners.true, number, strict=True)]
        models = learners.models
    else:
        names, models = list(learners.study.learners), tuple(learners.of)
    return slope_table(
        learners.log_likelihood(ALL), learners.n_parameters, learners.n_scored, models, names
    )


def slope_table(
    log_likelihood: Floats,
    n_parameters: NDArray[np.int64],
    n_trials: NDArray[np.int64],
    models: Sequence[str],
    learners: Sequence[str],
) -> pl.DataFrame:
    """What both methods say; without a constant where they do not apply."""
    rows = []
    pooled = pooled_jump(log_likelihood, n_parameters, n_trials)
    middle = float(np.median(n_trials))
    rows.append(_row("dimension jump", None, pooled, None, middle))
    mean_d = n_parameters.mean(axis=0)
    contrast = -log_likelihood.mean(axis=0)
    slope = slope_heuristic(mean_d, mean_d, contrast)
    rows.append(_row("slope heuristic", None, slope, _name(models, slope.selected), middle))
    many = min(len(n_trials), MOST)
    for i in (k * len(n_trials) // many for k in range(many)):
        d, n = n_parameters[i].astype(float), int(n_trials[i])
        # −ℓ/n against D/n: the slope is in nats per parameter.
        jump = dimension_jump(d / n, d, -log_likelihood[i] / n, n)
        rows.append(_row("dimension jump", learners[i], jump, _name(models, jump.selected), n))
        slope = slope_heuristic(d / n, d, -log_likelihood[i] / n)
        rows.append(_row("slope heuristic", learners[i], slope, _name(models, slope.selected), n))
    return of("slope", "calibrate").of_rows(rows)


def _row(
    method: str, learner: str | None, found: object, model: str | None, n: float
) -> tuple[object, ...]:
    kappa, applies, reason = (getattr(found, name) for name in ("kappa", "applies", "reason"))
    c = None if kappa is None or n <= 1 else kappa / np.log(n) ** 2
    return method, learner, applies, kappa, c, model, reason


def _name(models: Sequence[str], place: int | None) -> str | None:
    return None if place is None else models[place]
