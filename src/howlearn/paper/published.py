"""The paper's numbers, where things lie in the authors' supplement, and the authors' fits.

Aubert et al. (2025), Figures 2 and 3 and the appendix. Where a figure shows a curve only, the
values are those that the authors' stored fits give by the authors' rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.columns import typed_csv
from howlearn.core.errors import HowlearnError
from howlearn.core.rules import GradientBandit
from howlearn.core.study import Study
from howlearn.engine.cell_fits import evaluate
from howlearn.engine.layout import lay_out
from howlearn.fitting.cells import block_of
from howlearn.models.task import Task
from howlearn.reading.labels import natural_key

# In the authors' order, which is also that of the rows and columns below.
MODELS = ("OnePerItem", "OneForAll", "ByShape", "ByPattern", "ByShapeExc", "ByPatternExc")
TRIALS = 500
HORIZONS = (20, 50, 100, 150, 200, 250)  # N: trials before the hold-out's split
CONSTANTS = tuple(round(0.001 + 0.002 * k, 3) for k in range(100))
RATE = 0.03
RAMP = tuple(round(0.003 + 0.007 * k, 3) for k in range(9))  # of OnePerItem, in item order
CHOSEN_C, CHOSEN_N = 0.012, 250
AVERAGE_C = 0.053  # said to make the average error smallest
HOURS = 6  # "approximately 6 hours"


class Key(NamedTuple):
    """What a number is of."""

    figure: str
    quantity: str
    setting: str = ""
    true_model: str = ""
    selected_model: str = ""


RELATIVE = "median relative error of the estimates"
ERROR, MEAN_ERROR = "share of wrong selections", "mean share of wrong selections"
SMOOTH = " (LOESS)"
SELECTED = "share selected"
BAR = "share of participants"
WHERE_MAX, WHERE_MEAN = (
    "setting with the smallest largest error",
    "setting with the smallest mean error",
)

_MEDIANS = {
    "OneForAll": (1, 1, 1, 1, 0.79, 0.61, 0.38),
    "OnePerItem": (26.2, 12.2, 5.3, 2.9, 2.1, 1.47, 0.78),
}
_HOLDOUT_ERRORS = {
    20: (1, 0.27, 0.36, 0.29, 0.94, 0.93),
    50: (0.98, 0.32, 0.16, 0.20, 0.61, 0.66),
    100: (1, 0.30, 0.06, 0.10, 0.38, 0.45),
    150: (0.90, 0.28, 0.05, 0.03, 0.26, 0.32),
    200: (0.87, 0.25, 0.02, 0.04, 0.17, 0.17),
    250: (0.82, 0.31, 0.03, 0, 0.18, 0.21),
}
_HOLDOUT = (
    (0.18, 0.04, 0.05, 0.02, 0.43, 0.28),
    (0.03, 0.69, 0.11, 0.08, 0.04, 0.05),
    (0, 0, 0.97, 0, 0.03, 0),
    (0, 0, 0, 1, 0, 0),
    (0.03, 0, 0, 0, 0.82, 0.15),
    (0.08, 0, 0, 0.01, 0.12, 0.79),
)
_PENALIZED = (
    (0.68, 0, 0.03, 0, 0.16, 0.13),
    (0.01, 0.83, 0.05, 0.04, 0.03, 0.04),
    (0, 0, 0.99, 0, 0.01, 0),
    (0, 0, 0, 1, 0, 0),
    (0.32, 0, 0, 0, 0.66, 0.02),
    (0.29, 0, 0, 0, 0.03, 0.68),
)
_AVERAGE_DIAGONAL = (0.02, 0.97, 1, 1, 0.96, 0.93)
_AIC_DIAGONAL = (0.28, 0.94, 0.99, 1, 0.91, 0.84)
# Heights of the bars of 3c and 3d, in which a participant counts as often as its number says.
_BARS = {
    "3c": (0.321, 0.055, 0.052, 0.053, 0.168, 0.350),
    "3d": (0.680, 0.037, 0.023, 0.020, 0.080, 0.158),
}


def published() -> dict[Key, float]:
    """Every number, by what it is of."""
    found: dict[Key, float] = {}
    for model, medians in _MEDIANS.items():
        for n, value in zip((*HORIZONS, TRIALS), medians, strict=True):
            found[Key("2a", RELATIVE, f"N={n}", model)] = value
    for n, errors in _HOLDOUT_ERRORS.items():
        for model, value in zip(MODELS, errors, strict=True):
            found[Key("2b", ERROR, f"N={n}", model)] = value
        found[Key("2b", MEAN_ERROR, f"N={n}")] = round(sum(errors) / 6, 3)
    found[Key("2b", WHERE_MAX)] = 250
    found[Key("2b", WHERE_MEAN)] = 200
    found[Key("2c", WHERE_MAX)] = 0.013
    found[Key("2c", WHERE_MEAN)] = 0.023
    found[Key("2c", WHERE_MAX + SMOOTH)] = 0.013
    found[Key("2c", WHERE_MEAN + SMOOTH)] = 0.053
    found[Key("2c", MEAN_ERROR, "c=0.023")] = 0.163
    found[Key("2c", MEAN_ERROR + SMOOTH, "c=0.053")] = 0.182
    for figure, setting, rows in (
        ("3a", f"N={CHOSEN_N}", _HOLDOUT),
        ("3b", f"c={CHOSEN_C}", _PENALIZED),
    ):
        for true, row in zip(MODELS, rows, strict=True):
            for selected, value in zip(MODELS, row, strict=True):
                found[Key(figure, SELECTED, setting, true, selected)] = value
    for setting, diagonal in ((f"c={AVERAGE_C}", _AVERAGE_DIAGONAL), ("aic", _AIC_DIAGONAL)):
        for model, value in zip(MODELS, diagonal, strict=True):
            found[Key("appendix", SELECTED, setting, model, model)] = value
    for figure, bars in _BARS.items():
        setting = "holdout(split=0.5)" if figure == "3c" else f"c={CHOSEN_C}"
        for model, value in zip(MODELS, bars, strict=True):
            found[Key(figure, BAR, setting, "", model)] = value
    return found


# Where things lie in the authors' supplement, and what they are called there.

# Their names, in the order of their lists (which is also the order of their ties), and ours.
AUTHORS = {
    "OnePerItem": "OnePerItem",
    "OneForAll": "OneForAll",
    "byShape": "ByShape",
    "byPattern": "ByPattern",
    "byShape_Exceptions_Sep": "ByShapeExc",
    "byPattern_Exceptions_Sep": "ByPatternExc",
}
TRUNCATIONS = (20, 50, 100, 150, 200, 250, 500)
SYNTHETIC = "syntheticdatabis"
DEPTH = 4  # levels below the given path that are searched


def model_order(names: tuple[str, ...] | None) -> dict[str, int] | None:
    """The place of each of our models among six: by their names, or as the authors list them.

    None where there are names, but not those of the six models.

    >>> model_order(None)["OneForAll"]
    1
    """
    ours = list(AUTHORS.values())
    if names is None:
        return {model: i for i, model in enumerate(ours)}
    spelled = {theirs.casefold(): model for theirs, model in AUTHORS.items()}
    spelled |= {model.casefold(): model for model in ours}
    found = [spelled.get(name.casefold().removesuffix("_bis"), "") for name in names]
    if sorted(found) != sorted(ours):
        return None
    return {model: found.index(model) for model in ours}


def synthetic_folder(path: Path) -> Path:
    """The folder of the synthetic learners: the given path or one below it."""
    if not path.is_dir():
        raise HowlearnError(f"{path}: no such folder; {_expected()}")
    found = [folder for folder in _folders(path) if folder.name.casefold() == SYNTHETIC]
    if not found:
        raise HowlearnError(
            f"{path}: no folder {SYNTHETIC} in it, {DEPTH} levels deep; {_expected()}"
        )
    if len(found) > 1:
        listed = ", ".join(str(folder) for folder in found)
        raise HowlearnError(f"{path}: several folders {SYNTHETIC} ({listed}); name one of them")
    return found[0]


def model_folders(synthetic: Path) -> dict[str, Path]:
    """The folder of every generating model, by our names in the authors' order."""
    present = {folder.name.casefold(): folder for folder in _subfolders(synthetic)}
    wanted = {f"{theirs}_bis": ours for theirs, ours in AUTHORS.items()}
    missing = [name for name in wanted if name.casefold() not in present]
    if missing:
        raise HowlearnError(f"{synthetic}: no folder {', '.join(missing)}; {_expected()}")
    return {ours: present[name.casefold()] for name, ours in wanted.items()}


def learner_files(folder: Path) -> tuple[Path, ...]:
    """One CSV file per learner, in natural order."""
    files = [file for file in _files(folder) if file.suffix.casefold() == ".csv"]
    if not files:
        raise HowlearnError(
            f"{folder}: no CSV file in it; one per learner is expected, "
            "with the columns Action, Reward, Item"
        )
    return tuple(sorted(files, key=lambda file: natural_key(file.name)))


def files_around(path: Path, synthetic: Path) -> dict[str, Path]:
    """Files in and below the path, and beside the synthetic learners, by lower-case name.

    Of files with one name the highest is taken.
    """
    learners = {folder for folder in _folders(synthetic) if folder != synthetic}
    places = [place for place in _folders(path) if place not in learners]
    found: dict[str, Path] = {}
    for place in [*places, synthetic.resolve().parent]:
        for file in _files(place):
            found.setdefault(file.name.casefold(), file)
    return found


def left_out(synthetic: Path) -> str:
    """A sentence about what lies among the models' folders and is not a learner; "" if nothing."""
    known = set(model_folders(synthetic).values())
    others = [entry.name for entry in _subfolders(synthetic) if entry not in known]
    others += [file.name for file in _files(synthetic)]
    if not others:
        return ""
    return f"{synthetic}: left out, since only the models' folders hold learners: " + ", ".join(
        sorted(others, key=natural_key)
    )


def _expected() -> str:
    names = ", ".join(f"{name}_bis" for name in AUTHORS)
    return f"expected is {SYNTHETIC} with the folders {names}, each with a CSV file per learner"


def _folders(path: Path) -> Iterator[Path]:
    """The path and the folders below it, level by level."""
    level = [path]
    for _ in range(DEPTH + 1):
        yield from level
        level = [below for folder in level for below in _subfolders(folder)]


def _subfolders(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.is_dir()]


def _files(folder: Path) -> list[Path]:
    return [entry for entry in _entries(folder) if entry.is_file()]


def _entries(folder: Path) -> list[Path]:
    """What is in a folder but for what archivers of the Mac leave behind."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # not ours to read
        return []
    return [entry for entry in entries if not entry.name.startswith((".", "__MACOSX"))]


# The authors' own fits of their synthetic learners, held against the learners' files.


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
