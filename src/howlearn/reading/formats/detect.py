"""What a file is, by its content; its name decides only where the content leaves it open."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from howlearn.core.errors import DataError, Problem
from howlearn.reading.formats import Format, allowed, formats

# Compressed files, unpacked unless they turn out to be far larger than they look.
#
# A file of a few megabytes can unpack to terabytes. Data compress to a tenth or a thirtieth;
# whatever is a hundred times larger inside is refused, before it fills the memory.


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


HEAD = 4096
ZIP = b"PK\x03\x04"
_PACKED = (".gz", ".bz2", ".xz")
_OTHERS = {
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"%PDF": "a PDF file",
    b"{\\rtf": "an RTF text",
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML file",
    b"header record*******library": "a SAS transport file",
    b"ARROW1": "a Feather file",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
}
_OTHER_SUFFIXES = {
    ".por": "an SPSS portable file",
    ".sas7bdat": "a SAS file",
    ".xpt": "a SAS transport file",
    ".docx": "a Word document",
    ".pptx": "a presentation",
}


_EXPORTS = {
    ".por": "in SPSS, File > Save As writes it as .sav or CSV; in R, haven::read_por opens it",
    **dict.fromkeys(
        (".sas7bdat", ".xpt"),
        "PROC EXPORT writes it as CSV; pandas.read_sas, or haven::read_sas in R, opens it",
    ),
}


def suffix_of(path: Path) -> str:
    """The end of a name without that of a compression.

    >>> suffix_of(Path("a.CSV.gz"))
    '.csv'
    """
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return Path(name).suffix


def format_named(path: Path) -> Format | None:
    """The kind of file that its name says."""
    ending = suffix_of(path)
    return next((format for format in formats() if ending in format.endings), None)


def format_of(path: Path) -> tuple[Format, bytes | None]:
    """What a file is, and its content where that had to be unpacked."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device never ends
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise refused(path, what, "save what it gives as a file, and name that")
    with path.open("rb") as raw:
        head = raw.read(HEAD)
        if not is_compressed(head):
            return _format(path, head), None
        raw.seek(0)
        try:
            with opened(raw, head) as file:
                inner = file.read(HEAD)
                format = _format(path, inner)
                if format.packed:
                    return format, rest_of(path, raw, file, inner)
        except FAILURES as error:
            raise refused(path, f"a damaged compressed file ({reason_of(error)})") from None
    raise refused(path, "a compressed file", "unpack it, and name the file inside")


def _format(path: Path, head: bytes) -> Format:
    for format in formats():
        if head.startswith(format.starts) or format.knows(path, head):
            return format
    if head.startswith(ZIP):
        raise _archive(path)
    named = format_named(path)
    lowered = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    other = next((w for start, w in _OTHERS.items() if lowered.startswith(start.lower())), None)
    other = other or (_OTHER_SUFFIXES.get(path.suffix.lower()) if named is None else None)
    if other is not None:
        raise refused(path, other, _EXPORTS.get(path.suffix.lower(), ""))
    text, *others = formats()
    for format in sorted(others, key=lambda format: format is not named):
        if format.may_be(head, format is named):
            return format
    if named is not None and named.binary and (not head or b"\0" in head):
        raise refused(path, f"a file that is not {named.name} or is damaged")
    return text


def names_in(path: Path) -> list[str]:
    """The files in a ZIP archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        raise refused(path, "a damaged spreadsheet or ZIP archive") from None


def _archive(path: Path) -> DataError:
    names = names_in(path)
    if any(name.startswith(("word/", "ppt/")) for name in names):
        return refused(path, "a document without columns")
    return refused(path, "a ZIP archive", "unpack it, and name the files or the folder inside")


def refused(path: Path, found: str, remedy: str = "") -> DataError:
    """A file that cannot be a table, and what would help."""
    remedy = remedy or "save it as CSV UTF-8, or read it into a data frame"
    return DataError([Problem(str(path), None, None, found, allowed(), remedy)])


def reason_of(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@contextmanager
def no_damage(
    path: Path, what: str, passed: tuple[type[Exception], ...] = (OSError,)
) -> Iterator[None]:
    """Whatever a library says about a broken file becomes one sentence; some errors pass."""
    try:
        yield
    except (DataError, *passed):
        raise
    except Exception as error:  # a broken file may raise anything
        raise refused(path, f"{what} that cannot be read ({reason_of(error)})") from None


# Panics of compiled libraries: told as any other failure, and without their own words.


STDERR = 2
_NAME = "PanicException"  # of every library that is built with pyo3; it is no Exception


class Panic(ValueError):
    """A library gave up on what it was reading."""


@contextmanager
def no_panic() -> Iterator[None]:
    """A panic inside becomes a Panic, and what the library prints about it is left out.

    Whatever else is printed meanwhile is held back until the end.
    """
    with tempfile.TemporaryFile() as held:
        try:
            kept = os.dup(STDERR)
        except OSError:  # there is no standard error
            kept = None
        else:
            os.dup2(held.fileno(), STDERR)
        panicked = False
        try:
            yield
        except BaseException as error:
            if type(error).__name__ != _NAME:
                raise
            panicked = True
            raise Panic(reason_of(error)) from None
        finally:
            if kept is not None:
                os.dup2(kept, STDERR)
                os.close(kept)
                held.seek(0)
                if not panicked:
                    _pass_on(held.read())


def _pass_on(words: bytes) -> None:
    while words:
        words = words[os.write(STDERR, words) :]
