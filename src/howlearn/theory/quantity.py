"""A number of the theory, with where it comes from and when it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from howlearn.core.errors import HowlearnError


@dataclass(frozen=True)
class Quantity:
    """One formula's value for one design."""

    key: str
    value: float
    source: str  # where it is stated, or that it is this project's own
    form: str  # gain, loss, or both
    assumptions: str
    meaning: str = ""

    def plain(self) -> Any:
        """For JSON: whole numbers as such, and no infinity."""
        if isinstance(self.value, int) or not math.isfinite(self.value):
            return self.value if math.isfinite(self.value) else None
        return float(self.value)


def check_domain(epsilon: float, actions: int, trials: int, R: float) -> None:
    """Refuse what the propositions on bandits do not cover."""
    if actions < 2:
        raise HowlearnError(f"there are at least two actions, not {actions}")
    if trials < 1:
        raise HowlearnError(f"there is at least one trial, not {trials}")
    check_epsilon(epsilon, actions)
    if not 0 < R < math.inf:
        raise HowlearnError(f"R, the largest theta, is a positive number, not {R:g}")


def check_epsilon(epsilon: float, actions: int) -> None:
    """Refuse probabilities that some action falls under at once."""
    if not 0 < epsilon < 1 / actions:
        raise HowlearnError(f"epsilon lies between 0 and 1/K = {1 / actions:g}, not at {epsilon:g}")


def log_sum(a: float, b: float) -> float:
    """log(e^a + e^b).

    >>> log_sum(1000.0, 0.0)
    1000.0
    """
    high, low = max(a, b), min(a, b)
    return high if high == -math.inf else high + math.log1p(math.exp(low - high))


def exp(x: float) -> float:
    """Infinite where it overflows: the log is given beside it."""
    return math.exp(x) if x < 700 else math.inf
