"""Two workers of a Dask cluster instead of one, and what the cluster costs besides the work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import polars as pl

import howlearn as hl
from benchmarks.report import Row, duration, note
from howlearn.results.chunk import Chunk, Wanted
from howlearn.results.select_into import CHUNK, write_selection
from howlearn.runs.cluster import Cluster, cluster_at
from howlearn.runs.folder import Start
from howlearn.runs.parts import Keep, Memory, Part, Progress, Work
from howlearn.runs.workers import packed
from howlearn.selection.criteria import DEFAULT

SPEED_UP = 1.8
SCHEDULING = 0.05
TRIALS = 200
EMPTY = 500  # parts without work


@dataclass
class Timed:
    """A cluster, and how long its parts took together."""

    cluster: Cluster
    seconds: float = 0.0
    here: float = 0.0  # of processors, in this process: the client and the scheduler
    workers: float = 0.0  # of processors, in the workers

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        before, here = self._of_workers(), process_time()
        start = perf_counter()
        self.cluster.do(parts, keep, progress)
        self.seconds += perf_counter() - start
        self.here += process_time() - here
        self.workers += self._of_workers() - before

    def _of_workers(self) -> float:
        return sum(self.cluster.client.run(process_time).values())


@dataclass
class Took:
    """Seconds of one run: on the clock, of its parts, of the workers, of processors."""

    whole: float
    parts: float
    busy: float
    workers: float
    here: float


def run(quick: bool) -> list[Row]:
    """The same study with one worker and with two; then parts that do nothing."""
    # With one worker it takes 30 seconds or more, in parts for two that end together.
    learners = 10_000 if quick else 80_000
    task = hl.Task.load("five-four")
    study = hl.simulate(task, "ByShape", {"eta": 0.03}, learners, TRIALS, seed=1)
    took = {count: _select(study, task, count) for count in (1, 2)}
    one, two = took[1], took[2]
    note(f"cluster: {learners:,} learners with one worker in {duration(one.whole)}")
    ratio = one.parts / two.parts
    idle = 1 - two.busy / (2 * two.parts)
    apart = two.here / (two.here + two.workers)
    # On two cores, which the client shares with the workers; holds on a busy machine too.
    possible = 2 * one.workers / (two.workers + two.here)
    chunk = Chunk.of(study, 0, min(CHUNK, learners), with_rows=False)
    sent = len(packed(chunk)) / len(chunk.study.context)
    each, moved = _empty()
    what = f"{learners:,} learners × {TRIALS} trials, howlearn select"
    bar = f"at least {SPEED_UP}"
    whole = one.whole / two.whole
    return [
        Row(
            f"{what}, two workers over one",
            f"{duration(one.parts)} → {duration(two.parts)}",
            bar,
            f"{ratio:.2f}",
            None if quick else ratio >= SPEED_UP,
        ),
        Row(
            "the same with the tables written",
            f"{duration(one.whole)} → {duration(two.whole)}",
            "",
            f"{whole:.2f}",
        ),
        Row(
            "time of two workers without a part",
            f"{idle:.1%}",
            f"under {SCHEDULING:.0%}",
            "",
            None if quick else idle < SCHEDULING,
        ),
        Row("processor time of client and scheduler, of all", f"{apart:.1%}"),
        Row("two workers over one by processor times", "", "", f"{possible:.2f}"),
        Row("bytes sent per trial", f"{sent:.2f}"),
        Row(f"an empty part, of {EMPTY:,} with one worker", duration(each)),
        Row("the same, processor time of client and scheduler", duration(moved)),
    ]


def _select(study: hl.Study, task: hl.Task, count: int) -> Took:
    wanted = Wanted(task.models, DEFAULT)
    with cluster_at(f"local:{count}") as cluster, tempfile.TemporaryDirectory() as name:
        warm = Start(engine=cluster, threads=1)
        write_selection(Path(name, "warm"), study.part(0, 1), wanted, {}, "csv", warm)
        cluster.client.run(_warm, wanted, study.part(0, 2))
        cluster.seconds = 0.0
        timed = Timed(cluster)
        start = perf_counter()
        write_selection(Path(name, "r"), study, wanted, {}, "csv", Start(engine=timed))
        whole = perf_counter() - start
        return Took(whole, timed.seconds, cluster.seconds, timed.workers, timed.here)


def _warm(wanted: Wanted, study: hl.Study) -> None:
    """On every worker: load what is compiled."""
    hl.select(study, wanted.models, wanted.criteria, threads=1, check=False)


def _empty() -> tuple[float, float]:
    """Seconds on the clock and of processors for a part that does nothing."""
    parts = [Part(k, ("t",), 1, lambda k=k: Work(_nothing, None, k)) for k in range(EMPTY)]
    with cluster_at("local:1") as cluster:
        Memory(cluster).complete(parts[:10])
        start, here = perf_counter(), process_time()
        Memory(cluster).complete(parts)
        return (perf_counter() - start) / EMPTY, (process_time() - here) / EMPTY


def _nothing(common: Any, own: int, threads: int | None, progress: Progress) -> dict[str, Any]:
    return {"t": pl.DataFrame({"own": [own]})}
