"""The hold-out theorem with explicit constants: as the paper's proof has them, and repaired."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from howlearn.core.errors import HowlearnError

B = 2 * math.log(2) - 1
SMALLEST_LEADING = 1 / (2 * B)  # of the paper's proof
MIXED = 0.8  # a of the repaired proof


class HoldOutBound(NamedTuple):
    """E[H²] of the selected model ≤ leading · E[inf K] + residual."""

    leading: float
    multiplier: float  # of (…+ log|M|)/n'
    residual: float


def published(leading: float, tested: int, models: int, rounded: bool = False) -> HoldOutBound:
    """The published proof's; ``rounded`` as the paper states it, with C' ≤ 13/κ₁.

    ``tested`` is n', the number of trials that are scored.

    >>> [round(published(d, 250, 6).multiplier) for d in (1.3, 1.5, 2, 3, 5)]
    [71483, 2289, 936, 666, 668]
    """
    _check(tested, models)
    if not leading > SMALLEST_LEADING:
        raise HowlearnError(
            f"the published proof covers leading constants above {SMALLEST_LEADING:.4f} only, not "
            f"{leading:g}"
        )
    share = (2 * B * leading - 1) / (2 * B * leading + 1)
    k = share / (8 * math.sqrt(5))
    inner = 13 / k if rounded else 4 + 1.5 * math.sqrt(5) * (k / math.log(2) + 1 / k)
    multiplier = inner / (B * (1 - share))
    tail = 2 * math.log(tested + 1) + 1
    return HoldOutBound(leading, multiplier, multiplier * (tail + math.log(models)) / tested)


def repaired(leading: float, tested: int, models: int) -> HoldOutBound:
    """This project's: any leading constant above ½, and log log n in place of log n.

    >>> [math.floor(repaired(d, 250, 6).multiplier) for d in (0.75, 1, 1.5, 2, 3)]
    [223, 162, 146, 153, 182]
    """
    _check(tested, models)
    c_a = min(2 * (-math.log1p(-MIXED) - MIXED), 2 * MIXED)
    if not leading > MIXED / c_a:
        raise HowlearnError(
            f"the repaired proof covers leading constants above {MIXED / c_a:g} only, not "
            f"{leading:g}"
        )
    share = (leading * c_a - MIXED) / (leading * c_a + c_a / 2)
    spread = math.sqrt(5 * MIXED / (1 - MIXED))
    k = share * c_a / (3 * spread)
    inner = 4 + 1.5 * spread * (k / math.log(2) + 1 / k)
    multiplier = inner / (c_a * (1 - share))
    tail = 1 + math.log(1 + 2 * math.log(tested + 1))
    return HoldOutBound(leading, multiplier, multiplier * (tail + math.log(models)) / tested)


def telling_from(
    bound: Callable[[float, int, int], HoldOutBound], leading: float, models: int
) -> int:
    """The smallest number of tested trials for which the residual is below 1, the largest H².

    >>> telling_from(repaired, 2, 6) < telling_from(published, 2, 6)
    True
    """
    low, high = 1, 2
    while bound(leading, high, models).residual >= 1:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if bound(leading, middle, models).residual >= 1:
            low = middle
        else:
            high = middle
    return high


def _check(tested: int, models: int) -> None:
    if tested < 1:
        raise HowlearnError(f"at least one trial is scored, not {tested}")
    if models < 1:
        raise HowlearnError(f"at least one model competes, not {models}")
