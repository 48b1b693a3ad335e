"""Charts of how far estimates lie from the truth, against the number of trials fitted."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from howlearn.report import lines
from howlearn.report.label_places import Scale, log_ticks
from howlearn.report.lines import Axis
from howlearn.report.plot import CHARTS
from howlearn.report.style import (
    BLUE,
    INK,
    Chart,
    colours,
    data,
    finished,
    in_order,
    in_panels,
    labels,
    nothing,
    number,
)

RECOVERY = CHARTS["recovery"].question
BOXES = "How fast does the estimation error shrink?"
SPREAD = ("relative_error", "lower_quartile", "upper_quartile")
SMALLEST = 1e-3  # errors below are drawn here: log scales have no 0
NAMED = 12  # cells of one model that are told apart
APART = 5  # pixels between the cells' bars at one number of trials
WIDTH, HEIGHT = 230, 180


def recovery(frame: pl.DataFrame) -> Chart:
    """Median relative errors with their quartiles, a panel per model, a line per cell."""
    if frame.is_empty():
        return nothing(RECOVERY)
    frame = frame.with_columns(number(name) for name in ("trials_fitted", *SPREAD))
    frame = frame.filter(pl.col("trials_fitted") > 0)
    if frame["relative_error"].count() == 0:
        return nothing(RECOVERY)
    y = _error_axis(frame.select(SPREAD), "relative error", HEIGHT)
    x = lines.counts(frame["trials_fitted"].to_list(), "trials fitted", WIDTH, margin=12)
    several = frame["parameter"].n_unique() > 1
    panel = pl.col("true_model").cast(pl.String)
    if several:
        panel = panel + " · " + pl.col("parameter").cast(pl.String)
    frame = frame.with_columns(panel=panel)
    written = labels(in_order([], frame["panel"]))
    marks: list[pl.DataFrame] = [_reference(x, y, [*written.values()])]
    for name, label in written.items():
        curves = _cells(frame.filter(pl.col("panel") == name), label, x, y)
        marks += [curves.with_columns(kind=pl.lit("bar")), curves.drop("low", "high")]
        if curves["series"].n_unique() <= NAMED:
            marks += lines.end_labels(curves, x, y, label)
    chart = lines.drawing(marks, x, y, [*written.values()])
    error = "(estimate − truth)" if y.scale.kind == "symlog" else "|estimate − truth|"
    note = f"Median over learners of {error} / truth, and its quartiles; a line per cell."
    return finished(chart, RECOVERY, note, 600)


def _cells(frame: pl.DataFrame, panel: str, x: Axis, y: Axis) -> pl.DataFrame:
    """The lines of one panel, moved sideways a little so that their bars can be seen."""
    cells = in_order([], frame["cell"])
    few = len(cells) <= NAMED
    colour = colours(cells) if few else dict.fromkeys(cells, BLUE)
    written = labels(cells, longest=16)
    apart = APART if len(cells) <= 4 else APART * 4 / len(cells)
    rows = []
    for row in frame.to_dicts():
        cell = str(row["cell"])
        aside = (cells.index(cell) - (len(cells) - 1) / 2) * apart
        at = x.scale.value(x.scale.pixel(row["trials_fitted"]) + aside)
        spread = (row[name] for name in SPREAD)
        middle, low, high = (None if v is None else _inside(v, y.scale) for v in spread)
        place = {"panel": panel, "series": cell, "text": written[cell], "colour": colour[cell]}
        rows.append(place | {"x": at, "y": middle, "low": low, "high": high})
    return lines.rows("curve", rows)


def _inside(value: float, scale: Scale) -> float:
    return min(max(value, scale.low), scale.high)


def _error_axis(values: pl.DataFrame, title: str, height: float) -> Axis:
    """Logarithmic; for errors with a sign, logarithmic on both sides of 0."""
    every = values.select(number(name) for name in values.columns).unpivot()["value"].drop_nulls()
    low, high = float(every.min()), float(every.max())  # type: ignore[arg-type]
    if low < 0:
        ends = (min(low * 1.1, -1.0), max(high * 1.1, 1.0))
        ticks = _signed(*ends)
        scale = Scale("symlog", *ends, height, constant=0.1)
        return Axis(scale, title, ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
    positive = every.filter(every >= SMALLEST)
    least = float(positive.min()) if len(positive) else SMALLEST  # type: ignore[arg-type]
    least = SMALLEST if low < SMALLEST else least
    scale = Scale("log", min(least / 1.1, 0.5), max(high * 1.1, 2.0), height)
    ticks = log_ticks(scale, apart=20)
    return Axis(scale, title, ticks, [f"{tick:g}" for tick in ticks])


def _signed(low: float, high: float) -> list[float]:
    sizes = [10.0**k for k in range(-1, 12)]
    return [-s for s in reversed(sizes) if -s >= low] + [0.0] + [s for s in sizes if s <= high]


def _level(y: Axis) -> float:
    return 0.0 if y.scale.kind == "symlog" else 1.0


def _reference(x: Axis, y: Axis, panels: Sequence[str]) -> pl.DataFrame:
    """A rule at an error as large as the parameter itself, or at none where errors have signs."""
    level = _level(y)
    ends = {"x": x.scale.low, "x2": x.scale.high, "y": level, "y2": level, "colour": "#999999"}
    return lines.rows("rule", [{"panel": panel, **ends} for panel in panels])


def boxes(frame: pl.DataFrame) -> Chart:
    """Box plots of the estimation error, a panel per model."""
    frame = frame.filter(number("median").is_not_null())
    if frame.is_empty():
        return nothing(BOXES)
    spread = ["lower", "lower_quartile", "median", "upper_quartile", "upper"]
    y_axis = _error_axis(frame.select(spread), "relative error", HEIGHT)
    low, high = y_axis.scale.low, y_axis.scale.high
    written = labels(in_order([], frame["model"]))
    name = pl.col("model").cast(pl.String).replace_strict(written, return_dtype=pl.String)
    bounded = [number(field).clip(low, high) for field in spread]
    frame = frame.select("trials_fitted", *bounded, panel=name, level=pl.lit(_level(y_axis)))
    settings = frame["trials_fitted"].n_unique()
    width = max(WIDTH, min(640, 26 * settings))
    bar = min(14, 0.7 * width / settings)
    x = alt.X("trials_fitted:O", title="trials fitted")
    x = x.axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8, ticks=False)
    base = alt.Chart().encode(x=x)
    up = {field: y_axis.of(alt.Y, f"{field}:Q") for field in [*spread, "level"]}
    chart = alt.layer(
        base.mark_rule(color="#BBBBBB").encode(up["level"], x=alt.value(0), x2=alt.value(width)),
        base.mark_rule(color=INK).encode(up["lower"], y2="upper:Q"),
        base.mark_bar(size=bar, fill="#B3D4E8", stroke=INK, strokeWidth=0.8).encode(
            up["lower_quartile"], y2="upper_quartile:Q"
        ),
        base.mark_tick(color=INK, size=bar, thickness=2).encode(up["median"]),
        data=data(frame),
    ).properties(width=width, height=HEIGHT)
    chart = in_panels(chart, [*written.values()], most=max(1, 800 // width))
    note = "Box: quartiles and median over learners; line: the range without outliers."
    return finished(chart, BOXES, note, 500)
