"""Simulated frequencies agree with the model's probabilities.

Every learner is replayed with the parameters it followed, which gives the probability p_t of each
action before each choice. If the choices follow these probabilities then

- the randomised transforms U_t = F_t(A_t − 1) + V_t·p_t(A_t) are independent and uniform, and so
  are those turned round (1 − U_t) wherever the past says that the first action is the likelier;
- Σ w_t·(1{A_t = a} − p_t(a)) is a martingale for weights w_t that know the past only, and
  divided by √(Σ w_t²·p_t(a)·(1 − p_t(a))) nearly normal. Weights 1 ask whether the action is as
  frequent as it should be, weights p_t(a) − 1/K whether learners are as sure as they should be.

All p-values of this file are held against one bound, ALARM / TESTS, so that correct code would fail
it with one seed in 10,000. A rate half as large again is rejected in every design.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from howlearn.core.rules import rule_named
from howlearn.core.study import Study
from howlearn.fitting.replay import log_probabilities
from howlearn.models.coin import Coin
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.models.values import Range, Reward, certain, drawn, parameter_values
from howlearn.simulation.simulate import simulate
from studies import model_of, random_trials, study_of

ALARM = 1e-4
TESTS = 36 * 8 + 5 * 8  # at most: 8 tests of a design with three actions
CONTEXTS = ("p", "q", "r", "s")
CELLS = [["p", "q"], ["r"], ["s"]]


def p_values(study: Study, model: Model, theta: np.ndarray, seed: int = 0) -> np.ndarray:
    """Two tests of uniformity, then two of every action's frequency."""
    every = [log_probabilities(study, i, model, theta[i]) for i in range(len(study))]
    p = np.exp(np.concatenate(every))[study.scored]
    chosen = study.action[study.scored]
    own = np.arange(len(chosen)), chosen
    below = np.cumsum(p, axis=1)[own] - p[own]
    u = below + np.random.default_rng([99, seed]).random(len(chosen)) * p[own]
    turned = np.where(p[:, 0] > 1 / p.shape[1], 1 - u, u)
    found = [float(stats.kstest(each, "uniform").pvalue) for each in (u, turned)]
    for a in range(p.shape[1]):
        surprise = (chosen == a) - p[:, a]
        for weight in (np.ones(len(p)), p[:, a] - 1 / p.shape[1]):
            spread = np.sqrt(np.sum(weight**2 * p[:, a] * (1 - p[:, a])))
            found.append(2 * float(stats.norm.sf(abs(np.sum(weight * surprise)) / spread)))
    return np.array(found)


def task_of(n_actions: int, order: str = "periodic") -> Task:
    """Certain and probable rewards; another action is best in every context."""
    actions = tuple("ABC"[:n_actions])
    rewards = {
        c: {a: certain(1.0) if k == i % n_actions else Reward(0.3) for k, a in enumerate(actions)}
        for i, c in enumerate(CONTEXTS)
    }
    return replace(Task("four", CONTEXTS, actions, (), rewards=rewards), order=order)


def followed(model: PartitionModel, task: Task, eta: float | Range, seed: int) -> np.ndarray:
    parameters = {"eta": eta}
    if any(p.name == "gamma" for _, p in model.owned):
        parameters["gamma"] = 0.1
    return drawn(parameter_values(model, parameters, task.actions), range(80), (seed,))


@pytest.mark.parametrize("order", ["periodic", "blocks", "independent"])
@pytest.mark.parametrize("n_actions", [2, 3])
@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("rule", ["gradient", "exp3", "exp3-ix"])
def test_choices_follow_the_probabilities(rule, form, n_actions, order):
    """And those of a rate half as large again do not: the test can tell."""
    task = task_of(n_actions, order)
    model = model_of(CELLS, rule_named(rule, form))
    eta = {"gradient": 0.2, "exp3": 0.06, "exp3-ix": 0.08}[rule]
    theta = followed(model, task, eta, seed=0)
    study = simulate(task, model, theta, trials=160, seed=7)
    assert p_values(study, model, theta).min() > ALARM / TESTS
    rates = np.array([p.name == "eta" for _, p in model.owned])
    wrong = np.where(rates, 1.5 * theta, theta)
    assert p_values(study, model, wrong).min() < ALARM / TESTS


def test_with_rates_from_a_range():
    task, model = task_of(3), model_of(CELLS, rule_named("gradient"))
    study = simulate(task, model, {"eta": Range(0.05, 0.8)}, learners=80, trials=160, seed=11)
    theta = followed(model, task, Range(0.05, 0.8), seed=11)
    assert p_values(study, model, theta).min() > ALARM / TESTS
    assert p_values(study, model, theta / 1.5).min() < ALARM / TESTS


def test_of_learners_shown_what_was_recorded():
    """With instructed choices; a replay that overlooks tests or new starts is rejected."""
    recorded = study_of(
        *(random_trials(i, 200, CONTEXTS, 3, flags=True) for i in range(80)), n_actions=3
    )
    task, model = task_of(3), model_of(CELLS, rule_named("gradient"))
    theta = followed(model, task, 0.8, seed=0)
    study = simulate(task, model, theta, like=recorded, seed=3)
    assert p_values(study, model, theta).min() > ALARM / TESTS
    rewarded = np.nan_to_num(study.reward, nan=1.0)
    for overlooked in (
        replace(study, reset=np.zeros_like(study.reset)),
        replace(study, learned=np.ones_like(study.learned), reward=rewarded),
    ):
        assert p_values(overlooked, model, theta).min() < ALARM / TESTS


def test_of_the_published_mistake():
    """Learners learn from the wrong first rewards; a replay with the right ones is rejected."""
    task = Task.load("five-four")
    model = PartitionModel("each", task.models[-1].partition)
    theta = np.full((400, 9), 0.2)
    study = simulate(task, model, theta, trials=90, seed=3, as_published=True)
    assert p_values(study, model, theta).min() > ALARM / TESTS
    correct = task.schedule().reward[0][study.context, study.action]
    assert p_values(replace(study, reward=correct), model, theta).min() < ALARM / TESTS


@pytest.mark.parametrize("n_actions", [2, 3])
def test_of_a_coin(n_actions):
    theta = np.tile([0.3, 0.5][: n_actions - 1], (80, 1))
    study = simulate(task_of(n_actions), Coin(), theta, trials=160, seed=1)
    assert p_values(study, Coin(), theta).min() > ALARM / TESTS
    assert p_values(study, Coin(), theta * 1.2).min() < ALARM / TESTS


def test_p_values_are_uniform():
    """The tests themselves: of 1,500 p-values a share near 5% is below 0.05, 0.5% below 0.005.

    Within five standard errors, as if they were independent: a false alarm once in a million.
    """
    task, model = task_of(2), model_of(CELLS, rule_named("gradient"))
    theta = followed(model, task, 0.2, seed=0)[:10]
    many = np.array(
        [
            p_values(simulate(task, model, theta, trials=100, seed=s), model, theta, s)[:4]
            for s in range(1000, 1375)
        ]
    )
    for level in (0.05, 0.005):
        share = np.mean(many < level)
        assert share == pytest.approx(level, abs=5 * (level * (1 - level) / many.size) ** 0.5)
