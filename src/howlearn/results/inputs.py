"""What a run works on, from its options: the task, the study, the candidates.

The options of ``select`` stand in the manifest of its results, so that a later command can take up
the same study.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from howlearn import __version__
from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rule import Form
from howlearn.core.study import Study
from howlearn.fitting.defaults import beside, unfit
from howlearn.fitting.joint import without_own
from howlearn.models import FIELD
from howlearn.models.mixture import SOURCES, Expert, Mixture
from howlearn.models.model import Model
from howlearn.models.names import learning_named, model_named
from howlearn.models.partition_model import (
    candidates_of,
    check_contexts,
    one_rate_versions,
)
from howlearn.models.task import Task
from howlearn.reading.formats.open import stamps_of
from howlearn.reading.formats.table import file_of
from howlearn.reading.options import DATA
from howlearn.reading.read import read
from howlearn.results.manifest import damaged, hash_of, read_manifest, task_file_hash
from howlearn.runs.folder import read_table
from howlearn.selection.tables import included
from howlearn.selection.unfitted import without_unfitted

if TYPE_CHECKING:
    from howlearn.models.task_file import Order

# Where the parameters of a mixture's strategies come from, when an option says so.


UNINFORMED = ("flat", "unseen", "no fit")


def with_source(models: Sequence[Model], source: str | None) -> tuple[Model, ...]:
    """Mixtures that do not name a source themselves take this one: a word, or a folder.

    The folder of a ``howlearn select`` gives the medians of its learners' estimates (of a learner
    who is among them, those of the others); that of a ``howlearn calibrate`` the parameters of its
    simulated learners.
    """
    if source is None:
        return tuple(models)
    folder = None if source in SOURCES else _Given(Path(source))
    return tuple(_one(model, source, folder) for model in models)


def _one(model: Model, source: str, folder: _Given | None) -> Model:
    if not isinstance(model, Mixture) or model.source != "training":
        return model
    if not any(expert.fitted for expert in model.experts):
        return model
    if folder is None:
        return model.from_source(source)  # pyright: ignore[reportArgumentType]
    each = [folder.values(expert) for expert in model.experts if expert.fitted]
    names = dict.fromkeys(name for values in each for name in values)
    table = {
        name: np.concatenate([values.get(name, values[""]) for values in each]) for name in names
    }
    return model.from_source("population").known_from(table, folder.told)


class _Given:
    """The results of an earlier command."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.manifest = read_manifest(path, "select", "calibrate")
        except HowlearnError as error:
            raise HowlearnError(
                f"--experts-from {path}: neither one of {', '.join(SOURCES)}, nor a folder with "
                f"parameters: {error}"
            ) from None
        self.estimates = None
        if self.manifest["command"] == "select":
            self.estimates = included(read_table(path, "estimates"))

    def values(self, expert: Expert) -> dict[str, Floats]:
        """By learner the expert's parameters, and under "" those of anybody else."""
        name = expert.model.name
        self._check_same(expert)
        if self.estimates is None:
            return {"": self._simulated(name)}
        mine = self.estimates.filter(pl.col("model") == name)
        most = pl.col("trials_fitted").max().over("learner")
        mine = mine.filter(pl.col("trials_fitted") == most)
        learners = mine["learner"].unique(maintain_order=True).to_list()
        columns = [frame for _, frame in mine.group_by("cell", "parameter", maintain_order=True)]
        table = np.stack([_medians(frame, learners) for frame in columns], axis=1)
        # Where nobody was informed, the estimates are what stands in for information.
        guess = np.array([float(np.median(frame["estimate"].to_numpy())) for frame in columns])
        others = np.full(table.shape, np.nan)  # one learner alone has no others
        if len(learners) > 1:
            pairs = zip(table.T, guess, strict=True)
            others = np.stack([without_own(column, default) for column, default in pairs], axis=1)
        usual = np.where(np.isnan(table).all(axis=0), guess, _median(table))
        return {"": usual, **dict(zip(learners, others, strict=True))}

    @property
    def told(self) -> str:
        """Where these parameters come from, in words."""
        what = "simulated learners" if self.estimates is None else "learners, without the learner"
        return f"the {what} of {self.path}; not counted"

    def _check_same(self, expert: Expert) -> None:
        """Refuse a model that was another one there: other cells, another rule, other bounds."""
        known = {model["name"]: model for model in self.manifest.get("models", [])}
        name = expert.model.name
        if name not in known:
            raise HowlearnError(
                f"--experts-from {self.path}: it has nothing about {name}; its models are "
                f"{', '.join(known)}"
            )
        if json.loads(json.dumps(expert.model.describe())) != known[name]:
            raise HowlearnError(
                f"--experts-from {self.path}: {name} is another model there (other cells, another "
                "rule, form or bounds), so its parameters mean something else"
            )

    def _simulated(self, name: str) -> Floats:
        known = self.manifest.get("design", {}).get("parameters")
        if not isinstance(known, dict):
            raise HowlearnError(
                f"--experts-from {self.path}: the learners of this calibration were doubles of "
                "recorded ones; give the results of that howlearn select"
            )
        ends = [[float(end) for end in text.split(":")] for text in known[name]]
        return np.array([_middle(pair[0], pair[-1]) for pair in ends])


def _middle(low: float, high: float) -> float:
    """Of a range: on the log scale, as learners are drawn from it."""
    return float(np.sqrt(low * high)) if low > 0 else (low + high) / 2


def _medians(frame: pl.DataFrame, learners: Sequence[str]) -> Floats:
    """One parameter by learner; NaN where nothing was learned about it."""
    known = frame.filter(~pl.col("status").is_in(UNINFORMED))
    by_learner = dict(known.group_by("learner").agg(pl.col("estimate").median()).iter_rows())
    return np.array([by_learner.get(name, np.nan) for name in learners])


def _median(table: Floats) -> Floats:
    """By column, of what is known; 0 where nothing is."""
    known = [column[~np.isnan(column)] for column in table.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in known])


# What load needs besides the options of reading.
OPTIONS = {"task", "rule", "form", "max_rate", "model", "add_model", "one_rate"}


@dataclass(frozen=True, eq=False)
class Inputs:
    """A study with the task it belongs to and the models that compete."""

    task: Task | None
    study: Study
    candidates: tuple[Model, ...]
    options: Mapping[str, Any]  # with which they were asked for


def load(files: Sequence[str], options: Mapping[str, Any], with_excluded: bool = False) -> Inputs:
    """Read the files and build the candidates as the options say.

    Learners who are excluded are there, and marked, if that is asked for.
    """
    rule = learning_named(options["rule"], options["form"], options["max_rate"])
    task = Task.load(options["task"]).with_rule(rule) if options["task"] else None
    reading = {name: options[name] for name in DATA}
    stamps = stamps_of(files)
    study = read(list(files), task=task, **reading)
    if study.source is not None:
        study = replace(study, source=replace(study.source, stamps=stamps))
    if task is None and not options["model"]:
        check_contexts(study)
    base = task.models if task else candidates_of(study, rule)
    mixtures = task.mixtures if task else ()
    whose = f"task {task.name}" if task else "the study"
    n_features = len(next(iter(study.features.values()), {}))
    left_out = unfit(study, described=task is not None)
    # A task names its candidates; those who name none get what the kind of task demands.
    more = () if task or options.get("no_field", True) else tuple(beside(study, base))
    models = chosen_models(base, options, whose, n_features, left_out, (*more, *mixtures))
    if task is None:
        check_contexts(study, models)
    if "field" in (*options["model"], *options["add_model"]):
        notes = [
            f"of the field's models, {name} is left out: {why}" for name, why in left_out.items()
        ]
        study = replace(study, notes=(*study.notes, *notes))
    study = study if with_excluded else study.without_excluded()
    return Inputs(task, study, models, options)


def mechanism_inputs(
    files: Sequence[str], options: Mapping[str, Any]
) -> tuple[Study, Partition | None]:
    """The study of ``howlearn mechanisms``, and the cells that it names."""
    name = options.get("cells")
    usual = {"rule": "gradient", "form": "gain", "max_rate": 1.0, "one_rate": False}
    wanted = {**options, **usual, "model": [name or "q-learning"], "add_model": []}
    inputs = load(files, {**wanted, "experts_from": None})
    partition = getattr(inputs.candidates[0], "partition", None)
    if name and not isinstance(partition, Partition):
        raise HowlearnError(f"--cells {name}: it is not a model with a partition of the contexts")
    return inputs.study, partition if name else None


def recorded_mechanisms(
    folder: Path,
) -> tuple[Study, Partition | None, Mapping[str, Any]]:
    """The study, the cells and the options of what ``howlearn mechanisms`` left in a folder."""
    manifest = read_manifest(folder, "mechanisms")
    try:
        options = {**dict.fromkeys(DATA), **manifest["options"]}
        files = [_found(name, known, folder) for name, known in manifest["input"].items()]
    except (KeyError, TypeError, AttributeError):
        raise damaged(folder, "howlearn mechanisms") from None
    if manifest.get("task_file") != task_file_hash(options.get("task")):
        raise HowlearnError(f"the task file of {folder} has changed; run howlearn mechanisms again")
    return *mechanism_inputs(files, options), options


def task_with(
    name: str | None, rule: str, form: Form, max_rate: float, order: str | None = None
) -> Task:
    """A task as the options of a simulation describe it; by default the paper's."""
    task = Task.load(name or "five-four").with_rule(learning_named(rule, form, max_rate))
    return replace(task, order=cast("Order", order)) if order else task


def chosen_models(
    base: Sequence[Any],
    options: Mapping[str, Any],
    whose: str,
    n_features: int,
    left_out: Container[str] = (),
    besides: Sequence[Model] = (),
) -> tuple[Model, ...]:
    """The candidates, or those that were named, and what was asked for besides.

    ``field`` stands for the field's models without those that are ``left_out``; ``besides`` compete
    with the partitions: the mixtures of a task, or what a kind of task demands.
    """
    known = {model.name: model for model in besides}

    def find(name: str) -> Model:
        return known.get(name) or model_named(base, name, whose, n_features)

    names = _each(options["model"], left_out)
    chosen: list[Model] = [find(name) for name in names] if names else [*base, *besides]
    if options["one_rate"]:
        chosen += one_rate_versions([m for m in base if m in chosen])
    there = {model.name for model in besides if not names}
    more = [find(name) for name in _each(options["add_model"], left_out) if name not in there]
    return with_source((*chosen, *more), options.get("experts_from"))


def task_models(task: Task, options: Mapping[str, Any]) -> tuple[Model, ...]:
    """The candidates where learners of a task are simulated, or its data are not seen yet."""
    return chosen_models(
        task.models, options, f"task {task.name}", task.n_features, (), task.mixtures
    )


def _each(names: Sequence[str], left_out: Container[str]) -> list[str]:
    """The names, with the field's models in place of ``field``."""
    field = [name for name in FIELD if name not in left_out]
    return [each for name in names for each in (field if name == "field" else [name])]


def recorded(results: Path, with_excluded: bool = False) -> Inputs:
    """The study and the candidates of the results that ``howlearn select`` left in a folder.

    Learners who are excluded are among them only if that is asked for; those who could not be
    fitted never are.
    """
    manifest = _manifest(results)
    files = [_found(name, known, results) for name, known in manifest["input"].items()]
    try:  # before it is read: whoever wrote a manifest knows the content of its files
        same_task = manifest["task_file"] == task_file_hash(manifest["options"]["task"])
    except OSError:
        same_task = False
    inputs = load(files, manifest["options"], with_excluded=True) if same_task else None
    if inputs is None or [m.describe() for m in inputs.candidates] != manifest["models"]:
        raise HowlearnError(
            f"the models of {results} cannot be built again: the task file, or the code of your "
            "model, has changed since; run howlearn select again"
        )
    study = without_unfitted(inputs.study, results)
    return replace(inputs, study=study if with_excluded else study.without_excluded())


def _manifest(results: Path) -> dict[str, Any]:
    manifest = read_manifest(results, "select")
    try:
        made, options = manifest["howlearn"], manifest["options"]
        found = {key: manifest[key] for key in ("input", "options", "models")}
        found["task_file"] = manifest.get("task_file")
        lacking = ({*DATA} | OPTIONS) - options.keys()
    except (KeyError, TypeError, AttributeError):
        raise damaged(results) from None
    if not found["input"]:
        raise HowlearnError(
            f"{results} was made from a study in memory, whose trials cannot be read again"
        )
    if lacking:
        raise HowlearnError(
            f"{results} was made by another version of howlearn ({made}; this is {__version__}), "
            f"without the options {', '.join(sorted(lacking))}; run howlearn select again"
        )
    return found


def _found(name: str, known: str, results: Path) -> str:
    """A file of the study, where it was or beside the results, unchanged."""
    places = (Path(name), results.parent / name, results / name)
    there = [path for path in places if file_of(path).is_file()]  # a sheet is inside a file
    for path in there:
        if hash_of(file_of(path)) == known:
            return str(path)
    if there:
        raise HowlearnError(
            f"{there[0]} has changed since {results} was made; run howlearn select again"
        )
    raise HowlearnError(
        f"{results} was made from {name}, which is not there; start the command in the folder "
        "where howlearn select was started"
    )
