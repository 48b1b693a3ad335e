"""What a task says is right in each context, where that is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from howlearn.task import Task


def answers_of(task: Task | None) -> NDArray[np.int16] | None:
    """The action that is always right in each context of a task; −1 where several are as good.

    None if the task does not say, leaves rewards to chance, or reverses them.

    >>> from howlearn.task import Task
    >>> answers_of(Task.load("shepard-1"))
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=int16)
    """
    if task is None or not task.rewards or task.reversals:
        return None
    schedule = task.schedule()
    if not np.isin(schedule.probability, (0.0, 1.0)).all():
        return None
    best = schedule.best[0]
    return np.where(best.sum(axis=1) == 1, best.argmax(axis=1), -1).astype(np.int16)
