"""Nested values (of JSON, MATLAB, R) as tables: records, columns, matrices, one part per learner.

A value is a dict (object, struct, named list), a list (array, cell, list), a numpy array with one
or two axes, or something single.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.columns import guess
from howlearn.reading.formats.matrices import column_of, from_matrices, together, with_header
from howlearn.reading.formats.table import INSIDE, MOST_COLUMNS, Held, one_of
from howlearn.reading.problems import listed

DEEPEST = 8  # levels that are looked into
LEARNER = "learner"
MANY_NAMES, MOST_CELLS = 1_000, 5_000_000  # of records that hardly share a name


def table_in(value: Any, depth: int = 0, notes: list[str] | None = None) -> pl.DataFrame | None:
    """The table that a value is or holds; None where there is none.

    What the user should know about how it was taken is added to the notes.
    """
    if depth > DEEPEST:
        return None
    if isinstance(value, pl.DataFrame):
        return value
    if isinstance(value, Mapping):
        return _of_dict(value, depth, notes)
    if isinstance(value, list):
        return _of_list(value, depth, notes)
    return None


def vector_of(value: Any) -> Sequence[Any] | np.ndarray[Any, Any] | None:
    """Several single values in a row, or None."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 1 else None
    if isinstance(value, list) and not any(
        isinstance(item, Mapping | list | np.ndarray | pl.DataFrame) for item in value
    ):
        return value
    return None


def single(value: Any) -> bool:
    """Whether a value is one value."""
    return not isinstance(value, Mapping | list | np.ndarray | pl.DataFrame)


def flat(record: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """One record with the objects in it spread out: response.Q0.

    >>> flat({"rt": 5, "response": {"Q0": "x", "Q1": [1, 2]}, "data": '{"a": 1}'})
    {'rt': 5, 'response.Q0': 'x', 'response.Q1': [1, 2], 'data.a': 1}
    """
    found: dict[str, Any] = {}
    for key, value in record.items():
        inner = object_in(value) if depth < DEEPEST else None
        if inner:
            found.update(flat(inner, f"{before}{key}.", depth + 1))
        else:
            found[f"{before}{key}"] = None if isinstance(value, Mapping) and not value else value
    return found


def object_in(value: Any) -> Mapping[str, Any] | None:
    """The object that a value is, or that its text holds."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and value[:1] == "{" and value.rstrip()[-1:] == "}":
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None
    return None


def from_records(records: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row per record; what a record lacks is missing."""
    columns: dict[str, list[Any]] = {}
    for row, record in enumerate(records):
        for name, value in flat(record).items():
            column = columns.setdefault(str(name).strip(), [])
            column += [None] * (row - len(column))
            if len(column) == row:
                column.append(value)
        if len(columns) > MOST_COLUMNS or (
            len(columns) > MANY_NAMES and len(columns) * len(records) > MOST_CELLS
        ):
            raise ValueError("too many different names in its records for a table of trials")
    for column in columns.values():
        column += [None] * (len(records) - len(column))
    return pl.DataFrame([column_of(name, values) for name, values in columns.items()])


def parts(found: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The tables of several learners together; whose each is unless they say it themselves."""
    if not all(guess(LEARNER, frame.columns) for frame in found.values()):
        found = {
            name: frame
            if LEARNER in frame.columns
            else frame.select(pl.lit(name).alias(LEARNER), pl.all())
            for name, frame in found.items()
        }
    return together(list(found.values()))


def _of_list(value: list[Any], depth: int, notes: list[str] | None) -> pl.DataFrame | None:
    if not value:
        return None
    if all(isinstance(item, Mapping) for item in value):
        inside = sum(_holds_trials(item) for item in value)
        if 2 * inside <= len(value):
            return from_records(value)
    elif not all(isinstance(item, Mapping | list | pl.DataFrame) for item in value):
        return None
    found = {str(i): table_in(item, depth + 1, notes) for i, item in enumerate(value, start=1)}
    tables = {name: frame for name, frame in found.items() if frame is not None and frame.height}
    if not tables or 2 * len(tables) <= len(value):
        return None
    return parts(tables)


def _of_dict(value: Mapping[str, Any], depth: int, notes: list[str] | None) -> pl.DataFrame | None:
    if not value:
        return None
    table = _split(value)
    if table is None:
        table = with_header(value)
    if table is None:
        table = _with_trials(value, depth, notes)
    if table is None:
        table = from_matrices(value, notes)
    if table is None:
        table = from_vectors(value)
    if table is None:
        table = _indexed(value)
    if table is None:
        table = _learners(value, depth, notes)
    return table


def _split(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """pandas' to_json with orient="split"."""
    names, rows = value.get("columns"), value.get("data")
    if not (isinstance(names, list) and isinstance(rows, list) and names and rows):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    return from_records([dict(zip(map(str, names), row, strict=True)) for row in rows])


def _records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _holds_trials(value: Any) -> bool:
    """Whether an object is more than one trial: it has a list of them, or vectors of them."""
    if not isinstance(value, Mapping):
        return False
    if any(_records(inner) or isinstance(inner, pl.DataFrame) for inner in value.values()):
        return True
    lengths = _lengths(value)
    vectors = sum(lengths.values())
    return bool(lengths) and max(lengths.values()) >= 2 and 2 * vectors >= len(value)


def _lengths(value: Mapping[str, Any]) -> Counter[int]:
    """How many vectors there are of each length."""
    vectors = [vector_of(inner) for inner in value.values()]
    return Counter(len(vector) for vector in vectors if vector is not None and len(vector) > 1)


def _with_trials(
    value: Mapping[str, Any], depth: int, notes: list[str] | None
) -> pl.DataFrame | None:
    """An object with a list of trials inside; what stands beside it holds for all of them."""
    keys = [key for key, inner in value.items() if _records(inner)]
    frames = [key for key, inner in value.items() if isinstance(inner, pl.DataFrame)]
    named = [key for key in keys if key.lower() in ("trials", "data", "results", "records")]
    chosen = frames if len(frames) == 1 and not keys else (named or keys)
    if not chosen or (len(chosen) > 1 and not named):
        return None
    table = table_in(value[chosen[0]], depth + 1, notes)
    return None if table is None else _beside(table, value, chosen[0])


def _beside(table: pl.DataFrame, value: Mapping[str, Any], key: str) -> pl.DataFrame:
    """The table with the single values that stand beside it, on every row."""
    others = flat({name: v for name, v in value.items() if name != key})
    repeated = {name: v for name, v in others.items() if single(v) and name not in table.columns}
    return table.with_columns(
        column_of(name, [v]).new_from_index(0, table.height) for name, v in repeated.items()
    )


def from_vectors(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """Vectors of the same length as columns; single values beside them hold for all rows."""
    spread = flat(value)
    lengths, direct = _lengths(spread), _lengths(value)
    if not direct:  # what a level below holds is looked at there
        return None
    length = max(direct, key=lambda n: (lengths[n], n))
    if lengths[length] < 2:
        return None
    columns = []
    for name, inner in spread.items():
        vector = vector_of(inner)
        if vector is not None and len(vector) == length:
            columns.append(column_of(name, vector))
        elif isinstance(inner, np.ndarray) and inner.ndim == 2 and length in inner.shape:
            matrix = inner if inner.shape[0] == length else inner.T
            columns += [
                column_of(f"{name}.{i}", matrix[:, i - 1]) for i in range(1, matrix.shape[1] + 1)
            ]
        elif single(inner):
            columns.append(column_of(name, [inner]).new_from_index(0, length))
    return pl.DataFrame(columns)


def _indexed(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """pandas' to_json with orient="columns" or "index"."""
    inner = list(value.values())
    if not all(isinstance(v, Mapping) and v and all(map(single, v.values())) for v in inner):
        return None
    keys = list(inner[0])
    if all(str(key).isdigit() for key in keys):
        columns = [column_of(name, [v.get(key) for key in keys]) for name, v in value.items()]
        return pl.DataFrame(columns)
    if all(str(key).isdigit() for key in value):
        return from_records(inner)
    return None


def _learners(value: Mapping[str, Any], depth: int, notes: list[str] | None) -> pl.DataFrame | None:
    """An object whose members are tables: a learner each, or the one table that there is."""
    found = {str(name): table_in(inner, depth + 1, notes) for name, inner in value.items()}
    tables = {name: frame for name, frame in found.items() if frame is not None and frame.height}
    if len(tables) == 1:
        [(name, table)] = tables.items()
        return _beside(table, value, name)
    columns = [set(frame.columns) for frame in tables.values()]
    alike = columns and len(set.intersection(*columns)) * 2 > max(map(len, columns))
    return parts(tables) if alike else None


# Which of the variables in a file are the study: MATLAB and R save whatever there was.


def tables_of(
    path: Path, variables: Mapping[str, Any], inside: str | None, format: str, frames: bool
) -> list[Held]:
    """The tables among the variables; ``frames``: a data frame comes before other lists."""
    chosen, named = one_of(path, inside, list(variables), "variable")
    notes: list[str] = []
    found = _tables({name: variables[name] for name in chosen}, frames, notes)
    if not found and not named:
        whole = table_in(dict(variables), notes=notes)
        if whole is not None and whole.height:
            return [_noted(_held(path, None, whole, format, False), notes)]
    if not found:
        allowed = "columns of equal length, one record per learner, or learners × trials matrices"
        there = listed([f"{name} ({_what(value)})" for name, value in variables.items()])
        raise DataError([Problem(str(path), None, None, there or "nothing inside", allowed)])
    columns = [set(frame.columns) for frame in found.values()]
    if any(other != columns[0] for other in columns):
        names = [f"{name} ({listed(frame.columns)})" for name, frame in found.items()]
        first = next(iter(found))
        raise DataError(
            [
                Problem(
                    str(path),
                    None,
                    None,
                    f"several tables: {'; '.join(names)}",
                    "one table, or several with the same columns",
                    f"name one of them, as in {path.name}{INSIDE}{first}",
                )
            ]
        )
    several = len(found) > 1 or named
    tables = [_held(path, name, frame, format, several) for name, frame in found.items()]
    if len(tables) > 1:
        notes.append(f"{len(tables)} variables with the same columns were read")
    _noted(tables[0], notes)
    return tables


def _noted(table: Held, notes: list[str]) -> Held:
    table.notes = (*table.notes, *dict.fromkeys(notes))
    return table


def _tables(
    variables: Mapping[str, Any], frames: bool, notes: list[str]
) -> dict[str, pl.DataFrame]:
    if frames:
        whole = {n: v for n, v in variables.items() if isinstance(v, pl.DataFrame) and v.height}
        if whole:
            return whole
    nested = {n: v for n, v in variables.items() if isinstance(v, dict | list)}
    found = {name: table_in(value, notes=notes) for name, value in nested.items()}
    return {name: frame for name, frame in found.items() if frame is not None and frame.height}


def _held(path: Path, name: str | None, frame: pl.DataFrame, format: str, several: bool) -> Held:
    words = f"{format}, variable {name}" if name else f"{format}, its variables together"
    shown = f"{path}{INSIDE}{name}" if several else str(path)
    stem = name if several and name else path.stem
    return Held(shown, stem, frame, f"{words}, rows counted as trials", 1)


def _what(value: Any) -> str:
    if isinstance(value, dict):
        return f"a structure of {listed(list(value))}"
    shape = getattr(value, "shape", None)
    if shape:
        return " × ".join(map(str, shape)) if len(shape) > 1 else f"{shape[0]} values"
    return f"a list of {len(value)}" if isinstance(value, list) else "one value"
