"""How a run is started, and how far it is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from howlearn.cli.build import Given
    from howlearn.results.analysis import Analysis
    from howlearn.runs.folder import Format, RunFolder, Start
    from howlearn.runs.parts import Progress

Found = TypeVar("Found", bound="Analysis")

EVERY = 60.0  # seconds between lines


class Lines:
    """Says how far the work is, and about how long it will go on.

    >>> now = iter([0.0, 0.0, 30.0, 70.0])
    >>> lines = Lines("fitting", print, lambda: next(now))
    >>> lines.update(200, 1_000)  # of an earlier run
    >>> lines.update(400, 1_000)
    >>> lines.say()
    fitting: 400 of 1,000 (40%), about 4 min left
    """

    def __init__(
        self, what: str, tell: Callable[[str], object], clock: Callable[[], float] = monotonic
    ) -> None:
        self.what, self.tell, self.clock = what, tell, clock
        self._start = clock()
        self._first: tuple[float, int] | None = None
        self._now = (0, 0)

    def update(self, done: int, total: int) -> None:
        """Count."""
        now = self.clock()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        self._now = (done, total)

    def say(self) -> None:
        """Tell how far it is."""
        now, (done, total) = self.clock(), self._now
        if self._first is None or not total:
            self.tell(f"{self.what}: {_words(now - self._start)} so far")
            return
        since, before = self._first
        left = ""
        if done > before:
            left = f", about {_words((now - since) * (total - done) / (done - before))} left"
        self.tell(f"{self.what}: {done:,} of {total:,} ({done / total:z.0%}){left}")


@contextmanager
def in_lines(what: str, tell: Callable[[str], object]) -> Iterator[Callable[[int, int], None]]:
    """A line every minute, whether or not the work goes on."""
    lines, over = Lines(what, tell), threading.Event()

    def watch() -> None:
        while not over.wait(EVERY):
            lines.say()

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield lines.update
    finally:
        over.set()


def _words(seconds: float) -> str:
    """A duration, roughly.

    >>> _words(40), _words(200), _words(30_000)
    ('1 min', '3 min', '8.3 h')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"


# How a run is started: here or on a cluster, the whole of it or a share.


@contextmanager
def starting(given: Given) -> Iterator[Start]:
    """What ``--fresh``, ``--workers``, ``--dask`` and ``--shard`` ask for."""
    from howlearn.core.errors import HowlearnError
    from howlearn.runs.folder import Start
    from howlearn.runs.parts import Threads
    from howlearn.runs.shards import MERGE, Nobody, Shard

    if given.shard == MERGE:  # as howlearn merge asks
        yield Start(False, given.workers, Nobody(given.out))
        return
    share = Shard.named(given.shard) if given.shard else None
    if given.dask is None:
        yield Start(given.fresh, given.workers, Threads(given.workers), share, sys.argv[1:])
        return
    from howlearn.runs.cluster import cluster_at

    if share is not None:
        raise HowlearnError("--shard and --dask both spread the work: give one of them")
    with cluster_at(given.dask) as cluster:
        yield Start(given.fresh, given.workers, cluster, None)


def run_in_folder(
    given: Given,
    manifest: Mapping[str, Any],
    analysis: type[Found],
    work: Callable[[RunFolder, int | None, Progress], Found],
    what: str = "simulating and fitting",
    format: Format = "csv",
) -> None:
    """Do the work in the folder of the results, where finished parts are kept, and show it."""
    from howlearn.cli import show
    from howlearn.runs.folder import RunFolder

    with (
        starting(given) as start,
        RunFolder(given.out, manifest, analysis.outputs(), start) as folder,
    ):
        with show.progress_bar(what) as progress:
            found = work(folder, given.workers, progress)
        found.write_files(given.out, format)
    show.found(found, given.out)
