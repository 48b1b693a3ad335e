"""Charts of estimates: of the learners whose model it is, and against the true values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from howlearn.report import lines
from howlearn.report import vega_lite as vl
from howlearn.report.lines import Axis
from howlearn.report.plot import CHARTS
from howlearn.report.style import (
    BLUE,
    INK,
    Chart,
    Scale,
    colours,
    data,
    finished,
    in_order,
    in_panels,
    labels,
    log_ticks,
    nothing,
    number,
    text_width,
)
from howlearn.results.results import Results

# Charts of how far estimates lie from the truth, against the number of trials fitted.


RECOVERY = CHARTS["recovery"].question
BOXES = "How fast does the estimation error shrink?"
SPREAD = ("relative_error", "lower_quartile", "upper_quartile")
SMALLEST = 1e-3  # errors below are drawn here: log scales have no 0
NAMED = 12  # cells of one model that are told apart
APART = 5  # pixels between the cells' bars at one number of trials
RECOVERY_WIDTH, HEIGHT = 230, 180


def recovery(frame: pl.DataFrame) -> Chart:
    """Median relative errors with their quartiles, a panel per model, a line per cell."""
    if frame.is_empty():
        return nothing(RECOVERY)
    frame = frame.with_columns(number(name) for name in ("trials_fitted", *SPREAD))
    frame = frame.filter(pl.col("trials_fitted") > 0)
    if frame["relative_error"].count() == 0:
        return nothing(RECOVERY)
    y = _error_axis(frame.select(SPREAD), "relative error", HEIGHT)
    x = lines.counts(frame["trials_fitted"].to_list(), "trials fitted", RECOVERY_WIDTH, margin=12)
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
        ends = y.scale.low, y.scale.high
        middle, low, high = (None if v is None else min(max(v, ends[0]), ends[1]) for v in spread)
        place = {"panel": panel, "series": cell, "text": written[cell], "colour": colour[cell]}
        rows.append(place | {"x": at, "y": middle, "low": low, "high": high})
    return lines.rows("curve", rows)


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
    width = max(RECOVERY_WIDTH, min(640, 26 * settings))
    bar = min(14, 0.7 * width / settings)
    x = vl.X("trials_fitted:O", title="trials fitted")
    x = x.axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8, ticks=False)
    base = vl.Chart().encode(x=x)
    up = {field: y_axis.of(vl.Y, f"{field}:Q") for field in [*spread, "level"]}
    chart = vl.layer(
        base.mark_rule(color="#BBBBBB").encode(up["level"], x=vl.value(0), x2=vl.value(width)),
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


QUESTION = CHARTS["estimates"].question
PANELS, CELLS, POINTS = 12, 14, 150  # models and parameters; rows of a panel; points of a row
FEW = 4  # learners that quartiles need
DECADES = 4.0  # that a log axis shows, at most, below the upper bound
WIDTH, ROW = 190, 22
ROOM, BESIDE = 34, 9  # pixels outside the bounds: in all, and up to the marks of what lies there
INSIDE, LOWER, UPPER, BLIND = "inside", "at lower bound", "at upper bound", "not informed"
KINDS = {LOWER: LOWER, UPPER: UPPER, "flat": BLIND, "unseen": BLIND}
SCHEMA = {
    "learner": pl.String,
    "model": pl.String,
    "cell": pl.String,
    "parameter": pl.String,
    "estimate": pl.Float64,
    "lower_bound": pl.Float64,
    "upper_bound": pl.Float64,
    "status": pl.String,
}


def rate_table(found: Results) -> pl.DataFrame:
    """One row per learner, cell and parameter of its selected model (first criterion).

    learner, model, cell, parameter, estimate, lower_bound, upper_bound, status ("inside", "at lower
    bound", "at upper bound", "not informed").
    """
    frames = []
    learners = pl.Series(found.study.learners, dtype=pl.String)
    for k in np.unique(found.chosen).tolist():
        who = np.flatnonzero((found.chosen == k) & ~found.unlisted)
        owners = found.models[k].owners(found.study.actions)
        if not owners or not len(who):
            continue
        n = len(owners)
        status = pl.Series(found.status(k)[who].reshape(-1), dtype=pl.String)
        frames.append(
            pl.DataFrame(
                {
                    "learner": learners.gather(np.repeat(who, n)),
                    "model": [found.names[k]] * (n * len(who)),
                    "cell": [cell for cell, _ in owners] * len(who),
                    "parameter": [parameter.name for _, parameter in owners] * len(who),
                    "estimate": found.theta(k)[who].reshape(-1),
                    "lower_bound": [parameter.lower for _, parameter in owners] * len(who),
                    "upper_bound": [parameter.upper for _, parameter in owners] * len(who),
                    "status": status.replace_strict(KINDS, default=INSIDE),
                },
                schema=SCHEMA,
            )
        )
    frame = pl.concat(frames) if frames else pl.DataFrame(schema=SCHEMA)
    inside, value = pl.col("status") == INSIDE, pl.col("estimate")
    # A fit may end at a bound for another reason, such as starts that disagree.
    status = pl.when(inside & (value >= pl.col("upper_bound"))).then(pl.lit(UPPER))
    status = status.when(inside & (value <= pl.col("lower_bound"))).then(pl.lit(LOWER))
    return frame.with_columns(status=status.otherwise("status"))


def rates(frame: pl.DataFrame, whole: pl.DataFrame | None = None) -> Chart:
    """Strips of points with quartiles, a panel per model and parameter; bounds marked.

    Where ``frame`` is drawn from more estimates, ``whole`` are all of them: they are counted.
    """
    known = pl.col("estimate").is_finite()
    frame, whole = frame.filter(known), (frame if whole is None else whole).filter(known)
    if frame.is_empty():
        return nothing(QUESTION)
    # An estimate per sequence stands in each cell, whether or not learners have several sequences.
    panel = ["model", "parameter"]
    counts = whole.group_by(*panel, "cell", maintain_order=True).agg(pl.len().alias("learner"))
    counts = counts.group_by(panel, maintain_order=True).agg(pl.col("learner").max())
    counts = counts.join(frame.select(panel).unique(), on=panel, how="semi")
    counts = counts.sort("learner", descending=True, maintain_order=True)
    written = labels(frame["model"].unique(maintain_order=True), longest=28)
    # One axis for a parameter in all models, so that panels can be compared.
    scales = {name: _scale(mine) for (name,), mine in frame.group_by(["parameter"])}
    extent = max(min(text_width(cell), text_width("n" * 24)) for cell in frame["cell"].unique()) + 8
    panels, widest = [], 0
    for model, parameter, learners in counts.head(PANELS).rows():
        mine = frame.filter(pl.col("model") == model, pl.col("parameter") == parameter)
        own = labels(mine["cell"].unique(maintain_order=True), longest=22)
        widest = max(widest, len(own))
        people = "learner" if learners == 1 else "learners"
        title = f"{written[model]} · {parameter} ({learners:,} {people})"
        panels.append(_panel(mine, own, title, scales[parameter], extent))
    chart = vl.concat(*panels, columns=2, spacing={"row": 26, "column": 30})
    note = (
        "Points: learners with this selected model; bar: quartiles and median. Triangles: at "
        "a bound, with their number; parameters on which the trials have no information are left "
        "out."
    )
    if len(counts) > PANELS:
        note += f" The {PANELS} of {len(counts)} parameters with most learners."
    if widest > CELLS:
        note += f" The first {CELLS} cells of a model."
    if max(counts["learner"]) > POINTS:  # type: ignore[type-var]
        note += f" Of each row {POINTS} points, picked evenly; the quartiles are of all."
    return finished(chart, QUESTION, note, 2 * WIDTH + 300, finding(frame))


def _panel(
    mine: pl.DataFrame, own: Mapping[str, str], title: str, scale: Scale, extent: float
) -> Any:
    written = dict([*own.items()][:CELLS])
    marks, points = [], []
    for cell in written:
        row = mine.filter(pl.col("cell") == cell)
        marks.append(_summary(row, written[cell], scale))
        points += _points(row, written[cell], scale)
    names = [*written.values()]
    y = vl.Y("cell:N", sort=names, title=None, scale=vl.Scale(domain=names))
    y = y.axis(ticks=False, domain=False, grid=False, minExtent=extent, maxExtent=extent)
    x = _axis(scale, mine["parameter"][0])
    spans = vl.Chart(data(pl.DataFrame(marks, infer_schema_length=None))).encode(y=y)
    base = vl.Chart(data(pl.DataFrame(points, schema=POINT))).encode(y=y)
    inside = base.transform_filter("datum.kind == 'inside'")
    bound = base.transform_filter("datum.kind != 'inside'")
    tips = [vl.Tooltip("learner:N"), vl.Tooltip("estimate:Q", format=".4g")]
    turn = vl.Shape(
        "kind:N",
        scale=vl.Scale(domain=[LOWER, UPPER], range=["triangle-left", "triangle-right"]),
        legend=None,
    )
    offset = vl.YOffset("jitter:Q", scale=vl.Scale(domain=[-1, 1], range=[3, ROW - 3]))
    text = {"baseline": "middle", "fontSize": 10}
    layers = [
        spans.mark_tick(style="grey", size=ROW, thickness=1).encode(x("bound:Q")),
        inside.mark_point(filled=True, size=9, color=BLUE, opacity=0.45).encode(
            x("at:Q"), offset, tooltip=tips
        ),
        spans.mark_rule(style="ink", strokeWidth=2.5).encode(x("lower:Q"), x2=vl.X2("upper:Q")),
        spans.mark_point(style="ink", filled=True, size=40, opacity=1).encode(x("median:Q")),
        bound.mark_point(filled=True, size=34, color="#B3412E", opacity=1).encode(x("at:Q"), turn),
        spans.mark_text(**text, align="right", dx=-15).encode(
            x("left:Q"), text=vl.Text("n_lower:N")
        ),
        spans.mark_text(**text, align="left", dx=15).encode(
            x("right:Q"), text=vl.Text("n_upper:N")
        ),
    ]
    heading = vl.TitleParams(title, fontSize=12)
    return vl.layer(*layers).properties(
        width=WIDTH + 2 * ROOM, height=ROW * len(names), title=heading
    )


POINT = {
    "cell": pl.String,
    "learner": pl.String,
    "kind": pl.String,
    "at": pl.Float64,
    "estimate": pl.Float64,
    "jitter": pl.Float64,
}


def _scale(mine: pl.DataFrame) -> Scale:
    """Logarithmic for what starts at 0 and spans much, such as rates; else even."""
    low, high = float(mine["lower_bound"].min()), float(mine["upper_bound"].max())  # type: ignore[arg-type]
    inside = mine.filter(pl.col("status") == INSIDE, pl.col("estimate") > max(low, 0))["estimate"]
    if low < 0 or not high > 0 or not len(inside):
        least = max(high * 1e-3, low) if low >= 0 and high > 0 else low
        wide = low >= 0 and high > 0 and (low == 0 or high / low > 20)
        return Scale("log", least, high, WIDTH) if wide else Scale("linear", low, high, WIDTH)
    least = float(inside.min())  # type: ignore[arg-type]
    if (low == 0 and high / least > 20) or (low > 0 and high / low > 20):
        least = max(least * 0.7, high * 10**-DECADES, low)
        return Scale("log", least, high, WIDTH)
    return Scale("linear", low, high, WIDTH)


def _axis(scale: Scale, title: str) -> Any:
    options: dict[str, Any] = {"grid": False, "labelFlush": False}
    if scale.kind == "log":
        options |= {"values": log_ticks(scale, apart=38), "format": "~g"}
    else:
        options["tickCount"] = 4
    axis = vl.Axis(**options)
    domain = [scale.value(-ROOM), scale.value(scale.size + ROOM)]
    spread = vl.Scale(type=scale.kind, domain=domain, nice=False)
    return lambda field: vl.X(field, title=title, axis=axis, scale=spread)


def _summary(row: pl.DataFrame, cell: str, scale: Scale) -> dict[str, Any]:
    known = row.filter(pl.col("status") != BLIND)
    found: Mapping[str, float | None] = {
        name: known["estimate"].quantile(share, "linear")
        for name, share in (("lower", 0.25), ("median", 0.5), ("upper", 0.75))
    }
    if known.height < FEW:
        found = {**found, "lower": None, "upper": None}
    ends = {name: None if v is None else _inside(v, scale) for name, v in found.items()}
    counts = {kind: int((row["status"] == kind).sum()) for kind in (LOWER, UPPER)}
    return {
        "cell": cell,
        **ends,
        "left": scale.low,
        "right": scale.high,
        "bound": _inside(float(row["upper_bound"].max()), scale),  # type: ignore[arg-type]
        "n_lower": f"{counts[LOWER]:,}" if counts[LOWER] else "",
        "n_upper": f"{counts[UPPER]:,}" if counts[UPPER] else "",
    }


def _points(row: pl.DataFrame, cell: str, scale: Scale) -> list[dict[str, Any]]:
    """Those inside, some of them where they are many, and one triangle at each bound reached."""
    found = []
    inside = row.filter(pl.col("status") == INSIDE)
    inside = inside.gather_every(max(1, math.ceil(inside.height / POINTS)))
    for k, (learner, value) in enumerate(inside.select("learner", "estimate").rows()):
        jitter = round(((k * 0.618034) % 1) * 2 - 1, 2)  # spread evenly, the same each time
        value = float(f"{value:.4g}")
        found.append(
            {"cell": cell, "learner": learner, "kind": INSIDE, "at": _inside(value, scale),
             "estimate": value, "jitter": jitter}
        )  # fmt: skip
    for kind, at in ((LOWER, scale.value(-BESIDE)), (UPPER, scale.value(scale.size + BESIDE))):
        if (row["status"] == kind).any():
            found.append(
                {"cell": cell, "learner": "", "kind": kind, "at": at, "estimate": at, "jitter": 0.0}
            )
    return found


def _inside(value: float, scale: Scale) -> float:
    return min(max(value, scale.low), scale.high)


def finding(frame: pl.DataFrame) -> str:
    total = frame.height
    parts = []
    for kind in (LOWER, UPPER):
        n = int((frame["status"] == kind).sum())
        if n:
            parts.append(f"{n:,} {kind}")
    for name, mine in frame.group_by(["parameter"], maintain_order=True):
        known = mine.filter(pl.col("status") != BLIND)["estimate"]
        if len(known):
            middle = f"the median of {name[0]} is {known.median():.3g}"
            bounds = f"; of {total:,} estimates {' and '.join(parts)}" if parts else ""
            return f"Over all cells and models {middle}{bounds}."
    return "The trials have no information on any parameter."
