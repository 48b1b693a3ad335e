"""The slow and obvious way to play: one learner's choices, trial by trial, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from oracle import RULES, Point, Trial, feedback, log_softmax

Pay = Callable[[int, Hashable, int], float]  # trial (from 0), context, action → reward


def played(
    shown: Sequence[Trial],
    draws: Sequence[float],
    pay: Pay,
    cells: Sequence[Sequence[Hashable]],
    rule: str,
    points: Sequence[Point],
    form: str = "gain",
    n_actions: int = 2,
    reward_range: tuple[float, float] = (0.0, 1.0),
    first_pay: Pay | None = None,
) -> list[Trial]:
    """What is done where ``shown`` was shown; ``draws`` are uniform, one per trial.

    A trial that is not scored was instructed and stays as it is; one that is not learned has no
    reward. ``first_pay``, if there is one, pays at the first trial of every cell.
    """
    cell_of = {context: c for c, cell in enumerate(cells) for context in cell}
    h = [[0.0] * n_actions for _ in cells]
    met = set()
    done = []
    for t, trial in enumerate(shown):
        if trial.reset:
            h = [[0.0] * n_actions for _ in cells]
        c = cell_of[trial.context]
        log_p = log_softmax(h[c])
        action, reward = trial.action, trial.reward
        if trial.scored:
            action, left = 0, draws[t] - math.exp(log_p[0])
            while left >= 0.0 and action < n_actions - 1:
                action += 1
                left -= math.exp(log_p[action])
            pays = first_pay if first_pay and c not in met else pay
            reward = pays(t, trial.context, action)
        met.add(c)
        if trial.learned:
            g, sign = feedback(reward, form, reward_range)
            h[c] = RULES[rule](h[c], log_p, action, g, sign, *points[c])
        else:
            reward = math.nan
        done.append(replace(trial, action=action, reward=reward))
    return done
