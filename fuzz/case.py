"""A case: what is read, made from a seed and a number alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutations import mutation_for, name_of
from fuzz.mutations.places import ALL as PLACES
from fuzz.mutations.places import Entries, Special
from fuzz.seeds import seed_of, writers

HOW_MANY = {1: 60, 2: 25, 3: 10, 6: 5}  # mutations of a case
INSPECTED = 0.05  # of the cases
MOVED = 0.04  # of the cases have something else than a file, or another name
LARGEST = 16_000_000  # bytes of a file
OPTIONS: tuple[dict[str, Any], ...] = (
    {"context": "none"},
    {"learner": "file"},
    {"trial": "none"},
    {"min_trials": 0},
    {"missing": "-1"},
    {"where": "reward == 1"},
    {"reward_range": (-1000, 1000)},
    {"recode": "reward:x=1"},
    {"by": "stimulus"},
    {"reset_by": "choice"},
    {"keep": "rt"},
    {"bin": "stimulus:2"},
    {"reward": "reward + rt", "reward_range": (0, 9)},
    {"features": "stimulus"},
    {"scored": "reward"},
    {"exclude": "accuracy < 0.5"},
)


@dataclass(frozen=True)
class Case:
    """Files, and what is done with them."""

    format: str
    mutations: tuple[str, ...]
    entries: Mapping[str, bytes | Special]
    opened: str
    task: str | None
    options: Mapping[str, Any]
    inspected: bool

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, content in self.entries.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                _special(path, content)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(len(content) for content in self.entries.values() if isinstance(content, bytes))


def _special(path: Path, special: Special) -> None:
    match special.kind:
        case "link":
            path.symlink_to(special.target)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "secret":
            path.write_bytes(b"a,b\n1,2\n")
            path.chmod(0)


def make_case(seed: int, number: int, only: str | None = None) -> Case:
    """The case of a number; formats take turns unless only one is wanted."""
    formats = [*writers()]
    format = only or formats[number % len(formats)]
    rng = Random(f"{seed}/{format}/{number}")
    found = seed_of(format)
    entries: Entries = dict(found.files)
    names: list[str] = []
    [times] = rng.choices([*HOW_MANY], [*HOW_MANY.values()])
    data = [*entries]
    for _ in range(times):
        name = rng.choice(data)
        mutation = mutation_for(found.kinds[name], rng)
        content = entries[name]
        assert isinstance(content, bytes)
        entries[name] = mutation(content, rng)[:LARGEST]
        names.append(name_of(mutation))
    opened = found.opened
    if rng.random() < MOVED:
        move = rng.choice(PLACES)
        entries, opened = move(entries, opened, rng)
        names.append(f"places.{move.__name__}")
    options = {**found.options, **(rng.choice(OPTIONS) if rng.random() < 0.15 else {})}
    inspected = rng.random() < INSPECTED and not opened.endswith(".toml")
    return Case(format, tuple(names), entries, opened, found.task, options, inspected)
