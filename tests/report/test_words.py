"""Sentences of charts on made results: no negative zero, no side where there is one panel."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import howlearn
from howlearn.report.charts import CHARTS
from howlearn.report.curve_charts import reliability
from howlearn.report.matrix_charts import disagreement
from howlearn.report.page.figures import Figure, about, draw, spec_of, steps
from howlearn.report.predicted import Predicted

COUNTS = [9, 18, 1]  # whose shares add up to more than 1 in floating point


def test_criteria_that_never_agree_do_so_for_0_percent() -> None:
    shares = pl.Series([count / sum(COUNTS) for count in COUNTS])
    assert shares.sum() > 1
    frame = pl.DataFrame(
        {
            "first": "aic",
            "first_model": ["A", "B", "C"],
            "second": "bic",
            "second_model": ["B", "C", "A"],
            "learners": COUNTS,
            "share": shares,
        }
    )
    text = str(disagreement(frame, ["A", "B", "C"]).to_dict())
    assert "select the same model for 0% of the learners" in text
    assert "-0%" not in text


def test_no_percentage_is_written_with_a_negative_zero() -> None:
    """Whatever rounds to nothing is 0%: the z of a format says so."""
    folder = Path(howlearn.__file__).parent
    lacking = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"[:{]\.?\d*%\}", line) and not re.search(r":z\.\d%\}", line)
    ]
    assert lacking == [], "write {share:z.0%}, so that -1e-17 is 0% and not -0%"
    assert f"{-1e-17:z.0%}" == "0%"


@pytest.mark.parametrize("along", [True, False])
def test_left_and_right_are_said_of_two_panels_only(along: bool) -> None:
    bins = pl.DataFrame({"low": [0.2], "high": [0.3], "predicted": [0.25], "observed": [0.3],
                         "lower": [0.2], "upper": [0.4], "n": [50]})  # fmt: skip
    curve = pl.DataFrame({"trial": [1.0, 1.0], "first": [1, 1], "last": [1, 1],
                          "source": ["people", "model"], "mean": [0.5, 0.6],
                          "lower": [0.4, None], "upper": [0.6, None], "n": [9, 9]})  # fmt: skip
    shown = Predicted(bins, curve if along else curve.clear(), pl.DataFrame(), "trial", "", ())
    _, note = Figure("predicted", spec_of(reliability(shown)), bins).title
    assert ("Left: an action" in note) == along
    assert ("Right: " in note) == along
    assert along or note.startswith("An action")


def test_means_over_learners_are_not_said_to_be_over_sequences(found) -> None:
    """A learner counts once in a learning curve, also with several sequences."""
    assert [name for name, each in CHARTS.items() if each.of_learners] == ["learning_curves"]
    todo = [step for step in steps(found, None, 0) if step[1] in ("learning curves", "shares")]  # type: ignore[arg-type]
    drawn = draw(todo, "sequence")
    (curves,) = drawn.of("behaviour")
    assert "mean over learners" in curves.title[1]
    assert "sequence" not in str(curves.spec["title"])
    (shares,) = drawn.of("answer")
    assert "sequences" in str(shares.title)
    again = about(replace(curves, of_learners=False), "sequence")
    assert "mean over sequences" in again.title[1]
