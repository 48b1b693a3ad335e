"""Bars of selected models: stacked by true model, and of the shares alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from howlearn.report.confusions import QUESTION, selected_and_true, shares_of, with_names
from howlearn.report.style import (
    INK,
    Chart,
    colours,
    data,
    finished,
    in_order,
    in_panels,
    ink_on,
    labels,
    nothing,
    number,
)

SHARES = "How often is each model selected?"
QUESTION_BY = "Which models explain how many learners?"
ENDS = ("lower", "upper")
CORRECTED = ("corrected", "corrected_lower", "corrected_upper")
LOWEST = 0.045  # of a bar that has room for its number
HEIGHT = 300


def confusion_bars(frame: pl.DataFrame, models: Sequence[str]) -> Chart:
    """A bar per true model, made of a piece with a colour and a number per selected one."""
    frame = with_names(frame, "true_model", "selected_model")
    if frame.is_empty():
        return nothing(QUESTION)
    across, down = selected_and_true(frame, models)
    everyone = in_order([*across, *down])
    written = {
        name: f"{number}  {label}"
        for number, (name, label) in enumerate(labels(everyone).items(), start=1)
    }
    colour = colours(everyone)
    width = (48 if len(down) <= 8 else 26) * len(down)
    x = alt.X(
        "true:N",
        sort=[written[name] for name in down],
        title="true model",
        axis=alt.Axis(labelAngle=-45, ticks=False),
        scale=alt.Scale(paddingInner=0.15, paddingOuter=0.1),
    )
    domain, shades = [written[name] for name in across], [colour[name] for name in across]
    legend = alt.Legend(
        title="selected model", columns=1 + (len(across) - 1) // 20, symbolType="square"
    )
    fill = alt.Color("selected:N", scale=alt.Scale(domain=domain, range=shades), legend=legend)
    pieces = alt.Chart().mark_bar(stroke="white", strokeWidth=0.7)
    numbers = alt.Chart().transform_filter(f"datum.high - datum.low >= {LOWEST}")
    ink = alt.Fill("ink:N", scale=None)
    chart = alt.layer(
        pieces.encode(x, _share("low:Q"), fill, y2="high:Q"),
        numbers.mark_text(fontSize=10).encode(x, _share("middle:Q"), ink, text="number:N"),
        data=data(_pieces(frame, across, down, written, colour)),
    )
    chart = chart.properties(width=width, height=HEIGHT)
    note = "Share of the learners of each true model; numbers as in the legend."
    return finished(chart, QUESTION, note, width + 160)


def _share(field: str) -> alt.Y:
    axis = alt.Axis(format=".0%", domain=False, ticks=False, tickCount=5)
    return alt.Y(field, title="learners", axis=axis, scale=alt.Scale(domain=[0, 1]))


def _pieces(
    frame: pl.DataFrame,
    across: Sequence[str],
    down: Sequence[str],
    written: Mapping[str, str],
    colour: Mapping[str, str],
) -> pl.DataFrame:
    """From the top downward, in the order of the candidates, which is that of the legend."""
    share = shares_of(frame)
    pieces = []
    for true in down:
        high = 1.0
        for selected in across:
            low = high - (share.get((true, selected)) or 0.0)
            if low < high:
                piece = {"true": written[true], "selected": written[selected]}
                piece |= {"number": written[selected].split()[0], "ink": ink_on(colour[selected])}
                pieces.append(piece | {"low": low, "middle": (low + high) / 2, "high": high})
            high = low
    return pl.DataFrame(pieces)


def shares(frame: pl.DataFrame, models: Sequence[str]) -> Chart:
    """A bar per model; a panel per true model where the frame has several.

    Columns `lower` and `upper`, where there are such, are drawn as the ends of intervals.
    """
    frame = with_names(frame, "selected_model").drop_nulls("share")
    if frame.is_empty():
        return nothing(SHARES)
    bars, names, panels = _bars(frame, models)
    most = max(1.0, *bars["end"])
    y = alt.Y("model:N", title=None, scale=alt.Scale(domain=names))
    base = alt.Chart().encode(y=y.axis(ticks=False, domain=False))
    bar = base.mark_bar(height=alt.RelativeBandSize(0.7))
    text = base.mark_text(align="left", dx=5, fontSize=11, color=INK)
    layers = [bar.encode(_across("share:Q", most), alt.Fill("colour:N", scale=None))]
    if bars["lower"].count():
        span = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
        span = span.mark_rule(color=INK, strokeWidth=1.2)
        layers.append(span.encode(_across("lower:Q", most), x2="upper:Q"))
    layers.append(text.encode(_across("end:Q", most), text="text:N"))
    chart = alt.layer(*layers, data=data(bars)).properties(width=260, height=22 * len(names))
    if len(panels) <= 1:
        return finished(chart, SHARES)
    return finished(in_panels(chart, panels, 3), SHARES, "A panel for each true model.")


def _across(field: str, most: float) -> alt.X:
    axis = alt.Axis(format=".0%", domain=False, ticks=False, tickCount=5, labelFlush=False)
    return alt.X(field, title="learners", axis=axis, scale=alt.Scale(domain=[0, most]))


def _bars(frame: pl.DataFrame, models: Sequence[str]) -> tuple[pl.DataFrame, list[str], list[str]]:
    """A row per bar, the models and the panels in order."""
    names = in_order(models, frame["selected_model"])
    if "true_model" not in frame.columns:
        frame = frame.with_columns(true_model=pl.lit(""))
    frame = frame.with_columns(pl.col("true_model").cast(pl.String).fill_null(""))
    present = set(frame["true_model"])
    true = labels(name for name in in_order(models, frame["true_model"]) if name in present)
    colour, written = colours(names), labels(names)
    rows = []
    for row in frame.to_dicts():
        bar = {"panel": true[row["true_model"]], "model": written[row["selected_model"]]}
        bar |= {"colour": colour[row["selected_model"]], "share": row["share"]}
        bar |= {"lower": row.get("lower"), "upper": row.get("upper")}
        bar["end"] = max(row["share"], row.get("upper") or 0.0)
        rows.append(bar | {"text": f"{row['share']:.0%}"})
    return pl.DataFrame(rows, infer_schema_length=None), [*written.values()], [*true.values()]


def shares_by_criterion(frame: pl.DataFrame, models: Sequence[str]) -> Chart:
    """A panel per criterion, with 95% intervals and, where there are such, corrected shares.

    ``frame`` is the table of shares: criterion, model, learners, share, lower, upper, corrected,
    corrected_lower, corrected_upper.
    """
    frame = frame.with_columns(pl.col("model").cast(pl.String), number("share"))
    frame = frame.drop_nulls("share")
    if frame.is_empty():
        return nothing(QUESTION_BY)
    missing = [c for c in (*ENDS, *CORRECTED) if c not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(c) for c in missing)
    frame = frame.with_columns(number(c) for c in (*ENDS, *CORRECTED))
    names = in_order(models, frame["model"])
    written, colour = labels(names), colours(names)
    panels = labels(frame["criterion"].unique(maintain_order=True))
    name = pl.col("model")
    rows = frame.select(
        "learners",
        "share",
        *ENDS,
        *CORRECTED,
        panel=pl.col("criterion").replace_strict(panels, return_dtype=pl.String),
        model=name.replace_strict(written, return_dtype=pl.String),
        colour=name.replace_strict(colour, return_dtype=pl.String),
        end=pl.max_horizontal("share", "upper", "corrected_upper"),
        text=pl.col("share").map_elements("{:.0%}".format, pl.String),
    )
    most = min(1.0, math.ceil(10 * float(rows["end"].max()) + 0.5) / 10)  # type: ignore[arg-type]
    base = alt.Chart().encode(
        y=alt.Y(
            "model:N",
            title=None,
            scale=alt.Scale(domain=[*written.values()]),
            axis=alt.Axis(ticks=False, domain=False),
        )
    )
    tips = [
        alt.Tooltip("model:N"),
        alt.Tooltip("learners:Q"),
        alt.Tooltip("share:Q", format=".1%"),
        alt.Tooltip("lower:Q", format=".1%"),
        alt.Tooltip("upper:Q", format=".1%"),
    ]
    bar = base.mark_bar(height=11)
    fill = alt.Fill("colour:N", scale=None)
    layers = [
        bar.encode(_across("share:Q", most), fill, tooltip=tips),
        base.mark_rule(style="ink", strokeWidth=1.2).encode(
            _across("lower:Q", most), x2=alt.X2("upper:Q")
        ),
    ]
    corrected = rows["corrected"].count() > 0
    if corrected:
        # Below the bar: on it two intervals would lie upon each other.
        below: dict[str, Any] = {"style": "ink", "yOffset": 9}
        point = base.mark_point(**below, shape="diamond", filled=True, size=36, opacity=1)
        span = base.mark_rule(**below, strokeWidth=1)
        layers += [
            span.encode(_across("corrected_lower:Q", most), x2=alt.X2("corrected_upper:Q")),
            point.encode(_across("corrected:Q", most)),
        ]
    text = base.mark_text(align="left", dx=6, fontSize=11)
    layers.append(text.encode(_across("end:Q", most), text=alt.Text("text:N")))
    chart = alt.layer(*layers, data=data(rows)).properties(width=210, height=27 * len(names))
    note = "Share of the learners for whom each model is selected, with 95% intervals."
    if corrected:
        note += " Diamonds: the share once what is known about errors is taken out."
    chart = in_panels(chart, [*panels.values()], 3)
    return finished(chart, QUESTION_BY, note, 620, _leaders(frame))


def _leaders(frame: pl.DataFrame) -> str:
    parts = []
    for (criterion,), mine in frame.group_by(["criterion"], maintain_order=True):
        most = mine.sort("share", descending=True, maintain_order=True).row(0, named=True)
        tied = int((mine["share"] == most["share"]).sum()) - 1
        also = f" (and {tied} other{'s' * (tied > 1)} as often)" if tied else ""
        parts.append(
            f"{most['model']}{also} for {most['share']:.0%} of the learners by {criterion}"
        )
    return f"Most often selected: {'; '.join(parts)}."
