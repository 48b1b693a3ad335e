"""Values of other formats as columns of text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

_WHOLE = 2.0**53  # up to here a float that is whole is shown as one


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
    if any(isinstance(v, bool | np.bool_) for v in listed) and all(
        v is None or isinstance(v, bool | np.bool_) for v in listed
    ):
        plain = [None if value is None else bool(value) for value in listed]
        return pl.Series(name, plain, dtype=pl.Boolean)
    return pl.Series(name, [text_of(value) for value in listed], dtype=pl.String)


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
    return pl.concat(
        [
            frame.with_columns(pl.col(mixed & set(frame.columns)).cast(pl.String))
            for frame in frames
        ],
        how="diagonal",
    )
