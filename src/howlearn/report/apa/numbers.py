"""Numbers in APA style."""

from __future__ import annotations

import math

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
