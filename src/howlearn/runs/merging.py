"""Shards that were done apart, brought together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from howlearn.errors import HowlearnError
from howlearn.limits import read_json
from howlearn.runs.differences import differences
from howlearn.runs.files import write_whole
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
            names = ", ".join(f"{shard}/{count}" for shard in shards[:10])
            more = f" and {len(shards) - 10} more" if len(shards) > 10 else ""
            one = len(shards) == 1
            where = f": shard{'s' * (not one)} {names}{more} ha{'s' if one else 've'} not ended"
        what = f"{len(missing):,} part{'s' * (len(missing) > 1)}"
        raise HowlearnError(
            f"{what} of {self.folder} missing or damaged{where}; start what is missing again, or "
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


def _read(folder: Path) -> dict[str, object]:
    try:
        found = read_json(folder / SHARDS)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def collect(folders: Sequence[Path], out: Path) -> None:
    """Copy the parts of several folders of one run into another."""
    first = _manifest(folders[0])
    for folder in folders[1:]:
        lines = differences(first, _manifest(folder))
        if lines:
            listed = "\n".join(f"  {line}" for line in lines)
            raise HowlearnError(
                f"{folders[0]} and {folder} are of different runs:\n{listed}".replace(
                    " there, ", f" in {folders[0]}, "
                ).replace(" now", f" in {folder}")
            )
    if out.exists() and any(out.iterdir()) and differences(first, _manifest(out)):
        raise HowlearnError(f"{out} holds something else; name another folder with --out")
    (out / PARTS).mkdir(parents=True, exist_ok=True)
    for name in (MANIFEST, SHARDS):
        _copy(folders[0] / name, out / name)
    for folder in folders:
        for file in sorted((folder / PARTS).glob("[0-9]*")):
            if folder.resolve() != out.resolve():
                _copy(file, out / PARTS / file.name)


def _manifest(folder: Path) -> object:
    try:
        return read_json(folder / MANIFEST)
    except (OSError, ValueError):
        raise HowlearnError(
            f"{folder} holds no results of howlearn (its {MANIFEST} is missing or damaged)"
        ) from None


def _copy(file: Path, to: Path) -> None:
    if file.is_file() and not file.is_symlink():
        write_whole(to, lambda path: shutil.copyfile(file, path))
