"""Exp3: importance-weighted exponential weights."""

from __future__ import annotations

from dataclasses import dataclass

from howlearn.rule import Rule

# Below this probability the importance weight would overflow. The update is then replaced by a
# fixed huge one: p is 0 or 1 to double precision either way. Fits report where it happened.
SMALLEST = 1e-304
HUGE = 1e6


@dataclass(frozen=True)
class Exp3(Rule):
    """h_A ← h_A + η·g/p_A for the chosen action A; the others keep their preference.

    Auer, Cesa-Bianchi, Freund & Schapire (2002); Aubert et al. (2025), with γ = 0.

    >>> Exp3.update(0.0, 0.5, 1.0, 0.5, 1.0, 0.1)
    0.2
    """

    name = "exp3"
    title = "Exp3"
    smallest = SMALLEST

    @staticmethod
    def update(h, p, chosen, p_chosen, feedback, eta):
        gain = eta * feedback
        step = gain / p_chosen if p_chosen > SMALLEST else (HUGE if gain > 0.0 else -HUGE)
        return h + chosen * (step if gain != 0.0 else 0.0)

    @staticmethod
    def differential(h, dh, p, dp, chosen, p_chosen, dp_chosen, feedback, eta, deta):
        safe = p_chosen > SMALLEST
        den = p_chosen if safe else 1.0
        slope = feedback * (deta - eta * (dp_chosen / den)) / den
        return dh + chosen * (slope if safe else 0.0)
