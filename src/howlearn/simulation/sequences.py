"""What simulated learners are shown: the task's order, or a recorded study's own sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.models.task import Task


@dataclass(frozen=True, eq=False)
class Sequence:
    """One learner's trials before any choice is made; instructed choices are already there."""

    context: NDArray[np.int64]  # in the codes of the simulation
    flags: NDArray[np.uint8]
    action: NDArray[np.int16]
    reward: NDArray[np.float64]
    episode_end: NDArray[np.bool_] | None = None
    duration: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.context)

    def until(self, end: int) -> Sequence:
        """The first trials."""
        ends, times = self.episode_end, self.duration
        return Sequence(
            self.context[:end],
            self.flags[:end],
            self.action[:end],
            self.reward[:end],
            None if ends is None else ends[:end],
            None if times is None else times[:end],
        )


def by_task(task: Task, trials: int, random: np.random.Generator) -> Sequence:
    """The contexts in the task's order; every trial is chosen freely and teaches."""
    n = len(task.contexts)
    if task.order == "periodic":
        context = np.arange(trials) % n
    elif task.order == "independent":
        context = random.integers(0, n, trials)
    else:
        cycles = [random.permutation(n) for _ in range(-(-trials // n))]
        context = np.concatenate(cycles)[:trials]
    flags = np.full(trials, SCORED | LEARNED, np.uint8)
    flags[0] |= RESET
    return Sequence(context, flags, np.zeros(trials, np.int16), np.zeros(trials))


def as_recorded(study: Study, learner: int, code: NDArray[np.int64]) -> Sequence:
    """The contexts of a recorded learner, with its instructed choices, tests and new starts."""
    trials = study[learner]
    mine = slice(int(study.starts[learner]), int(study.starts[learner + 1]))
    flags = SCORED * trials.scored + LEARNED * trials.learned + RESET * trials.reset
    return Sequence(
        code[trials.context],
        flags.astype(np.uint8),
        trials.action.astype(np.int16),
        trials.reward.copy(),
        None if study.episode_end is None else study.episode_end[mine],
        None if study.duration is None else study.duration[mine],
    )


def codes_in(task: Task, study: Study) -> NDArray[np.int64]:
    """Of every context of a study: its place among the task's."""
    if study.actions != task.actions:
        raise HowlearnError(
            f"the study has the actions {', '.join(study.actions)}, task {task.name} has "
            f"{', '.join(task.actions)}"
        )
    known = {name: i for i, name in enumerate(task.contexts)}
    for context in study.contexts:
        if context not in known:
            raise HowlearnError(f"task {task.name} has no context {context}")
    return np.array([known[context] for context in study.contexts], dtype=np.int64)
