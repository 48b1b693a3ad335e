"""What every analysis gives: tables, charts, sentences, and a folder to write them into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, get_args

import polars as pl

from howlearn.core import columns
from howlearn.core.columns import write_csv
from howlearn.core.registry import Registry
from howlearn.core.text import Listing, Sentence
from howlearn.results.manifest import made_by
from howlearn.runs.files import write_text, write_whole
from howlearn.runs.folder import START, Format, RunFolder, Start, check_format

MOST_ROWS = 9  # of a printed table: a summary fits one screen, and the files have all
SUMMARY = "summary.txt"  # of what had no room on the screen
DRAWN = ("svg", "png")  # the files of a chart


class Tables(Mapping[str, pl.DataFrame]):
    """Tables by their names, each made or read when it is first asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], pl.DataFrame]) -> None:
        self._names, self._make = dict.fromkeys(names), make
        self._made: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"Tables: {', '.join(self._names)}"


class Analysis:
    """What a command found: its tables are those that ``core/tables.toml`` declares for it."""

    registry: ClassVar[Registry[type[Analysis]]] = Registry("analysis", "analyses", key="command")
    command: ClassVar[str]
    ATTRIBUTES: ClassVar[Mapping[str, str]] = {}  # of tables that are called otherwise in a folder
    CHARTS: ClassVar[tuple[str, ...]] = ()  # names of files
    FILES: ClassVar[tuple[str, ...]] = ()  # others, such as those of words

    @cached_property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """What was found, by the names that the tables have in a folder."""
        names = columns.tables(self.command)
        return Tables(names, lambda name: getattr(self, self.ATTRIBUTES.get(name, name)))

    @property
    def manifest(self) -> dict[str, Any]:
        """What is told of the run in a folder, where nobody knows more."""
        return made_by(self.command)

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """By name, the table that a chart shows; ``howlearn.report`` draws them."""
        return {}

    def summary(self) -> Iterator[Listing | Sentence]:
        """What a command prints: small tables and sentences, in their order."""
        yield from ()

    @property
    def sentences(self) -> list[Sentence]:
        """The answers in words."""
        return [part for part in self.summary() if isinstance(part, Sentence)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know besides."""
        return getattr(self, "remarks", ())

    def where(self, folder: Path) -> list[str]:
        """Where the files are, in a line."""
        return [f"Tables: {folder}/"]

    def texts(self) -> Mapping[str, str]:
        """The content of the files of words."""
        return {}

    @classmethod
    def outputs(cls) -> set[str]:
        """All files that may be in a folder, besides the manifest and the parts."""
        return {
            *columns.files(cls.command, *get_args(Format)),
            *(f"{chart}.{ending}" for chart in cls.CHARTS for ending in DRAWN),
            *cls.FILES,
            SUMMARY,
        }

    def write(
        self,
        folder: Path | str,
        format: Format = "csv",
        manifest: Mapping[str, Any] | None = None,
        start: Start = START,
    ) -> None:
        """Leave everything in a folder, each file whole or not at all.

        A folder that holds anything else is left alone.
        """
        check_format(format)
        with RunFolder(Path(folder), manifest or self.manifest, self.outputs(), start) as run:
            self.write_files(run.path, format)
            run.parts.path.rmdir()  # there are none

    def write_files(self, folder: Path, format: Format = "csv") -> None:
        """The tables and, last, the words: where they are, everything is."""
        write_tables(folder, self.tables, format)
        for name, text in self.texts().items():
            write_text(folder / name, text)


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame], format: Format = "csv") -> None:
    """Each table whole or not at all."""
    for name, frame in tables.items():
        as_csv = partial(write_csv, frame)
        as_parquet = frame.lazy().sink_parquet
        write_whole(folder / f"{name}.{format}", as_csv if format == "csv" else as_parquet)
