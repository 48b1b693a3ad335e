"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.text import visible

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FULL_WORDS = ("no space left", "disk quota", "file too large")  # where a library lost the number
TEMPORARY = ".*.tmp"  # what a process that was killed leaves behind
PARTS, BIDS = "parts", "bids"  # the folders in a folder of results
LONGEST = 180  # bytes of a name that its temporary file repeats: systems allow 255


class NoRoom(HowlearnError):
    """A file could not be written for want of space; nothing of it is there."""


def write_whole(
    path: Path, write: Callable[[Path], Any], new: bool = False, tidy: bool = True
) -> None:
    """Write a file under another name, then move it into place; it survives a power cut.

    With ``new`` a file that is there already stays, even if another process is just as quick.
    With ``tidy`` what others left is removed who were killed while they wrote it.
    """
    if tidy:
        clean(path.parent, [path.name], alone=False)
    # Hosts too: processes of several machines may write into one folder.
    temporary = path.with_name(f"{_stem(path.name)}{_host()}-{os.getpid()}.tmp")
    try:
        _make(temporary)
        write(temporary)
        _flush(temporary)
        if not (new and _linked(temporary, path)):
            os.replace(temporary, path)
        _flush(path.parent)
    except (OSError, pl.exceptions.PolarsError) as error:
        if is_full(error):
            raise NoRoom(no_room(error, path)) from None
        if isinstance(error, OSError) and error.filename == str(temporary):  # nobody knows it
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _make(temporary: Path) -> None:
    """An empty file under a name that a stranger may have guessed, and linked to another file."""
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def refuse_links(folder: Path) -> None:
    """A folder of results may be a stranger's: nothing outside of it is touched or read."""
    if link := next(_links(folder), None) if folder.is_dir() else None:
        raise HowlearnError(
            f"{link} is a link, and a folder of results has none: nothing outside of it is read, "
            f"written or removed. If you trust it, copy what its links lead to: cp -rL {folder} "
            "COPY"
        )


def _links(folder: Path, all_folders: bool = False) -> Iterator[Path]:
    """Those in the folder and in the folders that a run makes in it."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or getattr(entry, "is_junction", bool)():  # from Python 3.12 on
                yield Path(entry.path)
            elif (all_folders or entry.name in (PARTS, BIDS)) and entry.is_dir():
                yield from _links(Path(entry.path), True)


def clean(folder: Path, names: Collection[str] | None = None, alone: bool = True) -> None:
    """Remove what processes left that were killed while they wrote these files, or any.

    ``alone``: nobody else can be writing, but for one who tells no lock: a drawer of charts.
    """
    stems = None if names is None else tuple(map(_stem, names))
    for file in folder.glob(TEMPORARY):
        if stems is not None and not file.name.startswith(stems):
            continue
        before, _, process = file.name.removesuffix(".tmp").rpartition("-")
        here = before.endswith(f".{_host()}") and process.isascii() and process.isdigit()
        if (here and not _is_running(int(process))) or (alone and (not here or names is None)):
            with suppress(OSError):
                file.unlink(missing_ok=True)


def is_full(error: BaseException) -> bool:
    """Whether there was no room for a file."""
    if getattr(error, "errno", None) in FULL:
        return True
    return any(words in str(error).lower() for words in FULL_WORDS)


def no_room(error: BaseException, path: object = None) -> str:
    """That there was none, in words."""
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return (
        f"{path or 'a file'} cannot be written: the disk is full, or a limit on files is reached "
        f"({reason})"
    )


def write_text(path: Path, text: str) -> None:
    """Write text for people, whole or not at all; names in it do not steer a terminal."""
    write_whole(path, lambda file: file.write_text(visible(text), encoding="utf-8"))


def write_json(path: Path, content: Mapping[str, Any], new: bool = False) -> None:
    """Write a JSON file, whole or not at all; the same content is not written again."""
    text = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
    with suppress(OSError):
        if path.read_bytes() == text:
            return
    write_whole(path, lambda file: file.write_bytes(text), new)


def read_record(path: Path) -> dict[str, Any] | None:
    """What a JSON file of ours holds; None where it is missing or damaged."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _host() -> str:
    return socket.gethostname()[:20]


def _stem(name: str) -> str:
    """How the name of its temporary file begins."""
    return f".{name.encode(errors='surrogateescape')[:LONGEST].decode(errors='ignore')}."


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere asking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return process != os.getpid()


def _linked(temporary: Path, path: Path) -> bool:
    """Give a file its name unless the name is taken; False where a system has no links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _flush(path: Path) -> None:
    """Have the system write it to the disk now; not every system can for a folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if is_full(error):
            raise
    finally:
        os.close(descriptor)
