"""Learners of the field's models: no fit is worse than the truth, and more trials tell more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from howlearn.fitting.fit import fit
from howlearn.fitting.replay import log_probabilities
from howlearn.models import FIELD
from howlearn.models.task import Task
from howlearn.models.values import Range, Reversal, Reward, drawn, parameter_values
from howlearn.simulation.simulate import simulate

LEARNERS, SEED = 8, 3
RATE, BETA = Range(0.05, 0.8), Range(1, 10)
MEMORY = {
    "alpha": Range(0.01, 0.2),
    "kappa": Range(-0.1, 0.2),
    "rho": Range(0.5, 1),
    "phi": Range(0.02, 0.4),
    "epsilon": Range(0.01, 0.2),
    "b_memory": Range(0, 1),
    "b_slow": Range(0, 1),
    "capacity": Range(2, 5),
}
RANGES = {
    "q-learning": {"alpha": RATE, "beta": BETA},
    "q-start": {"alpha": RATE, "start": Range(0, 1), "beta": BETA},
    "q-signed": {"alpha": RATE, "beta": BETA},
    "q-two-rates": {"alpha_better": RATE, "alpha_worse": RATE, "beta": BETA},
    "q-forgetting": {"alpha": RATE, "phi": Range(0.01, 0.5), "beta": BETA},
    "q-perseveration": {"alpha": RATE, "beta": BETA, "tau": RATE, "kappa": Range(-2, 4)},
    "win-stay-lose-shift": {"win_stay": Range(0.6, 0.98), "lose_shift": Range(0.3, 0.95)},
    "aca": {"alpha": Range(0.05, 1), "gamma": Range(0.9, 1)},
    "alcove": {
        "c": Range(2, 10),
        "phi": Range(1, 5),
        "lambda_w": Range(0.02, 0.2),
        "lambda_alpha": Range(0.002, 0.05),
    },
    "component-cue": {"lambda_w": Range(0.005, 0.1), "phi": Range(1, 5)},
    "gcm": {
        "c": Range(2, 10),
        "gamma": Range(0.5, 3),
        "b": Range(0.05, 1),
        **{f"share_{i}": Range(0, 0.6) for i in (1, 2, 3)},
    },
    "pearce-hall": {"alpha": RATE, "attention": Range(0.1, 0.9), "beta": BETA},
    "go-no-go": {
        "alpha": RATE,
        "beta": BETA,
        "go_bias": Range(-1, 2),
        "pavlovian": Range(-0.5, 1),
    },
    "kalman-mean": {"noise": Range(0.1, 1), "drift": Range(0.01, 0.2), "beta": BETA},
    "kalman-ucb": {
        "noise": Range(0.1, 1),
        "drift": Range(0.01, 0.2),
        "beta": BETA,
        "explore": Range(-1, 2),
    },
    "kalman-thompson": {"noise": Range(0.1, 1), "drift": Range(0.01, 0.2)},
    "rlwm": MEMORY,
    "wm-habit": MEMORY,
}
FIVE_FOUR = replace(Task.load("five-four"), order="blocks")
REVERSALS = tuple(Reversal(t, ("A", "B"), ("arms",)) for t in range(51, 3000, 50))
ARMS = Task(
    "arms",
    ("arms",),
    ("A", "B"),
    (),
    rewards={"arms": {"A": Reward(0.8), "B": Reward(0.2)}},
    reversals=REVERSALS,
)
GO = Task(
    "go",
    ("win", "avoid"),
    ("go", "nogo"),
    (),
    rewards={
        "win": {"go": Reward(0.8), "nogo": Reward(0.2)},
        "avoid": {"go": Reward(0.8, -1.0), "nogo": Reward(0.2, -1.0)},
    },
)


def recovered(task, name, trials, learners=LEARNERS):
    """True parameters [learner, parameter], estimates, and how much likelier the latter are."""
    model = task.model(name)
    values = parameter_values(model, RANGES[name], task.actions)
    truth = drawn(values, range(learners), (SEED,))
    study = simulate(task, model, truth, trials=trials, seed=SEED)
    found = fit(study, [model]).of[name]
    at_truth = [
        log_probabilities(study, i, model, truth[i])[range(len(one)), one.action].sum()
        for i, one in enumerate(study)
    ]
    return truth, found.theta[:, 0], found.log_likelihood[:, 0] - at_truth


def test_every_model_of_the_field_is_tried():
    assert set(RANGES) == set(FIELD)


@pytest.mark.parametrize("name", RANGES)
def test_estimates_are_at_least_as_likely_as_the_truth(name):
    _, _, gain = recovered(GO if name == "go-no-go" else FIVE_FOUR, name, 300)
    assert np.all(gain >= -1e-6)


@pytest.mark.parametrize("name", ["q-learning", "win-stay-lose-shift"])
def test_ten_times_the_trials_bring_estimates_nearer_to_the_truth(name):
    """Where rewards are noisy, so that the parameters are identified."""
    errors = {}
    for trials in (300, 3000):
        truth, estimate, gain = recovered(ARMS, name, trials)
        assert np.all(gain >= -1e-6)
        errors[trials] = np.median(np.abs(estimate - truth) / truth, axis=0)
    assert np.all(errors[3000] < errors[300])
