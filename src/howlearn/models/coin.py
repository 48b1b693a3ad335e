"""Coin: a learner who does not learn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coin:
    """Every action keeps one probability throughout: K − 1 parameters, for all but the last.

    No probability falls under ``floor``, so that a choice never seen in training can still be
    scored.

    >>> Coin().n_parameters(n_actions=3)
    2
    """

    name: str = "Coin"

    def n_parameters(self, n_actions: int) -> int:
        return n_actions - 1

    @staticmethod
    def floor(n_actions: int) -> float:
        """The smallest probability of an action."""
        return min(1e-3, 0.1 / n_actions)
