"""Small studies made by hand: the same trials for the oracle and for the package."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import polars as pl

from howlearn.core.partition import Partition
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.models.partition_model import PartitionModel
from oracle import Trial


def study_of(
    *learners: Sequence[Trial],
    n_actions: int = 2,
    contexts: Sequence[str] | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    about: dict[str, list] | None = None,
    names: Sequence[str] | None = None,
) -> Study:
    """A study of these learners, one list of trials each; the first trial always restarts."""
    if contexts is None:
        contexts = sorted({str(trial.context) for trials in learners for trial in trials})
    trials = [trial for sequence in learners for trial in sequence]
    return Study(
        learners=tuple(names or (f"learner {i + 1}" for i in range(len(learners)))),
        starts=np.cumsum([0, *map(len, learners)]),
        contexts=tuple(contexts),
        actions=tuple("ABCDEFGH"[:n_actions]),
        context=np.array([contexts.index(str(t.context)) for t in trials], np.int32),
        action=np.array([t.action for t in trials], np.int16),
        reward=np.array([t.reward for t in trials], np.float64),
        scored=np.array([t.scored for t in trials], bool),
        learned=np.array([t.learned for t in trials], bool),
        reset=np.array([t.reset for t in trials], bool),
        reward_range=reward_range,
        about=pl.DataFrame(about) if about else pl.DataFrame(),
    )


def trials_of(study: Study, learner: int = 0) -> list[Trial]:
    """A learner of a study as the oracle takes it."""
    part = study[learner]
    return [
        Trial(part.contexts[c], int(a), float(g), bool(s), bool(u), bool(r))
        for c, a, g, s, u, r in zip(
            part.context,
            part.action,
            part.reward,
            part.scored,
            part.learned,
            part.reset,
            strict=True,
        )
    ]


def random_trials(
    seed: int,
    n: int,
    contexts: Sequence[str] = ("x", "y"),
    n_actions: int = 2,
    rewards: Sequence[float] = (0.0, 1.0),
    flags: bool = False,
    better: float = 0.0,
) -> list[Trial]:
    """Choices at random, more often the context's own action when ``better`` is above 0.

    With ``flags`` some trials are not scored, some not learned, and some restart.
    """
    draw = random.Random(seed)
    trials = []
    for t in range(n):
        c = draw.randrange(len(contexts))
        own = c % n_actions
        action = own if draw.random() < better * min(1.0, 2 * t / n) else draw.randrange(n_actions)
        reward = draw.choice(rewards)
        if better:
            reward = max(rewards) if action == own else min(rewards)
        scored, learned, reset = True, True, t == 0
        if flags:
            scored, learned = draw.random() > 0.2, draw.random() > 0.2
            reset = reset or draw.random() < 0.05
        trials.append(Trial(contexts[c], action, reward, scored, learned, reset))
    return trials


def model_of(
    cells: Sequence[Sequence[str]], rule: Rule, rates: str = "per-cell", name: str = "m"
) -> PartitionModel:
    """A model with these cells."""
    return PartitionModel(name, Partition(tuple(map(tuple, cells))), rule, rates)
