"""Files of real experiments are read with options only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from howlearn.core.errors import DataError
from howlearn.models.task import Task
from howlearn.reading.read import read

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.usefixtures("shared_data")  # skips where they are absent


def test_aubert_is_refused_by_default() -> None:
    folder = DATA / "aubert2025" / "syntheticdatabis" / "byShape_bis"
    with pytest.raises(DataError) as caught:
        read(folder, task=Task.load("five-four"))
    kinds = {(problem.column, problem.allowed) for problem in caught.value.problems}
    assert kinds == {("Reward", "a number from 0 to 1")}


def test_aubert_as_recorded() -> None:
    folder = DATA / "aubert2025" / "syntheticdatabis" / "byShape_bis"
    study = read(folder, task=Task.load("five-four"), reward_range=(0, 15))
    assert len(study) == 50
    assert study.learners[:2] == ("databis_1_1", "databis_1_2")
    assert set(study.n_scored) == {500}
    raw = pl.read_csv(folder / "databis_1_2.csv")
    assert np.array_equal(study[1].reward, raw["Reward"].to_numpy())
    assert np.array_equal(study[1].action + 1, raw["Action"].to_numpy())


def test_badham() -> None:
    path = DATA / "badham2017" / "badham2017deficits.csv"
    features = ("feature1", "feature2", "feature3")
    study = read(path, by="condition", recode="reward:-1=0,1=1", features=features)
    assert len(study) == 380
    assert len(set(study.learners)) == 95
    assert study.about["condition"].to_list()[:4] == [1, 2, 3, 4]
    assert study.actions == ("f", "j")
    assert len(study.contexts) == 8
    assert study.features["Small Black Triangle"] == dict(zip(features, "010", strict=True))
    assert int((study.n_scored < 96).sum()) == 79
    assert set(study.reward) == {0.0, 1.0}


def test_rlwm() -> None:
    study = read(
        DATA / "rlwm" / "Expe3.csv",
        context=("block", "stimseq"),
        missing="action:-1",
        reset_by="block",
        keep="cond",
    )
    raw = pl.read_csv(DATA / "rlwm" / "Expe3.csv")
    missed = int((raw["choice"].is_null() | (raw["choice"] == -1)).sum())
    assert len(study) == 40
    assert study.actions == ("1", "2", "3")
    assert study.counts["missed trials"] == missed
    assert len(study.context) == raw.height - missed
    assert int(study.reset.sum()) == raw.select("subno", "block").n_unique()
    assert study.about["cond"].dtype == pl.Int64


def test_bids_folder() -> None:
    study = read(DATA / "bids_reversal", context="none", action="condchosen")
    assert study.learners == ("3107", "3108", "3110", "3116")  # the entity sub of the names
    assert study.actions == ("1", "2")
