"""The authors' supplement in its own layout: synthetic learners and stored fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.models.task import Task
from howlearn.paper.layout import (
    TRIALS,
    files_around,
    learner_files,
    left_out,
    model_folders,
    synthetic_folder,
)
from howlearn.paper.participants import Participants, read_participants
from howlearn.paper.recorded import read_recorded
from howlearn.paper.stored import PUBLISHED, StoredFits, read_published
from howlearn.reading.read import read

REWARDS = (0, 15)  # the first reward of a cell may be an item's number (SPEC 8.B1)


@dataclass(frozen=True, eq=False)
class Archive:
    """What was found below a path; by our names of the models, in the order of the task.

    ``notes`` are sentences: what was found, what was left out and what would help.
    """

    path: Path
    learners: Mapping[str, Study]  # rewards as recorded
    files: Mapping[str, tuple[str, ...]]  # of the learners, in their order
    stored: StoredFits | None
    participants: Participants | None
    notes: tuple[str, ...]


def read_archive(path: str | PathLike[str]) -> Archive:
    """Read ``PATH/…/syntheticdatabis/<model>_bis/*.csv`` and the stored fits around it.

    The path is that of syntheticdatabis or of a folder up to four levels above it. Learners must
    be readable; stored fits that are not understood are left out with a note.
    """
    path = Path(path)
    synthetic = synthetic_folder(path)
    task = Task.load("five-four")
    folders = model_folders(synthetic)
    paths = {model.name: learner_files(folders[model.name]) for model in task.models}
    learners = {name: _learners(folders[name], files, task) for name, files in paths.items()}
    files = {name: tuple(file.name for file in of) for name, of in paths.items()}
    count = sum(len(of) for of in files.values())
    notes = [f"{synthetic}: {count:,} learners of {len(files)} models", left_out(synthetic)]
    around = files_around(path, synthetic)
    if PUBLISHED in around:
        stored, more = read_published(around[PUBLISHED], task, learners, files)
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
        if trials != TRIALS:
            raise HowlearnError(f"{learner}: {trials:,} trials found; {TRIALS} are expected")
    return study
