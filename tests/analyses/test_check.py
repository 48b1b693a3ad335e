"""Checks of behaviour: signatures counted by hand, and answers that can be no."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.check import bounded, check, fit_of_selection, holm
from howlearn.analyses.signatures import Record, Signatures
from howlearn.core.errors import HowlearnError
from howlearn.report.folder import NOT_CALIBRATED
from howlearn.report.page.figures import draw, steps
from howlearn.results.manifest import WITHHELD, rounded

TASK = hl.Task.load("five-four")


def small() -> hl.Study:
    rows = {
        "learner": "a",
        "context": ["x", "y", "x", "x", "y", "x"],
        "action": ["l", "r", "l", "m", "r", "m"],
        "reward": [0, 1, 0, 0, 1, 0],
    }
    return hl.read(pl.DataFrame(rows))


def test_signatures_are_what_one_counts_by_hand() -> None:
    study = small()
    found = Signatures(study, own=["action == l given context == x", "reward"])
    value = dict(zip(found.names, found.observed[:, 0], strict=True))
    assert value["stays after a reward"] == 1.0  # y: r, r
    assert value["stays after none"] == pytest.approx(2 / 3)  # x: l l m m
    assert value["switches"] == pytest.approx(5 / 5)
    assert value["repeated errors"] == pytest.approx(2 / 3)  # l, then m, then m
    assert value["action == l given context == x"] == 0.5
    assert value["reward"] == pytest.approx(1 / 3)
    again = found.of(Record(study, np.arange(6)))
    assert np.array_equal(again, found.observed)


def test_new_starts_begin_a_new_history() -> None:
    study = small()
    study.reset[3] = True
    value = dict(zip(*(lambda s: (s.names, s.observed[:, 0]))(Signatures(study)), strict=True))
    assert value["stays after none"] == 1.0  # l l | m m
    assert value["repeated errors"] == 1.0


@pytest.mark.parametrize("text", ["", "nothing > 2", "action", "action +"])
def test_bad_expressions_are_refused(text) -> None:
    with pytest.raises(HowlearnError, match="--signature"):
        Signatures(small(), own=[text])


def test_the_truth_passes_and_another_model_fails() -> None:
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.2}, learners=8, trials=120, seed=5)
    right = check(hl.select(study, [TASK.model("ByPattern")], ["aic"]), doubles=10, seed=1)
    assert not right.fails
    assert "A quick look finds no difference" in right.answer
    right = check(hl.select(study, [TASK.model("ByPattern")], ["aic"]), seed=1)
    assert "behave like these people in all" in right.answer
    wrong = check(hl.select(study, [TASK.model("OneForAll")], ["aic"]), doubles=10, seed=1)
    assert wrong.fails
    assert "differ from these people in" in wrong.answer
    assert wrong.checks["corrected_p"].min() < 0.001  # type: ignore[operator]
    assert set(wrong.learners["learner"]) == {*study.learners}
    same = check(hl.select(study, [TASK.model("OneForAll")], ["aic"]), doubles=10, seed=1)
    assert same.checks.equals(wrong.checks)


def test_p_values_are_spread_evenly_under_the_truth() -> None:
    """Of 12 studies some 200 p-values; they hang together within a study."""
    shares = []
    for seed in range(12):
        rates = np.random.default_rng(seed).uniform(0.05, 0.4, (6, 2))
        study = hl.simulate(TASK, "ByShape", rates, trials=60, seed=seed)
        found = check(hl.select(study, [TASK.model("ByShape")], ["aic"]), doubles=6, seed=seed)
        shares.append((found.checks["p"] < 0.2).mean())
    assert 0.05 < float(np.mean(shares)) < 0.4


def test_holm_is_never_below_p() -> None:
    p = np.array([0.2, 0.001, 0.04, 0.04])
    assert np.all(holm(p) >= p)
    assert holm(p)[1] == pytest.approx(0.004)


def test_too_few_doubles_are_refused() -> None:
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.2}, learners=1, trials=30, seed=5)
    with pytest.raises(HowlearnError, match="2 to 500 doubles of every learner, got 1"):
        check(hl.select(study, TASK.models[:1], ["aic"]), doubles=1)


def test_select_checks_the_fit_as_the_command_does(tmp_path: Path) -> None:
    """In memory and in a folder: what was found is told, and verdicts follow."""
    study = hl.simulate(TASK, "ByPattern", {"eta": 0.2}, learners=8, trials=120, seed=5)
    right = hl.select(study, TASK.models, ["aic"])
    told = right.manifest["fit"]
    assert told["absolute"]["model"] > told["absolute"]["chance"] == pytest.approx(0.5)
    assert told["check"]["checked"] > 10
    assert not told["check"]["fails"]
    assert told == rounded(fit_of_selection(right))
    assert told["check"]["sentence"] in " ".join(right.sentences)
    assert "clear" in right.selection["verdict"].to_list()
    sticky, theta = TASK.model("ByPattern+stickiness"), np.tile([0.2, 0.2, 1.5], (8, 1))
    study = hl.simulate(TASK, sticky, theta, trials=120, seed=5)
    wrong = hl.select(study, TASK.models, ["aic"])
    verdicts = wrong.selection["verdict"].to_list()
    assert WITHHELD in verdicts
    assert WITHHELD in wrong.learners["verdict_aic"].to_list()
    assert "clear" not in verdicts
    kept = hl.select(study, TASK.models, ["aic"], folder=tmp_path / "r")
    assert kept.selection["verdict"].to_list() == verdicts
    assert kept.manifest["fit"] == wrong.manifest["fit"]
    bare = hl.select(study, TASK.models, ["aic"], check=False)
    assert [*bare.manifest["fit"]] == ["check"]
    assert "not checked (check=False)" in bare.manifest["fit"]["check"]["sentence"]


def test_the_report_shows_every_signature_of_the_check(tmp_path: Path) -> None:
    """With its table and answer, from memory and from a folder; a mangled manifest shows none."""
    sticky, theta = TASK.model("ByPattern+stickiness"), np.tile([0.2, 0.2, 1.5], (8, 1))
    study = hl.simulate(TASK, sticky, theta, trials=120, seed=5)
    results = hl.select(study, TASK.models, ["aic"], folder=tmp_path / "r")
    told = results.manifest["fit"]["check"]
    (step,) = [each for each in steps(results, NOT_CALIBRATED, 0) if each[1] == "checks"]
    (figure,) = draw([step], "learner").of("behaviour")
    assert figure.finding == told["sentence"]
    assert figure.table["signature"].to_list() == [row["signature"] for row in told["table"]]
    failing = figure.table.filter("fails")
    assert "switches" in failing["signature"].to_list()
    assert (failing["corrected_p"] < 0.05).all()
    assert figure.table.equals(hl.check(results, **bounded(results)).checks.with_columns(
        pl.col(pl.Float64).round(5)))  # fmt: skip
    for table in (None, [], [{"signature": "x"}], [1], "x"):
        mangled = results.with_fit({"check": {**told, "table": table}})
        assert draw([("behaviour", "checks", steps_of(mangled))], "learner").of("behaviour") == []


def steps_of(results: hl.Results):
    return next(make for _, name, make in steps(results, NOT_CALIBRATED, 0) if name == "checks")
