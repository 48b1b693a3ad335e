"""Numbers and lists as people read them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

SMALL = "no one two three four five six seven eight nine ten".split()


def many(count: int, what: str) -> str:
    """A count with its noun.

    >>> many(1, "learner"), many(1200, "learner")
    ('1 learner', '1,200 learners')
    """
    return f"{count:,} {what}{'s' * (count != 1)}"


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words with commas and an and.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def sentence(text: str) -> str:
    """With a capital letter and a full stop.

    >>> sentence("three rows were left out")
    'Three rows were left out.'
    """
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")


def counted(count: int) -> str:
    """Small numbers as words."""
    return SMALL[count] if count < len(SMALL) else f"{count:,}"


def figures(value: float | None, digits: int = 3) -> str:
    """A number with as many digits as matter; a dash where there is none.

    >>> [figures(v) for v in (0.04815, 1234.6, 12.0, 0, None, float("inf"))]
    ['0.0482', '1,235', '12', '0', '–', '–']
    """
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return "–"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.{digits}g}".replace("-", "−")


def percent(share: float | None) -> str:
    """A share as a whole percentage; nothing that is there is called 0%.

    >>> percent(0.646), percent(0.001), percent(None)
    ('65%', '<1%', '–')
    """
    if share is None or share != share:
        return "–"
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def rounded(frame: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    """Floats with the digits that a page needs; what is not finite is missing."""
    floats = pl.selectors.float()
    return frame.with_columns(
        pl.when(floats.is_finite()).then(floats.round_sig_figs(digits)).name.keep()
    )
