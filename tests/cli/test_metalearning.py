"""Mixtures of strategies from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from running import Run

GIVEN = "exp4(ByPattern[eta=0.1], ByPatternExc[eta=0.1])"
OPEN = "exp4(ByPattern, ByPatternExc)"
FIVE_FOUR = ("--task", "five-four")


@pytest.fixture
def trials(run: Run) -> str:
    ran = run("simulate", "--model", GIVEN, "--set", "theta=0.3", "--trials", "90",
              "--learners", "4", "-o", "t.csv")  # fmt: skip
    assert ran.status == 0, ran.err
    assert "--add-model" in ran.out  # what comes next knows the model
    return "t.csv"


def test_mixtures_compete_and_say_where_parameters_came_from(run: Run, trials: str) -> None:
    more = ("--add-model", GIVEN, "--add-model", OPEN, "--add-model", "switch(ByShape, ByPattern)")
    criteria = ("holdout", "likelihood(trials=9)", "prequential(blocks=2)")
    by = [word for criterion in criteria for word in ("--criterion", criterion)]
    ran = run("select", trials, *FIVE_FOUR, *more, *by, "--out", "r")
    assert ran.status == 0, ran.err
    assert "favours those that have more" in ran.err  # likelihood has no penalty
    scores = pl.read_csv("r/scores.csv")
    assert set(scores["model"]) >= {GIVEN, OPEN, "switch(ByShape, ByPattern)"}
    counts = dict(scores.select("model", "n_parameters").unique().iter_rows())
    assert counts[GIVEN] == 1
    assert counts[OPEN] == 7
    estimates = pl.read_csv("r/estimates.csv").filter(model=OPEN)
    assert "own fit" in set(estimates.filter(parameter="eta")["status"])
    assert set(estimates.filter(parameter="theta")["cell"]) == {"all"}
    models = json.loads(Path("r/manifest.json").read_text())["models"]
    described = {model["name"]: model for model in models}
    assert described[GIVEN]["experts"][0]["given"] == {"eta": [0.1]}
    assert described[GIVEN]["parameters_from"] == "given; not counted"
    assert "counted" in described[OPEN]["parameters_from"]
    # The results can be taken up again.
    ran = run("simulate", "--like", "r", "--model", OPEN, "-o", "doubles.csv")
    assert ran.status == 0, ran.err


def test_weights_are_written_on_request(run: Run, trials: str) -> None:
    ran = run("select", trials, *FIVE_FOUR, "--model", GIVEN, "--model", "ByPattern", "--weights",
              "--predictions", "--latents", "--predict-with", GIVEN, "--out", "r")  # fmt: skip
    assert ran.status == 0, ran.err
    assert "the leading strategy changes for" in ran.out
    frame = pl.read_csv("r/weights.csv")
    assert frame.height == 4 * 90 * 2
    predictions = pl.read_csv("r/predictions.csv")
    wide = predictions.sort("learner", "trial")["weight(ByPattern)"].to_numpy()
    long = frame.filter(strategy="ByPattern").sort("learner", "trial")["weight"].to_numpy()
    assert np.array_equal(wide, long)
    mean = pl.read_csv("r/weights-mean.csv")
    assert mean.height == 90 * 2
    assert pl.read_csv("r/leaders.csv").columns[-3:] == ["trial", "strategy", "before"]
    for chart in ("weights", "weights-learners"):
        assert Path(f"r/{chart}.svg").stat().st_size > 1000
        assert Path(f"r/{chart}.png").stat().st_size > 1000
    ran = run("select", trials, *FIVE_FOUR, "--model", "ByPattern", "--weights", "--out", "no")
    assert ran.status == 2
    assert "no candidate is a mixture" in ran.err
    assert not Path("no").exists()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("exp4()", "no experts"),
        ("exp4(ByShape, ByShape)", "identical"),
        ("exp4(ByShape, Nobody)", "no model 'Nobody'"),
        ("exp4(ByShape, Coin[p(A)=1])", "probability 0 at trial 1 of learner 1"),
        ("exp4(ByShape[eta=3], ByPattern)", "between 0 and 1"),
    ],
)
def test_bad_experts_are_refused_before_anything_is_written(
    run: Run, trials: str, model: str, words: str
) -> None:
    ran = run("select", trials, *FIVE_FOUR, "--model", model, "--out", "r")
    assert ran.status == 2
    assert words in ran.err
    assert not Path("r").exists()


def test_parameters_come_from_elsewhere(run: Run, trials: str) -> None:
    assert run("select", trials, *FIVE_FOUR, "--criterion", "aic", "--out", "first").status == 0
    known = pl.read_csv("first/estimates.csv").filter(model="ByPattern")
    for source in ("first", "population"):
        ran = run("select", trials, *FIVE_FOUR, "--model", OPEN, "--criterion", "aic",
                  "--experts-from", source, "--out", source + "-r")  # fmt: skip
        assert ran.status == 0, ran.err
        found = pl.read_csv(f"{source}-r/estimates.csv").filter(parameter="eta")
        assert set(found["status"]) == {"from others"}
        assert set(pl.read_csv(f"{source}-r/scores.csv")["n_parameters"]) == {1}
        for cell in known["cell"].unique():
            mine = known.filter(cell=cell).filter(pl.col("status") != "flat")
            for learner in (1, 2, 3, 4):
                others = mine.filter(pl.col("learner") != learner)["estimate"]
                value = found.filter(learner=learner, cell=f"ByPattern: {cell}")["estimate"][0]
                assert value == pytest.approx(others.median())
    ran = run("calibrate", *FIVE_FOUR, "--model", "ByPattern", "--model", "ByPatternExc", "--set",
              "eta=0.02:0.08", "--learners", "2", "--trials", "20", "--out", "cal")  # fmt: skip
    assert ran.status == 0, ran.err
    ran = run("select", trials, *FIVE_FOUR, "--model", OPEN, "--experts-from", "cal", "--out", "c")
    assert ran.status == 0, ran.err
    found = pl.read_csv("c/estimates.csv").filter(parameter="eta")
    assert found["estimate"].to_numpy() == pytest.approx(np.full(found.height, 0.04))
    for bad, words in (("nowhere", "neither one of training"), ("c", "it has nothing about")):
        ran = run("select", trials, *FIVE_FOUR, "--model", OPEN, "--experts-from", bad, "-o", "x")
        assert ran.status == 2
        assert words in ran.err


def test_a_folder_tells_only_of_others_and_of_the_same_models(run: Run, trials: str) -> None:
    lone = pl.read_csv(trials).filter(pl.col("learner") == 1)
    lone.write_csv("one.csv")
    assert run("select", "one.csv", *FIVE_FOUR, "--criterion", "aic", "--out", "one").status == 0
    mixed = (*FIVE_FOUR, "--model", OPEN, "--criterion", "aic")
    for source in ("one", "population"):
        ran = run("select", "one.csv", *mixed, "--experts-from", source, "--out", "x")
        assert ran.status == 2
        assert "alone" in ran.err or "one learner only" in ran.err
        assert not Path("x").exists()
    ran = run("select", trials, *FIVE_FOUR, "--rule", "exp3", "--criterion", "aic", "--out", "e3")
    assert ran.status == 0, ran.err
    ran = run("select", trials, *mixed, "--experts-from", "e3", "--out", "x")
    assert ran.status == 2
    assert "is another model there" in ran.err


def test_conditions_have_averages_of_their_own(run: Run, trials: str) -> None:
    frame = pl.read_csv(trials)
    half = pl.when(pl.col("trial") <= 45).then(pl.lit("early")).otherwise(pl.lit("late"))
    frame.with_columns(half.alias("part")).write_csv("parts.csv")
    ran = run("select", "parts.csv", *FIVE_FOUR, "--by", "part", "--model", GIVEN, "--criterion",
              "aic", "--weights", "--out", "r")  # fmt: skip
    assert ran.status == 0, ran.err
    assert "8 sequences" in ran.out
    mean = pl.read_csv("r/weights-mean.csv")
    assert set(mean["part"]) == {"early", "late"}
    assert set(mean["learners"]) == {4}


def test_learners_whom_a_strategy_cannot_explain_do_not_end_the_run(run: Run) -> None:
    """A fitted win-stay-lose-shift may rule actions out."""
    sure = ("--model", "win-stay-lose-shift", "--set", "win_stay=1", "--set", "lose_shift=1")
    ran = run("simulate", *FIVE_FOUR, *sure, "--learners", "2", "--trials", "60", "-o", "d.csv")
    assert ran.status == 0, ran.err
    models = [
        word
        for name in ("win-stay-lose-shift", "exp4(win-stay-lose-shift)",
                     "exp4(win-stay-lose-shift, ByShape)")
        for word in ("--model", name)
    ]  # fmt: skip
    ran = run("select", "d.csv", *FIVE_FOUR, *models, "--criterion", "holdout", "--criterion",
              "aic", "--out", "r")  # fmt: skip
    assert ran.status == 0, ran.err
    scores = pl.read_csv("r/scores.csv").sort("learner", "criterion")
    alone = scores.filter(model="win-stay-lose-shift")["log_likelihood"].to_numpy()
    same = scores.filter(model="exp4(win-stay-lose-shift)")["log_likelihood"].to_numpy()
    assert same == pytest.approx(alone, abs=1e-9)


def test_brackets_are_seen(run: Run, trials: str) -> None:
    two = ("--model", GIVEN, "--model", "OneForAll")
    ran = run("select", trials, *FIVE_FOUR, *two, "--criterion", "aic", "--out", "r")
    assert "ByPattern[eta=0.1]" in ran.out
    ran = run("select", trials, *FIVE_FOUR, "--model", OPEN, "--model",
              "exp4(ByPatternExc, ByPattern)", "--criterion", "aic", "--out", "s")  # fmt: skip
    assert "are the same model" in ran.err


def test_recover_says_what_is_found_again(run: Run) -> None:
    models = ("--model", "exp4(ByPattern[eta=0.1])", "--model", GIVEN)
    options = ("--learners", "6", "--trials", "60", "--criterion", "aic", "--out", "rec")
    ran = run("recover", *FIVE_FOUR, *models, "--truth", GIVEN, "--set", "theta=0.2", *options)
    assert ran.status == 0, ran.err
    confusion = pl.read_csv("rec/confusion.csv")
    assert confusion["share"].sum() == 1.0
    assert pl.read_csv("rec/recovery.csv")["parameter"].to_list() == ["theta"]
    assert Path("rec/confusion.svg").exists()
    assert run("recover", *FIVE_FOUR, *models, *options).status == 2  # another run's folder
    zero = ("--model", "exp4(ByShape, Coin[p(A)=1])")
    for command in ("recover", "calibrate"):
        ran = run(command, *FIVE_FOUR, *zero, "--out", "none")
        assert ran.status == 2
        assert "probability 0" in ran.err
        assert not Path("none").exists()
    ran = run("calibrate", *FIVE_FOUR, *models, "--learners", "3", "--trials", "30", "--out", "c")
    assert ran.status == 0, ran.err
