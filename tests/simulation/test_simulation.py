"""Simulated learners: what they are shown, what they earn, and what they may be given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.core.rules import Exp3IX, GradientBandit, rule_named
from howlearn.fitting.replay import log_probabilities
from howlearn.models.coin import Coin
from howlearn.models.q_learning import QLearning
from howlearn.models.task import Task
from howlearn.models.values import Reversal, Reward, parameter_values
from howlearn.simulation.simulate import simulate
from studies import model_of

TASK = Task.load("five-four")


def made(task=TASK, model="ByShape", eta=0.05, **kwargs):
    return simulate(task, model, {"eta": eta}, **{"learners": 3, "trials": 90, "seed": 2, **kwargs})


def test_a_learner_depends_on_seed_and_number_alone():
    few, many = made(learners=2), made(learners=5)
    for name in ("context", "action", "reward"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name)[:180])
    assert not np.array_equal(few.action[:90], few.action[90:])
    assert not np.array_equal(few.action, made(learners=2, seed=3).action)


def test_a_longer_simulation_begins_like_a_shorter_one():
    short, long = made(learners=1, trials=40), made(learners=1, trials=400)
    np.testing.assert_array_equal(short.action, long.action[:40])


def test_every_trial_counts_and_each_learner_starts_anew():
    study = made()
    assert study.scored.all()
    assert study.learned.all()
    assert np.flatnonzero(study.reset).tolist() == [0, 90, 180]
    assert study.learners == ("1", "2", "3")


def test_rewards_are_those_of_the_task():
    study = made(trials=200)
    correct = np.array([[TASK.rewards[c][a].reward for a in TASK.actions] for c in TASK.contexts])
    np.testing.assert_array_equal(study.reward, correct[study.context, study.action])


@pytest.mark.parametrize("order", ["periodic", "blocks", "independent"])
def test_orders_of_presentation(order):
    study = made(replace(TASK, order=order), learners=1, trials=900)
    blocks = study.context.reshape(100, 9)
    each_once = np.all(np.sort(blocks, axis=1) == np.arange(9), axis=1)
    if order == "independent":
        assert not each_once.all()
    else:
        assert each_once.all()
        assert np.all(blocks == np.arange(9)) == (order == "periodic")


def test_a_reversal():
    """From trial 46 on the other action is correct."""
    task = replace(TASK, reversals=(Reversal(46, swap=("A", "B"), contexts=TASK.contexts),))
    study = made(task, learners=1)
    before = np.array([[TASK.rewards[c][a].reward for a in TASK.actions] for c in TASK.contexts])
    right = before[study.context, study.action]
    np.testing.assert_array_equal(study.reward, np.where(np.arange(90) < 45, right, 1 - right))


def test_rewards_with_a_probability():
    """3,000 draws each: within five standard errors (false alarm once in a million)."""
    rewards = {c: {"A": Reward(0.8, 2.0, -1.0), "B": Reward(0.25)} for c in TASK.contexts}
    task = replace(TASK, rewards=rewards, reward_range=(-1.0, 2.0))
    study = simulate(task, Coin(), {"p(A)": 0.5}, learners=6, trials=1000, seed=3)
    for action, values, p in ((0, (-1.0, 2.0), 0.8), (1, (0.0, 1.0), 0.25)):
        mine = study.reward[study.action == action]
        assert set(np.unique(mine)) == set(values)
        assert np.mean(mine == values[1]) == pytest.approx(p, abs=5 * (p * (1 - p) / 2900) ** 0.5)


def test_stopping_after_correct_answers_in_a_row():
    study = made(replace(TASK, stop=6), model="OnePerItem", eta=1.0, learners=20, trials=300)
    assert study.n_scored.min() < 300
    for i in range(20):
        correct = study[i].reward == 1.0
        runs = [correct[t - 6 : t].all() for t in range(6, len(correct) + 1)]
        assert not any(runs[:-1])
        assert len(correct) == 300 or runs[-1]


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("rule", ["gradient", "exp3", "exp3-ix"])
def test_nobody_does_what_a_replay_holds_impossible(rule, form):
    """The largest rate, where a rounded feedback would turn a rare choice into an impossible one.

    A choice has a probability under e^-20 in 7,500 trials once in 10,000 seeds at most.
    """
    paid = {c: {a: Reward(0.5, 5.0, -5.0) for a in "ABC"} for c in "xy"}
    task = Task("wild", ("x", "y"), ("A", "B", "C"), (), rewards=paid, reward_range=(-5.0, 5.0))
    model = model_of([["x"], ["y"]], rule_named(rule, form, 20.0))
    theta = np.tile([20.0, 0.0] if rule == "exp3-ix" else [20.0], (15, 2))
    study = simulate(task, model, theta, trials=500, seed=1)
    every = [log_probabilities(study, i, model, theta[i]) for i in range(15)]
    own = np.concatenate(every)[np.arange(7500), study.action]
    assert own.min() > -20


@pytest.mark.parametrize("order", ["periodic", "blocks", "independent"])
@pytest.mark.parametrize("stop", [None, 1, 3])
def test_one_context_and_one_trial(order, stop):
    paid = {"x": {"A": Reward(0.5, -1.0, -2.0), "B": Reward(1.0, -1.0)}}
    reversals = (Reversal(2, swap=("A", "B"), contexts=("x",)),)
    task = Task("tiny", ("x",), ("A", "B"), (), rewards=paid, reward_range=(-2.0, 0.0))
    task = replace(task, order=order, stop=stop, reversals=reversals)
    for form in ("gain", "loss"):
        model = model_of([["x"]], GradientBandit(form))
        one = simulate(task, model, {"eta": 1.0}, learners=4, trials=1)
        assert one.n_scored.tolist() == [1] * 4
        several = simulate(task, model, {"eta": 1.0}, learners=4, trials=30)
        assert several.n_scored.max() <= 30
        assert set(np.unique(several.reward)) <= {-1.0, -2.0}
        later = np.setdiff1d(np.arange(len(several.reward)), several.starts[:-1])
        assert set(several.reward[later][several.action[later] == 0]) <= {-1.0}  # A has B's


# Parameters


def test_values_of_cells_are_in_the_order_of_the_cells():
    model = TASK.model("ByShapeExc")
    vector = parameter_values(model, {"eta": [0.1, 0.2, 0.3, 0.4]}, TASK.actions)
    assert vector == [0.1, 0.2, 0.3, 0.4]
    assert [unit.name for unit, _ in model.owned] == ["1+2+7", "11+12+14+15", "8", "13"]
    shared = TASK.model("ByShapeExc (one rate)")
    assert parameter_values(shared, {"eta": [0.1]}, TASK.actions) == [0.1]
    two = model_of([["x"], ["y"]], Exp3IX())
    vector = parameter_values(two, {"gamma": 0.5, "eta": [0.1, 0.2]}, ["A", "B"])
    assert vector == [0.1, 0.5, 0.2, 0.5]


def test_a_cell_with_rate_0_never_learns():
    study = made(model="ByShape", eta=[0.0, 1.0], learners=20, trials=450)
    square = np.isin(study.context, [TASK.contexts.index(c) for c in ("1", "2", "7", "8")])
    assert study.reward[square].mean() == pytest.approx(0.5, abs=5 * 0.5 / square.sum() ** 0.5)
    assert study.reward[~square].mean() > 0.6


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        ("ByShape", {}, "model ByShape needs a value for eta; given: none"),
        ("ByShape", {"alpha": 1}, "model ByShape needs a value for eta; given: alpha"),
        ("ByShape", {"eta": 0.1, "gamma": 1}, "needs a value for eta; given: eta, gamma"),
        (
            "ByShape",
            {"eta": [0.1, 0.2, 0.3]},
            r"eta of model ByShape needs one value, or 2, one per cell \(1\+2\+7\+8, .*given: 3",
        ),
        ("ByShape", {"eta": [0.1, 1.5]}, "must lie between 0 and 1, got 1.5"),
        ("ByShape", {"eta": float("nan")}, "must lie between 0 and 1, got nan"),
        ("Coin", {"p(A)": 1.2}, r"p\(A\) of cell all must lie between 0 and 1, got 1.2"),
    ],
)
def test_parameters_that_cannot_be(model, parameters, message):
    with pytest.raises(HowlearnError, match=message):
        simulate(TASK, model, parameters)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"learners": 0}, "at least one learner and one trial"),
        ({"trials": 0}, "at least one learner and one trial"),
        ({"seed": -1}, "a seed must be a whole number, 0 or greater, got -1"),
    ],
)
def test_numbers_that_cannot_be(numbers, message):
    with pytest.raises(HowlearnError, match=message):
        made(**numbers)


def test_probabilities_of_a_coin_with_three_actions():
    rewards = {"x": {a: Reward() for a in "ABC"}}
    task = Task("three", ("x",), ("A", "B", "C"), (), rewards=rewards)
    study = simulate(task, "Coin", {"p(A)": 0.5, "p(B)": 0.1}, learners=1, trials=4000, seed=1)
    shares = np.bincount(study.action, minlength=3) / 4000
    assert shares == pytest.approx([0.5, 0.1, 0.4], abs=5 * 0.5 / 4000**0.5)
    with pytest.raises(HowlearnError, match="add up to at most 1"):
        simulate(task, "Coin", {"p(A)": 0.9, "p(B)": 0.2})


def test_a_model_has_a_cell_for_every_context():
    """It may have cells for contexts of other tasks as well."""
    with pytest.raises(HowlearnError, match="model m has no cell for context 2"):
        made(model=model_of([["1", "7"], ["8"]], GradientBandit()))
    larger = model_of([[*TASK.contexts[:5], "99"], [*TASK.contexts[5:]]], GradientBandit())
    same = model_of([TASK.contexts[:5], TASK.contexts[5:]], GradientBandit())
    np.testing.assert_array_equal(made(model=larger).action, made(model=same).action)


def test_what_is_no_model_is_refused():
    for wrong in (None, 3, QLearning):
        with pytest.raises(HowlearnError, match="is not a model; give one, such as QLearning"):
            simulate(TASK, wrong)
    with pytest.raises(HowlearnError, match="model ByShape needs a value for eta; given: none"):
        simulate(TASK, "ByShape")
