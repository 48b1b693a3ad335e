"""From a file to a page: ``inspect`` and ``report`` beside ``select``, and the page's size."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import data
from benchmarks.report import Row, duration, note

MB = 1e6
SIZES = {200: 2 * MB, 20_000: 10 * MB}  # learners → the largest page


def run(quick: bool) -> list[Row]:
    """Seconds and memory of each command, and the size of the page."""
    rows = []
    for count, largest in list(SIZES.items())[: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data.parquet(folder / "many.parquet", count)
            figures = {}
            for words in (
                ["inspect", "many.parquet", "--task", "five-four"],
                ["select", "--criterion", "aic", "--criterion", "holdout(split=0.5)"],
                ["report", "results", "-o", "report.html"],
            ):
                figures[words[0]] = _measured(words, folder)
            if None in figures.values():
                return [*rows, Row(f"{count:,} learners", "failed", "", "", False)]
            size = (folder / "report.html").stat().st_size
        learners = f"{count:,} learners × {data.TRIALS} trials"
        select = figures["select"][0]
        for command in ("inspect", "report"):
            seconds, peak = figures[command]
            figure = f"{duration(seconds)}, {peak / 2**30:.2f} GiB"
            rows.append(
                Row(f"{command}, {learners}", figure, "", f"{seconds / select:.1f} × select")
            )
        rows.append(
            Row(f"the page, {learners}", f"{size / MB:.2f} MB", f"≤ {largest / MB:g} MB",
                f"{size / largest:.2f} × bar", size <= largest)
        )  # fmt: skip
    return rows


def _measured(words: list[str], folder: Path) -> tuple[float, float] | None:
    command = [sys.executable, "-m", "benchmarks.peak", sys.executable, "-m", "howlearn", *words]
    found = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=found)
    if done.returncode:
        note(f"pages: howlearn {words[0]} failed: {done.stderr.strip()[-300:]}")
        return None
    seconds, peak = map(float, done.stdout.split()[-2:])
    return seconds, peak
