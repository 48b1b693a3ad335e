"""Bars of shares and margins: by criterion, by group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from howlearn.report import style
from howlearn.report import vega_lite as vl
from howlearn.report.matrix_charts import with_names
from howlearn.report.plot import CHARTS
from howlearn.results.manifest import CLEAR, WITHHELD
from howlearn.results.results import Results

SHARES = "How often is each model selected?"
QUESTION_BY = CHARTS["shares"].question
ENDS = ("lower", "upper")
CORRECTED = ("corrected", "corrected_lower", "corrected_upper")


def shares(frame: pl.DataFrame, models: Sequence[str]) -> style.Chart:
    """A bar per model, from the columns selected_model and share."""
    frame = with_names(frame, "selected_model").drop_nulls("share")
    if frame.is_empty():
        return style.nothing(SHARES)
    names = style.in_order(models, frame["selected_model"])
    written, name = style.labels(names), pl.col("selected_model")
    bars = frame.select(
        "share",
        model=name.replace_strict(written, return_dtype=pl.String),
        colour=name.replace_strict(style.colours(names), return_dtype=pl.String),
        text=pl.col("share").map_elements("{:z.0%}".format, pl.String),
    )
    y = vl.Y("model:N", title=None, scale=vl.Scale(domain=[*written.values()]))
    base = vl.Chart().encode(_across("share:Q", 1.0), y.axis(ticks=False, domain=False))
    bar = base.mark_bar(height=vl.said(band=0.7)).encode(vl.Fill("colour:N", scale=None))
    text = base.mark_text(align="left", dx=5, fontSize=11, color=style.INK).encode(text="text:N")
    chart = vl.layer(bar, text, data=style.data(bars)).properties(width=260, height=22 * len(names))
    return style.finished(chart, SHARES)


def _across(field: str, most: float) -> vl.Channel:
    axis = vl.Axis(format=".0%", domain=False, ticks=False, tickCount=5, labelFlush=False)
    return vl.X(field, title="learners", axis=axis, scale=vl.Scale(domain=[0, most]))


def shares_by_criterion(frame: pl.DataFrame, models: Sequence[str]) -> style.Chart:
    """A panel per criterion, with 95% intervals and, where there are such, corrected shares.

    ``frame`` is the table of shares: criterion, model, learners, share, lower, upper, corrected,
    corrected_lower, corrected_upper.
    """
    frame = frame.with_columns(pl.col("model").cast(pl.String), style.number("share"))
    frame = frame.drop_nulls("share")
    if frame.is_empty():
        return style.nothing(QUESTION_BY)
    missing = [c for c in (*ENDS, *CORRECTED) if c not in frame.columns]
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias(c) for c in missing)
    frame = frame.with_columns(style.number(c) for c in (*ENDS, *CORRECTED))
    names = style.in_order(models, frame["model"])
    written, colour = style.on_lines(names), style.colours(names)
    criteria, told = frame["criterion"].n_unique(), _leaders(frame)
    if "condition" in frame.columns and frame["condition"].count():  # a row of panels for each
        both = pl.concat_str("condition", "criterion", separator=": ")
        first = frame["criterion"] == frame["criterion"][0]
        frame = frame.with_columns(criterion=both)
        told = _leaders(frame.filter(first))
        frame = frame.sort("condition", maintain_order=True)
    panels = style.labels(frame["criterion"].unique(maintain_order=True))
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
        text=pl.col("share").map_elements("{:z.0%}".format, pl.String),
    )
    corrected = rows["corrected"].count() > 0
    layers = _share_layers(rows, [*written.values()], corrected)
    row = 34 if any("\n" in label for label in written.values()) else 27
    chart = vl.layer(*layers, data=style.data(rows)).properties(width=210, height=row * len(names))
    note = "Share of learners with each selected model, with 95% intervals."
    if corrected:
        note += " Diamonds: the share corrected for known errors."
    chart = style.in_panels(chart, [*panels.values()], min(criteria, 3))
    return style.finished(chart, QUESTION_BY, note, 620, told)


def _share_layers(rows: pl.DataFrame, names: Sequence[str], corrected: bool) -> list[vl.Chart]:
    """Bars with their intervals, what is corrected below them, and the shares as text."""
    most = min(1.0, math.ceil(10 * float(rows["end"].max()) + 0.5) / 10)  # type: ignore[arg-type]
    broken = "split(datum.label, '\\n')" if any("\n" in name for name in names) else vl.Undefined
    axis = vl.Axis(ticks=False, domain=False, labelExpr=broken)
    y = vl.Y("model:N", title=None, scale=vl.Scale(domain=[*names]), axis=axis)
    base = vl.Chart().encode(y=y)
    tips = [
        vl.Tooltip("model:N"),
        vl.Tooltip("learners:Q"),
        vl.Tooltip("share:Q", format=".1%"),
        vl.Tooltip("lower:Q", format=".1%"),
        vl.Tooltip("upper:Q", format=".1%"),
    ]
    bar = base.mark_bar(height=11)
    fill = vl.Fill("colour:N", scale=None)
    layers = [
        bar.encode(_across("share:Q", most), fill, tooltip=tips),
        base.mark_rule(style="ink", strokeWidth=1.2).encode(
            _across("lower:Q", most), x2=vl.X2("upper:Q")
        ),
    ]
    if corrected:
        # Below the bar: on it two intervals would lie upon each other.
        below: dict[str, Any] = {"style": "ink", "yOffset": 9}
        point = base.mark_point(**below, shape="diamond", filled=True, size=36, opacity=1)
        span = base.mark_rule(**below, strokeWidth=1)
        layers += [
            span.encode(_across("corrected_lower:Q", most), x2=vl.X2("corrected_upper:Q")),
            point.encode(_across("corrected:Q", most)),
        ]
    text = base.mark_text(align="left", dx=6, fontSize=11)
    return [*layers, text.encode(_across("end:Q", most), text=vl.Text("text:N"))]


def _leaders(frame: pl.DataFrame) -> str:
    parts = []
    for (criterion,), mine in frame.group_by(["criterion"], maintain_order=True):
        most = mine.sort("share", descending=True, maintain_order=True).row(0, named=True)
        tied = int((mine["share"] == most["share"]).sum()) - 1
        also = f" (and {tied} other{'s' * (tied > 1)} as often)" if tied else ""
        parts.append(
            f"{most['model']}{also} for {most['share']:z.0%} of the learners by {criterion}"
        )
    return f"Most often selected: {'; '.join(parts)}."


# Shares of the models in several groups, side by side.


GROUPS_QUESTION = CHARTS["comparison"].question
ROW = 15  # pixels for a group


def group_shares(frame: pl.DataFrame, models: Sequence[str], column: str = "group") -> style.Chart:
    """A point and an interval per group, model by model.

    ``column`` is what the groups are values of.
    """
    frame = with_names(frame, "group", "model").drop_nulls("share")
    if frame.is_empty():
        return style.nothing(GROUPS_QUESTION)
    names, groups = style.in_order(models, frame["model"]), style.in_order([], frame["group"])
    written, called = style.labels(names), style.labels(groups)
    rows = frame.select(
        pl.col("model").replace_strict(written).alias("model"),
        pl.col("group").replace_strict(called).alias("group"),
        "share",
        "lower",
        "upper",
    )
    y = vl.Y("model:N", title=None, sort=[*written.values()])
    offset = vl.YOffset("group:N", sort=[*called.values()], scale=vl.Scale(padding=0.4))
    shades = [style.colours(groups)[name] for name in groups]
    scale = vl.Scale(domain=[*called.values()], range=shades)
    colour = vl.Color(
        "group:N", scale=scale, legend=vl.Legend(title=style.labels([column])[column])
    )
    base = vl.Chart().encode(
        y.axis(ticks=False, domain=False, grid=True, bandPosition=0, labelPadding=12),
        offset,
        colour,
    )
    span = base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
    chart = vl.layer(
        span.mark_rule(strokeWidth=1.6).encode(_across("lower:Q", 1), x2="upper:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(_across("share:Q", 1)),
        data=style.data(rows),
    ).properties(width=320, height=max(28, ROW * len(groups) + 10) * len(names))
    note = "Share of the learners of each group who use a model, with 95% intervals."
    return style.finished(chart, GROUPS_QUESTION, note, 480)


# How far the selected model of each learner is ahead of the next.


MARGINS_QUESTION = CHARTS["margins"].question
EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # nats
VERDICTS = (CLEAR, "undecided", "no better than a coin", "probably none of these", WITHHELD)
SHADES = (style.BLUE, "#9CC9E3", "#B9B9B9", style.PALETTE[3], "#5E9BC4")
SCHEMA = {
    "criterion": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "verdict": pl.String,
    "learners": pl.Int64,
    "share": pl.Float64,
}


def margin_table(found: Results) -> pl.DataFrame:
    """How many learners have each margin: criterion, low, high (nats), verdict, learners, share.

    ``verdict`` is clear, undecided, no better than a coin, or probably none of these. The last bin
    has no upper end.
    """
    edges = np.unique([*EDGES, found.within])
    frame = found.table("selection").select(
        "criterion",
        margin=pl.col("margin").cast(pl.Float64),
        verdict=pl.col("verdict").str.replace(r" between (?s:.*)", ""),
    )
    frame = frame.filter(pl.col("margin").is_not_null() & pl.col("margin").is_not_nan())
    place = np.searchsorted(edges, frame["margin"].to_numpy(), side="right") - 1
    frame = frame.with_columns(place=place)
    counts = frame.group_by("criterion", "place", "verdict", maintain_order=True).len("learners")
    ends = pl.Series([*edges[1:], None], dtype=pl.Float64)
    total = pl.col("learners").sum().over("criterion")
    order = {name: k for k, name in enumerate(found.criteria)}
    return (
        counts.with_columns(
            low=pl.Series(edges).gather(counts["place"]),
            high=ends.gather(counts["place"]),
            share=pl.col("learners") / total,
        )
        .sort(
            pl.col("criterion").replace_strict(order, return_dtype=pl.Int64),
            "place",
            pl.col("verdict").replace_strict(
                {v: k for k, v in enumerate(VERDICTS)}, default=9, return_dtype=pl.Int64
            ),
        )
        .select([pl.col(name).cast(kind) for name, kind in SCHEMA.items()])
    )


def margins(frame: pl.DataFrame, within: float) -> style.Chart:
    """Histograms of the margins, a panel per criterion, coloured by verdict; ``within`` marked."""
    if frame.is_empty():
        return style.nothing(MARGINS_QUESTION)
    lows = sorted({0.0, *EDGES, *frame["low"].to_list(), *([within] if within else [])})
    last = frame["low"].max()
    lows = [low for low in lows if low <= max(float(last or 0), within)]  # type: ignore[arg-type]
    place = {low: float(k) for k, low in enumerate(lows)}
    written = style.labels(frame["criterion"].unique(maintain_order=True))
    seen = set(frame["verdict"])
    verdicts = [*VERDICTS, *sorted(seen - {*VERDICTS})]
    shades = dict(zip(verdicts, [*SHADES, *["#9CC9E3"] * len(verdicts)], strict=False))
    verdicts = [v for v in verdicts if v in seen]
    ticks = [*range(len(lows))]
    texts = "[" + ",".join(f"'{low:g}'" for low in lows) + "][datum.value]"
    axis = vl.Axis(
        values=ticks,
        labelExpr=texts,
        grid=False,
        labelFlush=False,
        labelOverlap=False,
        tickCount=len(ticks),
    )
    scale = vl.Scale(domain=[0, len(lows)], nice=False)
    x = vl.X("left:Q", title="nats ahead of the next model", axis=axis, scale=scale)
    up = vl.Axis(format=".0%", domain=False, ticks=False, tickCount=4)
    y = vl.Y("low:Q", title="learners", axis=up)
    fill = vl.Fill(
        "verdict:N",
        scale=vl.Scale(domain=verdicts, range=[shades[v] for v in verdicts]),
        legend=vl.Legend(title=None, symbolType="square", orient="top", columns=4),
    )
    tips = [vl.Tooltip(field) for field in ("verdict:N", "ahead:N", "learners:Q")]
    bars = vl.Chart().mark_bar(binSpacing=1)
    layers = [bars.encode(x, y, fill, x2=vl.X2("right:Q"), y2=vl.Y2("high:Q"), tooltip=tips)]
    if within in place:
        rule = vl.Chart().mark_rule(style="grey", strokeDash=[3, 3])
        layers.append(rule.encode(x=vl.XDatum(place[within], scale=scale)))
    chart = vl.layer(*layers, data=style.data(_stacked(frame, written, place)))
    chart = chart.properties(width=max(170, 28 * len(lows)), height=150)
    panels = [*written.values()]
    note = (
        "A nat is a factor of 2.7 in how probable the choices are, penalties included. Right of "
        f"the dashed line ({within:g} nats) the next model is clearly worse."
    )
    return style.finished(
        style.in_panels(chart, panels, 3), MARGINS_QUESTION, note, 560, _finding(frame, within)
    )


def _stacked(
    frame: pl.DataFrame, written: Mapping[str, str], place: Mapping[Any, float]
) -> pl.DataFrame:
    """The pieces of every bar, one upon the other."""
    rows, top = [], {}
    for row in frame.to_dicts():
        key = (row["criterion"], row["low"])
        start = top.get(key, 0.0)
        top[key] = start + row["share"]
        at = place[row["low"]]
        ahead = (
            f"{row['low']:g}–{row['high']:g}" if row["high"] is not None else f"≥ {row['low']:g}"
        )
        rows.append(
            {"panel": written[row["criterion"]], "left": at, "right": at + 1.0,
             "low": start, "high": top[key], "verdict": row["verdict"],
             "learners": row["learners"], "ahead": f"{ahead} nats"}
        )  # fmt: skip
    return pl.DataFrame(rows)


def _finding(frame: pl.DataFrame, within: float) -> str:
    clear = (
        frame.group_by("criterion", maintain_order=True)
        .agg(
            share=pl.col("share").filter(pl.col("verdict") == "clear").sum(),
            ahead=pl.col("share").filter(pl.col("low") >= within).sum(),
        )
        .rows()
    )
    parts = [f"{share:z.0%} by {criterion} ({ahead:z.0%})" for criterion, share, ahead in clear]
    return (
        f"The verdict is clear for {', '.join(parts)} of the learners; in brackets, those whose "
        f"model is at least {within:g} nats ahead of the next."
    )
