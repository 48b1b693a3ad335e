"""Coin: a learner who does not learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howlearn.core.rule import Parameter
from howlearn.model import Model


@dataclass(frozen=True)
class Coin(Model):
    """Every action keeps one probability throughout: K − 1 parameters, for all but the last.

    No probability falls under ``floor``, so that a choice never seen in training can still be
    scored.

    >>> Coin().n_parameters(n_actions=3)
    2
    """

    name: str = "Coin"
    cells = "none"

    def owners(self, actions: Sequence[str]) -> tuple[tuple[str, Parameter], ...]:
        fair = 1.0 / len(actions)
        return tuple(("all", Parameter(f"p({a})", 0.0, 1.0, fair)) for a in actions[:-1])

    @staticmethod
    def floor(n_actions: int) -> float:
        """The smallest probability of an action."""
        return min(1e-3, 0.1 / n_actions)
