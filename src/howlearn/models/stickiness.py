"""Stickiness: the last choice is repeated, or avoided, whatever it earned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from howlearn.core.rule import Parameter
from howlearn.core.world import log_softmax
from howlearn.models.adjustment import Adjustment


class Stickiness(Adjustment):
    """log p_a ← log p_a + κ·1{a was chosen on the trial before}, normalised, in whatever context.

    Schönberg, Daw, Joel & O'Doherty (2007).

    >>> [parameter.name for parameter in Stickiness().parameters(["A", "B"])]
    ['stickiness']
    """

    name = "stickiness"
    title = "the last choice is repeated, or avoided, whatever it earned"

    def parameters(self, actions: Sequence[str]) -> tuple[Parameter, ...]:
        return (Parameter("stickiness", -5.0, 5.0, default=0.0),)

    @staticmethod
    def start(world):
        return np.full(1, -1)  # the action chosen last

    @staticmethod
    def adjust(state, shown, theta, out):
        if state[0] >= 0:
            out[state[0]] += theta[0]
            log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        state[0] = trial.action
