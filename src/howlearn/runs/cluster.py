"""Parts on other machines, or in other processes of this one: Dask distributed, and who asks."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from howlearn import __version__
from howlearn.core.errors import HowlearnError
from howlearn.runs import workers
from howlearn.runs.parts import Engine, Keep, Part, Progress, Threads
from howlearn.runs.workers import packed

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
                    common = self.client.submit(workers.handed_on, content, pure=False)
                    known = self._common[id(work.common)] = (work.common, key, common)
                _, key, common = known
                words = (key, common, packed(work.own), workers.installed())
                future = self.client.submit(workers.done, *words, pure=False)
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
                log.info("the cluster has no worker; the work waits for one")
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
            "finished and kept, as are those of earlier ones. When there is a scheduler again, "
            "the same command continues from there"
        )

    def _result(self, future: Future, part: Part) -> dict[str, bytes]:
        from distributed import KilledWorker

        try:
            seconds, found = future.result(timeout=60)
        except KilledWorker as error:
            raise HowlearnError(
                f"part {part.number:,} of the work was given up: {error.allowed_failures + 1} "
                "workers died on it, perhaps because memory ran out; give each worker more of "
                "it, or "
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


# Which cluster ``--dask`` means.

MISSING = "--dask needs {}: pip install 'howlearn[cluster]'"
CONNECTING = 30.0  # seconds until a scheduler that never answered is given up
LOCAL = "local:"
SAFE_PATH = "PYTHONSAFEPATH"  # in the environment: no module is looked for in the current folder
# Nobody looks at how our own cluster feels, which by default is asked fifty times a second.
CALM = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "5s",
    # Their web servers cannot be left out, and know no certificates: they have no pages.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


@contextmanager
def cluster_at(where: str) -> Iterator[Cluster]:
    """The cluster that ``--dask`` names: an address, a scheduler file, or ``local:4``."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise HowlearnError(MISSING.format("Dask")) from None
    _be_quiet()
    with _local(where) if where.startswith(LOCAL) else _connected(where) as client:
        yield Cluster(client)


def _be_quiet() -> None:
    """What matters is said in our own words."""
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def _connected(where: str) -> Iterator[Client]:
    import distributed

    address = where
    if "://" not in where and not where.rpartition(":")[2].isdigit():
        address = _in_file(where)
    with warnings.catch_warnings():
        # Other versions are refused where results could differ, and only there.
        warnings.filterwarnings("ignore", message="(?s).*Mismatched versions")
        try:
            client = distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        except (OSError, TimeoutError, ValueError, KeyError, TypeError, AttributeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise HowlearnError(
                f"--dask {where}: no Dask scheduler answers there ({reason}); start one with: dask "
                "scheduler, and workers with: dask worker ADDRESS"
            ) from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=5)


def _in_file(where: str) -> str:
    """The address that a scheduler wrote into its file, which may be about to."""
    file, end = Path(where), time.monotonic() + CONNECTING
    while not file.is_file() and file.suffix == ".json" and time.monotonic() < end:
        time.sleep(0.2)
    if not file.is_file():
        raise HowlearnError(
            f"--dask {where}: neither an address, such as tcp://host:8786, nor a scheduler file "
            "that is there, nor local:4 for four processes on this machine"
        )
    end = time.monotonic() + min(1.0, CONNECTING)
    while time.monotonic() < end:  # it may be half written
        with suppress(OSError, ValueError, KeyError, TypeError):
            return str(json.loads(file.read_text(encoding="utf-8"))["address"])
        time.sleep(0.05)
    raise HowlearnError(
        f"--dask {where}: this is not a file of a Dask scheduler; start one with: dask "
        f"scheduler --scheduler-file {where}"
    )


@contextmanager
def _local(where: str) -> Iterator[Client]:
    import distributed
    from dask import config

    count = where.removeprefix(LOCAL)
    if not (count.isascii() and count.isdigit()) or not 1 <= int(count) <= 1024:
        raise HowlearnError(f"--dask {where}: write local:4 for four processes on this machine")
    with _scratch() as scratch:
        with _shielded(), config.set({**CALM, "temporary-directory": scratch}):
            cluster = distributed.LocalCluster(
                security=_certificates(),
                n_workers=int(count),
                threads_per_worker=1,
                memory_limit=0,  # parts are small; pausing would only stop a run
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs=logging.CRITICAL,
            )
        client = distributed.Client(cluster, set_as_default=False)
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=5)
            with suppress(Exception):
                cluster.close(timeout=5)


@contextmanager
def _scratch() -> Iterator[str]:
    """A folder for this user only, and processes that import modules only from where this one does.

    Dask looks for modules in its own folder, by default one for temporary files that anybody may
    have made before; and Python, when it starts a process, first in the current folder.
    """
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    with tempfile.TemporaryDirectory(prefix="howlearn-", ignore_cleanup_errors=True) as scratch:
        try:
            yield scratch
        finally:  # anybody may make it again once it is gone
            sys.path[:] = [path for path in sys.path if not path.startswith(scratch)]
            del os.environ[SAFE_PATH]
            if before is not None:
                os.environ[SAFE_PATH] = before


def _certificates() -> Any:
    """For this run only, in memory: a port of this machine is open to everybody who uses it."""
    from distributed import Security

    try:
        return Security.temporary()
    except ImportError:
        raise HowlearnError(MISSING.format("cryptography for local:N")) from None


@contextmanager
def _shielded() -> Iterator[None]:
    """Ctrl-C is for this process alone: what starts here, and what that starts, never sees it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # else it starts later, and lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Who does the work of a call from Python: a Dask client, or this process.


def engine_of(client: Client | None, threads: int | None) -> Engine:
    """The cluster of a client, if there is one."""
    if client is None:
        return Threads(threads)
    _check(client)

    return Cluster(client)


def _check(client: Any) -> None:
    try:
        from distributed import Client
    except ImportError:
        Client = None
    if Client is None or not isinstance(client, Client):
        raise HowlearnError(
            f"client is a Dask client, such as distributed.Client('tcp://host:8786'), not "
            f"{type(client).__name__}"
        )
    if client.asynchronous:
        raise HowlearnError("a Dask client with asynchronous=True cannot be waited for here")
