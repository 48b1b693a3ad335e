"""One spelling for every name that data may write as a number."""

from __future__ import annotations

import re

DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]*")


def canonical(value: object) -> str:
    """The label of a value: 1, 1.0 and "1" are the same.

    >>> [canonical(value) for value in (1, 1.0, " 1 ", "1.00", "0.50", "01", "-0")]
    ['1', '1', '1', '1', '0.5', '01', '0']
    """
    text = str(value).strip()
    if DECIMAL.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
