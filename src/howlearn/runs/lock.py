"""Who works in a folder: one process, or the shards of one run, each once.

The system takes a lock back when its process ends, however it ends; the file says who holds it.
"""

from __future__ import annotations

import errno
import getpass
import json
import logging
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import few
from howlearn.runs.files import NoRoom, is_full, no_room, read_record

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
    """Whether a file of a folder is such a lock."""
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
        if how == _SHARED:  # there is none; every shard has a file of its own
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
