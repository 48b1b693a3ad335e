"""Arrays as tables: matrices with names of their columns, learners × blocks × trials."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.options import NONE
from howlearn.core.text import canonical
from howlearn.reading.columns import guess, plain
from howlearn.reading.formats.levels import (
    AXIS,
    COLUMN,
    INNER,
    LEARNER,
    TRIAL,
    Look,
    Unclear,
    level,
)
from howlearn.reading.problems import listed

# Values of other formats as columns of text.


LONG_END = 3  # trials at the end of a row that may only fill it up
_WHOLE = 2.0**53  # up to here a float that is whole is shown as one
_BOOLEANS = {bool, np.bool_}


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
    kinds = {*map(type, listed)}  # few, of millions of values
    if kinds & _BOOLEANS and kinds <= {*_BOOLEANS, type(None)}:
        plain = [None if value is None else bool(value) for value in listed]
        return pl.Series(name, plain, dtype=pl.Boolean)
    if kinds <= {str, type(None)}:
        shown = [value or None for value in listed]
    elif kinds == {int}:
        shown = [*map(str, listed)]
    else:
        shown = [text_of(value) for value in listed]
    return pl.Series(name, shown, dtype=pl.String)


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
    alike = [
        frame.with_columns(pl.col(mixed & set(frame.columns)).cast(pl.String)) if mixed else frame
        for frame in frames
    ]
    return pl.concat(alike, how="diagonal")


FEWEST_TRIALS = 3  # a matrix with fewer columns is no learner's sequence
MOST_AXES = 6  # of arrays
# numbers of learners and of trials as Stan's data have them, and what is known of each learner
_LEARNERS = "n ns nsub nsubs nsubj nsubjects nlearners nparticipants".split()
_TRIALS = "t nt ntrial ntrials maxtrials".split()
_ABOUT = "tsubj age sex gender group condition".split()
MANY = 2  # matrices of one shape that are a study: choices and rewards


def with_header(value: Mapping[str, Any]) -> pl.DataFrame | None:
    """A matrix beside the names of its columns."""
    names = {key: names_in(inner) for key, inner in value.items()}
    headers = {key: found for key, found in names.items() if found is not None}
    matrices = {key: inner for key, inner in value.items() if _table(inner) is not None}
    fitting = [
        (matrix, header)
        for matrix in matrices
        for header, found in headers.items()
        if len(found) == np.shape(matrices[matrix])[1] and len(set(found)) == len(found)
    ]
    if len(fitting) != 1:
        return None
    [(matrix, header)] = fitting
    rows = _table(matrices[matrix])
    assert rows is not None
    return pl.DataFrame([column_of(n, rows[:, i]) for i, n in enumerate(headers[header])])


def from_arrays(value: Mapping[str, Any], look: Look) -> pl.DataFrame | None:
    """Arrays of one shape as one row per trial: learners × trials, turned round, or as told.

    Which way matrices are is told by --axes or by what stands beside them; where nothing tells, the
    longer side of MATLAB's and R's matrices is the trials, and a note says so.

    >>> both = {"choice": np.array([[1, 2, 1], [2, 2, 1]]), "reward": np.array([[0, 1, 1]] * 2)}
    >>> from_arrays(both, Look()).rows()[3]
    ('2', '1', '2', '0')
    """
    arrays = {key: found for key, inner in value.items() if (found := array_of(inner)) is not None}
    if not look.axes:  # lists in lists are levels, whose order is known
        arrays = {
            k: a for k, a in arrays.items() if a.ndim == 2 or isinstance(value[k], np.ndarray)
        }
    shapes = Counter(array.shape for array in arrays.values())
    if not shapes:
        return None
    shape, times = max(shapes.items(), key=lambda item: (item[1], len(item[0])))
    if look.axes and len(look.axes) >= len(shape) and (times >= MANY or COLUMN in look.axes):
        return _along(value, arrays, shape, look.axes[len(look.axes) - len(shape) :], look)
    if len(shape) != 2 or times < MANY or max(shape) < FEWEST_TRIALS:
        return None
    vectors = {key: inner for key, inner in value.items() if isinstance(inner, np.ndarray | list)}
    owners = [key for key in guess("learner", list(vectors)) if key not in arrays]
    numbered = guess("trial", [*vectors, *arrays])
    turned = _told(value, vectors, owners, shape)
    if turned is None:
        turned = shape[0] > shape[1] and not any(isinstance(value[key], list) for key in arrays)
        if shape[0] >= shape[1]:
            look.notes.append(_unclear(shape, turned, not (owners or numbered)))
    axes = (TRIAL, LEARNER) if turned else (LEARNER, TRIAL)
    return _along(value, arrays, shape, axes, look)


def ask_for_axes(value: Mapping[str, Any]) -> None:
    """Ask what the axes of arrays are where they are more than two; raises Unclear."""
    arrays = {key: found for key, inner in value.items() if (found := array_of(inner)) is not None}
    large = {key: array for key, array in arrays.items() if array.ndim > 2}
    if not large:
        return
    first = next(iter(large.values()))
    shown = listed([f"{key} ({_sizes(array.shape)})" for key, array in large.items()])
    trials = max(range(1, first.ndim), key=lambda i: (first.shape[i], i))  # the most, hardly blocks
    above = iter(INNER.get(first.ndim - 2, tuple(f"level{i}" for i in range(2, first.ndim))))
    usual = [LEARNER, *(TRIAL if i == trials else next(above) for i in range(1, first.ndim))]
    others = ",".join((*(LEARNER, "session", "block")[: first.ndim - 2], TRIAL, COLUMN))
    remedy = (
        f"--axes {','.join(usual)} in the order of these axes, or another order; {others} if the "
        "values along the last are different quantities"
    )
    raise Unclear(f"arrays with {first.ndim} axes: {shown}", "names for the axes", remedy)


def _sizes(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def _along(
    value: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray[Any, Any]],
    shape: tuple[int, ...],
    axes: Sequence[str],
    look: Look,
) -> pl.DataFrame:
    """Arrays whose axes are known, as one row per trial."""
    if TRIAL not in axes:
        found = f"arrays of {_sizes(shape)}"
        raise Unclear(
            found, f"trial among their axes, not {listed([*axes])}", "--axes NAME,…,trial"
        )
    outer = [i for i, name in enumerate(axes) if name not in (TRIAL, COLUMN)]
    outer.sort(key=lambda i: axes[i] != LEARNER)  # the rows of a learner stay together
    order = [*outer, axes.index(TRIAL), *([axes.index(COLUMN)] if COLUMN in axes else [])]
    sizes = [shape[i] for i in order if axes[i] != COLUMN]
    stacks = {k: np.transpose(a, order) for k, a in arrays.items() if a.shape == shape}
    beside = {key: inner for key, inner in value.items() if key not in stacks}
    placed = {key: _spread(inner, sizes) for key, inner in beside.items()}
    along = [k for k, c in placed.items() if c is not None and np.ndim(beside[k]) == 1]
    owners = [key for key in guess("learner", along) if len(outer) == 1]
    columns: list[pl.Series] = []
    for place, i in enumerate(outer if not owners or look.axes else ()):
        names = value[owners[0]] if owners else np.arange(shape[i]) + 1
        labels = _spread(names, sizes, place)
        assert labels is not None
        columns.append(column_of(level(len(outer) - place, _hint(axes[i], look)), labels))
    if look.axes or not guess("trial", [*along, *stacks]):
        labels = _spread(np.arange(sizes[-1]) + 1, sizes, len(sizes) - 1)
        assert labels is not None
        columns.append(column_of(TRIAL, labels))
    for key, inner in value.items():
        column = placed.get(key)
        if key in (axes if look.axes else ()):
            continue  # the level is called so
        if key in stacks:
            columns += _columns_of(key, stacks[key], sizes, len(stacks) == 1, look)
        elif column is not None:
            columns.append(column_of(key, column))
        else:
            look.leave(key, what_is(inner))
    frame = pl.DataFrame(columns)
    padded = _padded(stacks, sizes, look)
    return frame if padded is None else frame.filter(~padded)


def _hint(axis: str, look: Look) -> str:
    """What a level says about itself: the name that the user gave its axis."""
    return f"{AXIS}{axis}" if look.axes else ""


def _columns_of(
    key: str, stack: np.ndarray[Any, Any], sizes: Sequence[int], alone: bool, look: Look
) -> list[pl.Series]:
    """An array as a column, or as one for each place along its axis of columns."""
    if stack.ndim == len(sizes):
        return [column_of(key, stack.reshape(-1))]
    flat = stack.reshape(-1, stack.shape[-1])
    look.bare = flat.shape[1] if alone else 0
    before = "" if alone else f"{key}."
    return [column_of(f"{before}{i + 1}", flat[:, i]) for i in range(flat.shape[1])]


def _spread(inner: Any, sizes: Sequence[int], place: int | None = None) -> Any:
    """What stands beside arrays as a column with one entry per trial; None: it has no place.

    A vector is along the first axis of its length, or the one that is given.
    """
    total = math.prod(sizes)
    if isinstance(inner, Mapping | pl.DataFrame):
        return None
    if not isinstance(inner, list | np.ndarray):
        return [inner] * total
    if isinstance(inner, list) and any(isinstance(item, list | Mapping) for item in inner):
        return None
    flat = np.asarray(inner, dtype=None if isinstance(inner, np.ndarray) else object)
    if place is None and flat.ndim == 1:
        place = next((i for i, size in enumerate(sizes) if size == len(flat)), None)
    if flat.ndim != 1 or place is None:
        return None
    repeated = np.repeat(flat, math.prod(sizes[place + 1 :]))
    return np.tile(repeated, total // len(repeated)) if len(repeated) else None


def _padded(
    stacks: Mapping[str, np.ndarray[Any, Any]], sizes: Sequence[int], look: Look
) -> np.ndarray[Any, Any] | None:
    """The trials at the ends of rows that only fill them up; None: there is no padding."""
    if look.padding == NONE:
        return None
    arrays = {key: s.reshape(-1, sizes[-1]) for key, s in stacks.items() if s.ndim == len(sizes)}
    if look.padding is None:
        return _seems_padded(arrays, look)
    name, _, value = look.padding.rpartition(":")
    wanted = canonical(value)
    found = {
        key: np.array([canonical(text_of(v) or "") == wanted for v in stack.reshape(-1)])
        for key, stack in arrays.items()
        if name in ("", key)
    }
    filled = {key: mask for key, mask in found.items() if mask.any()}
    if not filled:
        look.notes.append(f"--padding {look.padding}: no array has this value")
        return None
    ends = _at_ends(np.logical_and.reduce([*filled.values()]).reshape(-1, sizes[-1]))
    look.notes.append(
        f"{int(ends.sum()):,} trials at the ends of rows hold {value} in {listed([*filled])} and "
        "were left out as padding"
    )
    return ends.reshape(-1)


def _at_ends(mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Where a mask holds up to the end of its row."""
    return np.logical_and.accumulate(mask[:, ::-1], axis=1)[:, ::-1]


def _seems_padded(
    arrays: Mapping[str, np.ndarray[Any, Any]], look: Look
) -> np.ndarray[Any, Any] | None:
    """Ends of unequal length with a value that is nowhere else, where no array varies."""
    for key, rows in arrays.items() if len(arrays) > 1 else ():
        for value, _ in Counter(rows[:, -1].tolist()).most_common(2):
            there = rows == value
            ends = _at_ends(there)
            lengths = ends.sum(axis=1)
            if (there != ends).any() or not LONG_END <= lengths.max() < rows.shape[1]:
                continue
            if len({*lengths.tolist()}) > 1 and all(_same(r[ends]) for r in arrays.values()):
                look.notes.append(
                    f"{int(ends.sum()):,} trials at the ends of rows hold {text_of(value)} in "
                    f"{key}, which is nowhere else, and were left out as padding (--padding none "
                    "keeps them)"
                )
                return ends.reshape(-1)
    return None


def _same(values: np.ndarray[Any, Any]) -> bool:
    """Whether values are all the same, or all missing."""
    return bool((values == values[0]).all() or (values != values).all())


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
    helps = f"--learner {TRIAL} --trial {LEARNER} transposes them" if ours else "transpose them"
    return (
        f"its matrices of {rows} rows and {columns} columns were read as {read}; if they are "
        f"{other}, {helps}"
    )


def array_of(value: Any) -> np.ndarray[Any, Any] | None:
    """Single values along two axes or more."""
    if isinstance(value, np.ndarray):
        return value if value.ndim > 1 and value.shape[0] > 0 else None
    if not (isinstance(value, list) and value and all(isinstance(row, list) for row in value)):
        return None
    width = len(value[0])
    if width < FEWEST_TRIALS and not (value[0] and isinstance(value[0][0], list)):
        return None
    if any(len(row) != width for row in value):
        return None
    try:
        found = np.array(value, dtype=object)
    except ValueError:  # not of one shape
        return None
    inside = {*map(type, found.reshape(-1).tolist())}
    if found.ndim > MOST_AXES or any(issubclass(kind, list | Mapping) for kind in inside):
        return None
    return found


def what_is(value: Any) -> str:
    """What a value is, in words; nothing for a single one, which hardly ever is missed."""
    if isinstance(value, Mapping):
        return f"a structure of {listed([*map(str, value)])}"
    if isinstance(value, pl.DataFrame):
        return f"a table of {listed(value.columns)}"
    shape = getattr(value, "shape", None)
    if shape:
        return _sizes(shape) if len(shape) > 1 else f"{shape[0]} values"
    return f"a list of {len(value)}" if isinstance(value, list) else ""


def _table(value: Any) -> np.ndarray[Any, Any] | None:
    """Rows and columns of single values."""
    found = array_of(value)
    return found if found is not None and found.ndim == 2 else None


def names_in(value: Any) -> list[str] | None:
    """A list of names."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list) and len(value) > 1:
        kinds = {*map(type, value)}  # few, of millions of values
        return [*map(str.strip, value)] if all(issubclass(k, str) for k in kinds) else None
    return None
