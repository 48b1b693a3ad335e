"""The authors' own fits of their synthetic learners, held against the learners' files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.csv_tables import typed_csv
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import GradientBandit
from howlearn.core.study import Study
from howlearn.engine.cell_fits import evaluate
from howlearn.engine.layout import lay_out
from howlearn.fitting.cells import block_of
from howlearn.models.task import Task
from howlearn.paper.published import AUTHORS, TRIALS, TRUNCATIONS

PUBLISHED = "published_fits.csv"
TOLERANCE = 1e-6  # nats between a stored likelihood and the one at the stored estimates
COLUMNS = {
    "generating_model": pl.String,
    "file": pl.String,
    "fitted_model": pl.String,
    "trials_fitted": pl.Int64,
    "negative_log_likelihood": pl.Float64,
    "test_negative_log_likelihood": pl.Float64,
    "estimates": pl.String,
}


@dataclass(frozen=True, eq=False)
class LearnerFits:
    """Fits of one generating model's learners, NaN where there is none.

    ``fitted`` and ``rest`` are negative log-likelihoods [learner, fitted model, truncation] of the
    trials that were fitted and of the others (none after 500, so NaN).
    """

    files: tuple[str, ...]
    fitted: Floats
    rest: Floats
    estimates: Mapping[str, Floats]  # of a fitted model: [learner, truncation, cell]


@dataclass(frozen=True, eq=False)
class StoredFits:
    """The authors' fits, by generating model; ``models`` is the axis of fitted models."""

    source: str
    models: tuple[str, ...]
    truncations: tuple[int, ...]
    of: Mapping[str, LearnerFits]


def no_fits(task: Task, files: tuple[str, ...]) -> LearnerFits:
    """Of these files' learners, still to be filled."""

    def nothing(*shape: int) -> Floats:
        return np.full((len(files), *shape), np.nan)

    shape = (len(task.models), len(TRUNCATIONS))
    cells = {m.name: nothing(len(TRUNCATIONS), len(m.partition.cells)) for m in task.models}
    return LearnerFits(files, nothing(*shape), nothing(*shape), cells)


def read_published(
    path: Path, task: Task, learners: Mapping[str, Study], files: Mapping[str, tuple[str, ...]]
) -> tuple[StoredFits | None, list[str]]:
    """The fits of ``published_fits.csv``; None, and why, where they are not of these learners."""
    table = _table(path)
    parts, notes = {}, []
    for theirs, ours in AUTHORS.items():
        rows = table.filter(pl.col("generating_model") == theirs)
        part = _part(path, rows, task, files[ours])
        unknown = rows.filter(~pl.col("file").is_in(files[ours]))["file"].n_unique()
        without = len(files[ours]) - len(part.files)
        if unknown or without:
            notes.append(
                f"{path}: of {theirs}, fits without a learner's file: {unknown}, left out; "
                f"learners without a fit: {without}"
            )
        fault = disagreement(part, learners[ours], files[ours], task)
        if fault:
            return None, [*notes, f"{path}: not used: {theirs}: {fault}"]
        parts[ours] = part
    models = tuple(model.name for model in task.models)
    notes.append(f"{path}: the authors' fits, equal to the likelihoods at their estimates")
    return StoredFits(str(path), models, TRUNCATIONS, parts), notes


def replayed(study: Study, estimates: Mapping[str, Floats], task: Task) -> tuple[Floats, Floats]:
    """Negative log-likelihoods [learner, model, truncation] of the trials up to each truncation
    and of the others, at estimates[model][learner, truncation, cell]."""
    rule = GradientBandit()
    block = block_of(study, rule, np.zeros((len(study), 0), np.int64))
    fitted = np.full((len(study), len(task.models), len(TRUNCATIONS)), np.nan)
    rest = np.full_like(fitted, np.nan)
    for m, model in enumerate(task.models):
        learner, j = np.nonzero(~np.isnan(estimates[model.name]).any(axis=2))
        theta, stop = estimates[model.name][learner, j], np.array(TRUNCATIONS, np.int64)[j]
        cells = [[study.contexts.index(c) for c in cell] for cell in model.partition.cells]
        units = lay_out([[cell] for cell in cells], len(study.contexts))
        value, total = np.zeros(len(learner)), np.zeros(len(learner))
        for k in range(len(cells)):
            unit = np.full(len(learner), k)
            parts = evaluate(block, units, rule, learner, unit, theta[:, [k]], stop)
            value, total = value + parts[0], total + parts[1]
        fitted[learner, m, j], rest[learner, m, j] = -value, value - total
    rest[:, :, TRUNCATIONS.index(TRIALS)] = np.nan  # nothing is left
    return fitted, rest


def disagreement(part: LearnerFits, study: Study, files: tuple[str, ...], task: Task) -> str:
    """What is wrong with stored likelihoods, "" if they are those at the stored estimates."""
    if not part.files:
        return ""
    rows = [files.index(name) for name in part.files]
    everyone = {
        name: np.full((len(study), *e.shape[1:]), np.nan) for name, e in part.estimates.items()
    }
    for name, estimates in part.estimates.items():
        everyone[name][rows] = estimates
    found = [array[rows] for array in replayed(study, everyone, task)]
    stored = np.stack([part.fitted, part.rest])
    gap = np.abs(stored - np.stack(found))
    gap[np.isnan(stored) & np.isnan(np.stack(found))] = 0.0
    wrong = ~(gap <= TOLERANCE)
    if not wrong.any():
        return ""
    which, i, m, j = (int(axis[0]) for axis in np.nonzero(wrong))
    return (
        f"{wrong.sum():,} of {wrong.size:,} likelihoods are not those at the stored estimates; the "
        f"first is {part.files[i]}, {task.models[m].name}, {TRUNCATIONS[j]} trials: stored "
        f"{stored[which, i, m, j]}, at the estimates {found[which][i, m, j]}"
    )


def _table(path: Path) -> pl.DataFrame:
    try:
        table = typed_csv(path, COLUMNS)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise HowlearnError(f"{path}: cannot be read as a table of fits: {error}") from None
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise HowlearnError(
            f"{path}: no column {', '.join(missing)}; expected: {', '.join(COLUMNS)}"
        )
    for column in ("generating_model", "fitted_model"):
        unknown = table.filter(~pl.col(column).is_in([*AUTHORS]))[column].unique().to_list()
        if unknown or table[column].null_count():
            raise HowlearnError(
                f"{path}: column {column}: found {unknown}; allowed: {', '.join(AUTHORS)}"
            )
    return table


def _part(path: Path, rows: pl.DataFrame, task: Task, files: tuple[str, ...]) -> LearnerFits:
    """The rows of one generating model as arrays, in the order of the learners' files."""
    names = tuple(name for name in files if name in set(rows["file"]))
    models = [model.name for model in task.models]
    found = no_fits(task, names)
    seen = np.zeros(found.fitted.shape, bool)
    place = {name: i for i, name in enumerate(names)}
    for _, file, theirs, trials, value, test, text in rows.select(*COLUMNS).iter_rows():
        if file not in place:
            continue
        model = AUTHORS[theirs]
        rates = [float(rate) for rate in (text or "").split()]
        n_cells = found.estimates[model].shape[2]
        if trials not in TRUNCATIONS or value is None or len(rates) != n_cells:
            raise HowlearnError(
                f"{path}: {file}, {theirs}, {trials} trials: a likelihood and {n_cells} "
                f"estimates after one of {TRUNCATIONS} trials are expected; found {value} and "
                f"{len(rates)} estimates"
            )
        i, m, j = place[file], models.index(model), TRUNCATIONS.index(trials)
        seen[i, m, j] = True
        found.fitted[i, m, j], found.rest[i, m, j] = value, np.nan if test is None else test
        found.estimates[model][i, j] = rates
    if not seen.all():
        i, m, j = (int(axis[0]) for axis in np.nonzero(~seen))
        raise HowlearnError(
            f"{path}: {(~seen).sum()} rows are missing; the first: {names[i]}, fitted model "
            f"{models[m]}, {TRUNCATIONS[j]} trials"
        )
    return found
