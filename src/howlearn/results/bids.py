"""Predictions and latent variables as events files of a BIDS derivative.

Brain Imaging Data Structure: https://bids-specification.readthedocs.io, Task events and Derivatives
(Gorgolewski et al., 2016).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn import __version__
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.runs.files import write_json, write_whole
from howlearn.runs.folder import BIDS_DESCRIPTION

VERSION = "1.10.0"  # of the specification
DESC = "howlearn"  # the desc- entity: the last in a file's name
NAME = re.compile(r"(?P<entities>sub-[A-Za-z0-9+]+(?:_[a-z]+-[A-Za-z0-9+]+)*)_events\.tsv")
TIMES = ["onset", "duration"]  # the columns that every events file starts with
MISSING = "n/a"
LONGEST = 255  # characters of a file's name; those of these names are all ASCII
WORDS = {
    "model": "The model under which the columns after this one were computed.",
    "p": "Probability of the action {of} on this trial, given the trials before it.",
    "log_probability": "Natural logarithm of the probability of what was chosen on this trial.",
    "value": "What the action {of} was expected to earn on this trial, before its outcome.",
    "prediction_error": "The reward minus the value of what was chosen; n/a where no outcome "
    "taught anything.",
    "preference": "Preference for the action {of} in the cell of this trial, before its outcome; "
    "the probabilities of the actions are computed from them.",
    "kernel": "How much the action {of} was chosen lately (choice kernel), before this trial.",
    "attention": "Attention to the feature {of}, before the outcome of this trial.",
    "output": "Output of the network for the action {of}, before the outcome of this trial.",
    "evidence": "Evidence for the action {of}: similarity to its earlier examples, before "
    "the outcome of this trial.",
    "credit": "Credit of the action {of} in the cell of this trial, before its outcome.",
}


def write_events(
    folder: Path,
    frame: pl.DataFrame,
    files: Sequence[str],
    inputs: Sequence[pl.DataFrame],
    models: Sequence[Model],
    which: str,
) -> None:
    """One events file per events file of the input, with the same rows; none if there is none.

    ``frame`` has the predictions of all rows of all files, and ``which`` says of which models.
    """
    events = {name: mine for name, mine in zip(files, inputs, strict=True) if is_events(name, mine)}
    if not events:
        return
    results = frame.columns[frame.columns.index("model") :]
    original = {column for mine in events.values() for column in mine.columns}
    columns = dict(zip(results, plain(results, original), strict=True))
    used = set(frame["model"].unique())
    about = _sidecar(columns, [model for model in models if model.name in used], which)
    targets = _targets(list(events))
    start = 0
    for name, mine in zip(files, inputs, strict=True):
        if name in events:
            rows = frame.slice(start, mine.height).select(results)
            _write(folder / targets[name], mine, rows.rename(columns))
            write_json(folder / _inherited(targets[name]), about)
        start += mine.height
    write_json(folder / BIDS_DESCRIPTION, _dataset(list(events)))


def is_events(name: str, frame: pl.DataFrame) -> bool:
    """Whether a file is an events file by its name and columns.

    >>> is_events("sub-01_task-rest_events.tsv", pl.DataFrame({"onset": [], "duration": []}))
    True
    """
    named = NAME.fullmatch(Path(name).name)
    return bool(named) and "_task-" in Path(name).name and set(TIMES) <= set(frame.columns)


def plain(columns: Sequence[str], taken: set[str]) -> list[str]:
    """Names in snake case without brackets, none of them twice.

    >>> plain(["p(A)", "value(-1)", "prediction_error"], {"p_A"})
    ['howlearn_p_A', 'value_minus1', 'prediction_error']
    """
    found: list[str] = []
    for column in columns:
        name = re.sub(r"(?<=\()[-−](?=\d)", "minus", column)
        name = stem = re.sub(r"\W+", "_", name).strip("_")
        if name in taken:
            name = stem = f"{DESC}_{stem}"
        number = 2
        while name in found or name in taken:
            name, number = f"{stem}_{number}", number + 1
        found.append(name)
    return found


def _write(path: Path, mine: pl.DataFrame, results: pl.DataFrame) -> None:
    """The input's columns as they are, then the results."""
    ordered = mine.select(*TIMES, pl.exclude(TIMES))
    text = results.with_columns(pl.all().cast(pl.String).fill_null(MISSING))
    table = ordered.hstack(text.get_columns())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: table.write_csv(file, separator="\t"))


def _targets(names: Sequence[str]) -> dict[str, Path]:
    """Where each file's results go: sub-01/func/ if it was there, with a desc- entity."""
    paths = {name: Path(os.path.abspath(name)) for name in names}
    targets = {}
    for name, path in paths.items():
        subject = path.name.split("_")[0]
        above = path.parent.parts
        inside = above[above.index(subject) :] if subject in above else ()
        targets[name] = Path(*inside, _described(path.name))
    # The same subjects in several folders; to some systems a and A are the same, too.
    if len({str(target).casefold() for target in targets.values()}) < len(targets):
        root = os.path.commonpath([path.parent for path in paths.values()])
        return {n: p.relative_to(root).with_name(_described(p.name)) for n, p in paths.items()}
    return targets


def _described(name: str) -> str:
    """The name with the entity ``desc``, which stands after all others.

    >>> _described("sub-01_task-rest_events.tsv")
    'sub-01_task-rest_desc-howlearn_events.tsv'
    >>> _described("sub-01_task-rest_desc-clean_events.tsv")
    'sub-01_task-rest_desc-cleanhowlearn_events.tsv'
    """
    entities, desc, label = name.removesuffix("_events.tsv").partition("_desc-")
    found = f"{entities}_desc-{label if desc else ''}{DESC}_events.tsv"
    if len(found) > LONGEST:
        raise HowlearnError(
            f"{name}: with the entity desc-{DESC} the name of an events file would be longer than "
            f"the {LONGEST} characters that file systems allow; rename it, or leave --latents out"
        )
    return found


def _inherited(target: Path) -> str:
    """The sidecar above all files of a task, which is about each of them."""
    entities = target.stem.split("_")
    return "_".join([e for e in entities if e.startswith(("task-", "desc-"))]) + "_events.json"


def _sidecar(columns: Mapping[str, str], models: Sequence[Model], which: str) -> dict[str, Any]:
    """What every new column means, and from which models they come."""
    sidecar: dict[str, Any] = {
        "Description": "Events with trial-by-trial choice probabilities and latent variables of "
        f"{which}, fitted to all trials by howlearn {__version__}. {MISSING}: the trial was left "
        "out, or the model has no such variable."
    }
    for column, name in columns.items():
        stem, bracket, of = column.removesuffix(")").partition("(")
        known = WORDS.get(stem if bracket else column, "The latent variable {of} of the model.")
        sidecar[name] = {
            "LongName": column,
            "Description": known.format(of=of if stem in WORDS else column),
        }
    sidecar[columns["model"]]["Levels"] = {model.name: model.in_words for model in models}
    return sidecar


def _dataset(names: Sequence[str]) -> dict[str, Any]:
    """The description that every BIDS derivative has."""
    source = _source(Path(os.path.abspath(names[0])))
    description: dict[str, Any] = {
        "Name": "Learning models' latent variables" + (f" of {source['Name']}" if source else ""),
        "BIDSVersion": VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "howlearn", "Version": __version__}],
    }
    doi = str(source.get("DatasetDOI", "")) if source else ""
    if doi:
        description["SourceDatasets"] = [{"DOI": f"doi:{doi}" if doi.startswith("10.") else doi}]
    return description


def _source(path: Path) -> dict[str, Any]:
    """What the dataset of the input says about itself; empty if it says nothing."""
    for folder in list(path.parents)[:4]:  # the dataset, sub-01, ses-1, func
        try:
            found = read_json(folder / BIDS_DESCRIPTION)
        except (OSError, ValueError):
            continue
        return found if isinstance(found, dict) and "Name" in found else {}
    return {}


# Write a study's trials as a file that ``read`` takes.


def write_study(study: Study, path: Path, fresh: bool = False) -> None:
    """Write trials as CSV, TSV or Parquet; a file with other content is kept unless ``fresh``."""
    writers = {
        ".csv": pl.DataFrame.write_csv,
        ".tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
        ".parquet": pl.DataFrame.write_parquet,
    }
    if path.suffix not in writers:
        raise HowlearnError(f"{path}: the file must end in {', '.join(writers)}")
    if path.parent and not path.parent.is_dir():
        raise HowlearnError(f"there is no folder {path.parent}")
    frame = study.frame()

    def write(file: Path) -> None:
        writers[path.suffix](frame, file)
        if path.exists() and not fresh and path.read_bytes() != file.read_bytes():
            raise HowlearnError(
                f"{path} exists and holds something else; choose another --out, or replace it "
                "with --fresh"
            )

    write_whole(path, write)
