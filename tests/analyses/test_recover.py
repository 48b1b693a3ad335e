"""Models and parameters that are found again."""

from __future__ import annotations

import numpy as np
import polars as pl

import howlearn as hl
from howlearn.analyses.designs import TaskDesign
from howlearn.analyses.recover import recover_design
from howlearn.runs.parts import Memory

TASK = hl.Task.load("five-four")
GIVEN = [TASK.model(f"exp4({name}[eta=0.1])") for name in ("ByShape", "ByPattern")]
MIXED = TASK.model("exp4(ByShape[eta=0.1], ByPattern[eta=0.1])")


def test_shares_are_those_of_the_selections() -> None:
    result = hl.recover(
        TASK, GIVEN, learners=12, trials=80, seed=4, truths=[*GIVEN, MIXED],
        criteria=["aic", "likelihood(trials=40)", "prequential(blocks=2)"],
        parameters={MIXED.name: {"theta": 0.3}},
    )  # fmt: skip
    assert result.confusion.height == 3 * 3 * 2
    for (criterion, truth), rows in result.confusion.group_by("criterion", "true_model"):
        mine = result.learners.filter(criterion=criterion, true_model=truth)
        assert mine.height == 12
        assert rows["share"].sum() == 1.0
        for model, count in rows.select("selected_model", "learners").iter_rows():
            assert count == (mine["selected_model"] == model).sum()
    aic = result.confusion.filter(criterion="aic")
    for model in GIVEN:
        own = aic.filter(true_model=model.name, selected_model=model.name)["share"][0]
        assert own > 0.8  # rates are known and high: these two are easily told apart


def test_the_learners_are_the_same_as_anywhere() -> None:
    """A recovery is simulate, fit and select, one after the other."""
    models = [*GIVEN, MIXED]
    design = TaskDesign(TASK, tuple(models), {MIXED.name: {"theta": 0.2}}, 5, 60, 7)
    result = recover_design(design, models, ["aic"])
    study, theta = design.simulate(2, 0, 0, 5)
    fits = hl.fit(study, models)
    chosen = hl.select(study, models, ["aic"]).selection["model"].to_list()
    mine = result.learners.filter(true_model=MIXED.name)
    assert mine["selected_model"].to_list() == chosen
    estimates = result.estimates.filter(true_model=MIXED.name)
    assert np.array_equal(estimates["estimate"].to_numpy(), fits.of[MIXED.name].theta[:, 0, 0])
    assert np.array_equal(estimates["true_value"].to_numpy(), theta[:, 0])
    row = result.recovery.filter(true_model=MIXED.name)
    assert row["true_value"][0] == 0.2
    assert row["parameter"][0] == "theta"


def test_finished_parts_are_not_repeated() -> None:
    design = TaskDesign(TASK, tuple(GIVEN), {}, 3, 30, 1)
    store = Memory()
    first = recover_design(design, GIVEN, ["aic"], store)
    store.tables["recovered"][0] = store.tables["recovered"][0].with_columns(
        pl.lit("kept").alias("selected_model")
    )
    again = recover_design(design, GIVEN, ["aic"], store)
    assert set(again.learners.filter(true_model=GIVEN[0].name)["selected_model"]) == {"kept"}
    assert first.learners.height == again.learners.height
