"""Trial-by-trial predictions, laid beside the rows of the input."""

from __future__ import annotations

import numpy as np
import polars as pl

from howlearn.selection import Selection
from howlearn.study import Source, Study


def predictions(selection: Selection, study: Study, first: int) -> pl.DataFrame:
    """Probabilities under each learner's selected model (first criterion, fitted on all trials).

    ``selection`` is of the learners from ``first`` on of ``study``.
    """
    fits, part = selection.fits, selection.fits.study
    names = np.array([*fits.of], object)[selection.choices[0].selected]
    log_p = np.concatenate(
        [fits.probabilities(i, name, fits.fullest) for i, name in enumerate(names)]
    )
    learner = np.repeat(np.arange(len(part)), np.diff(part.starts))
    start = int(study.starts[first])
    rows = source_of(study).row[start : start + len(learner)]
    columns = {
        "context": pl.Series(part.contexts, dtype=pl.String).gather(part.context),
        "action": pl.Series(part.actions, dtype=pl.String).gather(part.action),
        "scored": part.scored,
        "learned": part.learned,
        "model": pl.Series(names, dtype=pl.String).gather(learner),
        **{f"p({a})": np.exp(log_p[:, k]) for k, a in enumerate(part.actions)},
        "log_probability": log_p[np.arange(len(log_p)), part.action],
    }
    labels = part.labels[learner].get_columns()
    return pl.DataFrame({"_row": rows}).hstack(labels).hstack(pl.DataFrame(columns).get_columns())


def with_every_row(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """One row per row of the input, in its order; empty where the trial was left out."""
    source = source_of(study)
    first = source.first_rows or (2,) * len(source.files)
    rows = np.concatenate(
        [np.arange(n) + row for n, row in zip(source.file_rows, first, strict=True)]
    )
    file = np.repeat(np.arange(len(source.files)), source.file_rows)
    every = pl.DataFrame(
        {
            "_row": np.arange(len(rows)),
            "file": pl.Series(source.files, dtype=pl.String).gather(file),
            "row": rows,  # as a spreadsheet counts: the header is row 1
        }
    )
    return (
        every.join(frame.with_columns(pl.col("_row").cast(pl.Int64)), on="_row", how="left")
        .sort("_row")
        .drop("_row")
    )


def source_of(study: Study) -> Source:
    """Where the trials came from; a simulated study is its own source."""
    return study.source or Source(("simulation",), (len(study.context),))
