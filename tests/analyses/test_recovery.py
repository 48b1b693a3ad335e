"""Learners of known models are found again, as often as they should be."""

from __future__ import annotations

import math

import numpy as np
import pytest

from howlearn.analyses.check import select
from howlearn.models.partition_model import one_rate_versions
from howlearn.models.task import Task
from howlearn.selection.criteria import AIC, Penalized
from howlearn.simulation.simulate import simulate

TASK = Task.load("five-four")
LEARNERS = 600


def share(study, models, criterion, name):
    """How often a criterion selects the model of that name."""
    selected = select(study, models, [criterion]).selection["model"]
    return float((selected == name).mean())


PAPER_RATES = [0.003 + 0.007 * k for k in range(9)]


@pytest.mark.parametrize(
    ("rates", "shared", "expected"),
    [
        (0.03, True, 0.62),
        (0.03, False, 0.06),
        (PAPER_RATES, False, 0.12),
    ],
    ids=["one rate", "one rate, fitted per cell", "the paper's rates"],
)
def test_one_rate_separates_one_per_item_from_its_rivals(rates, shared, expected):
    """How often AIC finds OnePerItem in correct five-four data.

    Cells with rates of their own let the models with exceptions imitate it (SPEC 2.5); with one
    rate for all cells they cannot. Of 600 learners the standard error is .020, .010 and .013; four
    of them are allowed, which a right program exceeds once in 16,000 seeds.
    """
    study = simulate(TASK, "OnePerItem", {"eta": rates}, learners=LEARNERS, trials=500, seed=11)
    one_rate = (TASK.model("OneForAll"), *one_rate_versions(TASK.models))
    models = one_rate if shared else TASK.models
    assert len(models) == 6
    name = "OnePerItem (one rate)" if shared else "OnePerItem"
    error = math.sqrt(expected * (1 - expected) / LEARNERS)
    assert share(study, models, AIC(), name) == pytest.approx(expected, abs=4 * error)


@pytest.mark.parametrize("name", ["ByShape", "ByPattern"])
def test_two_cells_are_found_by_the_papers_criterion(name):
    """Figure 3b: .99 and 1.00 of learners at η = .03; correct rewards change nothing here.

    A true share of .985 would give less than .95 of 200 learners once in 2,000 seeds.
    """
    study = simulate(TASK, name, {"eta": 0.03}, learners=200, trials=500, seed=12)
    assert share(study, TASK.models, Penalized(c=0.012), name) >= 0.95


def test_estimates_are_where_the_truth_is():
    """The rates of a learner's own model, in the middle: within four standard errors of the mean.

    Maximum likelihood is biased in 500 trials, so the median of log η̂/η over learners is taken,
    and a tenth is allowed for on top.
    """
    study = simulate(TASK, "ByPattern", {"eta": [0.02, 0.05]}, learners=200, trials=500, seed=13)
    fits = select(study, [TASK.model("ByPattern")], [AIC()]).fits
    theta = fits.of["ByPattern"].theta[:, 0]
    off = np.log(np.maximum(theta, 1e-6) / [0.02, 0.05])
    spread = 1.2533 * off.std(axis=0) / math.sqrt(200)  # of a median
    assert np.all(np.abs(np.median(off, axis=0)) < 4 * spread + 0.1)
