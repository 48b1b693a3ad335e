"""Bias: some actions are preferred whatever they earn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.models.adjustment import Adjustment


class Bias(Adjustment):
    """log p_a ← log p_a + b_a, normalised; b = 0 for the last action.

    >>> [parameter.name for parameter in Bias().parameters(["A", "B", "C"])]
    ['bias(A)', 'bias(B)']
    """

    name = "bias"
    title = "some actions are preferred whatever they earn"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return tuple(Parameter(f"bias({a})", -5.0, 5.0, default=0.0) for a in actions[:-1])

    @staticmethod
    def start(world):
        return np.zeros(0)

    @staticmethod
    def adjust(state, shown, theta, out):
        for a in range(len(out) - 1):
            out[a] += theta[a]
        log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        pass
