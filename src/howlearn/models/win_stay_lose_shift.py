"""Win-stay-lose-shift: only the last choice and its outcome are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.models.model import EVERY_TASK, Model


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
