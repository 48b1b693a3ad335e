"""One small study that the tests write in every format, and what it must be when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from howlearn.core.study import Study
from howlearn.reading.read import read

LEARNERS, TRIALS = 3, 9
_RNG = np.random.default_rng(8)
_N = LEARNERS * TRIALS
ROWS: dict[str, list[Any]] = {
    "subject": [1 + i // TRIALS for i in range(_N)],
    "trial": [1 + i % TRIALS for i in range(_N)],
    "stimulus": [["cat", "dog", "été"][i] for i in _RNG.integers(0, 3, _N)],
    "choice": [["left", "right", "up"][i] for i in _RNG.integers(0, 3, _N)],
    "reward": [[0.0, 0.5, 1.0][i] for i in _RNG.integers(0, 3, _N)],
}
ROWS["choice"][4] = None  # a missed trial
FRAME = pl.DataFrame(ROWS)
NAMES = list(ROWS)
RECORDS = FRAME.rows(named=True)


def lines(separator: str = ",", header: bool = True, **changes: Any) -> list[str]:
    """The study as lines of text; ``changes`` are functions of a column's values."""
    columns = [[changes.get(n, str)(v) if v is not None else "" for v in ROWS[n]] for n in NAMES]
    rows = [separator.join(row) for row in zip(*columns, strict=True)]
    return [separator.join(NAMES), *rows] if header else rows


def comma(value: float) -> str:
    """A number with a decimal comma."""
    return str(value).replace(".", ",")


def assert_same(found: Study, learners: tuple[str, ...] = ("1", "2", "3")) -> None:
    """Trial by trial what the plain data frame is."""
    plain = read(FRAME)
    assert found.learners == learners
    assert found.contexts == plain.contexts
    assert found.actions == plain.actions
    for name in ("starts", "context", "action", "reward", "scored", "learned", "reset"):
        assert np.array_equal(getattr(found, name), getattr(plain, name)), name
    assert found.counts["missed trials"] == 1
