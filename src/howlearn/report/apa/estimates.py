"""The estimates of the selected models, per cell and parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from howlearn.report.apa.numbers import decimal, proportion, span
from howlearn.report.apa.table import ApaTable, Head
from howlearn.report.methods.words import clean

MOST_ROWS = 60  # of a table that still fits into a paper
DIGITS = 3
NOT_KNOWN = ("unseen", "flat", "no fit")  # statuses of values that the trials do not tell
NEEDED = {"model", "cell", "parameter", "estimate", "trials_fitted", "status"}


def estimates_table(
    manifest: Mapping[str, Any],
    estimates: pl.DataFrame,
    selection: pl.DataFrame,
    criterion: str,
) -> Iterator[ApaTable]:
    """Of the learners for whom the first criterion selected the model; nothing without any."""
    if not {*estimates.columns} >= NEEDED:
        return
    keys = [c for c in estimates.columns[: estimates.columns.index("model")] if c in selection]
    chosen = selection.filter(pl.col("criterion") == criterion).select(
        *keys, pl.col("model").cast(pl.String)
    )
    mine = (
        estimates.with_columns(pl.col("model").cast(pl.String))
        .join(chosen, on=[*keys, "model"], how="semi", nulls_equal=True, maintain_order="left")
        .filter(pl.col("trials_fitted") == pl.col("trials_fitted").max().over([*keys, "model"]))
    )
    if mine.is_empty():
        return
    known = ~pl.col("status").is_in(NOT_KNOWN)
    value = pl.col("estimate").filter(known)
    summary = mine.group_by("model", "cell", "parameter", maintain_order=True).agg(
        known.sum().alias("n"),
        value.median().alias("middle"),
        value.quantile(0.25, "linear").alias("low"),
        value.quantile(0.75, "linear").alias("high"),
        (pl.col("status") == "at lower bound").sum().alias("at_lower"),
        (pl.col("status") == "at upper bound").sum().alias("at_upper"),
    )
    order = {str(m.get("name")): i for i, m in enumerate(manifest.get("models") or ())}
    place = pl.col("model").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    summary = summary.sort(place, maintain_order=True)
    bounded = _bounded(manifest)
    notes = [
        f"Learners for whom {clean(criterion)} selected the model; n counts those whose trials "
        "tell the value. IQR: interquartile range, as [first quartile, third quartile]. At bound: "
        "estimates at the lower and at the upper bound."
    ]
    if summary.height > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {summary.height:,} rows.")
    rows = []
    for row in summary.head(MOST_ROWS).iter_rows(named=True):
        small = row["parameter"] in bounded
        shown = proportion if small else decimal
        rows.append(
            (
                clean(row["model"]),
                clean(row["cell"]) if row["cell"] is not None else "",
                clean(row["parameter"]),
                f"{row['n']:,}",
                shown(row["middle"], DIGITS),
                span(row["low"], row["high"], small, DIGITS),
                f"{row['at_lower']:,}",
                f"{row['at_upper']:,}",
            )
        )
    heads = ("Model", "Cell", "Parameter", "n", "Mdn", "IQR")
    yield ApaTable(
        0,
        "Estimates of the Selected Models, by Cell",
        (*map(Head, heads), Head("Lower", "At bound"), Head("Upper", "At bound")),
        tuple(rows),
        tuple(notes),
        n_words=3,
    )


def _bounded(manifest: Mapping[str, Any]) -> set[str]:
    """The parameters that cannot lie beyond 1 in any model: they lose the zero before the point."""
    every: dict[str, float] = {}
    for model in _described(manifest.get("models") or ()):
        for name, (low, high) in (model.get("bounds") or {}).items():
            every[name] = max(every.get(name, 0.0), abs(low), abs(high))
    return {name for name, largest in every.items() if largest <= 1}


def _described(models: Any) -> Iterator[Mapping[str, Any]]:
    """Models, their units and their strategies: whatever has bounds."""
    for model in models:
        yield model
        yield from _described(model.get("units") or ())
        yield from _described(model.get("experts") or ())
