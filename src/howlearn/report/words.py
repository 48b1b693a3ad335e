"""Numbers and lists as they are written in a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from howlearn.core import text
from howlearn.core.text import in_words, shortened

LONGEST = 80  # characters of a name that a reader can still take in
MOST = 12  # names in a list
# Control characters, halves of a character, and marks that turn the direction of the text around.
HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]+"
)


def clean(name: Any) -> str:
    """A name from the data as one line of harmless text, cut where it is endless.

    >>> clean("a\\tb"), len(clean("x" * 10_000))
    ('a b', 80)
    """
    return shortened(HARMFUL.sub(" ", str(name)).strip(), LONGEST)


def quoted(name: Any) -> str:
    return f"“{clean(name)}”"


def listed_names(names: Iterable[str], word: str = "and", most: int = MOST) -> str:
    """
    >>> listed_names("abc"), listed_names("ab", "or"), listed_names("a")
    ('a, b, and c', 'a or b', 'a')
    """
    names = [*names]
    if len(names) > most:
        names = [*names[: most - 1], f"{in_words(len(names) - most + 1)} more"]
    return text.listed(names, word, oxford=True)


def unit_of(manifest: Mapping[str, Any]) -> str:
    """What was analysed on its own: a learner, or a learner under one condition."""
    by = (manifest.get("options") or {}).get("by")
    return "sequence" if by else "learner"


def count(n: int, one: str, many: str = "") -> str:
    """
    >>> count(1, "learner"), count(20, "trial"), count(2, "row was", "rows were")
    ('one learner', '20 trials', 'two rows were')
    """
    return f"{in_words(n)} {one if n == 1 else many or one + 's'}"


def opening(sentence: str) -> str:
    """With a capital; a sentence that would begin with a digit is left to its writer."""
    return sentence[:1].upper() + sentence[1:]


# Sentences and numbers as a page shows them.


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
