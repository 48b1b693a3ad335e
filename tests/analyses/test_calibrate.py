"""``hl.calibrate``: what it takes, what it refuses, and designs at the edge."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.calibrate import Calibration
from howlearn.core.errors import HowlearnError
from howlearn.report.plot import saved_charts

TASK = hl.Task.load("shepard-1")
SMALL = {"learners": 6, "trials": 24, "splits": [0.25, 0.5]}


def models(*names: str) -> list[hl.PartitionModel | hl.models.Coin]:
    return [TASK.model(name) for name in names]


def checked(found: Calibration) -> Calibration:
    """Every table can be made, every chart drawn, and the recommendation is JSON."""
    shares = found.confusion.group_by("criterion", "setting", "true_model").agg(
        total=pl.col("share").sum()
    )
    assert shares["total"].to_list() == pytest.approx([1] * len(shares))
    assert found.errors["error"].is_between(0, 1).all()
    assert found.errors.null_count().select("error", "standard_error").sum_horizontal()[0] == 0
    assert len(found.settings)
    assert len(found.recovery)
    json.dumps(found.recommendation, allow_nan=False)
    saved_charts(found)
    return found


def test_by_default_the_tasks_models_and_sixty_constants() -> None:
    found = checked(hl.calibrate("shepard-1", parameters={"eta": 0.2}, learners=5, trials=24))
    assert found.contest.models == tuple(model.name for model in TASK.models)
    assert len(found.constants) == 60
    assert found.contest.splits == pytest.approx([0.1 * k for k in range(1, 10)])
    columns = ["criterion", "setting", "true_model", "error", "standard_error"]
    assert found.errors.columns[:5] == columns
    assert "Calibration on 40 simulated learners: penalized(c=" in repr(found)


def test_the_goal_decides_which_constants_are_recommended() -> None:
    options = {"parameters": {"eta": 0.3}, "learners": 20, "trials": 48, "seed": 2}
    largest = hl.calibrate(TASK, models("OneForAll", "ByFeature1", "OnePerItem"), **options)
    mean = hl.calibrate(
        TASK, models("OneForAll", "ByFeature1", "OnePerItem"), **options, goal="average"
    )
    assert largest.errors.equals(mean.errors)
    for found, goal in ((largest, "maximum"), (mean, "average")):
        named = [found.recommendation[c.name][goal]["criterion"] for c in found.criteria]
        assert found.recommendation["criteria"] == named
        assert found.recommendation["goal"] == goal
    assert largest.recommendation["criteria"] != mean.recommendation["criteria"]


def test_the_same_seed_gives_the_same_learners_whatever_the_threads() -> None:
    options = {**SMALL, "learners": 60}
    one, two = (hl.calibrate(TASK, seed=5, threads=n, **options) for n in (1, 2))
    assert one.errors.equals(two.errors)
    assert one.recovery.equals(two.recovery)
    assert not one.errors.equals(hl.calibrate(TASK, seed=6, **options).errors)


def test_progress_ends_at_the_number_of_learners() -> None:
    seen: list[tuple[int, int]] = []
    hl.calibrate(TASK, models("OneForAll", "Coin"), progress=lambda *n: seen.append(n), **SMALL)
    assert seen == sorted(seen)
    assert {(0, 24), (6, 24), (12, 24), (18, 24)} < {*seen}
    assert seen[-1] == (24, 24)


def test_constants_and_splits_may_be_arrays() -> None:
    found = hl.calibrate(
        TASK, learners=4, trials=16, constants=np.array([0.2, 0.1, 0.2]), splits=np.array([0.5])
    )
    assert found.constants == (0.1, 0.2)
    assert found.contest.splits == (0.5,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constants": [-1]}, "c must be 0 or greater, got -1"),
        ({"constants": [float("nan")]}, "c must be 0 or greater, got nan"),
        ({"constants": []}, "no constant to try was given"),
        ({"splits": [0.5, 1.0]}, "splits must lie between 0 and 1"),
        ({"splits": [0.5, 0.5]}, "each given once"),
        ({"goal": "least"}, "the goal must be maximum or average, got least"),
        ({"learners": 1}, "at least two learners of every model"),
        ({"learners": 0}, "at least two learners of every model"),
        ({"trials": 0}, "at least one learner and one trial"),
        ({"seed": -1}, "a seed must be a whole number, 0 or greater"),
        ({"task": None}, "needs a task, or a recorded study to imitate"),
        ({"task": "shepard-9"}, "there is no task 'shepard-9'"),
    ],
)
def test_what_cannot_be_is_refused(options: dict, message: str) -> None:
    with pytest.raises(HowlearnError, match=message):
        hl.calibrate(**{"task": TASK, **SMALL, **options})


def test_doubles_take_no_parameters_or_trials() -> None:
    study = hl.simulate(TASK, "OneForAll", {"eta": 0.1}, 3, 16)
    for options in ({"parameters": {"eta": 0.1}}, {"trials": 20}):
        with pytest.raises(HowlearnError, match="have their parameters and trials"):
            hl.calibrate(TASK, like=study, **options)
    with pytest.raises(HowlearnError, match="at least one double"):
        hl.calibrate(TASK, like=study, learners=0)


# --- at the edge ----------------------------------------------------------------------------------


def test_one_candidate_is_never_wrong() -> None:
    found = checked(hl.calibrate(TASK, models("ByFeature1"), **SMALL))
    assert found.errors["error"].to_list() == [0] * len(found.errors)
    words = found.settings["maximum"].drop_nulls().unique().to_list()
    assert sorted(words) == ["best", "not distinguishable from the best"]


def test_of_two_equal_candidates_the_second_is_never_selected() -> None:
    twin = replace(TASK.models[1], name="Twin")
    found = checked(hl.calibrate(TASK, [TASK.models[1], twin], **SMALL))
    assert found.settings["never_selected"].to_list() == ["Twin"] * len(found.settings)
    assert found.errors.filter(true_model="Twin")["error"].unique().to_list() == [1]


def test_two_candidates_of_one_name_are_refused() -> None:
    with pytest.raises(HowlearnError, match="two candidates have the same name: OneForAll"):
        hl.calibrate(TASK, models("OneForAll", "OneForAll"), **SMALL)


@pytest.mark.parametrize("trials", [1, 2, 3])
def test_hardly_any_trials(trials: int) -> None:
    # With a split of .1 nothing is left to train on, and with one trial log(n) is 0.
    options = {"parameters": {"eta": 0.5}, "learners": 2, "trials": trials}
    found = checked(hl.calibrate(TASK, models("OneForAll", "ByFeature1", "Coin"), **options))
    assert bool(found.marks) == (trials > 1)
    assert found.contest.trained[:, 0].tolist() == [0] * 6


def test_a_single_constant_and_a_single_split_are_chosen() -> None:
    found = checked(hl.calibrate(TASK, constants=[0.1], **{**SMALL, "splits": [0.5]}))
    assert found.recommendation["criteria"] == ["penalized(c=0.1)", "holdout(split=0.5)"]
    assert found.recommendation["penalized"]["maximum"]["not_distinguishable"] == [0.1]


def test_without_splits_there_is_no_hold_out() -> None:
    found = checked(hl.calibrate(TASK, **{**SMALL, "splits": []}))
    assert [criterion.name for criterion in found.criteria] == ["penalized"]
    assert found.errors["criterion"].unique(maintain_order=True).to_list() == [
        "penalized", "aic", "bic",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rule", [hl.Exp3IX(), hl.Exp3(form="loss"), hl.GradientBandit(form="loss")], ids=repr
)
def test_other_rules(rule: hl.Exp3IX | hl.Exp3 | hl.GradientBandit) -> None:
    task = TASK.with_rule(rule)
    chosen = [task.model("OneForAll"), task.model("ByFeature1")]
    found = checked(hl.calibrate(task, chosen, {"eta": 0.2}, **SMALL))
    names = found.recovery["parameter"].unique(maintain_order=True).to_list()
    assert names == [p.name for p in rule.parameters]
    # D of one cell is the number of the rule's parameters.
    assert found.contest.n_parameters[0].tolist() == [len(names), 2 * len(names)]


def test_a_stopping_rule_gives_learners_their_own_n() -> None:
    task = replace(TASK, stop=4)
    found = checked(hl.calibrate(task, parameters={"eta": 0.8}, learners=20, trials=60))
    assert len(np.unique(found.contest.n_scored)) > 3
    assert found.recommendation["median_trials"] == np.median(found.contest.n_scored)


def test_odd_names_survive() -> None:
    odd = [replace(TASK.models[0], name="a, b: [bold] <i>"), replace(TASK.models[1], name="=:=")]
    found = checked(hl.calibrate(TASK, odd, {"=:=": {"eta": 0.4}}, **SMALL))
    assert found.recommendation["models"] == ["a, b: [bold] <i>", "=:="]
    assert found.recovery.filter(true_model="=:=")["true_value"].to_list() == pytest.approx(
        [0.4] * 6
    )
