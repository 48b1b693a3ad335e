"""What networks with one output per action share: their choices, and what feedback teaches."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from howlearn.core.world import log_softmax

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


@register_jitable
def probabilities(phi, out):
    """From outputs to the logs of softmax(φ·out), in place, however large the outputs are.

    >>> out = np.array([3e99, 3e99, -1.0])
    >>> probabilities(2.0, out)
    >>> np.exp(out)
    array([0.5, 0.5, 0. ])
    """
    largest = out[0]
    for k in range(1, len(out)):
        largest = max(largest, out[k])
    for k in range(len(out)):
        out[k] = phi * (out[k] - largest)
    log_softmax(out)
