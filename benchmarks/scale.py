"""Cost grows in proportion to learners and to trials, and memory stays within a laptop's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter

import howlearn as hl
from benchmarks import data
from benchmarks.report import Row, duration, note
from benchmarks.timing import least
from howlearn.selection.criteria import DEFAULT

GIB = 2**30
MEMORY_BAR = 3 * GIB
# Times the cost per learner or trial of a study a hundred times smaller. Not 1: the likelihood of
# more trials is sharper, and a few passes more refine it.
LINEAR = 2
TRIALS = (100, 1_000, 10_000, 100_000)
LENGTHS_LEARNERS = 20


def run(quick: bool) -> list[Row]:
    """Time per learner and per trial, then large studies from their files to their tables."""
    largest = 1_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "big.parquet"
        start = perf_counter()
        data.parquet(path, largest)
        note(f"scale: {largest:,} learners simulated in {duration(perf_counter() - start)}")
        large = _large(path, largest)
        rows = _learners(path, largest)
    rows += _trials(TRIALS[:-1] if quick else TRIALS)
    return [*rows, large]


def _learners(path: Path, largest: int) -> list[Row]:
    task = hl.Task.load("five-four")
    study = hl.read(path, task)
    counts = [10**k for k in range(2, 6) if 10**k <= largest]
    each = {}
    for count in counts:
        work = partial(hl.select, study.part(0, count), task.models, DEFAULT)
        (seconds,) = least([work], max(1, 5_000 // count), warm=count < 10_000)
        each[count] = seconds / count
    return _growth(each, "learners", "per learner")


def _trials(lengths: tuple[int, ...]) -> list[Row]:
    """Of learners who toss a coin: one who learns earns more later, and only rewards cost."""
    task = hl.Task.load("five-four")
    each = {}
    for n in lengths:
        study = hl.simulate(task, hl.models.Coin(), {"p(A)": 0.5}, LENGTHS_LEARNERS, n, seed=1)
        times = max(1, min(20, 50_000 // n))
        (seconds,) = least([partial(hl.fit, study, task.models, [0.5, 1.0], threads=1)], times)
        each[n] = seconds / (n * LENGTHS_LEARNERS)
    return _growth(each, "trials", "per trial")


def _growth(each: dict[int, float], what: str, per: str) -> list[Row]:
    """One row per size; the largest is held against the second, the first to outweigh overheads."""
    sizes = sorted(each)
    base = sizes[min(1, len(sizes) - 1)]
    rows = []
    for size in sizes:
        ratio = each[size] / each[base]
        last = size == sizes[-1] != base
        rows.append(
            Row(
                f"{size:,} {what}, {per}",
                duration(each[size]),
                f"at most {LINEAR} × {base:,}" if last else "",
                f"{ratio:.2f} × {base:,}",
                ratio <= LINEAR if last else None,
            )
        )
    return rows


def _large(path: Path, count: int) -> Row:
    """Peak memory of the command line on the whole file."""
    arguments = ["select", str(path), "--task", "five-four", "--out", str(path.parent / "results")]
    arguments += [word for c in DEFAULT for word in ("--criterion", repr(c))]
    command = [sys.executable, "-m", "benchmarks.peak", sys.executable, "-m", "howlearn"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    what = f"{count:,} learners × {data.TRIALS} trials, one Parquet file, howlearn select"
    if done.returncode:
        note(f"scale: howlearn select failed: {done.stderr.strip()[-300:]}")
        return Row(what, "failed", "", "", False)
    seconds, peak = map(float, done.stdout.split())
    return Row(
        what,
        f"{peak / GIB:.2f} GiB, {duration(seconds)}",
        f"under {MEMORY_BAR / GIB:g} GiB",
        f"{peak / MEMORY_BAR:.2f} × bar",
        peak < MEMORY_BAR,
    )
