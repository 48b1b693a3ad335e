"""Sentences and numbers as a page shows them."""

from __future__ import annotations

import polars as pl


def sentence(text: str) -> str:
    """With a capital letter and a full stop.

    >>> sentence("three rows were left out")
    'Three rows were left out.'
    """
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")


def figures(value: float | None, digits: int = 3) -> str:
    """A number with as many digits as matter; a dash where there is none.

    >>> [figures(v) for v in (0.04816, 1234.6, 12.0, 0, None, float("inf"))]
    ['0.0482', '1,235', '12', '0', '–', '–']
    """
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return "–"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def rounded(frame: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    """Floats with the digits that a page needs; what is not finite is missing."""
    floats = pl.selectors.float()
    return frame.with_columns(
        pl.when(floats.is_finite()).then(floats.round_sig_figs(digits)).name.keep()
    )
