"""Selecting with the population: a study of ten thousand learners, from its file to its tables."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import data
from benchmarks.report import Row, duration, note

GIB = 2**30
MEMORY_BAR, TIME_BAR = 2 * GIB, 30.0


def run(quick: bool) -> list[Row]:
    """Time and peak memory of ``howlearn select --criterion population``."""
    count = 500 if quick else 10_000
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "many.parquet"
        data.parquet(path, count)
        words = ["--criterion", "population", "--out", str(Path(name) / "results")]
        command = [sys.executable, "-m", "benchmarks.peak", sys.executable, "-m", "howlearn"]
        select = ["select", str(path), "--task", "five-four", *words]
        done = subprocess.run([*command, *select], capture_output=True, text=True)
    what = f"{count:,} learners × {data.TRIALS} trials, six models and all others, population"
    if done.returncode:
        note(f"groups: howlearn select failed: {done.stderr.strip()[-300:]}")
        return [Row(what, "failed", "", "", False)]
    seconds, peak = map(float, done.stdout.split())
    bar = TIME_BAR * count / 10_000
    return [
        Row(what, duration(seconds), f"≤ {duration(bar)}", f"{seconds / bar:.2f} × bar",
            seconds <= bar),
        Row("its memory", f"{peak / GIB:.2f} GiB", f"≤ {MEMORY_BAR / GIB:g} GiB",
            f"{peak / MEMORY_BAR:.2f} × bar", peak <= MEMORY_BAR),
    ]  # fmt: skip
