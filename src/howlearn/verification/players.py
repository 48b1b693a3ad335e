"""What learners may have done: at random, to make trouble, and everything there is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.verification.paths import Player

ALL_PATHS = 20_000  # sequences of a short record that are all tried


def adversaries(n: int, actions: int, seed: int) -> tuple[Player, int]:
    """A player with as many habits, ``n`` paths of each, and the number of paths.

    Three draw at random: any action and feedback, feedback of 0 or 1, actions by the model itself.
    The others, with full feedback: always the same, the most probable, the least probable action,
    one after the other, and the least probable from the middle of ever longer blocks on.
    """
    random = np.random.default_rng(seed)
    total = 8 * n

    def play(p: Floats, t: int) -> tuple[NDArray[np.int64], Floats]:
        chosen, g = np.empty(total, np.int64), np.ones(total)
        habit = np.array_split(np.arange(total), 8)
        for k in (0, 1):
            chosen[habit[k]] = random.integers(0, actions, n)
        u = random.random((n, 1))
        chosen[habit[2]] = np.minimum(np.sum(u >= np.cumsum(p[habit[2]], axis=1), axis=1),
                                      actions - 1)  # fmt: skip
        g[habit[0]] = random.random(n)
        g[habit[1]] = random.integers(0, 2, n)
        g[habit[2]] = random.integers(0, 2, n)
        chosen[habit[3]] = 0
        chosen[habit[4]] = np.argmax(p[habit[4]], axis=1)
        chosen[habit[5]] = np.argmin(p[habit[5]], axis=1)
        chosen[habit[6]] = t % actions
        late = np.arange(n) <= np.log2(t + 1)
        mine = p[habit[7]]
        chosen[habit[7]] = np.where(late, np.argmin(mine, axis=1), np.argmax(mine, axis=1))
        return chosen, g

    return play, total


def every_sequence(trials: int, actions: int) -> tuple[Player, int] | None:
    """All sequences of actions with feedback 0 or 1, or all of actions with feedback 1; None where
    there are too many.

    What happens at the last trial does not matter to its probabilities.
    """
    length = max(trials - 1, 0)
    for outcomes in (2 * actions, actions):
        total = outcomes**length
        if total <= ALL_PATHS:
            codes = np.arange(total)[:, None] // outcomes ** np.arange(length)[None] % outcomes
            chosen = codes % actions
            g = (codes // actions == 0).astype(float)

            def play(
                p: Floats, t: int, chosen: NDArray[np.int64] = chosen, g: Floats = g
            ) -> tuple[NDArray[np.int64], Floats]:
                at = min(t, length - 1)
                if length == 0:
                    return np.zeros(1, np.int64), np.ones(1)
                return chosen[:, at], g[:, at]

            return play, total
    return None
