"""What is mutated: small valid files of every format that the readers take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

HOMES = (
    "text_seeds",
    "json_seeds",
    "packed_seeds",
    "binary_workbooks",
    "folder_seeds",
    "statistics_seeds",
)


@dataclass(frozen=True)
class Seed:
    """The files of a small study, and which of them is read."""

    kinds: Mapping[str, str]  # file → the kind of mutations that know its structure
    files: Mapping[str, bytes]
    opened: str  # what is handed to read; "" is the folder
    task: str | None = None  # a task's file among them
    options: Mapping[str, str] = field(default_factory=dict)


Writer = Callable[[], Seed]


def one(name: str, kind: str, content: bytes, **options: str) -> Seed:
    """A study of one file."""
    return Seed({name: kind}, {name: content}, name, options=options)


@cache
def writers() -> dict[str, Writer]:
    """What writes the seed of each format."""
    found: dict[str, Writer] = {}
    for home in HOMES:
        found |= import_module(f"fuzz.{home}").SEEDS
    return found


@cache
def seed_of(format: str) -> Seed:
    """The seed of a format; its bytes are the same in every run."""
    return writers()[format]()
