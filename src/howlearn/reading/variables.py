"""Which of the variables in a file are the study: MATLAB and R save whatever there was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.nested import table_in
from howlearn.reading.problems import listed
from howlearn.reading.table import INSIDE, Held, one_of


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
