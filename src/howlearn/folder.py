"""A run is a folder: a manifest, parts written whole or not at all, tables assembled from them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from howlearn.errors import HowlearnError
from howlearn.harmless import visible
from howlearn.limits import read_json
from howlearn.spreadsheet import read_csv, write_csv

Format = Literal["csv", "parquet"]
MANIFEST = "manifest.json"
PARTS = "parts"
ALWAYS = ("scores", "estimates", "selection", "learners")  # tables of every selection
TABLES = (
    *ALWAYS,
    "shares",
    "predictions",
    "future",
    "weights",
    "lowest",
    "stability",
    "population",
    "population-rates",
    "deviations",
)
WEIGHTS = ("weights-mean", "leaders")  # tables made of the weights
WEIGHT_CHARTS = ("weights", "weights-learners")
BIDS = "bids"  # the folder for events files
BIDS_DESCRIPTION = "dataset_description.json"
RESULTS = {
    BIDS,
    *(f"{table}.{ending}" for table in (*TABLES, *WEIGHTS) for ending in ("csv", "parquet")),
    *(f"{chart}.{ending}" for chart in WEIGHT_CHARTS for ending in ("svg", "png")),
}
# Columns of text, though names may look like numbers.
NAMES = ("learner", "cell", "model", "runner_up", "true_model", "selected_model", "parameter")
LONGEST = 100  # characters of a value that a message shows


class RunFolder:
    """The folder of one run; started again with the same manifest, it keeps the finished parts."""

    def __init__(
        self,
        path: Path,
        manifest: Mapping[str, Any],
        fresh: bool = False,
        outputs: Collection[str] = RESULTS,
    ) -> None:
        self.path = path
        self.outputs = outputs  # the files that a run leaves, besides its parts and manifest
        self.parts = path / PARTS
        if path.exists() and not path.is_dir():
            raise HowlearnError(f"{path} is a file; --out needs the name of a folder")
        if path.exists() and any(path.iterdir()):
            self._take_over(json.loads(json.dumps(manifest)), fresh)
        self.parts.mkdir(parents=True, exist_ok=True)
        for left_behind in self.parts.glob(".*.tmp"):  # by a run that was killed
            left_behind.unlink(missing_ok=True)
        write_json(path / MANIFEST, manifest)

    def _take_over(self, manifest: dict[str, Any], fresh: bool) -> None:
        """Go on with an earlier run or replace it; a folder of anything else is left alone."""
        try:
            found = read_json(self.path / MANIFEST)
        except (OSError, ValueError):
            raise HowlearnError(
                f"{self.path} holds files that are not results of howlearn; name another folder "
                "with --out"
            ) from None
        by = found.get("command") if isinstance(found, dict) else None
        if by not in (None, manifest.get("command")):
            raise HowlearnError(
                f"{self.path} holds the results of howlearn {by}; name another folder with --out"
            )
        if fresh:
            self._clear()
        elif found != manifest:
            differences = "\n".join(f"  {line}" for line in _differences(found, manifest))
            raise HowlearnError(
                f"{self.path} holds the results of another run:\n{differences}\n"
                "name another folder with --out, or replace those results with --fresh"
            )

    def _clear(self) -> None:
        """Remove an earlier run's results, and nothing else."""
        shutil.rmtree(self.parts, ignore_errors=True)
        for file in self.path.iterdir():
            if file.name == BIDS and BIDS in self.outputs and file.is_dir():
                _clear_events(file)
            elif file.name == MANIFEST or file.name in self.outputs:
                file.unlink()

    def part(self, table: str, number: int) -> Path:
        return self.parts / f"{number:06d}.{table}.parquet"

    def has(self, tables: list[str], number: int) -> bool:
        """Whether a chunk of learners is finished; a part that cannot be read is not."""
        return all(_readable(self.part(table, number)) for table in tables)

    def write(self, number: int, tables: Mapping[str, pl.DataFrame]) -> None:
        """Keep the tables of a chunk of learners."""
        for name, frame in tables.items():
            write_whole(self.part(name, number), frame.write_parquet)

    def read(self, table: str) -> pl.LazyFrame:
        """A table over all chunks."""
        return pl.scan_parquet(sorted(self.parts.glob(f"*.{table}.parquet")), glob=False)

    def assemble(self, table: str, format: Format, frame: pl.LazyFrame | None = None) -> Path:
        """Write a table from its parts."""
        frame = self.read(table) if frame is None else frame
        path = self.path / f"{table}.{format}"
        as_csv = partial(write_csv, frame)
        write_whole(path, as_csv if format == "csv" else frame.sink_parquet)
        return path


def read_table(folder: Path, table: str) -> pl.DataFrame:
    """A table of a finished run."""
    if (folder / f"{table}.csv").is_file():
        return read_csv(folder / f"{table}.csv", NAMES)
    if (folder / f"{table}.parquet").is_file():
        return pl.read_parquet(folder / f"{table}.parquet", glob=False)
    raise HowlearnError(f"{folder} has no table {table}.csv{_instead(folder)}")


def _instead(folder: Path) -> str:
    """What a folder without a table is, as far as its manifest tells."""
    try:
        by = read_json(folder / MANIFEST)["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if by != "select":
        return f": it holds the results of howlearn {by}"
    return (
        ": its run has not ended, or a table was taken away; the same howlearn select command goes "
        "on with it"
    )


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))


def write_text(path: Path, text: str) -> None:
    """Write text for people, whole or not at all; names in it do not steer a terminal."""
    write_whole(path, lambda file: file.write_text(visible(text), encoding="utf-8"))


def _clear_events(folder: Path) -> None:
    """Remove the events files of an earlier run, and the folders that are empty then."""
    for file in [*folder.rglob("*_desc-*howlearn_events.*"), folder / BIDS_DESCRIPTION]:
        file.unlink(missing_ok=True)
    for inner in sorted([folder, *folder.rglob("*")], reverse=True):
        if inner.is_dir() and not any(inner.iterdir()):
            inner.rmdir()


def _readable(path: Path) -> bool:
    try:
        pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file under another name, then move it into place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _differences(found: Any, wanted: Any, place: str = "") -> list[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        lines = []
        for key in [*wanted, *(k for k in found if k not in wanted)]:
            deeper = f"{place}.{key}" if place else str(key)
            lines += _differences(found.get(key), wanted.get(key), deeper)
        return lines
    if found == wanted:
        return []
    if _named(found) and _named(wanted):  # such as models: what differs is said of each
        there, here = ({each["name"]: each for each in side} for side in (found, wanted))
        if list(there) == list(here):
            return _differences(there, here, place)
    return [f"{place}: {_short(found)} there, {_short(wanted)} now"]


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(e, dict) and "name" in e for e in value)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
