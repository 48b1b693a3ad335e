"""Trial-by-trial predictions, laid beside the rows of the input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from howlearn.core.columns import renamed, reserved
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Source, Study
from howlearn.fitting.fits import Fits
from howlearn.fitting.replay import latents_named, latents_of
from howlearn.models.model import Model
from howlearn.selection import Selection
from howlearn.tables import labels as labels_of


def predictions(
    selection: Selection,
    model: str | None = None,
    latents: bool = False,
) -> pl.DataFrame:
    """Probabilities under each learner's selected model (first criterion, fitted on all trials).

    The study of the selection knows its rows in the input; of learners who could not be fitted
    nothing is predicted. A ``model`` that is named takes the place of the selected ones. With
    ``latents`` there are columns for the latent variables of all candidates.
    """
    fits, part = selection.fits, selection.fits.study
    chosen = selection.choices[0].selected
    if model is not None:
        chosen = np.full(len(part), [*fits.of].index(model))
    names = np.array([*fits.of], object)[chosen]
    log_p = np.concatenate(
        [np.empty((0, len(part.actions)))]
        + [fits.probabilities(i, name, fits.fullest) for i, name in enumerate(names)]
    )
    learner = np.repeat(np.arange(len(part)), np.diff(part.starts))
    rows = source_of(part).row
    columns = {
        "context": pl.Series(part.contexts, dtype=pl.String).gather(part.context),
        "action": pl.Series(part.actions, dtype=pl.String).gather(part.action),
        "scored": part.scored,
        "learned": part.learned,
        "model": pl.Series(names, dtype=pl.String).gather(learner),
        **{f"p({a})": np.exp(log_p[:, k]) for k, a in enumerate(part.actions)},
        "log_probability": log_p[np.arange(len(log_p)), part.action],
    }
    labels = labels_of(fits)[learner]
    if latents:
        looks = _latents(fits, names)
        columns |= looks
        labels = renamed(labels, looks)
    beginning = pl.DataFrame({"_row": rows}).hstack(labels.get_columns())
    return beginning.hstack(pl.DataFrame(columns).get_columns())


def check_named(model: str | None, models: Sequence[Model]) -> None:
    """Refuse a model for the predictions that is not among the candidates."""
    names = [each.name for each in models]
    if model is not None and model not in names:
        raise HowlearnError(
            f"--predict-with {model}: there is no such candidate; there are {', '.join(names)}, "
            "and --add-model adds others"
        )


def latent_columns(models: Iterable[Model], study: Study) -> tuple[str, ...]:
    """The columns for the latent variables of these models, each of them once."""
    return tuple(dict.fromkeys(n for model in models for n in _columns_of(model, study)))


def only_used(frame: pl.DataFrame, models: Sequence[Model], study: Study) -> pl.DataFrame:
    """Without the latent variables that belong to no model in the table."""
    used = set(frame["model"].unique())
    kept = latent_columns([model for model in models if model.name in used], study)
    return frame.drop(c for c in latent_columns(models, study) if c not in kept)


def _latents(fits: Fits, names: Iterable[str]) -> dict[str, pl.Series]:
    """The latent variables of every learner's model; empty where it has no such variable."""
    study, j = fits.study, fits.at(fits.fullest)
    columns = latent_columns(fits.models, study)
    place = {column: k for k, column in enumerate(columns)}
    looks = np.full((len(study.context), len(columns)), np.nan)
    for i, name in enumerate(names):
        part = fits.of[name]
        mine = [place[column] for column in _columns_of(part.model, study)]
        trials = slice(int(study.starts[i]), int(study.starts[i + 1]))
        looks[trials, mine] = latents_of(study, i, part.model, part.theta[i, j])[1]
    return {c: pl.Series(c, looks[:, k]).fill_nan(None) for c, k in place.items()}


def _columns_of(model: Model, study: Study) -> list[str]:
    """A latent variable has its name, unless the predictions have a column of that name."""
    return [f"latent_{n}" if reserved(n) else n for n in latents_named(study, model)]


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
