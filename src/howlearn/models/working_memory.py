"""Working memory beside slow learning: reinforcement learning (RLWM), or habit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from howlearn.core.rule import Parameter
from howlearn.core.world import callable_when_compiled
from howlearn.models.model import EVERY_TASK, Model

BETA = 25.0  # of both policies, as the authors fix it


class WorkingMemoryState(NamedTuple):
    """What is known in a block.

    Memory is kept as it was when the cell was last met: since then all of it has faded alike.
    """

    slow: NDArray[np.float64]  # [cell, action]: values
    memory: NDArray[np.float64]  # [cell, action]: above 1/A
    met: NDArray[np.int64]  # [cell]: the trial at which it was last met
    now: NDArray[np.int64]  # [2]: trials in this block; the last choice, −1: none yet
    ends: NDArray[np.float64]  # of the rewards: lowest, highest
    room: NDArray[np.float64]  # [2, action, then their sum]: for the policies of both tables


@callable_when_compiled
def weigh(values, scale, last, shown, theta, out):
    """exp(β·(scale·values + κ·1{last choice} − the largest)) of the offered, then their sum."""
    n, largest = len(values), -np.inf
    for a in range(n):
        out[a] = scale * values[a] + (theta.kappa if a == last else 0.0)
        if shown.offered[a]:
            largest = max(largest, out[a])
    total = 0.0
    for a in range(n):
        out[a] = np.exp(BETA * (out[a] - largest)) if shown.offered[a] else 0.0
        total += out[a]
    out[n] = total


@callable_when_compiled
def faded(phi, trials):
    """What remains of memory after a number of trials."""
    return (1.0 - phi) ** trials


@callable_when_compiled
def memory_weight(load, theta):
    """w = ρ·min(1, K/n): how much working memory has to say in a block of n stimuli."""
    return theta.rho * min(1.0, theta.capacity / load)


@dataclass(frozen=True, repr=False)
class RLWM(Model):
    """A choice comes from working memory W with weight w = ρ·min(1, K/n), else from slow values Q.

    n is the load, the number of stimuli in the block; both tables start at 1/A for A actions, in
    every block. All of W fades, W ← W + φ·(1/A − W); then W ← W + a·(r − W) for what was chosen,
    with a = 1 after a win and b_memory after a loss, and Q ← Q + α·(r − Q), with b_slow·α after a
    loss. Each policy is ε/A + (1 − ε)·softmax(25·(table + κ·1{last choice})). r is 0 for the lowest
    and 1 for the highest reward; a win is in the upper half. Collins & Frank (2012).

    >>> [parameter.name for parameter in RLWM().parameters]
    ['alpha', 'kappa', 'rho', 'phi', 'epsilon', 'b_memory', 'b_slow', 'capacity']
    """

    name = "rlwm"
    title = "reinforcement learning and a limited working memory"
    phrase = "reinforcement learning with working memory (RLWM)"
    cites = ("collins2012",)
    default_for = frozenset({EVERY_TASK})
    latents = ("value(action)", "memory(action)", "memory_weight")
    needs = frozenset({"load"})
    cells = "shared"
    kernel = "working_memory"
    after_loss: ClassVar[float] = 0.0  # what a loss teaches the slow values

    parameters = (
        Parameter("alpha", 0.0, 1.0, default=0.05, scale=0.005),
        Parameter("kappa", -1.0, 1.0, default=0.0),
        Parameter("rho", 0.0, 1.0, default=0.8),
        Parameter("phi", 0.0, 1.0, default=0.1, scale=0.1),
        Parameter("epsilon", 0.0, 1.0, default=0.05, scale=0.05),
        Parameter("b_memory", 0.0, 1.0, default=0.5),
        Parameter("b_slow", 0.0, 1.0, default=0.5),
        Parameter("capacity", 2.0, 5.0, default=3.0),
    )

    def reads(self, actions: Sequence[str], zero: float = 0.0) -> Mapping[str, str | float]:
        return {**{p.name: p.name for p in self.parameters}, "after_loss": self.after_loss}

    @staticmethod
    def start(world):
        shape = (world.n_cells, world.n_actions)
        slow, memory = np.full(shape, 1.0 / world.n_actions), np.zeros(shape)
        ends = np.array([world.lowest, world.highest])
        met, now = np.zeros(world.n_cells, np.int64), np.array([0, -1])
        room = np.zeros((2, world.n_actions + 1))
        return WorkingMemoryState(slow, memory, met, now, ends, room)

    @staticmethod
    def log_policy(state, shown, theta, out):
        w, room, n = memory_weight(shown.load, theta), state.room, len(out)
        c, last = shown.cell, state.now[1]
        left = faded(theta.phi, state.now[0] - state.met[c])
        weigh(state.memory[c], left, last, shown, theta, room[0])
        weigh(state.slow[c], 1.0, last, shown, theta, room[1])
        for a in range(n):
            if not shown.offered[a]:
                out[a] = -np.inf
                continue
            least, engaged = theta.epsilon / shown.n_offered, 1.0 - theta.epsilon
            p = w * (least + engaged * (room[0, a] / room[0, n]))
            out[a] = np.log(p + (1.0 - w) * (least + engaged * (room[1, a] / room[1, n])))

    @staticmethod
    def update(state, trial, theta):
        slow, memory, met, now, ends, _ = state
        c, a, even = trial.cell, trial.action, 1.0 / slow.shape[1]
        r = (trial.reward - ends[0]) / (ends[1] - ends[0])
        now[0] += 1
        left = faded(theta.phi, now[0] - met[c])
        for k in range(memory.shape[1]):
            memory[c, k] *= left
        met[c] = now[0]
        won = r >= 0.5
        memory[c, a] += (1.0 if won else theta.b_memory) * (r - even - memory[c, a])
        rate = theta.alpha if won else theta.b_slow * theta.alpha
        slow[c, a] += rate * (r + (1.0 - r) * theta.after_loss - slow[c, a])
        now[1] = a

    @staticmethod
    def observe(state, trial, theta, out):
        n, c = state.slow.shape[1], trial.cell
        left = faded(theta.phi, state.now[0] - state.met[c])
        out[:n] = state.slow[c]
        out[n:-1] = 1.0 / n + left * state.memory[c]
        out[-1] = memory_weight(trial.load, theta)


@dataclass(frozen=True, repr=False)
class WorkingMemoryHabit(RLWM):
    """RLWM whose slow part learns what was chosen, whatever it earned: Q ← Q + α·(1 − Q).

    Habit in the place of reinforcement learning: Collins (2025). Everything else is as in RLWM.

    >>> WorkingMemoryHabit().n_parameters(n_actions=3)
    8
    """

    name = "wm-habit"
    title = "habit and a limited working memory"
    phrase = "working memory with habit"
    cites = ("collins2025",)
    after_loss = 1.0
