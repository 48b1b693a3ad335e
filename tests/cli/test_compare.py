"""``howlearn compare``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from analyses.compare_made import folder_of, tables, two_groups
from running import Run

QUICK = ("--resamples", 50, "--permutations", 100)
FILES = "comparison.png comparison.svg comparison.txt differences.csv manifest.json rates.csv"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "results", tables(*two_groups(12)))


def test_the_command(run: Run, results: Path) -> None:
    ran = run("compare", "results", "--group", "group", *QUICK)
    assert ran.status == 0, ran.err
    assert "Strategies differ between group control and patient" in " ".join(ran.out.split())
    assert "Tables: results/compare/" in ran.out
    found = sorted(path.name for path in (results / "compare").iterdir())
    assert found == sorted([*FILES.split(), "power.csv", "shares.csv", "tests.csv"])
    before = (results / "compare" / "shares.csv").read_bytes()
    assert run("compare", "results", "--group", "group", *QUICK).status == 0
    assert (results / "compare" / "shares.csv").read_bytes() == before
    manifest = json.loads((results / "compare" / "manifest.json").read_text())
    assert manifest["options"]["criterion"] == "evidence"
    words = run("compare", "results", "--group", "group", *QUICK, "--seed", 3)
    assert words.status == 2
    assert "seed: 0 there, 3 now" in words.err
    again = run("compare", "results", "--group", "group", *QUICK, "--seed", 3, "--fresh")
    assert again.status == 0


def test_parquet_elsewhere_and_a_file_of_groups(run: Run, results: Path) -> None:
    who = pl.DataFrame({"id": [f"{i + 1}" for i in range(24)], "sex [f/m]": ["f", "m"] * 12})
    who.write_csv("who.csv")
    words = ("--groups", "who.csv", "--group", "sex [f/m]", "--out", "c", "--format", "parquet")
    ran = run("compare", "results", *words, *QUICK)
    assert ran.status == 0, ran.err
    assert "sex [f/m]" in ran.out
    assert pl.read_parquet("c/shares.parquet").height == 6
    assert not (results / "compare").exists()


def test_a_folder_of_something_else_is_left_alone(run: Run, results: Path) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("dear diary")
    ran = run("compare", "results", "--group", "group", *QUICK, "--out", "mine")
    assert ran.status == 2
    assert "not results of howlearn" in ran.err
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("results", "--group", "sex"), "there are group, age"),
        (("results", "--group", "age"), "as many values"),
        (("results",), "say what to compare"),
        (("nowhere", "--group", "group"), "is not a results folder"),
        (("results", "--group", "group", "--groups", "no.csv"), "no.csv"),
    ],
)
def test_mistakes_leave_nothing_behind(
    run: Run, results: Path, words: tuple[str, ...], message: str
) -> None:
    ran = run("compare", *words, *QUICK)
    assert ran.status == 2
    assert message in ran.err
    assert not (results / "compare").exists()


def test_the_results_of_select(run: Run, trials: Path) -> None:
    """Carried along by --keep, or a condition: the whole way from trials."""
    frame = pl.read_csv("trials.csv")
    half = pl.when(pl.col("learner") <= 5).then(pl.lit("a")).otherwise(pl.lit("b"))
    session = pl.when(pl.col("trial") <= 250).then(1).otherwise(2)
    frame.with_columns(half.alias("team"), session.alias("session")).write_csv("more.csv")
    words = ("select", "more.csv", "--task", "five-four", "--criterion", "aic")
    assert run(*words, "--keep", "team", "--by", "session", "--out", "r").status == 0
    ran = run("compare", "r", "--group", "team", *QUICK)
    assert ran.status == 0, ran.err
    assert "shares take their sequences as independent" in " ".join(ran.err.split())
    ran = run("compare", "r", "--within", "session", *QUICK, "--out", "w")
    assert ran.status == 0, ran.err
    assert pl.read_csv("w/tests.csv")["learners"].to_list() == [10]
