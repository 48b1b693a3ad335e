"""MATLAB 5 to 7: a sequence of tagged elements, some of them deflated.

scipy reads such files too, but damaged ones can crash it. The format: MathWorks, *MAT-File Format*
(Level 5), chapter 1.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howlearn.reading.formats.detect import FREE, TIMES
from howlearn.reading.formats.matlab import cell, in_rows, numbers

HEADER = 128
DEEPEST = 20
_MATRIX, _DEFLATED, _UTF8, _UTF16, _UTF32 = 14, 15, 16, 17, 18
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
_CELL, _STRUCT, _CHAR, _SPARSE, _OPAQUE = 1, 2, 4, 5, 17
_NUMERIC = range(6, 16)
_LOGICAL = 0x200


class Damaged(ValueError):
    """The bytes are not what their tags say."""


@dataclass
class File:
    """The variables of a file, and the names of those that only MATLAB can open."""

    content: bytes
    order: str = "<"
    opaque: list[str] = field(default_factory=list)

    def variables(self) -> dict[str, Any]:
        """The variables as dicts, lists, arrays and single values."""
        mark = self.content[HEADER - 2 : HEADER]
        if mark not in (b"IM", b"MI"):
            raise Damaged("its header is damaged")
        self.order = "<" if mark == b"IM" else ">"
        found: dict[str, Any] = {}
        place = HEADER
        while place + 8 <= len(self.content):
            kind, data, place = self._element(self.content, place, packed=True)
            if kind == _DEFLATED:
                kind, data, _ = self._element(_inflated(data), 0)
            if kind == _MATRIX and data:
                name, value = self._matrix(data, 0)
                if name and value is not None:
                    found[name] = value
        return found

    def _element(self, data: bytes, place: int, packed: bool = False) -> tuple[int, bytes, int]:
        """The type and the bytes of the element at a place, and where the next one starts."""
        if place + 8 > len(data):
            raise Damaged("it ends too early")
        first, size = struct.unpack_from(f"{self.order}II", data, place)
        if first >> 16:  # a small element: its bytes stand in the tag
            kind, size = first & 0xFFFF, first >> 16
            if size > 4:
                raise Damaged("an element is longer than its tag")
            return kind, data[place + 4 : place + 4 + size], place + 8
        start, end = place + 8, place + 8 + size
        if end > len(data):
            raise Damaged("it ends too early")
        aligned = end if packed and first == _DEFLATED else end + -end % 8
        return first, data[start:end], aligned

    def _array(self, data: bytes, place: int) -> tuple[np.ndarray[Any, Any], int]:
        kind, content, place = self._element(data, place)
        if kind not in _TYPES:
            raise Damaged(f"an element of the type {kind} where numbers are")
        kept = np.dtype(self.order + _TYPES[kind])
        if len(content) % kept.itemsize:
            raise Damaged("half a number")
        return np.frombuffer(content, dtype=kept), place

    def _matrix(self, data: bytes, depth: int) -> tuple[str, Any]:
        """The name and the value of an array of any class."""
        if depth > DEEPEST:
            raise Damaged("it is nested too deeply")
        flags, place = self._array(data, 0)
        if not len(flags):
            raise Damaged("an array without a class")
        kind, logical = int(flags[0]) & 0xFF, bool(int(flags[0]) & _LOGICAL)
        if kind == _OPAQUE:
            _, name, _ = self._element(data, place)
            self.opaque.append(name.decode("latin-1"))
            return "", None
        dims, place = self._array(data, place)
        shape = tuple(int(n) for n in dims)
        if len(shape) < 2 or min(shape) < 0:
            raise Damaged("an array without rows and columns")
        _, label, place = self._element(data, place)
        return label.decode("latin-1"), self._value(data, place, kind, shape, logical, depth)

    def _value(
        self, data: bytes, place: int, kind: int, shape: tuple[int, ...], logical: bool, depth: int
    ) -> Any:
        if kind == _CELL:
            return self._cell(data, place, shape, depth)
        if kind == _STRUCT:
            return self._struct(data, place, shape, depth)
        if kind == _CHAR:
            return self._text(data, place, shape)
        if kind == _SPARSE:
            return self._sparse(data, place, shape)
        if kind not in _NUMERIC:
            return None  # objects and functions
        values, _ = self._array(data, place)
        if len(values) != math.prod(shape):
            raise Damaged("another number of values than it says")
        straight = values.astype(values.dtype.newbyteorder("="))
        return numbers((straight.astype(bool) if logical else straight).reshape(shape, order="F"))

    def _members(self, data: bytes, place: int, count: int, depth: int) -> tuple[list[Any], int]:
        if count > (len(data) - place) // 8:
            raise Damaged("it claims to hold more values than it has room for")
        found = []
        for _ in range(count):
            kind, content, place = self._element(data, place)
            if kind != _MATRIX:
                raise Damaged(f"an element of the type {kind} where an array is")
            found.append(self._matrix(content, depth + 1)[1] if content else None)
        return found, place

    def _cell(self, data: bytes, place: int, shape: tuple[int, ...], depth: int) -> Any:
        items, _ = self._members(data, place, math.prod(shape), depth)
        grid = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            grid[i] = item
        return cell(list(grid.reshape(shape, order="F").reshape(-1)), shape)

    def _struct(self, data: bytes, place: int, shape: tuple[int, ...], depth: int) -> Any:
        size, place = self._array(data, place)
        _, text, place = self._element(data, place)
        length = int(size[0]) if len(size) else 0
        if length < 1 or len(text) % length:
            raise Damaged("names of fields that are cut")
        pieces = [text[i : i + length] for i in range(0, len(text), length)]
        names = [piece.split(b"\0")[0].decode("latin-1") for piece in pieces]
        count = math.prod(shape)
        if not names:
            return None
        items, _ = self._members(data, place, count * len(names), depth)
        rows = [
            dict(zip(names, items[i : i + len(names)], strict=True))
            for i in range(0, len(items), len(names))
        ]
        if len(rows) == 1:
            return rows[0]
        if len(shape) == 2 and min(shape) > 1:  # the file goes down the columns
            rows = [rows[i + shape[0] * j] for i in range(shape[0]) for j in range(shape[1])]
        return in_rows(rows, shape)

    def _text(self, data: bytes, place: int, shape: tuple[int, ...]) -> Any:
        """Letters; a matrix of them has one text per row."""
        kind, content, _ = self._element(data, place)
        ends = "le" if self.order == "<" else "be"
        encodings = {_UTF8: "utf-8", _UTF16: f"utf-16-{ends}", _UTF32: f"utf-32-{ends}"}
        if kind in encodings:
            letters = content.decode(encodings[kind], errors="replace")
        elif kind in (2, 4):
            letters = content.decode("latin-1" if kind == 2 else f"utf-16-{ends}", errors="replace")
        else:
            raise Damaged("letters of an unknown kind")
        if len(shape) == 2 and shape[0] > 1:
            if len(letters) != math.prod(shape):
                raise Damaged("another number of letters than it says")
            return ["".join(letters[i :: shape[0]]).rstrip() for i in range(shape[0])]
        return letters.rstrip()

    def _sparse(self, data: bytes, place: int, shape: tuple[int, ...]) -> Any:
        rows, place = self._array(data, place)
        starts, place = self._array(data, place)
        values, _ = self._array(data, place)
        full = math.prod(shape) <= 10_000_000 and len(starts) == shape[1] + 1
        if not full or (np.diff(starts) < 0).any() or starts[0] != 0:
            raise Damaged("a sparse matrix that is too large or damaged")
        columns = np.repeat(np.arange(shape[1]), np.diff(starts))
        used = len(columns)
        if used > min(len(rows), len(values)) or (rows[:used] >= shape[0]).any():
            raise Damaged("a sparse matrix with places outside of it")
        matrix = np.zeros(shape)
        matrix[rows[:used], columns] = values[:used]
        return numbers(matrix)


def _inflated(data: bytes) -> bytes:
    try:
        inflater = zlib.decompressobj()
        found = inflater.decompress(data, FREE + TIMES * len(data))
    except zlib.error as error:
        raise Damaged(str(error)) from None
    if inflater.unconsumed_tail:
        raise Damaged(f"a variable that is more than {TIMES} times larger inside than it looks")
    return found
