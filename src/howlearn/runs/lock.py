"""Who works in a folder: one process, or the shards of one run, each once.

The system takes a lock back when its process ends, however it ends; the file says who holds it.
"""

from __future__ import annotations

import getpass
import json
import os
import socket
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from howlearn.errors import HowlearnError
from howlearn.limits import read_json

LOCK = ".lock"
_SHARED, _EXCLUSIVE = "shared", "exclusive"


class Lock:
    """A folder that is held until ``release``; for a shard together with the other shards."""

    def __init__(self, folder: Path, command: str, shard: str | None = None) -> None:
        self.folder = folder
        self._held: list[tuple[Path, int]] = []
        try:
            if shard is None:
                self._hold(folder / LOCK, _EXCLUSIVE, command)
            else:
                self._hold(folder / LOCK, _SHARED, None)
                self._hold(folder / f"{LOCK}-{shard}", _EXCLUSIVE, f"{command}, shard {shard}")
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others in."""
        for path, descriptor in reversed(self._held):
            # Shards share a file: the last one, who may have it alone, takes it away.
            if _lock(descriptor, _EXCLUSIVE):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            os.close(descriptor)
        self._held.clear()

    def _hold(self, path: Path, how: str, command: str | None) -> None:
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            if not _lock(descriptor, how):
                os.close(descriptor)
                raise HowlearnError(
                    f"{self.folder} is in use by {self._holders(path)}; wait until that ends, or "
                    "name another folder with --out"
                )
            if _is_still(path, descriptor):
                break
            os.close(descriptor)  # the holder before took the file away
        self._held.append((path, descriptor))
        if command is not None:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_me(command)).encode())

    def _holders(self, path: Path) -> str:
        """Who has it, in words; for a folder that shards share, these."""
        found = [
            text for each in (path, *sorted(self.folder.glob(f"{LOCK}-*"))) if (text := _told(each))
        ]
        return ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "") or (
            "another process"
        )


def is_lock(path: Path) -> bool:
    """Whether a file of a folder is such a lock."""
    return path.name == LOCK or path.name.startswith(f"{LOCK}-")


def _me(command: str) -> dict[str, Any]:
    with suppress(OSError, KeyError):
        who = getpass.getuser()
        return {**_process(command), "user": who}
    return _process(command)


def _process(command: str) -> dict[str, Any]:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="minutes")
    return {
        "command": command,
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": since,
    }


def _told(path: Path) -> str | None:
    try:
        told = read_json(path)
        of = f" of {told['user']}" if "user" in told else ""
        return (
            f"process {told['process']}{of} on {told['host']} (howlearn {told['command']}, since "
            f"{told['since']})"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except OSError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, how: str) -> bool:
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

    def _lock(descriptor: int, how: str) -> bool:
        flag = fcntl.LOCK_SH if how == _SHARED else fcntl.LOCK_EX
        try:
            fcntl.flock(descriptor, flag | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: parts are whole all the same
            return True
        return True
