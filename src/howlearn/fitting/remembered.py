"""Searches whose results are kept while a run lasts, since it asks for some of them twice.

What is learned from all learners needs the fits of some models before the learners are gone through
one part after the other. A search depends on nothing but its model, its data and its effort.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.engine.search import Effort, Tops
from howlearn.engine.whole import RecordLikelihood, told

MOST = 20_000  # results that are kept: about 12 MB
_kept: list[dict[bytes, tuple[Any, ...]]] = []  # of the runs under way


@contextmanager
def remembering() -> Iterator[None]:
    """Keep the results of searches until the end."""
    kept: dict[bytes, tuple[Any, ...]] = {}
    _kept.append(kept)
    try:
        yield
    finally:
        _kept.remove(kept)


def searched_once(
    likelihood: RecordLikelihood,
    marks: Ints,
    guesses: Floats,
    effort: Effort,
    search: Callable[[Sequence[int]], Tops],
) -> Tops:
    """What ``search`` finds at marks of these numbers; those that are known are not searched."""
    n, m = marks.shape
    if not _kept or not n:
        return search(range(m))
    kept = _kept[-1]
    keys = _keys(likelihood, marks, guesses, effort)
    found = {key: kept[key] for row in keys for key in row if key in kept}
    new = [j for j in range(m) if not all(row[j] in found for row in keys)]
    if new:
        tops = search(new)
        for i, row in enumerate(keys):
            for at, j in enumerate(new):
                one = (tops.theta[i, at], tops.status[i, at], tops.agreement[i, at])
                found[row[j]] = one
                if len(kept) < MOST:
                    kept[row[j]] = one
    every = [[found[key] for key in row] for row in keys]
    columns = (np.array([[one[k] for one in row] for row in every]) for k in range(3))
    return Tops(*columns)


def _keys(
    likelihood: RecordLikelihood, marks: Ints, guesses: Floats, effort: Effort
) -> list[list[bytes]]:
    """[learner][mark]: a hash of all that a search depends on."""
    whole, setting, records = likelihood.whole, likelihood.setting, likelihood.records
    common = hashlib.blake2b(repr((whole.parameters, whole.held, effort)).encode(), digest_size=16)
    for part in told(whole, setting).parts:
        common.update(part.source.encode())
    for array in (whole.cell_of, whole.index, whole.edges):
        common.update(repr(array.tolist()).encode())
    for field in fields(setting):
        value = getattr(setting, field.name)
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        common.update(repr(plain).encode())
    columns = [each for each in records.columns if len(each)]
    keys = []
    for i, row in enumerate(marks):
        mine, record = common.copy(), slice(records.offsets[i], records.offsets[i + 1])
        for column in columns:
            mine.update(np.ascontiguousarray(column[record]).tobytes())
        keys.append([_with(mine, mark, guesses[i, j]) for j, mark in enumerate(row)])
    return keys


def _with(digest: Any, mark: int, guesses: Floats) -> bytes:
    found = digest.copy()
    found.update(repr((int(mark), guesses.tolist())).encode())
    return found.digest()
