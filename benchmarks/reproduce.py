"""``howlearn reproduce``: the paper's study and its correction, with the split of the time."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from benchmarks.report import Row, duration, note
from howlearn.paper import reproduce
from howlearn.paper.published import HOURS, MODELS
from howlearn.report import charts

GIB = 2**30
MEMORY_BAR = 2 * GIB
ESTIMATION_BAR = 1.0  # seconds, of the learners of the figures
BARS = {100: 15.0, 1_000: 60.0}  # seconds of everything, by learners per model
FEW = 10
# A reduced run: with the smallest number of learners for the claims, too.
QUICK = """
from howlearn.paper import reproduce
reproduce.CLAIM_LEARNERS = {few}
from howlearn.cli import main
main()
"""


@dataclass(frozen=True)
class Timed:
    """One run of the command as a process of its own."""

    seconds: float
    peak: float  # bytes
    parts: dict[str, float]  # as the command prints them


def run(quick: bool) -> list[Row]:
    """The command after compilation: with the paper's 600 learners, then with 6,000."""
    if not charts.available():
        note(f"reproduce: without charts: {charts.MISSING}")
    _compile()
    if quick:
        return _rows(FEW, [_timed(["-c", QUICK.format(few=FEW)], FEW)], quick)
    rows = []
    for learners, times in ((100, 3), (1_000, 1)):
        rows += _rows(learners, [_timed(["-m", "howlearn"], learners) for _ in range(times)], quick)
    return rows


def _compile() -> None:
    """Everything that a run compiles is kept on disk by a tiny one."""
    many, reproduce.CLAIM_LEARNERS = reproduce.CLAIM_LEARNERS, 2
    try:
        reproduce.reproduce(learners=2)
    finally:
        reproduce.CLAIM_LEARNERS = many


def _timed(howlearn: list[str], learners: int) -> Timed | None:
    with tempfile.TemporaryDirectory() as folder:
        words = ["reproduce", "--out", f"{folder}/out", "--learners", str(learners)]
        command = [sys.executable, "-m", "benchmarks.peak", sys.executable, *howlearn, *words]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        note(f"reproduce: howlearn reproduce failed: {done.stderr.strip()[-300:]}")
        return None
    seconds, peak = map(float, done.stdout.split())
    return Timed(seconds, peak, split_of(done.stderr))


def split_of(printed: str) -> dict[str, float]:
    """Seconds by what took them, from what the command prints.

    >>> split_of("Time: 3.1 s (simulation, figures 1.00 s, charts 2.10 s); the paper: 6 hours.")
    {'simulation, figures': 1.0, 'charts': 2.1}
    """
    listed = re.search(r"Time: \S+ s \((.*)\); the paper", printed)
    parts = re.split(r"(?<=\d s), ", listed[1]) if listed else []
    return {what: float(took) for what, took in (part[:-2].rsplit(" ", 1) for part in parts)}


def _rows(learners: int, runs: list[Timed | None], quick: bool) -> list[Row]:
    what = f"{len(MODELS) * learners:,} learners, everything, howlearn reproduce"
    finished = [timed for timed in runs if timed is not None]
    if not finished:
        return [Row(what, "failed", "", "", False)]
    best = min(finished, key=lambda timed: timed.seconds)
    bar = None if quick else BARS[learners]
    whole = Row(
        what,
        duration(best.seconds),
        f"at most {bar:g} s" if bar else "",
        f"the paper's {HOURS} h: {HOURS * 3600 / best.seconds:,.0f} ×",
        best.seconds <= bar if bar else None,
    )
    memory = Row(
        "  peak memory",
        f"{best.peak / GIB:.2f} GiB",
        f"at most {MEMORY_BAR / GIB:g} GiB",
        f"{best.peak / MEMORY_BAR:.2f} × bar",
        best.peak <= MEMORY_BAR,
    )
    rest = best.seconds - sum(best.parts.values())
    parts = best.parts | {"starting and keeping finished parts": rest}
    return [whole, *(_part(name, took, best.seconds, learners, quick) for name, took in
                     parts.items()), memory]  # fmt: skip


def _part(name: str, took: float, seconds: float, learners: int, quick: bool) -> Row:
    """A part's share; the estimation of the paper's 600 learners has a bar of its own."""
    share = f"{took / seconds:.0%}"
    if name != "estimation, figures" or learners != 100 or quick:
        return Row(f"  of which {name}", duration(took), "", share)
    bar = f"at most {ESTIMATION_BAR:g} s"
    return Row(f"  of which {name}", duration(took), bar, share, took <= ESTIMATION_BAR)
