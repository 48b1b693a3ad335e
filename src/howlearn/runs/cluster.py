"""Parts on other machines, or in other processes of this one: Dask distributed."""

from __future__ import annotations

import logging
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import chain
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from howlearn._version import __version__
from howlearn.core.errors import HowlearnError
from howlearn.runs import remote
from howlearn.runs.packing import packed
from howlearn.runs.work import Keep, Part, Progress

if TYPE_CHECKING:
    from distributed import Client, Future

AHEAD = 2  # parts per thread that wait or are done: nobody idles, and few are in memory
PATIENCE = 15.0  # seconds that a scheduler may be away
LOOK = 2.0  # seconds between looks at the cluster
ALONE = 10.0  # seconds without a worker until that is said
TRIES = 3  # times that a scheduler may come back without a single part done

log = logging.getLogger("howlearn")


class _Lost(Exception):
    """The scheduler went away, and with it all that it was given."""


class Cluster:
    """A Dask cluster, whose workers do parts; every one uses a single core at a time."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.seconds = 0.0  # that workers were busy
        self.kept = 0  # parts
        self._common: dict[int, tuple[Any, str, Future]] = {}
        self._threads, self._looked = 0, 0.0
        self._address = str(getattr(client.scheduler, "address", "its address"))

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        waiting: dict[Future, Part] = {}
        ready: Queue[Future] = Queue()
        done = losses = 0
        try:
            while True:
                try:
                    while len(waiting) < self._room() and (part := next(parts, None)) is not None:
                        waiting[self._submit(part, ready)] = part
                    if not waiting:
                        return
                    future = self._next(ready)
                    if future not in waiting:  # of before the scheduler went
                        continue
                    tables = self._result(future, waiting[future])
                except _Lost:
                    losses += 1
                    self._wait_for_scheduler(losses)
                    parts = chain([*waiting.values()], parts)
                    waiting.clear()
                    self._common.clear()
                    continue
                part = waiting.pop(future)
                keep(part, tables)
                future.release()
                done, losses, self.kept = done + part.size, 0, self.kept + 1
                progress(done, 0)
        finally:
            if self.client.status == "running":
                with suppress(Exception):
                    self.client.cancel([*waiting], force=True)
            self._common.clear()

    def _room(self) -> int:
        """How many parts may be under way."""
        now = time.monotonic()
        if now - self._looked > LOOK or not self._threads:
            with suppress(Exception):  # asked while the scheduler comes or goes
                threads: Any = self.client.nthreads()
                self._threads = sum(threads.values())
            self._looked = now
        return max(4, AHEAD * self._threads)

    def _submit(self, part: Part, ready: Queue[Future]) -> Future:
        work = part.work()
        with warnings.catch_warnings():
            # Trials go with the work: then a worker that dies takes nothing with it.
            warnings.filterwarnings("ignore", message="Sending large graph")
            try:
                known = self._common.get(id(work.common))
                if known is None:
                    key = uuid.uuid4().hex
                    content = packed((work.run, work.common))
                    common = self.client.submit(remote.handed_on, content, pure=False)
                    known = self._common[id(work.common)] = (work.common, key, common)
                _, key, common = known
                words = (key, common, packed(work.own), remote.installed())
                future = self.client.submit(remote.done, *words, pure=False)
            except HowlearnError:
                raise
            except Exception:
                if self.client.status == "running":
                    raise
                raise _Lost from None
        future.add_done_callback(ready.put)
        return future

    def _next(self, ready: Queue[Future]) -> Future:
        """One that is ready, however long it takes, as long as there is a scheduler."""
        alone_since, told = None, False
        while True:
            with suppress(Empty):
                return ready.get(timeout=LOOK)
            if self.client.status != "running":
                raise _Lost
            self._looked = 0.0
            self._threads = 0
            self._room()
            alone_since = None if self._threads else alone_since or time.monotonic()
            if alone_since and not told and time.monotonic() - alone_since > ALONE:
                log.info("the cluster has no worker; the work waits until one comes")
                told = True

    def _wait_for_scheduler(self, losses: int) -> None:
        end = time.monotonic() + PATIENCE
        while losses <= TRIES and self.client.status != "closed" and time.monotonic() < end:
            if self.client.status == "running":
                return
            time.sleep(0.1)
        raise HowlearnError(
            f"the Dask scheduler at {self._address} no longer answers; {self.kept:,} "
            f"part{'s' * (self.kept != 1)} of this run {'were' if self.kept != 1 else 'was'} "
            "finished and kept, as are those of earlier ones. When there is a scheduler again, the "
            "same command goes on from there"
        )

    def _result(self, future: Future, part: Part) -> dict[str, bytes]:
        from distributed import KilledWorker

        try:
            seconds, found = future.result(timeout=60)
        except KilledWorker as error:
            raise HowlearnError(
                f"part {part.number:,} of the work was given up: {error.allowed_failures + 1} "
                "workers died on it, perhaps for want of memory; give each worker more of it, or "
                "fewer threads"
            ) from None
        except (ModuleNotFoundError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "deserialization" not in str(error):
                raise  # of the work itself
            reason = str(error.__cause__ or error).splitlines()[0]
            raise HowlearnError(
                f"the scheduler or a worker does not know the work ({reason}): all of them need "
                f"the same installation of howlearn {__version__} as this machine"
            ) from None
        except (CancelledError, TimeoutError, OSError):
            raise _Lost from None
        if isinstance(found, str):
            raise HowlearnError(found)
        self.seconds += seconds
        return found
