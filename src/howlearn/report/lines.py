"""Lines with bands, rules and labels at their ends, in one panel or several: what curves share."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from howlearn.report import style
from howlearn.report import vega_lite as vl

LINE_HEIGHT = 13  # pixels between two labels at the ends of lines
SPARSE = 25  # settings that are marked by points besides the line
MARKS = {
    "panel": pl.String,
    "kind": pl.String,
    "series": pl.String,
    "colour": pl.String,
    "dashed": pl.Boolean,
    "text": pl.String,
    "x": pl.Float64,
    "x2": pl.Float64,
    "y": pl.Float64,
    "y2": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True)
class Axis:
    """A scale with its title and, where they are not left to Vega, its ticks and their texts."""

    scale: style.Scale
    title: str
    ticks: Sequence[float] = ()
    texts: Sequence[str | list[str]] = ()
    format: str | None = None

    def of(self, channel: vl.Field, field: str) -> Any:
        """The axis as the encoding of a field."""
        horizontal = channel is vl.X
        options: dict[str, Any] = {"title": self.title, "grid": not horizontal}
        if self.ticks:
            options["values"] = [*self.ticks]
        if self.texts:
            places, texts = json.dumps([*self.ticks]), json.dumps([*self.texts])
            options["labelExpr"] = f"{texts}[indexof({places}, datum.value)]"
        if self.format is not None:
            options["format"] = self.format
        if horizontal:
            options |= {"labelFlush": False, "labelOverlap": not self.ticks}
        else:
            options |= {"domain": False, "ticks": False, "labelPadding": 6}
        if not self.ticks:  # Vega would thin out given ticks to this number as well
            options["tickCount"] = max(2, int(self.scale.size / 50))
        scale: dict[str, Any] = {"type": self.scale.kind, "nice": False}
        scale["domain"] = [self.scale.low, self.scale.high]
        if self.scale.kind == "symlog":
            scale["constant"] = self.scale.constant
        return channel(field, scale=vl.Scale(**scale), axis=vl.Axis(**options))


def counts(values: Sequence[float], title: str, size: float, margin: float = 0) -> Axis:
    """An axis for numbers of trials or learners: logarithmic where they span much."""
    wide = min(values) > 0 and max(values) >= 8 * min(values)
    scale = style.spanning(values, size - 2 * margin, "log" if wide else "linear")
    scale = replace(scale, low=scale.value(-margin), high=scale.value(size - margin), size=size)
    distinct = sorted(set(values))
    ticks = style.data_ticks(scale, distinct)
    if len(ticks) < len(distinct) and len(distinct) > 12:
        ticks = style.log_ticks(scale) if wide else []
    return Axis(scale, title, ticks, [f"{tick:,.10g}" for tick in ticks])


def share_axis(title: str, size: float) -> Axis:
    """An axis from 0 to 100%."""
    return Axis(style.Scale("linear", 0, 1, size), title, format=".0%")


def rows(kind: str, values: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Marks of one kind: curve, bar, rule, or text to the left, centre or right of its place."""
    frame = pl.DataFrame([*values], schema=MARKS)
    return frame.with_columns(pl.lit(kind).alias("kind"))


def banded(
    frame: pl.DataFrame, names: Sequence[str], x: str, y: str, series: str = "true_model"
) -> pl.DataFrame:
    """One line per name, with a band of a standard error on both sides."""
    colour, written = style.colours(names), style.labels(names)
    name, value, error = (
        pl.col(series).cast(pl.String),
        style.number(y),
        style.number("standard_error"),
    )
    return frame.select(
        kind=pl.lit("curve"),
        panel=pl.lit(""),
        series=name,
        text=name.replace_strict(written, return_dtype=pl.String),
        colour=name.replace_strict(colour, return_dtype=pl.String),
        dashed=pl.lit(False),
        x=style.number(x),
        y=value,
        low=(value - error).clip(0, 1),
        high=(value + error).clip(0, 1),
    )


def end_labels(curves: pl.DataFrame, x: Axis, y: Axis, panel: str) -> list[pl.DataFrame]:
    """A label to the right of each line's end, moved apart, and a thread from one to the other.

    Where there is no room for all, every other or every third line has one.
    """
    ends = curves.filter(pl.col("panel") == panel, pl.col("y").is_finite())
    ends = ends.sort("x", maintain_order=True).group_by("series", maintain_order=True).last()
    ends = ends.reverse().sort("y", maintain_order=True)  # of equals the first stands on top
    ends = ends.gather_every(math.ceil(len(ends) * LINE_HEIGHT / (y.scale.size + LINE_HEIGHT)) or 1)
    heights = [y.scale.pixel(value) for value in ends["y"]]
    places = style.dodged(heights, LINE_HEIGHT, 0, y.scale.size)
    threads, texts = [], []
    for end, place in zip(ends.to_dicts(), places, strict=True):
        common = {"panel": panel, "series": end["series"], "colour": end["colour"]}
        left, right = (x.scale.pixel(end["x"]) + 4, x.scale.size + 14)
        height = y.scale.value(place)
        across = {"x": x.scale.value(left), "x2": x.scale.value(right)}
        threads.append(common | across | {"y": end["y"], "y2": height})
        text_at = {"x": x.scale.value(x.scale.size + 17), "y": height, "text": end["text"]}
        texts.append(common | text_at | {"colour": style.readable(end["colour"])})
    return [rows("thread", threads), rows("left", texts)]


def drawing(
    marks: Sequence[pl.DataFrame], x: Axis, y: Axis, panels: Sequence[str] = (), columns: int = 3
) -> vl.Chart:
    """All marks in one chart, or in a panel for each name."""
    frame = pl.concat(marks, how="diagonal_relaxed")
    present = set(frame["kind"])
    curves = frame.filter(pl.col("kind") == "curve")
    dense = curves.group_by("panel", "series").len().filter(pl.col("len") > SPARSE)
    layers = [chart for kind, chart in _layers(x, y, points=dense.is_empty()) if kind in present]
    chart = vl.layer(*layers, data=style.data(frame))
    chart = chart.properties(width=x.scale.size, height=y.scale.size)
    return style.in_panels(chart, panels, columns) if panels else chart


def _layers(x: Axis, y: Axis, points: bool) -> list[tuple[str, vl.Chart]]:
    """What is drawn for each kind of mark, the lowest layer first."""
    # Channels are objects, not strings, which altair takes ten times as long to understand.
    right, up, low = x.of(vl.X, "x:Q"), y.of(vl.Y, "y:Q"), y.of(vl.Y, "low:Q")
    colour = vl.Color("colour:N", scale=None)
    dash, dots = (
        vl.StrokeDashValue([1, 0], condition={"test": "datum.dashed", "value": pattern})
        for pattern in ([6, 4], [2, 2])
    )
    series, text_of = vl.Detail("series:N"), vl.Text("text:N")

    def only(kind: str) -> vl.Chart:
        chart = vl.Chart().transform_filter(f"datum.kind == '{kind}'")
        return chart.encode(x=right, color=colour, detail=series)

    between = {"x2": vl.X2("x2:Q"), "y": up, "y2": vl.Y2("y2:Q")}
    spread = {"y": low, "y2": vl.Y2("high:Q")}
    layers = [
        ("rule", only("rule").mark_rule(strokeWidth=1).encode(**between, strokeDash=dots)),
        ("curve", only("curve").mark_area(fillOpacity=0.13).encode(**spread)),
        ("bar", only("bar").mark_rule(strokeWidth=1, strokeOpacity=0.6).encode(**spread)),
        ("curve", only("curve").mark_line(strokeWidth=2).encode(y=up, strokeDash=dash)),
        ("thread", only("thread").mark_rule(strokeWidth=0.7, strokeOpacity=0.7).encode(**between)),
    ]
    if points:
        layers.append(
            ("curve", only("curve").mark_point(filled=True, size=22, opacity=1).encode(y=up))
        )
    for align in ("left", "center", "right"):
        text = only(align).mark_text(align=align, baseline="middle", fontSize=11)
        layers.append((align, text.encode(y=up, text=text_of)))
    return layers
