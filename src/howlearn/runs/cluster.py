"""Parts on other machines, or in other processes of this one: Dask distributed."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from types import ModuleType
from typing import TYPE_CHECKING, Any

from howlearn._version import __version__
from howlearn.errors import HowlearnError
from howlearn.runs.parts import encoded
from howlearn.runs.versions import versions
from howlearn.runs.work import Keep, Part, Progress

if TYPE_CHECKING:
    from distributed import Client, Future

MISSING = "--dask needs Dask: pip install 'howlearn[cluster]'"
AHEAD = 2  # parts per thread that wait or are done: nobody idles, and few are in memory
PATIENCE = 20.0  # seconds that a scheduler may be silent
CONNECTING = 30.0  # seconds until one that never answered is given up
LOCAL = "local:"

log = logging.getLogger("howlearn")


class Cluster:
    """A Dask cluster, whose workers do parts; every one uses a single core at a time."""

    def __init__(self, client: Client, own: Sequence[ModuleType] = ()) -> None:
        """``own`` are modules that the workers do not have: they travel with the work."""
        self.client = client
        self.seconds = 0.0  # that workers were busy
        self._common: dict[int, tuple[Any, Future]] = {}
        if own:
            import cloudpickle

            for module in own:
                cloudpickle.register_pickle_by_value(module)

    def do(self, parts: Iterator[Part], keep: Keep, progress: Progress) -> None:
        waiting: dict[Future, Part] = {}
        ready: Queue[Future] = Queue()
        done = kept = 0
        try:
            while True:
                room = self._room()
                while len(waiting) < room and (part := next(parts, None)) is not None:
                    future = self._submit(part)
                    waiting[future] = part
                    future.add_done_callback(ready.put)
                if not waiting:
                    return
                future = self._next(ready)
                part = waiting.pop(future)
                seconds, tables = self._result(future, part)
                keep(part, tables)
                future.release()
                self.seconds += seconds
                done, kept = done + part.size, kept + 1
                progress(done, 0)
        except (OSError, TimeoutError, CancelledError) as error:
            if isinstance(error, OSError) and error.filename is not None:  # a file of ours
                raise
            raise HowlearnError(
                f"the Dask scheduler at {self._address} no longer answers; {kept:,} parts were "
                "finished in this run and are kept, as are those of earlier ones. When there is a "
                "scheduler again, the same command goes on from there"
            ) from None
        finally:
            with suppress(Exception):
                self.client.cancel([*waiting], force=True)
            self._common.clear()

    @property
    def _address(self) -> str:
        scheduler = getattr(self.client, "scheduler", None)
        return str(getattr(scheduler, "address", "its address"))

    def _room(self) -> int:
        """How many parts may be under way."""
        with suppress(ValueError):  # asked while it comes or goes
            threads: Any = self.client.nthreads()
            return max(4, AHEAD * sum(threads.values()))
        return 4

    def _submit(self, part: Part) -> Future:
        work = part.work()
        known = self._common.get(id(work.common))
        with warnings.catch_warnings():
            # Trials go with the work: then a worker that dies takes nothing with it.
            warnings.filterwarnings("ignore", message="Sending large graph")
            if known is None:
                import cloudpickle

                blob = cloudpickle.dumps((work.run, work.common))
                common = self.client.submit(_unpacked, blob, pure=False)
                known = self._common[id(work.common)] = (work.common, common)
            return self.client.submit(
                _done, known[1], work.own, (__version__, versions()), pure=False
            )

    def _next(self, ready: Queue[Future]) -> Future:
        """One that is ready, however long it takes, as long as there is a scheduler."""
        silent_since = None
        while True:
            with suppress(Empty):
                return ready.get(timeout=2)
            if self.client.status == "running":
                silent_since = None
            else:
                silent_since = silent_since or time.monotonic()
                if self.client.status == "closed" or time.monotonic() - silent_since > PATIENCE:
                    raise TimeoutError

    def _result(self, future: Future, part: Part) -> tuple[float, dict[str, bytes]]:
        from distributed import KilledWorker

        try:
            return future.result(timeout=60)
        except KilledWorker as error:
            raise HowlearnError(
                f"part {part.number:,} of the work was given up: {error.allowed_failures + 1} "
                "workers died on it, perhaps for want of memory; give each worker more of it, or "
                "fewer threads"
            ) from None
        except ModuleNotFoundError as error:
            raise HowlearnError(
                f"a worker has no module {error.name!r}: the workers need the same installation "
                f"of howlearn {__version__} as this machine"
            ) from None


def _unpacked(blob: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(blob)


def _done(
    common: tuple[Any, Any], own: Any, made_with: tuple[str, dict[str, str]]
) -> tuple[float, dict[str, bytes]]:
    """On a worker: the seconds it took, and the content of the files."""
    here = (__version__, versions())
    if here != made_with:
        raise HowlearnError(
            f"a worker has howlearn {_told(here)}, where the run was started there is "
            f"{_told(made_with)}: results could differ, so install the same on all of them"
        )
    run, shared = common
    start = time.perf_counter()
    tables = encoded(run(shared, own, 1, lambda done, total: None))
    return time.perf_counter() - start, tables


def _told(found: tuple[str, dict[str, str]]) -> str:
    return f"{found[0]} ({', '.join(f'{name} {number}' for name, number in found[1].items())})"


@contextmanager
def cluster_at(where: str, own: Sequence[ModuleType] = ()) -> Iterator[Cluster]:
    """The cluster that ``--dask`` names: an address, a scheduler file, or ``local:4``."""
    try:
        import distributed
    except ImportError:
        raise HowlearnError(MISSING) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said in words
    if where.startswith(LOCAL):
        with _local(where) as client:
            yield Cluster(client, own)
        return
    file = Path(where)
    options: dict[str, Any] = {"scheduler_file": where} if file.is_file() else {"address": where}
    if not file.is_file() and "://" not in where and not where.rpartition(":")[2].isdigit():
        raise HowlearnError(
            f"--dask {where}: neither an address, such as tcp://host:8786, nor a scheduler file "
            "that is there, nor local:4 for four processes on this machine"
        )
    try:
        client = distributed.Client(**options, timeout=CONNECTING, set_as_default=False)
    except (OSError, TimeoutError, ValueError, KeyError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise HowlearnError(
            f"--dask {where}: no Dask scheduler answers there ({reason}); start one with: dask "
            "scheduler, and workers with: dask worker ADDRESS"
        ) from None
    try:
        if not client.nthreads():
            log.info("the cluster has no worker yet; the work waits for one")
        yield Cluster(client, own)
    finally:
        with suppress(Exception):
            client.close(timeout=5)


@contextmanager
def _local(where: str) -> Iterator[Client]:
    import distributed

    count = where.removeprefix(LOCAL)
    if not count.isdigit() or not 1 <= int(count) <= 1024:
        raise HowlearnError(f"--dask {where}: write local:4 for four processes on this machine")
    cluster = distributed.LocalCluster(
        n_workers=int(count),
        threads_per_worker=1,
        memory_limit=0,  # parts are small; pausing would only stop a run
        dashboard_address=None,  # type: ignore[arg-type]  (none is wanted)
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
