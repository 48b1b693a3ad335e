"""``howlearn select --intervals`` and ``--stability``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.results import select_into
from running import Run

SELECT = ("--task", "five-four", "--criterion", "aic", "--criterion", "holdout", "--out", "results")


@pytest.fixture
def few(run: Run) -> Path:
    words = "simulate --task five-four --model ByShape --set eta=0.1 --learners 4 --trials 200"
    assert run(*words.split(), "--seed", 1, "--out", "few.csv").status == 0
    return Path("few.csv")


def test_intervals_are_there_and_have_a_level(run: Run, few: Path) -> None:
    words = ("select", few, *SELECT, "--add-model", "q-learning")
    assert run(*words).status == 0
    usual = pl.read_csv("results/estimates.csv")
    cells = usual.filter((pl.col("trials_fitted") == 200) & (pl.col("model") != "q-learning"))
    assert cells["lower"].null_count() == 0
    assert set(cells["interval"]) <= {
        "closed", "reaches lower bound", "reaches upper bound", "whole range"
    }  # fmt: skip
    assert usual.filter(pl.col("model") == "q-learning")["lower"].null_count() == 4 * 2 * 2
    ran = run(*words, "--intervals", 0.8)
    assert ran.status == 2  # another run's results
    assert "intervals: nothing there, 0.8 now" in ran.err
    assert run(*words, "--intervals", 0.8, "--fresh").status == 0
    narrow = pl.read_csv("results/estimates.csv")
    assert narrow.filter(pl.col("trials_fitted") == 200)["lower"].null_count() == 0
    both = narrow.filter(pl.col("model") != "q-learning"), cells
    both = [frame.filter(pl.col("trials_fitted") == 200)["upper"].mean() for frame in both]
    assert both[0] < both[1]


def test_stability_is_a_table_and_is_resumed(run: Run, few: Path, monkeypatch) -> None:
    monkeypatch.setattr(select_into, "CHUNK", 3)  # two parts
    words = ("select", few, *SELECT, "--stability", 20, "--seed", 7)
    ran = run(*words)
    assert ran.status == 0
    assert "Stability: share of simulated doubles" in ran.out
    assert "It is not the probability that the model is right" in ran.out
    table = Path("results/stability.csv")
    frame = pl.read_csv(table, schema_overrides={"learner": pl.String})
    assert frame.columns == (
        "learner criterion model doubles stability standard_error instead instead_share".split()
    )
    assert frame["learner"].to_list() == ["1", "1", "2", "2", "3", "3", "4", "4"]
    assert json.loads(Path("results/manifest.json").read_text())["options"]["stability"] == 20
    before = table.read_bytes()
    first, second = sorted(Path("results/parts").glob("*.stability.*.parquet"))
    kept = first.stat().st_mtime_ns
    second.unlink()
    assert run(*words).status == 0
    assert table.read_bytes() == before
    assert first.stat().st_mtime_ns == kept
    assert run("select", few, *SELECT, "--fresh").status == 0
    assert not table.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--intervals", 95), "the level of intervals must lie between 0 and 1, such as 0.95, got"),
        (("--intervals", 0), "the level of intervals must lie between 0 and 1"),
        (("--intervals", "wide"), "--intervals"),  # the rest is worded by libraries
        (("--stability", 0), "stability needs 1 to 1,000,000 doubles per learner, got 0"),
        (("--stability", "0.5"), "--stability"),
    ],
)
def test_options_that_cannot_be(run: Run, few: Path, options, sentence) -> None:
    ran = run("select", few, *SELECT, *options)
    assert ran.status == 2
    assert sentence in " ".join(ran.err.split())
    assert not Path("results").exists()
