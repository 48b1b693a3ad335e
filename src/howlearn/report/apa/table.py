"""A table in APA style, before it becomes Word or LaTeX."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

STATISTICS = frozenset({"n", "Mdn", "N"})  # symbols that stand in italics


@dataclass(frozen=True)
class Head:
    """The heading of a column."""

    text: str
    over: str = ""  # of neighbouring columns with the same one: a heading over all of them

    @property
    def italic(self) -> bool:
        return self.text in STATISTICS


@dataclass(frozen=True)
class ApaTable:
    """Text only: numbers are formatted already. The first columns are words, the others numbers."""

    number: int
    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())
    n_words: int = 1  # columns of words, to be set flush left

    @property
    def groups(self) -> tuple[tuple[str, int, int], ...]:
        """The headings over several columns, each with the first column and their number."""
        found: list[tuple[str, int, int]] = []
        for i, head in enumerate(self.heads):
            if found and found[-1][0] == head.over:
                name, first, n = found[-1]
                found[-1] = (name, first, n + 1)
            else:
                found.append((head.over, i, 1))
        return tuple(found)

    @property
    def spanned(self) -> bool:
        return any(head.over for head in self.heads)


# Numbers in APA style.


DASH = "—"


def proportion(value: float | None, digits: int = 2) -> str:
    """Of what cannot exceed 1: no zero before the point.

    >>> proportion(0.5), proportion(1.0), proportion(-0.25), proportion(None)
    ('.50', '1.00', '−.25', '—')
    >>> proportion(0.0001, 3), proportion(0.0, 3)
    ('< .001', '.000')
    """
    shown = decimal(value, digits)
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "−0.", "< 0.")) else shown


def decimal(value: float | None, digits: int = 2) -> str:
    """
    >>> decimal(1234.567), decimal(-0.5), decimal(float("nan")), decimal(0.001)
    ('1,234.57', '−0.50', '—', '< 0.01')
    """
    if value is None or not math.isfinite(value):
        return DASH
    if 0 < value < 0.5 * 10**-digits:
        return f"< {10**-digits:.{digits}f}"
    shown = f"{value:,.{digits}f}"
    return shown.replace("-", "−") if float(shown.replace(",", "")) else shown.lstrip("-")


def percent(part: int, total: int) -> str:
    """
    >>> percent(1, 8), percent(0, 0)
    ('12.5', '—')
    """
    return f"{100 * part / total:.1f}" if total else DASH


def span(low: float | None, high: float | None, bounded: bool, digits: int) -> str:
    """
    >>> span(0.1, 0.25, True, 2)
    '[.10, .25]'
    """
    shown = proportion if bounded else decimal
    if low is None or high is None:
        return DASH
    return f"[{shown(low, digits)}, {shown(high, digits)}]"
