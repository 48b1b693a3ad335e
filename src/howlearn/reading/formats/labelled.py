"""Tables of statistics programs: coded values, their labels, and codes that mean missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.reading.columns import VALUES, named_like
from howlearn.reading.formats.detect import no_damage
from howlearn.reading.formats.matrices import column_of
from howlearn.reading.formats.table import Table, distinct_names

Code = float | str
_GOOD, _BAD = {*VALUES["good"], *VALUES["success"]}, {*VALUES["bad"], *VALUES["failure"]}
_NOTHING = {*VALUES["nothing"]}
_WORTHS = ({0.0, 1.0}, {-1.0, 1.0}, {-1.0, 0.0, 1.0})  # codes that are rewards as they are


class Damaged(ValueError):
    """The bytes are not what their heads say."""


@dataclass(frozen=True)
class Variable:
    """A column: its name, what the file says about it, and how its values are had."""

    name: str
    says: str  # its label
    values: Callable[[], pl.Series]  # numbers or texts, null where the file calls them missing
    labels: Mapping[Code, str] = field(default_factory=dict)

    def column(self, name: str) -> pl.Series:
        """The values as text: labels for codes, where the file has them."""
        values = self.values()
        met = {*values.drop_nulls().unique().to_list()}
        labels = {code: text for code, text in self.labels.items() if code in met and text}
        if not (met <= labels.keys() and self._are_names(labels)):
            labels = {code: text for code, text in labels.items() if _plain(text) in _NOTHING}
        plain = column_of(name, values.to_numpy() if values.dtype == pl.Float64 else values)
        if not labels:
            return plain
        codes = pl.Series([*labels], dtype=values.dtype)
        known = values.replace_strict(codes, [*labels.values()], default=None)
        return known.cast(pl.String).fill_null(plain).alias(name)

    def _are_names(self, labels: Mapping[Code, str]) -> bool:
        """Whether labels say more than codes; 0 and 1 are rewards, unless 0 is called a success."""
        if len({*labels.values()}) < len(labels):
            return False
        if not named_like("reward", [self.name]) or {*labels} not in _WORTHS:
            return True
        words = [_plain(labels[code]) for code in sorted(labels)]
        return words[0] in _GOOD or words[-1] in _BAD


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower()) or text.strip()


class Labelled(Table):
    """The variables of a file; each is decoded when it is asked for."""

    def __init__(self, path: Path, format: str, variables: Sequence[Variable]) -> None:
        self._damage = path, f"a file of {format}"
        self.name, self.stem, self.first_row = str(path), path.stem, 1
        self.format = f"{format}, rows counted as trials"
        self.columns = tuple(distinct_names([variable.name for variable in variables]))
        self._variables = dict(zip(self.columns, variables, strict=True))
        self.about = {
            name: _described(variable)
            for name, variable in self._variables.items()
            if variable.says or variable.labels
        }

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows at once."""
        with no_damage(*self._damage, (OSError, MemoryError)):
            found = pl.DataFrame([self._variables[name].column(name) for name in columns])
        yield found


def _described(variable: Variable) -> Mapping[str, Any]:
    levels = {f"{v:.15g}" if isinstance(v, float) else v: t for v, t in variable.labels.items()}
    return {"Description": variable.says, "Levels": levels}


def times(values: np.ndarray[Any, Any], since: datetime, seconds: float) -> pl.Series:
    """Moments as text, from numbers of so many seconds since a day."""
    found = [_moment(value * seconds, since) for value in values.tolist()]
    return pl.Series(found, dtype=pl.String)


def _moment(seconds: float, since: datetime) -> str | None:
    try:
        moment = since + timedelta(seconds=round(seconds, 3))
    except (OverflowError, ValueError):  # missing, or a year that calendars do not have
        return None
    return str(moment.date()) if moment.time() == datetime.min.time() else str(moment)


def texts(values: np.ndarray[Any, Any], encodings: Sequence[str]) -> pl.Series:
    """Fixed pieces of bytes as text, without the blanks behind it; null where nothing is left."""
    known = {piece: decoded(piece, encodings) or None for piece in {*values.tolist()}}
    return pl.Series([known[piece] for piece in values.tolist()], dtype=pl.String)


def decoded(piece: bytes, encodings: Sequence[str]) -> str:
    """Bytes as text in the first of the encodings that fits."""
    for encoding in encodings:
        try:
            return piece.partition(b"\0")[0].decode(encoding).rstrip()
        except (UnicodeDecodeError, LookupError):
            continue
    return piece.partition(b"\0")[0].decode("latin-1").rstrip()
