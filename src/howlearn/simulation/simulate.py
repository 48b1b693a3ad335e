"""``simulate``: learners who follow a model in a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine import compile as compiled
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.engine.whole import Records, Setting, Whole
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
from howlearn.models.values import Parameters, checked, drawn, parameter_values
from howlearn.simulation import shown
from howlearn.simulation import shown as sequences
from howlearn.simulation.shown import RecordedRewards, Rewards, TaskRewards, item_numbers

# --------------------
# Where learners are simulated: everything that is the same for all of them.


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

    def sequence(self, recorded: int, random: np.random.Generator) -> shown.ShownTrials:
        """What a learner is shown: what a recorded one was, or the task's order."""
        if self.like is not None:
            return shown.as_recorded(self.like, recorded, self.codes)
        assert self.task is not None
        return shown.by_task(self.task, self.trials, random)


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
        codes = shown.codes_in(task, like) if like is not None else np.arange(0)
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


def simulate(
    task: Task | str | None,
    model: str | Model,
    parameters: Parameters | Floats,
    learners: int | None = None,
    trials: int | None = None,
    seed: int | Sequence[int] = 0,
    progress: Callable[[int, int], None] | None = None,
    *,
    like: Study | None = None,
    who: NDArray[np.integer] | None = None,
    as_published: bool = False,
    forgone: bool = False,
    first: int = 0,
    numbers: Sequence[int] | None = None,
) -> Study:
    """Learners who follow ``model`` in ``task``; learner i depends on (seed, i) alone.

    A parameter is one value, one per cell, or a ``Range`` from which each learner draws; an array
    gives every learner's own. With ``like`` the learners are shown what those of a recorded study
    were shown, one after the other and over again, or those that ``who`` numbers; the task's
    rewards and stopping rule apply anew, and without a task rewards are drawn from the records.
    ``as_published`` repeats the mistake of the paper's generator: the first reward of every cell is
    wrong. With ``forgone`` learners are also told what the other actions would have earned, as
    they are where the recorded ones were. ``first`` is the number of the first learner, or
    ``numbers`` has those of all.

    >>> from howlearn import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.03}, learners=3, trials=50)
    >>> len(study), study.n_scored.tolist()
    (3, [50, 50, 50])
    """
    stage = stage_for(task, model, trials, like, as_published, forgone)
    given = None
    if isinstance(parameters, np.ndarray):
        given = checked(stage.model, parameters, stage.actions)
    if learners is None:
        learners = len(given) if given is not None else len(like) if like is not None else 10
    seeds = (int(seed),) if isinstance(seed, int | np.integer) else tuple(seed)
    _check(learners, stage.trials, seeds, first, given)
    if numbers is None:
        numbers = range(first, first + learners)
    elif len(numbers) != learners:
        raise HowlearnError(f"there are {len(numbers)} numbers for {learners} learners")
    if not isinstance(parameters, np.ndarray):
        given = drawn(parameter_values(stage.model, parameters, stage.actions), numbers, seeds)
    assert given is not None
    if who is None:
        who = np.arange(learners) % (len(like) if like is not None else learners)
    played: list[tuple[sequences.ShownTrials, Floats]] = []
    for k, i in enumerate(numbers):
        random = np.random.default_rng([*seeds, i])
        played.append(_learner(stage, int(who[k]), given[k], random))
        if progress:
            progress(k + 1, learners)
    return _study(stage, played, numbers)


def _check(
    learners: int, trials: int, seeds: Sequence[int], first: int, given: Floats | None
) -> None:
    if learners < 1 or trials < 1:
        raise HowlearnError("a simulation needs at least one learner and one trial")
    if given is not None and len(given) != learners:
        raise HowlearnError(f"there are parameters for {len(given)} learners, not for {learners}")
    for seed in seeds:
        if seed < 0:
            raise HowlearnError(f"a seed is a whole number from 0 on, not {seed}")
    if first < 0:
        raise HowlearnError(f"learners are numbered from 0 on, not from {first}")


def _learner(
    stage: Stage, recorded: int, theta: Floats, random: np.random.Generator
) -> tuple[sequences.ShownTrials, Floats]:
    """One learner's choices and rewards, up to where the task's stopping rule ends them; and what
    every action would have earned."""
    shown = stage.sequence(recorded, random)
    draws = np.ascontiguousarray(random.random((len(shown), 2)).T)  # one compiled layout for all
    gains = stage.rewards.gains(recorded, shown, draws[1])
    if isinstance(stage.model, Coin):
        _toss(theta, draws[0], gains, shown)
    elif stage.advisor is not None:
        _follow(stage, stage.advisor, theta, draws[0], gains, shown)
    else:
        _choose(stage, theta, draws[0], gains, shown)
    if stage.task is None or stage.task.stop is None:
        return shown, gains
    end = _stop(stage.rewards.correct(shown, shown.action), shown.flags, stage.task.stop)
    return shown.until(end), gains[:end]


def _toss(theta: Floats, draws: Floats, gains: Floats, shown: sequences.ShownTrials) -> None:
    free = (shown.flags & SCORED) > 0
    tossed = np.searchsorted(np.cumsum(theta), draws, side="right")
    shown.action[free] = tossed[free]
    shown.reward[free] = gains[free, tossed[free]]
    shown.reward[(shown.flags & LEARNED) == 0] = np.nan


def _follow(
    stage: Stage,
    advisor: Advisor,
    theta: Floats,
    draws: Floats,
    gains: Floats,
    shown: sequences.ShownTrials,
) -> None:
    """Choices of a mixture, whose strategies all see what was chosen.

    The draws are made beforehand, so that there is one sequence that agrees with them. It is found
    by replaying the strategies on what was found so far: every round makes at least one more trial
    right, and most rounds far more.
    """
    free, learned = (shown.flags & SCORED) > 0, (shown.flags & LEARNED) > 0
    n, n_actions = gains.shape
    shown.action[free] = np.minimum(draws * n_actions, n_actions - 1)[free]
    instructed = shown.reward.copy()
    for _ in range(n + 1):
        paid = gains[np.arange(n), shown.action]
        shown.reward[:] = np.where(learned, np.where(free, paid, instructed), np.nan)
        told = np.empty((0, n_actions))
        if stage.tells:
            told = np.where(learned[:, None], gains, np.nan)
            told[np.arange(n), shown.action] = np.nan
        records = replace(records_from(shown), forgone=told)
        p = np.exp(advisor.log_probabilities(records, theta))
        action = (draws[:, None] >= np.cumsum(p[:, :-1], axis=1)).sum(axis=1)
        if np.array_equal(action[free], shown.action[free]):
            return
        shown.action[free] = action[free]


def _choose(
    stage: Stage, theta: Floats, draws: Floats, gains: Floats, shown: sequences.ShownTrials
) -> None:
    first_gains = np.empty((0, gains.shape[1]))
    if stage.as_published and isinstance(stage.rewards, TaskRewards):
        first_gains = stage.rewards.first_gains(shown)
    low, high = stage.reward_range
    for rule, cell_of, places in stage.cells:
        gain = rule.form == "gain"
        compiled.single(rule).play(
            shown.context,
            draws,
            gains,
            first_gains,
            0.0 if gain else high,
            1.0 if gain else high - low,
            cell_of,
            theta[places],
            shown.flags,
            shown.action,
            shown.reward,
        )
    for whole, mine in stage.wholes:
        records = records_from(shown)
        whole.module.play(
            whole.stage(stage.setting),
            records.columns,
            draws,
            gains,
            first_gains,
            stage.tells,
            np.ascontiguousarray(theta[mine]),
            shown.action,
            shown.reward,
        )


def records_from(shown: sequences.ShownTrials) -> Records:
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
    stage: Stage, played: Sequence[tuple[sequences.ShownTrials, Floats]], numbers: Sequence[int]
) -> Study:
    shown = [each for each, _ in played]
    flags = np.concatenate([each.flags for each in shown])
    action = np.concatenate([each.action for each in shown])
    told = None
    if stage.tells:
        told = np.concatenate([gains for _, gains in played])
        told[np.arange(len(action)), action] = np.nan
        told[(flags & LEARNED) == 0] = np.nan
    ends = [each.episode_end for each in shown if each.episode_end is not None]
    times = [each.duration for each in shown if each.duration is not None]
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
        answers=stage.setting.answers.astype(np.int16),
    )
