"""``howlearn path``: tables, chart, words, and going on after a stop."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from howlearn.analyses import path
from running import Run

WORDS = ("path", "trials.csv", "--task", "five-four", "--out", "found")
QUICK = (*WORDS, "--criterion", "aic", "--criterion", "bic", "--max-rates", "0.5,1")
TABLES = ("path", "path-learners", "path-leaders", "path-marks")


def read(name: str) -> pl.DataFrame:
    return pl.read_csv(
        f"found/{name}.csv", schema_overrides={"learner": pl.String}, infer_schema_length=None
    )


def test_tables_chart_and_words(run: Run, trials: Path) -> None:
    ran = run(*QUICK, "--criterion", "evidence")
    assert ran.status == 0
    assert "Price: ByShape leads at every price from 0 to 10 nats per parameter" in ran.out
    assert (
        "The paper's penalized(c=0.012) stands at 0.463 nats, aic at 1 and bic at 3.11" in ran.out
    )
    assert "Largest rate: between 0.5 and 1 the leading model stays" in ran.out
    assert "Prior: ByShape leads whatever is assumed" in ran.out
    frame = read("path")
    assert frame.columns == ["axis", "value", "criterion", "model", "learners", "share"]
    assert set(frame["axis"]) == {"kappa", "max_rate", "prior"}
    sums = frame.group_by("axis", "value", "criterion").agg(pl.col("learners").sum())
    assert set(sums["learners"]) == {10}
    learners = read("path-learners")
    assert learners.columns[0] == "learner"
    prices = learners.filter(pl.col("axis") == "kappa")
    assert prices.group_by("learner").agg(
        (pl.col("to_kappa") - pl.col("from_kappa")).sum()
    )["to_kappa"].round(9).to_list() == [10.0] * 10  # fmt: skip
    assert learners.filter(pl.col("axis") == "max_rate").height == 10 * 2 * 3
    assert learners.filter(pl.col("axis") == "prior").height == 10 * 6
    assert read("path-marks")["model"].to_list() == ["ByShape"] * 3
    for ending in ("svg", "png"):
        assert Path(f"found/path.{ending}").stat().st_size > 1000
    assert "bic: 3.1" in Path("found/path.svg").read_text()
    manifest = json.loads(Path("found/manifest.json").read_text())
    assert manifest["command"] == "path"
    assert manifest["options"]["criteria"] == ["aic", "bic", "evidence"]
    assert manifest["options"]["max_rates"] == [0.5, 1.0]


def test_a_run_goes_on_where_it_was_stopped(
    run: Run, trials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(*QUICK).status == 0
    whole = {name: Path(f"found/{name}.csv").read_bytes() for name in TABLES}
    parts = sorted(Path("found/parts").iterdir())
    assert len(parts) == 4  # price, prior, two bounds
    parts[-2].unlink()
    fitted = []
    fit = path.fit
    monkeypatch.setattr(
        path, "fit", lambda study, models, *r: fitted.append(models) or fit(study, models, *r)
    )
    assert run(*QUICK).status == 0
    assert [models[0].rules.max_rate for models in fitted] == [0.5]
    assert {name: Path(f"found/{name}.csv").read_bytes() for name in TABLES} == whole


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--max-rates", "0.5,21"], "a largest rate must be above 0 and at most 20, got 21"),
        (["--max-rates", "much"], "--max-rates 'much': write numbers"),
        (["--max-kappa", "-1"], "the largest penalty must be a number of nats above 0, got -1"),
        (["--criterion", "best"], "there is no criterion 'best'"),
        (["--criterion", "aic"], "criterion aic is named twice"),
        (["--model", "Nothing"], "no model 'Nothing'"),
        (["--task", "six-five"], "there is no task 'six-five'"),
        (["--add-model", "exp4(ByShape[eta=0.7], ByPattern)"], "0.7"),
        (["--max-rate", "30"], "at most 20, got 30"),
    ],
)
def test_what_is_wrong_is_said_and_leaves_no_folder(
    run: Run, trials: Path, more: list[str], message: str
) -> None:
    ran = run(*QUICK, *more)
    assert ran.status == 2
    assert message in ran.err
    assert not Path("found").exists()


def test_another_run_is_not_overwritten(run: Run, trials: Path) -> None:
    assert run(*QUICK).status == 0
    ran = run(*QUICK, "--max-kappa", 5)
    assert ran.status == 2
    assert "max_kappa: 10.0 there, 5.0 now" in ran.err
    assert run(*QUICK, "--max-kappa", 5, "--fresh", "--format", "parquet").status == 0
    assert not Path("found/path.csv").exists()
    frame = pl.read_parquet("found/path.parquet").filter(pl.col("axis") == "kappa")
    assert frame["value"].max() == 5.0
    ran = run("discover", "trials.csv", "--task", "five-four", "--out", "found")
    assert ran.status == 2
    assert "holds the results of howlearn path" in ran.err


def test_without_a_task_by_conditions_and_with_names_that_look_like_markup(run: Run) -> None:
    rows = []
    for learner in ("[red]", "2"):
        for day in (1, 2):
            for t in range(40 + 10 * day):
                context = ("[bold]x", "y", "z")[t % 3]
                action = "ab"[(t * 7 + len(context)) % 2]
                rows.append((learner, day, context, action, int(action == "a"), "here"))
    columns = ["learner", "axis", "context", "action", "reward", "value"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv("days.csv")
    words = ("path", "days.csv", "--by", "axis", "--keep", "value", "--criterion", "bic")
    ran = run(*words, "--add-model", "Coin", "--max-rates", "1", "--out", "found")
    assert ran.status == 0
    assert "The leading model for 4 sequences" in ran.out
    frame = read("path-learners")
    assert frame.columns[:3] == ["learner", "input_axis", "input_value"]
    assert set(frame["learner"]) == {"[red]", "2"}
    assert "Coin" in set(read("path")["model"])
