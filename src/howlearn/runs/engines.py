"""Who does the work of a call from Python: a Dask client, or this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from howlearn.core.errors import HowlearnError
from howlearn.runs.work import Engine, Threads

if TYPE_CHECKING:
    from distributed import Client


def engine_of(client: Client | None, threads: int | None) -> Engine:
    """The cluster of a client, if there is one."""
    if client is None:
        return Threads(threads)
    _check(client)
    from howlearn.runs.cluster import Cluster

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
