"""A run's work in numbered parts, in threads, and parts as files whose names say what they hold.

The name of a file ends in a hash of the run, the rest of the name and the content, so that one
that was cut off, altered, renamed or brought from elsewhere is not taken for what it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.runs.files import clean, write_whole

DIGITS = 16  # of the hash in a name: chance alone will not make two
NAME = re.compile(rf"([0-9]{{6,18}})\.(.+)\.([0-9a-f]{{{DIGITS}}})\.parquet", re.ASCII)
LIKE = re.compile(r"[0-9]{6,}\..+\.parquet", re.ASCII)  # of any version of this package

Tables = Mapping[str, pl.DataFrame]
Encoded = Mapping[str, bytes]  # the content of the files of a part


def encoded(tables: Tables | Encoded) -> dict[str, bytes]:
    """The tables of a part as the content of files, if they are not yet."""
    found = {}
    for name, table in tables.items():
        if isinstance(table, pl.DataFrame):
            buffer = BytesIO()
            table.write_parquet(buffer)
            table = buffer.getvalue()
        found[name] = table
    return found


# What a manifest tells its reader, and no result of the run depends on.
TOLD = ("notes", "kind", "fit", "earlier")


def deciding(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a run this run: its options and data, and what they were computed with.

    >>> deciding({"options": {"within": 2}, "notes": ["results has data files"]})
    {'options': {'within': 2}}
    """
    return {key: value for key, value in manifest.items() if key not in TOLD}


def identity(manifest: Mapping[str, Any]) -> str:
    """What tells the parts of a run from those of others."""
    return hashlib.sha256(json.dumps(deciding(manifest), sort_keys=True).encode()).hexdigest()


class Parts:
    """The finished parts of a run in a folder, by number and table."""

    def __init__(self, path: Path, of: str = "") -> None:
        """``of`` is the identity of the run."""
        self.path, self.of_run = path, of
        self._files: dict[tuple[str, int], Path] = {}
        self._checked: set[Path] = set()

    def look(self, tidy: bool = False) -> None:
        """See which there are; with ``tidy`` one that stands beside the right one is removed."""
        self._files = {}
        for file in sorted(self.path.glob("*.parquet")):
            match = NAME.fullmatch(file.name)
            if match is None:
                continue
            if file.is_dir():
                raise HowlearnError(f"{file} is a folder where a part of results belongs: move it")
            key = (match[2], int(match[1]))
            other = self._files.setdefault(key, file)
            if other != file:  # at most one of them is what its name says
                wrong, right = (file, other) if self.is_right(other) else (other, file)
                self._files[key] = right
                if tidy:
                    wrong.unlink(missing_ok=True)

    def clean(self, alone: bool = True) -> None:
        """Remove what processes left that were killed."""
        clean(self.path, alone=alone)

    def clear(self) -> None:
        """Remove all parts, of any run, and nothing else."""
        if self.path.is_dir():
            for file in self.path.iterdir():
                if LIKE.fullmatch(file.name):
                    file.unlink(missing_ok=True)
        self._files, self._checked = {}, set()

    def has(self, tables: tuple[str, ...], number: int) -> bool:
        """Whether all tables of a part are there, and are what they were."""
        files = [self._files.get((table, number)) for table in tables]
        return all(file is not None and self.is_right(file) for file in files)

    def write(self, number: int, content: Encoded) -> None:
        """Keep the tables of a part, each whole or not at all."""
        for table, text in content.items():
            name = f"{number:06d}.{table}"
            digest = self._begun(name)
            digest.update(text)
            file = self.path / f"{name}.{digest.hexdigest()[:DIGITS]}.parquet"
            known = self._files.get((table, number))
            if known == file and self.is_right(file):  # its part was not finished, but this was
                continue
            # A run cleans its folder when it starts; looking through it each time would take long.
            write_whole(file, lambda path, text=text: path.write_bytes(text), tidy=False)
            self._files[table, number] = file
            self._checked.add(file)
            if known is not None and known != file:
                known.unlink(missing_ok=True)

    def of(self, table: str) -> list[Path]:
        """The files of a table in the order of the parts; none that is damaged."""
        mine = {number: file for (name, number), file in self._files.items() if name == table}
        return [mine[number] for number in sorted(mine) if self.is_right(mine[number])]

    def right(self) -> list[Path]:
        """All files that are what their names say."""
        return [file for file in self._files.values() if self.is_right(file)]

    def damaged(self) -> list[Path]:
        """Files that are not what their names say."""
        return [file for file in self._files.values() if not self.is_right(file)]

    def is_right(self, file: Path) -> bool:
        """Whether a file is what its name says."""
        if file in self._checked:
            return True
        match = NAME.fullmatch(file.name)
        if match is None:
            return False
        digest = self._begun(f"{match[1]}.{match[2]}")
        try:
            if not stat.S_ISREG(file.lstat().st_mode):  # reading a pipe might never end
                return False
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
        except OSError:
            return False
        if digest.hexdigest()[:DIGITS] != match[3]:
            return False
        self._checked.add(file)
        return True

    def _begun(self, name: str) -> Any:
        return hashlib.sha256(f"{self.of_run} {name}\n".encode())


# The work of a run in numbered parts, those who do it, and where the results are kept.

Progress = Callable[[int, int], None]  # learners done, learners in all
Keep = Callable[["Part", Tables | Encoded], None]


@dataclass(frozen=True, eq=False)
class Work:
    """What to do for a part: what all parts have in common, and what is this part's own.

    On other machines what is common is there once; all of it can be pickled.
    """

    run: Callable[[Any, Any, int | None, Progress], Tables]  # common, own, threads, progress
    common: Any
    own: Any

    def __call__(self, threads: int | None, progress: Progress) -> Tables:
        return self.run(self.common, self.own, threads, progress)


@dataclass(frozen=True)
class Part:
    """Some of a run's learners: always the same ones under the same number."""

    number: int
    tables: tuple[str, ...]  # that it makes
    size: int  # learners, or whatever progress counts
    work: Callable[[], Work]  # is called where the part is missing: it may have to read trials


class Engine(Protocol):
    """Does parts, in any order."""

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        """Do every part and hand its tables over; progress counts the sizes of these parts."""
        ...


@dataclass(frozen=True)
class Threads:
    """This process, part after part, each on several cores."""

    count: int | None = None  # None: all cores

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        before = 0
        for part in parts:

            def so_far(done: float, _: int, before: int = before) -> None:
                progress(before + int(done), 0)

            keep(part, part.work()(self.count, so_far))
            before += part.size
            progress(before, 0)


class Store(Protocol):
    """Where finished parts are kept."""

    def complete(self, parts: Sequence[Part], progress: Progress | None = None) -> None:
        """Have every part that is not there yet done."""
        ...

    def read(self, table: str) -> pl.LazyFrame:
        """A table over all parts."""
        ...


def complete(
    parts: Sequence[Part],
    has: Callable[[Part], bool],
    engine: Engine,
    keep: Keep,
    progress: Progress | None,
) -> None:
    """Have the parts done that are not there."""
    missing = [part for part in parts if not has(part)]
    total = sum(part.size for part in parts)
    before = total - sum(part.size for part in missing)

    def report(done: int, _: int) -> None:
        if progress:
            progress(before + done, total)

    report(0, 0)
    engine.do(iter(missing), keep, report)
    report(total - before, 0)


class Memory:
    """Parts that nobody keeps after the run."""

    def __init__(self, engine: Engine | None = None) -> None:
        self.engine = engine or Threads()
        self.tables: dict[str, dict[int, pl.DataFrame]] = {}

    def complete(self, parts: Sequence[Part], progress: Progress | None = None) -> None:
        complete(parts, self._has, self.engine, self._keep, progress)

    def read(self, table: str) -> pl.LazyFrame:
        parts = self.tables[table]
        return pl.concat([parts[number] for number in sorted(parts)]).lazy()

    def _has(self, part: Part) -> bool:
        return all(part.number in self.tables.get(table, {}) for table in part.tables)

    def _keep(self, part: Part, tables: Tables | Encoded) -> None:
        for name, found in tables.items():
            frame = found if isinstance(found, pl.DataFrame) else pl.read_parquet(found)
            self.tables.setdefault(name, {})[part.number] = frame


# Work in threads.


Item = TypeVar("Item")
Done = TypeVar("Done")


def threads_of(given: int | None) -> int:
    """As many as were asked for; otherwise one per core."""
    return given or os.cpu_count() or 1


def in_threads(
    work: Callable[[Item], Done], items: Iterable[Item], threads: int | None = None
) -> list[Done]:
    """What the work makes of every item, in the order of the items.

    >>> in_threads(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    items = list(items)
    workers = min(threads_of(threads), len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # do not finish what nobody awaits
            raise
