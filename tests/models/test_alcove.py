"""ALCOVE against the R package catlearn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.study import Study
from howlearn.fitting.replay import log_probabilities
from howlearn.models.networks import Alcove
from howlearn.models.task import Task

# catlearn was run with r = q = 1, attention 0.25, weights 0 and a humble teacher.
CATEGORY_A = (8, 11, 12, 14, 15)
CASES = {  # c, φ, λ_w, λ_α
    1: (6.5, 2.0, 0.03, 0.0033),
    2: (3.0, 1.2, 0.1, 0.02),
}


@pytest.mark.parametrize("case", CASES)
def test_catlearn(case, shared_data):
    known = pl.read_csv(shared_data / "alcove" / f"alcove_case{case}.csv")
    task = Task.load("five-four")
    contexts = list(task.contexts)
    items = [contexts.index(str(item)) for item in known["item"]]
    n = len(items)
    study = Study(
        learners=("1",),
        starts=np.array([0, n]),
        contexts=tuple(contexts),
        actions=tuple(task.actions),
        context=np.array(items, np.int32),
        action=np.zeros(n, np.int16),  # what is chosen makes no difference
        reward=np.isin(known["item"], CATEGORY_A).astype(float),
        scored=np.ones(n, bool),
        learned=np.ones(n, bool),
        reset=np.arange(n) == 0,
        features=task.features,
        right_wrong=(0.0, 1.0),
    )
    found = np.exp(log_probabilities(study, 0, Alcove(), np.array(CASES[case])))
    np.testing.assert_allclose(found, known["p_A", "p_B"].to_numpy(), rtol=0, atol=1e-12)
