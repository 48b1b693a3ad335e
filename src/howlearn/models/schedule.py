"""What every action earns in every context, from which trial on: what a simulated learner meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SAME = 1e-12  # expected rewards closer than this are equal: 0.1 + 0.2 is as good as 0.3


@dataclass(frozen=True)
class Reward:
    """What an action earns: ``reward`` with a probability, ``otherwise`` in the other trials.

    >>> Reward(probability=0.8).expected
    0.8
    """

    probability: float = 1.0
    reward: float = 1.0
    otherwise: float = 0.0

    @property
    def expected(self) -> float:
        """The mean reward."""
        return self.probability * self.reward + (1 - self.probability) * self.otherwise


Rewards = Mapping[str, Mapping[str, Reward]]  # of every context, of every action


@dataclass(frozen=True)
class Reversal:
    """From a trial on two actions exchange their rewards, or other actions are correct."""

    trial: int  # the first trial with the new rewards, counted from 1
    swap: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()  # where the two actions exchange their rewards
    correct: Mapping[str, str] = field(default_factory=dict)

    def applied(self, rewards: Rewards) -> Rewards:
        """The rewards after the reversal."""
        changed = dict(rewards)
        for context in self.contexts:
            one, other = self.swap
            row = rewards[context]
            changed[context] = {**row, one: row[other], other: row[one]}
        for context, action in self.correct.items():
            changed[context] = correct_rewards(tuple(rewards[context]), action)
        return changed


def correct_rewards(actions: Sequence[str], correct: str) -> dict[str, Reward]:
    """1 for the correct action and 0 for every other, always.

    >>> [reward.expected for reward in correct_rewards(["A", "B"], "B").values()]
    [0.0, 1.0]
    """
    return {action: certain(float(action == correct)) for action in actions}


def certain(reward: float) -> Reward:
    """The same reward in every trial."""
    return Reward(1.0, reward, reward)


@dataclass(frozen=True, eq=False)
class Schedule:
    """The rewards as arrays: phase × context × action, in the order of the task.

    An action earns ``reward`` with ``probability``, and ``otherwise`` in the other trials. ``best``
    marks the actions with the highest expected reward, which a stopping rule counts as correct.
    """

    from_trial: NDArray[np.int64]  # the first trial of each phase, counted from 0
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    otherwise: NDArray[np.float64]
    best: NDArray[np.bool_]

    def best_of(
        self, phase: NDArray[np.int64], context: NDArray[np.int64], offered: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """[trial, action]: those with the highest expected reward among those on offer."""
        at = (phase, context)
        p = self.probability[at]
        mean = p * self.reward[at] + (1 - p) * self.otherwise[at]
        mean = np.where(offered, mean, -np.inf)
        best: NDArray[np.bool_] = mean >= mean.max(axis=1, keepdims=True) - SAME
        return best


def build_schedule(rewards: Rewards, reversals: Sequence[Reversal]) -> Schedule:
    """Lay out the rewards of every phase; reversals take effect one after another.

    >>> rewards = {"1": correct_rewards(["A", "B"], "A")}
    >>> schedule = build_schedule(rewards, [Reversal(81, ("A", "B"), ("1",))])
    >>> schedule.from_trial.tolist(), schedule.reward.tolist()
    ([0, 80], [[[1.0, 0.0]], [[0.0, 1.0]]])
    """
    phases = {0: rewards}
    for reversal in sorted(reversals, key=lambda reversal: reversal.trial):
        rewards = reversal.applied(rewards)
        phases[reversal.trial - 1] = rewards  # reversals at the same trial make one phase
    table = np.array(
        [
            [[_numbers(reward) for reward in row.values()] for row in rows.values()]
            for rows in phases.values()
        ]
    )
    probability, reward, otherwise, expected = np.ascontiguousarray(np.moveaxis(table, -1, 0))
    best = expected >= expected.max(axis=2, keepdims=True) - SAME
    return Schedule(np.array(list(phases), dtype=np.int64), probability, reward, otherwise, best)


def _numbers(reward: Reward) -> tuple[float, ...]:
    return reward.probability, reward.reward, reward.otherwise, reward.expected
