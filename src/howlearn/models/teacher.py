"""What feedback teaches a network with one output per action."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

# An output beyond this comes from steps too large to converge: weights stay as they are, since they
# would overflow.
RUNAWAY = 1e100


@register_jitable
def teacher(trial, action):
    """1 for the right action, −1 for a wrong one, NaN where the feedback does not tell.

    A wrong choice among more than two actions tells about the chosen one only.

    >>> from types import SimpleNamespace
    >>> [teacher(SimpleNamespace(correct=-1, action=2), action) for action in (1, 2)]
    [nan, -1.0]
    """
    if action == trial.correct:
        return 1.0
    if trial.correct >= 0 or action == trial.action:
        return -1.0
    return np.nan
