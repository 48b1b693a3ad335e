"""Columns of numbers: what is no number is refused, with the row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.labels import Column
from howlearn.reading.problems import Problems
from howlearn.reading.rows import Rows

DECIMAL_COMMA = r"^[-+]?[0-9]+,[0-9]+$"
COMMAS = "decimal commas must be saved as decimal points"


def numbers_of(
    rows: Rows, column: Column, problems: Problems, allowed: str, remedy: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The number of each code, NaN where it has none; and which codes are words."""
    values = column.numbers()
    unreadable = ~np.isfinite(values) & ~column.labels.is_null().to_numpy()
    commas = unreadable & column.labels.str.contains(DECIMAL_COMMA).fill_null(False).to_numpy()
    words = unreadable & ~commas
    rows.refuse(problems, column, commas, allowed, COMMAS)
    rows.refuse(problems, column, words, allowed, remedy)
    return np.where(unreadable, np.nan, values), words
