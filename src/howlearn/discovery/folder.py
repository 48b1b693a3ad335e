"""``discover`` for studies of any size: chunk by chunk of learners, into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polars import DataFrame

from howlearn.core.columns import files
from howlearn.core.rule import Rule
from howlearn.core.study import SHORTEST, Study
from howlearn.discovery.discover import COUNT, attempt, check, nobody
from howlearn.discovery.result import Discovery
from howlearn.discovery.tables import LEARNERS, conditions_of, contexts_met
from howlearn.engine.set_partitions import LARGEST
from howlearn.models.partition_model import PartitionModel
from howlearn.runs.cluster import engine_of
from howlearn.runs.folder import START, Format, RunFolder, Start
from howlearn.runs.parts import Memory, Part, Progress, Store, Work
from howlearn.selection.criterion import Criterion

if TYPE_CHECKING:
    from distributed import Client

TOGETHER = ("population", "consensus", "models")  # tables of all learners together
CHART = "coclassification"
OUTPUTS = {
    *files("discover", "csv", "parquet"),
    *(f"{CHART}.{ending}" for ending in ("svg", "png")),
}
CHUNK = 200  # learners in a part: a few seconds with nine contexts


@dataclass(frozen=True, eq=False)
class _Discovering:
    rule: Rule
    criteria: Sequence[Criterion]
    models: Sequence[PartitionModel]
    count: int
    by: Sequence[str]


def _discover(
    of: _Discovering, chunk: Study, threads: int | None, progress: Progress
) -> dict[str, DataFrame]:
    """Some learners."""
    found = attempt(chunk, of.rule, of.criteria, of.models, of.count, of.by, threads, progress)
    return {name: getattr(found, name) for name in LEARNERS}


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
    start: Start = START,
    progress: Progress | None = None,
) -> Discovery:
    """Discover for every learner and leave tables in a folder; finished chunks are not repeated."""
    study = study.without_excluded()
    criteria = check(study, rule, criteria, models, count, by)
    parts = _parts(study, _Discovering(rule, criteria, models, count, by))
    with RunFolder(folder, manifest, OUTPUTS, start) as run:
        run.complete(parts, progress)
        whole = joined(run, study, criteria, by)
        for name in LEARNERS:
            run.assemble(name, format)
        for name in TOGETHER:
            run.assemble(name, format, getattr(whole, name).lazy())
    return whole


def discover_with(
    client: Client,
    study: Study,
    rule: Rule,
    criteria: Sequence[Criterion],
    models: Sequence[PartitionModel],
    count: int,
    by: Sequence[str],
    progress: Progress | None = None,
) -> Discovery:
    """Discover on a cluster, for learners and criteria that were checked."""
    store = Memory(engine_of(client, None))
    store.complete(_parts(study, _Discovering(rule, criteria, models, count, by)), progress)
    return joined(store, study, criteria, by)


def _parts(study: Study, common: _Discovering) -> list[Part]:
    """The work, always divided in the same way."""
    # A part should not take long, so that little is lost when a run is stopped.
    size = CHUNK if len(study.contexts) <= 10 else 20 if len(study.contexts) <= LARGEST else 2

    def part(number: int) -> Part:
        first, end = number * size, min((number + 1) * size, len(study))
        return Part(
            number,
            LEARNERS,
            end - first,
            lambda: Work(_discover, common, study.part(first, end)),
        )

    return [part(number) for number in range(-(-len(study) // size))]


def joined(run: Store, study: Study, criteria: Sequence[Criterion], by: Sequence[str]) -> Discovery:
    """What all parts hold together."""
    partitions, coclassification, marked = (run.read(name).collect() for name in LEARNERS)
    pairs = zip(contexts_met(study), study.n_scored >= SHORTEST, strict=True)
    unmet = sum(len(met) < len(study.contexts) for met, judged in pairs if judged)
    whole = Discovery(
        partitions,
        coclassification,
        marked,
        contexts=tuple(study.contexts),
        criteria=tuple(repr(criterion) for criterion in criteria),
        by=conditions_of(study, by),
        n_unmet=unmet,
    )
    if len(whole.unjudged) == len(study):
        nobody(whole.unjudged["status"])
    return whole
