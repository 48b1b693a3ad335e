"""Futures against plain replays of the records that they make."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.fitting.replay import log_probabilities
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.paper.risks import risk
from howlearn.paper.verify_learners import Bandit, Futures
from howlearn.simulation.simulate import simulate

TASK = Task.load("five-four")
CONTEXTS = [f"c{i}" for i in range(3)]


@pytest.fixture
def noisy(tmp_path):
    """Three actions, rewards by chance."""
    lines = ['name = "noisy"', 'actions = ["x", "y", "z"]', 'order = "blocks"', "contexts = ["]
    for i, context in enumerate(CONTEXTS):
        paid = [0.8 if k == i else 0.2 for k in range(3)]
        pairs = zip("xyz", paid, strict=True)
        chances = ", ".join(f"{a} = {{ probability = {p} }}" for a, p in pairs)
        lines.append(f'  {{ name = "{context}", rewards = {{ {chances} }} }},')
    file = tmp_path / "noisy.toml"
    file.write_text("\n".join([*lines, "]"]), encoding="utf-8")
    return Task.load(file)


def futures_of(task, truth, theta, trials=60, known=25, count=20, seed=1):
    study = simulate(task, truth, theta[None], trials=trials, seed=seed)
    random = np.random.default_rng(seed)
    bandit = Bandit(truth, study)
    return study, Futures(task, study[0], known, bandit, theta, count, random)


def with_future(study, futures, f, known):
    """The record of one future: the same past, then what was drawn."""
    action, reward = study.action.copy(), study.reward.copy()
    action[known:], reward[known:] = futures.actions[:, f], futures.rewards[:, f]
    return replace(study, action=action, reward=reward)


RULES = [GradientBandit(), GradientBandit("loss"), Exp3(), Exp3IX("loss")]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("by_chance", [False, True])
def test_risks_are_those_of_the_records(rule, by_chance, noisy):
    task = noisy if by_chance else TASK
    truth = PartitionModel("truth", Partition.each(task.contexts), rule)
    other = PartitionModel("other", Partition.all(task.contexts), GradientBandit())
    theta = np.linspace(0.02, 0.3, len(truth.owned))
    mine = np.array([0.1])
    study, futures = futures_of(task, truth, theta)
    found = futures.seen_by(Bandit(other, study), mine)
    for f in (0, 7, 19):
        record = with_future(study, futures, f, 25)
        plain = risk(record, truth, theta[None], other, mine[None], first=25)
        assert_allclose(found.kl[f], plain.kl[0], rtol=1e-9, atol=1e-12)
        assert_allclose(found.hellinger[f], plain.hellinger[0], rtol=1e-8, atol=1e-12)
        log_p = log_probabilities(record, 0, other, mine)
        chosen = log_p[np.arange(60), record.action][25:].sum()
        assert_allclose(found.log_likelihood[f], chosen, rtol=1e-10)
        true = np.exp(log_probabilities(record, 0, truth, theta))[25:]
        assert_allclose(futures.p_true[:, :, f], true, rtol=1e-10)


def test_choices_are_drawn_from_the_truth(noisy):
    truth = PartitionModel("truth", Partition.all(noisy.contexts), GradientBandit())
    _, futures = futures_of(noisy, truth, np.array([0.2]), count=4000)
    for a in range(3):
        drawn = futures.actions == a
        p = futures.p_true[:, a]
        z = np.sum(drawn - p, axis=1) / np.sqrt(np.sum(p * (1 - p), axis=1))
        assert np.abs(z).max() < 4.5
    # Seed 1: rewards follow the task's chances, 0.8 for one action of every context.
    best = futures.actions == futures.context[:, None]
    for right, chance in ((best, 0.8), (~best, 0.2)):
        share, n = futures.rewards[right].mean(), right.sum()
        assert abs(share - chance) < 4.5 * np.sqrt(0.16 / n)


def test_a_model_with_several_rules_is_refused():
    rules = tuple([GradientBandit()] * 8 + [Exp3()])
    model = PartitionModel("both", Partition.each(TASK.contexts), rules)
    study = simulate(TASK, model, np.full((1, 9), 0.1), trials=20)
    with pytest.raises(HowlearnError, match="one learning rule"):
        Bandit(model, study)
