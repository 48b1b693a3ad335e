"""``--criterion prequential``, and the table of later trials that ``--predictions`` leaves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from running import Run

TEXT = "prequential(blocks=5, start=0.5)"
TWO = ("--criterion", "aic", "--criterion", TEXT)


def test_select_by_blocks(run: Run, trials: Path) -> None:
    words = ("select", trials, "--task", "five-four", "--criterion", "prequential", "--out", "r")
    assert run(*words).status == 0
    selection = pl.read_csv("r/selection.csv")
    assert selection["criterion"].unique().to_list() == [TEXT]
    assert selection["model"].unique().to_list() == ["ByShape"]
    scores = pl.read_csv("r/scores.csv")
    assert scores["n_trials"].unique().to_list() == [250]
    fitted = pl.read_csv("r/estimates.csv")["trials_fitted"].unique().sort().to_list()
    assert fitted == [250, 300, 350, 400, 450]
    assert "model_prequential_5_0.5" in pl.read_csv("r/learners.csv").columns
    assert not Path("r/future.csv").exists()  # not asked for


def test_the_later_trials_add_up_to_the_scores(run: Run, trials: Path) -> None:
    frame = pl.read_csv("trials.csv").sample(fraction=1.0, shuffle=True, seed=2)
    frame.write_csv("shuffled.csv")
    words = ("--task", "five-four", *TWO, "--add-model", "Coin", "--predictions", "--out", "r")
    assert run("select", "shuffled.csv", *words).status == 0
    future = pl.read_csv("r/future.csv")
    assert future.columns == [
        "learner", "file", "row", "trial", "model", "trials_fitted", "log_probability",
    ]  # fmt: skip
    assert future.height == 10 * 250 * 7
    keys = ["learner", "model"]
    sums = future.group_by(keys).agg(pl.col("log_probability").sum()).sort(keys)
    scores = pl.read_csv("r/scores.csv").filter(criterion=TEXT).sort(keys)
    assert np.allclose(sums["log_probability"], scores["score"], rtol=0, atol=1e-9)
    one = future.filter(model="Coin")
    for column in ("learner", "trial"):  # the row is where the trial stands in the input
        assert frame[column].gather(one["row"] - 2).to_list() == one[column].to_list()


def test_the_first_criterion_with_later_trials_has_the_table(run: Run, trials: Path) -> None:
    words = ("select", trials, "--task", "five-four", "--predictions")
    assert run(*words, "--out", "holdout").status == 0  # among the default criteria
    assert pl.read_csv("holdout/future.csv")["trials_fitted"].unique().to_list() == [250]
    assert run(*words, "--criterion", "bic", "--out", "none").status == 0
    assert not Path("none/future.csv").exists()
    assert run(*words, "--criterion", "bic", "--fresh", "--out", "holdout").status == 0
    assert not Path("holdout/future.csv").exists()
    assert run(*words, "--format", "parquet", "--out", "p").status == 0
    assert pl.read_parquet("p/future.parquet").height == 10 * 250 * 6


def test_chunks_do_not_change_a_byte(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("select", trials, "--task", "five-four", *TWO, "--predictions", "--out")
    run(*words, "one")
    monkeypatch.setattr("howlearn.results.select_into.CHUNK", 3)
    monkeypatch.setattr("howlearn.results.select_into.WORK", 0)
    run(*words, "four")
    assert len(list(Path("four/parts").glob("*.future.*.parquet"))) == 4
    for name in ("scores.csv", "future.csv"):
        assert Path("one", name).read_bytes() == Path("four", name).read_bytes()


def test_help_and_errors(run: Run, trials: Path) -> None:
    text = " ".join(run("select", "--help").out.replace("│", " ").split())
    assert "prequential(blocks=5)" in text
    ran = run("select", trials, "--task", "five-four", "--criterion", "prequential(blocks=0)")
    assert ran.status == 2
    assert "blocks must be a whole number of at least 1, got 0" in ran.err
    assert not Path("results").exists()


def test_a_plan_refuses_it_and_leaves_no_folder(run: Run) -> None:
    ran = run("plan", "--task", "shepard-1", "--criterion", "prequential", "--out", "p")
    assert ran.status == 2
    said = " ".join(ran.err.split())
    assert "simulated learners are not fitted block by block, so prequential cannot" in said
    assert not Path("p").exists()


def test_a_calibration_has_no_criterion_to_name(run: Run) -> None:
    ran = run("calibrate", "--task", "shepard-1", "--criterion", "prequential", "--out", "c")
    assert ran.status == 2
    assert "--criterion" in ran.err  # the rest is worded by libraries
    assert not Path("c").exists()
