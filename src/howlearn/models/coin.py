"""Models without values: the coin, a fixed policy, and win-stay-lose-shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.models.model import EVERY_TASK, ONLY_EXPERTS, Model


@dataclass(frozen=True)
class Coin(Model):
    """Every action keeps one probability throughout: K − 1 parameters, for all but the last.

    No probability falls under ``floor``, so that a choice never seen in training can still be
    scored.

    >>> Coin().n_parameters(n_actions=3)
    2
    """

    name: str = "Coin"
    cells = "none"
    way = "counts"
    adds_up = True
    not_adjusted = "a coin does not learn, so nothing can be adjusted"

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        fair = 1.0 / len(actions)
        return tuple(("all", Parameter(f"p({a})", 0.0, 1.0, fair)) for a in actions[:-1])

    @property
    def in_words(self) -> str:
        return "a learner who does not learn"

    @property
    def meaning(self) -> object:
        return Coin

    @staticmethod
    def floor(n_actions: int) -> float:
        """The smallest probability of an action."""
        return min(1e-3, 0.1 / n_actions)


# FixedPolicy: choices whose probabilities are given, and never change.


Policy = Mapping[str, float]
TOLERANCE = 1e-9  # by which probabilities may miss 1


@dataclass(frozen=True, repr=False)
class FixedPolicy(Model):
    """A strategy without learning: a probability for every action, or such a table per context.

    >>> FixedPolicy("likes A", {"A": 0.9, "B": 0.1}).log_table(["1"], ["A", "B"]).round(2).tolist()
    [[-0.11, -2.3]]
    """

    name: str
    probabilities: Policy | Mapping[str, Policy]
    title = "chooses with fixed probabilities, without learning"
    cells = "none"
    way = "table"
    fixed = True
    not_adjusted = ONLY_EXPERTS

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def meaning(self) -> object:
        # the table, or the one policy that holds in all contexts
        tables = [v for v in self.probabilities.values() if isinstance(v, Mapping)]
        same = tables and all(table == tables[0] for table in tables)
        return FixedPolicy, dict(tables[0]) if same else self.probabilities

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "probabilities": self.probabilities}

    def log_table(self, contexts: Sequence[str], actions: Sequence[str]) -> NDArray[np.float64]:
        """Log-probabilities [context, action], checked."""
        rows = [self._row(context, actions) for context in contexts]
        with np.errstate(divide="ignore"):
            return np.log(np.array(rows))

    def _row(self, context: str, actions: Sequence[str]) -> list[float]:
        policy = self.probabilities
        where = ""
        if any(isinstance(value, Mapping) for value in policy.values()):
            if context not in policy:
                raise HowlearnError(f"policy {self.name} has nothing for context {context}")
            policy, where = policy[context], f" in context {context}"
        assert isinstance(policy, Mapping)
        if set(policy) != set(actions):
            raise HowlearnError(
                f"policy {self.name} has probabilities for {', '.join(map(str, policy))}{where}; "
                f"the actions are {', '.join(actions)}"
            )
        given = [policy[action] for action in actions]
        row = [float(p) for p in given if isinstance(p, int | float)]
        if len(row) < len(given):
            raise HowlearnError(f"the probabilities of policy {self.name}{where} are not numbers")
        if not all(p >= 0 for p in row) or abs(sum(row) - 1.0) > TOLERANCE:
            raise HowlearnError(
                f"the probabilities of policy {self.name}{where} are {row}: they must be 0 or more "
                "and add up to 1"
            )
        return row


# Win-stay-lose-shift: only the last choice and its outcome are remembered.


class WinStayLoseShiftState(NamedTuple):
    """What happened last in every cell."""

    action: NDArray[np.int64]  # [cell]; −1: nothing yet
    won: NDArray[np.bool_]  # [cell]
    midpoint: NDArray[np.float64]  # [1]: rewards from here on are wins


@dataclass(frozen=True, repr=False)
class WinStayLoseShift(Model):
    """After a win the choice is repeated with probability win_stay, after a loss 1 − lose_shift.

    The rest of the probability is spread evenly over the other actions on offer. The first choice
    in a cell, and one where the last action is not on offer, is made at random. A reward is a win
    if it lies at or above the middle of the lowest and the highest one. Robbins (1952); Nowak &
    Sigmund (1993).

    >>> [parameter.name for parameter in WinStayLoseShift().parameters]
    ['win_stay', 'lose_shift']
    """

    name = "win-stay-lose-shift"
    smooth = True
    title = "repeats a choice after a win, changes it after a loss"
    phrase = "win-stay-lose-shift"
    cites = ("nowak1993",)
    default_for = frozenset({EVERY_TASK})

    parameters = (
        Parameter("win_stay", 0.0, 1.0, default=0.9),
        Parameter("lose_shift", 0.0, 1.0, default=0.7),
    )

    @staticmethod
    def start(world):
        return WinStayLoseShiftState(
            np.full(world.n_cells, -1),
            np.zeros(world.n_cells, np.bool_),
            np.full(1, 0.5 * world.lowest + 0.5 * world.highest),
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        n, last = shown.n_offered, state.action[shown.cell]
        if last < 0 or not shown.offered[last] or n == 1:
            out[:] = -np.log(len(out))
            return
        stay, shift = theta.win_stay, 1.0 - theta.win_stay
        if not state.won[shown.cell]:
            stay, shift = 1.0 - theta.lose_shift, theta.lose_shift
        # At the bounds one of them is 0: its log is −∞, as it should be.
        elsewhere = np.log(shift / (n - 1))
        for a in range(len(out)):
            out[a] = elsewhere
        out[last] = np.log(stay)
        if n < len(out):
            for a in range(len(out)):
                if not shown.offered[a]:
                    out[a] = -np.inf

    @staticmethod
    def update(state, trial, theta):
        state.action[trial.cell] = trial.action
        state.won[trial.cell] = trial.reward >= state.midpoint[0]
