"""``simulate``: learners who follow a model in a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.engine import compile as compiled
from howlearn.errors import HowlearnError
from howlearn.model import Model
from howlearn.models import Coin, PartitionModel
from howlearn.study import Study
from howlearn.task import Task
from howlearn.task.schedule import Schedule

Parameters = Mapping[str, float | Sequence[float]]  # one value for all cells, or one per cell


def simulate(
    task: Task | str,
    model: str | Model,
    parameters: Parameters,
    learners: int = 10,
    trials: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Learners who follow ``model`` in ``task``; learner i depends on (seed, i) alone.

    >>> from howlearn import Task
    >>> study = simulate(Task.load("five-four"), "ByShape", {"eta": 0.03}, learners=3, trials=50)
    >>> len(study), study.n_scored.tolist()
    (3, [50, 50, 50])
    """
    task = Task.load(task) if isinstance(task, str) else task
    model = task.model(model) if isinstance(model, str) else model
    trials = task.trials if trials is None else trials
    _check(learners, trials, seed)
    if isinstance(model, PartitionModel):
        model.check_covers(task.contexts)
    theta = parameter_vector(model, parameters, task.actions)
    schedule = task.schedule()
    phase = np.searchsorted(schedule.from_trial, np.arange(trials), side="right") - 1
    context = np.empty((learners, trials), np.int32)
    action = np.empty((learners, trials), np.int16)
    reward = np.empty((learners, trials))
    length = np.full(learners, trials)
    for i in range(learners):
        random = np.random.default_rng([seed, i])
        context[i] = _presentation(task, trials, random)
        draws = random.random((trials, 2))
        _play(task, model, theta, schedule, phase, context[i], draws, action[i], reward[i])
        if task.stop is not None:
            length[i] = _stop(schedule.best[phase, context[i], action[i]], task.stop)
        if progress:
            progress(i + 1, learners)
    kept = np.arange(trials) < length[:, None]
    starts = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    first = np.zeros(int(starts[-1]), bool)
    first[starts[:-1]] = True
    return Study(
        learners=tuple(str(i + 1) for i in range(learners)),
        starts=starts,
        contexts=task.contexts,
        actions=task.actions,
        context=context[kept],
        action=action[kept],
        reward=reward[kept],
        scored=np.ones(len(first), bool),
        learned=np.ones(len(first), bool),
        reset=first,
        reward_range=task.reward_range,
        features=task.features,
    )


def parameter_vector(
    model: Model, parameters: Parameters, actions: Sequence[str]
) -> NDArray[np.float64]:
    """The values of a model's parameters in its own order, checked against their bounds."""
    if isinstance(model, Coin):
        owners = [("all", f"p({a})", 0.0, 1.0) for a in actions[:-1]]
    elif isinstance(model, PartitionModel):
        owners = [(unit.name, p.name, p.lower, p.upper) for unit, p in model.parameters]
    else:
        raise HowlearnError(f"model {model.name} cannot be simulated")
    names = list(dict.fromkeys(name for _, name, _, _ in owners))
    for name in [*parameters, *names]:
        if name not in names or name not in parameters:
            raise HowlearnError(
                f"model {model.name} needs a value for {', '.join(names)}; "
                f"given: {', '.join(parameters) or 'none'}"
            )
    vector = np.empty(len(owners))
    for name in names:
        mine = [k for k, owner in enumerate(owners) if owner[1] == name]
        given = parameters[name]
        values = [given] * len(mine) if isinstance(given, int | float) else list(given)
        if len(values) == 1:
            values *= len(mine)
        if len(values) != len(mine):
            cells = ", ".join(owners[k][0] for k in mine)
            several = f", or {len(mine)}, one per cell ({cells})" if len(mine) > 1 else ""
            raise HowlearnError(
                f"{name} of model {model.name} needs one value{several}; given: {len(values)}"
            )
        vector[mine] = values
        for k in mine:
            cell, _, lower, upper = owners[k]
            if not lower <= vector[k] <= upper:
                raise HowlearnError(
                    f"{name} of cell {cell} must lie between {lower:g} and {upper:g}, "
                    f"not at {vector[k]:g}"
                )
    if isinstance(model, Coin) and vector.sum() > 1:
        raise HowlearnError("the probabilities of a coin add up to at most 1")
    return vector


def _check(learners: int, trials: int, seed: int) -> None:
    if learners < 1 or trials < 1:
        raise HowlearnError("a simulation needs at least one learner and one trial")
    if seed < 0:
        raise HowlearnError(f"a seed is a whole number from 0 on, not {seed}")


def _presentation(task: Task, trials: int, random: np.random.Generator) -> NDArray[np.int64]:
    """The contexts of one learner, in the task's order."""
    n = len(task.contexts)
    if task.order == "periodic":
        return np.arange(trials) % n
    if task.order == "independent":
        return random.integers(0, n, trials)
    cycles = [random.permutation(n) for _ in range(-(-trials // n))]
    return np.concatenate(cycles)[:trials]


def _play(
    task: Task,
    model: Model,
    theta: NDArray[np.float64],
    schedule: Schedule,
    phase: NDArray[np.int64],
    context: NDArray[np.int32],
    draws: NDArray[np.float64],
    action: NDArray[np.int16],
    reward: NDArray[np.float64],
) -> None:
    """Fill in one learner's actions and rewards."""
    if isinstance(model, Coin):
        edges = np.cumsum(theta)
        action[:] = np.searchsorted(edges, draws[:, 0], side="right")
        at = (phase, context, action)
        paid = draws[:, 1] < schedule.probability[at]
        reward[:] = np.where(paid, schedule.reward[at], schedule.otherwise[at])
        return
    assert isinstance(model, PartitionModel)
    code = {name: i for i, name in enumerate(task.contexts)}
    low, high = task.reward_range
    for unit, mine in model.by_unit(theta):
        cell_of = np.full(len(code), -1)
        for k, cell in enumerate(unit.cells):
            cell_of[[code[c] for c in cell if c in code]] = k
        gain = unit.rule.form == "gain"
        compiled.single(unit.rule).play(
            context,
            draws,
            phase,
            schedule.probability,
            schedule.reward,
            schedule.otherwise,
            1.0 if gain else 1.0 / (high - low),
            0.0 if gain else -high / (high - low),
            cell_of,
            np.tile(mine, (len(unit.cells), 1)),
            action,
            reward,
        )


def _stop(correct: NDArray[np.bool_], in_a_row: int) -> int:
    """How many trials there are until ``in_a_row`` correct ones in a row."""
    run = 0
    for t, right in enumerate(correct):
        run = run + 1 if right else 0
        if run == in_a_row:
            return t + 1
    return len(correct)
