"""Shards that were done apart, brought together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howlearn.core.errors import HowlearnError
from howlearn.core.text import few
from howlearn.runs.differences import differences
from howlearn.runs.files import TEMPORARY, read_record, write_whole
from howlearn.runs.lock import Lock, is_lock
from howlearn.runs.parts import Parts, identity
from howlearn.runs.work import Keep, Part, Progress

MANIFEST, PARTS = "manifest.json", "parts"
SHARDS = "shards.json"  # in a folder that shards work in: their command, and how many they are
COMMANDS = ("select", "calibrate", "discover", "reproduce", "recover", "plan", "verify")


@dataclass(frozen=True)
class Nobody:
    """An engine for runs that are finished: a part that is missing is an error."""

    folder: Path

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        missing = sorted({part.number for part in parts})
        if not missing:
            return
        count = _read(self.folder).get("count")
        where = ""
        if isinstance(count, int) and count > 0:
            shards = sorted({number % count + 1 for number in missing})
            names = few([f"{shard}/{count}" for shard in shards], 10, " and {left} more")
            one = len(shards) == 1
            where = f": shard{'s' * (not one)} {names} ha{'s' if one else 've'} not ended"
        several = len(missing) > 1
        what = f"{len(missing):,} part{'s' * several} of {self.folder} {'are' if several else 'is'}"
        raise HowlearnError(
            f"{what} missing or damaged{where}; start what is missing again, or "
            "the command without --shard, which does it all"
        )


def command_of(folder: Path) -> list[str]:
    """The words of the command that the shards were started with."""
    words = _read(folder).get("command")
    if not (isinstance(words, list) and words and all(isinstance(w, str) for w in words)):
        raise HowlearnError(
            f"{folder} was not made with --shard (there is no {SHARDS}, or it is damaged)"
        )
    if words[0] not in COMMANDS:
        raise HowlearnError(f"{folder}/{SHARDS} names no command that has shards: {words[0]}")
    return words


def _read(folder: Path) -> dict[str, Any]:
    return read_record(folder / SHARDS) or {}


def collect(folders: Sequence[Path], out: Path) -> None:
    """Copy the parts of several folders of one run into another."""
    first = _manifest(folders[0])
    for folder in folders[1:]:
        sides = (f"in {folders[0]}", f"in {folder}")
        lines = differences(first, _manifest(folder), sides=sides)
        if lines:
            listed = "\n".join(f"  {line}" for line in lines)
            raise HowlearnError(f"{folders[0]} and {folder} are of different runs:\n{listed}")

    def check() -> None:
        if not all(map(is_nothing, out.iterdir())) and first != _manifest(out):
            raise HowlearnError(f"{out} holds something else; name another folder with --out")

    if out.exists() and not out.is_dir():
        raise HowlearnError(f"{out} is a file; --out needs the name of a folder")
    if out.exists():  # what is somebody else's is left without a trace
        check()
    out.mkdir(parents=True, exist_ok=True)
    lock = Lock(out, "merge")
    try:
        check()
        (out / PARTS).mkdir(exist_ok=True)
        for name in (MANIFEST, SHARDS):
            _copy(folders[0] / name, out / name)
        there = Parts(out / PARTS, identity(first))
        there.look()
        for folder in folders:
            parts = Parts(folder / PARTS, there.of_run)
            parts.look()
            for file in parts.right():
                if not there.is_right(out / PARTS / file.name):
                    _copy(file, out / PARTS / file.name)
    finally:
        lock.release()


def is_nothing(path: Path) -> bool:
    """Whether a file means nothing to a run that begins: locks, and leftovers of one that died."""
    if path.name == PARTS and path.is_dir():  # made before the manifest
        return not any(path.iterdir())
    return is_lock(path) or (path.match(TEMPORARY) and path.name.startswith(f".{MANIFEST}."))


def _manifest(folder: Path) -> dict[str, Any]:
    found = read_record(folder / MANIFEST)
    if found is None:
        raise HowlearnError(
            f"{folder} holds no results of howlearn (its {MANIFEST} is missing or damaged)"
        )
    return found


def _copy(file: Path, to: Path) -> None:
    if file.is_file() and not file.is_symlink():
        write_whole(to, lambda path: shutil.copyfile(file, path))
