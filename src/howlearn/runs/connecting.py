"""Which cluster ``--dask`` means."""

from __future__ import annotations

import json
import logging
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from howlearn.core.errors import HowlearnError
from howlearn.runs.cluster import Cluster

if TYPE_CHECKING:
    from distributed import Client

MISSING = "--dask needs Dask: pip install 'howlearn[cluster]'"
CONNECTING = 30.0  # seconds until a scheduler that never answered is given up
LOCAL = "local:"
# Nobody looks at how a cluster of our own feels, which by default is asked fifty times a second.
CALM = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "5s",
}


@contextmanager
def cluster_at(where: str) -> Iterator[Cluster]:
    """The cluster that ``--dask`` names: an address, a scheduler file, or ``local:4``."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise HowlearnError(MISSING) from None
    _be_quiet()
    with _local(where) if where.startswith(LOCAL) else _connected(where) as client:
        yield Cluster(client)


def _be_quiet() -> None:
    """What matters is said in words of our own."""
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
        f"--dask {where}: that is no file that a Dask scheduler wrote; start one with: dask "
        f"scheduler --scheduler-file {where}"
    )


@contextmanager
def _local(where: str) -> Iterator[Client]:
    import distributed
    from dask import config

    count = where.removeprefix(LOCAL)
    if not (count.isascii() and count.isdigit()) or not 1 <= int(count) <= 1024:
        raise HowlearnError(f"--dask {where}: write local:4 for four processes on this machine")
    with _shielded(), config.set(CALM):
        cluster = distributed.LocalCluster(
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
