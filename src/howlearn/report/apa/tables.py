"""The tables of a results folder as a paper shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from howlearn.report.apa.confusion import confusion_tables
from howlearn.report.apa.estimates import estimates_table
from howlearn.report.apa.margins import margins_table
from howlearn.report.apa.shares import counts_table
from howlearn.report.apa.table import ApaTable
from howlearn.report.methods.judging import criteria_of

NEEDED = {"learner", "criterion", "model", "margin", "verdict"}


def apa_tables(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> list[ApaTable]:
    """Shares, estimates, margins, and confusion matrices where there are some; numbered from 1.

    ``tables`` are those of a results folder by their names, and ``confusion`` of a calibration. A
    table whose source is missing is left out.
    """
    every = enumerate(_every(manifest, tables), start=1)
    return [replace(table, number=i) for i, table in every]


def _every(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Iterator[ApaTable]:
    criteria = criteria_of(manifest, tables)
    selection = tables.get("selection")
    if selection is not None and selection.height and {*selection.columns} >= NEEDED:
        included = without_excluded(selection, tables.get("learners"))
        yield counts_table(manifest, selection, included, criteria, tables.get("shares"))
        if "estimates" in tables:
            yield from estimates_table(manifest, tables["estimates"], included, criteria[0])
        yield margins_table(included, criteria)
    if "confusion" in tables:
        yield from confusion_tables(tables["confusion"], criteria)


def without_excluded(table: pl.DataFrame, learners: pl.DataFrame | None) -> pl.DataFrame:
    """The rows of learners who are not excluded."""
    if learners is None or "excluded" not in learners.columns:
        return table
    end = learners.columns.index("n_trials") if "n_trials" in learners.columns else 1
    keys = [name for name in learners.columns[:end] if name in table.columns and name != "excluded"]
    left_out = learners.filter(pl.col("excluded").cast(pl.String).fill_null("") != "")
    gone = left_out.select(keys).unique()
    return table.join(gone, on=keys, how="anti", nulls_equal=True, maintain_order="left")
