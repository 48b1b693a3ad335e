"""Progress where nobody looks at a terminal: a line a minute, as for the log of a cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

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
        self.tell(f"{self.what}: {done:,} of {total:,} ({done / total:.0%}){left}")


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
