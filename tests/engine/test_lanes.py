"""Loops that some models have of their own, against those that are the same for all models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from howlearn import candidates
from howlearn.engine.whole import RecordLikelihood
from howlearn.fitting.settings import records_of, setting_of, whole_of
from howlearn.models.names import among
from howlearn.models.networks import Alcove
from howlearn.models.q_learning import QLearning
from howlearn.reading.read import read

STICKY = "OnePerItem (one rate)+stickiness"
VALUES = [
    "q-learning", "q-two-rates", "q-forgetting", "q-start", "q-signed", "q-learning+stickiness",
    "q-forgetting+stickiness", "q-learning+forgetting",
]  # fmt: skip
NAMES = ["rlwm", "wm-habit", STICKY, *VALUES]


def learners(rewards: tuple[float, ...]):
    """Two of them, blocks of 2 to 4 stimuli, sets on offer, trials that do not count or teach."""
    rng, rows = np.random.default_rng(7), []
    for who in "ab":
        for block, load in enumerate((2, 4, 3)):
            for t in range(50):
                out = rng.integers(6)  # one of three actions is sometimes not there
                offer = [a for k, a in enumerate("xyz") if k != out]
                earned = float(rng.choice(rewards))
                rows.append((who, f"{block}-{rng.integers(load)}", str(rng.choice(offer)), earned,
                             load, block, "|".join(offer), t % 7 != 3, t % 5 != 1))  # fmt: skip
    names = ["learner", "context", "action", "reward", "ns", "block", "offer", "counts", "teaches"]
    return read(
        pl.DataFrame(rows, schema=names, orient="row"), load="ns", reset_by="block",
        offered="offer", scored="counts", learned="teaches",
    )  # fmt: skip


def both_ways(study, name: str) -> tuple[RecordLikelihood, RecordLikelihood]:
    """The likelihood of a model by its own loops, and by those of all models."""
    model = next((each for each in candidates(study) if each.name == name), None)
    model = model or among(study)(name)
    setting = setting_of(study)
    whole = whole_of(model, study.contexts, study.actions, setting)
    fast, plain = (RecordLikelihood(whole, setting, records_of(study)) for _ in range(2))
    assert fast.kernel
    plain.kernel, plain.analytic = "", False
    return fast, plain


def categories(told: bool):
    """Contexts with a number and words; what is right is told by the task, or by outcomes only."""
    rng, rows = np.random.default_rng(8), []
    for who in "ab":
        for t in range(150):
            c, out = rng.integers(5), rng.integers(6)
            offer = [a for k, a in enumerate("xyz") if k != out]
            chosen = str(rng.choice(offer))
            earned = float(chosen == "xyz"[c % 2])
            rows.append((who, f"{c}", "ruv"[c % 3], 0.2 * c * c, chosen, earned, "|".join(offer),
                         t // 60, t % 7 != 3, t % 5 != 1))  # fmt: skip
    names = ["learner", "context", "shape", "size", "action", "reward", "offer", "block", "counts",
             "teaches"]  # fmt: skip
    study = read(
        pl.DataFrame(rows, schema=names, orient="row"), features=["shape", "size"],
        reset_by="block", offered="offer", scored="counts", learned="teaches",
    )  # fmt: skip
    answers = np.array([0, 1, 0, -1, -1] if told else [-1] * 5)
    setting = replace(setting_of(study), right_wrong=(0.0, 1.0), answers=answers)
    return study, setting


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("points", [1, 3, 6, 21])
def test_alcove_has_the_same_likelihood_by_its_own_loops(told, points):
    study, setting = categories(told)
    whole = whole_of(Alcove(), study.contexts, study.actions, setting)
    fast, plain = (RecordLikelihood(whole, setting, records_of(study)) for _ in range(2))
    plain.kernel = ""
    assert fast.kernel
    assert not fast.analytic
    n = 2 * points
    x = whole.at(np.random.default_rng(3).uniform(size=(n, 4)) * whole.ends)
    x[0], x[-1] = 0.0, (20.0, 20.0, 1.0, 1.0)
    learner, marks = np.repeat([0, 1], points), np.tile([[0, 70, 150]], (n, 1))
    found = fast.at(learner, x, marks)
    np.testing.assert_allclose(found, plain.at(learner, x, marks), rtol=1e-9, atol=1e-10)
    assert (found[1:-1, 1] < 0.0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rewards", [(0.0, 1.0), (0.2, 0.4, 0.9)])
@pytest.mark.parametrize("points", [3, 21])
def test_a_model_has_the_same_likelihood_by_its_own_loops(name, rewards, points):
    fast, plain = both_ways(learners(rewards), name)
    whole, n = fast.whole, 2 * points
    x = whole.at(np.random.default_rng(3).uniform(size=(n, len(whole.ends))) * whole.ends)
    x[[0, -1]] = [p.lower for p in whole.parameters], [p.upper for p in whole.parameters]
    if name == STICKY:
        x[1, 0] = 2000.0  # preferences that differ by more than an exponential can hold
    elif name in VALUES:
        x[1, [p.name for p in whole.parameters].index("beta")] = 3000.0  # and values
    else:
        x[1, [3, 4]] = 1.0, 0.0  # all is forgotten at once, and nobody chooses at random
    learner, marks = np.repeat([0, 1], points), np.tile([[0, 70, 150]], (n, 1))
    found = fast.at(learner, x, marks)
    np.testing.assert_allclose(found, plain.at(learner, x, marks), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_those_of_the_likelihood(name):
    fast, plain = both_ways(learners((0.0, 0.3, 1.0)), name)
    d = len(fast.whole.ends)
    u = np.random.default_rng(4).uniform(0.02, 0.98, (22, d)) * fast.whole.ends
    learner, mark = np.repeat([0, 1], 11), np.full(22, 70)
    value, slope = fast.both(learner, u, mark)
    np.testing.assert_allclose(value, fast.value(learner, u, mark), rtol=1e-14)
    np.testing.assert_allclose(slope, plain.slope(learner, u, mark), rtol=2e-5, atol=1e-5)


def test_loops_of_its_own_are_left_where_they_do_not_know_the_model():
    """Forgone outcomes, parts that only its functions know, a user's functions."""
    study = learners((0.0, 1.0))
    setting = setting_of(study)

    class Own(QLearning):
        name = "own"

        @staticmethod
        def update(state, trial, theta):
            state.values[trial.cell, trial.action] = trial.reward

    assert QLearning().kernel == "values"
    assert Own().kernel == ""
    whole = whole_of(among(study)("q-learning+asymmetry"), study.contexts, study.actions, setting)
    assert whole.kernel == ""
    records = records_of(study)
    whole = whole_of(QLearning(), study.contexts, study.actions, setting)
    known = replace(records, forgone=np.full((len(records.action), 3), 0.5))
    assert RecordLikelihood(whole, setting, records).kernel
    assert not RecordLikelihood(whole, setting, known).kernel
