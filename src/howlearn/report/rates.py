"""The estimates of every model's parameters among the learners whose model it is."""

from __future__ import annotations

import polars as pl

from howlearn.report.findings import Findings
from howlearn.report.style import Chart


def rate_table(found: Findings) -> pl.DataFrame:
    """One row per learner, cell and parameter of its selected model (first criterion).

    learner, model, cell, parameter, estimate, lower_bound, upper_bound, status ("inside", "at lower
    bound", "at upper bound", "not informed").
    """
    raise NotImplementedError


def rates(frame: pl.DataFrame) -> Chart:
    """Strips of points with quartiles, a panel per model and parameter; bounds marked."""
    raise NotImplementedError
