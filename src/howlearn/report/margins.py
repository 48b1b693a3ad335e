"""How far the selected model of each learner is ahead of the next."""

from __future__ import annotations

import altair as alt
import numpy as np
import polars as pl

from howlearn.report.findings import Findings
from howlearn.report.style import BLUE, PALETTE, Chart, data, finished, in_panels, labels, nothing

QUESTION = "How clearly is each learner's model ahead of the next?"
EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)  # nats
VERDICTS = ("clear", "undecided", "no better than a coin", "probably none of these")
SHADES = (BLUE, "#9CC9E3", "#B9B9B9", PALETTE[3])
SCHEMA = {
    "criterion": pl.String,
    "low": pl.Float64,
    "high": pl.Float64,
    "verdict": pl.String,
    "learners": pl.Int64,
    "share": pl.Float64,
}


def margin_table(found: Findings) -> pl.DataFrame:
    """How many learners have each margin: criterion, low, high (nats), verdict, learners, share.

    ``verdict`` is clear, undecided, no better than a coin, or probably none of these. The last bin
    has no upper end.
    """
    edges = np.unique([*EDGES, found.within])
    edges = edges[edges > 0] if found.within == 0 else edges
    edges = np.unique([0.0, *edges])
    frame = found.selection.select(
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


def margins(frame: pl.DataFrame, within: float) -> Chart:
    """Histograms of the margins, a panel per criterion, coloured by verdict; ``within`` marked."""
    if frame.is_empty():
        return nothing(QUESTION)
    lows = sorted({0.0, *EDGES, *frame["low"].to_list(), *([within] if within else [])})
    last = frame["low"].max()
    lows = [low for low in lows if low <= max(float(last or 0), within)]  # type: ignore[arg-type]
    place = {low: float(k) for k, low in enumerate(lows)}
    written = labels(frame["criterion"].unique(maintain_order=True))
    seen = set(frame["verdict"])
    verdicts = [*VERDICTS, *sorted(seen - {*VERDICTS})]
    shades = dict(zip(verdicts, [*SHADES, *["#9CC9E3"] * len(verdicts)], strict=False))
    verdicts = [v for v in verdicts if v in seen]
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
    ticks = [*range(len(lows))]
    texts = "[" + ",".join(f"'{low:g}'" for low in lows) + "][datum.value]"
    axis = alt.Axis(values=ticks, labelExpr=texts, grid=False, labelFlush=False, labelOverlap=False)
    scale = alt.Scale(domain=[0, len(lows)], nice=False)
    x = alt.X("left:Q", title="nats ahead of the next model", axis=axis, scale=scale)
    up = alt.Axis(format=".0%", domain=False, ticks=False, tickCount=4)
    y = alt.Y("low:Q", title="learners", axis=up)
    fill = alt.Fill(
        "verdict:N",
        scale=alt.Scale(domain=verdicts, range=[shades[v] for v in verdicts]),
        legend=alt.Legend(title=None, symbolType="square", orient="top", columns=4),
    )
    tips = [alt.Tooltip(field) for field in ("verdict:N", "ahead:N", "learners:Q")]
    bars = alt.Chart().mark_bar(binSpacing=1)
    layers = [bars.encode(x, y, fill, x2=alt.X2("right:Q"), y2=alt.Y2("high:Q"), tooltip=tips)]
    if within in place:
        rule = alt.Chart().mark_rule(style="grey", strokeDash=[3, 3])
        layers.append(rule.encode(x=alt.XDatum(place[within], scale=scale)))
    chart = alt.layer(*layers, data=data(pl.DataFrame(rows)))
    chart = chart.properties(width=max(170, 28 * len(lows)), height=150)
    panels = [*written.values()]
    note = (
        "A nat is a factor of 2.7 in how probable the choices are, penalties included. Right of "
        f"the dashed line ({within:g} nats) the next model is told apart."
    )
    return finished(in_panels(chart, panels, 3), QUESTION, note, 560, _finding(frame, within))


def _finding(frame: pl.DataFrame, within: float) -> str:
    clear = (
        frame.group_by("criterion", maintain_order=True)
        .agg(
            share=pl.col("share").filter(pl.col("verdict") == "clear").sum(),
            ahead=pl.col("share").filter(pl.col("low") >= within).sum(),
        )
        .rows()
    )
    parts = [f"{share:.0%} by {criterion} ({ahead:.0%})" for criterion, share, ahead in clear]
    return (
        f"The verdict is clear for {', '.join(parts)} of the learners; in brackets, those whose "
        f"model is at least {within:g} nats ahead of the next."
    )
