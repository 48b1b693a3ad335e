"""Shares of the models along price, bound and prior; completeness, checks, mechanisms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses import path_tables
from howlearn.analyses.check import Check
from howlearn.analyses.completeness import Completeness, steps_table
from howlearn.analyses.mechanism_result import Mechanisms, chart_name, learners_by_mechanism
from howlearn.analyses.path_tables import intervals
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import ALL
from howlearn.report import style
from howlearn.report import vega_lite as vl
from howlearn.report.plot import CHARTS
from howlearn.results.manifest import CHECK, fit_of
from howlearn.results.results import Results
from howlearn.runs.folder import read_table, there
from howlearn.selection.criteria import criterion_named, prices
from howlearn.selection.criterion import Criterion

QUESTION = CHARTS["path"].question
OF_PRICE = "Does the leading model depend on the price of a parameter?"
WIDTH, HEIGHT, BAR, ROW = 560, 200, 26, 14
TICKS = (0, 0.25, 0.5, 1, 2, 3, 5, 7, 10, 20, 50, 100)
BENT = 1.0  # nats; below it prices are spread about evenly, beyond it by their logarithm


def path(frame: pl.DataFrame, marks: pl.DataFrame, models: Sequence[str]) -> style.Chart:
    """Stacked shares: areas along the price, bars at every largest rate and for every prior.

    ``frame`` has axis, value, criterion, model, share; ``marks`` a criterion's kappa with its
    lowest and highest one over learners.
    """
    frame = frame.drop_nulls("share")
    if frame.is_empty():
        return style.nothing(QUESTION)
    names = style.in_order(models, frame["model"])
    written, colour = style.labels(names), style.colours(names)
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
    return style.finished(chart, question, note, WIDTH + 140, _finding(frame, marks))


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
    scale = style.Scale("symlog", 0, most, WIDTH, BENT)
    ticks = [tick for tick in TICKS if tick <= most]
    texts = (
        f"{json.dumps([f'{tick:g}' for tick in ticks])}[indexof({json.dumps(ticks)}, datum.value)]"
    )
    # Vega would round them as it pleases on this scale.
    axis = vl.Axis(values=ticks, labelExpr=texts, labelFlush=False, grid=False)
    bent = vl.Scale(type="symlog", constant=BENT, domain=[0, most], nice=False)
    x = vl.X("value:Q", title="price of a parameter, κ, in nats", axis=axis, scale=bent)
    # The shares are steps: they stay until somebody's selection changes.
    area = vl.Chart(style.data(mine)).mark_area(interpolate="step-after", fillOpacity=0.9)
    layers = [area.encode(x, _share("low:Q"), fill, y2="high:Q")]
    flags = _flags(marks.filter(pl.col("kappa") <= most), scale)
    title = vl.TitleParams("Along the price of a parameter", fontSize=12)
    if len(flags):
        up = vl.Scale(domain=[0, 1])
        base = vl.Chart(style.data(flags))
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


def _flags(marks: pl.DataFrame, scale: style.Scale) -> pl.DataFrame:
    """A pole at every criterion's price, a flag with its name, and the range over learners."""
    rows = []
    for row in marks.sort("kappa", maintain_order=True).to_dicts():
        low, high = (min(max(row[end], scale.low), scale.high) for end in ("lowest", "highest"))
        text = f"{row['criterion']}: {row['kappa']:.2g}"
        rows.append({"kappa": row["kappa"], "lowest": low, "highest": high, "text": text})
    levels = style.flag_rows(
        [scale.pixel(row["kappa"]) for row in rows], [style.text_width(row["text"]) for row in rows]
    )
    for row, level in zip(rows, levels, strict=True):
        top = 1 + (18 + ROW * level) / HEIGHT
        row |= {"foot": 0.0, "top": top, "text_at": top - 6 / HEIGHT, "at": 1 + 3 / HEIGHT}
    return pl.DataFrame(rows)


def _bars(
    mine: pl.DataFrame, x: vl.Channel, fill: vl.Channel, title: str | None = "learners"
) -> Any:
    bar = vl.Chart(style.data(mine)).mark_bar(stroke="white", strokeWidth=0.7)
    return bar.encode(x, _share("low:Q", title), fill, y2="high:Q")


def _by_bound(mine: pl.DataFrame, fill: vl.Channel) -> Any:
    """A group of bars for every criterion, a bar for every largest rate."""
    criteria = mine["criterion"].unique(maintain_order=True).to_list()
    bounds = [f"{value:g}" for value in mine["value"].unique().sort()]
    mine = mine.with_columns(bound=pl.col("value").map_elements("{:g}".format, pl.String))
    written: Mapping[str, str] = style.labels(criteria)
    x = vl.X("bound:N", sort=bounds, title=None, axis=vl.Axis(labelAngle=0, ticks=False))
    groups = []
    for k, criterion in enumerate(criteria):
        bars = _bars(
            mine.filter(pl.col("criterion") == criterion), x, fill, None if k else "learners"
        )
        title = vl.TitleParams(written[criterion], fontSize=11, fontWeight="normal", offset=4)
        width = max(20 * len(bounds), style.text_width(written[criterion]))
        groups.append(bars.properties(width=width, height=HEIGHT * 0.7, title=title))
    heading = vl.TitleParams("By the largest learning rate", fontSize=12)
    return vl.concat(*groups, columns=5, spacing=16, title=heading)


def _by_prior(mine: pl.DataFrame, fill: vl.Channel) -> Any:
    """A bar for every prior, lying, since their names are long."""
    priors = mine["criterion"].unique(maintain_order=True).to_list()
    written = style.labels(priors)
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
    bar = vl.Chart(style.data(mine)).mark_bar(stroke="white", strokeWidth=0.7)
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


# Charts of completeness, of checks against signatures of behaviour, and of mechanisms.


def steps_of(source: Any) -> pl.DataFrame | None:
    """What the chart of completeness shows: of an answer, or of the folder beside results."""
    if isinstance(source, Completeness):
        return source.charts.get("completeness")
    folder = Results.of(source).folder
    folder = None if folder is None else folder / "completeness"
    if folder is None or not folder.is_dir() or not there(folder, "completeness"):
        return None
    known = read_table(folder, "completeness").with_columns(pl.col("model").cast(pl.Float64))
    row = known.row(0, named=True)  # elsewhere a column of that name is text
    return steps_table(row, read_table(folder, "reasons"))


def checks_of(source: Any) -> tuple[pl.DataFrame | None, str]:
    """The signatures, and the answer in words: of a check, or of the last one of a selection."""
    if isinstance(source, Check):
        return source.checks, source.answer
    told = fit_of(Results.of(source).manifest).get(CHECK, {})
    rows, schema = told.get("table"), of("checks", "check")
    if not isinstance(rows, list) or not rows:
        return None, ""
    try:
        frame = schema.of_rows([[row[name] for name in schema.names] for row in rows])
    except (KeyError, TypeError, pl.exceptions.PolarsError):  # not as howlearn wrote it
        return None, ""
    return frame, str(told.get("sentence", ""))


def completeness(frame: pl.DataFrame) -> Any:
    """Bars from the coin to the ceiling."""
    lowest = float(frame["nats_per_trial"].min() or 0.0)  # type: ignore[arg-type]
    shown = frame.with_columns(
        name=pl.when(pl.col("family") == "").then("what").otherwise("+ " + pl.col("family")),
        start=pl.lit(lowest),
    )
    order = shown["name"].to_list()
    kinds = ["coin", "candidates", "candidates and one family", "ceiling"]
    colours = ["#B9B9B9", style.BLUE, "#9CC9E3", style.PALETTE[3]]
    made = (
        vl.Chart(style.data(shown))
        .mark_bar()
        .encode(
            vl.Y("name:N", sort=order, title=None),
            vl.X("start:Q", title="log-probability of the choices (nats per trial)",
                  scale=vl.Scale(zero=False)),
            vl.X2("nats_per_trial:Q"),
            vl.Color("what:N", scale=vl.Scale(domain=kinds, range=colours), legend=None),
        )
    )  # fmt: skip
    note = (
        "More is better. Families overlap: their gains do not add up. The ceiling is a lower bound."
    )
    return style.finished(made, CHARTS["completeness"].question, note)


def checks(frame: pl.DataFrame) -> Any:
    """Learners and doubles as points, a line between them."""
    shown = frame.with_columns(
        pl.when("fails").then(pl.lit("fails")).otherwise(pl.lit("holds")).alias("check")
    )
    base = vl.Chart(style.data(shown)).encode(
        vl.Y("signature:N", sort=shown["signature"].to_list(), title=None),
        vl.Color(
            "check:N",
            scale=vl.Scale(domain=["holds", "fails"], range=[style.BLUE, style.PALETTE[3]]),
        ),
    )
    between = base.mark_rule().encode(vl.X("observed:Q", title="mean"), vl.X2("expected:Q"))
    people = base.mark_point(filled=True).encode(vl.X("observed:Q"))
    doubles = base.mark_tick(thickness=2).encode(vl.X("expected:Q"))
    note = "Points: learners. Ticks: their doubles, who follow the selected models."
    return style.finished(vl.layer(between, people, doubles), CHARTS["checks"].question, note)


def mechanisms_of(source: Any, table: str) -> pl.DataFrame | None:
    """A table of mechanisms: of an answer, of its folder, or of the folder beside results."""
    if isinstance(source, Mechanisms):
        return source.tables[table]
    folder = Path(source) if isinstance(source, str | Path) else Results.of(source).folder
    for place in () if folder is None else (folder, folder / "mechanisms"):
        if place.is_dir() and there(place, table):
            return read_table(place, table)
    return None


def mechanisms(frame: pl.DataFrame) -> Any:
    """Shares with intervals; beside them the sizes of those who show a mechanism."""
    order = frame["mechanism"].to_list()
    both = pl.concat(
        [
            frame.select("mechanism", pl.lit(kind).alias("who"), share=a, lower=b, upper=c)
            for kind, (a, b, c) in {
                "all who show it": ("share", "lower", "upper"),
                "beyond the smallest size": ("beyond", "beyond_lower", "beyond_upper"),
            }.items()
        ]
    ).drop_nulls()
    kinds = both["who"].unique(maintain_order=True).to_list()
    y = vl.Y("mechanism:N", sort=order, title=None)
    base = vl.Chart(style.data(both)).encode(
        y,
        vl.YOffset("who:N", sort=kinds),
        vl.Color(
            "who:N", title=None, scale=vl.Scale(domain=kinds, range=[style.BLUE, style.PALETTE[3]])
        ),
    )
    axis = vl.Axis(format="%")
    lines = base.mark_rule(strokeWidth=2).encode(
        vl.X("lower:Q", title="share of people", scale=vl.Scale(domain=[0, 1]), axis=axis),
        vl.X2("upper:Q"),
    )
    points = base.mark_point(filled=True, size=50).encode(vl.X("share:Q"))
    left = vl.layer(lines, points).properties(width=300, height=34 * max(len(order), 2))
    sizes = frame.filter(pl.col("typical").is_not_null() & (pl.col("lower") > 0)).with_columns(
        words=pl.col("typical").round_sig_figs(2).cast(pl.String)
        + pl.when(pl.col("sign").is_null())
        .then(pl.lit(""))
        .otherwise(
            ", " + (100 * pl.col("sign")).round(0).cast(pl.Int64).cast(pl.String) + "% positive"
        )
    )
    right = (
        vl.Chart(style.data(sizes))
        .mark_text(align="left", fontSize=12)
        .encode(vl.Y("mechanism:N", sort=order, title=None, axis=None,
                     scale=vl.Scale(domain=order)),
                vl.Text("words:N"))
        .properties(width=110, height=34 * max(len(order), 2), title="typical size")
    )  # fmt: skip
    held = frame.filter(pl.col("withheld").is_not_null())["mechanism"].to_list()
    note = "Points and lines: shares with 95% intervals. "
    note += f"Withheld: {', '.join(held)}." if held else ""
    return style.finished(vl.hconcat(left, right), CHARTS["mechanisms"].question, note)


def each_mechanism(frame: pl.DataFrame) -> dict[str, Any]:
    """By the names of files: learners by probability and size, of every mechanism."""
    made = {}
    for name, mine in learners_by_mechanism(frame).items():
        points = vl.Chart(style.data(mine)).mark_point(filled=True, size=45, opacity=0.7)
        across = "size:Q" if mine["size"].null_count() < len(mine) else "beyond:Q"
        drawn = points.encode(
            vl.X(across, title=f"{across[:-2]} of {name}, if the learner shows it"),
            vl.Y("probability:Q", title="probability", scale=vl.Scale(domain=[0, 1])),
        )
        if across == "beyond:Q":  # a base has no size: learners in the order of its probability
            ranked = mine.sort("probability").with_row_index("rank", 1)
            drawn = vl.Chart(style.data(ranked)).mark_point(filled=True, size=45).encode(
                vl.X("rank:Q", title="learners, in order"), vl.Y("probability:Q")
            )  # fmt: skip
        question = f"Who shows {name}, and how strongly?"
        note = "A point per learner: how probable it is that the learner shows it."
        made[chart_name(name)] = style.finished(
            drawn.properties(width=300, height=220), question, note
        )
    return made
