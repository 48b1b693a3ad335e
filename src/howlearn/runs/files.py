"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.errors import HowlearnError
from howlearn.harmless import visible

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FULL_WORDS = ("no space left", "disk quota", "file too large")  # where a library lost the number
TEMPORARY = ".*.tmp"  # what a process that was killed leaves behind


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under another name, then move it into place; it survives a power cut."""
    # Hosts too: processes of several machines may write into one folder.
    owner = f"{socket.gethostname()[:20]}-{os.getpid()}"
    temporary = path.with_name(f".{path.name[:180]}.{owner}.tmp")
    try:
        write(temporary)
        _flush(temporary)
        os.replace(temporary, path)
        _flush(path.parent)
    except (OSError, pl.exceptions.PolarsError) as error:
        if is_full(error):
            raise HowlearnError(
                f"{path} cannot be written: the disk is full, or a limit on files is reached "
                f"({_reason(error)}). What is finished is kept; make room, and the same command "
                "goes on from there"
            ) from None
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_full(error: BaseException) -> bool:
    """Whether there was no room for a file."""
    if getattr(error, "errno", None) in FULL:
        return True
    return any(words in str(error).lower() for words in FULL_WORDS)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write text for people, whole or not at all; names in it do not steer a terminal."""
    write_whole(path, lambda file: file.write_text(visible(text), encoding="utf-8"))


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0]


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
