"""Working memory beside slow learning: the authors' data, and what --load must be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError, HowlearnError
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.models.working_memory import RLWM, WorkingMemoryHabit
from howlearn.reading.read import read
from howlearn.simulation.simulate import simulate

# alpha, kappa, rho, phi, epsilon, b_memory, b_slow, capacity; the log-likelihoods of learners 1, 2
THETA = np.array([0.05, 0.1, 0.8, 0.1, 0.05, 0.3, 1.0, 3.0])
PUBLISHED = {
    RLWM: (-484.5255769188, -332.3616346957),
    WorkingMemoryHabit: (-496.7167574046, -361.3825902113),
}
COLUMNS = {"learner": "id", "context": "item", "action": "choice", "reward": "reward"}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_log_likelihoods_of_real_learners(kind, shared_data):
    study = read(
        shared_data / "rlwm" / "Expe3.csv", learner="subno", context="stimseq", action="choice",
        reward="cor", load="ns", reset_by="block", where="rt > 0.15 and choice > 0 and subno <= 2",
    )  # fmt: skip
    assert study.n_scored.tolist() == [714, 690]
    for i, expected in enumerate(PUBLISHED[kind]):
        log_p = log_probabilities(study, i, kind(), THETA)
        found = log_p[np.arange(len(log_p)), study[i].action].sum()
        assert found == pytest.approx(expected, abs=1e-8)


def frame(load: list, block: list) -> pl.DataFrame:
    n = len(load)
    told = {"item": [1, 2] * (n // 2), "choice": [*"AB"] * (n // 2), "reward": [1, 0] * (n // 2)}
    return pl.DataFrame({"id": [1] * n, **told, "ns": load, "block": block}, strict=False)


def test_the_load_of_a_block_is_read():
    study = read(frame([2, 2, 5, 5], [1, 1, 2, 2]), **COLUMNS, load="ns", reset_by="block")
    assert study.load.tolist() == [2, 2, 5, 5]
    assert study.roles["load"] == "ns"
    again = read(study.frame(), load="load", reset_by="block")
    assert again.load.tolist() == [2, 2, 5, 5]


def test_a_load_that_changes_within_a_block_is_refused():
    data = frame([2, 2, 5, 5], [1, 1, 1, 2])
    with pytest.raises(DataError, match=r"row 4.*a load of 2, then of 5, in one block"):
        read(data, **COLUMNS, load="ns", reset_by="block")
    with pytest.raises(DataError, match="--reset-by COL with the column of the blocks"):
        read(data, **COLUMNS, load="ns")


@pytest.mark.parametrize("wrong", [0, -3, None, "many"])
def test_a_load_that_is_no_positive_number_is_refused(wrong):
    with pytest.raises(DataError, match="a number greater than 0, how many stimuli"):
        read(frame([2, wrong, 2, 2], [1, 1, 1, 1]), **COLUMNS, load="ns", reset_by="block")


def test_no_load_is_refused_before_any_fit():
    study = read(frame([2] * 40, [1, 1, 2, 2] * 10), **COLUMNS, reset_by="block")
    with pytest.raises(HowlearnError, match="rlwm needs the number of stimuli in each block"):
        fit(study, [RLWM()])


def test_learners_of_a_task_have_one_block_with_all_of_its_contexts():
    theta = dict(zip([parameter.name for parameter in RLWM.parameters], THETA, strict=True))
    made = simulate("shepard-1", "rlwm", theta, trials=20, seed=1)
    assert set(made.load) == {8.0}


def test_simulated_learners_meet_the_loads_of_the_recorded_ones():
    data = frame([2] * 20 + [5] * 20, [1] * 20 + [2] * 20)
    study = read(data, **COLUMNS, load="ns", reset_by="block")
    names = [parameter.name for parameter in RLWM.parameters]
    made = simulate(None, RLWM(), dict(zip(names, THETA, strict=True)), like=study, seed=1)
    np.testing.assert_array_equal(made.load, study.load)
