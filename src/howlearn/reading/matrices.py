"""Matrices as tables: with the names of their columns beside them, or learners × trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from howlearn.reading.roles import guess
from howlearn.reading.values import column_of

FEWEST_TRIALS = 3  # a matrix with fewer columns is no learner's sequence
MANY = 2  # matrices of one shape that are a study: choices and rewards


def with_header(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """A matrix beside the names of its columns."""
    names = {key: _names(inner) for key, inner in value.items()}
    headers = {key: found for key, found in names.items() if found is not None}
    matrices = {key: inner for key, inner in value.items() if _matrix(inner) is not None}
    fitting = [
        (matrix, header)
        for matrix in matrices
        for header, found in headers.items()
        if len(found) == np.shape(matrices[matrix])[1] and len(set(found)) == len(found)
    ]
    if len(fitting) != 1:
        return None
    [(matrix, header)] = fitting
    rows = _matrix(matrices[matrix])
    assert rows is not None
    return pl.DataFrame([column_of(n, rows[:, i]) for i, n in enumerate(headers[header])])


def from_matrices(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """Matrices of one shape, learners × trials, as one row per trial.

    >>> both = {"choice": np.array([[1, 2, 1], [2, 2, 1]]), "reward": np.array([[0, 1, 1]] * 2)}
    >>> from_matrices(both).rows()[3]
    ('2', '1', '2', '0')
    """
    matrices = {key: found for key, inner in value.items() if (found := _matrix(inner)) is not None}
    shapes = Counter(matrix.shape for matrix in matrices.values())
    if not shapes:
        return None
    shape, times = max(shapes.items(), key=lambda item: item[1])
    if times < MANY or max(shape) < FEWEST_TRIALS:
        return None
    vectors = {key: inner for key, inner in value.items() if isinstance(inner, np.ndarray | list)}
    owners = [key for key in guess("learner", list(vectors)) if key not in matrices]
    turned = shape[1] < FEWEST_TRIALS or any(
        len(vectors[key]) == shape[1] != shape[0] for key in owners
    )
    learners, trials = shape[::-1] if turned else shape
    columns = [] if owners else [column_of("learner", np.repeat(np.arange(learners) + 1, trials))]
    if not guess("trial", [*vectors, *matrices]):
        columns.append(column_of("trial", np.tile(np.arange(trials) + 1, learners)))
    for key, inner in value.items():
        column = _long(inner, matrices.get(key), learners, trials, turned)
        if column is not None:
            columns.append(column_of(key, column))
    return pl.DataFrame(columns)


def _long(
    inner: Any, matrix: np.ndarray[Any, Any] | None, learners: int, trials: int, turned: bool
) -> Any:
    """A value as a column with one entry per learner and trial; None where it has no place."""
    if matrix is not None:
        straight = matrix.T if turned else matrix
        return straight.reshape(-1) if straight.shape == (learners, trials) else None
    if isinstance(inner, list | np.ndarray):
        if isinstance(inner, list) and any(isinstance(item, list | Mapping) for item in inner):
            return None
        flat = np.asarray(inner, dtype=None if isinstance(inner, np.ndarray) else object)
        if flat.ndim != 1:
            return None
        if len(flat) == learners:
            return np.repeat(flat, trials)
        return np.tile(flat, learners) if len(flat) == trials else None
    if isinstance(inner, Mapping | pl.DataFrame):
        return None
    return [inner] * (learners * trials)


def _matrix(value: Any) -> np.ndarray[Any, Any] | None:
    """Something with rows and columns of single values."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 2 and value.shape[0] > 0 else None
    if not (isinstance(value, list) and value and all(isinstance(row, list) for row in value)):
        return None
    width = len(value[0])
    if width < FEWEST_TRIALS or any(len(row) != width for row in value):
        return None
    if any(isinstance(item, list | Mapping) for row in value for item in row):
        return None
    matrix = np.empty((len(value), width), dtype=object)
    matrix[:] = value
    return matrix


def _names(value: Any) -> list[str] | None:
    """A list of names."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list) and len(value) > 1 and all(isinstance(v, str) for v in value):
        return [text.strip() for text in value]
    return None
