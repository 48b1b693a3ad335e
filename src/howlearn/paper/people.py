"""Figures 3c and 3d: the models selected for the paper's 176 participants, from stored fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.paper.participants import Participants
from howlearn.paper.published import BAR, CHOSEN_C, MODELS, Key
from howlearn.selection.select import winners


def bars(people: Participants) -> tuple[dict[Key, float], dict[Key, float]]:
    """Heights as the authors draw them, and shares in which every participant counts once."""
    as_drawn: dict[Key, float] = {}
    counted: dict[Key, float] = {}
    for figure, setting, score in _scores(people):
        theirs = [people.models.index(name) for name in MODELS]
        first = np.argmax(score[:, theirs], axis=1)  # of equal models the first in their list
        weights = np.arange(1, len(score) + 1)  # a participant weighs as much as its number
        sizes = np.tile(_sizes(people.models), (len(score), 1))
        selected = winners(score, sizes)
        for k, name in enumerate(MODELS):
            key = Key(figure, BAR, setting, "", name)
            as_drawn[key] = float(weights[first == k].sum() / weights.sum())
            counted[key] = float(np.mean(selected == people.models.index(name)))
    return as_drawn, counted


def _scores(people: Participants) -> list[tuple[str, str, Floats]]:
    price = CHOSEN_C * np.log(people.n_trials) ** 2
    penalized = -people.whole - price[:, None] * _sizes(people.models)
    found = [("3d", f"c={CHOSEN_C}", penalized)]
    if people.rest is not None:
        found.insert(0, ("3c", "holdout(split=0.5)", -people.rest))
    return found


def _sizes(models: tuple[str, ...]) -> NDArray[np.int64]:
    task = Task.load("five-four")
    found = [task.model(name) for name in models]
    return np.array([len(m.owned) if isinstance(m, PartitionModel) else 1 for m in found])
