"""Shares of a run's parts, for clusters that only know array jobs, done apart and merged."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howlearn.core.errors import EndedEarly, HowlearnError
from howlearn.core.text import few, shortened
from howlearn.runs import files
from howlearn.runs.parts import Keep, Part, Parts, Progress, deciding, identity

MERGE = "merge"  # in the place of a shard: all of them are there


@dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``count`` shares.

    >>> 6 in Shard(1, 3), 6 in Shard(2, 3), 7 in Shard.named("2/3")
    (True, False, True)
    """

    number: int
    count: int

    def __contains__(self, part: int) -> bool:
        return part % self.count == self.number - 1

    @property
    def name(self) -> str:
        return f"{self.number}-of-{self.count}"

    @classmethod
    def named(cls, text: str) -> Shard:
        """As ``--shard`` is given."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        number, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= count:
            raise HowlearnError(
                f"--shard {text}: a shard is i/N with i from 1 to N, such as 3/10 for the third of "
                "ten (array jobs that count from 0: --shard $((SLURM_ARRAY_TASK_ID + 1))/10)"
            )
        return cls(number, count)


class ShardEnded(EndedEarly):
    """A shard is finished, and with it this command: its folder is for ``howlearn merge``."""

    def __init__(self, folder: Path, shard: Shard, mine: int, parts: int) -> None:
        super().__init__(folder, shard, mine, parts)
        self.folder, self.shard, self.mine, self.parts = folder, shard, mine, parts

    def __str__(self) -> str:
        return (
            f"shard {self.shard.number} of {self.shard.count} is finished: {self.mine:,} of the "
            f"run's {self.parts:,} parts. When all shards are finished, make the tables with: "
            f"howlearn "
            f"merge {self.folder}"
        )


# How two manifests differ, in words.

OPTIONS = "options."
LONGEST = 100  # characters of a value that a message shows


def differences(found: Any, wanted: Any, sides: tuple[str, str] = ("there", "now")) -> list[str]:
    """One line for everything that two manifests say differently.

    Columns that follow from an option that differs are not told again.
    """
    lines = _differences(found, wanted, "", sides)
    places = [line.partition(":")[0] for line in lines]
    follow = {f"columns.{place.removeprefix(OPTIONS)}" for place in places if OPTIONS in place}
    told = zip(places, lines, strict=True)
    return [line.removeprefix(OPTIONS) for place, line in told if place not in follow]


def _differences(found: Any, wanted: Any, place: str, sides: tuple[str, str]) -> list[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        lines = []
        for key in [*wanted, *(k for k in found if k not in wanted)]:
            deeper = f"{place}.{key}" if place else str(key)
            lines += _differences(found.get(key), wanted.get(key), deeper, sides)
        return lines
    if found == wanted:
        return []
    if _named(found) and _named(wanted):  # such as models: what differs is said of each
        there, here = ({each["name"]: each for each in side} for side in (found, wanted))
        if list(there) == list(here):
            return _differences(there, here, place, sides)
    return [f"{place}: {_short(found)} {sides[0]}, {_short(wanted)} {sides[1]}"]


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(e, dict) and "name" in e for e in value)


def _short(value: Any) -> str:
    """A value as one would type it."""
    if value is None or value in ([], {}, ""):
        return "nothing"
    if isinstance(value, list) and not any(isinstance(each, (dict, list)) for each in value):
        value = ",".join(map(str, value))
    if isinstance(value, str):
        return shortened(value, LONGEST, kept=LONGEST)
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # of a damaged manifest
        text = "something nested without end"
    return shortened(text, LONGEST, kept=LONGEST)


# Shards that were done apart, brought together.

MANIFEST = "manifest.json"
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
            f"{what} missing or damaged{where}; run the missing shards again, or the command "
            f"without --shard, which does everything"
        )


def command_of(folder: Path) -> list[str]:
    """The words of the command that the shards were started with."""
    files.refuse_links(folder)
    words = _read(folder).get("command")
    if not (isinstance(words, list) and words and all(isinstance(w, str) for w in words)):
        raise HowlearnError(
            f"{folder} was not made with --shard (there is no {SHARDS}, or it is damaged)"
        )
    if words[0] not in COMMANDS:
        raise HowlearnError(f"{folder}/{SHARDS} names no command that has shards: {words[0]}")
    return words


def _read(folder: Path) -> dict[str, Any]:
    return files.read_record(folder / SHARDS) or {}


def collect(folders: Sequence[Path], out: Path) -> None:
    """Copy the parts of several folders of one run into another."""
    for folder in (*folders, out):
        files.refuse_links(folder)
    first = deciding(_manifest(folders[0]))
    for folder in folders[1:]:
        sides = (f"in {folders[0]}", f"in {folder}")
        lines = differences(first, deciding(_manifest(folder)), sides=sides)
        if lines:
            listed = "\n".join(f"  {line}" for line in lines)
            raise HowlearnError(f"{folders[0]} and {folder} are of different runs:\n{listed}")

    def check() -> None:
        if not all(map(is_nothing, out.iterdir())) and first != deciding(_manifest(out)):
            raise HowlearnError(f"{out} holds something else; name another folder with --out")

    if out.exists() and not out.is_dir():
        raise HowlearnError(f"{out} is a file; --out needs the name of a folder")
    if out.exists():  # what is somebody else's is left without a trace
        check()
    out.mkdir(parents=True, exist_ok=True)
    lock = files.Lock(out, "merge")
    try:
        check()
        (out / files.PARTS).mkdir(exist_ok=True)
        for name in (MANIFEST, SHARDS):
            _copy(folders[0] / name, out / name)
        there = Parts(out / files.PARTS, identity(first))
        there.look()
        for folder in folders:
            parts = Parts(folder / files.PARTS, there.of_run)
            parts.look()
            for file in parts.right():
                if not there.is_right(out / files.PARTS / file.name):
                    _copy(file, out / files.PARTS / file.name)
    finally:
        lock.release()


def is_nothing(path: Path) -> bool:
    """Whether a file means nothing to a run that begins: locks, and leftovers of one that died."""
    if path.name == files.PARTS and path.is_dir():  # made before the manifest
        return not any(path.iterdir())
    return files.is_lock(path) or (
        path.match(files.TEMPORARY) and path.name.startswith(f".{MANIFEST}.")
    )


def _manifest(folder: Path) -> dict[str, Any]:
    found = files.read_record(folder / MANIFEST)
    if found is None:
        raise HowlearnError(
            f"{folder} holds no results of howlearn (its {MANIFEST} is missing or damaged)"
        )
    return found


def _copy(file: Path, to: Path) -> None:
    if file.is_file() and not file.is_symlink():
        files.write_whole(to, lambda path: shutil.copyfile(file, path))
