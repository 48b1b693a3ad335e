"""Risks of simulated learners, against direct sums and dense grids."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.paper.risks import oracle, risk
from howlearn.simulation.simulate import simulate
from oracle import replay
from studies import trials_of

TASK = Task.load("five-four")
SHAPE, PATTERN = TASK.model("ByShape"), TASK.model("ByPattern")
TRUE = np.array([[0.08, 0.2], [0.03, 0.5]])


def test_risks_are_direct_sums() -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=60, seed=2)
    theta = np.array([[0.1, 0.3], [0.3, 0.02]])
    found = risk(study, SHAPE, TRUE, PATTERN, theta, first=20)
    for i in range(2):
        trials = trials_of(study, i)
        true = replay(trials, SHAPE.partition.cells, "gradient", [(v,) for v in TRUE[i]])
        mine = replay(trials, PATTERN.partition.cells, "gradient", [(v,) for v in theta[i]])
        kl = hellinger = 0.0
        for t in range(20, 60):
            p, q = ([math.exp(x) for x in each[t]] for each in (true, mine))
            kl += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True)) / 40
            hellinger += (1 - sum(math.sqrt(a * b) for a, b in zip(p, q, strict=True))) / 40
        assert found.kl[i] == pytest.approx(kl, abs=1e-12)
        assert found.hellinger[i] == pytest.approx(hellinger, abs=1e-12)


def test_any_model_has_a_risk() -> None:
    model = QLearning()
    theta = np.array([[0.3, 2.0]])
    study = simulate(TASK, model, theta, trials=50, seed=1)
    assert risk(study, model, theta, model, theta).kl[0] == 0.0
    found = risk(study, model, theta, SHAPE, np.array([[0.1, 0.1]]))
    assert 0 < found.hellinger[0] <= found.kl[0]


def test_the_oracle_is_the_best_of_a_dense_grid() -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=120, seed=3)
    for first in (0, 60):
        found = oracle(study, SHAPE, TRUE, PATTERN, first)
        for i in range(2):
            by_cell = []
            rates = np.append(np.geomspace(1e-4, 1.0, 1500), 0.0)
            true = log_probabilities(study, i, SHAPE, TRUE[i])
            every = [log_probabilities(study, i, PATTERN, np.array([r, r])) for r in rates]
            names = np.array(study.contexts, object)[study[i].context]
            for cell in PATTERN.partition.cells:
                mine = np.isin(names, cell) & (np.arange(120) >= first)
                p = np.exp(true[mine])
                by_cell.append(min(np.sum(p * (true[mine] - q[mine])) for q in every))
            best = sum(by_cell) / (120 - first)
            assert found.kl[i] <= best + 1e-9
            assert found.kl[i] == pytest.approx(best, abs=1e-4)
            at = risk(study, SHAPE, TRUE, PATTERN, found.theta, first)
            assert found.kl[i] == pytest.approx(at.kl[i], abs=1e-10)


def test_the_truth_is_its_own_oracle_and_fits_are_worse() -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=200, seed=4)
    assert oracle(study, SHAPE, TRUE, SHAPE).kl.max() < 1e-9
    theta = fit(study, [SHAPE]).of["ByShape"].theta[:, 0]
    assert np.all(risk(study, SHAPE, TRUE, SHAPE, theta).kl > 0)


def test_what_cannot_be_is_refused() -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=20)
    with pytest.raises(HowlearnError, match="no scored trial after trial 30"):
        risk(study, SHAPE, TRUE, SHAPE, TRUE, first=30)


@pytest.mark.parametrize(
    ("model", "theta", "first", "message"),
    [
        (SHAPE, np.full(2, 0.1), 0, "with 2 rows"),
        (SHAPE, np.full((1, 2), 0.1), 0, "with 2 rows"),
        (SHAPE, np.full((2, 3), 0.1), 0, "2 parameters"),
        (SHAPE, np.full((2, 2), -0.1), 0, "-0.1"),
        (SHAPE, np.full((2, 2), np.nan), 0, "nan"),
        ("ByShape", np.full((2, 2), 0.1), 0, "not a model"),
        (SHAPE, np.full((2, 2), 0.1), -1, "0 or later"),
    ],
)
def test_parameters_that_fit_no_model_are_refused(model, theta, first, message) -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=20)
    with pytest.raises(HowlearnError, match=message):
        risk(study, SHAPE, TRUE, model, theta, first)


def test_a_guess_changes_nothing() -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=400, seed=5)
    far = oracle(study, SHAPE, TRUE, PATTERN)
    for near in (far.theta * 1.05, np.full((2, 2), 0.9), np.zeros((2, 2))):
        assert_allclose(oracle(study, SHAPE, TRUE, PATTERN, near=near).kl, far.kl, atol=1e-10)


def test_a_wider_bound_does_not_hide_the_oracle() -> None:
    """A learner who repeats himself, whose best rate is a narrow top far from the bound."""
    rng = np.random.default_rng(14)
    study = simulate(TASK, SHAPE, np.full((1, 2), 0.4), trials=60, seed=3)
    for t in range(1, 60):
        if rng.random() < 0.8:
            study.action[t] = study.action[t - 1]
    found = []
    for max_rate in (1.0, 5.0):
        model = PartitionModel("m", PATTERN.partition, GradientBandit("gain", max_rate))
        found.append(oracle(study, SHAPE, np.full((1, 2), 0.4), model).kl[0])
    assert found[1] <= found[0] + 1e-9


@pytest.mark.parametrize("name", ["q-learning(ByShape)", "aca", "Coin", "ByShape"])
def test_other_models_have_a_searched_oracle(name: str) -> None:
    study = simulate(TASK, SHAPE, TRUE, trials=120, seed=6)
    ix = PartitionModel("ix", SHAPE.partition, Exp3IX())
    model = ix if name == "ByShape" else TASK.model(name)
    found = oracle(study, SHAPE, TRUE, model)
    at = risk(study, SHAPE, TRUE, model, found.theta)
    assert_allclose(found.kl, at.kl, atol=1e-9)
    fitted = fit(study, [model]).of[model.name].theta[:, 0]
    assert np.all(found.kl <= risk(study, SHAPE, TRUE, model, fitted).kl + 1e-9)


def test_a_searched_oracle_finds_the_truth() -> None:
    model = PartitionModel("ix", SHAPE.partition, Exp3IX())
    true = np.array([[0.05, 0.2, 0.1, 0.01]])
    study = simulate(TASK, model, true, trials=300, seed=7)
    assert oracle(study, model, true, model).kl[0] < 1e-6
