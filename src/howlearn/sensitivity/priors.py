"""The evidence of one learner alone, by what is assumed about learning rates beforehand."""

from __future__ import annotations

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.fitting.fit import Progress
from howlearn.fitting.fits import Fits
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.evidence import (
    Evidence,
    log_evidence_alone,
    log_evidence_even,
    unintegrated,
)
from howlearn.selection.hierarchy import groups_of, log_sum
from howlearn.selection.rate_grid import SPREADS, in_blocks, on_grid, plan_of

AVERAGED = repr(Evidence())
EVEN = "evidence, cells independent"
BLOCK = 500  # learners whose curves are held at once


def spread_text(spread: float) -> str:
    """What the tables call a prior with this spread of cells."""
    return f"evidence, spread {spread:g}"


def under_priors(
    fits: Fits, threads: int | None = None, progress: Progress | None = None
) -> dict[str, Floats]:
    """Log evidence [learner, model] by prior: the spreads averaged and one by one, no learner rate.

    In all of them log rates are even between the smallest and the largest one: a learner's own
    rate, around which cells have a spread, or without it every cell's rate.
    """
    study, models = fits.study, fits.models
    fixed = unintegrated(fits, models)
    texts = [*map(spread_text, SPREADS), EVEN]
    found = {text: fixed.copy() for text in texts}
    chosen = [(k, m) for k, m in enumerate(models) if isinstance(m, PartitionModel) and on_grid(m)]
    columns, parts = [k for k, _ in chosen], [m for _, m in chosen]
    for mine, curves in in_blocks(study, plan_of(models, study), BLOCK, threads):
        for group in groups_of(parts, columns, curves, per_model=False):
            for text, spread in zip(texts, SPREADS, strict=False):
                found[text][mine, group.columns] = log_evidence_alone(group, (spread,))
            found[EVEN][mine, group.columns] = log_evidence_even(group)
        if progress:
            progress(mine.stop, len(study))
    each = np.stack([found[text] for text in texts[:-1]], axis=-1)
    return {AVERAGED: log_sum(each) - np.log(len(SPREADS)), **found}
