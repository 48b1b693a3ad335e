"""Work in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


def threads_of(given: int | None) -> int:
    """As many as were asked for; otherwise one per core."""
    return given or os.cpu_count() or 1


def in_threads(
    work: Callable[[Item], Done], items: Iterable[Item], threads: int | None = None
) -> list[Done]:
    """What the work makes of every item, in the order of the items.

    >>> in_threads(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    items = list(items)
    workers = min(threads_of(threads), len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(work, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # do not finish what nobody awaits
            raise
