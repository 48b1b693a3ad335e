"""Which models two criteria select for the same learners."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.text import many
from howlearn.report.confusions import BARE, fill_of, percent
from howlearn.report.findings import Findings
from howlearn.report.style import Chart, data, finished, in_order, ink_on, labels, nothing

QUESTION = "Where do the criteria disagree?"


def disagreement_table(
    found: Findings, first: str | None = None, second: str | None = None
) -> pl.DataFrame:
    """first, second (criteria), first_model, second_model, learners, share (of all learners).

    Without names they are the first two criteria; empty where there is one only.
    """
    first = first or found.criteria[0]
    others = [c for c in found.criteria if c != first]
    second = second or (others[0] if others else None)
    for name in (first, second):
        if name is not None and name not in found.criteria:
            raise HowlearnError(
                f"there is no criterion {name!r}; there are {', '.join(found.criteria)}"
            )
    if second is None:
        text = ("first", "second", "first_model", "second_model")
        return pl.DataFrame(
            schema=dict.fromkeys(text, pl.String) | {"learners": pl.Int64, "share": pl.Float64}
        )
    one, other = (
        found.selection.filter(pl.col("criterion") == name)["model"].cast(pl.String)
        for name in (first, second)
    )
    frame = pl.DataFrame({"first_model": one, "second_model": other})
    keys = ["first_model", "second_model"]
    counts = frame.group_by(keys).len("learners").with_columns(pl.col("learners").cast(pl.Int64))
    return counts.sort(["learners", *keys], descending=[True, False, False]).select(
        pl.lit(first).alias("first"),
        pl.lit(second).alias("second"),
        *keys,
        "learners",
        share=pl.col("learners") / max(len(one), 1),
    )


def disagreement(frame: pl.DataFrame, models: Sequence[str]) -> Chart:
    """A heat map: the first criterion's model down the side, the second one's across."""
    if frame.is_empty():
        return nothing(QUESTION)
    seen = {*frame["first_model"], *frame["second_model"]}
    names = [m for m in in_order(models, frame["first_model"], frame["second_model"]) if m in seen]
    written = labels(names)
    count = {(a, b): (n, s) for a, b, n, s in frame.select(frame.columns[2:]).rows()}
    rows = []
    for one in names:
        for other in names:
            n, share = count.get((one, other), (0, 0.0))
            fill = fill_of(share)
            rows.append(
                {"down": written[one], "across": written[other], "fill": fill, "ink": ink_on(fill),
                 "text": f"{n:,}" if n else "", "percent": percent(share), "same": one == other}
            )  # fmt: skip
    order = [*written.values()]
    size = 46 if len(names) <= 8 else 30
    first, second = frame["first"][0], frame["second"][0]
    x = alt.X(
        "across:N",
        sort=order,
        title=f"by {second}",
        axis=alt.Axis(orient="top", labelAngle=-45, labelAlign="left", **BARE),
    )
    y = alt.Y("down:N", sort=order, title=f"by {first}", axis=alt.Axis(**BARE))
    base = alt.Chart().encode(x, y)
    chart = alt.layer(
        base.mark_rect(stroke="white").encode(alt.Fill("fill:N", scale=None)),
        base.mark_rect(filled=False, style="ink", strokeWidth=1.5).transform_filter("datum.same"),
        base.mark_text(fontSize=12 if size > 40 else 10).encode(
            alt.Fill("ink:N", scale=None), text=alt.Text("text:N")
        ),
        data=data(pl.DataFrame(rows)),
    ).properties(width=size * len(names), height=size * len(names))
    note = "Numbers of learners. Framed: both criteria select the same model."
    question = f"Where do {first} and {second} disagree?"
    return finished(chart, question, note, size * len(names) + 120, _finding(frame))


def _finding(frame: pl.DataFrame) -> str:
    apart = frame.filter(pl.col("first_model") != pl.col("second_model"))
    same = 1 - float(apart["share"].sum())
    first, second = frame["first"][0], frame["second"][0]
    text = f"{first} and {second} select the same model for {same:.0%} of the learners"
    if apart.is_empty():
        return text + "."
    most = apart.row(0, named=True)
    learners = many(most["learners"], "learner")
    return (
        f"{text}; most often they differ as {most['first_model']} by {first} and "
        f"{most['second_model']} by {second} ({learners})."
    )
