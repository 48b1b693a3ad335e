"""Leave-future-out: what each later choice was worth to each model, from the trials before it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Source
from howlearn.criteria.criterion import Criterion
from howlearn.criteria.holdout import HoldOut
from howlearn.criteria.prequential import Prequential
from howlearn.fitting.fits import Fits
from howlearn.tables import labels

Block = tuple[NDArray[np.int64], int, NDArray[np.float64]]


def leave_future_out(fits: Fits, criterion: Criterion) -> pl.DataFrame:
    """One row per learner, scored trial after the start, and model.

    ``log_probability`` is that of the choice at the parameters fitted on the first
    ``trials_fitted`` scored trials; its sum over a learner's trials is the criterion's score.
    ``trial`` counts the learner's trials from 1. Where the study knows its source, ``file`` and
    ``row`` say where the trial stands in the input.

    >>> import howlearn as hl
    >>> task = hl.Task.load("five-four")
    >>> study = hl.simulate(task, "ByShape", {"eta": 0.03}, learners=1, trials=20, seed=1)
    >>> criterion = hl.HoldOut(split=0.9)
    >>> fits = hl.fit(study, [task.model("ByShape")], criterion.truncations)
    >>> leave_future_out(fits, criterion).drop("log_probability").rows()
    [('1', 19, 'ByShape', 18), ('1', 20, 'ByShape', 18)]
    """
    if not isinstance(criterion, HoldOut | Prequential):
        raise HowlearnError(
            f"{criterion!r} leaves no trials for later; holdout(split=0.5) and "
            "prequential(blocks=5, start=0.5) do"
        )
    blocks = [block for i in range(len(fits.study)) for block in _blocks(fits, criterion, i)]
    trial = np.concatenate([np.empty(0, np.int64), *(trials for trials, _, _ in blocks)])
    lengths = np.array([len(trials) for trials, _, _ in blocks], np.int64)
    fitted = np.repeat(np.array([size for _, size, _ in blocks], np.int64), lengths)
    log_p = np.concatenate([np.empty((0, len(fits.of))), *(values for _, _, values in blocks)])
    return _frame(fits, trial, fitted, log_p)


def _blocks(fits: Fits, criterion: Criterion, learner: int) -> Iterator[Block]:
    """A learner's blocks: trials of the study, trials fitted before them, [trial, model]."""
    study = fits.study
    scored = np.flatnonzero(study[learner].scored)  # places within the learner's record
    sizes = [int(fits.n_fitted(truncation)[learner]) for truncation in criterion.truncations]
    for truncation, (size, following) in zip(
        criterion.truncations, pairwise([*sizes, len(scored)]), strict=True
    ):
        mine = scored[size:following]
        if len(mine):
            each = [fits.log_probability(learner, name, truncation)[mine] for name in fits.of]
            yield study.starts[learner] + mine, size, np.stack(each, axis=1)


def _frame(
    fits: Fits, trial: NDArray[np.int64], fitted: NDArray[np.int64], log_p: NDArray[np.float64]
) -> pl.DataFrame:
    study, n_models = fits.study, len(fits.of)
    learner = np.searchsorted(study.starts, trial, side="right") - 1
    columns = {
        **(places(study.source, trial) if study.source else {}),
        "trial": pl.Series(trial - study.starts[learner] + 1),
        "trials_fitted": pl.Series(fitted),
    }
    by_trial = labels(fits)[learner].hstack(pl.DataFrame(columns).get_columns())
    names = pl.Series("model", [*fits.of], dtype=pl.String)
    every = by_trial[np.repeat(np.arange(len(trial)), n_models)]
    return every.drop("trials_fitted").with_columns(
        names.gather(np.tile(np.arange(n_models), len(trial))),
        every["trials_fitted"],
        pl.Series("log_probability", log_p.reshape(-1)),
    )


def places(source: Source, trial: NDArray[np.int64]) -> dict[str, pl.Series]:
    """Where trials stand in the input: the file, and the row as a spreadsheet counts."""
    row = np.asarray(source.row)[trial]
    edges = np.cumsum([0, *source.file_rows])
    file = np.searchsorted(edges, row, side="right") - 1
    first = np.array(source.first_rows or (2,) * len(source.files))
    return {
        "file": pl.Series(source.files, dtype=pl.String).gather(file),
        "row": pl.Series(row - edges[file] + first[file]),
    }
