"""Penalised selection on the first trials only, and how small probabilities become."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.selection.criteria import criterion_named
from oracle import Trial, replay
from studies import study_of, trials_of

TASK = hl.Task.load("five-four")
STUDY = hl.simulate(TASK, "ByShape", {"eta": 0.2}, learners=6, trials=240, seed=3)
SLOW = [hl.PartitionModel(m.name, m.partition, GradientBandit(max_rate=0.059)) for m in TASK.models]


def cut(study, trials):
    """The record of every learner, ended after so many trials."""
    kept = np.arange(len(study.context)) - np.repeat(study.starts[:-1], np.diff(study.starts))
    mine = kept < trials
    names = ("context", "action", "reward", "scored", "learned", "reset")
    return replace(
        study,
        starts=np.arange(len(study) + 1) * trials,
        **{name: getattr(study, name)[mine] for name in names},
    )


@pytest.mark.parametrize("trials", [4, 37, 150])
def test_stopping_at_a_trial_is_ending_the_record_there(trials):
    models = [*TASK.models, TASK.model("switch(ByShape, OnePerItem)")]
    ours = hl.select(STUDY, models, [hl.Penalized(0.3, stop_at=trials)])
    theirs = hl.select(cut(STUDY, trials), models, [hl.Penalized(0.3)])
    keys = ["learner", "model"]
    for column in ("n_trials", "n_parameters", "log_likelihood", "penalty", "score", "rank"):
        mine, other = (s.scores.sort(keys)[column].to_numpy() for s in (ours, theirs))
        assert_allclose(mine, other, atol=1e-7)
    assert_array_equal(ours.selection["model"], theirs.selection["model"])
    assert_array_equal(ours.selection["verdict"], theirs.selection["verdict"])


def test_a_record_that_is_shorter_is_used_whole():
    long, short = hl.Penalized(stop_at=10_000), hl.Penalized()
    found = hl.select(STUDY, TASK.models, [long, short]).scores
    a, b = (found.filter(criterion=repr(c)).drop("criterion") for c in (long, short))
    assert a.equals(b)


def smallest(study, fits, model, learner, j):
    """Plainly: the smallest probability of any action at every trial."""
    points = [(float(eta),) for eta in fits.of[model.name].theta[learner, j]]
    before = replay(trials_of(study, learner), model.partition.cells, "gradient", points)
    return np.exp(np.min(before, axis=1))


def test_by_epsilon_it_ends_before_any_candidate_falls_under():
    epsilon, found = 0.15, []
    fits = hl.fit(STUDY, TASK.models, [0.5, 1.0])
    for i in range(len(STUDY)):
        under = [smallest(STUDY, fits, model, i, 1) < epsilon for model in TASK.models]
        found.append(np.argmax(np.any(under, axis=0)) if np.any(under) else 240)
    selection = hl.select(STUDY, TASK.models, [hl.Penalized(stop_at=epsilon)])
    assert selection.fits.sizes[:, 0].tolist() == found
    assert 1 < min(found) < 240


def test_the_table_of_smallest_probabilities():
    selection = hl.select(STUDY, TASK.models, ["holdout", "aic"])
    table = selection.lowest(epsilon=0.1)
    assert table.height == 6 * 6 * 2
    for row in table.iter_rows(named=True):
        j = 0 if row["trials_fitted"] == 120 else 1
        model = TASK.model(row["model"])
        plain = smallest(STUDY, selection.fits, model, int(row["learner"]) - 1, j)
        assert_allclose(row["smallest_probability"], plain.min(), rtol=1e-9)
        assert row["smallest_at"] == np.argmin(plain) + 1
        under = np.flatnonzero(plain < 0.1)
        assert row["first_under"] == (under[0] + 1 if len(under) else None)
    assert set(table["T_epsilon"]) == {0}  # ½ log(1/(2·0.1)) = 0.8 trials, for rates up to 1


def test_by_the_papers_formula():
    selection = hl.select(STUDY, SLOW, [hl.Penalized(0.012, stop_at="paper")])
    assert set(selection.fits.sizes[:, 0]) == {19}  # SPEC 5.1
    assert set(selection.lowest(0.05)["T_epsilon"]) == {19}
    penalty = selection.scores.filter(model="OnePerItem")["penalty"]
    assert_allclose(penalty, 0.012 * np.log(19) ** 2 * 9)
    loss = [hl.PartitionModel("ix", TASK.models[0].partition, Exp3IX("loss", 0.05))]
    fits = hl.select(STUDY, loss, [hl.Penalized(stop_at="paper(0.1)")]).fits
    assert set(fits.sizes[:, 0]) == {8}  # (1/2 − 0.1) / 0.05


def test_larger_rewards_shorten_the_papers_formula():
    frame = STUDY.frame().with_columns(pl.col("reward") * 2)
    study = hl.read(frame, reward_range=(0.0, 2.0))
    assert set(hl.select(study, SLOW, [hl.Penalized(stop_at="paper")]).fits.sizes[:, 0]) == {9}


@pytest.mark.parametrize(
    ("stop_at", "models", "message"),
    [
        ("paper", TASK.models, "T_epsilon is 1 for .*needs at least 2"),
        ("paper", [hl.models.QLearning()], "formula for q-learning does not exist"),
        ("paper(0.5)", SLOW, "between 0 and 1/K = 0.5"),
        (0.6, SLOW, "between 0 and 1/K = 0.5"),
    ],
)
def test_what_no_formula_covers_is_refused(stop_at, models, message):
    with pytest.raises(HowlearnError, match=message):
        hl.select(STUDY, models, [hl.Penalized(stop_at=stop_at)])


@pytest.mark.parametrize("bad", [0, -3, 1.5, "later", "paper()", "paper(2)", True, float("nan")])
def test_stops_that_mean_nothing_are_refused(bad):
    with pytest.raises(HowlearnError, match="stop_at must be a trial"):
        hl.Penalized(stop_at=bad)


@pytest.mark.parametrize(
    "criterion",
    [hl.Penalized(0.3, 150), hl.Penalized(0.3, 0.05), hl.Penalized(0.3, "paper( 1e-3 )")],
)
def test_a_criterion_is_its_text(criterion):
    assert criterion_named(repr(criterion)) == criterion


@pytest.mark.parametrize("rule", [Exp3(), Exp3IX(max_rate=5.0)], ids=repr)
def test_a_cell_that_comes_later_is_not_paid_for_however_its_fit_ends(rule):
    """Context y comes after the stop, and its update is capped at the parameters of x."""
    trials = [Trial("x", 0, 1.0)] * 4
    actions = [0] * 24 + [1] + [0] * 19
    trials += [Trial("y", a, 1.0) for a in actions[4:]]
    study = study_of(trials)
    model = hl.PartitionModel("each", Partition.each(("x", "y")), rule)
    scores = hl.select(study, [model], [hl.Penalized(0.3, stop_at=4)]).scores
    cut_scores = hl.select(cut(study, 4), [model], [hl.Penalized(0.3)]).scores
    assert scores["n_parameters"].to_list() == cut_scores["n_parameters"].to_list()
    assert_allclose(scores["score"], cut_scores["score"], atol=1e-9)


def test_a_plan_says_what_it_cannot_do():
    with pytest.raises(HowlearnError, match="howlearn recover"):
        hl.plan(TASK, trials=[50], learners=[2], criteria=["penalized(stop_at=20)"], simulated=2)
