"""Files that are there whole or not at all, and who works in a folder."""

from __future__ import annotations

import errno
import getpass
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.text import few, visible

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
            if entry.is_symlink() or getattr(entry, "is_junction", bool)():  # since Python 3.12
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


# Who works in a folder: one process, or the shards of one run, each once.
#
# The system takes a lock back when its process ends, however it ends; the file says who holds it.


LOCK = ".lock"
PATIENCE = 1.0  # seconds: others hold a lock for an instant when they end, or look who holds it
_SHARED, _EXCLUSIVE = "shared", "exclusive"

log = logging.getLogger("howlearn")


class Lock:
    """A folder that is held until ``release``; for a shard together with the other shards."""

    def __init__(self, folder: Path, command: str, shard: str | None = None) -> None:
        self.folder = folder
        self.is_sure = True  # not where a file system has no locks
        self._held: list[tuple[Path, int]] = []
        try:
            if shard is None:
                self._hold(folder / LOCK, _EXCLUSIVE, command)
                self._forget_shards()
            else:
                self._hold(folder / LOCK, _SHARED, None)
                self._hold(folder / f"{LOCK}-{shard}", _EXCLUSIVE, f"{command}, shard {shard}")
        except BaseException:
            self.release()
            raise
        if not self.is_sure:
            log.warning(
                "%s is on a file system without locks: make sure that nothing else uses it", folder
            )

    def release(self) -> None:
        """Let others in."""
        for path, descriptor in reversed(self._held):
            # Shards share a file: the last one, who may have it alone, takes it away.
            if _lock(descriptor, _EXCLUSIVE) is not False and _is_still(path, descriptor):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            os.close(descriptor)
        self._held.clear()

    def _hold(self, path: Path, how: str, command: str | None) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            descriptor = self._open(path)
            got = _lock(descriptor, how)
            if got is not False and _is_still(path, descriptor):
                break
            os.close(descriptor)  # taken, or the holder before took the file away
            if got is False and time.monotonic() > until:
                raise HowlearnError(
                    f"{self.folder} is in use by {self._holders(path)}; wait until that ends, or "
                    "name another folder with --out"
                )
            time.sleep(0.02)
        self._held.append((path, descriptor))
        self.is_sure &= got is True
        with suppress(OSError):  # it is held, even if there is no room to say by whom
            os.ftruncate(descriptor, 0)  # what is there was said by one who died
            if command is not None:
                os.write(descriptor, json.dumps(_me(command)).encode())

    def _open(self, path: Path) -> int:
        try:
            # A link in its place would have another file overwritten.
            found = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            if os.fstat(found).st_nlink > 1:  # a file of another folder, too
                os.close(found)
                raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
            return found
        except OSError as error:
            if is_full(error):
                raise NoRoom(no_room(error, path)) from None
            raise HowlearnError(
                f"{self.folder} cannot be used ({path.name}: {error.strerror}); name another "
                "folder with --out"
            ) from None

    def _forget_shards(self) -> None:
        """Remove the files of shards that were killed: whoever is alone knows that none runs."""
        if self.is_sure:
            for left_behind in self.folder.glob(f"{LOCK}-*"):
                with suppress(OSError):
                    left_behind.unlink()

    def _holders(self, path: Path) -> str:
        """Who has it, in words; for a folder that shards share, these."""
        files = (path, *sorted({*self.folder.glob(f"{LOCK}-*")} - {path}))
        found = [text for each in files if _is_held(each) and (text := _told(each))]
        return few(found, 3, " and {left} more") or "another process"


def is_lock(path: Path) -> bool:
    """Whether a file of a folder is one of these locks."""
    return path.name == LOCK or path.name.startswith(f"{LOCK}-")


def _me(command: str) -> dict[str, Any]:
    """This process, in words that another one may read."""
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="minutes")
    mine = {"command": command, "process": os.getpid(), "host": socket.gethostname()}
    with suppress(OSError, KeyError):
        mine["user"] = getpass.getuser()
    return {**mine, "since": since}


def _told(path: Path) -> str | None:
    told = read_record(path) or {}
    if not {"process", "host", "command", "since"} <= {*told}:
        return None
    of = f" of {told['user']}" if "user" in told else ""
    text = (
        f"process {told['process']}{of} on {told['host']} (howlearn {told['command']}, since "
        f"{told['since']})"
    )
    return "".join(filter(str.isprintable, text))[:300]


def _is_held(path: Path) -> bool:
    """Whether its holder lives: the system has taken the lock of any other."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return _lock(descriptor, _SHARED) is not True or sys.platform == "win32"
    finally:
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, how: str) -> bool | None:
        if how == _SHARED:  # there is none; every shard has its own file
            return True
        os.lseek(descriptor, 2**30, os.SEEK_SET)  # what is locked cannot be read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(descriptor: int, how: str) -> bool | None:
        """Whether it was free; None where there are no locks."""
        flag = fcntl.LOCK_SH if how == _SHARED else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, flag | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: parts are whole all the same
            return None
        return True
