"""Where things come to lie on a page: what is needed to place labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from howlearn.report.style import text_width


@dataclass(frozen=True)
class Scale:
    """From values to pixels and back.

    >>> scale = Scale("log", 0.01, 1, 200)
    >>> scale.pixel(0.1), round(scale.value(100), 6)
    (100.0, 0.1)
    """

    kind: Literal["linear", "log", "symlog"]
    low: float
    high: float
    size: float  # pixels
    constant: float = 1.0  # of symlog: about linear below it

    def pixel(self, value: float) -> float:
        low, high = self._bent(self.low), self._bent(self.high)
        return self.size * (self._bent(value) - low) / (high - low)

    def value(self, pixel: float) -> float:
        low, high = self._bent(self.low), self._bent(self.high)
        bent = low + (high - low) * pixel / self.size
        if self.kind == "log":
            return math.exp(bent)
        if self.kind == "symlog":
            return math.copysign(math.expm1(abs(bent)) * self.constant, bent)
        return bent

    def _bent(self, value: float) -> float:
        if self.kind == "log":
            return math.log(value)
        if self.kind == "symlog":
            return math.copysign(math.log1p(abs(value) / self.constant), value)
        return value


def spanning(values: Sequence[float], size: float, kind: Literal["linear", "log"]) -> Scale:
    """A scale from the smallest to the largest value; a single value stands in its middle."""
    low, high = min(values), max(values)
    if low == high and kind == "log":
        low, high = low / 2, high * 2
    elif low == high:
        room = abs(low) / 2 or 0.5
        low, high = low - room, high + room
    return Scale(kind, low, high, size)


def dodged(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as possible to lie a gap apart, inside bounds if there is room.

    >>> dodged([10.0, 12.0, 50.0], 10, 0, 100)
    [6.0, 16.0, 50.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    # Less i gaps, places need only not fall: that is isotonic regression, by pooling neighbours.
    pools: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        mean, count = places[i] - rank * gap, 1
        while pools and pools[-1][0] >= mean:
            before, many = pools.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        pools.append((mean, count))
    top = max(low, high - (len(order) - 1) * gap)
    flat = [min(max(mean, low), top) for mean, count in pools for _ in range(count)]
    moved = [0.0] * len(places)
    for rank, i in enumerate(order):
        moved[i] = flat[rank] + rank * gap
    return moved


def flag_rows(places: Sequence[float], widths: Sequence[float], gap: float = 8) -> list[int]:
    """Rows for flags on poles, each flying to the right of its pole, places ascending.

    A flag flies above all poles that it passes, so that no text is crossed.

    >>> flag_rows([0, 10, 100], [30, 30, 30])
    [1, 0, 0]
    """
    found = [0] * len(places)
    for i in reversed(range(len(places))):
        end = places[i] + widths[i] + gap
        passed = [found[j] for j in range(i + 1, len(places)) if places[j] < end]
        found[i] = max(passed, default=-1) + 1
    return found


def log_ticks(scale: Scale, apart: float = 45) -> list[float]:
    """Round numbers on a log scale, as many as stand apart.

    >>> log_ticks(Scale("log", 0.004, 0.3, 400))
    [0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
    """
    decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for mantissas in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{m}e{k}") for k in decades for m in mantissas]
        inside = [t for t in ticks if scale.low * 0.9999 <= t <= scale.high * 1.0001]
        places = [scale.pixel(t) for t in inside]
        if all(b - a >= apart for a, b in pairwise(places)):
            return inside
    return inside[:: math.ceil(len(inside) * apart / scale.size)]


def even_ticks(scale: Scale, apart: float = 40) -> list[float]:
    """Round numbers at even distances from 0.

    >>> even_ticks(Scale("linear", 0, 0.53, 200))
    [0.0, 0.2, 0.4]
    """
    least = (scale.high - scale.low) * apart / scale.size
    decade = 10.0 ** math.floor(math.log10(least))
    step = next(m * decade for m in (1, 2, 5, 10) if m * decade >= least)
    numbers = range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)
    return [float(f"{number * step:.6g}") for number in numbers]


def data_ticks(scale: Scale, values: Sequence[float]) -> list[float]:
    """Those of some values whose labels stand apart, the last one always among them."""
    kept: list[float] = []
    edge = math.inf
    for value in sorted(set(values), reverse=True):
        half = text_width(f"{value:g}") / 2
        if scale.pixel(value) + half < edge:
            kept.append(value)
            edge = scale.pixel(value) - half - 6
    return kept[::-1]
