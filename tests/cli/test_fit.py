"""``howlearn completeness``, ``check``, and what ``select`` says of the fit of the candidates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.results.manifest import CLEAR, WITHHELD, record


@pytest.fixture
def sticky(tmp_path, monkeypatch) -> Path:
    """Learners who repeat their answers, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    task = hl.Task.load("five-four")
    theta = np.tile([0.3, 0.3, 2.0], (20, 1))
    model = task.model("ByPattern+stickiness")
    study = hl.simulate(task, model, theta, trials=100, seed=4)
    study.frame().write_csv("sticky.csv")
    return Path("sticky.csv")


def test_from_select_to_the_verdicts(run, sticky) -> None:
    pytest.importorskip("lightgbm")
    words = ("select", sticky, "--task", "five-four", "--criterion", "aic")
    ran = run(*words)
    said = " ".join(ran.out.split())
    assert "The models predict each choice with probability" in said
    assert "Simulated learners differ from these people in" in said
    first = pl.read_csv("results/selection.csv")["verdict"].to_list()
    assert WITHHELD in first
    assert CLEAR not in first
    ran = run("completeness", "results")
    said = " ".join(ran.out.split())
    assert "The models capture at most" in said
    assert "--add-model" in said
    row = pl.read_csv("results/completeness/completeness.csv").row(0, named=True)
    assert row["alarm"]
    assert row["completeness"] < 0.97
    reasons = pl.read_csv("results/completeness/reasons.csv")
    assert reasons["family"][0] == "repeats"
    assert len(pl.read_csv("results/completeness/completeness-learners.csv")) == 20
    known = json.loads(Path("results/manifest.json").read_text())["fit"]
    assert known["completeness"]["alarm"]
    assert known["check"]["fails"]
    drawn = hl.plot.completeness("results").to_dict()
    assert "repeats" in json.dumps(drawn)
    before = Path("results/completeness/completeness.csv").read_bytes()
    run("completeness", "results")  # goes on with what is there
    assert Path("results/completeness/completeness.csv").read_bytes() == before
    run(*words)  # the same selection again keeps what completeness found
    again = json.loads(Path("results/manifest.json").read_text())["fit"]
    assert again == known
    assert pl.read_csv("results/selection.csv")["verdict"].to_list() == first


def test_a_check_and_none(run, sticky) -> None:
    words = ("select", sticky, "--task", "five-four", "--criterion", "aic", "--no-check")
    assert "was not checked (--no-check)" in " ".join(run(*words).out.split())
    assert CLEAR in pl.read_csv("results/selection.csv")["verdict"].to_list()
    ran = run("check", "results", "--doubles", "4", "--signature", "action == A given trial > 50")
    assert "Simulated learners differ from these people in" in " ".join(ran.out.split())
    found = pl.read_csv("results/check/checks.csv")
    assert found.columns[:6] == ["signature", "observed", "expected", "p", "corrected_p", "fails"]
    assert "action == A given trial > 50" in found["signature"].to_list()
    assert WITHHELD in pl.read_csv("results/selection.csv")["verdict"].to_list()


def test_tables_stay_letter_by_letter(run, sticky) -> None:
    words = ("select", sticky, "--task", "five-four", "--criterion", "aic", "--no-check")
    run(*words)
    before = {name: Path(f"results/{name}.csv").read_text() for name in ("selection", "learners")}
    record(Path("results"), completeness={"alarm": True})
    for name, text in before.items():
        now = Path(f"results/{name}.csv").read_text()
        assert now != text
        assert now.replace(WITHHELD, CLEAR) == text
    record(Path("results"), completeness={"alarm": False})
    for name, text in before.items():
        assert Path(f"results/{name}.csv").read_text() == text


def test_bad_input_ends_in_a_sentence(run, sticky) -> None:
    ran = run("completeness", "nothing")
    assert ran.status == 2
    assert "nothing does not exist" in ran.err
    frame = pl.read_csv(sticky)
    frame.filter(pl.col("learner") == 1).write_csv("one.csv")
    run("select", "one.csv", "--task", "five-four", "--criterion", "aic", "--out", "one")
    ran = run("completeness", "one")
    assert ran.status == 2
    assert "one learner only" in ran.err
    assert not Path("one/completeness").exists()
    frame.filter(pl.col("learner") < 5).write_csv("few.csv")
    run("select", "few.csv", "--task", "five-four", "--criterion", "aic", "--out", "few")
    ran = run("completeness", "few")
    assert "Too few to tell" in " ".join(ran.out.split())
    Path("few.csv").unlink()
    ran = run("completeness", "few", "--out", "else")
    assert ran.status == 2
    assert "few.csv, which is not there" in ran.err
    assert not Path("else").exists()
    manifest = json.loads(Path("few/manifest.json").read_text())
    Path("few/manifest.json").write_text(json.dumps({**manifest, "howlearn": "9.9.0"}))
    for command in ("completeness", "check"):
        ran = run(command, "few")
        assert ran.status == 2
        assert "was made by howlearn 9.9.0" in ran.err
