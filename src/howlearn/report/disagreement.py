"""Which models two criteria select for the same learners."""

from __future__ import annotations

import polars as pl

from howlearn.report.findings import Findings
from howlearn.report.style import Chart


def disagreement_table(
    found: Findings, first: str | None = None, second: str | None = None
) -> pl.DataFrame:
    """first, second (criteria), first_model, second_model, learners, share (of all learners)."""
    raise NotImplementedError


def disagreement(frame: pl.DataFrame, models: list[str]) -> Chart:
    """A heat map: the first criterion's model down the side, the second one's across."""
    raise NotImplementedError
