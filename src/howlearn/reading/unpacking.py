"""Compressed files, unpacked unless they turn out to be far larger than they look.

A file of a few megabytes can unpack to terabytes. Data compress to a tenth or a thirtieth; whatever
is a hundred times larger inside is refused, before it fills the memory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO, BinaryIO

from howlearn.core.errors import DataError, Problem

FREE = 2**26  # bytes that anything may unpack to
TIMES = 100  # its own size, beyond that
LARGEST = 2**32  # bytes that are unpacked at all
CHUNK = 2**20
OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
FAILURES = (OSError, EOFError, zlib.error, lzma.LZMAError)


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins so is compressed as a whole."""
    return any(head.startswith(mark) for mark in OPENERS)


def opened(raw: BinaryIO, head: bytes) -> IO[bytes]:
    """What is inside a compressed file."""
    opener = next(o for mark, o in OPENERS.items() if head.startswith(mark))
    return opener(raw, "rb")


def rest_of(path: Path, raw: BinaryIO, inner: IO[bytes], start: bytes) -> bytes:
    """All that is inside, of which the start was read already; DataError where it is too much."""
    found = bytearray(start)
    while chunk := inner.read(CHUNK):
        found += chunk
        check_growth(path, raw.tell(), len(found))
        if len(found) > LARGEST:
            raise _refused(path, "a compressed file that is too large to unpack")
    return bytes(found)


def check_growth(path: Path, packed: int, unpacked: int) -> None:
    """Refuse a file of which so many bytes become so many."""
    if unpacked > FREE + TIMES * packed:
        found = f"a file that is more than {TIMES} times larger inside than it looks"
        raise _refused(path, found)


def _refused(path: Path, found: str) -> DataError:
    allowed = f"files that unpack to at most {TIMES} times their size"
    remedy = "unpack it yourself, and save the table as CSV or Parquet"
    return DataError([Problem(str(path), None, None, found, allowed, remedy)])
