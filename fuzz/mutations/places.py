"""Mutations of where and what files are: other names, links, folders, pipes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from random import Random
from typing import Literal

Kind = Literal["link", "folder", "pipe", "secret"]
SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".parquet", ".xlsx", ".xls", ".xlsb"),
    *(".ods", ".mat", ".rds", ".RData", ".gz", ".csv.gz", ".toml", ".zip", "", ".sav", ".docx"),
)


@dataclass(frozen=True)
class Special:
    """What stands where a file is expected."""

    kind: Kind
    target: str = ""  # of a link


Entries = dict[str, bytes | Special]


def renamed(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """Another suffix, or a name that is hard to bear."""
    name = rng.choice([*entries])
    stem = name[: len(name) - len("".join(PurePosixPath(name).suffixes))]
    new = stem + rng.choice(SUFFIXES)
    if rng.random() < 0.3:
        odd = ["a#b.csv", "*.csv", "[a].csv", "a b.csv", "\u202e.csv", "a\nb.csv", "a.csv "]
        odd += ["sub-_events.tsv", "sub-01_events.tsv", "~$a.xlsx", ".csv", "participant=é"]
        odd += ["x" * 200 + ".csv"]
        new = str(PurePosixPath(name).parent / rng.choice(odd))
    if any(other == new or other.startswith(f"{new}/") for other in entries):
        return entries, opened
    moved = {new if n == name else n: content for n, content in entries.items()}
    return moved, new if opened == name else opened


def replaced(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """A link in a circle or to nowhere, a folder, a pipe or a device in the place of a file."""
    name = rng.choice([*entries])
    itself = PurePosixPath(name).name
    targets = [itself, "..", ".", "none", "/dev/null", "/dev/zero", "/dev/full", "/"]
    other = rng.choice([Special("link", target) for target in targets])
    new = rng.choice([other, other, Special("folder"), Special("pipe"), Special("secret")])
    return {**entries, name: new}, opened


def beside(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """A further file of another format, and the folder is read."""
    from fuzz.seeds import seed_of, writers

    seed = seed_of(rng.choice([*writers()]))
    folder = opened.rpartition("/")[0]
    more = {f"{folder}/{n}".lstrip("/"): c for n, c in seed.files.items()}
    there = {n: c for n, c in more.items() if not _in_the_way(n, entries)}
    return {**there, **entries}, rng.choice([folder, opened])


def _in_the_way(name: str, entries: Entries) -> bool:
    return any(n == name or n.startswith(f"{name}/") or name.startswith(f"{n}/") for n in entries)


def circle(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """A folder that is linked to one above it."""
    folder = opened.rpartition("/")[0] or opened
    name = rng.choice(["again", "sub-03", "participant=9"])
    inside = name if folder in entries else f"{folder}/{name}".lstrip("/")
    link = Special("link", rng.choice([".", ".."]))
    return {**entries, inside: link}, rng.choice([opened, folder if folder not in entries else ""])


def lost(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """One of the files is missing."""
    name = rng.choice([*entries])
    return {n: c for n, c in entries.items() if n != name}, opened


def inner_named(entries: Entries, opened: str, rng: Random) -> tuple[Entries, str]:
    """A sheet or a variable is named."""
    return entries, opened + rng.choice(["#A", "#d", "#", "#x#y", "#../x", "#d#", "/", "/x", "#\n"])


ALL = (renamed, renamed, replaced, beside, circle, lost, inner_named)
