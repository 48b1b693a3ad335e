"""How a run is started: here or on a cluster, the whole of it or a share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howlearn.runs.folder import Start


@contextmanager
def starting(
    out: Path, fresh: bool, workers: int | None, dask: str | None, shard: str | None
) -> Iterator[Start]:
    """What ``--fresh``, ``--workers``, ``--dask`` and ``--shard`` ask for."""
    from howlearn.core.errors import HowlearnError
    from howlearn.runs.folder import Start
    from howlearn.runs.parts import Threads
    from howlearn.runs.shards import MERGE, Nobody, Shard

    if shard == MERGE:  # as howlearn merge asks
        yield Start(False, workers, Nobody(out))
        return
    share = Shard.named(shard) if shard else None
    if dask is None:
        yield Start(fresh, workers, Threads(workers), share, sys.argv[1:])
        return
    from howlearn.runs.cluster import cluster_at

    if share is not None:
        raise HowlearnError("--shard and --dask both spread the work: give one of them")
    with cluster_at(dask) as cluster:
        yield Start(fresh, workers, cluster, None)
