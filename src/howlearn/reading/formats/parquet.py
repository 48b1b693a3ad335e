"""Parquet files, some million rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from howlearn.core.csv_tables import column_named
from howlearn.core.errors import DataError, Problem
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import Panic, no_panic, reason_of
from howlearn.reading.formats.matrices import text_of
from howlearn.reading.formats.table import Extended, Table
from howlearn.reading.rows import BATCH_ROWS

TEXT = "text in UTF-8"
REMEDY = "write the file again with its text as UTF-8, or leave the column out"
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


class Parquet(Table):
    """A Parquet file; only the columns that are needed are read."""

    first_row = 2  # as if it were a spreadsheet with a header
    format = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.stem = str(path), path.stem
        path.open("rb").close()  # a missing file is told apart from a broken one
        try:
            with no_panic():
                rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
                self._schema = rows.collect_schema()
        except (pl.exceptions.PolarsError, Panic) as error:
            raise self._broken(error) from None
        self.columns = tuple(self._schema)

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Slices of the file, so that a large study never is in memory twice."""
        try:
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            with no_panic():
                total = rows.select(pl.len()).collect().item()
            for start in range(0, total, BATCH_ROWS):
                with no_panic():
                    part = (
                        rows.select(map(column_named, columns)).slice(start, BATCH_ROWS).collect()
                    )
                yield self._decoded(_without_lists(part), start)
        except (pl.exceptions.PolarsError, Panic, OSError) as error:
            raise self._broken(error) from None

    @property
    def n_rows(self) -> int:
        """How many rows the file says it has; 0 if it is damaged."""
        try:
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            with no_panic():
                return rows.select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, Panic, OSError):  # is told when the rows are read
            return 0

    def _decoded(self, frame: pl.DataFrame, start: int) -> pl.DataFrame:
        """Bytes as the text that they are; those that are none are told with their row."""
        for column in frame.get_columns():
            if column.dtype != pl.Binary:
                continue
            texts = {raw: _as_text(raw) for raw in column.drop_nulls().unique()}
            text = pl.Series(column.name, map(texts.get, column), dtype=pl.String)
            wrong = (text.is_null() & column.is_not_null()).to_numpy()
            if wrong.any():
                row = start + int(wrong.argmax()) + self.first_row
                found = f"bytes that are not text in UTF-8 ({column[int(wrong.argmax())]!r})"
                more = int(wrong.sum()) - 1
                raise DataError([Problem(self.name, row, column.name, found, TEXT, REMEDY, more)])
            frame = frame.with_columns(text)
        return frame

    def _not_text(self) -> str:
        """The column whose text is not UTF-8."""
        for name in self.columns:
            try:
                with no_panic():
                    rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
                    rows.select(column_named(name)).collect()
            except (pl.exceptions.PolarsError, Panic, OSError):
                return name
        return ""

    def _broken(self, error: Exception) -> DataError:
        if "utf-8" in str(error).lower() and hasattr(self, "columns"):
            found, column = "bytes that are not text in UTF-8", self._not_text() or None
            return DataError([Problem(self.name, None, column, found, TEXT, REMEDY)])
        found = f"a file that is not Parquet or is damaged ({reason_of(error)})"
        return DataError([Problem(self.name, None, None, found, "a Parquet file")])


def _without_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and structures as text."""
    return frame.with_columns(
        pl.Series(column.name, [text_of(value) for value in column.to_list()], dtype=pl.String)
        for column in frame.get_columns()
        if column.dtype.is_nested()
    )


def _as_text(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def open_parquet(
    path: Path, inside: str | None = None, content: bytes | None = None
) -> list[Table]:
    """A Parquet file with the columns that the folders above it are named for."""
    table = Parquet(path)
    parts = partition_of(path)
    return [Extended(table, parts, {}) if parts else table]


def partition_of(path: Path) -> dict[str, str | None]:
    """The columns in the names of the folders above a file.

    >>> partition_of(Path("data/learner=3/block=a%20b/part-0.parquet"))
    {'learner': '3', 'block': 'a b'}
    """
    found: dict[str, str | None] = {}
    for folder in path.parents:
        name, equals, value = folder.name.partition("=")
        if not (name and equals):
            break
        found[unquote(name)] = None if value == _NOTHING else unquote(value)
    return dict(reversed(found.items()))


def partitioned(folder: Path) -> list[Path]:
    """The Parquet files of a folder that is divided into learner=1, learner=2 …"""
    inner = [path for path in folder.iterdir() if path.is_dir() and "=" in path.name]
    files = [path for part in inner for end in ("parquet", "pq") for path in part.rglob(f"*.{end}")]
    return [path for path in files if not path.name.startswith((".", "_"))]


FORMATS = (
    Format(
        "Parquet",
        "Parquet, also a folder divided into `learner=1`, `learner=2` …",
        open_parquet,
        (".parquet", ".pq"),
        starts=(b"PAR1",),
        may_be=lambda head, named: False,
        called="Parquet",
        binary=True,
        packed=False,
        rank=0,
        seeds=("parquet", "parquet folder"),
    ),
)
