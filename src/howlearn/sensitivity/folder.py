"""``path`` into a folder: stage by stage, so that a run that was stopped goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath

from howlearn.fitting.run import Progress
from howlearn.folder import Format, RunFolder
from howlearn.sensitivity.result import Path
from howlearn.sensitivity.work import Work, part_of

LEARNERS = "path-learners"
TABLES = {"path": "shares", "path-leaders": "leaders", "path-marks": "marks"}
CHART = "path"
OUTPUTS = {
    *(f"{table}.{ending}" for table in (LEARNERS, *TABLES) for ending in ("csv", "parquet")),
    *(f"{CHART}.{ending}" for ending in ("svg", "png")),
}


def path_into(
    folder: FilePath,
    work: Work,
    manifest: Mapping[str, object],
    format: Format = "csv",
    fresh: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Do the work and leave tables in a folder; finished stages are not repeated."""
    run = RunFolder(folder, manifest, fresh, OUTPUTS)
    for k, stage in enumerate(work.stages):
        report = part_of(progress, k, len(work.stages), len(work.study))
        if not run.has([LEARNERS], k):
            run.write(k, {LEARNERS: stage(report)})
        report(1, 1)
    run.assemble(LEARNERS, format)
    found = work.result(run.read(LEARNERS).collect())
    for table, name in TABLES.items():
        run.assemble(table, format, getattr(found, name).lazy())
    return found
