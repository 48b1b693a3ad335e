"""The rows of the files a study was read from, as they are, to lay results beside them."""

from __future__ import annotations

import polars as pl

from howlearn.core.columns import free, renamed
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.study import Study
from howlearn.reading.formats.delimited import Delimited
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.table import FRAME_NAME, Held, Table
from howlearn.reading.formats.together import own
from howlearn.reading.formats.wide import Long


def originals(study: Study) -> list[pl.DataFrame]:
    """All columns of every file, read again; none if the study did not come from files."""
    source = study.source
    if source is None or source.files == (FRAME_NAME,):
        return []
    tables, problems, _ = open_tables(list(source.files))
    if problems:
        raise DataError(problems)
    frames = []
    for name, rows, table in zip(source.files, source.file_rows, tables, strict=True):
        frame = _rows(table)
        if frame.height != rows and isinstance(table, Long):  # an option said that it is not wide
            frame = _rows(table.table)
        frames.append(frame)
        if frame.height != rows:
            raise HowlearnError(
                f"{name} has changed since it was read: it had {rows:,} rows and has "
                f"{frame.height:,} now; start the command again with --fresh"
            )
    return frames


def beside(frame: pl.DataFrame, inputs: list[pl.DataFrame]) -> pl.DataFrame:
    """Results with one row per input row, and after them the input's own columns.

    A column with the name of a result is called ``input_NAME``; where a file lacks a column that
    another has, it is empty.

    >>> results = pl.DataFrame({"model": ["A", None]})
    >>> inputs = [pl.DataFrame({"model": ["x"]}), pl.DataFrame({"rt": ["0.5"]})]
    >>> beside(results, inputs).rows(named=True)[0]
    {'model': 'A', 'input_model': 'x', 'rt': None}
    """
    if not inputs:
        return frame
    whole = pl.concat(_alike(inputs), how="diagonal")
    return frame.hstack(renamed(whole, frame.columns).get_columns())


def _rows(table: Table) -> pl.DataFrame:
    table = own(table)  # what the names of files and folders add is not in the rows
    if isinstance(table, Delimited):
        frame = table.everything()
        named = {name for name in table.columns if name}
        frame.columns = [  # a column without a name, as R writes one for the rows
            name or free(f"column_{i}", named)
            for i, name in enumerate(table.columns[: frame.width], start=1)
        ]
        return frame
    whole = isinstance(table, Held)  # even with two columns of the same name
    frame = table.everything() if whole else pl.concat(table.frames(table.columns))
    return frame.with_columns(
        pl.Series(
            column.name, [None if value is None else str(value) for value in column.to_list()]
        )
        for column in frame.get_columns()
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary)
    )


def _alike(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The frames with text in the columns whose types differ between them."""
    types: dict[str, set[pl.DataType]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            types.setdefault(name, set()).add(kind)
    mixed = [name for name, kinds in types.items() if len(kinds) > 1]
    return [
        frame.with_columns(pl.col(name).cast(pl.String) for name in mixed if name in frame.columns)
        for frame in frames
    ]
