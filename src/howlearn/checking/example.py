"""Records on which a model is tried: few trials with all that a task may have."""

from __future__ import annotations

import numpy as np

from howlearn.core.study import Study

N_TRIALS = 60


def example(n_actions: int = 2, seed: int = 0) -> Study:
    """One learner's random choices among contexts with two features, with a new start midway.

    >>> example(3)
    Study of 1 learners: 1 sequences, 60 trials, 4 contexts, 3 actions
    """
    random = np.random.default_rng(seed)
    contexts = ("a", "b", "c", "d")
    context = random.integers(0, len(contexts), N_TRIALS)
    action = random.integers(0, n_actions, N_TRIALS)
    answers = np.arange(len(contexts)) % n_actions
    reset = np.isin(np.arange(N_TRIALS), (0, 40))
    forgone = (np.arange(n_actions) == answers[context][:, None]).astype(float)
    forgone[np.arange(N_TRIALS), action] = np.nan
    forgone[random.random(N_TRIALS) < 0.5] = np.nan
    return Study(
        learners=("example",),
        starts=np.array([0, N_TRIALS]),
        contexts=contexts,
        actions=tuple("ABCDEFGH"[:n_actions]),
        context=context.astype(np.int32),
        action=action.astype(np.int16),
        reward=(action == answers[context]).astype(float),
        scored=np.ones(N_TRIALS, bool),
        learned=random.random(N_TRIALS) < 0.9,
        reset=reset,
        features={
            name: {"size": str(1 + i // 2), "shape": ("round", "square")[i % 2]}
            for i, name in enumerate(contexts)
        },
        forgone=forgone,
        episode_end=random.random(N_TRIALS) < 0.5,
        duration=random.uniform(0.2, 2.0, N_TRIALS),
        right_wrong=(0.0, 1.0),
        answers=answers.astype(np.int16),
    )
