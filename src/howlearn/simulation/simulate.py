"""``simulate``: learners who follow a model in a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.world import distinct_offers
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.engine.whole import Records, Setting
from howlearn.fitting.replay import Advisor, Scene, advisor
from howlearn.fitting.settings import setting_for
from howlearn.models.model import Model
from howlearn.models.names import among
from howlearn.models.task import Task
from howlearn.models.values import Parameters, checked, drawn, parameter_values
from howlearn.simulation.shown import (
    RecordedRewards,
    Rewards,
    ShownTrials,
    TaskRewards,
    as_recorded,
    by_task,
    codes_in,
    item_numbers,
)


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
    advisor: Advisor  # of the model
    setting: Setting
    as_published: bool
    tells: bool  # whether learners are also told what the other actions would have earned
    shown: dict[int, ShownTrials] = field(default_factory=dict)  # to the last recorded learner

    def sequence(self, recorded: int, random: np.random.Generator) -> ShownTrials:
        """What a learner is shown: what a recorded one was, or the task's order."""
        if self.like is not None:
            if recorded not in self.shown:
                self.shown.clear()  # doubles of one learner follow each other
                self.shown[recorded] = as_recorded(self.like, recorded, self.codes)
            shown = self.shown[recorded]
            return replace(shown, action=shown.action.copy(), reward=shown.reward.copy())
        assert self.task is not None
        return by_task(self.task, self.trials, random)


def stage_for(
    task: Task | str | None,
    model: str | Model,
    trials: int | None = None,
    like: Study | None = None,
    as_published: bool = False,
    tells: bool = False,
) -> Stage:
    """Where learners are simulated, checked: in a task, or among the records of a study."""
    task = Task.load(task) if isinstance(task, str) else task
    told = task is not None and (bool(task.rewards) or like is None)
    world = task if told and task is not None else like
    if world is None:
        raise HowlearnError("a simulation needs a task, or a recorded study to imitate")
    model = _model(model, task, like)
    model.check_covers(world.contexts)
    if as_published and not told:
        raise HowlearnError("the mistake in the paper's generator can be made in a task only")
    if like is not None and not len(like):
        raise HowlearnError("the recorded study has no learners to imitate")
    if like is not None and trials is not None:
        raise HowlearnError("learners who imitate a study have as many trials as were recorded")
    rewards, codes = _rewards(task if told else None, like)
    ends = [*world.reward_range, *(like.reward_range if like is not None else ())]
    if as_published and isinstance(world, Task):
        ends += item_numbers(world).tolist()
    extent = (float(min(ends)), float(max(ends)))
    answers = (
        task.answers if task is not None and told else like.answers if like is not None else None
    )
    loaded = like is None or like.load is not None
    setting = setting_for(
        world.contexts, world.actions, world.features, extent, rewards.right_wrong, answers, loaded,
        0.0 if like is None else like.zero,
    )  # fmt: skip
    ready = advisor(model, world.contexts, world.actions, setting)
    if as_published and not ready.published:
        raise HowlearnError(f"{model.name}: the paper's generator has no mixtures")
    return Stage(
        model,
        world.actions,
        world.contexts,
        extent,
        world.features,
        trials if trials is not None else task.trials if task else 1,
        task,
        like,
        rewards,
        codes,
        ready,
        setting,
        as_published,
        tells or (like is not None and like.forgone is not None),
    )


def _model(model: object, task: Task | None, like: Study | None) -> Model:
    """The model itself, which may be given by its name."""
    if isinstance(model, str):
        if task is not None:
            return task.model(model)
        if like is not None:
            return among(like)(model)
    if not isinstance(model, Model):
        raise HowlearnError(
            f"{model!r} is not a model; give one, such as QLearning(), or the name of one of the "
            "task's models"
        )
    return model


def _rewards(task: Task | None, like: Study | None) -> tuple[Rewards, NDArray[np.int64]]:
    """What actions earn, by the task if there is one; and the codes of the recorded contexts."""
    if task is not None:
        codes = codes_in(task, like) if like is not None else np.arange(0)
        return TaskRewards(task), codes
    assert like is not None
    return RecordedRewards(like), np.arange(len(like.contexts))


def simulate(
    task: Task | str | None,
    model: str | Model,
    parameters: Parameters | Floats | None = None,
    learners: int | None = None,
    trials: int | None = None,
    seed: int | Sequence[int] = 0,
    progress: Callable[[int, int], None] | None = None,
    *,
    like: Study | None = None,
    as_published: bool = False,
    forgone: bool = False,
) -> Study:
    """Learners who follow ``model`` in ``task``; learner i depends on (seed, i) alone.

    A parameter is one value, one per cell, or a ``Range`` from which each learner draws; an array
    gives every learner's own. With ``like`` the learners are shown what those of a recorded study
    were shown, one after the other and over again; the task's rewards and stopping rule apply,
    and without a task rewards are drawn from the records. ``as_published`` repeats the mistake of
    the paper's generator: the first reward of every cell is wrong. With ``forgone`` learners are
    also told what the other actions would have earned, as they are where the recorded ones were.

    >>> from howlearn import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.03}, learners=3, trials=50)
    >>> len(study), study.n_scored.tolist()
    (3, [50, 50, 50])
    """
    stage = stage_for(task, model, trials, like, as_published, forgone)
    if learners is None:
        given = parameters if isinstance(parameters, np.ndarray) and parameters.ndim else like
        learners = 10 if given is None else len(given)
    return play(stage, {} if parameters is None else parameters, range(learners), seed, progress)


def play(
    stage: Stage,
    parameters: Parameters | Floats,
    numbers: Sequence[int],
    seed: int | Sequence[int],
    progress: Callable[[int, int], None] | None = None,
    who: NDArray[np.integer] | None = None,
) -> Study:
    """The learners with these ``numbers``; ``who`` are the recorded ones that they imitate."""
    seeds = (int(seed),) if isinstance(seed, int | np.integer) else tuple(seed)
    if len(numbers) < 1 or stage.trials < 1:
        raise HowlearnError("a simulation needs at least one learner and one trial")
    for each in seeds:
        if each < 0:
            raise HowlearnError(f"a seed must be a whole number, 0 or greater, got {each}")
    theta = _theta(stage, parameters, numbers, seeds)
    if who is None:
        who = np.arange(len(numbers))
        who = who if stage.like is None else who % len(stage.like)
    played: list[tuple[ShownTrials, Floats]] = []
    for k, i in enumerate(numbers):
        random = np.random.default_rng([*seeds, i])
        played.append(_learner(stage, int(who[k]), theta[k], random))
        if progress:
            progress(k + 1, len(numbers))
    return _study(stage, played, numbers)


def _theta(
    stage: Stage, parameters: Parameters | Floats, numbers: Sequence[int], seeds: Sequence[int]
) -> Floats:
    """Every learner's own parameters, checked: given, or drawn."""
    if not isinstance(parameters, np.ndarray):
        return drawn(parameter_values(stage.model, parameters, stage.actions), numbers, seeds)
    theta = checked(stage.model, parameters, stage.actions)
    if len(theta) != len(numbers):
        raise HowlearnError(
            f"there are parameters for {len(theta)} learners, not for {len(numbers)}"
        )
    return theta


def _learner(
    stage: Stage, recorded: int, theta: Floats, random: np.random.Generator
) -> tuple[ShownTrials, Floats]:
    """One learner's choices and rewards, up to where the task's stopping rule ends them; and what
    every action would have earned."""
    shown = stage.sequence(recorded, random)
    draws = np.ascontiguousarray(random.random((len(shown), 2)).T)  # one compiled layout for all
    gains = stage.rewards.gains(recorded, shown, draws[1])
    if stage.like is None and shown.offered is not None:  # what cannot be chosen is earned too
        alone = (shown.flags & SCORED) == 0
        shown.reward[alone] = gains[alone, shown.action[alone]]
    first = np.empty((0, gains.shape[1]))
    if stage.as_published and isinstance(stage.rewards, TaskRewards):
        first = stage.rewards.first_gains(shown)
    scene = Scene(records_from(shown, gains.shape[1]), draws[0], gains, first, stage.tells)
    stage.advisor.play(scene, theta)
    if stage.task is None or stage.task.stop is None:
        return shown, gains
    end = _stop(stage.rewards.correct(shown, shown.action), shown.flags, stage.task.stop)
    return shown.until(end), gains[:end]


def records_from(shown: ShownTrials, n_actions: int) -> Records:
    """What is shown, as the compiled loops take it."""
    return Records(
        np.array([0, len(shown)]),
        shown.context.astype(np.int32),
        shown.action,
        shown.reward,
        shown.flags,
        np.empty((0, 2)),
        np.empty(0, bool) if shown.episode_end is None else shown.episode_end,
        np.empty(0) if shown.duration is None else shown.duration,
        np.empty((0, n_actions), bool) if shown.offered is None else shown.offered,
        np.empty(0) if shown.load is None else shown.load,
    )


def _stop(correct: NDArray[np.bool_], flags: NDArray[np.uint8], in_a_row: int) -> int:
    """How many trials there are until ``in_a_row`` correct ones in a row.

    >>> _stop(np.array([True, False, True, True, True]), np.zeros(5, np.uint8), 2)
    4
    """
    mistakes = np.where(correct, -1, np.arange(len(correct)))
    starts = np.where(flags & RESET, np.arange(len(correct)) - 1, -1)  # a row does not span them
    run = np.arange(len(correct)) - np.maximum.accumulate(np.maximum(mistakes, starts))
    reached = np.flatnonzero(run >= in_a_row)
    return int(reached[0]) + 1 if len(reached) else len(correct)


def _study(
    stage: Stage, played: Sequence[tuple[ShownTrials, Floats]], numbers: Sequence[int]
) -> Study:
    shown = [each for each, _ in played]
    flags = np.concatenate([each.flags for each in shown])
    action = np.concatenate([each.action for each in shown])
    offered, offers, offer = _offered(shown)
    told = None
    if stage.tells:
        told = np.concatenate([gains for _, gains in played])
        told[np.arange(len(action)), action] = np.nan
        told[(flags & LEARNED) == 0] = np.nan
        if offered is not None:
            told[~offered] = np.nan
    ends = [each.episode_end for each in shown if each.episode_end is not None]
    times = [each.duration for each in shown if each.duration is not None]
    loads = [each.load for each in shown if each.load is not None]
    if not loads and any("load" in each.needs for each in (stage.model, *stage.model.parts)):
        loads = [np.full(len(action), float(len(stage.contexts)))]  # one block, of all of them
    return Study(
        learners=tuple(str(i + 1) for i in numbers),
        starts=np.cumsum([0, *(len(each) for each in shown)], dtype=np.int64),
        contexts=stage.contexts,
        actions=stage.actions,
        context=np.concatenate([each.context for each in shown]).astype(np.int32),
        action=action,
        reward=np.concatenate([each.reward for each in shown]),
        scored=(flags & SCORED) > 0,
        learned=(flags & LEARNED) > 0,
        reset=(flags & RESET) > 0,
        reward_range=stage.reward_range,
        features=stage.features,
        forgone=told,
        episode_end=np.concatenate(ends) if ends else None,
        duration=np.concatenate(times) if times else None,
        right_wrong=stage.rewards.right_wrong,
        zero=stage.setting.zero,
        answers=stage.setting.answers.astype(np.int16),
        offers=offers,
        offer=offer,
        load=np.concatenate(loads) if loads else None,
    )


def _offered(
    shown: Sequence[ShownTrials],
) -> tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None, NDArray[np.int32] | None]:
    """What was on offer, and as the few sets that there are."""
    if any(each.offered is None for each in shown):
        return None, None, None
    offered = np.concatenate([each.offered for each in shown if each.offered is not None])
    return offered, *distinct_offers(offered)
