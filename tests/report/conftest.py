"""A small selection for the charts of a report."""

from __future__ import annotations

import numpy as np
import pytest

import howlearn as hl
from howlearn.core.study import together
from howlearn.results.results import Results

MADE = (("ByShape", 0.1), ("OnePerItem", 0.2), ("ByPatternExc", 0.15))


@pytest.fixture(scope="session")
def task():
    return hl.Task.load("five-four")


@pytest.fixture(scope="session")
def selection(task):
    """Nine learners of three models, of different lengths."""
    parts = [
        hl.simulate(task, model, {"eta": eta}, learners=3, trials=60 + 24 * k, seed=k)
        for k, (model, eta) in enumerate(MADE)
    ]
    study = together(parts)
    assert np.unique(np.diff(study.starts)).tolist() == [60, 84, 108]
    return hl.select(study, task.models, ["penalized", "bic", "holdout(split=0.5)"])


@pytest.fixture(scope="session")
def found(selection, task):
    return Results.of(selection, task)
