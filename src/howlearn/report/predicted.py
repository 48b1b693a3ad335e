"""What the selected models predicted at every trial, against what was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from howlearn.report.findings import Findings


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions by bins, and in words how good they are.

    ``reliability`` has low, high (of the predicted probability), predicted, observed, lower, upper,
    n (pairs of a trial and an action). ``curve`` has trial, first, last, source ("people" or
    "model"), mean, lower, upper, n: choices of the right answer and their predicted probability;
    empty where nobody knows what is right. ``models`` has model, learners, n, mean_probability
    (geometric, of what was chosen), best (share of choices that the model held most probable).
    """

    reliability: pl.DataFrame
    curve: pl.DataFrame
    models: pl.DataFrame
    along: str
    statement: str
    notes: tuple[str, ...]


def predicted(found: Findings, learners: int = 2_000) -> Predicted:
    """Replay each learner's selected model on its own choices, for at most so many learners."""
    raise NotImplementedError
