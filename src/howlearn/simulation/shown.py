"""What simulated learners are shown: the task's order, or a recorded study's own sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, Trials
from howlearn.engine.layout import LEARNED, RESET, SCORED
from howlearn.models.task import Task
from howlearn.models.values import Schedule
from howlearn.simulation.changing_rewards import changing_rewards


@dataclass(frozen=True, eq=False)
class ShownTrials:
    """One learner's trials before any choice is made; instructed choices are already there."""

    context: NDArray[np.int64]  # in the codes of the simulation
    flags: NDArray[np.uint8]
    action: NDArray[np.int16]
    reward: NDArray[np.float64]
    episode_end: NDArray[np.bool_] | None = None
    duration: NDArray[np.float64] | None = None
    offered: NDArray[np.bool_] | None = None  # [trial, action]; None: always everything
    load: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.context)

    def until(self, end: int) -> ShownTrials:
        """The first trials."""
        return replace(self, **{n: a if a is None else a[:end] for n, a in vars(self).items()})


def by_task(task: Task, trials: int, random: np.random.Generator) -> ShownTrials:
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
    shown = ShownTrials(context, flags, np.zeros(trials, np.int16), np.zeros(trials))
    return _with_offers(task, shown, random) if task.offers else shown


def _with_offers(task: Task, shown: ShownTrials, random: np.random.Generator) -> ShownTrials:
    """Every set of a context is on offer about as often, in random order.

    Where there is one action only, it is taken, and not scored.
    """
    offered = np.ones((len(shown), len(task.actions)), np.bool_)
    for i, name in enumerate(task.contexts):
        mine = np.flatnonzero(shown.context == i)
        sets = np.array(task.offered_in(name))
        rounds = [random.permutation(len(sets)) for _ in range(-(-len(mine) // len(sets)))]
        if len(mine):
            offered[mine] = sets[np.concatenate(rounds)[: len(mine)]]
    alone = offered.sum(axis=1) == 1
    flags = np.where(alone, shown.flags & ~np.uint8(SCORED), shown.flags).astype(np.uint8)
    action = np.where(alone, offered.argmax(axis=1), 0).astype(np.int16)
    return replace(shown, flags=flags, action=action, offered=offered)


def as_recorded(study: Study, learner: int, code: NDArray[np.int64]) -> ShownTrials:
    """The contexts of a recorded learner, with its instructed choices, tests and new starts."""
    trials = study[learner]
    mine = slice(int(study.starts[learner]), int(study.starts[learner + 1]))
    flags = SCORED * trials.scored + LEARNED * trials.learned + RESET * trials.reset
    return ShownTrials(
        code[trials.context],
        flags.astype(np.uint8),
        trials.action.astype(np.int16),
        trials.reward.copy(),
        None if study.episode_end is None else study.episode_end[mine],
        None if study.duration is None else study.duration[mine],
        trials.offered,
        None if study.load is None else study.load[mine],
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


# What every action would earn at every trial: by the task, or as a study's records suggest.


class Rewards(Protocol):
    """Where the rewards of simulated learners come from."""

    @property
    def right_wrong(self) -> tuple[float, float] | None:
        """The rewards for wrong and right, where there are no others."""
        ...

    def gains(self, learner: int, sequence: ShownTrials, u: Floats) -> Floats:
        """What each action would earn: [trial, action]; u[trial] is uniform."""
        ...

    def correct(self, sequence: ShownTrials, actions: NDArray[np.int16]) -> NDArray[np.bool_]:
        """Which choices a stopping rule counts as correct."""
        ...


class TaskRewards:
    """The rewards that a task file states, reversals included."""

    def __init__(self, task: Task) -> None:
        self.schedule = task.schedule()
        self.certain = bool(np.all(self.schedule.probability == 1))
        self.numbers = item_numbers(task)
        self.right_wrong = _two(self.schedule)

    def gains(self, learner: int, sequence: ShownTrials, u: Floats) -> Floats:
        at = (self._phase(sequence), sequence.context)
        if self.certain:
            return self.schedule.reward[at]
        paid = u[:, None] < self.schedule.probability[at]
        return np.where(paid, self.schedule.reward[at], self.schedule.otherwise[at])

    def correct(self, sequence: ShownTrials, actions: NDArray[np.int16]) -> NDArray[np.bool_]:
        if sequence.offered is not None:
            at = self._phase(sequence), sequence.context
            best = self.schedule.best_of(*at, sequence.offered)
            return best[np.arange(len(actions)), actions]
        return self.schedule.best[self._phase(sequence), sequence.context, actions]

    def _phase(self, sequence: ShownTrials) -> NDArray[np.int64]:
        if len(self.schedule.from_trial) == 1:
            return np.zeros(len(sequence), np.int64)
        trial = np.arange(len(sequence))
        return np.searchsorted(self.schedule.from_trial, trial, side="right") - 1

    def first_gains(self, sequence: ShownTrials) -> Floats:
        """The authors' generator at the first trial of a cell looks one column too far left.

        Their table has the item's number, then the reward of each action. So the first action earns
        the item's number (15 for item 15), any other action what the one before it should earn.
        """
        at = (self._phase(sequence), sequence.context)
        number = self.numbers[sequence.context]
        return np.column_stack([number, self.schedule.reward[at][:, :-1]])


def _two(schedule: Schedule) -> tuple[float, float] | None:
    paid = schedule.reward[schedule.probability > 0]
    unpaid = schedule.otherwise[schedule.probability < 1]
    found = np.unique(np.concatenate([paid, unpaid]))
    return (float(found[0]), float(found[1])) if len(found) == 2 else None


def item_numbers(task: Task) -> Floats:
    """The contexts' names as numbers, or their places from 1.

    >>> item_numbers(Task.load("five-four")).tolist()
    [1.0, 2.0, 7.0, 8.0, 11.0, 12.0, 13.0, 14.0, 15.0]
    """
    try:
        numbers = np.array([float(name) for name in task.contexts])
    except ValueError:
        numbers = np.full(1, np.nan)
    return numbers if np.isfinite(numbers).all() else np.arange(1.0, len(task.contexts) + 1)


class RecordedRewards:
    """Rewards drawn from what a learner was paid for the same action in the same situation.

    A situation is a context between two new starts: where learning restarts, what an action
    earns may be another thing. An action that the learner never tried there earns what the records
    imply, if feedback says right or wrong and one action is right; otherwise what other learners
    were paid for it, or what the action was paid in other contexts. Where outcomes change over the
    trials, as in reversals, they follow hidden states learned from all learners; otherwise rewards
    are the same throughout a situation. What was told about actions not chosen is used as it is.
    """

    def __init__(self, study: Study) -> None:
        self.study, self.right_wrong = study, study.right_wrong
        self.shape = (len(study.contexts), len(study.actions))
        paid = study.learned & np.isfinite(study.reward)
        first = np.zeros(len(study.context), bool)
        first[study.starts[:-1][np.diff(study.starts) > 0]] = True
        run = np.cumsum(study.reset | first, dtype=np.int64)[paid]  # trials without a new start
        pair = (study.context.astype(np.int64) * self.shape[1] + study.action)[paid]
        reward = study.reward[paid]
        self.pooled = _RewardsByCode(pair, reward, int(np.prod(self.shape)))
        self.of_action = _RewardsByCode(pair % self.shape[1], reward, self.shape[1])
        self.everything = np.sort(reward) if len(reward) else np.zeros(1)
        # What a learner can be paid: for situations and actions in their order
        self.latest = (-1, np.empty(0, np.int64), self.of_action)
        self.values = _right_or_wrong(run, pair, reward, self.shape)
        self.implied = self.borrowed = 0  # actions that a learner never tried in a situation
        self.changing = None if self.values else changing_rewards(study, self._sequences())

    def _sequences(self) -> list[NDArray[np.int64]]:
        """The trials of each learner, context and new start."""
        found = []
        for start, trials in zip(self.study.starts.tolist(), self.study, strict=False):
            situations = self._situations(trials.context, trials.reset)
            found += [start + rows for _, rows in _rows_by_value(situations)]
        return found

    def gains(self, learner: int, sequence: ShownTrials, u: Floats) -> Floats:
        start = int(self.study.starts[learner])
        mine = np.arange(start, start + len(sequence))
        if self.changing is not None:
            gains = self.changing.gains(mine, u)
        else:
            gains = self._same_throughout(learner, sequence, u)
        if self.study.forgone is not None:
            told = np.array(self.study.forgone[mine])
            told[np.arange(len(mine)), self.study.action[mine]] = self.study.reward[mine]
            gains = np.where(np.isfinite(told), told, gains)
        return gains

    def _same_throughout(self, learner: int, sequence: ShownTrials, u: Floats) -> Floats:
        latest = self.latest
        if latest[0] != learner:  # many doubles of a learner are simulated one after the other
            pays = self.complete(self.study[learner])
            codes = np.array([*pays], np.int64)
            latest = self.latest = (learner, codes, _RewardsByCode.joined([*pays.values()]))
        _, codes, rewards = latest
        reset = (sequence.flags & RESET) > 0
        situations = self._situations(sequence.context, reset)[:, None]
        pairs = situations * self.shape[1] + np.arange(self.shape[1])
        return rewards.drawn(np.searchsorted(codes, pairs), u[:, None])

    def _situations(
        self, context: NDArray[np.integer], reset: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Of each trial: its context, and how often the learner has restarted before."""
        return (np.cumsum(reset) - reset[:1].sum()) * self.shape[0] + context

    def complete(self, trials: Trials) -> dict[int, Floats]:
        """What a learner can be paid, for every situation it met and every action."""
        situations = self._situations(trials.context, trials.reset)
        paid = trials.learned & np.isfinite(trials.reward)
        met = np.unique(situations)
        place = np.searchsorted(met, situations)
        own = _RewardsByCode(
            (place * self.shape[1] + trials.action)[paid],
            trials.reward[paid],
            len(met) * self.shape[1],
        )
        pays: dict[int, Floats] = {}
        offered = trials.offered
        for k, situation in enumerate(met.tolist()):
            paid_for = [own.of(k * self.shape[1] + action) for action in range(self.shape[1])]
            there: list[bool] = [True] * self.shape[1]
            if offered is not None:
                there = [bool(a) for a in np.any(offered[place == k], axis=0)]
            n_untried = sum(not len(known) for known in compress(paid_for, there))
            tried = np.concatenate(paid_for)
            for action, known in enumerate(paid_for):
                if not there[action]:  # it never can be chosen here
                    known = self.everything
                elif not len(known):
                    context = situation % self.shape[0]
                    known = self._untried(context * self.shape[1] + action, tried, n_untried)
                pays[situation * self.shape[1] + action] = known
        return pays

    def _untried(self, pair: int, tried: Floats, n_untried: int) -> Floats:
        if self.values is not None:
            wrong, right = self.values
            if right in tried:
                self.implied += 1
                return np.array([wrong])
            if n_untried == 1:
                self.implied += 1
                return np.array([right])
        self.borrowed += 1
        for known in (self.pooled.of(pair), self.of_action.of(pair % self.shape[1])):
            if len(known):
                return known
        return self.everything

    def correct(self, sequence: ShownTrials, actions: NDArray[np.int16]) -> NDArray[np.bool_]:
        return np.zeros(len(actions), bool)  # nobody said what is correct: no stopping rule


class _RewardsByCode:
    """Rewards sorted by a code."""

    def __init__(self, code: NDArray[np.integer], reward: Floats, n_codes: int) -> None:
        order = np.argsort(code, kind="stable")
        self.reward = reward[order]
        self.starts = np.searchsorted(code[order], np.arange(n_codes + 1))

    @classmethod
    def joined(cls, rewards: Sequence[Floats]) -> _RewardsByCode:
        """Those of code 0, 1, …"""
        codes = np.repeat(np.arange(len(rewards)), [len(each) for each in rewards])
        return cls(codes, np.concatenate([np.empty(0), *rewards]), len(rewards))

    def of(self, code: int) -> Floats:
        return self.reward[self.starts[code] : self.starts[code + 1]]

    def drawn(self, code: NDArray[np.int64], u: Floats) -> Floats:
        """One of the rewards of each code, by numbers between 0 and 1."""
        start = self.starts[code]
        return self.reward[start + (u * (self.starts[code + 1] - start)).astype(np.int64)]


def _right_or_wrong(
    run: NDArray[np.int64], pair: NDArray[np.int64], reward: Floats, shape: tuple[int, int]
) -> tuple[float, float] | None:
    """The two rewards for wrong and right, if that is what the feedback says; else nothing."""
    values = np.unique(reward)
    if len(values) != 2:
        return None
    right = reward == values[1]
    own_pair = run * (shape[0] * shape[1]) + pair
    sometimes_right, sometimes_wrong = np.unique(own_pair[right]), np.unique(own_pair[~right])
    if len(np.intersect1d(sometimes_right, sometimes_wrong)):
        return None
    contexts = sometimes_right // shape[1]
    return (values[0], values[1]) if len(np.unique(contexts)) == len(contexts) else None


def _rows_by_value(values: NDArray[np.int64]) -> list[tuple[int, NDArray[np.int64]]]:
    order = np.argsort(values, kind="stable")
    found, starts = np.unique(values[order], return_index=True)
    parts = np.split(order, starts)[1:]  # nothing lies before the first start
    return list(zip(found.tolist(), parts, strict=True))
