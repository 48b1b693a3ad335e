"""Reads tables in batches: large files in parts, many small files together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.plan import Plan, missing_columns
from howlearn.reading.problems import Problems, no_rows
from howlearn.reading.rows import BATCH_ROWS, Batch
from howlearn.reading.table import Table
from howlearn.reading.tables import learner_names
from howlearn.reading.trials import TrialReader
from howlearn.reading.values import has_no_text

ENOUGH_PROBLEMS = 10_000  # after which reading on would only add to a long list


def read_tables(
    tables: Sequence[Table],
    plan: Plan,
    problems: Problems,
    then: Callable[[TrialReader], None] = lambda reader: None,
) -> TrialReader:
    """A reader that has read the rows of all tables; ``then`` is called after every batch."""
    reader = TrialReader(plan, problems, learner_names(tables))
    for batch in _batches(tables, plan, problems):
        reader.read(batch)
        then(reader)
        if len(problems) > ENOUGH_PROBLEMS and not reader.advice.only_words:
            break
    reader.advice.fill_in(problems)
    for role, rows in reader.advice.words_taken.items():
        reader.counts[f"recoded {role} words"] += rows
    return reader


def _batches(tables: Sequence[Table], plan: Plan, problems: Problems) -> Iterator[Batch]:
    waiting: list[tuple[int, pl.DataFrame]] = []
    for number, frame in _frames(tables, plan, problems):
        if waiting and waiting[-1][1].schema != frame.schema:
            yield _together(waiting, problems)
            waiting = []
        waiting.append((number, frame))
        problems.ledger.rows += frame.height
        if sum(frame.height for _, frame in waiting) >= BATCH_ROWS:
            yield _together(waiting, problems)
            waiting = []
    if waiting:
        yield _together(waiting, problems)


def _together(waiting: list[tuple[int, pl.DataFrame]], problems: Problems) -> Batch:
    frame = pl.concat([frame for _, frame in waiting])
    files = [(number, frame.height) for number, frame in waiting]
    return Batch(frame, problems.ledger.rows - frame.height, files)


def _frames(
    tables: Sequence[Table], plan: Plan, problems: Problems
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The frames of all tables with the table's number; what cannot be read is a problem."""
    columns = list(plan.columns)
    for number, table in enumerate(tables):
        problems.ledger.open(table.name, table.first_row)
        absent = missing_columns(plan, table)
        problems.extend(absent)
        if absent:
            continue
        filled = False
        try:
            there = [name for name in columns if name in table.columns]
            absences = [
                pl.lit(None, pl.String).alias(name) for name in columns if name not in there
            ]
            for frame in table.frames(there):
                filled = filled or has_rows(frame)
                filled_up = _plain(frame, table, problems).with_columns(absences)
                # by name: select would take * or ^a$ for patterns
                whole = pl.DataFrame([filled_up.get_column(name) for name in columns])
                for part in whole.iter_slices(BATCH_ROWS):
                    yield number, part
        except DataError as error:
            problems.extend(error.problems)
            continue
        if not filled:
            problems.extend([no_rows(table.name)])


def has_rows(frame: pl.DataFrame) -> bool:
    """Whether anything stands in a frame."""
    return any(column.null_count() < frame.height for column in frame.get_columns())


def _plain(frame: pl.DataFrame, table: Table, problems: Problems) -> pl.DataFrame:
    """Columns of lists and the like cannot be labels; they are refused and read as missing."""
    for column in frame.get_columns():
        if has_no_text(column.dtype):
            found, allowed = f"values of the type {column.dtype}", "numbers, text or booleans"
            problems.extend([Problem(table.name, None, column.name, found, allowed)])
            empty = pl.Series(column.name, [None], dtype=pl.String)
            frame = frame.with_columns(empty.new_from_index(0, frame.height))
    return frame
