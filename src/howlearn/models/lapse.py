"""Lapses: now and then a choice has nothing to do with what was learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.models.adjustment import Adjustment


class Lapse(Adjustment):
    """p ← (1 − λ)·p + λ/K for K actions.

    Wichmann & Hill (2001).

    >>> [parameter.name for parameter in Lapse().parameters(["A", "B"])]
    ['lapse']
    """

    name = "lapse"
    title = "some choices are made at random"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (Parameter("lapse", 0.0, 1.0, default=0.0, scale=0.05),)

    @staticmethod
    def start(world):
        return np.zeros(0)

    @staticmethod
    def adjust(state, shown, theta, out):
        lapse, n = theta[0], len(out)
        if lapse > 0.0:
            for a in range(n):
                out[a] = np.log((1.0 - lapse) * np.exp(out[a]) + lapse / n)

    @staticmethod
    def update(state, trial, theta):
        pass
