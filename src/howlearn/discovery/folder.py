"""``discover`` for studies of any size: chunk by chunk of learners, into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from howlearn.criteria import Criterion
from howlearn.discovery.discover import COUNT, attempt, check, nobody
from howlearn.discovery.result import Discovery
from howlearn.discovery.tables import conditions_of, contexts_met
from howlearn.engine.set_partitions import LARGEST
from howlearn.fitting.guard import SHORTEST
from howlearn.fitting.run import Progress
from howlearn.folder import Format, RunFolder
from howlearn.models import PartitionModel
from howlearn.rule import Rule
from howlearn.study import Study

LEARNERS = ("partitions", "coclassification", "marked")  # tables with rows for every learner
TOGETHER = ("population", "consensus", "models")  # tables of all learners together
CHART = "coclassification"
OUTPUTS = {
    *(f"{table}.{ending}" for table in (*LEARNERS, *TOGETHER) for ending in ("csv", "parquet")),
    *(f"{CHART}.{ending}" for ending in ("svg", "png")),
}
CHUNK = 200  # learners in a part: a few seconds with nine contexts


def discover_into(
    folder: Path,
    study: Study,
    rule: Rule,
    criteria: Sequence[Criterion],
    models: Sequence[PartitionModel],
    manifest: Mapping[str, object],
    count: int = COUNT,
    by: Sequence[str] = (),
    format: Format = "csv",
    fresh: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Discover for every learner and leave tables in a folder; finished chunks are not repeated."""
    study = study.without_excluded()
    criteria = check(study, rule, criteria, models, count, by)
    run = RunFolder(folder, manifest, fresh, OUTPUTS)
    # A part should not take long, so that little is lost when a run is stopped.
    size = CHUNK if len(study.contexts) <= 10 else 20 if len(study.contexts) <= LARGEST else 2
    for number, start in enumerate(range(0, len(study), size)):
        stop = min(start + size, len(study))
        if not run.has([*LEARNERS], number):

            def report(done: int, _: int, start: int = start) -> None:
                if progress:
                    progress(start + done, len(study))

            chunk = study.part(start, stop)
            found = attempt(chunk, rule, criteria, models, count, by, threads, report)
            run.write(number, {name: getattr(found, name) for name in LEARNERS})
        if progress:
            progress(stop, len(study))
    whole = joined(run, study, criteria, by)
    if len(whole.unjudged) == len(study):
        nobody(whole.unjudged["status"])
    for name in LEARNERS:
        run.assemble(name, format)
    for name in TOGETHER:
        run.assemble(name, format, getattr(whole, name).lazy())
    return whole


def joined(
    run: RunFolder, study: Study, criteria: Sequence[Criterion], by: Sequence[str]
) -> Discovery:
    """What all parts hold together."""
    partitions, coclassification, marked = (run.read(name).collect() for name in LEARNERS)
    pairs = zip(contexts_met(study), study.n_scored >= SHORTEST, strict=True)
    unmet = sum(len(met) < len(study.contexts) for met, judged in pairs if judged)
    return Discovery(
        partitions,
        coclassification,
        marked,
        contexts=tuple(study.contexts),
        criteria=tuple(repr(criterion) for criterion in criteria),
        by=conditions_of(study, by),
        n_unmet=unmet,
    )
