"""Progress where nobody looks at a terminal: a line now and then, as for the log of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

EVERY = 60.0  # seconds between lines


class Lines:
    """Says how far the work is, and about how long it will go on.

    >>> now = iter([0.0, 30.0, 70.0])
    >>> lines = Lines("fitting", print, lambda: next(now))
    >>> lines.update(200, 1_000)  # of an earlier run
    >>> lines.update(300, 1_000)
    >>> lines.update(400, 1_000)
    fitting: 400 of 1,000 (40%), about 4 min left
    """

    def __init__(
        self, what: str, tell: Callable[[str], object], clock: Callable[[], float] = monotonic
    ) -> None:
        self.what, self.tell, self.clock = what, tell, clock
        self._first: tuple[float, int] | None = None
        self._last = 0.0

    def update(self, done: int, total: int) -> None:
        """Count; tell if it is time."""
        now = self.clock()
        if self._first is None or done < self._first[1]:
            self._first, self._last = (now, done), now
        if now - self._last < EVERY or not total:
            return
        self._last = now
        since, before = self._first
        left = ""
        if done > before:
            left = f", about {_words((now - since) * (total - done) / (done - before))} left"
        self.tell(f"{self.what}: {done:,} of {total:,} ({done / total:.0%}){left}")


def _words(seconds: float) -> str:
    """A duration, roughly.

    >>> _words(40), _words(200), _words(30_000)
    ('1 min', '3 min', '8.3 h')
    """
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.1f} h"
