"""Columns of trials in temporary files: what a study is when it does not fit into memory."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from howlearn.errors import HowlearnError

AT_ONCE = 1_000_000  # trials that are rewritten together

Arrays = Mapping[str, NDArray[Any]]


class _Column:
    """One growing array in a file that has no name: however the process ends, it is gone."""

    def __init__(self, dtype: np.dtype[Any], width: tuple[int, ...]) -> None:
        self.dtype, self.width = dtype, width
        self.each = dtype.itemsize * int(np.prod(width, dtype=np.int64))  # bytes of a trial
        self.length = 0
        with _room():
            self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, _closed, self.file)

    def append(self, values: NDArray[Any]) -> None:
        with _room():
            self.file.seek(0, 2)
            self.file.write(np.asarray(values, self.dtype).tobytes())
            self.file.flush()
        self.length += len(values)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        self.file.seek(start * self.each)
        found = np.frombuffer(self.file.read((stop - start) * self.each), self.dtype)
        return found.reshape(stop - start, *self.width)


def _closed(file: IO[bytes]) -> None:
    with suppress(OSError):  # of a full disk, which was told already
        file.close()


class Spool:
    """Columns of trials on disk, in the folder that TMPDIR names.

    Parts are read into memory when they are asked for. ``view`` maps a whole column, for what
    needs all trials after all.

    >>> spool = Spool()
    >>> spool.append({"action": np.array([0, 1, 1], np.int16)})
    >>> spool.append({"action": np.array([0], np.int16)})
    >>> spool.read("action", 2, 4), len(spool)
    (array([1, 0], dtype=int16), 4)
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._lock = threading.Lock()  # a file has one place where it is read
        self._derived: tuple[object, Spool] | None = None

    def __len__(self) -> int:
        return max((column.length for column in self._columns.values()), default=0)

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    @property
    def n_bytes(self) -> int:
        """What all columns take on disk."""
        return sum(column.length * column.each for column in self._columns.values())

    def append(self, arrays: Arrays) -> None:
        """Add trials to the columns; new columns begin."""
        for name, values in arrays.items():
            if name not in self._columns:
                self._columns[name] = _Column(values.dtype, values.shape[1:])
            self._columns[name].append(values)

    def read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Trials start to stop of a column."""
        return self.gather(name, [(start, stop)])

    def gather(self, name: str, runs: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """Several stretches of a column, one after another."""
        column = self._columns[name]
        out = np.empty((sum(stop - start for start, stop in runs), *column.width), column.dtype)
        place = 0
        with self._lock:
            for start, stop in runs:
                out[place : place + stop - start] = column.read(start, stop)
                place += stop - start
        return out

    def view(self, name: str) -> NDArray[Any]:
        """A whole column, whose pages come into memory as they are looked at; read-only."""
        column = self._columns[name]
        return np.asarray(
            np.memmap(column.file, column.dtype, "r", shape=(column.length, *column.width))
        )

    def blocks(self, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        """All trials of some columns, block by block."""
        for start in range(0, len(self), AT_ONCE):
            stop = min(start + AT_ONCE, len(self))
            yield {name: self.read(name, start, stop) for name in names}

    def put(self, name: str, names: Sequence[str], make: Callable[[Arrays], NDArray[Any]]) -> None:
        """Replace a column by what is made of some columns, block by block."""
        made = Spool()
        for block in self.blocks(names):
            made.append({name: make(block)})
        self._columns[name] = made._columns[name]

    def derived(self, key: object, make: Callable[[], Spool]) -> Spool:
        """What was made of this spool under a key, made once; only the last one is kept."""
        if self._derived is None or self._derived[0] != key:
            self._derived = (key, make())
        return self._derived[1]

    def drop(self, name: str) -> None:
        """Do without a column."""
        self._columns.pop(name, None)


@contextmanager
def _room() -> Iterator[None]:
    """Say what helps where a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise HowlearnError(
            f"{folder()} cannot hold the trials ({error.strerror or error}); name a folder on a "
            "disk with more room, some 20 bytes per trial, in the environment variable TMPDIR"
        ) from None


def folder() -> str:
    """Where temporary files are."""
    try:
        return tempfile.gettempdir()
    except OSError:  # no folder for temporary files at all
        return "the folder for temporary files"
