"""How values become labels: 1, 1.0 and "1" are one label, and each column is coded once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.text import DECIMAL, SCIENTIFIC, canonical

FEW = 2_000  # values that are coded one by one
MISSING_TOKENS = frozenset({"", ".", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL"})

_TRAILING = r"\.?0*$"
_END = r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
_BIN = re.compile(f"[<≥]({_END})|({_END})–{_END}")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def canonical_series(values: pl.Series) -> pl.Series:
    """``canonical`` of many values at once; null stays null."""
    text = values.cast(pl.String).str.strip_chars()
    odd = text.str.contains(f"^(?:{SCIENTIFIC.pattern})$|[^\\x00-\\x7f]").fill_null(False)
    if odd.any():  # hardly ever
        spelled = {value: canonical(value) for value in text.filter(odd).unique()}
        text = text.replace(spelled)
    decimal = text.str.contains(f"^(?:{DECIMAL.pattern})$").fill_null(False)
    if decimal.any():
        text = text.str.replace(_TRAILING, "").zip_with(decimal, text)
    minus_zero = (text == "-0").fill_null(False)
    if minus_zero.any():
        text = text.zip_with(~minus_zero, pl.Series(["0"]))
    return text


def natural_key(label: str) -> tuple[object, ...]:
    """Sorts as people do: numbers by size, then names with the numbers in them by size.

    >>> sorted(["b10", "b2", "10", "9", "-1"], key=natural_key)
    ['-1', '9', '10', 'b2', 'b10']
    >>> sorted(["≥5", "0.25–5", "-1–0.25", "<-1"], key=natural_key)  # the bins of --bin
    ['<-1', '-1–0.25', '0.25–5', '≥5']
    """
    if _NUMBER.fullmatch(label):
        return (0, float(label), label)
    bin = _BIN.fullmatch(label)
    if bin is not None:
        return (0, -math.inf if label.startswith("<") else float(bin[1] or bin[2]), label)
    members = label.split(":")
    if len(members) > 1 and any(_BIN.fullmatch(member) for member in members):
        return (2, tuple(natural_key(member) for member in members), label)
    parts = enumerate(re.split(r"([0-9]+)", label))
    return (1, tuple(_digits(part) if i % 2 else (-1, part) for i, part in parts), label)


def _digits(text: str) -> tuple[int, str]:
    """Sorts whole numbers by size, however long they are."""
    return len(text.lstrip("0")), text.lstrip("0")


_PIECES = re.compile(r"[A-ZÀ-Þ]?[^\W\d_A-ZÀ-Þ]+|[A-ZÀ-Þ]+|[0-9]+")


def split_names(labels: Sequence[str]) -> list[tuple[str, ...]] | None:
    """The parts of names at the places where they differ; None if they are not made alike.

    Parts are words and numbers; a name that is one word or number has its letters or digits.

    >>> split_names(["white-square", "white-circle", "gray-square"])
    [('white', 'square'), ('white', 'circle'), ('gray', 'square')]
    >>> split_names(["stim_A1", "stim_A2", "stim_B1"]), split_names(["00", "01", "10"])
    ([('A', '1'), ('A', '2'), ('B', '1')], [('0', '0'), ('0', '1'), ('1', '0')])
    >>> split_names(["apple", "pear"])
    """
    pieces = [tuple(_PIECES.findall(label)) for label in labels]
    if pieces and max(map(len, pieces)) == 1:
        pieces = [tuple(each[0]) if each else () for each in pieces]
    if len({len(each) for each in pieces}) != 1:
        return None
    places: dict[tuple[int, ...], int] = {}  # the first of those that tell the same
    for i, found in enumerate(zip(*pieces, strict=True)):
        first = {part: j for j, part in enumerate(dict.fromkeys(found))}
        if len(first) > 1:
            places.setdefault(tuple(first[part] for part in found), i)
    if len(places) < 2:
        return None
    return [tuple(each[i] for i in places.values()) for each in pieces]


def typed(labels: Sequence[str | None]) -> pl.Series:
    """Labels as numbers when all of them are, as text otherwise."""
    series = pl.Series(labels, dtype=pl.String)
    if series.null_count() == len(series):
        return series
    if not all(label is None or _NUMBER.fullmatch(label) for label in labels):
        return series
    whole = series.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == series.null_count() else series.cast(pl.Float64)


@dataclass(frozen=True)
class CodedColumn:
    """A column coded: row t shows ``labels[codes[t]]``, null where the value is missing."""

    name: str
    codes: NDArray[np.int32]
    labels: pl.Series  # after recoding
    shown: pl.Series  # as the file has it
    first: NDArray[np.int64]  # the row where each code is first seen
    boolean: bool = False

    def missing(self) -> NDArray[np.bool_]:
        """Row by row, whether the value is missing."""
        return self.labels.is_null().to_numpy()[self.codes]

    def numbers(self) -> NDArray[np.float64]:
        """The number of each code, NaN where it is none."""
        labels = self.labels
        if self.boolean:
            labels = labels.replace({"true": "1", "false": "0"})
        return labels.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    def places(self) -> NDArray[np.float64]:
        """The number of each code, also that of dates, and of names which only count, as block1
        to block12.

        >>> names = pl.Series("run", ["run-2", "run-10", None])
        >>> code_column(names, {}, frozenset())[0].places().tolist()
        [2.0, 10.0, nan]
        """
        numbers = self.numbers()
        days = self.labels.str.to_date("%Y-%m-%d", strict=False)
        if days.null_count() == self.labels.null_count():
            return days.cast(pl.Int32).cast(pl.Float64).fill_null(np.nan).to_numpy()
        parts = self.labels.str.extract_groups(r"^(\D*)([0-9]{1,9})$").struct
        if np.isfinite(numbers).any() or parts[0].drop_nulls().n_unique() != 1:
            return numbers
        return parts[1].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def per_row(self) -> pl.Series:
        """The label of each row."""
        return self.labels.gather(self.codes).alias(self.name)


def code_column(
    values: pl.Series, recode: Mapping[str, str], missing: Set[str]
) -> tuple[CodedColumn, int]:
    """Code a column, recode its labels, mark missing ones; and how many rows were recoded."""
    uniques, codes, first = distinct(values)
    shown = uniques.cast(pl.String)
    labels = canonical_series(shown)
    recoded = 0
    if recode:
        before, labels = labels, labels.replace(dict(recode))
        changed = labels.ne_missing(before).to_numpy()
        recoded = int(np.count_nonzero(changed[codes]))
    gone = labels.is_in(list(missing)).fill_null(True)
    labels = labels.zip_with(~gone, pl.Series([None], dtype=pl.String))
    boolean = values.dtype == pl.Boolean
    return CodedColumn(values.name, codes, labels, shown, first, boolean), recoded


def distinct(values: pl.Series) -> tuple[pl.Series, NDArray[np.int32], NDArray[np.int64]]:
    """The different values in order of first appearance, each row's code, the first rows."""
    kind = values.dtype
    if len(values) <= FEW and (kind.is_integer() or kind in (pl.String, pl.Boolean)):
        return _distinct_few(values)
    values = values.alias("values")  # polars would read a name such as ^a$ as a pattern
    first = values.arg_unique()
    uniques = values.gather(first)
    codes = values.replace_strict(
        uniques, pl.Series(np.arange(len(uniques), dtype=np.int32)), return_dtype=pl.Int32
    )
    return uniques, codes.to_numpy().astype(np.int32), first.to_numpy().astype(np.int64)


def _distinct_few(values: pl.Series) -> tuple[pl.Series, NDArray[np.int32], NDArray[np.int64]]:
    """The same without polars, which takes a millisecond for each step however few there are."""
    known: dict[object, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values.to_list()]
    coded = np.array(codes, dtype=np.int32)
    first = np.unique(coded, return_index=True)[1].astype(np.int64)
    return pl.Series("values", [*known], dtype=values.dtype), coded, first


@dataclass(frozen=True)
class Combination:
    """Several columns coded together: code c stands for the labels ``parts[j][c]``."""

    codes: NDArray[np.int32]
    parts: tuple[pl.Series, ...]
    first: NDArray[np.int64]

    def members(self) -> list[tuple[str | None, ...]]:
        """The labels behind each code."""
        return list(zip(*(part.to_list() for part in self.parts), strict=True))


def combine(columns: Sequence[CodedColumn]) -> Combination:
    """Code the combinations of several columns that occur.

    >>> shape, colour = (
    ...     code_column(pl.Series(values), {}, MISSING_TOKENS)[0]
    ...     for values in (["square", "square", "circle"], ["red", "red", "blue"])
    ... )
    >>> combine([shape, colour]).members()
    [('square', 'red'), ('circle', 'blue')]
    """
    codes, parts, first = columns[0].codes, (columns[0].labels,), columns[0].first
    for column in columns[1:]:
        width = len(column.labels)
        pairs, codes, first = distinct(pl.Series(codes.astype(np.int64) * width + column.codes))
        left, right = pairs // width, pairs % width
        parts = (*(part.gather(left) for part in parts), column.labels.gather(right))
    return Combination(codes, parts, first)
