"""Verdicts and margins by criterion."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from howlearn.report.apa.numbers import decimal, percent, span
from howlearn.report.apa.table import ApaTable, Head
from howlearn.report.methods.words import clean

ALWAYS = 2  # kinds of verdicts that are shown even where nobody has them
VERDICTS = {  # by how they begin
    "clear": "Clear",
    "undecided": "Undecided",
    "no better than a coin": "No better than a coin",
    "probably none of these": "Probably none",
    "the only candidate": "Only candidate",
}
NOTE = (
    "Margin: nats between the selected model and the next. IQR: interquartile range, as [first "
    "quartile, third quartile]."
)


def margins_table(selection: pl.DataFrame, criteria: Sequence[str]) -> ApaTable:
    """One row per criterion."""
    kinds = [
        kind
        for i, kind in enumerate(VERDICTS)
        if i < ALWAYS or selection["verdict"].str.starts_with(kind).any()
    ]
    heads = [Head("Criterion")]
    for kind in kinds:
        heads += [Head("n", VERDICTS[kind]), Head("%", VERDICTS[kind])]
    heads += [Head("Mdn", "Margin"), Head("IQR", "Margin")]
    rows = [_row(selection.filter(pl.col("criterion") == c), c, kinds) for c in criteria]
    notes = [NOTE, *([_agreement(selection, criteria)] if len(criteria) > 1 else [])]
    title = "Verdicts and Margins, by Criterion"
    return ApaTable(0, title, tuple(heads), tuple(rows), tuple(notes))


def _row(mine: pl.DataFrame, criterion: str, kinds: Sequence[str]) -> tuple[str, ...]:
    cells = [clean(criterion)]
    for kind in kinds:
        n = int(mine["verdict"].str.starts_with(kind).sum())
        cells += [f"{n:,}", percent(n, mine.height)]
    margin = mine["margin"].cast(pl.Float64).drop_nulls().drop_nans()
    low, middle, high = (margin.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
    return (*cells, decimal(middle), span(low, high, False, 2))


def _agreement(selection: pl.DataFrame, criteria: Sequence[str]) -> str:
    keys = selection.columns[: selection.columns.index("criterion")]
    each = (
        selection.filter(pl.col("criterion").is_in([*criteria]))
        .group_by(keys)
        .agg(pl.col("model").n_unique().alias("_models"))
    )
    same, total = int((each["_models"] == 1).sum()), each.height
    return f"All criteria selected the same model for {same:,} of {total:,}."
