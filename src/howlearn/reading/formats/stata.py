"""Stata: .dta files of Stata 8 to 18.

The format: Stata's own help, ``help dta``, and for older versions ``help dta_115``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import no_damage
from howlearn.reading.formats.labelled import Damaged, Labelled, Variable, decoded, texts, times
from howlearn.reading.formats.table import MOST_COLUMNS, too_many_columns

FIRST_DAY = datetime(1960, 1, 1)
START = b"<stata_dta><header><release>"
_OLD = (113, 114, 115)
# The numbers, by the codes of new files and of old ones, and the least that means missing.
_NUMBERS = {65530: "i1", 65529: "i2", 65528: "i4", 65527: "f4", 65526: "f8"}
_OLD_NUMBERS = {251: "i1", 252: "i2", 253: "i4", 254: "f4", 255: "f8"}
_MISSING = {"i1": 101, "i2": 32_741, "i4": 2_147_483_621, "f4": 2.0**127, "f8": 2.0**1023}
_LONG_TEXT, _LONGEST_TEXT = 32_768, 2_045


@dataclass(frozen=True)
class _Sizes:
    """How many bytes a version has for each name, format and label."""

    name: int
    format: int
    label: int


_SIZES = {
    113: _Sizes(33, 12, 81),
    114: _Sizes(33, 49, 81),
    115: _Sizes(33, 49, 81),
    117: _Sizes(33, 49, 81),
    118: _Sizes(129, 57, 321),
    119: _Sizes(129, 57, 321),
}


class _File:
    """The variables of a file; a place runs through it from the head to the labels."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place, self.order = content, 0, "<"
        self.version = self.count = self.rows = 0
        self.kinds: list[str] = []  # of the variables, as numpy calls them; L is a long text
        self.labels: dict[str, dict[float, str]] = {}
        self.long: dict[tuple[int, int], bytes] = {}

    def read(self, path: Path) -> list[Variable]:
        """The variables with their labels."""
        new = self.content.startswith(START)
        if new:
            self._head()
        else:
            self._old_head()
        if self.version not in _SIZES:
            raise Damaged(f"version {self.version} of the format")
        if self.count > MOST_COLUMNS:
            raise DataError([too_many_columns(str(path))])
        self.encodings = ("utf-8", "cp1252") if self.version >= 118 else ("cp1252",)
        names, formats, label_names, says = self._lists(new)
        data = self._data(new)
        if new:
            self._long_texts()
            self._section(b"value_labels")
        self._value_labels(new)
        return [
            Variable(names[i], says[i], self._values(data, i, formats[i]), self._of(label_names[i]))
            for i in range(self.count)
        ]

    def _of(self, name: str) -> dict[float | str, str]:
        return {**self.labels.get(name, {})}

    def _take(self, count: int) -> bytes:
        if count < 0 or self.place + count > len(self.content):
            raise Damaged("it ends too early")
        self.place += count
        return self.content[self.place - count : self.place]

    def _number(self, kind: str) -> int:
        return int(struct.unpack(f"{self.order}{kind}", self._take(struct.calcsize(kind)))[0])

    def _expect(self, tag: bytes) -> None:
        if self._take(len(tag)) != tag:
            raise Damaged(f"{tag.decode()} is missing")

    def _section(self, tag: bytes) -> None:
        """Go to a section by its tag, behind whatever stands before it."""
        found = self.content.find(b"<" + tag + b">", self.place)
        if found < 0:
            raise Damaged(f"<{tag.decode()}> is missing")
        self.place = found + len(tag) + 2

    def _head(self) -> None:
        self._expect(START)
        release = self._take(3)
        self.version = int(release) if release.isdigit() else 0
        self._expect(b"</release><byteorder>")
        self.order = ">" if self._take(3) == b"MSF" else "<"
        self._expect(b"</byteorder><K>")
        self.count = self._number("I" if self.version >= 119 else "H")
        self._expect(b"</K><N>")
        self.rows = self._number("Q" if self.version >= 118 else "I")
        self._section(b"map")

    def _old_head(self) -> None:
        self.version = self._number("B")
        self.order = ">" if self._number("B") == 1 else "<"
        self._take(2)
        self.count, self.rows = self._number("H"), self._number("I")
        self._take(81 + 18)

    def _lists(self, new: bool) -> tuple[list[str], ...]:
        """Names, formats, names of value labels, and labels of all variables."""
        size, wide = _SIZES[self.version], self.version >= 119
        if new:
            self._section(b"variable_types")
            self.kinds = [self._kind(self._number("H")) for _ in range(self.count)]
        else:
            self.kinds = [self._kind(code) for code in self._take(self.count)]
        found = []
        parts = [
            (b"varnames", size.name),
            (b"sortlist", 0),
            (b"formats", size.format),
            (b"value_label_names", size.name),
            (b"variable_labels", size.label),
        ]
        for tag, length in parts:
            if new:
                self._section(tag)
            if length:
                found.append([self._text(length) for _ in range(self.count)])
            else:
                self._take((4 if wide else 2) * (self.count + 1))
        return tuple(found)

    def _text(self, length: int) -> str:
        return decoded(self._take(length), self.encodings)

    def _kind(self, code: int) -> str:
        known = _OLD_NUMBERS if self.version in _OLD else _NUMBERS
        if code in known:
            return known[code]
        if code == _LONG_TEXT:
            return "L"
        if not 0 < code <= (_LONGEST_TEXT if self.version not in _OLD else 244):
            raise Damaged(f"a variable of the type {code}")
        return f"S{code}"

    def _data(self, new: bool) -> np.ndarray[Any, Any]:
        if new:
            self._section(b"data")
        else:
            while any(field := self._take(5)):  # notes of the file, which end in zeros
                self._take(struct.unpack(f"{self.order}i", field[1:])[0])
        row = np.dtype([(str(i), self._stored(kind)) for i, kind in enumerate(self.kinds)])
        if not row.itemsize:
            raise Damaged("no variables")
        content = self._take(row.itemsize * self.rows)
        return np.frombuffer(content, dtype=row)

    def _stored(self, kind: str) -> str:
        if kind == "L":
            return "V8"
        return kind if kind.startswith("S") else self.order + kind

    def _long_texts(self) -> None:
        """Texts that the data point to by variable and row."""
        self._expect(b"</data><strls>")
        while self.content.startswith(b"GSO", self.place):
            self._take(3)
            at = self._number("I"), self._number("Q" if self.version >= 118 else "I")
            self._take(1)
            self.long[at] = self._take(self._number("I"))

    def _value_labels(self, new: bool) -> None:
        size = _SIZES[self.version].name
        while self.place + size + 7 < len(self.content):
            if new and self._take(5) != b"<lbl>":
                return
            self._take(4)
            name = self._text(size)
            self._take(3)
            count, length = self._number("i"), self._number("i")
            if count < 0 or 8 * count > len(self.content):
                raise Damaged("more labels than it has room for")
            places = struct.unpack(f"{self.order}{count}i", self._take(4 * count))
            codes = struct.unpack(f"{self.order}{count}i", self._take(4 * count))
            text = self._take(length)
            self.labels[name] = {
                float(code): decoded(text[at : at + 32_000], self.encodings)
                for code, at in zip(codes, places, strict=True)
                if at >= 0
            }
            if new:
                self._expect(b"</lbl>")

    def _values(self, data: np.ndarray[Any, Any], i: int, format: str) -> Any:
        kind, encodings = self.kinds[i], self.encodings

        def values() -> pl.Series:
            held = data[str(i)]
            if kind == "L":
                pieces = np.array([*self._pointed(held)], dtype=object)
                return texts(pieces, encodings)
            if kind.startswith("S"):
                return texts(held, encodings)
            numbers = held.astype(np.float64)
            with np.errstate(invalid="ignore"):
                numbers = np.where(numbers >= _MISSING[kind], np.nan, numbers)
            if format.startswith(("%td", "%d")):
                return times(numbers, FIRST_DAY, 86_400)
            if format.startswith(("%tc", "%tC")):
                return times(numbers, FIRST_DAY, 0.001)
            return pl.Series(numbers).fill_nan(None)

        return values

    def _pointed(self, held: np.ndarray[Any, Any]) -> Iterator[bytes]:
        """The long texts that the eight bytes of each row point to."""
        first = {117: 4, 118: 2}.get(self.version, 3)
        order = "little" if self.order == "<" else "big"
        for piece in held.tolist():
            at = int.from_bytes(piece[:first], order), int.from_bytes(piece[first:], order)
            yield self.long.get(at, b"")


def _is_old(path: Path, head: bytes) -> bool:
    """Whether it begins as files of Stata 8 to 12 do: version, byte order, a one, a zero."""
    return len(head) > 3 and head[0] in _OLD and head[1] in (1, 2) and head[2:4] == b"\1\0"


def open_stata(
    path: Path, inside: str | None = None, content: bytes | None = None
) -> list[Labelled]:
    """The table of a Stata file."""
    with no_damage(path, "a Stata file", (OSError, MemoryError)):
        data = path.read_bytes() if content is None else content
        return [Labelled(path, "Stata", _File(data).read(path))]


FORMATS = (
    Format(
        "Stata",
        "Stata 8 to 18: labels of values are taken for their codes",
        open_stata,
        (".dta",),
        starts=(START,),
        knows=_is_old,
        may_be=lambda head, named: False,
        called="Stata",
        binary=True,
        seeds=("dta", "dta old"),
    ),
)
