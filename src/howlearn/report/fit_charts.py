"""Charts of completeness, of checks against signatures of behaviour, and of mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from howlearn.analyses.check import Check
from howlearn.analyses.completeness import Completeness, steps_table
from howlearn.analyses.mechanism_result import Mechanisms, chart_name, learners_by_mechanism
from howlearn.core.columns import of
from howlearn.report import vega_lite as vl
from howlearn.report.charts import CHARTS
from howlearn.report.style import BLUE, PALETTE, data, finished
from howlearn.results.manifest import CHECK, fit_of
from howlearn.results.results import Results
from howlearn.runs.folder import read_table, there


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
    colours = ["#B9B9B9", BLUE, "#9CC9E3", PALETTE[3]]
    made = (
        vl.Chart(data(shown))
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
    return finished(made, CHARTS["completeness"].question, note)


def checks(frame: pl.DataFrame) -> Any:
    """Learners and doubles as points, a line between them."""
    shown = frame.with_columns(
        pl.when("fails").then(pl.lit("fails")).otherwise(pl.lit("holds")).alias("check")
    )
    base = vl.Chart(data(shown)).encode(
        vl.Y("signature:N", sort=shown["signature"].to_list(), title=None),
        vl.Color("check:N", scale=vl.Scale(domain=["holds", "fails"], range=[BLUE, PALETTE[3]])),
    )
    between = base.mark_rule().encode(vl.X("observed:Q", title="mean"), vl.X2("expected:Q"))
    people = base.mark_point(filled=True).encode(vl.X("observed:Q"))
    doubles = base.mark_tick(thickness=2).encode(vl.X("expected:Q"))
    note = "Points: learners. Ticks: their doubles, who follow the selected models."
    return finished(vl.layer(between, people, doubles), CHARTS["checks"].question, note)


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
    base = vl.Chart(data(both)).encode(
        y,
        vl.YOffset("who:N", sort=kinds),
        vl.Color("who:N", title=None, scale=vl.Scale(domain=kinds, range=[BLUE, PALETTE[3]])),
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
        vl.Chart(data(sizes))
        .mark_text(align="left", fontSize=12)
        .encode(vl.Y("mechanism:N", sort=order, title=None, axis=None,
                     scale=vl.Scale(domain=order)),
                vl.Text("words:N"))
        .properties(width=110, height=34 * max(len(order), 2), title="typical size")
    )  # fmt: skip
    held = frame.filter(pl.col("withheld").is_not_null())["mechanism"].to_list()
    note = "Points and lines: shares with 95% intervals. "
    note += f"Withheld: {', '.join(held)}." if held else ""
    return finished(vl.hconcat(left, right), CHARTS["mechanisms"].question, note)


def each_mechanism(frame: pl.DataFrame) -> dict[str, Any]:
    """By the names of files: learners by probability and size, of every mechanism."""
    made = {}
    for name, mine in learners_by_mechanism(frame).items():
        points = vl.Chart(data(mine)).mark_point(filled=True, size=45, opacity=0.7)
        across = "size:Q" if mine["size"].null_count() < len(mine) else "beyond:Q"
        drawn = points.encode(
            vl.X(across, title=f"{across[:-2]} of {name}, if the learner shows it"),
            vl.Y("probability:Q", title="probability", scale=vl.Scale(domain=[0, 1])),
        )
        if across == "beyond:Q":  # a base has no size: learners in the order of its probability
            ranked = mine.sort("probability").with_row_index("rank", 1)
            drawn = vl.Chart(data(ranked)).mark_point(filled=True, size=45).encode(
                vl.X("rank:Q", title="learners, in order"), vl.Y("probability:Q")
            )  # fmt: skip
        question = f"Who shows {name}, and how strongly?"
        note = "A point per learner: how probable it is that the learner shows it."
        made[chart_name(name)] = finished(drawn.properties(width=300, height=220), question, note)
    return made
