"""Data frames of pandas, polars and others, through narwhals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.exceptions import NarwhalsError

from howlearn.core.errors import HowlearnError
from howlearn.reading.table import Described

FRAME_NAME = "data frame"  # where a file has its path
MISSING_OBJECTS = ("None", "nan", "NaT", "<NA>")  # how pandas writes a missing value


class Frame(Described):
    """A data frame in memory; pandas columns are taken as numpy arrays, without pyarrow."""

    name = stem = FRAME_NAME
    first_row = 2  # as if it were a spreadsheet with a header
    format = "data frame"

    def __init__(self, source: Any) -> None:
        try:
            if hasattr(source, "reset_index") and any(n is not None for n in source.index.names):
                source = source.reset_index()  # in pandas a named index is a column too
            self._frame = nw.from_native(source, eager_only=True)
            names = [str(name) for name in self._frame.columns]
        except (TypeError, ValueError, NarwhalsError):
            what = type(source).__name__
            raise HowlearnError(
                f"cannot read a {what}: a path, a list of paths, or a pandas or polars data frame "
                "with different column names is needed (call .collect() on a lazy frame)"
            ) from None
        self.columns = tuple(names)

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The whole frame at once: it is in memory already."""
        native = self._frame.to_native()
        if isinstance(native, pl.DataFrame):
            yield pl.DataFrame([native.get_column(name) for name in columns])
            return
        taken = [self._frame[:, self.columns.index(name)].to_numpy() for name in columns]
        yield pl.DataFrame(
            [_series(name, values) for name, values in zip(columns, taken, strict=True)]
        )


def _series(name: str, values: np.ndarray[Any, Any]) -> pl.Series:
    """A column as numbers or booleans where it holds only these, as text otherwise."""
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    objects = [None if str(value) in MISSING_OBJECTS else value for value in values.tolist()]
    if all(value is None or isinstance(value, bool) for value in objects):
        return pl.Series(name, objects, dtype=pl.Boolean)
    return pl.Series(
        name, [None if value is None else str(value) for value in objects], dtype=pl.String
    )
