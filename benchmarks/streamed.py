"""A study that does not fit into memory costs as much per learner as a small one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks import data
from benchmarks.report import Row, duration, note
from howlearn.selection.criteria import HoldOut, Penalized

GIB = 2**30
MEMORY_BAR = 3 * GIB
TRIALS = 200
START = 100  # learners of a run that is nearly all start: imports, compiled code from its cache
SIZES = (10_000, 1_000_000)
QUICK = (500, 2_000)
SLOWER = 1.25  # times the time per learner: a throughput that is 20% lower


@dataclass(frozen=True)
class _Cost:
    seconds: float
    peak: float
    processor: float


def run(quick: bool) -> list[Row]:
    """``howlearn select`` with six models and the paper's two criteria, small and large."""
    small, large = QUICK if quick else SIZES
    costs = {}
    for count in (START, small, large):
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "trials.parquet"
            start = perf_counter()
            data.parquet(path, count, min(count, 1_000), TRIALS)
            took, size = duration(perf_counter() - start), path.stat().st_size / 1e6
            note(f"streamed: {count:,} learners simulated in {took}, a file of {size:.1f} MB")
            found = _select(path)
        if found is None:
            return [Row(f"{count:,} learners × {TRIALS} trials, howlearn select", "failed")]
        costs[count] = found
    rows = [_memory(large, costs[large])]
    if not quick:  # with few learners the start is nearly everything
        rows.append(_throughput("by the clock", {n: c.seconds for n, c in costs.items()}))
        rows.append(_throughput("processor time", {n: c.processor for n, c in costs.items()}))
    return rows


def _memory(count: int, cost: _Cost) -> Row:
    return Row(
        f"{count:,} learners × {TRIALS} trials, one sorted Parquet file, howlearn select",
        f"{cost.peak / GIB:.2f} GiB, {duration(cost.seconds)}",
        f"under {MEMORY_BAR / GIB:g} GiB",
        f"{cost.peak / MEMORY_BAR:.2f} × bar",
        cost.peak < MEMORY_BAR,
    )


def _throughput(how: str, taken: dict[int, float]) -> Row:
    """What a learner more takes, without the start that every run has."""
    start, small, large = taken
    each = [(taken[n] - taken[start]) / (n - start) for n in (small, large)]
    ratio = each[1] / each[0]
    return Row(
        f"{large:,} learners, per learner without the start, {how}",
        f"{duration(each[1])}, {1 / each[1]:,.0f} learners/s",
        f"at most {SLOWER} × {small:,}",
        f"{ratio:.2f} × {small:,}",
        ratio <= SLOWER,
    )


def _select(path: Path) -> _Cost | None:
    arguments = ["select", str(path), "--task", "five-four", "--out", str(path.parent / "results")]
    for criterion in (Penalized(), HoldOut()):
        arguments += ["--criterion", repr(criterion)]
    command = [sys.executable, "-m", "benchmarks.peak", "--processor", sys.executable]
    done = subprocess.run(
        [*command, "-m", "howlearn", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        note(f"streamed: howlearn select failed: {done.stderr.strip()[-300:]}")
        return None
    return _Cost(*map(float, done.stdout.split()))
