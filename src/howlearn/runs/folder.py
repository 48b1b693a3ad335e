"""A run is a folder: a manifest, parts written whole or not at all, tables assembled from them."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from howlearn.core.columns import read_csv, write_csv
from howlearn.core.errors import HowlearnError
from howlearn.runs import files
from howlearn.runs.parts import (
    Encoded,
    Engine,
    Part,
    Parts,
    Progress,
    Tables,
    Threads,
    complete,
    deciding,
    encoded,
    identity,
)
from howlearn.runs.shards import MANIFEST, SHARDS, Shard, ShardEnded, differences, is_nothing

log = logging.getLogger("howlearn")

Format = Literal["csv", "parquet"]
BIDS_DESCRIPTION = "dataset_description.json"
# Columns of text, though names may look like numbers.
NAMES = ("learner", "cell", "model", "runner_up", "true_model", "selected_model", "parameter")


def check_format(format: str) -> None:
    """Tables are written in one of the known ways."""
    if format not in get_args(Format):
        raise HowlearnError(f"format must be one of {', '.join(get_args(Format))}, got {format!r}")


@dataclass(frozen=True)
class Start:
    """How a run is started; nothing of it changes a result."""

    fresh: bool = False  # what an earlier run left is replaced
    threads: int | None = None  # None: all cores
    engine: Engine = field(default_factory=Threads)
    shard: Shard | None = None
    command: Sequence[str] = ()  # its words, for those who merge shards


START = Start()


class RunFolder:
    """The folder of one run; started again with the same manifest, it keeps the finished parts.

    Nobody else works in it until ``close``. With a shard only that share of the parts is done,
    and the run ends then; others may do other shards in the same folder.
    """

    def __init__(
        self,
        path: Path,
        manifest: Mapping[str, Any],
        outputs: Collection[str],
        start: Start = START,
    ) -> None:
        self.path = path
        self.outputs = outputs  # the files that a run leaves, besides its parts and manifest
        self.engine, self.shard = start.engine, start.shard
        wanted = json.loads(json.dumps(manifest))
        self.parts = Parts(path / files.PARTS, identity(wanted))
        if path.exists() and not path.is_dir():
            raise HowlearnError(f"{path} is a file; --out needs the name of a folder")
        if start.shard is not None and start.fresh:
            raise HowlearnError(
                f"--fresh would remove the work of other shards: remove {path} yourself "
                "before the shards are started"
            )
        self._earlier(wanted)  # a folder of anything else is left alone, without a trace
        path.mkdir(parents=True, exist_ok=True)
        self._lock = files.Lock(path, str(wanted.get("command")), start.shard and start.shard.name)
        try:
            self._take_over(wanted, start.fresh)
            self.parts.path.mkdir(exist_ok=True)
            if start.shard is None:
                self._clean(self._lock.is_sure)
            self._write_manifest(manifest, wanted, start)
            if start.shard is not None:
                about = {"command": [*start.command], "count": start.shard.count}
                files.write_json(path / SHARDS, about)
            self.parts.look(tidy=True)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others work in the folder."""
        self._lock.release()

    def _earlier(self, manifest: dict[str, Any]) -> dict[str, Any] | None:
        """The manifest that is there, of the same command; None in an empty folder."""
        files.refuse_links(self.path)
        if not self.path.exists() or all(map(is_nothing, self.path.iterdir())):
            return None
        found = files.read_record(self.path / MANIFEST)
        if found is None or "howlearn" not in found:
            raise HowlearnError(
                f"{self.path} holds files that are not results of howlearn ({MANIFEST} is missing, "
                "damaged, or of something else); name another folder with --out, or remove this "
                "one yourself"
            )
        by = found.get("command")
        if by not in (None, manifest.get("command")):
            raise HowlearnError(
                f"{self.path} holds the results of howlearn {by}; name another folder with --out"
            )
        return found

    def _take_over(self, manifest: dict[str, Any], fresh: bool) -> None:
        """Go on with an earlier run, or replace it."""
        found = self._earlier(manifest)
        if found is None:
            return
        if fresh:
            self._clear()
        elif deciding(found) != deciding(manifest):
            other = differences(deciding(found), deciding(manifest))
            lines = "\n".join(f"  {line}" for line in other)
            raise HowlearnError(
                f"{self.path} holds the results of another run:\n{lines}\n"
                "name another folder with --out, or replace those results with --fresh"
            )

    def _clean(self, alone: bool) -> None:
        """Remove half files of processes that were killed."""
        self.parts.clean(alone)
        files.clean(self.path, {*self.outputs, MANIFEST, SHARDS}, alone)
        if files.BIDS in self.outputs:
            for inner in [self.path / files.BIDS, *(self.path / files.BIDS).rglob("*/")]:
                files.clean(inner, alone=alone)

    def _write_manifest(
        self, manifest: Mapping[str, Any], wanted: dict[str, Any], start: Start
    ) -> None:
        """Shards may begin at the same instant: of two with other options one gives way."""
        if start.shard is None:
            files.write_json(self.path / MANIFEST, manifest)
        else:
            files.write_json(self.path / MANIFEST, manifest, new=True)
            self._take_over(wanted, False)

    def _clear(self) -> None:
        """Remove an earlier run's results, and nothing else; the manifest is replaced last."""
        self.parts.clear()
        for file in self.path.iterdir():
            if file.name == files.BIDS and files.BIDS in self.outputs and file.is_dir():
                _clear_events(file)
            elif file.name in self.outputs or file.name == SHARDS:
                file.unlink()

    def complete(self, parts: Sequence[Part], progress: Progress | None = None) -> None:
        """Have every part done that is not there; those that were altered are done again."""
        mine = [part for part in parts if self.shard is None or part.number in self.shard]
        for file in self.parts.damaged():
            log.info(f"{file} has changed or is incomplete, and is computed again")
        there = sum(map(self._has, mine))
        if there:
            log.info(f"{there:,} of {len(mine):,} parts were kept from an earlier run")
        complete(mine, self._has, self.engine, self._keep, progress)
        if self.shard is not None:
            raise ShardEnded(self.path, self.shard, len(mine), len(parts))

    def _has(self, part: Part) -> bool:
        return self.parts.has(part.tables, part.number)

    def _keep(self, part: Part, tables: Tables | Encoded) -> None:
        self.parts.write(part.number, encoded(tables))

    def known(self, name: str) -> pl.DataFrame | None:
        """What was found out once for all parts, if it was."""
        return pl.read_parquet(self.parts.of(name)) if self.parts.has((name,), 0) else None

    def remember(self, name: str, found: pl.DataFrame | None) -> None:
        """Keep what was found out once for all parts."""
        if found is not None:
            self.parts.write(0, encoded({name: found}))

    def read(self, table: str) -> pl.LazyFrame:
        """A table over all parts."""
        return pl.scan_parquet(self.parts.of(table), glob=False)

    def assemble(self, table: str, format: Format, frame: pl.LazyFrame | None = None) -> Path:
        """Write a table from its parts."""
        frame = self.read(table) if frame is None else frame
        path = self.path / f"{table}.{format}"
        as_csv = partial(write_csv, frame)
        files.write_whole(path, as_csv if format == "csv" else frame.sink_parquet)
        return path


def there(folder: Path, table: str) -> bool:
    """Whether a table is in a folder."""
    return any(_is_file(folder / f"{table}.{ending}") for ending in get_args(Format))


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def read_table(folder: Path, table: str) -> pl.DataFrame:
    """A table of a finished run."""
    if _is_file(folder / f"{table}.csv"):
        return read_csv(folder / f"{table}.csv", NAMES)
    if _is_file(folder / f"{table}.parquet"):
        return pl.read_parquet(folder / f"{table}.parquet", glob=False)
    raise HowlearnError(f"{folder} has no table {table}.csv{_instead(folder)}")


def _instead(folder: Path) -> str:
    """What a folder without a table is, as far as its manifest tells."""
    by = (files.read_record(folder / MANIFEST) or {}).get("command")
    if by is None:
        return ""
    if by != "select":
        return f": it holds the results of howlearn {by}"
    return (
        ": its run is not finished, or a table was removed; the same howlearn select command "
        "completes it"
    )


def _clear_events(folder: Path) -> None:
    """Remove the events files of an earlier run, and the folders that are empty then."""
    for file in [*folder.rglob("*_desc-*howlearn_events.*"), folder / BIDS_DESCRIPTION]:
        file.unlink(missing_ok=True)
    for inner in sorted([folder, *folder.rglob("*")], reverse=True):
        if inner.is_dir() and not any(inner.iterdir()):
            inner.rmdir()


# What results depend on besides the code of this package.


def versions() -> dict[str, str]:
    """Of Python and of the libraries that compute."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "polars")},
    }
