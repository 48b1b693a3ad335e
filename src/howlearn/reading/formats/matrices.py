"""Matrices as tables: with the names of their columns beside them, or learners × trials."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from howlearn.reading.columns import guess, plain

# Values of other formats as columns of text.


_WHOLE = 2.0**53  # up to here a float that is whole is shown as one


def text_of(value: Any) -> str | None:
    """A value as the text that a CSV file would have; None where there is none.

    >>> [text_of(value) for value in (1, 1.0, 0.5, True, "a", None, float("nan"), [1, "x"])]
    ['1', '1', '0.5', 'true', 'a', None, None, '[1, "x"]']
    """
    if isinstance(value, np.generic):
        value = value.item()
    match value:
        case None | "":
            return None
        case str():
            return value
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float():
            return _number(value)
        case bytes():
            return value.decode("utf-8", errors="replace")
        case datetime() | date():
            return value.isoformat()
        case Mapping() | list() | tuple():
            return json.dumps(value, ensure_ascii=False, default=text_of)
        case np.ndarray():
            return json.dumps(value.tolist(), ensure_ascii=False, default=text_of)
    text = str(value)
    return None if text in ("<NA>", "NaT", "nan", "None") else text


def _number(value: float) -> str | None:
    if math.isnan(value):
        return None
    whole = value.is_integer() and abs(value) < _WHOLE
    return str(int(value)) if whole else repr(value)


def has_no_text(kind: pl.DataType) -> bool:
    """Whether values of a type cannot be shown as a label."""
    return kind.is_nested() or kind in (pl.Object, pl.Binary, pl.Duration)


def column_of(name: str, values: Iterable[Any]) -> pl.Series:
    """A column of text, or of booleans where there is nothing else."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return _numbers(name, values)
    listed = list(values)
    if any(isinstance(v, bool | np.bool_) for v in listed) and all(
        v is None or isinstance(v, bool | np.bool_) for v in listed
    ):
        plain = [None if value is None else bool(value) for value in listed]
        return pl.Series(name, plain, dtype=pl.Boolean)
    return pl.Series(name, [text_of(value) for value in listed], dtype=pl.String)


def _numbers(name: str, values: np.ndarray[Any, Any]) -> pl.Series:
    if values.dtype.kind != "f":
        return pl.Series(name, values).cast(pl.String)
    with np.errstate(invalid="ignore"):  # bytes that are no number may be in any file
        numbers = values.astype(np.float64)
        whole = np.isnan(numbers) | ((np.floor(numbers) == numbers) & (np.abs(numbers) < _WHOLE))
    series = pl.Series(name, numbers).fill_nan(None)
    return series.cast(pl.Int64).cast(pl.String) if whole.all() else series.cast(pl.String)


def together(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames below one another: all columns, text where their types differ."""
    kinds: dict[str, set[pl.DataType]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            kinds.setdefault(name, set()).add(kind)
    mixed = {name for name, found in kinds.items() if len(found) > 1}
    return pl.concat(
        [
            frame.with_columns(pl.col(mixed & set(frame.columns)).cast(pl.String))
            for frame in frames
        ],
        how="diagonal",
    )


FEWEST_TRIALS = 3  # a matrix with fewer columns is no learner's sequence
LEARNER, TRIAL = "learner", "trial"
# numbers of learners and of trials as Stan's data have them, and what is known of each learner
_LEARNERS = "n ns nsub nsubs nsubj nsubjects nlearners nparticipants".split()
_TRIALS = "t nt ntrial ntrials maxtrials".split()
_ABOUT = "tsubj age sex gender group condition".split()
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


def from_matrices(value: Mapping[str, Any], notes: list[str] | None = None) -> pl.DataFrame | None:
    """Matrices of one shape, learners × trials or turned round, as one row per trial.

    Which way they are is told by what stands beside them; where nothing tells, the longer side of
    MATLAB's and R's matrices is the trials, and a note says so.

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
    numbered = guess("trial", [*vectors, *matrices])
    turned = _told(value, vectors, owners, shape)
    if turned is None:
        turned = shape[0] > shape[1] and not any(isinstance(value[key], list) for key in matrices)
        if shape[0] >= shape[1] and notes is not None:
            notes.append(_unclear(shape, turned, not (owners or numbered)))
    learners, trials = shape[::-1] if turned else shape
    columns = [] if owners else [column_of(LEARNER, np.repeat(np.arange(learners) + 1, trials))]
    if not numbered:
        columns.append(column_of(TRIAL, np.tile(np.arange(trials) + 1, learners)))
    for key, inner in value.items():
        column = _long(inner, matrices.get(key), learners, trials, turned)
        if column is not None:
            columns.append(column_of(key, column))
    return pl.DataFrame(columns)


def _told(
    value: Mapping[str, Any], vectors: Mapping[str, Any], owners: list[str], shape: tuple[int, ...]
) -> bool | None:
    """Whether trials are below each other, by what stands beside the matrices; None: not told."""
    if min(shape) < FEWEST_TRIALS:
        return shape[1] < FEWEST_TRIALS
    if shape[0] == shape[1]:
        return None
    lengths = {key: len(vector) for key, vector in vectors.items() if np.ndim(vector) == 1}
    per_learner = [lengths[key] for key in lengths if key in owners or plain(key) in _ABOUT]
    per_trial = [lengths[key] for role in ("trial", "context") for key in guess(role, [*lengths])]
    single = {plain(key): inner for key, inner in value.items() if isinstance(inner, int | float)}
    per_learner += [int(n) for key, n in single.items() if key in _LEARNERS and n == n]
    per_trial += [int(n) for key, n in single.items() if key in _TRIALS and n == n]
    straight = shape[0] in per_learner or shape[1] in per_trial
    turned = shape[1] in per_learner or shape[0] in per_trial
    return turned if straight != turned else None


def _unclear(shape: tuple[int, ...], turned: bool, ours: bool) -> str:
    """The note on a reading that may be wrong; ``ours``: both columns were made here."""
    rows, columns = shape
    ways = "trials × learners", "learners × trials"
    read, other = ways if turned else ways[::-1]
    helps = f"--learner {TRIAL} --trial {LEARNER} turns them round" if ours else "turn them round"
    return (
        f"its matrices of {rows} rows and {columns} columns were read as {read}; if they are "
        f"{other}, {helps}"
    )


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
