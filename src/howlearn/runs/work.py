"""The work of a run in numbered parts, those who do it, and where the results are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from howlearn.runs.parts import Encoded, Tables, encoded

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

            def within(done: float, _: int, before: int = before) -> None:
                progress(before + int(done), 0)

            keep(part, part.work()(self.count, within))
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


def as_content(tables: Tables | Encoded) -> Encoded:
    """The tables of a part as the content of files, if they are not yet."""
    frames = {name: found for name, found in tables.items() if isinstance(found, pl.DataFrame)}
    ready = {name: found for name, found in tables.items() if isinstance(found, bytes)}
    return {**ready, **encoded(frames)}
