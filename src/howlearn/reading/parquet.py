"""Parquet files, some million rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from howlearn.errors import DataError, Problem
from howlearn.reading.rows import BATCH_ROWS


class Parquet:
    """A Parquet file; only the columns that are needed are read."""

    first_row = 2  # as if it were a spreadsheet with a header

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.stem = str(path), path.stem
        path.open("rb").close()  # a missing file is told apart from a broken one
        try:
            self.columns = tuple(pl.read_parquet_schema(path))
        except pl.exceptions.PolarsError as error:
            raise self._broken(error) from None

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Slices of the file, so that a large study never is in memory twice."""
        try:
            rows = pl.scan_parquet(self.path, glob=False)
            total = rows.select(pl.len()).collect().item()
            for start in range(0, total, BATCH_ROWS):
                yield rows.select(columns).slice(start, BATCH_ROWS).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> DataError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        found = f"a file that is not Parquet or is damaged ({reason})"
        return DataError([Problem(self.name, None, None, found, "a Parquet file")])
