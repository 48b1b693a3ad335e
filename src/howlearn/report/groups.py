"""Shares of the models in several groups, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from howlearn.report.confusions import with_names
from howlearn.report.style import Chart, colours, data, finished, in_order, labels, nothing

QUESTION = "Do the groups use the same strategies?"
ROW = 15  # pixels for a group


def group_shares(frame: pl.DataFrame, models: Sequence[str], column: str = "group") -> Chart:
    """A point and an interval per group, model by model.

    ``column`` is what the groups are values of.
    """
    frame = with_names(frame, "group", "model").drop_nulls("share")
    if frame.is_empty():
        return nothing(QUESTION)
    names, groups = in_order(models, frame["model"]), in_order([], frame["group"])
    written, called = labels(names), labels(groups)
    rows = frame.select(
        pl.col("model").replace_strict(written).alias("model"),
        pl.col("group").replace_strict(called).alias("group"),
        "share",
        "lower",
        "upper",
    )
    y = alt.Y("model:N", title=None, sort=[*written.values()])
    offset = alt.YOffset("group:N", sort=[*called.values()], scale=alt.Scale(padding=0.4))
    shades = [colours(groups)[name] for name in groups]
    scale = alt.Scale(domain=[*called.values()], range=shades)
    colour = alt.Color("group:N", scale=scale, legend=alt.Legend(title=labels([column])[column]))
    base = alt.Chart().encode(
        y.axis(ticks=False, domain=False, grid=True, bandPosition=0, labelPadding=12),
        offset,
        colour,
    )
    span = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
    chart = alt.layer(
        span.mark_rule(strokeWidth=1.6).encode(_across("lower:Q"), x2="upper:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(_across("share:Q")),
        data=data(rows),
    ).properties(width=320, height=max(28, ROW * len(groups) + 10) * len(names))
    note = "Share of the learners of each group who use a model, with 95% intervals."
    return finished(chart, QUESTION, note, 480)


def _across(field: str) -> alt.X:
    axis = alt.Axis(format=".0%", domain=False, ticks=False, tickCount=5, labelFlush=False)
    return alt.X(field, title="learners", axis=axis, scale=alt.Scale(domain=[0, 1]))
