"""Shares of the selected models along the price of a parameter, the largest rate, the prior."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses import path_tables
from howlearn.analyses.path_tables import intervals
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import ALL
from howlearn.report import vega_lite as vl
from howlearn.report.plot import CHARTS
from howlearn.report.style import (
    Chart,
    Scale,
    colours,
    data,
    finished,
    flag_rows,
    in_order,
    labels,
    nothing,
    text_width,
)
from howlearn.results.results import Results
from howlearn.selection.criteria import criterion_named, prices
from howlearn.selection.criterion import Criterion

QUESTION = CHARTS["path"].question
OF_PRICE = "Does the leading model depend on the price of a parameter?"
WIDTH, HEIGHT, BAR, ROW = 560, 200, 26, 14
TICKS = (0, 0.25, 0.5, 1, 2, 3, 5, 7, 10, 20, 50, 100)
BENT = 1.0  # nats; below it prices are spread about evenly, beyond it by their logarithm


def path(frame: pl.DataFrame, marks: pl.DataFrame, models: Sequence[str]) -> Chart:
    """Stacked shares: areas along the price, bars at every largest rate and for every prior.

    ``frame`` has axis, value, criterion, model, share; ``marks`` a criterion's kappa with its
    lowest and highest one over learners.
    """
    frame = frame.drop_nulls("share")
    if frame.is_empty():
        return nothing(QUESTION)
    names = in_order(models, frame["model"])
    written, colour = labels(names), colours(names)
    pieces = _pieces(frame, names).with_columns(
        label=pl.col("model").replace_strict(written, return_dtype=pl.String)
    )
    fill = vl.Fill(
        "label:N",
        scale=vl.Scale(domain=[*written.values()], range=[*colour.values()]),
        legend=vl.Legend(title="selected model", symbolType="square", columns=1),
    )
    panels = [
        draw(pieces.filter(pl.col("axis") == axis), fill)
        for axis, draw in (
            ("kappa", lambda mine, fill: _along_prices(mine, marks, fill)),
            ("max_rate", _by_bound),
            ("prior", _by_prior),
        )
        if axis in set(frame["axis"])
    ]
    chart = vl.vconcat(*panels, spacing=28).resolve_scale(fill="shared")
    note = (
        "Share of learners with each selected model. Dashed: what criteria charge, at "
        "the learners' median n; grey: its range over learners."
    )
    question = OF_PRICE if set(frame["axis"]) == {"kappa"} else QUESTION
    return finished(chart, question, note, WIDTH + 140, _finding(frame, marks))


def _finding(frame: pl.DataFrame, marks: pl.DataFrame) -> str:
    """Who leads at the price of each criterion."""
    along = frame.filter(pl.col("axis") == "kappa")
    parts = []
    for row in marks.sort("kappa", maintain_order=True).to_dicts():
        at = along.filter(pl.col("value") <= row["kappa"])
        if at.is_empty() or row["kappa"] > along["value"].max():  # type: ignore[operator]
            continue
        there = at.filter(pl.col("value") == pl.col("value").max())
        best = there.sort("share", descending=True, maintain_order=True).row(0, named=True)
        parts.append(f"{best['model']} ({best['share']:z.0%}) at {row['criterion']}")
    return f"Most often selected: {', '.join(parts)}." if parts else ""


def _pieces(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Where each model's piece begins and ends, the first candidate on top."""
    place = {name: k for k, name in enumerate(names)}
    keys = ["axis", "criterion", "value"]
    order = pl.col("model").replace_strict(place, return_dtype=pl.Int64)
    frame = frame.with_columns(pl.col("model").cast(pl.String)).sort(order, maintain_order=True)
    above = pl.col("share").cum_sum().over(keys)
    return frame.with_columns(high=1 - (above - pl.col("share")), low=1 - above).with_columns(
        pl.col("low").clip(0, 1), pl.col("high").clip(0, 1)
    )


def _share(field: str, title: str | None = "learners") -> vl.Channel:
    axis = vl.Axis(format=".0%", domain=False, ticks=False, tickCount=4)
    return vl.Y(field, title=title, axis=axis, scale=vl.Scale(domain=[0, 1]))


def _along_prices(mine: pl.DataFrame, marks: pl.DataFrame, fill: vl.Channel) -> Any:
    most = float(mine["value"].max() or 1.0)  # type: ignore[arg-type]
    scale = Scale("symlog", 0, most, WIDTH, BENT)
    ticks = [tick for tick in TICKS if tick <= most]
    texts = (
        f"{json.dumps([f'{tick:g}' for tick in ticks])}[indexof({json.dumps(ticks)}, datum.value)]"
    )
    # Vega would round them as it pleases on such a scale.
    axis = vl.Axis(values=ticks, labelExpr=texts, labelFlush=False, grid=False)
    bent = vl.Scale(type="symlog", constant=BENT, domain=[0, most], nice=False)
    x = vl.X("value:Q", title="price of a parameter, κ, in nats", axis=axis, scale=bent)
    # The shares are steps: they stay until somebody's selection changes.
    area = vl.Chart(data(mine)).mark_area(interpolate="step-after", fillOpacity=0.9)
    layers = [area.encode(x, _share("low:Q"), fill, y2="high:Q")]
    flags = _flags(marks.filter(pl.col("kappa") <= most), scale)
    title = vl.TitleParams("Along the price of a parameter", fontSize=12)
    if len(flags):
        up = vl.Scale(domain=[0, 1])
        base = vl.Chart(data(flags))
        right = vl.X("kappa:Q", scale=bent)
        pole = base.mark_rule(style="ink", strokeDash=[3, 2])
        text = base.mark_text(align="left", baseline="middle", dx=4, fontSize=11)
        span = base.mark_rule(style="grey", strokeWidth=3, strokeOpacity=0.6)
        layers += [
            pole.encode(right, vl.Y("foot:Q", scale=up), y2="top:Q"),
            span.encode(vl.X("lowest:Q", scale=bent), vl.Y("at:Q", scale=up), x2="highest:Q"),
            text.encode(right, vl.Y("text_at:Q", scale=up), vl.Text("text:N")),
        ]
    return vl.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _flags(marks: pl.DataFrame, scale: Scale) -> pl.DataFrame:
    """A pole at every criterion's price, a flag with its name, and the range over learners."""
    rows = []
    for row in marks.sort("kappa", maintain_order=True).to_dicts():
        low, high = (min(max(row[end], scale.low), scale.high) for end in ("lowest", "highest"))
        text = f"{row['criterion']}: {row['kappa']:.2g}"
        rows.append({"kappa": row["kappa"], "lowest": low, "highest": high, "text": text})
    levels = flag_rows(
        [scale.pixel(row["kappa"]) for row in rows], [text_width(row["text"]) for row in rows]
    )
    for row, level in zip(rows, levels, strict=True):
        top = 1 + (18 + ROW * level) / HEIGHT
        row |= {"foot": 0.0, "top": top, "text_at": top - 6 / HEIGHT, "at": 1 + 3 / HEIGHT}
    return pl.DataFrame(rows)


def _bars(
    mine: pl.DataFrame, x: vl.Channel, fill: vl.Channel, title: str | None = "learners"
) -> Any:
    bar = vl.Chart(data(mine)).mark_bar(stroke="white", strokeWidth=0.7)
    return bar.encode(x, _share("low:Q", title), fill, y2="high:Q")


def _by_bound(mine: pl.DataFrame, fill: vl.Channel) -> Any:
    """A group of bars for every criterion, a bar for every largest rate."""
    criteria = mine["criterion"].unique(maintain_order=True).to_list()
    bounds = [f"{value:g}" for value in mine["value"].unique().sort()]
    mine = mine.with_columns(bound=pl.col("value").map_elements("{:g}".format, pl.String))
    written: Mapping[str, str] = labels(criteria)
    x = vl.X("bound:N", sort=bounds, title=None, axis=vl.Axis(labelAngle=0, ticks=False))
    groups = []
    for k, criterion in enumerate(criteria):
        bars = _bars(
            mine.filter(pl.col("criterion") == criterion), x, fill, None if k else "learners"
        )
        title = vl.TitleParams(written[criterion], fontSize=11, fontWeight="normal", offset=4)
        width = max(20 * len(bounds), text_width(written[criterion]))
        groups.append(bars.properties(width=width, height=HEIGHT * 0.7, title=title))
    heading = vl.TitleParams("By the largest learning rate", fontSize=12)
    return vl.concat(*groups, columns=5, spacing=16, title=heading)


def _by_prior(mine: pl.DataFrame, fill: vl.Channel) -> Any:
    """A bar for every prior, lying, since their names are long."""
    priors = mine["criterion"].unique(maintain_order=True).to_list()
    written = labels(priors)
    mine = mine.with_columns(
        prior=pl.col("criterion").replace_strict(written, return_dtype=pl.String),
        start=1 - pl.col("high"),
        end=1 - pl.col("low"),
    )
    y = vl.Y(
        "prior:N",
        sort=[*written.values()],
        title=None,
        axis=vl.Axis(ticks=False, domain=False),
    )
    axis = vl.Axis(format=".0%", domain=False, ticks=False, tickCount=4, labelFlush=False)
    across = vl.X("start:Q", title="learners", axis=axis, scale=vl.Scale(domain=[0, 1]))
    bar = vl.Chart(data(mine)).mark_bar(stroke="white", strokeWidth=0.7)
    chart = bar.encode(across, y, fill, x2="end:Q")
    heading = vl.TitleParams("By what is assumed about learning rates", fontSize=12)
    return chart.properties(width=WIDTH - 160, height=BAR * len(priors), title=heading)


# Shares along the price of a parameter from the likelihoods in the scores: no new fit.


MAX_KAPPA = 10.0  # nats per parameter


def price_path(found: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frame and the marks that ``figures.path`` draws; both empty where nothing is known.

    Frame: axis, value, criterion, model, learners, share. Marks: criterion, kappa, lowest, highest.
    The scores must have a criterion that charges a price per parameter for all trials.
    """
    priced = {text: c for text in found.criteria if (c := _per_parameter(text)) is not None}
    if not priced:
        return of("path", "path").of_rows([]), path_tables.prices([], np.ones(1, int))
    mine = found.table("scores").filter(pl.col("criterion") == next(iter(priced)))
    names = [n for n in found.names if n in set(mine["model"].cast(pl.String))]
    place = {name: k for k, name in enumerate(names)}
    mine = mine.with_columns(place=pl.col("model").cast(pl.String).replace_strict(place))
    shape = (-1, len(names))
    order = mine["place"].to_numpy().reshape(shape)
    likelihood, count = np.empty(order.shape), np.empty(order.shape, np.int64)
    for target, column in ((likelihood, "log_likelihood"), (count, "n_parameters")):
        np.put_along_axis(target, order, mine[column].to_numpy().reshape(shape), axis=1)
    n_trials = mine["n_trials"].to_numpy().reshape(shape)[:, 0]
    paths = intervals(likelihood, count, MAX_KAPPA)
    learners = of("path-learners", "path").frame(
        {
            "axis": path_tables.KAPPA,
            "criterion": path_tables.KAPPA,
            "from_kappa": paths.start,
            "to_kappa": paths.stop,
            "model": pl.Series(names, dtype=pl.String).gather(paths.model),
        }
    )
    known = {repr(c): c for c in (*priced.values(), *sorted(prices(), key=repr))}
    marks = path_tables.prices([*known.values()], np.maximum(n_trials, 1))
    at = marks["kappa"].to_list()
    shares = path_tables.shares(learners, names, at, MAX_KAPPA, len(order))
    return shares, marks


def _per_parameter(text: str) -> Criterion | None:
    """The criterion, if it looks at all trials and charges the same for every parameter."""
    try:
        criterion = criterion_named(text)
    except HowlearnError:
        return None
    if not criterion.priced:
        return None
    (truncation,) = criterion.truncations if len(criterion.truncations) == 1 else (None,)
    return criterion if isinstance(truncation, float) and truncation == ALL else None
