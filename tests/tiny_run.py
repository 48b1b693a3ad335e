"""A run of four small parts that needs no study."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from howlearn.runs.folder import RunFolder, Start
from howlearn.runs.parts import Part, Threads, Work

MANIFEST = {"command": "select", "howlearn": "0", "options": {"a": 1, "b": ["x"]}}
OUTPUTS = {"numbers.csv", "numbers.parquet"}
DONE: list[int] = []


def compute(common: int, own: int, threads: int | None, progress: object) -> dict:
    DONE.append(own)
    return {
        "numbers": pl.DataFrame({"part": [own] * 3, "value": [common * own + k for k in range(3)]}),
        "texts": pl.DataFrame({"text": [f"<b>{own}"]}),
    }


def parts(count: int = 4) -> list[Part]:
    def part(k: int) -> Part:
        return Part(k, ("numbers", "texts"), 3, lambda: Work(compute, 7, k))

    return [part(k) for k in range(count)]


def run(
    folder: str = "results", manifest: dict = MANIFEST, start: Start | None = None
) -> list[int]:
    """A run of four parts; which of them were computed."""
    DONE.clear()
    with RunFolder(Path(folder), manifest, OUTPUTS, start or Start(engine=Threads(1))) as store:
        store.complete(parts())
        store.assemble("numbers", "csv")
    return [*DONE]


def one(number: int = 1, table: str = "numbers", folder: str = "results") -> Path:
    (file,) = Path(folder, "parts").glob(f"{number:06d}.{table}.*.parquet")
    return file
