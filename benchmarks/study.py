"""The paper's study: 600 learners, six models, seven truncations, from a CSV to CSVs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import howlearn as hl
from benchmarks import data
from benchmarks.report import Row, duration
from howlearn.selection.select import choose

BAR = 1.0
CRITERIA = (
    hl.Penalized(c=0.012),
    *(hl.HoldOut(split=size / data.TRIALS) for size in data.TRUNCATIONS[:-1]),
)
PARTS = ("reading", "fitting", "criteria", "tables", "writing")


def run(quick: bool) -> list[Row]:
    """The best of several runs, and how its time was spent."""
    per_model = 10 if quick else 100
    task = hl.Task.load("five-four")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data.paper_csv(folder / "trials.csv", per_model)
        runs = [analyse(folder, task) for _ in range(3 if quick else 8)]
    best = min(runs[1:], key=lambda parts: sum(parts.values()))  # the first one compiles
    seconds = sum(best.values())
    fits = per_model * len(task.models) ** 2 * len(data.TRUNCATIONS)
    whole = Row(
        f"{fits:,} model fits, CSV to tables, {os.cpu_count()} cores",
        duration(seconds),
        f"under {BAR:g} s" if not quick else "",
        f"{seconds / BAR:.2f} × bar" if not quick else "",
        seconds < BAR if not quick else None,
    )
    split = [
        Row(f"  of which {part}", duration(best[part]), "", f"{best[part] / seconds:.0%}")
        for part in PARTS
    ]
    return [whole, *split]


def analyse(folder: Path, task: hl.Task) -> dict[str, float]:
    """What ``howlearn select`` does, with the seconds of each part."""
    times: dict[str, float] = {}
    with _timed(times, "reading"):
        study = hl.read(folder / "trials.csv", task)
    truncations = sorted({t for criterion in CRITERIA for t in criterion.truncations})
    with _timed(times, "fitting"):
        fits = hl.fit(study, task.models, truncations)
    with _timed(times, "criteria"):
        selection = choose(fits, CRITERIA)
    with _timed(times, "tables"):
        tables = {
            name: getattr(selection, name)
            for name in ("scores", "estimates", "selection", "learners")
        }
    with _timed(times, "writing"):
        for name, table in tables.items():
            table.write_csv(folder / f"{name}.csv")
    return times


@contextmanager
def _timed(times: dict[str, float], part: str) -> Iterator[None]:
    start = perf_counter()
    yield
    times[part] = perf_counter() - start
