"""The weights of strategies as tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.core.errors import HowlearnError
from howlearn.selection.predictions import averages, leader, leaders, weights

TASK = hl.Task.load("five-four")
EXP4 = TASK.model("exp4(ByPattern[eta=0.1], ByPatternExc[eta=0.1])")
SWITCH = TASK.model("switch(ByPattern[eta=0.1], ByPatternExc[eta=0.1])")


@pytest.fixture(scope="module")
def selection() -> hl.Results:
    study = hl.simulate(TASK, EXP4, {"theta": 0.3}, learners=4, trials=90, seed=2)
    return hl.select(study, [EXP4, SWITCH, TASK.model("ByPattern")], ["aic"])


def test_one_row_per_learner_model_trial_and_strategy(selection: hl.Results) -> None:
    frame = weights(selection)
    assert frame.height == 4 * 2 * 90 * 2
    total = frame.group_by("learner", "model", "trial").agg(pl.col("weight").sum())["weight"]
    assert total.to_numpy() == pytest.approx(np.ones(4 * 2 * 90))
    part = selection.fits.of[EXP4.name]
    log_q = hl.fit(selection.fits.study, [EXP4]).of[EXP4.name].theta
    assert np.array_equal(part.theta, log_q)
    first = frame.filter(pl.col("trial") == 1, pl.col("model") == EXP4.name)
    assert set(first["weight"]) == {0.5}


def test_the_lead_changes_where_the_table_says(selection: hl.Results) -> None:
    frame = weights(selection)
    changes = leaders(frame)
    assert changes.columns == ["learner", "model", "trial", "strategy", "before"]
    for row in changes.iter_rows(named=True):
        mine = frame.filter(learner=row["learner"], model=row["model"])
        at = mine.filter(trial=row["trial"]).sort("weight")
        assert at["strategy"][-1] == row["strategy"]
        if row["before"] is None:
            earlier = mine.filter(pl.col("trial") < row["trial"])
            assert not earlier["leads"].any()
        else:
            last = mine.filter(trial=row["trial"] - 1)
            assert last.filter("leads")["strategy"][0] == row["before"]
    trial = selection.fits.of[SWITCH.name].theta[:, 0, 0]
    found = changes.filter(pl.col("model") == SWITCH.name, pl.col("before").is_not_null())
    assert found["trial"].to_list() == [int(t) for t in trial if 1 < t <= 90]


def test_level_strategies_have_no_leader() -> None:
    q = np.array([[0.4, 0.4, 0.2], [0.3, 0.3, 0.4], [0.4, 0.4, 0.2], [0.1, 0.6, 0.3]])
    assert leader(q).tolist() == [-1, 2, 2, 1]


def test_averages(selection: hl.Results) -> None:
    frame = weights(selection)
    mean = averages(frame.lazy())
    row = mean.filter(model=EXP4.name, strategy="ByPattern", trial=60)
    mine = frame.filter(model=EXP4.name, strategy="ByPattern", trial=60)["weight"].to_numpy()
    assert row["weight"][0] == pytest.approx(mine.mean())
    assert row["lower_quartile"][0] == pytest.approx(np.quantile(mine, 0.25))
    assert row["learners"][0] == 4


def test_without_mixtures_there_is_nothing_to_weigh() -> None:
    study = hl.simulate(TASK, "ByShape", {"eta": 0.1}, learners=1, trials=20)
    with pytest.raises(HowlearnError, match="no mixture of strategies"):
        weights(hl.fit(study, [TASK.model("ByShape"), TASK.model("exp4(ByShape)")]))


def test_public_functions_are_no_modules() -> None:
    assert hl.weights is weights
    assert hl.leaders is leaders


def test_nobody_leads_where_learning_starts_anew() -> None:
    study = hl.simulate(TASK, EXP4, {"theta": 0.5}, learners=1, trials=60, seed=3)
    study.reset[30] = True
    frame = weights(hl.fit(study, [EXP4]))
    at = frame.filter(trial=31)
    assert set(at["weight"]) == {0.5}
    assert not at["leads"].any()
    with pytest.raises(HowlearnError, match="of fits or a selection"):
        weights(study)
    with pytest.raises(HowlearnError, match=r"howlearn\.weights gives"):
        leaders(frame.drop("leads"))
