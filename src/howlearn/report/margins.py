"""How far the selected model of each learner is ahead of the next."""

from __future__ import annotations

import polars as pl

from howlearn.report.findings import Findings
from howlearn.report.style import Chart


def margin_table(found: Findings) -> pl.DataFrame:
    """How many learners have each margin: criterion, low, high (nats), verdict, learners, share.

    ``verdict`` is clear, undecided, no better than a coin, or probably none of these.
    """
    raise NotImplementedError


def margins(frame: pl.DataFrame, within: float) -> Chart:
    """Histograms of the margins, a panel per criterion, coloured by verdict; ``within`` marked."""
    raise NotImplementedError
