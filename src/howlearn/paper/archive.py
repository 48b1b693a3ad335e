"""The authors' supplement in its own layout: synthetic learners, and fits of real participants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.models.task import Task
from howlearn.paper import published
from howlearn.paper.authors_fits import (
    EXTRA,
    FitArrays,
    Node,
    Unfit,
    axis_names,
    component,
    described,
    fits_in,
    load,
    naming,
    numbers,
    rdata_file,
    read_recorded,
)
from howlearn.reading.read import read
from howlearn.selection.select import winners

# The stored fits of the paper's 176 real participants, whose trials were not published.

PUBLISHED_NUMBER = 176
WHOLE, TRAINING, TESTING = (
    "realdatamle",
    "realdata_holdout_trainingset",
    "realdata_holdout_testingset",
)
SLACK = 0.5  # nats that a search by DEoptim may miss
MOST = 0.95  # of the fits must be plausible: a few searches failed by many nats


@dataclass(frozen=True, eq=False)
class Participants:
    """Negative log-likelihoods [participant, model] in the authors' order of participants.

    ``whole`` is that of all trials at the estimates from all trials; ``train`` that of the first
    half at the estimates from it, and ``rest`` that of the second half at the same estimates.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    n_trials: Ints
    whole: Floats
    estimates: Mapping[str, Floats]  # from all trials: [participant, cell] of a model
    train: Floats | None = None
    rest: Floats | None = None

    def __len__(self) -> int:
        return len(self.names)


def read_participants(
    around: Mapping[str, Path], task: Task
) -> tuple[Participants | None, list[str]]:
    """The fits of the participants that are there and understood, or None; and notes."""
    paths = {name: rdata_file(around, name) for name in (WHOLE, TRAINING, TESTING)}
    there = ", ".join(str(path) for path in paths.values() if path)
    if not there:
        return None, ["no fits of the real participants were found"]
    if find_spec("rdata") is None:
        return None, [f"{there}: not read; {EXTRA}"]
    models = tuple(model.name for model in task.models)
    try:
        found = _whole(_path(paths, WHOLE), models)
    except Unfit as error:
        return None, [f"{error}; the participants are left out"]
    notes = [f"{there}: fits of {len(found)} real participants"]
    if len(found) != PUBLISHED_NUMBER:
        notes.append(f"{paths[WHOLE]}: the paper has {PUBLISHED_NUMBER} participants")
    try:
        train, axis = _train(_path(paths, TRAINING), found)
        rest = _rest(_path(paths, TESTING), found, train, axis)
    except Unfit as error:
        return found, [*notes, f"{error}; the participants' hold-out is left out"]
    return replace(found, train=train, rest=rest), notes


def _path(paths: Mapping[str, Path | None], name: str) -> Path:
    path = paths[name]
    if path is None:
        raise Unfit(f"no file {name}.RData was found")
    return path


def _whole(path: Path, models: tuple[str, ...]) -> Participants:
    with naming(path):
        fits = fits_in(load(path), models)
        _two_axes(fits)
        if fits.horizon is None:
            raise Unfit("the number of trials (horizon) is expected beside the likelihood")
        n = fits.horizon[:, 0]
        if (fits.horizon != n[:, None]).any() or (n < 1).any() or (n != np.round(n)).any():
            raise Unfit("the same whole number of trials is expected for all models of a person")
        _require(fits.values <= n[:, None] * np.log(2) + SLACK, "better than a coin's, in nats")
        coin = fits.values[:, models.index("OneForAll")] / (n * np.log(2))
        if np.median(coin) < 0.3:  # one rate for everything cannot explain much
            raise Unfit(
                "sums of negative log-likelihoods are expected, not means or their opposite"
            )
        names = fits.names[0] or tuple(str(i + 1) for i in range(len(n)))
        estimates = {model: np.stack([*e]) for model, e in fits.estimates.items()}
        return Participants(names, models, n.astype(np.int64), fits.values, estimates)


def _train(path: Path, found: Participants) -> tuple[Floats, int]:
    """The likelihoods of the first halves, and which level was that of the models."""
    with naming(path):
        fits = fits_in(load(path), found.models)
        _two_axes(fits)
        if fits.values.shape != found.whole.shape:
            raise Unfit(f"{len(found)} participants are expected, found {len(fits.values)}")
        if fits.names[0] is not None and fits.names[0] != found.names:
            raise Unfit(f"the participants' names differ from those of {WHOLE}")
        half = (found.n_trials // 2)[:, None] * np.log(2)
        _require(fits.values <= half + SLACK, "better than a coin's on the first half, in nats")
        _require(fits.values <= found.whole + SLACK, f"below those of {WHOLE}")
        return fits.values, fits.axis


def _rest(path: Path, found: Participants, train: Floats, axis: int) -> Floats:
    with naming(path):
        node = load(path)
        plausible: list[Floats] = []
        for rest in _tables(node, found, axis):
            if _plausible(rest, found, train) and not any(
                np.array_equal(rest, p) for p in plausible
            ):
                plausible.append(rest)
        if len(plausible) != 1:
            raise Unfit(
                f"one likelihood of the second half is expected for each of {len(found)} "
                f"participants and 6 models, found {len(plausible)} in {described(node)}"
            )
        return plausible[0]


def _tables(node: Node, found: Participants, axis: int) -> Iterator[Floats]:
    """Every reading of the tree as a table [participant, model]: of single numbers, or of one
    entry of the lists at some level."""
    trees = [node]
    for depth in range(3):
        for which in range(3):
            try:
                trees.append(component(node, depth, which))
            except Unfit:
                continue
    for tree in trees:
        try:
            table, names = numbers(tree), axis_names(tree, 2)
            if table.shape == found.whole.shape[::-1] and (axis == 0 or len(found) != 6):
                table, names = table.T, names[::-1]
            if table.shape != found.whole.shape or names[0] not in (None, found.names):
                continue
            order = published.model_order(names[1])
        except Unfit:
            continue
        if order:
            yield table[:, [order[model] for model in found.models]]


def _plausible(rest: Floats, found: Participants, train: Floats) -> bool:
    """No estimates do better on all trials than those from all trials; and a single rate is not
    far worse than a coin on the second half. Errors, horizons and means fail one or the other."""
    coin = (found.n_trials - found.n_trials // 2) * np.log(2)
    simplest = rest[:, found.models.index("OneForAll")]
    reaches = np.mean(found.whole <= train + rest + SLACK) >= MOST
    return bool(reaches and np.median(simplest / coin) < 1.5)


def _two_axes(fits: FitArrays) -> None:
    if fits.values.ndim != 2:
        shape = " × ".join(map(str, fits.values.shape))
        raise Unfit(f"participants × 6 models are expected, found {shape}")


def _require(holds: Bools, what: str) -> None:
    if np.mean(holds) < MOST:
        raise Unfit(f"likelihoods {what}, are expected; {np.mean(~holds):z.0%} are not")


REWARDS = (0, 15)  # the first reward of a cell may be an item's number (SPEC 8.B1)


@dataclass(frozen=True, eq=False)
class Archive:
    """What was found below a path; by our names of the models, in the order of the task.

    ``notes`` are sentences: what was found, what was left out and what would help.
    """

    path: Path
    learners: Mapping[str, Study]  # rewards as recorded
    files: Mapping[str, tuple[str, ...]]  # of the learners, in their order
    stored: published.StoredFits | None
    participants: Participants | None
    notes: tuple[str, ...]


def read_archive(path: str | PathLike[str]) -> Archive:
    """Read ``PATH/…/syntheticdatabis/<model>_bis/*.csv`` and the stored fits around it.

    The path is that of syntheticdatabis or of a folder up to four levels above it. Learners must
    be readable; stored fits that are not understood are left out with a note.
    """
    path = Path(path)
    synthetic = published.synthetic_folder(path)
    task = Task.load("five-four")
    folders = published.model_folders(synthetic)
    paths = {model.name: published.learner_files(folders[model.name]) for model in task.models}
    learners = {name: _learners(folders[name], files, task) for name, files in paths.items()}
    files = {name: tuple(file.name for file in of) for name, of in paths.items()}
    count = sum(len(of) for of in files.values())
    notes = [
        f"{synthetic}: {count:,} learners of {len(files)} models",
        published.left_out(synthetic),
    ]
    around = published.files_around(path, synthetic)
    if published.PUBLISHED in around:
        stored, more = published.read_published(around[published.PUBLISHED], task, learners, files)
    else:
        stored, more = read_recorded(around, task, learners, files)
    participants, others = read_participants(around, task)
    notes = tuple(dict.fromkeys(note for note in (*notes, *more, *others) if note))
    return Archive(path, learners, files, stored, participants, notes)


def _learners(folder: Path, files: tuple[Path, ...], task: Task) -> Study:
    try:
        study = read(
            files,
            task=task,
            learner="file",
            context="Item",
            action="Action",
            reward="Reward",
            trial="none",
            reward_range=REWARDS,
        )
    except HowlearnError as error:
        raise HowlearnError(
            f"{folder}: expected are CSV files with the columns Action (1 or 2), Reward and Item: "
            f"{error}"
        ) from None
    expected = tuple(file.stem for file in files)
    if study.learners != expected:
        raise HowlearnError(f"{folder}: files and learners do not correspond: {study.learners}")
    for learner, trials in zip(files, study.n_scored, strict=True):
        if trials != published.TRIALS:
            raise HowlearnError(
                f"{learner}: {trials:,} trials found; {published.TRIALS} are expected"
            )
    return study


# Figures 3c and 3d: the models selected for the paper's 176 participants, from stored fits.


def bars(people: Participants) -> tuple[dict[published.Key, float], dict[published.Key, float]]:
    """Heights as the authors draw them, and shares in which every participant counts once."""
    as_drawn: dict[published.Key, float] = {}
    counted: dict[published.Key, float] = {}
    for figure, setting, score in _scores(people):
        theirs = [people.models.index(name) for name in published.MODELS]
        first = np.argmax(score[:, theirs], axis=1)  # of equal models the first in their list
        weights = np.arange(1, len(score) + 1)  # a participant weighs as much as its number
        sizes = np.tile(_sizes(people.models), (len(score), 1))
        selected = winners(score, sizes)
        for k, name in enumerate(published.MODELS):
            key = published.Key(figure, published.BAR, setting, "", name)
            as_drawn[key] = float(weights[first == k].sum() / weights.sum())
            counted[key] = float(np.mean(selected == people.models.index(name)))
    return as_drawn, counted


def _scores(people: Participants) -> list[tuple[str, str, Floats]]:
    price = published.CHOSEN_C * np.log(people.n_trials) ** 2
    penalized = -people.whole - price[:, None] * _sizes(people.models)
    found = [("3d", f"c={published.CHOSEN_C}", penalized)]
    if people.rest is not None:
        found.insert(0, ("3c", "holdout(split=0.5)", -people.rest))
    return found


def _sizes(models: tuple[str, ...]) -> Ints:
    task = Task.load("five-four")
    found = [task.model(name) for name in models]
    return np.array([model.n_parameters(len(task.actions)) for model in found])
