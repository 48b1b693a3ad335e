"""Which of the variables in a file are the study: MATLAB, R and numpy save whatever there was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.formats.levels import Look, Unclear, named_levels
from howlearn.reading.formats.matrices import what_is
from howlearn.reading.formats.nested import bare_table, table_in
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
    _refuse_several(path, found)
    for name in variables.keys() - found.keys():
        if inside is None:
            look.leave(name, what_is(variables[name]))
    several = len(found) > 1 or named
    tables = [_held(path, name, frame, format, several, look) for name, frame in found.items()]
    if len(tables) > 1:
        look.notes.append(f"{len(tables)} variables with the same columns were read")
    _noted(tables[0], look)
    return tables


def _refuse_several(path: Path, found: Mapping[str, pl.DataFrame]) -> None:
    columns = [set(frame.columns) for frame in found.values()]
    if all(other == columns[0] for other in columns):
        return
    names = [f"{name} ({listed(frame.columns)})" for name, frame in found.items()]
    raise DataError(
        [
            Problem(
                str(path),
                None,
                None,
                f"several tables: {'; '.join(names)}",
                "one table, or several with the same columns",
                f"name one of them, as in {path.name}{INSIDE}{next(iter(found))}",
            )
        ]
    )


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
