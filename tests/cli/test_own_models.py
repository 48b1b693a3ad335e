"""A user's own model, and the field's, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from running import Run

QUICK = ("--criterion", "aic")
OWN = Path(__file__).resolve().parents[1] / "own_models.py"


@pytest.fixture
def trials(run: Run) -> str:
    assert run("simulate", "--model", "ByShape", "--trials", "120", "-o", "t.csv").status == 0
    return "t.csv"


def test_ones_own_model_competes(run: Run, trials: str) -> None:
    models = ("--model", "ByShape", "--model", f"{OWN}:Habit", "--model", f"{OWN}:Habit(ByShape)")
    ran = run("select", trials, "--task", "five-four", *models, *QUICK, "--out", "r")
    assert ran.status == 0, ran.err
    scores = pl.read_csv("r/scores.csv")
    assert set(scores["model"]) == {"ByShape", "Habit", "Habit(ByShape)"}
    estimates = pl.read_csv("r/estimates.csv").filter(model="Habit")
    assert set(estimates["parameter"]) == {"alpha", "beta"}
    assert estimates["agreement"].is_between(0, 1).all()
    described = json.loads(Path("r/manifest.json").read_text())["models"][1]
    assert described["code"].startswith("sha256:")
    # The results can be taken up again: doubles of these learners.
    again = ("simulate", "--like", "r", "-o", "doubles.csv")
    ran = run(*again, "--model", "Habit")
    assert ran.status == 2
    assert f"type --model {OWN}:Habit in this command" in ran.err  # results are no door for code
    ran = run(*again, "--model", f"{OWN}:Habit(ByShape)")
    assert ran.status == 0, ran.err
    ran = run(*again, "--model", "Habit", "--add-model", f"{OWN}:Habit", "--fresh")
    assert ran.status == 0, ran.err
    assert pl.read_csv("doubles.csv").height == pl.read_csv(trials).height


def test_learners_of_ones_own_model_are_recognised(run: Run) -> None:
    own = f"{OWN}:Habit"
    ran = run(
        "simulate", "--model", own, "--set", "alpha=0.2", "--set", "beta=8", "--trials", "300",
        "-o", "h.csv",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert "--add-model" in ran.out
    ran = run("select", "h.csv", "--task", "five-four", "--add-model", own, "--out", "r")
    assert ran.status == 0, ran.err
    chosen = pl.read_csv("r/selection.csv").filter(criterion="population")["model"]
    assert (chosen == "Habit").mean() >= 0.8


@pytest.mark.parametrize("name", ["LooksAtTheChoice", "NotNormalised", "NotANumber", "Nope"])
def test_a_wrong_model_ends_the_run_with_a_sentence(run: Run, trials: str, name: str) -> None:
    ran = run("select", trials, "--task", "five-four", "--model", f"{OWN}:{name}", "--out", "r")
    assert ran.status == 2
    assert name in ran.err
    assert "Traceback" not in ran.err
    assert not Path("r").exists()


def test_calibrate_and_plan_with_models_of_the_field(run: Run) -> None:
    models = ("--model", "ByShape", "--model", "q-learning(ByShape)", "--model", "ByShape+lapse")
    ran = run("calibrate", *models, "--learners", "8", "--trials", "60", "--splits", "0.5",
              "--set", "ByShape+lapse:lapse=0.2", "--out", "c")  # fmt: skip
    assert ran.status == 0, ran.err
    assert set(pl.read_csv("c/recovery.csv")["parameter"]) == {"eta", "alpha", "beta", "lapse"}


def test_a_model_that_needs_features(run: Run) -> None:
    rows = [f"1,{t},{'xy'[t % 2]},{'AB'[t % 3 == 0]},{t % 2}" for t in range(20)]
    Path("t.csv").write_text("\n".join(["learner,trial,context,action,reward", *rows]))
    ran = run("select", "t.csv", "--model", "alcove", "--out", "r")
    assert ran.status == 2
    assert "model alcove needs features of the contexts: --features" in ran.err
    assert not Path("r").exists()
