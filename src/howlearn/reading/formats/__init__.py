"""The kinds of files that can be opened: each declares in its own file how it is known and opened.

A new kind is a file with ``FORMATS`` and its name in ``_load``, or one that is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from howlearn.core.registry import Registry

if TYPE_CHECKING:
    from howlearn.reading.formats.table import Table

# The path, the sheet or variable that is meant, the content where it had to be unpacked → tables.
Opener = Callable[[Path, str | None, bytes | None], "Sequence[Table]"]
TEXT = "text"


def _never(path: Path, head: bytes) -> bool:
    return False


def _if_named(head: bytes, named: bool) -> bool:
    return named


@dataclass(frozen=True)
class Format:
    """A kind of file: its name in messages, how it is known, how it is opened."""

    registry: ClassVar[Registry[Format]] = Registry("kind of file", "kinds of files")
    name: str
    says: str  # a line for the page on data
    open: Opener
    endings: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()  # of its content, which tell it whatever the file is called
    knows: Callable[[Path, bytes], bool] = _never  # by more of its content
    # Where the content tells nothing: whether it may be this, by its head and the file's ending.
    may_be: Callable[[bytes, bool], bool] = _if_named
    called: str = ""  # in the list of what can be read; empty where it goes without saying
    binary: bool = False  # whether a file with its ending that is empty or binary is damaged
    packed: bool = True  # whether it is read from a compressed file
    has_parts: bool = False  # whether FILE#NAME names a sheet or a variable in it
    rank: int = 3  # of several kinds in one folder the lowest is read
    explains: bool = False  # whether such files often stand beside data to explain them
    seeds: tuple[str, ...] = ()  # what the fuzzer calls its files


def formats() -> tuple[Format, ...]:
    """All kinds of files; text with columns, which anything may be, is the first."""
    _load()
    return tuple(sorted(Format.registry.values(), key=lambda format: format.name != TEXT))


@cache
def _load() -> None:
    from howlearn.reading.formats import (
        delimited,
        experiment_logs,
        matlab,
        numpy_files,
        parquet,
        r,
        spreadsheets,
        spss,
        stata,
    )

    texts, arrays = (delimited, spreadsheets, experiment_logs, parquet), (matlab, numpy_files, r)
    for home in (*texts, *arrays, spss, stata):
        for format in home.FORMATS:
            Format.registry.register(format)


def allowed() -> str:
    """What can be read, in words."""
    *names, last = [format.called for format in formats() if format.called]
    return f"{', '.join(names)} or {last} files"
