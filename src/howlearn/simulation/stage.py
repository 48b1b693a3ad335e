"""Where learners are simulated: everything that is the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.whole import Setting, Whole
from howlearn.fitting.replay import Advisor
from howlearn.fitting.settings import (
    by_cells,
    cells_by_rule,
    check_needs,
    setting_for,
    whole_of,
    whole_of_unit,
)
from howlearn.models.adjustments import Adjusted
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model
from howlearn.models.partition_model import PartitionModel
from howlearn.models.schedule import answers_of
from howlearn.models.task import Task
from howlearn.simulation import sequences
from howlearn.simulation.rewards import RecordedRewards, Rewards, TaskRewards, item_numbers


@dataclass(frozen=True, eq=False)
class Stage:
    """Everything that is the same for all learners."""

    model: Model
    actions: tuple[str, ...]
    contexts: tuple[str, ...]
    reward_range: tuple[float, float]
    features: Mapping[str, Mapping[str, str]]
    trials: int  # where no study says how many
    task: Task | None
    like: Study | None
    rewards: Rewards
    codes: NDArray[np.int64]  # of the recorded contexts
    cells: list[tuple[Rule, NDArray[np.int64], NDArray[np.int64]]]  # see cells_by_rule
    wholes: list[tuple[Whole, NDArray[np.int64]]]  # see _wholes
    advisor: Advisor | None  # of a mixture
    setting: Setting
    as_published: bool
    tells: bool  # whether learners are also told what the other actions would have earned

    def sequence(self, recorded: int, random: np.random.Generator) -> sequences.Sequence:
        """What a learner is shown: what a recorded one was, or the task's order."""
        if self.like is not None:
            return sequences.as_recorded(self.like, recorded, self.codes)
        assert self.task is not None
        return sequences.by_task(self.task, self.trials, random)


def stage_for(
    task: Task | str | None,
    model: str | Model,
    trials: int | None,
    like: Study | None,
    as_published: bool,
    tells: bool = False,
) -> Stage:
    """Where learners are simulated, checked: in a task, or among the records of a study."""
    task = Task.load(task) if isinstance(task, str) else task
    told = task is not None and (bool(task.rewards) or like is None)
    world = task if told and task is not None else like
    if world is None:
        raise HowlearnError("a simulation needs a task, or a recorded study to imitate")
    if isinstance(model, str):
        if task is None:
            raise HowlearnError("without a task a model is given itself, not by its name")
        model = task.model(model)
    base = model.base if isinstance(model, Adjusted) else model
    if isinstance(base, PartitionModel):
        base.check_covers(world.contexts)
    if as_published and not told:
        raise HowlearnError("the mistake in the paper's generator can be made in a task only")
    if like is not None and not len(like):
        raise HowlearnError("the recorded study has no learners to imitate")
    if like is not None and trials is not None:
        raise HowlearnError("learners who imitate a study have as many trials as were recorded")
    if told:
        assert task is not None
        rewards: Rewards = TaskRewards(task)
        codes = sequences.codes_in(task, like) if like is not None else np.arange(0)
    else:
        assert like is not None
        rewards, codes = RecordedRewards(like), np.arange(len(like.contexts))
    ends = [*world.reward_range, *(like.reward_range if like is not None else ())]
    if as_published and isinstance(world, Task):
        ends += item_numbers(world).tolist()
    setting = setting_for(
        world.contexts,
        world.actions,
        world.features,
        (float(min(ends)), float(max(ends))),
        rewards.right_wrong,
        answers_of(task) if told else like.answers if like is not None else None,
    )
    advisor = None
    if isinstance(model, Mixture | FixedPolicy):
        if as_published:
            raise HowlearnError(f"{model.name}: the paper's generator has no mixtures")
        advisor = Advisor(model, world.contexts, world.actions, setting)
    return Stage(
        model,
        world.actions,
        world.contexts,
        (float(min(ends)), float(max(ends))),
        world.features,
        trials if trials is not None else task.trials if task else 1,
        task,
        like,
        rewards,
        codes,
        cells_by_rule(model, world.contexts),
        _wholes(model, world.contexts, world.actions, setting),
        advisor,
        setting,
        as_published,
        tells or (like is not None and like.forgone is not None),
    )


def _wholes(
    model: Model, contexts: Sequence[str], actions: Sequence[str], setting: Setting
) -> list[tuple[Whole, NDArray[np.int64]]]:
    """The parts that are played whole, each with the places of its parameters."""
    if by_cells(model) or isinstance(model, Coin | Mixture | FixedPolicy):
        return []
    if not isinstance(model, PartitionModel):
        check_needs(model, setting)
        whole = whole_of(model, contexts, actions, setting)
        return [(whole, np.arange(len(whole.parameters)))]
    places = model.by_unit(np.arange(len(model.owned), dtype=float))
    for unit in model.units:
        if isinstance(unit.rule, Model):
            check_needs(unit.rule, setting)
    return [
        (whole_of_unit(unit, contexts, setting), mine.astype(np.int64)) for unit, mine in places
    ]
