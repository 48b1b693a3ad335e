"""``shares.csv`` of ``howlearn select``, with and without a calibration."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from running import Run

CALIBRATE = "calibrate --task five-four --trials 100 --learners 20 --set eta=0.05 --out cal"


def test_shares_without_a_calibration(run: Run, trials: Path) -> None:
    ran = run("select", trials, "--task", "five-four", "--criterion", "bic", "--out", "r")
    assert ran.status == 0
    assert "corrected" not in ran.out
    shares = pl.read_csv("r/shares.csv")
    assert shares["corrected"].null_count() == 6
    assert shares["learners"].to_list() == [10, 0, 0, 0, 0, 0]
    assert shares["model"][0] == "ByShape"
    assert 0 < shares["protected_exceedance"][1] < 0.1 < shares["protected_exceedance"][0]
    assert shares["upper"][1] > 0.1  # ten learners do not show that nobody uses a model


def test_a_calibration_s_confusion_is_taken_out(run: Run, trials: Path) -> None:
    assert run(*CALIBRATE.split()).status == 0
    words = ("select", trials, "--task", "five-four", "--calibration", "cal")
    ran = run(*words, "--criterion", "aic", "--criterion", "penalized(c=0.5)", "--out", "r")
    assert ran.status == 0, ran.err
    assert "Shares corrected for confusion" in ran.out
    shares = pl.read_csv("r/shares.csv")
    known = shares.filter(pl.col("corrected_for") == "confusion")
    assert known["criterion"].n_unique() == 3  # aic and the two that were calibrated
    assert "penalized(c=0.5)" not in set(known["criterion"])
    for _, rows in known.group_by("criterion"):
        assert abs(rows["corrected"].sum() - 1) < 1e-9
        assert rows.sort("corrected")["model"][-1] == "ByShape"
    # A calibration of an earlier version does not say how many learners it counted.
    table = pl.read_csv("cal/confusion.csv").drop("learners")
    table.write_csv("cal/confusion.csv")
    ran = run(*words, "--out", "s")
    assert ran.status == 0, ran.err
    assert pl.read_csv("s/shares.csv")["corrected"].null_count() == 18


def test_other_candidates_than_the_calibration_s(run: Run, trials: Path) -> None:
    assert run(*CALIBRATE.split()).status == 0
    some = ("--model", "ByShape", "--model", "ByPattern")
    ran = run("select", trials, "--task", "five-four", *some, "--calibration", "cal", "--out", "r")
    assert ran.status == 0, ran.err
    assert "is for other candidates" in ran.err
    assert pl.read_csv("r/shares.csv")["corrected"].null_count() == 6
