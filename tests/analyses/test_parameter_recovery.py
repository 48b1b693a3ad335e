"""Parameter recovery against fits of the same simulated learners, one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.calibrate import Calibration, calibrate_design
from howlearn.analyses.designs import TaskDesign

TASK = hl.Task.load("shepard-1")
LEARNERS, TRIALS, SEED = 25, 60, 4
SPLITS = (0.2, 0.6)
RANGE = hl.Range(0.05, 0.5)
ODD_MODEL = "OnePerItem (one rate)"
MODELS = tuple(TASK.model(name) for name in ("ByFeature1", "OnePerItem", "Coin", ODD_MODEL))
KEYS = ("true_model", "cell", "parameter", "split")


@pytest.fixture(scope="module")
def design() -> TaskDesign:
    task = replace(TASK, order="independent")
    return TaskDesign(task, MODELS, {"": {"eta": [RANGE]}}, LEARNERS, TRIALS, SEED)


@pytest.fixture(scope="module")
def found(design: TaskDesign) -> Calibration:
    return calibrate_design(design, MODELS, splits=SPLITS)


def told(trials: hl.Trials, first: int, codes: list[int]) -> bool:
    """Whether some visit but the last to these contexts was rewarded, in the first trials."""
    return bool(trials.reward[:first][np.isin(trials.context[:first], codes)][:-1].any())


def test_every_learner_and_cell_draws_from_the_range(design: TaskDesign) -> None:
    _, theta = design.simulate(1, 0, 0, LEARNERS)
    assert theta.shape == (LEARNERS, 8)
    assert len(np.unique(theta)) == theta.size
    assert ((theta >= RANGE.lower) & (theta <= RANGE.upper)).all()
    # Evenly on the log scale: the mean of log η lies within 4 standard errors of the middle.
    width = np.log(RANGE.upper / RANGE.lower)
    middle = np.log(RANGE.upper * RANGE.lower) / 2
    assert abs(np.log(theta).mean() - middle) < 4 * width / (12 * theta.size) ** 0.5
    # The fresh learners draw anew, and the part from 10 on is the same learners.
    assert not np.isin(design.simulate(1, 1, 0, LEARNERS)[1], theta).any()
    assert np.array_equal(design.simulate(1, 0, 10, 12)[1], theta[10:12])


@pytest.mark.parametrize("truth", range(len(MODELS)), ids=[model.name for model in MODELS])
def test_recovery_is_that_of_fits_one_by_one(
    design: TaskDesign, found: Calibration, truth: int
) -> None:
    model = MODELS[truth]
    study, theta = design.simulate(truth, 0, 0, LEARNERS)
    rows = {tuple(row[k] for k in KEYS): row for row in found.recovery.to_dicts()}
    for split in (*SPLITS, 1.0):
        part = hl.fit(study, [model], [split]).of[model.name]
        for k, (cell, parameter) in enumerate(zip(part.cells, part.parameters, strict=True)):
            row = rows[model.name, cell, parameter, split]
            first = int(split * TRIALS)
            shown = cell.split("+") if cell in "+".join(TASK.contexts) else TASK.contexts
            codes = [TASK.contexts.index(context) for context in shown]
            seen = [i for i, t in enumerate(study) if np.isin(t.context[:first], codes).any()]
            assert row["learners"] == len(seen)
            truth_of, estimate = theta[seen, k], part.theta[seen, 0, k]
            error = np.abs(estimate - truth_of) / truth_of
            assert row["true_value"] == pytest.approx(truth_of.mean())
            assert row["median_estimate"] == pytest.approx(np.median(estimate))
            assert row["relative_error"] == pytest.approx(np.median(error))
            assert row["lower_quartile"] == pytest.approx(np.percentile(error, 25))
            assert row["upper_quartile"] == pytest.approx(np.percentile(error, 75))
            assert row["mean_relative_error"] == pytest.approx(error.mean())
            assert row["standard_error"] == pytest.approx(error.std(ddof=1) / len(seen) ** 0.5)
            assert row["trials_fitted"] == first
            if not isinstance(model, hl.models.Coin):
                # A cell without a reward before its last visit is flat, and at no bound.
                informed = [told(study[i], first, codes) for i in seen]
                bound = np.isin(estimate, [0.0, 1.0]) & informed
                assert row["at_bound"] == pytest.approx(bound.mean())


def test_some_cells_were_unseen_and_some_estimates_at_a_bound(found: Calibration) -> None:
    early = found.recovery.filter(true_model="OnePerItem", split=0.2)
    assert early["learners"].min() < LEARNERS  # type: ignore[operator]
    assert early["at_bound"].max() > 0  # type: ignore[operator]
    late = found.recovery.filter(true_model="OnePerItem", split=1.0)
    assert late["learners"].to_list() == [LEARNERS] * 8


def test_more_trials_recover_better(found: Calibration) -> None:
    mine = (
        found.recovery.filter(true_model="ByFeature1")
        .group_by("split")
        .agg(pl.col("relative_error").mean())
    )
    assert mine.sort("split")["relative_error"].is_sorted(descending=True)


def test_a_truth_of_zero_has_no_relative_error() -> None:
    found = hl.calibrate(TASK, MODELS[:1], {"eta": 0.0}, learners=6, trials=24, splits=[])
    row = found.recovery.row(0, named=True)
    assert row["relative_error"] is row["mean_relative_error"] is row["standard_error"] is None
    assert row["true_value"] == 0
    assert row["learners"] == 0  # of whom there is a relative error
