"""A model that fails for some learners: they are named, and the contest goes on."""

from __future__ import annotations

import numpy as np
import pytest

import howlearn as hl
from howlearn.core.rule import Parameter
from howlearn.models.model import Model


class Picky(Model):
    """Has nothing to say of whoever earns nothing in the first three trials."""

    parameters = (Parameter("alpha", 0, 1), Parameter("beta", 0, 20, default=2))

    @staticmethod
    def start(world):
        return np.zeros(world.n_actions + 2)

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[a]
        hl.log_softmax(out)
        if state[-1] >= 3.0 and state[-2] == 0.0:
            out[0] = np.nan

    @staticmethod
    def update(state, trial, theta):
        state[trial.action] += theta.alpha * (trial.reward - state[trial.action])
        state[-1] += 1.0
        if state[-1] <= 3.0:
            state[-2] += trial.reward


class PickyIfSteep(Picky):
    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[a]
        hl.log_softmax(out)
        if state[-1] >= 3.0 and state[-2] == 0.0 and theta.beta > 5.0:
            out[0] = np.nan


class RulesOut(Picky):
    """Says that whoever earns nothing at first never chooses the first action again."""

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = theta.beta * state[a]
        hl.log_softmax(out)
        if state[-1] >= 3.0 and state[-2] == 0.0:
            out[0] = -np.inf
            hl.log_softmax(out)


@pytest.fixture(scope="module")
def study():
    task = hl.Task.load("shepard-2")
    values = {"alpha": 0.3, "beta": 3.0}
    return hl.simulate(task, "q-learning", values, learners=24, trials=100, seed=1)


def failing(study) -> list[str]:
    found = [who for i, who in enumerate(study.learners) if not study[i].reward[:3].any()]
    assert 0 < len(found) < 5
    return found


def judged(study, model) -> hl.Results:
    return hl.select(study, ["q-learning", model], ["population"], check=False)


@pytest.mark.parametrize("model", [Picky(), PickyIfSteep()], ids=["always", "where β is large"])
def test_learners_of_whom_a_model_says_nothing_are_named(study, model):
    found = judged(study, model).selection
    lost = found.filter(found["model"].is_null())
    assert lost["learner"].to_list() == failing(study)
    assert all(f"{model.name}" in said and "NaN" in said for said in lost["verdict"])
    others = found.filter(found["model"].is_not_null())
    assert others["probability"].is_finite().all()
    assert (others["model"] == "q-learning").all()


def test_learners_whose_choices_a_model_rules_out_are_given_another(study):
    found = judged(study, RulesOut())
    mine = found.selection.filter(found.selection["learner"].is_in(failing(study)))
    assert (mine["model"] == "q-learning").all()
    row = found.tables["population"].filter(model="RulesOut").row(0, named=True)
    assert row["evidence"] == "cloud of points"  # exact for those whom it rules out
    assert row["fewest_effective_points"] > 10
