"""How many trials a fit sees: a share of each learner's scored trials, a count, or up to T_ε."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study


@dataclass(frozen=True)
class Stop:
    """Up to T_ε: the trials during which no action is less probable than ε.

    ``by`` the paper's formula, which depends on the models' bounds only, or by the ``path``: before
    the first trial at which a candidate, fitted to all trials, gives any action less than ε.
    """

    epsilon: float
    by: Literal["path", "paper"] = "path"


Truncation = float | int | Stop  # a float is a share, 1.0 all of them; an int is a number of trials
ALL = 1.0


def sizes_of(n_scored: NDArray[np.int64], truncations: Sequence[float | int]) -> NDArray[np.int64]:
    """Scored trials fitted: [learner, truncation].

    >>> sizes_of(np.array([10, 101]), [0.5, 20, 1.0]).tolist()
    [[5, 10, 10], [50, 20, 101]]
    """
    columns = []
    for truncation in truncations:
        if isinstance(truncation, float):
            if not 0.0 < truncation <= 1.0:
                raise HowlearnError(
                    f"a share of the trials lies above 0 and at most at 1, not at {truncation:g}"
                )
            # 1e-9, so that 0.3·10 is 3 although it is 2.9999… in floating point
            columns.append(np.floor(truncation * n_scored + 1e-9).astype(np.int64))
        elif truncation < 1:
            raise HowlearnError(f"a number of trials is at least 1, not {truncation}")
        else:
            columns.append(np.minimum(truncation, n_scored))
    return np.stack(columns, axis=1)


def distinct(truncations: Iterable[Truncation]) -> list[Truncation]:
    """Each of them once, in order; 1 is one trial, and 1.0 all of them.

    >>> distinct([1.0, 0.5, 1, 1.0])
    [0.5, 1.0, 1]
    """
    found = {(isinstance(each, int), each): each for each in truncations}
    stops = [each for each in found.values() if isinstance(each, Stop)]
    plain = [key for key, each in found.items() if not isinstance(each, Stop)]
    return [*stops, *(found[key] for key in sorted(plain, key=lambda key: (key[1], key[0])))]


def marks_of(study: Study, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The trial before which each truncation ends, counted within the learner."""
    position = np.flatnonzero(study.scored)
    before = np.concatenate(([0], np.cumsum(study.scored, dtype=np.int64)))[study.starts[:-1]]
    last = before[:, None] + sizes - 1  # the last scored trial fitted
    marks = position[np.clip(last, 0, len(position) - 1)] + 1 - study.starts[:-1, None]
    marks = np.where(sizes == 0, 0, marks)
    everything = sizes == study.n_scored[:, None]
    return np.where(everything, np.diff(study.starts)[:, None], marks).astype(np.int64)
