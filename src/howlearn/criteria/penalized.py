"""The paper's AIC-type criterion."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.criteria.criterion import PerParameter
from howlearn.fitting.fits import ALL, Stop, Truncation

EPSILON = 0.05  # of stop_at="paper"
PAPER = re.compile(r"paper(?:\((?:epsilon=)?([^()]+)\))?")
STOPS = "a trial (150), an epsilon under 1 (0.05), or the paper's formula ('paper(0.05)')"


@dataclass(frozen=True, repr=False)
class Penalized(PerParameter):
    """ℓ − c·log(n)²·D with the learner's own n: Aubert et al. (2025), Theorem 3.

    The theorem is about the first T_ε trials, during which every probability is at least ε.
    ``stop_at`` puts T_ε in place of n everywhere: a number of trials; ε, for the trials before any
    candidate, fitted to all trials, gives an action less than ε; or ``"paper(ε)"`` for the paper's
    formula, from the bounds of the rates. D then counts the cells met up to there.

    >>> Penalized(c=0.012), Penalized(stop_at=150), Penalized(stop_at="paper")
    (penalized(c=0.012), penalized(c=0.012, stop_at=150), penalized(c=0.012, stop_at=paper(0.05)))
    """

    c: float = 0.012
    stop_at: int | float | str | None = None
    name = "penalized"
    title = "log-likelihood minus c·log(n)² nats per parameter, n the trials (T with stop_at)"

    def __post_init__(self) -> None:
        if not 0 <= self.c < np.inf:
            raise HowlearnError(f"c must be a number from 0 on, not {self.c:g}")
        object.__setattr__(self, "stop_at", _stop(self.stop_at))

    @property
    def truncations(self) -> tuple[Truncation, ...]:
        if isinstance(self.stop_at, str):
            return (Stop(float(self.stop_at[len("paper(") : -1]), "paper"),)
        if isinstance(self.stop_at, float):
            return (Stop(self.stop_at),)
        return (ALL if self.stop_at is None else self.stop_at,)

    def price(self, n: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.c * np.log(n) ** 2


def _stop(given: object) -> int | float | str | None:
    """In one spelling: a whole number, a float below 1, or ``paper(ε)``."""
    if given is None:
        return None
    if isinstance(given, str):
        found = PAPER.fullmatch(given.replace(" ", ""))
        try:
            epsilon = float(found[1] or EPSILON) if found else 0.0
        except ValueError:
            epsilon = 0.0
        if 0 < epsilon < 1:
            return f"paper({epsilon!r})"
    elif isinstance(given, int | float | np.number) and not isinstance(given, bool):
        number = float(given)
        if number >= 1 and number.is_integer():
            return int(number)
        if 0 < number < 1:
            return number
    raise HowlearnError(f"stop_at is {STOPS}, not {given!r}")
