"""Which of the variables in a file are the study: MATLAB, R and numpy save whatever there was.

And which objects in it stand for lists.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.columns import guess
from howlearn.reading.formats.levels import Look, Unclear, named_levels
from howlearn.reading.formats.matrices import what_is
from howlearn.reading.formats.nested import (
    DEEPEST,
    SEVERAL,
    bare_table,
    holds_trials,
    single,
    table_in,
)
from howlearn.reading.formats.quantities import put_together
from howlearn.reading.formats.table import INSIDE, Asking, Held, Table, one_of
from howlearn.reading.problems import listed


def tables_of(
    path: Path,
    variables: Mapping[str, Any],
    inside: str | None,
    format: str,
    frames: bool,
    look: Look | None = None,
) -> list[Table]:
    """The tables among the variables; ``frames``: a data frame comes before other lists."""
    asked = look or Look()

    def again(axes: Sequence[str], padding: str | None) -> list[Table]:
        told = Look(tuple(axes), padding)
        return tables_of(path, variables, inside, format, frames, told)

    try:
        found: list[Table] = [*_chosen(path, variables, inside, format, frames, asked)]
    except Unclear as unclear:
        if look is not None:
            raise DataError([unclear.problem(str(path))]) from None
        return [Asking(str(path), path.stem, unclear.problem(str(path)), again)]
    for table in found:
        table.again = again
    return found


def _chosen(
    path: Path,
    variables: Mapping[str, Any],
    inside: str | None,
    format: str,
    frames: bool,
    look: Look,
) -> list[Held]:
    chosen, named = one_of(path, inside, list(variables), "variable")
    found = _tables({name: variables[name] for name in chosen}, frames, look)
    if not found and not named:
        whole = table_in(dict(variables), look)
        if whole is not None and whole.height:
            whole = named_levels(whole, look)
            return [_noted(_held(path, None, whole, format, False, look), look)]
    if not found:
        wanted = {name: variables[name] for name in chosen}
        whole = bare_table(wanted, look)
        if whole is not None:
            only = chosen[0] if len(chosen) == 1 else None
            whole = named_levels(whole, look)
            return [_noted(_held(path, only, whole, format, named, look), look)]
    if not found:
        allowed = "columns of equal length, one record per learner, or learners × trials matrices"
        there = listed([f"{n} ({what_is(v) or 'one value'})" for n, v in variables.items()])
        raise DataError([Problem(str(path), None, None, there or "nothing inside", allowed)])
    for name in variables.keys() - found.keys():
        if inside is None:
            look.leave(name, what_is(variables[name]))
    several = len(found) > 1 or named
    tables = [_held(path, name, frame, format, several, look) for name, frame in found.items()]
    if any({*table.columns} != {*tables[0].columns} for table in tables):
        joined = put_together(tables, None, look.notes)
        if len(joined) > 1:
            raise _several(path, found)
        tables = [one for one in joined if isinstance(one, Held)]
        tables[0].name, tables[0].stem = str(path), path.stem
        tables[0].format = f"{format}, its variables together, rows counted as trials"
    if len(tables) > 1:
        look.notes.append(f"{len(tables)} variables with the same columns were read")
    _noted(tables[0], look)
    return tables


def _several(path: Path, found: Mapping[str, pl.DataFrame]) -> DataError:
    names = [f"{name} ({listed(frame.columns)})" for name, frame in found.items()]
    shapes = Counter(frame.shape for frame in found.values())
    shape, times = shapes.most_common(1)[0]
    alike = [f"{path.name}{INSIDE}{name}" for name in found if found[name].shape == shape]
    helps = f"name one of them, as in {path.name}{INSIDE}{next(iter(found))}"
    if times > 1:
        helps += f", or those that belong together: {shlex.join(alike)}"
    allowed = "one table, or several with the same columns"
    there = f"several tables: {'; '.join(names)}"
    return DataError([Problem(str(path), None, None, there, allowed, helps)])


def _noted(table: Held, look: Look) -> Held:
    table.notes = (*table.notes, *look.told())
    return table


def _tables(variables: Mapping[str, Any], frames: bool, look: Look) -> dict[str, pl.DataFrame]:
    if frames:
        whole = {n: v for n, v in variables.items() if isinstance(v, pl.DataFrame) and v.height}
        if whole:
            return whole
    nested = {n: v for n, v in variables.items() if isinstance(v, dict | list)}
    found = {name: table_in(value, look, name=name) for name, value in nested.items()}
    return {
        name: named_levels(frame, look)
        for name, frame in found.items()
        if frame is not None and frame.height
    }


def _held(
    path: Path, name: str | None, frame: pl.DataFrame, format: str, several: bool, look: Look
) -> Held:
    words = f"{format}, variable {name}" if name else f"{format}, its variables together"
    shown = f"{path}{INSIDE}{name}" if several else str(path)
    stem = name if several and name else path.stem
    bare = frame.columns[frame.width - look.bare :] if look.bare else ()
    return Held(shown, stem, frame, f"{words}, rows counted as trials", 1, bare=bare)


# Databases such as Firebase keep lists as objects whose names are numbers, or ids that count up.


SOME = 50  # records that tell what all are about
_PUSHED = re.compile(r"-[A-Za-z0-9_-]{5,}|[A-Za-z0-9]{20}")  # Firebase's and Firestore's ids
_NUMBERED = re.compile(r"(?P<stem>[^0-9]*)[0-9]{1,9}")


def with_lists(value: Any, depth: int = 0) -> Any:
    """A value with lists in the place of objects whose names are numbers or such ids.

    >>> with_lists({"u1": {**{str(i): {"r": i} for i in range(5)}, "age": 20}})
    {'u1': {'age': 20, 'trials': [{'r': 0}, {'r': 1}, {'r': 2}, {'r': 3}, {'r': 4}]}}
    >>> with_lists({"choice": {"0": "a", "1": "b"}, "of": [None, {"r": 1}, {"r": 0}]})
    {'choice': ['a', 'b'], 'of': [{'r': 1}, {'r': 0}]}
    """
    if depth > DEEPEST or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        if not any(isinstance(item, dict | list) for item in value):
            return value
        items = [item for item in value if item is not None]
        records = all(isinstance(item, dict) for item in items)
        return [with_lists(item, depth + 1) for item in (items if records else value)]
    if not any(isinstance(v, dict | list) or _holds_json(v) for v in value.values()):
        return _listed(value)
    found = {name: with_lists(v, depth + 1) for name, v in value.items()}
    found = {name: _trials_in(v, found) if _holds_json(v) else v for name, v in found.items()}
    return _listed(found)


def _listed(value: Any) -> Any:
    """An object's members as a list, where its names count trials; what stands beside stays."""
    if not isinstance(value, dict) or len(value) < 2:
        return value
    objects = all(isinstance(v, dict) for v in value.values())
    if objects and (_counts(value) or all(map(_PUSHED.fullmatch, value))):
        return value if any(map(holds_trials, value.values())) else [*value.values()]
    if value.keys() == {*map(str, range(len(value)))} and all(map(single, value.values())):
        return [value[str(i)] for i in range(len(value))]
    numbers = [name for name in value if name.isdigit()]
    inside = [value[name] for name in numbers]
    if len(numbers) < SEVERAL or not all(isinstance(v, dict) for v in inside):
        return value
    free = next((name for name in ("trials", "records", "data") if name not in value), None)
    if free is None or any(map(holds_trials, inside)):
        return value
    return {name: v for name, v in value.items() if name not in {*numbers}} | {free: inside}


def _counts(names: Iterable[str]) -> bool:
    """Whether names are numbers, or one word with numbers that is not a learner's."""
    found = [_NUMBERED.fullmatch(name) for name in names]
    stems = {match["stem"] for match in found if match is not None}
    return len(stems) == 1 and all(found) and not guess("learner", [stems.pop().strip("_- ")])


def _holds_json(value: Any) -> bool:
    return isinstance(value, str) and value[:2] == "[{" and value.rstrip()[-2:] == "}]"


def _trials_in(text: str, beside: Mapping[str, Any]) -> Any:
    """The list of trials that stands in JSON as a text, where what is beside it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    names = [*dict.fromkeys(name for record in found[:SOME] for name in record)]
    outcome = guess("action", names) and guess("reward", names)
    return found if outcome and not guess("reward", [*beside]) else text
