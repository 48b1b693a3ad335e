"""ACA: an episode's reward is credited to what was done in it, by the share of time spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.models.model import Model


class ACAState(NamedTuple):
    """Credits, and the episode so far."""

    credit: NDArray[np.float64]  # [cell, action]
    time: NDArray[np.float64]  # [cell, action]: spent in this episode; NaN where it is not known
    trials: NDArray[np.float64]  # [cell, action]: of this episode
    episode: NDArray[np.float64]  # its reward, time and trials so far
    block: NDArray[np.int64]  # [1]: trials per episode; 0: the data say where episodes end


@dataclass(frozen=True, repr=False)
class ACA(Model):
    """H(s, a) ← H(s, a) + α·G·act(s, a) at the end of an episode, H ← γ·H after every trial.

    Activity-based credit assignment, James et al. (2023). G is the reward of the whole episode and
    act(s, a) the share of its time that was spent on action a in cell s; where the durations of an
    episode are not all known, every trial counts the same. p = softmax(H), H = 0 at the start. If
    every trial is one episode, H(s, a) ← γ·(H(s, a) + α·r) for what was chosen.

    ``block`` makes episodes of so many trials each, whatever the data say; 0 takes them from the
    data.

    >>> [parameter.name for parameter in ACA().parameters]
    ['alpha', 'gamma']
    >>> ACA(block=5).name
    'aca(block=5)'
    """

    block: int = 0

    name = "aca"
    title = "activity-based credit assignment"
    cites = ("james2023",)
    latents = ("credit(action)",)
    cells = "shared"

    parameters = (
        Parameter("alpha", 0.0, 10.0, default=0.3, scale=0.05),
        Parameter("gamma", 0.0, 1.0, default=0.99),
    )

    def __post_init__(self) -> None:
        if self.block < 0:
            raise HowlearnError(f"the block of aca must be a number of trials, got {self.block}")
        if self.block:
            # The functions of a model are those of its class, so every block has its own.
            object.__setattr__(self, "__class__", _in_blocks(self.block))

    def __reduce__(self) -> tuple[Callable[..., ACA], tuple[int]]:
        return ACA, (self.block,)

    @staticmethod
    def start(world):
        shape = (world.n_cells, world.n_actions)
        return ACAState(
            np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(3), np.zeros(1, np.int64)
        )

    @staticmethod
    def log_policy(state, shown, theta, out):
        for a in range(len(out)):
            out[a] = state.credit[shown.cell, a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        credit, time, trials, episode, block = state
        time[trial.cell, trial.action] += trial.duration
        trials[trial.cell, trial.action] += 1.0
        episode[0] += trial.reward
        episode[1] += trial.duration
        episode[2] += 1.0
        ends = episode[2] == block[0] if block[0] > 0 else trial.ends_episode
        if ends:
            # One unknown duration makes the sum NaN, which is not above 0.
            timed = episode[1] > 0.0
            paid = theta.alpha * episode[0]
            for s in range(credit.shape[0]):
                for a in range(credit.shape[1]):
                    if trials[s, a] > 0.0:
                        share = time[s, a] / episode[1] if timed else trials[s, a] / episode[2]
                        credit[s, a] += paid * share
                        time[s, a] = 0.0
                        trials[s, a] = 0.0
            episode[:] = 0.0
        for s in range(credit.shape[0]):
            for a in range(credit.shape[1]):
                credit[s, a] *= theta.gamma

    @staticmethod
    def observe(state, trial, theta, out):
        out[:] = state.credit[trial.cell]


@cache
def _in_blocks(block: int) -> type[ACA]:
    """ACA with the number of trials per episode in its start."""

    def start(world):
        shape = (world.n_cells, world.n_actions)
        return ACAState(
            np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(3), np.full(1, block)
        )

    members: dict[str, Any] = {"start": staticmethod(start), "name": f"aca(block={block})"}
    return type("ACA", (ACA,), members)
