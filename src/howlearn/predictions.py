"""Trial-by-trial predictions, laid beside the rows of the input."""

from __future__ import annotations

import numpy as np
import polars as pl

from howlearn.fitting.truncation import ALL
from howlearn.selection import Selection
from howlearn.study import Source, Study


def predictions(selection: Selection, study: Study, first: int) -> pl.DataFrame:
    """Probabilities under each learner's selected model (first criterion, fitted on all trials).

    ``selection`` is of the learners from ``first`` on of ``study``.
    """
    fits = selection.fits
    truncation = ALL if ALL in fits.truncations else fits.truncations[-1]
    names = [*fits.of]
    frames = []
    for i in range(len(fits.study)):
        trials = fits.study[i]
        model = names[selection.choices[0].selected[i]]
        log_p = fits.probabilities(i, model, truncation)
        start = int(study.starts[first + i])
        frames.append(
            pl.DataFrame(
                {
                    "_row": source_of(study).row[start : start + len(trials)],
                    "_learner": np.full(len(trials), i),
                    "context": np.array(study.contexts, object)[trials.context],
                    "action": np.array(study.actions, object)[trials.action],
                    "scored": trials.scored,
                    "learned": trials.learned,
                    "model": model,
                    **{f"p({a})": np.exp(log_p[:, k]) for k, a in enumerate(study.actions)},
                    "log_probability": log_p[np.arange(len(trials)), trials.action],
                },
                schema_overrides={"context": pl.String, "action": pl.String},
            )
        )
    frame = pl.concat(frames)
    labels = fits.study.labels[frame["_learner"]]
    return (
        frame.select("_row")
        .hstack(labels.get_columns())
        .hstack(frame.drop("_row", "_learner").get_columns())
    )


def with_every_row(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """One row per row of the input, in its order; empty where the trial was left out."""
    source = source_of(study)
    rows = np.concatenate([np.arange(count) + 2 for count in source.file_rows])
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
