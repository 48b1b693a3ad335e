"""Exp3-IX: Exp3 with implicit exploration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from howlearn.rule import Parameter, Rule
from howlearn.rules.exp3 import HUGE, SMALLEST


@dataclass(frozen=True)
class Exp3IX(Rule):
    """h_A ← h_A + η·g/(p_A + γ) for the chosen action A; the others keep their preference.

    Kocák, Neu, Valko & Munos (2014); Neu (2015); Aubert et al. (2025), with η = θ₁/√n, γ = θ₂/√n.

    >>> [p.name for p in Exp3IX().parameters]
    ['eta', 'gamma']
    """

    name = "exp3-ix"
    title = "Exp3-IX"
    smallest = SMALLEST

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return (*super().parameters, Parameter("gamma", 0.0, 1.0, default=0.03, scale=0.02))

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta, gamma):
        gain = eta * feedback
        den = p_chosen + gamma
        step = gain / den if den > SMALLEST else (HUGE if gain > 0.0 else -HUGE)
        return h + chosen * (step if gain != 0.0 else 0.0)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, gamma, deta, dgamma):
        safe = p_chosen + gamma > SMALLEST
        den = p_chosen + gamma if safe else 1.0
        slope = feedback * (deta - eta * ((dp_chosen + dgamma) / den)) / den
        return dh + chosen * (slope if safe else 0.0)
