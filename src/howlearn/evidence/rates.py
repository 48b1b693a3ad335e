"""The log-spaced rates on which the likelihood of every cell is known."""

from __future__ import annotations

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.engine.layout import RATES

LOWEST = 1e-4  # a rate that teaches nothing in a thousand trials, where rewards go up to 1
SPACING = 0.05  # of log rates: half of the smallest spread of cells
SECOND = 8  # values of a cell's second parameter
SPREADS = (0.1, 0.3, 0.7, 1.2)  # of the log rates of one learner's cells, equally probable


def log_rates(rule: Rule, largest_reward: float = 1.0) -> Floats:
    """Log rates up to the rule's bound, evenly; their number fills the engine's lanes.

    >>> from howlearn.core.rules import GradientBandit
    >>> x = log_rates(GradientBandit())
    >>> len(x), np.exp(x[[0, -1]]).round(4).tolist(), bool(np.diff(x).max() < SPACING)
    (192, [0.0001, 1.0], True)
    """
    upper = rule.parameters[0].upper
    lower = min(LOWEST / max(1.0, largest_reward), upper / 100)
    passes = int(np.ceil(np.log(upper / lower) / (SPACING * RATES)))
    x = np.linspace(np.log(lower), np.log(upper), passes * RATES)
    return np.minimum(x, np.log(upper))


def second_values(rule: Rule) -> list[tuple[float, ...]]:
    """Over which a second parameter is averaged: middles of equal parts of the search's scale.

    That is dense near the lower bound, where most happens.
    """
    if len(rule.parameters) == 1:
        return [()]
    (second,) = rule.parameters[1:]
    middles = np.linspace(0.0, second.end, 2 * SECOND + 1)[1::2]
    return [(float(value),) for value in second.at(middles)]


def has_grid(rule: object) -> bool:
    """Whether a rule's cells can be integrated on a grid: a rate from 0 on, and one more at most.

    >>> from howlearn.core.rules import Exp3IX
    >>> has_grid(Exp3IX()), has_grid("alcove")
    (True, False)
    """
    if not isinstance(rule, Rule) or not 1 <= len(rule.parameters) <= 2:
        return False
    return rule.parameters[0].lower == 0.0
