"""Times that other processes disturb little: the least of several runs, taken in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

Task = Callable[[], object]


def least(
    tasks: Sequence[Task],
    times: int,
    warm: bool = True,
    clock: Callable[[], float] = perf_counter,
) -> list[float]:
    """Seconds of each task. They take turns, so that a slow moment of the machine hits them all.

    With ``process_time`` as the clock they are seconds of processor time.
    """
    for task in tasks if warm else ():
        task()  # compiles, loads, warms the caches
    best = [float("inf")] * len(tasks)
    for _ in range(times):
        for k, task in enumerate(tasks):
            start = clock()
            task()
            best[k] = min(best[k], clock() - start)
    return best
