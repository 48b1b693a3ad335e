"""Switch: one strategy, then another."""

from __future__ import annotations

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3, GradientBandit
from howlearn.engine.layout import Statuses
from howlearn.fitting.fit import fit
from howlearn.fitting.replay import latents_of, log_probabilities
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.hidden import Switch
from howlearn.models.mixture import Expert
from howlearn.models.task import Task
from howlearn.simulation.simulate import simulate
from studies import model_of, random_trials, study_of

TASK = Task.load("five-four")
SHAPE, PATTERN = TASK.model("ByShape"), TASK.model("ByPattern")
GIVEN = Switch(Expert(SHAPE, {"eta": 0.2}), Expert(PATTERN, {"eta": 0.2}))


def test_the_trial_is_the_best_of_all() -> None:
    study = simulate(TASK, GIVEN, np.array([[60.0], [1.0], [200.0]]), trials=120, seed=3)
    fits = fit(study, [GIVEN], [40, 1.0])
    part = fits.of[GIVEN.name]
    for i in range(3):
        by = [log_probabilities(study, i, e.model, np.full(2, 0.2)) for e in GIVEN.experts]
        first, second = (p[np.arange(120), study[i].action] for p in by)
        for j, mark in enumerate((40, 120)):
            every = [first[: k - 1].sum() + second[k - 1 : mark].sum() for k in range(1, mark + 2)]
            assert part.log_likelihood[i, j] == pytest.approx(max(every), abs=1e-9)
            trial = int(part.theta[i, j, 0])
            if trial <= mark:
                assert every[trial - 1] == pytest.approx(max(every), abs=1e-9)
                assert part.rest[i, j] == pytest.approx(second[mark:].sum(), abs=1e-9)
            else:  # no switch before the mark: the first strategy goes on
                assert trial == 121
                assert part.rest[i, j] == pytest.approx(first[mark:].sum(), abs=1e-9)


def test_weights_jump_at_the_trial() -> None:
    study = simulate(TASK, GIVEN, {"trial": 11}, learners=1, trials=20, seed=1)
    q = latents_of(study, 0, GIVEN, np.array([11.0]))[1]
    assert q[:, 1].tolist() == [0.0] * 10 + [1.0] * 10
    both = log_probabilities(study, 0, GIVEN, np.array([11.0]))
    first = log_probabilities(study, 0, SHAPE, np.full(2, 0.2))
    second = log_probabilities(study, 0, PATTERN, np.full(2, 0.2))
    assert np.array_equal(both[:10], first[:10])
    assert np.array_equal(both[10:], second[10:])


def test_trials_that_are_not_scored_do_not_decide() -> None:
    study = study_of(random_trials(2, 80, flags=True))
    model = Switch(Expert(Coin(), {"p(A)": 0.8}), Expert(Coin(), {"p(A)": 0.3}))
    part = fit(study, [model], [0.5, 1.0]).of[model.name]
    log_p = np.log(np.array([[0.8, 0.2], [0.3, 0.7]]))
    action, scored = study[0].action, study[0].scored
    every = [
        log_p[0][action[:k]][scored[:k]].sum() + log_p[1][action[k:]][scored[k:]].sum()
        for k in range(81)
    ]
    assert part.log_likelihood[0, 1] == pytest.approx(max(every), abs=1e-12)


def test_joint_fits_are_never_worse_than_plug_in_fits() -> None:
    study = simulate(TASK, GIVEN, {"trial": 60}, learners=3, trials=120, seed=5)
    plug_in, joint = Switch(SHAPE, PATTERN), Switch(SHAPE, PATTERN, source="joint")
    fits = fit(study, [plug_in, joint], [0.5, 1.0])
    better = fits.of[joint.name].log_likelihood - fits.of[plug_in.name].log_likelihood
    assert better.min() > -1e-9
    assert better.max() > 0.01


def test_without_a_difference_there_is_no_switch() -> None:
    study = study_of(random_trials(1, 30))
    same = Switch(Expert(Coin(), {"p(A)": 0.6}), FixedPolicy("p", {"A": 0.6, "B": 0.4}))
    part = fit(study, [same], [0.5, 1.0]).of[same.name]
    assert part.theta.reshape(-1).tolist() == [31.0, 31.0]
    assert set(part.status.reshape(-1).tolist()) == {int(Statuses.FLAT)}


def test_a_strategy_that_is_out_of_the_question_costs_no_digits() -> None:
    """Exp3 with a high rate finds some choices next to impossible: sums of −1e150 and more."""
    cells = [("x",), ("y",)]
    wild = model_of(cells, Exp3(), name="wild")
    calm = model_of(cells, GradientBandit(), name="calm")
    model = Switch(Expert(calm, {"eta": 0.1}), Expert(wild, {"eta": 1.0}))
    for seed in range(5):
        study = study_of(random_trials(seed, 60))
        part = fit(study, [model], [0.5, 1.0]).of[model.name]
        by = [log_probabilities(study, 0, m, np.full(2, v)) for m, v in ((calm, 0.1), (wild, 1.0))]
        first, second = (p[np.arange(60), study[0].action] for p in by)
        for j, mark in enumerate((30, 60)):
            every = [first[:k].sum() + second[k:mark].sum() for k in range(mark + 1)]
            assert part.log_likelihood[0, j] == pytest.approx(max(every), abs=1e-9)
    joint = Switch(wild, calm, source="joint")
    fits = fit(study, [joint, Switch(wild, calm)])
    assert fits.log_likelihood(1.0)[0, 0] >= fits.log_likelihood(1.0)[0, 1] - 1e-9


def test_the_probabilities_of_a_coin_are_not_searched() -> None:
    with pytest.raises(HowlearnError, match="cannot be fitted jointly"):
        Switch(SHAPE, Coin(), source="joint")
    assert Switch(SHAPE, Expert(Coin(), {"p(A)": 0.4}), source="joint").n_parameters(2) == 5


def test_a_change_point_counts_as_three_parameters() -> None:
    assert GIVEN.n_parameters(2) == 3
    assert Switch(SHAPE, PATTERN).n_parameters(2) == 3 + 2 + 2
    study = simulate(TASK, GIVEN, {"trial": 60}, learners=2, trials=80, seed=5)
    fits = fit(study, [GIVEN, Switch(SHAPE, PATTERN)])
    assert fits.n_parameters.tolist() == [[3, 7], [3, 7]]


def test_it_has_two_different_strategies() -> None:
    with pytest.raises(HowlearnError, match="identical"):
        Switch(SHAPE, SHAPE)
    with pytest.raises(HowlearnError, match="needs two experts"):
        TASK.model("switch(ByShape)")
