"""``path`` into a folder: stage by stage, so that a run that was stopped goes on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path as FilePath

from polars import DataFrame

from howlearn.core.columns import files
from howlearn.runs.folder import START, Format, RunFolder, Start
from howlearn.runs.parts import Part, Progress, Work
from howlearn.sensitivity.result import Path
from howlearn.sensitivity.work import Stage
from howlearn.sensitivity.work import Work as Asked

LEARNERS = "path-learners"
TABLES = {"path": "shares", "path-leaders": "leaders", "path-marks": "marks"}
CHART = "path"
OUTPUTS = {
    *files("path", "csv", "parquet"),
    *(f"{CHART}.{ending}" for ending in ("svg", "png")),
}


def path_into(
    folder: FilePath,
    work: Asked,
    manifest: Mapping[str, object],
    format: Format = "csv",
    start: Start = START,
    progress: Progress | None = None,
) -> Path:
    """Do the work and leave tables in a folder; finished stages are not repeated."""
    stages, n = work.stages, len(work.study)

    def part(k: int) -> Part:
        def run(
            _: None, stage: Stage, threads: int | None, within: Progress
        ) -> dict[str, DataFrame]:
            return {LEARNERS: stage(lambda done, total: within(done * n // max(total, 1), n))}

        return Part(k, (LEARNERS,), n, partial(Work, run, None, stages[k]))

    with RunFolder(folder, manifest, OUTPUTS, start) as run:
        run.complete([part(k) for k in range(len(stages))], progress)
        run.assemble(LEARNERS, format)
        found = work.result(run.read(LEARNERS).collect())
        for table, name in TABLES.items():
            run.assemble(table, format, getattr(found, name).lazy())
    return found
