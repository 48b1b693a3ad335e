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
    """What is known in a block."""

    slow: NDArray[np.float64]  # [cell, action]
    memory: NDArray[np.float64]  # [cell, action]
    last: NDArray[np.int64]  # [1]: the last choice in this block; −1: none yet
    ends: NDArray[np.float64]  # of the rewards: lowest, highest


@callable_when_compiled
def add_policy(values, last, shown, theta, weight, out):
    """Add weight·(ε/K + (1 − ε)·softmax(β·(values + κ·1{last choice}))) over what is on offer."""
    largest = -np.inf
    for a in range(len(out)):
        if shown.offered[a]:
            largest = max(largest, values[a] + (theta.kappa if a == last else 0.0))
    total = 0.0
    for a in range(len(out)):
        if shown.offered[a]:
            score = values[a] + (theta.kappa if a == last else 0.0)
            total += np.exp(BETA * (score - largest))
    for a in range(len(out)):
        if shown.offered[a]:
            score = values[a] + (theta.kappa if a == last else 0.0)
            p = np.exp(BETA * (score - largest)) / total
            out[a] += weight * (theta.epsilon / shown.n_offered + (1.0 - theta.epsilon) * p)


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
    title = "reinforcement learning beside a working memory that holds few stimuli"
    phrase = "reinforcement learning with working memory (RLWM)"
    cites = ("collins2012",)
    default_for = frozenset({EVERY_TASK})
    latents = ("value(action)", "memory(action)", "memory_weight")
    needs = frozenset({"load"})
    cells = "shared"
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
        shape, even = (world.n_cells, world.n_actions), 1.0 / world.n_actions
        ends = np.array([world.lowest, world.highest])
        return WorkingMemoryState(np.full(shape, even), np.full(shape, even), np.full(1, -1), ends)

    @staticmethod
    def log_policy(state, shown, theta, out):
        w, last = memory_weight(shown.load, theta), state.last[0]
        out[:] = 0.0
        add_policy(state.memory[shown.cell], last, shown, theta, w, out)
        add_policy(state.slow[shown.cell], last, shown, theta, 1.0 - w, out)
        for a in range(len(out)):
            out[a] = np.log(out[a])

    @staticmethod
    def update(state, trial, theta):
        slow, memory, last, ends = state
        c, a, even = trial.cell, trial.action, 1.0 / slow.shape[1]
        r = (trial.reward - ends[0]) / (ends[1] - ends[0])
        for s in range(memory.shape[0]):
            for k in range(memory.shape[1]):
                memory[s, k] += theta.phi * (even - memory[s, k])
        won = r >= 0.5
        memory[c, a] += (1.0 if won else theta.b_memory) * (r - memory[c, a])
        outcome = r + (1.0 - r) * theta.after_loss
        slow[c, a] += (1.0 if won else theta.b_slow) * theta.alpha * (outcome - slow[c, a])
        last[0] = a

    @staticmethod
    def observe(state, trial, theta, out):
        n = state.slow.shape[1]
        out[:n] = state.slow[trial.cell]
        out[n:-1] = state.memory[trial.cell]
        out[-1] = memory_weight(trial.load, theta)


@dataclass(frozen=True, repr=False)
class WorkingMemoryHabit(RLWM):
    """RLWM whose slow part learns what was chosen, whatever it earned: Q ← Q + α·(1 − Q).

    Habit in the place of reinforcement learning: Collins (2025). Everything else is as in RLWM.

    >>> WorkingMemoryHabit().n_parameters(n_actions=3)
    8
    """

    name = "wm-habit"
    title = "habit beside a working memory that holds few stimuli"
    phrase = "working memory with habit"
    cites = ("collins2025",)
    after_loss = 1.0
