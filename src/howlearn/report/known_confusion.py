"""The confusion matrix of a calibration or recovery, given itself or as its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report.confusions import confusion
from howlearn.report.style import Chart, in_order
from howlearn.runs.folder import read_table

COLUMNS = ("criterion", "true_model", "selected_model", "share")


def confusion_of(source: Any, criterion: str | None = None) -> Chart:
    """By one criterion, the first if none is named."""
    frame = confusion_table(source)
    known = frame["criterion"].unique(maintain_order=True).to_list()
    criterion = str(known[0] if criterion is None and known else criterion or "")
    if criterion not in known:
        raise HowlearnError(f"there is no criterion {criterion!r}; there are {', '.join(known)}")
    mine = frame.filter(pl.col("criterion") == criterion)
    models = in_order([], mine["true_model"], mine["selected_model"])
    chart = confusion(mine.select(COLUMNS[1:]), models, criterion)
    right = mine.filter(pl.col("true_model") == pl.col("selected_model"))["share"]
    if not len(right):
        return chart
    worst = mine.filter(pl.col("true_model") == pl.col("selected_model")).sort("share").row(0)
    name = worst[mine.columns.index("true_model")]
    share = worst[mine.columns.index("share")]
    words = (
        f"By {criterion} the true model is selected for {right.mean():.0%} of simulated learners; "
        f"least often where it is {name} ({share:.0%})."
    )
    return chart.properties(description=words)


def confusion_table(source: Any) -> pl.DataFrame:
    """criterion, true_model, selected_model, share."""
    if isinstance(source, str | Path):
        frame = read_table(Path(source), "confusion")
    else:
        frame = getattr(source, "confusion", None)
    if not isinstance(frame, pl.DataFrame) or not {*COLUMNS} <= {*frame.columns}:
        raise HowlearnError(
            "a confusion matrix comes from howlearn.calibrate or howlearn.recover, or from the "
            "folder of either"
        )
    return frame.select(*COLUMNS)
