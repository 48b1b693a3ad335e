"""--exclude: what is said of the included equals a run on a file without the others."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import howlearn as hl
from howlearn.results.results import Results
from running import Run

POPULATION = "population(independent=true)"  # the quickest
CRITERIA = ["--criterion", POPULATION, "--criterion", "aic", "--criterion", "holdout(split=0.5)"]
SLOW = "median(rt) > 2"
TABLES = ("shares", "population", "population-rates")
TASK = """
name = "three"
actions = ["A", "B"]
contexts = [
  { name = "x", correct = "A" }, { name = "y", correct = "B" }, { name = "z", correct = "A" },
]
[[models]]
name = "One"
partition = "all"
[[models]]
name = "Each"
partition = "each"
"""
MODELS = ["--task", "three.toml"]


@pytest.fixture
def files(run: Run) -> tuple[Path, Path]:
    """Nine learners, three of them slow and of another model; and the file without these."""
    Path("three.toml").write_text(TASK, encoding="utf-8")
    task, made = hl.Task.load("three.toml"), []
    for i, (model, learners) in enumerate((("Each", 6), ("One", 3))):
        study = hl.simulate(task, model, {"eta": 0.1}, learners=learners, trials=120, seed=i)
        rt, group = (pl.lit(3.0), pl.lit("b")) if i else (pl.lit(0.5), pl.lit("a"))
        name = pl.format("[b]{}<script>{}", pl.lit(i), "learner").alias("learner")
        made.append(study.frame().with_columns(rt.alias("rt"), group.alias("group"), name))
    frame = pl.concat([made[1][:120], made[0], made[1][120:]])
    frame.write_csv("all.csv")
    frame.filter(pl.col("rt") < 2).write_csv("fast.csv")
    return Path("all.csv"), Path("fast.csv")


def table(folder: str, name: str) -> pl.DataFrame:
    return pl.read_csv(f"{folder}/{name}.csv", infer_schema_length=None)


def filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Without columns that hold nothing, which have no type in a file."""
    return frame.select(c for c in frame.get_columns() if c.null_count() < len(frame))


def assert_close(mine: pl.DataFrame, other: pl.DataFrame) -> None:
    """Numbers to 1e-12, everything else exactly; polars has had several names for that."""
    assert mine.schema == other.schema
    numbers = [name for name, kind in mine.schema.items() if kind.is_float()]
    assert mine.drop(numbers).equals(other.drop(numbers))
    for name in numbers:
        np.testing.assert_allclose(
            mine[name].to_numpy(), other[name].to_numpy(), rtol=0, atol=1e-12
        )


def test_the_included_and_all_equal_separate_runs(run: Run, files: tuple[Path, Path]) -> None:
    whole, fast = files
    extra = ["--stability", 2, "--keep", "group"]
    ran = run("select", whole, *MODELS, *CRITERIA, "--exclude", SLOW, *extra, "-o", "both")
    assert ran.status == 0, ran.err
    assert run("select", fast, *MODELS, *CRITERIA, "-o", "without").status == 0
    assert run("select", whole, *MODELS, *CRITERIA, "-o", "with").status == 0
    for name in TABLES:
        both = table("both", name)
        assert both["among"].unique(maintain_order=True).to_list() == ["included", "all"]
        for among, alone in (("included", "without"), ("all", "with")):
            mine = both.filter(pl.col("among") == among).drop("among")
            assert_close(filled(mine), filled(table(alone, name)))
    for name in ("scores", "selection", "learners", "estimates"):
        both = table("both", name)
        assert both["learner"].n_unique() == 9  # the excluded are fitted too
        assert both.filter(pl.col("excluded") == SLOW)["learner"].n_unique() == 3
        mine = both.filter(pl.col("excluded").is_null()).drop("excluded", "group")
        assert_close(filled(mine), filled(table("without", name)))
    assert table("both", "stability")["learner"].n_unique() == 6
    # What is learned from all is not what is learned from the included.
    shares = table("both", "population").filter(pl.col("model") == "One")["share"]
    assert shares[1] > shares[0] + 0.1
    assert "population(independent=true) (3 more are excluded)" in ran.out
    assert "Shares without / with the excluded" in ran.out
    assert f"3 of 9 learners are excluded ({SLOW})" in ran.out
    manifest = json.loads(Path("both/manifest.json").read_text(encoding="utf-8"))
    assert manifest["rows"][f"learners excluded ({SLOW})"] == 3
    assert (manifest["excluded"], manifest["learners"]) == (3, 9)
    assert manifest["options"]["exclude"] == [SLOW]
    assert "learners excluded" not in Path("with/manifest.json").read_text(encoding="utf-8")
    drawn = Results.of("both").table("shares")
    assert_close(filled(drawn), filled(table("without", "shares")))
    # Later commands leave the excluded out.
    ran = run("compare", "both", "--group", "group", "-o", "compared")
    assert ran.status == 2
    assert "group has only the value a" in ran.err
    ran = run("simulate", "--like", "both", "--model", "One", "-o", "doubles.csv")
    assert ran.status == 0, ran.err
    assert pl.read_csv("doubles.csv")["learner"].n_unique() == 6


def test_the_answer_in_python(run: Run, files: tuple[Path, Path]) -> None:
    whole, fast = files
    criteria = [POPULATION, "bic"]
    task = hl.Task.load("three.toml")
    study = hl.read(whole, task=task, exclude=SLOW, keep=["group"])
    assert [reason is not None for reason in study.excluded or ()] == [
        True,
        *[False] * 6,
        *[True] * 2,
    ]
    both = hl.select(study, task.models, criteria)
    kept = {"task": task, "keep": ["group"]}
    parts = {"included": hl.read(fast, **kept), "all": hl.read(whole, **kept)}
    for among, alone in parts.items():
        expected = hl.select(alone, task.models, criteria)
        mine = both.shares.filter(pl.col("among") == among).drop("among")
        assert_frame_equal(mine, expected.shares)
        part = both if among == "included" else both.everybody
        scores = part.scores
        if among == "included":
            scores = scores.filter(pl.col("excluded").is_null()).drop("excluded")
        assert_close(scores, expected.scores)
    drawn = both.table("shares")
    counts = both.shares.filter(pl.col("among") == "included")
    assert drawn["learners"].to_list() == counts["learners"].to_list()
    found = hl.discover(study, criteria=["bic"])
    assert found.partitions["learner"].n_unique() == 6


def test_an_answer_that_depends_on_the_excluded(run: Run, files: tuple[Path, Path]) -> None:
    """And conditions with brackets that are no markup."""
    condition = "first(group) in ['a'] and trials > 0"
    words = ["--criterion", "aic", "--exclude", condition]
    ran = run("select", files[0], *MODELS, *words, "--exclude", "missed > 0.5", "-o", "out")
    assert ran.status == 0, ran.err
    assert f"({condition}: 6; missed > 0.5: 0). The answer depends on them: by aic" in ran.out
    assert condition in ran.err
    again = run("select", files[0], *MODELS, *words, "--exclude", "missed > 0.5", "-o", "out")
    assert (again.status, again.out) == (0, ran.out)  # from its parts


def test_nothing_is_written_if_nobody_is_left(run: Run, files: tuple[Path, Path]) -> None:
    for condition, said in (
        ("trials > 1", "nobody remains of 9 learners"),
        ("rt > 1", "say what counts"),
        ("mean(rtt) > 1", "there is no column rtt"),
    ):
        ran = run("select", files[0], *MODELS, "--exclude", condition, "-o", "out")
        assert ran.status == 2
        assert said in ran.err
        assert not Path("out").exists()


def test_nobody_excluded_is_said_too(run: Run, files: tuple[Path, Path]) -> None:
    words = ["--criterion", "aic", "--exclude", "trials < 5"]
    ran = run("select", files[1], *MODELS, *words, "-o", "out")
    assert "None of the 6 learners is excluded (trials < 5)." in ran.out
    assert table("out", "shares")["among"].to_list() == ["included"] * 2 + ["all"] * 2
    assert table("out", "learners")["excluded"].null_count() == 6
