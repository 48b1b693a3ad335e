"""How sure: what needs attention among the fits, and how stable the selections are."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from howlearn.core.text import many
from howlearn.fitting.fits import STATUSES
from howlearn.report.gather import Gathered
from howlearn.report.page.words import figures

UNDER = 0.5  # a stability below which a selection is hardly one


@dataclass(frozen=True)
class Status:
    """A kind of fit that needs attention."""

    word: str
    sentence: str
    estimates: int
    learners: int
    share: float  # of the selected models' estimates


def selected_estimates(gathered: Gathered) -> pl.DataFrame:
    """Estimates of each sequence's model by the first criterion, from most of its trials."""
    estimates = gathered.tables["estimates"]
    keys = [name for name in gathered.labels if name in estimates.columns]
    fullest = pl.col("trials_fitted").max().over(keys)
    estimates = estimates.filter(pl.col("trials_fitted") == fullest)
    first = gathered.selection.filter(criterion=gathered.criteria[0])
    mine = first.select(*keys, "model", "sequence", "excluded")
    return estimates.drop("excluded", strict=False).join(
        mine, on=[*keys, "model"], nulls_equal=True, maintain_order="left"
    )


def statuses(gathered: Gathered) -> list[Status]:
    """What needs attention, the most frequent first."""
    frame = selected_estimates(gathered).filter(~pl.col("excluded"))
    # A cell that was never shown is nothing to attend to.
    seen = frame.filter(pl.col("status") != "unseen")
    counts = seen.group_by("status").agg(
        pl.len().alias("estimates"), pl.col("sequence").n_unique().alias("learners")
    )
    return [
        Status(word, STATUSES.get(word, ""), n, learners, n / max(1, len(seen)))
        for word, n, learners in counts.sort("estimates", "status", descending=[True, False]).rows()
        if word != "ok"
    ]


def stability(gathered: Gathered) -> tuple[list[tuple[str, str, str, str, str]], str]:
    """A row per criterion, and what to think of it; nothing without such a table."""
    frame = gathered.tables.get("stability")
    if frame is None or "stability" not in frame.columns:
        return [], ""
    rows = []
    for criterion in gathered.criteria:
        mine = frame.filter(criterion=criterion)["stability"].drop_nulls()
        if len(mine):
            low, high = (mine.quantile(q, "linear") for q in (0.25, 0.75))
            under = many(int((mine < UNDER).sum()), gathered.unit)
            spread = f"{figures(low, 2)} to {figures(high, 2)}"
            rows.append((criterion, figures(mine.mean(), 2), spread, under, f"{len(mine):,}"))  # type: ignore[arg-type]
    doubles = frame["doubles"].max() if "doubles" in frame.columns else None
    of = f" {doubles:,}" if isinstance(doubles, int) else ""
    return rows, (
        f"The share of{of} simulated doubles of each {gathered.unit} that are given the same "
        "model. It is no probability that the model is right: doubles follow the selected model "
        "at its estimates, whatever the learner does."
    )
