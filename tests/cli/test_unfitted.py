"""Learners who cannot be fitted, from the file to the report: they never end a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from howlearn.fitting import fit as running
from howlearn.results import select_into
from howlearn.runs.folder import read_table
from running import Run

WORDS = ("--task", "shepard-1", "--keep", "group", "--criterion", "aic", "--criterion", "evidence")
NAMES = {4: "<script>alert(1)</script>", 6: "no choice [at] all"}
ALL_TABLES = ("scores", "estimates", "selection", "learners", "shares", "future", "lowest")


@pytest.fixture
def files(run: Run) -> tuple[str, str]:
    """Twelve learners of whom one has a single trial and one none; and the other ten."""
    words = "simulate --task shepard-1 --model ByFeature1 --set eta=0.1 --learners 12 --trials 40"
    assert run(*words.split(), "--seed", 1, "--out", "t.csv").status == 0
    frame = pl.read_csv("t.csv", schema_overrides={"context": pl.String})
    number = pl.int_range(pl.len()).over("learner")
    frame = frame.filter((pl.col("learner") != 4) | (number == 0)).with_columns(
        group=pl.col("learner") % 2,
        action=pl.when(pl.col("learner") != 6).then("action"),
        learner=pl.col("learner").cast(pl.String).replace({str(k): v for k, v in NAMES.items()}),
    )
    frame.write_csv("some.csv")
    frame.filter(~pl.col("learner").is_in([*NAMES.values()])).write_csv("others.csv")
    return "some.csv", "others.csv"


def rows(folder: str, table: str) -> Sequence[str]:
    """The lines of a table that are not about somebody who could not be fitted."""
    lines = Path(folder, f"{table}.csv").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "not fitted: " not in line]


def test_from_the_file_to_the_report(
    run: Run, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = ("--criterion", "holdout", "--predictions", "--epsilon", 0.05, "--stability", 2)
    ran = run("select", files[0], *WORDS, *more, "--out", "some")
    assert ran.status == 0, ran.err
    assert "fewer than 2 trials with a choice, so that nothing can be fitted" in ran.err
    assert "explains each of 10 learners best" in ran.out
    assert "2 learners could not be fitted (see verdict in selection.csv): " in ran.out
    assert all(name in ran.out for name in NAMES.values())
    assert run("select", files[1], *WORDS, *more, "--out", "others").status == 0
    for table in ("scores", "estimates", "selection", "learners", "shares", "lowest"):
        assert rows("some", table) == rows("others", table), table
    lost = read_table(Path("some"), "selection").filter(pl.col("model").is_null())
    assert lost["learner"].to_list() == [NAMES[4]] * 3 + [NAMES[6]] * 3
    beside = read_table(Path("some"), "predictions")
    assert beside.height == 10 * 40 + 1 + 40
    assert beside["log_probability"].null_count() == 1 + 40
    monkeypatch.setattr(select_into, "CHUNK", 1)  # parts in which there is nobody else
    assert run("select", files[0], *WORDS, *more, "--out", "single").status == 0
    for table in (*ALL_TABLES, "predictions", "stability"):
        each = [Path(folder, f"{table}.csv").read_bytes() for folder in ("some", "single")]
        assert each[0] == each[1], table
    ran = run("report", "some", "-o", "r.html")
    assert ran.status == 0, ran.err
    page = Path("r.html").read_text(encoding="utf-8")
    assert "2 learners could not be fitted (see verdict in selection.csv): &lt;script&gt;" in page
    assert "<script>alert(1)" not in page
    assert "Two learners could not be fitted (" in page
    ran = run("compare", "some", "--group", "group", "--permutations", 50, "--resamples", 50)
    assert ran.status == 0, ran.err
    assert "2 learners could not be fitted" in ran.out + ran.err
    ran = run("simulate", "--like", "some", "--model", "ByFeature1", "--out", "d.csv")
    assert ran.status == 0, ran.err
    assert pl.read_csv("d.csv")["learner"].n_unique() == 10


def test_an_error_in_the_middle_of_a_run(
    run: Run, files: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_block, bad = running._fit_block, {"2", "9"}

    def block(study: object, *words: object) -> object:
        if bad & {*study.learners}:  # type: ignore[attr-defined]
            raise ZeroDivisionError("division by [zero]")
        return fit_block(study, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "_fit_block", block)
    ran = run("select", files[1], *WORDS, "--out", "r")
    assert ran.status == 0, ran.err
    assert "2, 9 (OneForAll: ZeroDivisionError: division by [zero]: 2 learners)" in ran.out
    assert pl.read_csv("r/scores.csv")["learner"].n_unique() == 8
    bad |= {str(i) for i in range(1, 13)}
    ran = run("select", files[1], *WORDS, "--out", "nobody")
    assert ran.status == 2
    assert "no learner could be fitted: OneForAll: ZeroDivisionError" in ran.err
    assert not Path("nobody/selection.csv").exists()


def test_many_short_learners_are_an_error(run: Run, files: tuple[str, str]) -> None:
    """More often an option is wrong than so many learners."""
    frame = pl.read_csv(files[1], schema_overrides={"context": pl.String})
    number = pl.int_range(pl.len()).over("learner")
    five = frame["learner"].unique(maintain_order=True)[:5].to_list()
    frame.filter(~pl.col("learner").is_in(five) | (number == 0)).write_csv("half.csv")
    ran = run("select", "half.csv", *WORDS, "--out", "r")
    assert ran.status == 2
    assert "with 1 trial; allowed: at least 2 trials with a choice" in ran.err
    assert "--min-trials 2 leaves them out" in ran.err
    assert not Path("r").exists()
