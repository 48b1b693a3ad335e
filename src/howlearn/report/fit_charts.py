"""Charts of completeness, and of checks against signatures of behaviour."""

from __future__ import annotations

from typing import Any

import polars as pl

from howlearn.analyses.check import Check
from howlearn.analyses.completeness import Completeness, steps_table
from howlearn.report import vega_lite as vl
from howlearn.report.charts import CHARTS
from howlearn.report.style import BLUE, PALETTE, data, finished
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


def checks_of(source: Any) -> pl.DataFrame | None:
    """The signatures: of a check, or of the folder beside results."""
    if isinstance(source, Check):
        return source.checks
    folder = Results.of(source).folder
    folder = None if folder is None else folder / "check"
    if folder is None or not folder.is_dir() or not there(folder, "checks"):
        return None
    return read_table(folder, "checks")


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
