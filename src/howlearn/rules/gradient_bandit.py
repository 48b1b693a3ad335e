"""Gradient Bandit: preferences climb the gradient of the expected reward."""

from __future__ import annotations

from dataclasses import dataclass

from howlearn.rule import Rule


@dataclass(frozen=True)
class GradientBandit(Rule):
    """h_a ← h_a + η·g·(1{a chosen} − p_a), with p = softmax(h).

    Aubert et al. (2025), Algorithm 4, with η = θ/√n; Sutton & Barto (2018), section 2.8.

    >>> GradientBandit().parameters[0].name
    'eta'
    """

    name = "gradient"
    title = "Gradient Bandit"

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        return h + eta * feedback * (chosen - p)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        return dh + feedback * (deta * (chosen - p) - eta * dp)
