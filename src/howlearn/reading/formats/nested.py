"""Nested values (of JSON, MATLAB, R) as tables: records, columns, matrices, one part per learner.

A value is a dict (object, struct, named list), a list (array, cell, list), a numpy array, or
something single.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from howlearn.reading.columns import is_telling
from howlearn.reading.formats.levels import Look, named_levels, together_as
from howlearn.reading.formats.matrices import (
    array_of,
    ask_for_axes,
    column_of,
    from_arrays,
    names_in,
    together,
    what_is,
    with_header,
)
from howlearn.reading.formats.table import MOST_COLUMNS

DEEPEST = 8  # levels that are looked into
MOST_BARE, FEW_COLUMNS = 200, 20  # columns of a matrix without names; of one per learner
SEVERAL = 5  # trials of a session in a cell, on average; in an object
MUCH = 4  # times as many rows, by which one matrix is the data and others are not
MANY_TRIALS = 10  # values of vectors that hardly are something about one trial
MATRICES = 3  # tables that take as long as one of matrices
SEVERAL_VALUES = (Mapping, list, np.ndarray, pl.DataFrame)
MANY_NAMES, MOST_CELLS = 1_000, 5_000_000  # of records that hardly share a name


def table_in(value: Any, look: Look, depth: int = 0, name: str = "") -> pl.DataFrame | None:
    """The table that a value is or holds; None where there is none.

    ``name`` is what the value is called. What the user should know is added to the look's notes.
    """
    if depth > DEEPEST:
        return None
    if isinstance(value, pl.DataFrame):
        return value
    look.count()
    if isinstance(value, Mapping):
        return _of_dict(value, look, depth)
    if isinstance(value, list):
        return _of_list(value, look, depth, name)
    return None


def whole_table(value: Any, look: Look, name: str = "") -> pl.DataFrame | None:
    """The table in a value with names for its levels; one without names of columns if need be."""
    array = array_of(value)
    if array is not None and (array.ndim > 2 or look.axes):
        value = {name or "data": value}
    found = table_in(value, look, name=name)
    if found is None:
        found = bare_table(value, look, name)
    return None if found is None else named_levels(found, look)


def bare_table(value: Any, look: Look, name: str = "", depth: int = 0) -> pl.DataFrame | None:
    """Rows of values without names, perhaps a matrix for each learner; columns have numbers."""
    if depth > DEEPEST:
        return None
    rows = _rows(value)
    if rows is not None:
        look.bare = rows.shape[1]
        return pl.DataFrame([column_of(str(i + 1), rows[:, i]) for i in range(rows.shape[1])])
    if not isinstance(value, list | Mapping) or vector_of(value) is not None:
        return None
    items = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
    found = {str(key): bare_table(inner, look, str(key), depth + 1) for key, inner in items}
    tables = {key: frame for key, frame in found.items() if frame is not None}
    rows_of: Counter[int] = Counter()
    for frame in tables.values():
        rows_of[frame.width] += frame.height
    if not rows_of or (isinstance(value, list) and 2 * len(tables) <= len(value)):
        return None
    [(width, most), *others] = rows_of.most_common()
    if others and MUCH * others[0][1] > most:
        return None  # nobody knows which
    alike = {key: frame for key, frame in tables.items() if frame.width == width}
    columns = next(iter(alike.values())).columns
    look.bare = sum(c.isdigit() for c in columns)
    header = _header(value, columns) if isinstance(value, Mapping) else None
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        if key not in alike and key != header:
            look.leave(key, what_is(inner))
    if header is not None and isinstance(value, Mapping):
        look.notes.append(f"the names of the columns are those in {header}")
        look.bare, names = 0, names_in(value[header]) or []
        named = {str(i): each for i, each in enumerate(names, start=1)}
        alike = {key: frame.rename(named) for key, frame in alike.items()}
        value = {key: inner for key, inner in value.items() if key != header}
    if len(alike) == 1 and isinstance(value, Mapping):
        [(key, frame)] = alike.items()
        return _before(frame, {k: v for k, v in value.items() if k != key})
    return together([*together_as(alike, name).values()])


def _header(value: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """The only list of as many names as there are columns without one."""
    named = {c for c in columns if not c.isdigit()} | {""}
    lists = {key: names for key, inner in value.items() if (names := names_in(inner))}
    found = [k for k, n in lists.items() if len({*n} - named) == len(n) == len({*columns} - named)]
    return found[0] if len(found) == 1 else None


def _before(frame: pl.DataFrame, beside: Mapping[str, Any]) -> pl.DataFrame:
    """A table without names, with the single values that stand beside it before its columns."""
    repeated = [
        column_of(name, [v]).new_from_index(0, frame.height)
        for name, v in flat(beside).items()
        if single(v) and not name.isdigit() and name not in frame.columns
    ]
    return pl.DataFrame([*repeated, *frame.get_columns()])


def _rows(value: Any) -> np.ndarray[Any, Any] | None:
    """Rows of single values that are all of one length."""
    found = array_of(value)
    if found is None and isinstance(value, list) and len(value) >= SEVERAL:
        lengths = {len(row) if isinstance(row, list) else 0 for row in value}
        if len(lengths) == 1 and min(lengths) > 1 and all(single(v) for row in value for v in row):
            found = np.array(value, dtype=object)
    if found is None or found.ndim != 2 or not 1 <= found.shape[1] <= MOST_BARE:
        return None
    return found


def vector_of(value: Any) -> Sequence[Any] | np.ndarray[Any, Any] | None:
    """Several single values in a row, or None."""
    if isinstance(value, np.ndarray):
        return value if value.ndim == 1 else None
    if isinstance(value, list) and not _several_in(value):
        return value
    return None


def _several_in(values: list[Any]) -> bool:
    """Whether any value is more than one value; of millions, their few types are looked at."""
    return any(issubclass(kind, SEVERAL_VALUES) for kind in {*map(type, values)})


def single(value: Any) -> bool:
    """Whether a value is one value."""
    return not isinstance(value, SEVERAL_VALUES)


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


def parts(found: Mapping[str, pl.DataFrame], name: str = "") -> pl.DataFrame:
    """The tables of several learners, sessions or blocks together, with one more level."""
    return together([*together_as(found, name).values()])


def _of_list(value: list[Any], look: Look, depth: int, name: str) -> pl.DataFrame | None:
    if not value:
        return None
    if all(isinstance(item, Mapping) for item in value):
        inside = sum(holds_trials(item) for item in value)
        if 2 * inside <= len(value):
            return from_records(value)
    elif not all(isinstance(item, Mapping | list | pl.DataFrame) for item in value):
        return None
    look.check(len(value))
    found = {str(i): table_in(item, look, depth + 1) for i, item in enumerate(value, start=1)}
    tables = {label: frame for label, frame in found.items() if frame is not None and frame.height}
    if not tables or 2 * len(tables) <= len(value):
        return None
    for label in found.keys() - tables.keys():
        look.leave(f"part {label}{f' of {name}' if name else ''}", "without trials")
    return parts(tables, name)


def _of_dict(value: Mapping[str, Any], look: Look, depth: int) -> pl.DataFrame | None:
    if not value:
        return None
    table = _split(value)
    if table is None:
        table = with_header(value)
    if table is None:
        table = _with_trials(value, look, depth)
    if table is None and not _matrices_of_people(value):
        table = from_arrays(value, look)
        look.count(0 if table is None else MATRICES)
    if table is None:
        table = _rows_of_cells(value, look)
    if table is None:
        table = from_vectors(value, look)
    if table is None:
        table = _indexed(value)
    if table is None:
        table = _learners(value, look, depth)
    if table is None:
        ask_for_axes(value)
    return table


def _matrices_of_people(value: Mapping[str, Any]) -> bool:
    """Whether matrices are tables without names, one for each learner, and not quantities."""
    arrays = {key: array for key, inner in value.items() if (array := array_of(inner)) is not None}
    quantities = any(is_telling(key) for key in arrays)
    return not quantities and all(
        a.ndim == 2 and a.shape[1] <= FEW_COLUMNS for a in arrays.values()
    )


def _rows_of_cells(value: Mapping[str, Any], look: Look) -> pl.DataFrame | None:
    """Columns of cells, each of them a vector: a row is a session with trials of its own."""
    cells = {key: inner for key, inner in value.items() if _vectors(inner)}
    lengths = Counter(len(inner) for inner in cells.values())
    if not lengths:
        return None
    length, times = lengths.most_common(1)[0]
    if times < 2:
        return None
    rows: list[dict[str, Any]] = [{} for _ in range(length)]
    for key, inner in value.items():
        if isinstance(inner, list | np.ndarray) and len(inner) == length:  # of numpy's: its rows
            for row, item in zip(rows, inner, strict=True):
                row[key] = item
        elif single(inner):
            for row in rows:
                row[key] = inner
        else:
            look.leave(key, what_is(inner))
    found = {
        str(i): _rows_of_cells(row, look) if any(map(_vectors, row.values())) else None
        for i, row in enumerate(rows, start=1)
    }
    for label, table in found.items():
        found[label] = from_vectors(rows[int(label) - 1], look) if table is None else table
    tables = {label: frame for label, frame in found.items() if frame is not None}
    for label in found.keys() - tables.keys():
        look.leave(f"row {label}", "without trials")
    return parts(tables) if tables else None


def _vectors(value: Any) -> bool:
    """Whether a value is a list of vectors, each with several trials."""
    if not isinstance(value, list) or not _several_in(value):
        return False
    there = [item for item in value if item is not None]
    if there and all(_vectors(item) for item in there):  # a row of cells for each learner
        return True
    lengths = [len(v) for item in there if (v := vector_of(item)) is not None]
    return 2 * len(lengths) > len(there) > 0 and sum(lengths) >= SEVERAL * len(there)


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


def holds_trials(value: Any) -> bool:
    """Whether an object is more than one trial: it has a list of them, or vectors of them."""
    if not isinstance(value, Mapping):
        return False
    if any(_records(inner) or isinstance(inner, pl.DataFrame) for inner in value.values()):
        return True
    lengths = _lengths(value)
    vectors = sum(lengths.values())
    if bool(lengths) and max(lengths.values()) >= 2 and 2 * vectors >= len(value):
        return True
    if any(n >= MANY_TRIALS and times >= 2 for n, times in lengths.items()):
        return True
    if any(isinstance(inner, list) and _rows(inner) is not None for inner in value.values()):
        return True
    arrays = Counter(a.shape for inner in value.values() if (a := array_of(inner)) is not None)
    return any(times >= 2 for times in arrays.values()) or any(
        holds_trials(inner) or (isinstance(inner, list) and inner and all(map(holds_trials, inner)))
        for inner in value.values()
    )


def _lengths(value: Mapping[str, Any]) -> Counter[int]:
    """How many vectors there are of each length."""
    vectors = [vector_of(inner) for inner in value.values()]
    return Counter(len(vector) for vector in vectors if vector is not None and len(vector) > 1)


def _with_trials(value: Mapping[str, Any], look: Look, depth: int) -> pl.DataFrame | None:
    """An object with a list of trials inside; what stands beside it holds for all of them."""
    keys = [key for key, inner in value.items() if _records(inner)]
    frames = [key for key, inner in value.items() if isinstance(inner, pl.DataFrame)]
    named = [key for key in keys if key.lower() in ("trials", "data", "results", "records")]
    chosen = frames if len(frames) == 1 and not keys else (named or keys)
    if not chosen or (len(chosen) > 1 and not named):
        return None
    if not named and any(holds_trials(v) for k, v in value.items() if k not in chosen):
        apart = _learners(value, look, depth)  # a list of people beside what each of them did
        if apart is not None:
            return apart
    table = table_in(value[chosen[0]], look, depth + 1, chosen[0])
    return None if table is None else _beside(table, value, chosen[0], look)


def _beside(table: pl.DataFrame, value: Mapping[str, Any], key: str, look: Look) -> pl.DataFrame:
    """The table with the single values that stand beside it, on every row."""
    others = flat({name: v for name, v in value.items() if name != key})
    repeated = {name: v for name, v in others.items() if single(v) and name not in table.columns}
    for name, inner in others.items():
        if name not in repeated:
            look.leave(name, what_is(inner))
    return table.with_columns(
        column_of(name, [v]).new_from_index(0, table.height) for name, v in repeated.items()
    )


def from_vectors(value: Mapping[str, Any], look: Look) -> pl.DataFrame | None:
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
        else:
            look.leave(name, what_is(inner))
    return pl.DataFrame(columns)


def _indexed(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """pandas' to_json with orient="columns" or "index"; or trials that are kept under their ids."""
    inner = list(value.values())
    if not all(isinstance(v, Mapping) and v and all(map(single, v.values())) for v in inner):
        return None
    keys = list(inner[0])
    if all(str(key).isdigit() for key in keys):
        columns = [column_of(name, [v.get(key) for key in keys]) for name, v in value.items()]
        return pl.DataFrame(columns)
    alike = len(inner) >= SEVERAL and all(v.keys() == inner[0].keys() for v in inner)
    if alike or all(str(key).isdigit() for key in value):
        return from_records(inner)
    return None


def _learners(value: Mapping[str, Any], look: Look, depth: int) -> pl.DataFrame | None:
    """An object whose members are tables: a learner each, or the one table that there is."""
    found = {
        str(name): table_in(inner, look, depth + 1, str(name)) for name, inner in value.items()
    }
    tables = {name: frame for name, frame in found.items() if frame is not None and frame.height}
    if len(tables) == 1:
        [(name, table)] = tables.items()
        return _beside(table, value, name, look)
    columns = [{c for c in frame.columns if c[0:1] != "\0"} for frame in tables.values()]
    alike = columns and len(set.intersection(*columns)) * 2 > max(map(len, columns))
    if not alike:
        return _largest(tables, value, look)
    for name in found.keys() - tables.keys():
        look.leave(name, what_is(value[name]))
    stems = {name.rstrip("0123456789").strip("_-. ") for name in tables}
    return parts(tables, stems.pop() if len(stems) == 1 else "")


def _largest(
    tables: Mapping[str, pl.DataFrame], value: Mapping[str, Any], look: Look
) -> pl.DataFrame | None:
    """The one table that is many times as long as all others, as trials are beside people."""
    [first, *others] = sorted(tables, key=lambda name: -tables[name].height) or [""]
    if not others or tables[first].height < MUCH * sum(tables[name].height for name in others):
        return None
    for name in value.keys() - {first}:
        look.leave(name, what_is(value[name]) or "a separate table")
    return tables[first]
