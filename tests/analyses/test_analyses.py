"""Every analysis gives the same four things: tables, charts, sentences, write(folder)."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import get_args

import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.mechanism_groups import compare_mechanisms
from howlearn.analyses.mechanism_plan import plan_mechanisms
from howlearn.core import columns
from howlearn.core.errors import HowlearnError
from howlearn.core.text import Kind, Sentence
from howlearn.paper.verify import verify
from howlearn.report.plot import saved_charts
from howlearn.results.analysis import Analysis
from howlearn.results.manifest import read_manifest
from howlearn.runs.folder import read_table

MADE = {"eta": 0.1}


@pytest.fixture(scope="module")
def study() -> hl.Study:
    return hl.simulate("shepard-1", "ByFeature1", MADE, learners=10, trials=40, seed=1)


def analysed(command: str, study: hl.Study) -> Analysis:
    """A small analysis of each kind."""
    models = hl.Task.load("shepard-1").models
    who = pl.DataFrame({"learner": list(study.learners), "group": ["a", "b"] * 5})
    few = {"parameters": MADE, "seed": 1}
    known = {
        "select": partial(hl.select, study, models, ["aic", "bic"]),
        "discover": partial(hl.discover, study, criteria=["aic"], models=models),
        "path": partial(hl.path, study, models, [1.0, 2.0], ["aic"]),
        "compare": lambda: hl.compare(
            hl.select(study, models, ["aic"]), "group", groups=who, permutations=20, resamples=20
        ),
        "completeness": lambda: hl.completeness(hl.select(study, models, ["aic"])),
        "check": lambda: hl.check(hl.select(study, models, ["aic"]), doubles=4),
        "mechanisms": partial(hl.mechanisms, study, ["stickiness", "lapse"], base="delta"),
        "compare-mechanisms": partial(
            compare_mechanisms, study, "group", who, parts=["lapse"], base="delta"
        ),
        "plan-mechanisms": partial(plan_mechanisms, "shepard-1", [40], [6], 6),
        "calibrate": partial(hl.calibrate, "shepard-1", learners=4, trials=40, **few),
        "recover": partial(hl.recover, "shepard-1", learners=3, trials=40, **few),
        "plan": partial(hl.plan, "shepard-1", trials=[20, 40], learners=[10], simulated=4, **few),
        "verify": partial(verify, "shepard-1", trials=[20], learners=2),
    }
    return known[command]()


@pytest.mark.parametrize("command", [c for c in columns.commands() if c != "simulate"])
def test_the_four_things(command: str, study: hl.Study, tmp_path: Path) -> None:
    found = analysed(command, study)
    assert type(found) is Analysis.registry[command]
    declared = columns.tables(command)
    assert set(found.tables) <= {*declared}
    if command != "select":  # which has tables that are only made if they are asked for
        assert set(found.tables) == {*declared}
    for name, frame in found.tables.items():
        assert {*declared[name].names} <= {*frame.columns}, name
    assert set(found.charts) <= {*type(found).CHARTS}
    assert all(isinstance(frame, pl.DataFrame) for frame in found.charts.values())
    if found.charts:
        assert set(saved_charts(found)) == set(found.charts)
    assert found.sentences
    for sentence in found.sentences:
        assert isinstance(sentence, Sentence)
        assert sentence.kind in get_args(Kind)
    found.write(tmp_path / "out")
    left = {file.name for file in (tmp_path / "out").iterdir()} - {"manifest.json"}
    assert left <= type(found).outputs()
    assert left == {f"{name}.csv" for name in found.tables} | {*found.texts()} | (
        {"recommendation.json"} if command == "calibrate" else set()
    )
    for name, frame in found.tables.items():
        assert read_table(tmp_path / "out", name).shape == frame.shape
    assert read_manifest(tmp_path / "out", command)["command"] == command
    with pytest.raises(HowlearnError, match=f"holds the results of howlearn {command}"):
        read_manifest(tmp_path / "out", "something else")


def test_a_folder_of_another_kind_is_left_alone(study: hl.Study, tmp_path: Path) -> None:
    models = hl.Task.load("shepard-1").models
    found = hl.select(study, models, ["aic"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(HowlearnError, match="not results of howlearn"):
        found.write(tmp_path / "mine")
    found.write(tmp_path / "out")
    with pytest.raises(HowlearnError, match="holds the results of howlearn select"):
        hl.recover("shepard-1", parameters=MADE, learners=2, trials=20).write(tmp_path / "out")
    again = hl.select(study, models, ["bic"])
    with pytest.raises(HowlearnError, match="the results of another run"):
        again.write(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["learners"] == len(study)


def test_a_calibration_from_python_advises_the_command(tmp_path: Path) -> None:
    from howlearn.analyses.error_rates import advised, confusions

    found = hl.calibrate("shepard-1", parameters=MADE, learners=4, trials=40)
    found.write(tmp_path / "calibration")
    advice = advised(tmp_path / "calibration")
    assert advice.criteria == found.criteria
    assert {*map(repr, found.criteria)} <= {*confusions(advice)}
