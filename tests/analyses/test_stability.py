"""Stability: how often doubles of a learner are given the same model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.designs import APART
from howlearn.analyses.doubles import STREAM, stability_of
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import GradientBandit
from howlearn.models.task import Task
from howlearn.selection.criteria import AIC, Penalized
from howlearn.selection.criterion import Criterion, Likelihoods, Scores
from howlearn.selection.select import winners
from howlearn.simulation.simulate import play, stage_for
from studies import model_of, random_trials, study_of

TASK = Task.load("five-four")
CRITERIA = [AIC(), Penalized()]
COLUMNS = ["learner", "criterion", "model", "doubles", "stability", "standard_error", "instead"]


@pytest.fixture(scope="module")
def clear():
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.08}, learners=3, trials=400, seed=1)
    return hl.select(study, TASK.models, CRITERIA)


@pytest.fixture(scope="module")
def noise():
    study = hl.simulate(TASK, hl.models.Coin(), {"p(A)": 0.5}, learners=6, trials=90, seed=1)
    return hl.select(study, TASK.models, CRITERIA)


def test_near_one_where_the_model_is_clear(clear):
    frame = hl.stability(clear, 50, TASK)
    assert frame.columns == [*COLUMNS, "instead_share"]
    assert len(frame) == 3 * 2
    assert frame["model"].to_list() == ["ByPattern"] * 6
    assert frame["stability"].min() > 0.9
    assert frame.filter(pl.col("stability") == 1.0)["standard_error"].to_list()[0] == 0.5 / 50
    assert frame.filter(pl.col("stability") == 1.0)["instead"].null_count() > 0


def test_low_where_nothing_was_learned(noise):
    frame = hl.stability(noise, 50, TASK)
    assert frame["stability"].mean() < 0.6
    assert frame["instead"].null_count() < len(frame)
    assert (frame["instead"] != frame["model"]).all()
    assert (frame["stability"] + frame["instead_share"]).max() <= 1.0


def test_as_one_would_count_by_hand(noise):
    """Simulate each learner's doubles on their own, fit, select, count."""
    frame = hl.stability(noise, 7, TASK, seed=5)
    fits, study = noise.fits, noise.fits.study
    names = [*fits.of]
    for choice in noise.choices:
        for i in (0, 4):
            chosen = int(choice.selected[i])
            model = fits.models[chosen]
            given = []
            for r in range(7):
                theta = fits.of[model.name].theta[i, fits.at(1.0)]
                double = play(
                    stage_for(TASK, model, like=study),
                    theta[None],
                    [i * 1_000_000 + r],
                    (5, chosen, STREAM, APART),
                    who=np.array([i]),
                )
                again = hl.fit(double, TASK.models, [1.0])
                scores = choice.criterion.scores(again)
                given.append(names[winners(scores.score, again.n_parameters)[0]])
            row = frame.filter(
                (pl.col("learner") == study.learners[i])
                & (pl.col("criterion") == repr(choice.criterion))
            ).row(0, named=True)
            assert row["model"] == model.name
            assert row["stability"] == pytest.approx(given.count(model.name) / 7)
            if row["instead"] is not None:
                assert row["instead_share"] == pytest.approx(given.count(row["instead"]) / 7)


def test_a_learner_s_doubles_depend_on_the_learner_alone(noise):
    """However the study is cut into chunks, and on whatever threads."""
    whole = hl.stability(noise, 10, TASK, seed=3, threads=2)
    study = noise.fits.study
    extra = stability_of(TASK, 10, seed=3)
    parts = [
        extra.make(
            hl.select(study.part(a, b), TASK.models, CRITERIA),
            np.arange(a, b),
            1,
            lambda done, of: None,
        )
        for a, b in ((0, 1), (1, 4), (4, 6))
    ]
    assert pl.concat(parts).equals(whole)
    assert not hl.stability(noise, 10, TASK, seed=4).equals(whole)


def test_without_a_task_with_three_actions_and_a_hold_out_only():
    """Rewards come from the records, estimates from all trials, though half were fitted."""
    learners = [random_trials(seed, 90, n_actions=3, better=0.9) for seed in (1, 2)]
    study = study_of(*learners, n_actions=3)
    models = [
        model_of([["x", "y"]], GradientBandit(), name="one"),
        model_of([["x"], ["y"]], GradientBandit(), name="two"),
    ]
    selection = hl.select(study, models, ["holdout"])
    assert selection.selection["model"].to_list() == ["two", "two"]
    frame = hl.stability(selection, 30)
    assert frame["stability"].min() > 0.8
    alone = hl.stability(hl.select(study.part(0, 1), models[:1], ["aic"]), 5)
    assert alone.select("stability", "instead").rows() == [(1.0, None)]


@dataclass(frozen=True, repr=False)
class Knowing(Criterion):
    """Prefers what the population chose: a criterion that has looked at all learners before."""

    favourite: int = 0
    name = "knowing"
    title = "for tests"

    def scores(self, fits: Likelihoods) -> Scores:
        value = fits.log_likelihood(1.0)
        bonus = np.zeros_like(value)
        if value.shape[1] > 1:  # not of a coin
            bonus[:, self.favourite] = -1e6
        return Scores(fits.n_scored, value, bonus)


def test_a_criterion_is_taken_as_it_is(noise):
    selection = hl.select(noise.fits.study, TASK.models, [Knowing(favourite=2)])
    frame = hl.stability(selection, 5, TASK)
    assert frame["model"].unique().to_list() == [TASK.models[2].name]
    assert frame["stability"].to_list() == [1.0] * 6


def test_progress_goes_to_the_end(noise):
    seen = []
    hl.stability(noise, 3, TASK, progress=lambda done, of: seen.append((done, of)))
    assert seen[-1] == (6, 6)
    assert seen == sorted(seen)


@pytest.mark.parametrize("doubles", [0, -3, 10**7])
def test_numbers_of_doubles_that_cannot_be(noise, doubles):
    with pytest.raises(HowlearnError, match="1 to 1,000,000 doubles per learner"):
        hl.stability(noise, doubles, TASK)
