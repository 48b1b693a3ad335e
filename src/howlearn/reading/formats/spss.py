"""SPSS: .sav files, whose values are often coded in one byte each, and deflated in .zsav files.

pyreadstat reads them too, but damaged ones can crash it (1 in 130 of 6,000). The format: *PSPP
Developers Guide*, appendix "System File Format".
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import DataError
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import FREE, TIMES, check_growth, no_damage
from howlearn.reading.formats.labelled import (
    Code,
    Damaged,
    Labelled,
    Variable,
    decoded,
    texts,
    times,
)
from howlearn.reading.formats.table import MOST_COLUMNS, too_many_columns

HEADER, SLOT = 176, 8  # bytes
CHUNK, USED = 252, 255  # bytes of a long text that count for its pieces, and that are in each
FIRST_DAY = datetime(1582, 10, 14)
_MOMENTS = (20, 22, 23, 24, 28, 29, 30, 38, 39, 41)  # formats of dates
_SPACES, _SKIPPED, _END, _LITERAL, _BLANK, _MISSING = b" " * SLOT, 0, 252, 253, 254, 255
_CODE_PAGES = {65001: "utf-8", 2: "ascii", 28591: "latin-1"}


@dataclass
class _Column:
    """A variable as its record says it."""

    slot: int  # its place in a row
    width: int  # bytes of a text, 0 for a number
    short: str  # the name of eight letters
    label: bytes = b""
    moment: bool = False
    missing: tuple[bytes, ...] = ()
    between: bool = False  # the first two of them are the ends of a range
    labels: dict[bytes, bytes] = field(default_factory=dict)
    name: str = ""


@dataclass
class _File:
    """What a file says about its values, and the values as slots of eight bytes."""

    path: Path
    content: bytes
    order: str = "<"
    place: int = HEADER
    bias: float = 100.0
    width: int = 0  # slots of a row
    compression: int = 0
    columns: dict[int, _Column] = field(default_factory=dict)  # by slot
    names: dict[str, str] = field(default_factory=dict)
    long: dict[str, int] = field(default_factory=dict)  # texts of more than 255 bytes
    encodings: tuple[str, ...] = ("utf-8", "cp1252")

    def read(self) -> list[Variable]:
        """The variables, with all that the records before the data say."""
        if len(self.content) < HEADER:
            raise Damaged("it ends too early")
        self.order = "<" if self.content[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
        self.compression = self._numbers("i", 1, 72)[0]
        self.bias = self._numbers("d", 1, 84)[0]
        records: dict[int, Callable[[], None]] = {
            2: self._variable,
            3: self._labels,
            6: self._document,
            7: self._extension,
        }
        while (kind := self._next("i")) != 999:
            if kind not in records:
                raise Damaged(f"a record of the kind {kind}")
            records[kind]()
        self._next("i")
        rows = self._rows()
        return [self._made(column, rows) for column in self._whole()]

    def _numbers(self, kind: str, count: int, place: int) -> tuple[Any, ...]:
        if count < 0 or place + count * struct.calcsize(kind) > len(self.content):
            raise Damaged("it ends too early")
        return struct.unpack_from(f"{self.order}{count}{kind}", self.content, place)

    def _next(self, kind: str) -> Any:
        found = self._numbers(kind, 1, self.place)[0]
        self.place += struct.calcsize(kind)
        return found

    def _bytes(self, count: int, padded: int = 1) -> bytes:
        end = self.place + count
        if count < 0 or end > len(self.content):
            raise Damaged("it ends too early")
        found = self.content[self.place : end]
        self.place = end + -count % padded
        return found

    def _variable(self) -> None:
        width, labelled, missing, shown, _ = (self._next("i") for _ in range(5))
        name = decoded(self._bytes(SLOT), self.encodings)
        label = self._bytes(self._next("i"), 4) if labelled else b""
        if abs(missing) > 3:
            raise Damaged("more than three missing values")
        codes = tuple(self._bytes(SLOT) for _ in range(abs(missing)))
        if width >= 0:
            moment = width == 0 and shown >> 16 & 0xFF in _MOMENTS
            column = _Column(self.width, width, name, label, moment, codes, missing < 0)
            self.columns[self.width] = column
        self.width += 1
        if self.width > 8 * MOST_COLUMNS or len(self.columns) > MOST_COLUMNS:
            raise DataError([too_many_columns(str(self.path))])

    def _labels(self) -> None:
        """Labels of values, and the record that says whose they are."""
        labels = {}
        for _ in range(self._next("i")):
            value, length = self._bytes(SLOT), self._bytes(1)[0]
            labels[value] = self._bytes(length)
            self.place += -(length + 1) % SLOT
        if self._next("i") != 4:
            raise Damaged("labels of no variable")
        for slot in self._numbers("i", count := self._next("i"), self.place):
            if slot - 1 in self.columns:
                self.columns[slot - 1].labels |= labels
        self.place += 4 * count

    def _document(self) -> None:
        self._bytes(80 * self._next("i"))

    def _extension(self) -> None:
        kind, size, count = (self._next("i") for _ in range(3))
        if min(size, count) < 0:
            raise Damaged("a record of negative size")
        start = self.place
        content = self._bytes(size * count)
        if kind == 3 and size == 4 and count >= 8:
            page = self._numbers("i", 8, start)[7]
            self._encoded(_CODE_PAGES.get(page, f"cp{page}" if page > 4 else "cp1252"))
        elif kind == 20:
            self._encoded(content.decode("ascii", "replace").strip())
        elif kind == 13:
            self.names = dict(self._pairs(content, b"\t"))
        elif kind == 14:
            pairs = self._pairs(content, b"\0\t")
            self.long = {name: int(text) for name, text in pairs if text.isdecimal()}

    def _encoded(self, encoding: str) -> None:
        self.encodings = (encoding, "utf-8", "cp1252")

    def _pairs(self, content: bytes, between: bytes) -> Iterator[tuple[str, str]]:
        for pair in content.split(between):
            name, _, value = decoded(pair.strip(b"\0\t"), self.encodings).partition("=")
            if name and value:
                yield name, value

    # -- The data

    def _rows(self) -> np.ndarray[Any, Any]:
        """The slots of all rows, one row each."""
        if not self.width:
            raise Damaged("no variables")
        data = self.content[self.place :]
        if self.compression == 2:
            data = self._inflated()
        if self.compression:
            slots = _unpacked(self.path, data, self.bias, self.order, len(self.content))
        else:
            slots = np.frombuffer(data, dtype=f"V{SLOT}", count=len(data) // SLOT)
        rows = len(slots) // self.width
        return slots[: rows * self.width].reshape(rows, self.width)

    def _inflated(self) -> bytes:
        """All deflated blocks; the list of them stands at the end of the file."""
        _, trailer, length = self._numbers("q", 3, self.place)
        if not 0 <= trailer <= len(self.content) - 24 or length > len(self.content):
            raise Damaged("the list of its blocks is damaged")
        [count] = self._numbers("i", 1, trailer + 20)
        found = bytearray()
        for block in range(count):
            where = trailer + 24 + 24 * block
            _, start, size, packed = struct.unpack(
                f"{self.order}qqii", self.content[where : where + 24].ljust(24, b"\0")
            )
            if min(start, size, packed) < 0 or not packed:
                raise Damaged("the list of its blocks is damaged")
            if len(found) + size > FREE + TIMES * len(self.content):
                check_growth(self.path, len(self.content), len(found) + size)
            inflater = zlib.decompressobj()
            found += inflater.decompress(self.content[start : start + packed], max(1, size))
        return bytes(found)

    # -- The variables

    def _whole(self) -> list[_Column]:
        """The variables, those of long texts put together, with their long names."""
        found, at = [], iter(sorted(self.columns))
        for slot in at:
            column = self.columns[slot]
            column.name = self.names.get(column.short, column.short)
            length = self.long.get(column.short, 0)
            if column.width and length > USED:
                column.width = length
                for _ in range(math.ceil(length / CHUNK) - 1):
                    next(at, None)
            found.append(column)
        return found

    def _made(self, column: _Column, rows: np.ndarray[Any, Any]) -> Variable:
        labels: dict[Code, str] = {}
        for value, label in column.labels.items():
            labels[self._code(column, value)] = decoded(label, self.encodings)
        says = decoded(column.label, self.encodings)
        return Variable(column.name, says, lambda: self._values(column, rows), labels)

    def _code(self, column: _Column, value: bytes) -> Code:
        if column.width:
            return decoded(value, self.encodings)
        return float(struct.unpack(f"{self.order}d", value.ljust(SLOT, b"\0")[:SLOT])[0])

    def _values(self, column: _Column, rows: np.ndarray[Any, Any]) -> pl.Series:
        codes = [self._code(column, value) for value in column.missing]
        if column.width:
            values = texts(self._pieces(column, rows), self.encodings)
            gone = values.is_in([code for code in codes if isinstance(code, str)])
            return values.zip_with(~gone.fill_null(False), pl.Series([None], dtype=pl.String))
        bits = np.ascontiguousarray(rows[:, column.slot])
        numbers = bits.view(f"{self.order}f8").astype(np.float64)
        ends = [float(code) for code in codes[:2]] if column.between else []
        gone = np.isin(numbers, [float(code) for code in codes[len(ends) :]])
        gone |= numbers == -np.finfo(np.float64).max  # as SPSS writes what is missing
        if len(ends) == 2:
            gone |= (numbers >= ends[0]) & (numbers <= ends[1])
        numbers = np.where(gone, np.nan, numbers)
        if column.moment:
            return times(numbers, FIRST_DAY, 1)
        return pl.Series(numbers).fill_nan(None)

    def _pieces(self, column: _Column, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The bytes of a text in each row."""
        pieces, slot, left = [], column.slot, column.width
        while left > 0 and slot < self.width:
            used = min(left, USED)
            slots = math.ceil(used / SLOT)
            part = np.ascontiguousarray(rows[:, slot : slot + slots])
            pieces.append(part.view("u1").reshape(len(rows), SLOT * part.shape[1])[:, :used])
            slot, left = slot + slots, left - used
        joined = np.ascontiguousarray(np.concatenate(pieces, axis=1))
        return joined.view(f"S{joined.shape[1]}").reshape(-1)


def _unpacked(path: Path, data: bytes, bias: float, order: str, size: int) -> np.ndarray[Any, Any]:
    """The slots: eight commands, of which each is a small number or stands for what follows."""
    commands, literals, place = bytearray(), bytearray(), 0
    while place + SLOT <= len(data):
        block = data[place : place + SLOT]
        place += SLOT
        end = block.find(_END)
        block = block if end < 0 else block[:end]
        follow = SLOT * block.count(_LITERAL)
        if place + follow > len(data):  # it is cut here
            break
        commands += block
        literals += data[place : place + follow]
        place += follow
        if end >= 0:
            break
    codes = np.frombuffer(bytes(commands), dtype=np.uint8)
    codes = codes[codes != _SKIPPED]
    check_growth(path, size, SLOT * len(codes))
    numbers = codes.astype(f"{order}f8") - bias
    numbers[codes == _MISSING] = -np.finfo(np.float64).max
    slots = numbers.astype(f"{order}f8").view(f"V{SLOT}")
    slots[codes == _BLANK] = np.void(_SPACES)
    slots[codes == _LITERAL] = np.frombuffer(bytes(literals), dtype=f"V{SLOT}")
    return slots


def open_spss(
    path: Path, inside: str | None = None, content: bytes | None = None
) -> list[Labelled]:
    """The table of an SPSS file."""
    with no_damage(path, "an SPSS file", (OSError, MemoryError)):
        data = path.read_bytes() if content is None else content
        return [Labelled(path, "SPSS", _File(path, data).read())]


FORMATS = (
    Format(
        "SPSS",
        "SPSS: labels of values are taken for their codes, and missing values as declared",
        open_spss,
        (".sav", ".zsav"),
        starts=(b"$FL2@", b"$FL3@"),
        may_be=lambda head, named: False,
        called="SPSS",
        binary=True,
        seeds=("sav", "sav unpacked", "zsav"),
    ),
)
