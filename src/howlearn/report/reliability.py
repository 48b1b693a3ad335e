"""The chart of predicted probabilities against choices."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from howlearn.report.predicted import Predicted
from howlearn.report.style import BLUE, Chart, data, finished, nothing

QUESTION = "Does the model predict the choices, trial by trial?"
SIZE = 220


def reliability(predicted: Predicted) -> Chart:
    """Observed against predicted shares; beside it both along the trials, where that is known."""
    if predicted.reliability.is_empty():
        return nothing(QUESTION)
    chart = _calibration(predicted.reliability)
    note = (
        "Left: an action that a model gives 30% should be chosen in 30% of such trials. Points: "
        "choices with 95% binomial intervals, their size the number of predictions."
    )
    if len(predicted.curve):
        chart = alt.hconcat(chart, _along(predicted.curve, predicted.along), spacing=40)
        note += " Right: choices of the right answer, and the mean probability that models gave it."
    return finished(chart, QUESTION, note, 560, predicted.statement)


def _calibration(frame: pl.DataFrame) -> Any:
    axis: dict[str, Any] = {"format": ".0%", "tickCount": 5}
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X(
        "predicted:Q",
        title="predicted probability",
        scale=scale,
        axis=alt.Axis(**axis, grid=False, labelFlush=False),
    )
    up = alt.Axis(**axis, domain=False, ticks=False)
    y = alt.Y("observed:Q", title="share chosen", scale=scale, axis=up)
    diagonal = alt.Chart(data(pl.DataFrame({"at": [0.0, 1.0]})))
    base = alt.Chart(data(frame)).encode(x)
    tips = [
        alt.Tooltip("predicted:Q", format=".3f"),
        alt.Tooltip("observed:Q", format=".3f"),
        alt.Tooltip("n:Q", title="predictions"),
    ]
    size = alt.Size("n:Q", scale=alt.Scale(range=[14, 120], zero=True), legend=None)
    points = base.mark_point(filled=True, color=BLUE, opacity=1)
    return alt.layer(
        diagonal.mark_line(style="grey", strokeDash=[3, 3], strokeWidth=1).encode(
            alt.X("at:Q", scale=scale), alt.Y("at:Q", scale=scale)
        ),
        base.mark_rule(color=BLUE).encode(
            alt.Y("lower:Q", scale=scale, axis=up), y2=alt.Y2("upper:Q")
        ),
        points.encode(y, size, tooltip=tips),
    ).properties(width=SIZE, height=SIZE)


def _along(frame: pl.DataFrame, along: str) -> Any:
    end = float(frame["last"].max())  # type: ignore[arg-type]
    axis = alt.Axis(grid=False, labelFlush=False, tickCount=5)
    x = alt.X("trial:Q", title=along, axis=axis, scale=alt.Scale(domain=[0, end], nice=False))
    up = alt.Axis(format=".0%", domain=False, ticks=False, tickCount=5)
    scale = alt.Scale(domain=[0, 1], nice=False)
    base = alt.Chart(data(frame)).encode(x)
    people = base.transform_filter("datum.source == 'people'")
    model = base.transform_filter("datum.source == 'model'")
    key = _key(("choices", "predicted"))
    return alt.layer(
        model.mark_line(stroke=BLUE, strokeWidth=2).encode(
            alt.Y("mean:Q", title="right answer", axis=up, scale=scale)
        ),
        people.mark_rule(style="ink").encode(
            alt.Y("lower:Q", axis=up, scale=scale), y2=alt.Y2("upper:Q")
        ),
        people.mark_point(style="ink", filled=True, size=22, opacity=1).encode(
            alt.Y("mean:Q", axis=up, scale=scale)
        ),
        *key,
    ).properties(width=SIZE + 40, height=SIZE)


def _key(words: tuple[str, str]) -> list[alt.Chart]:
    """What is what, at the lower right."""
    layers = []
    for k, text in enumerate(words):
        one = alt.Chart(data(pl.DataFrame({"text": [text]})))
        y = alt.value(SIZE - 30 + 16 * k)
        at: dict[str, Any] = {"x": alt.value(SIZE - 45), "y": y}
        layers.append(one.mark_text(align="left", dx=12).encode(**at, text=alt.Text("text:N")))
        if k == 0:
            layers.append(one.mark_point(style="ink", filled=True, size=22, opacity=1).encode(**at))
        else:
            ends: dict[str, Any] = {"x": alt.value(SIZE - 53), "x2": alt.value(SIZE - 37)}
            layers.append(one.mark_rule(stroke=BLUE, strokeWidth=2).encode(**ends, y=y))
    return layers
