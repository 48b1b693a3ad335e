"""``select``: in memory, or chunk by chunk of learners into a folder, here or on a cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.columns import free, renamed
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import FitPlan, check_stops, guarded_fit
from howlearn.fitting.fits import ALL, check_epsilon
from howlearn.fitting.intervals import nats_within
from howlearn.fitting.joint import with_others
from howlearn.fitting.remembered import remembering
from howlearn.fitting.unfittable import Guard
from howlearn.models.task import Task
from howlearn.reading.formats.delimited import Delimited
from howlearn.reading.formats.folders import own
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.table import FRAME_NAME, Held, Table
from howlearn.reading.formats.wide import Long
from howlearn.results.bids import write_events
from howlearn.results.chunk import ALWAYS, WITH_EXCLUDED, Chunk, Wanted, chunk_tables
from howlearn.results.inputs import Inputs
from howlearn.results.manifest import check_unchanged, manifest_of
from howlearn.results.results import Results
from howlearn.runs.files import BIDS
from howlearn.runs.folder import START, Format, RunFolder, Start
from howlearn.runs.parts import Part, Progress, Work
from howlearn.selection.criterion import Criterion
from howlearn.selection.predictions import (
    averages,
    check_named,
    is_weighted,
    leaders,
    only_used,
    source_of,
    with_every_row,
)
from howlearn.selection.select import check_criteria
from howlearn.selection.share_tables import Known, group_tables, shares_table
from howlearn.selection.tables import among, included
from howlearn.selection.unfitted import check_somebody, nobody_left

# The rows of the files a study was read from, as they are, to add results to them.


def originals(study: Study) -> list[pl.DataFrame]:
    """All columns of every file, read again; none if the study did not come from files."""
    source = study.source
    if source is None or source.files == (FRAME_NAME,):
        return []
    check_unchanged(study)
    tables, problems, _ = open_tables(list(source.files))
    if problems:
        raise DataError(problems)
    frames = []
    for name, rows, table in zip(source.files, source.file_rows, tables, strict=True):
        frame = _rows(table)
        if frame.height != rows and isinstance(table, Long):  # an option said that it is not wide
            frame = _rows(table.table)
        if frame.height and rows != frame.height and rows % frame.height == 0:  # --stages
            frame = frame[np.repeat(np.arange(frame.height), rows // frame.height)]
        frames.append(frame)
        if frame.height != rows:
            raise HowlearnError(
                f"{name} has changed since it was read: it had {rows:,} rows and has "
                f"{frame.height:,} now; start the command again with --fresh"
            )
    return frames


def beside(frame: pl.DataFrame, inputs: list[pl.DataFrame]) -> pl.DataFrame:
    """Results with one row per input row, and after them the input's own columns.

    A column with the name of a result is called ``input_NAME``; where a file lacks a column that
    another has, it is empty.

    >>> results = pl.DataFrame({"model": ["A", None]})
    >>> inputs = [pl.DataFrame({"model": ["x"]}), pl.DataFrame({"rt": ["0.5"]})]
    >>> beside(results, inputs).rows(named=True)[0]
    {'model': 'A', 'input_model': 'x', 'rt': None}
    """
    if not inputs:
        return frame
    whole = pl.concat(_alike(inputs), how="diagonal")
    return frame.hstack(renamed(whole, frame.columns).get_columns())


def _rows(table: Table) -> pl.DataFrame:
    table = own(table)  # what the names of files and folders add is not in the rows
    if isinstance(table, Delimited):
        frame = table.everything()
        named = {name for name in table.columns if name}
        frame.columns = [  # a column without a name, as R writes one for the rows
            name or free(f"column_{i}", named)
            for i, name in enumerate(table.columns[: frame.width], start=1)
        ]
        return frame
    whole = isinstance(table, Held)  # even with two columns of the same name
    frame = table.everything() if whole else pl.concat(table.frames(table.columns))
    return frame.with_columns(
        pl.Series(
            column.name, [None if value is None else str(value) for value in column.to_list()]
        )
        for column in frame.get_columns()
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary)
    )


def _alike(frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The frames with text in the columns whose types differ between them."""
    types: dict[str, set[pl.DataType]] = {}
    for frame in frames:
        for name, kind in frame.schema.items():
            types.setdefault(name, set()).add(kind)
    mixed = [name for name, kinds in types.items() if len(kinds) > 1]
    return [
        frame.with_columns(pl.col(name).cast(pl.String) for name in mixed if name in frame.columns)
        for frame in frames
    ]


LEARNED, LEARNED_ALL = "learned", "learned-all"  # parts: what criteria learned
SEVERAL, FEWEST = 8, 200  # parts of a run that is not small; learners in one of these
CHUNK = 5_000  # learners whose tables are held in memory at once
# About two seconds of one core: little is lost when a run is stopped, and on a cluster a part costs
# little beside it.
WORK = 3 * 10**8  # curves × trials in a part, about
HASHED = 10_000  # learners whose trials are looked at together


def manifest_in_memory(
    study: Study, wanted: Wanted, predictions: bool, format: Format
) -> dict[str, Any]:
    """What decides the results of a study that is in memory."""
    options = {
        "criteria": [repr(criterion) for criterion in wanted.criteria],
        "within": wanted.within,
        "intervals": wanted.intervals,
        "predictions": predictions,
        "latents": wanted.latents,
        "format": format,
    }
    known = manifest_of((), study, wanted.models, options, hashed=False)
    return {**known, "study": content_hash(study)}


def content_hash(study: Study) -> str:
    """Of everything in a study that results depend on, wherever its trials came from."""
    found = hashlib.sha256()
    shared = (study.contexts, study.actions, study.reward_range, study.right_wrong, study.zero)
    features = sorted((c, sorted(of.items())) for c, of in study.features.items())
    found.update(repr((shared, features)).encode())
    if study.answers is not None:
        found.update(np.ascontiguousarray(study.answers).tobytes())
    for first in range(0, len(study), HASHED):
        part = study.part(first, min(first + HASHED, len(study)))
        found.update(repr((part.learners, part.excluded, part.about.rows())).encode())
        arrays = (part.starts, part.context, part.action, part.reward, part.scored, part.learned)
        for array in (*arrays, part.reset, part.forgone, part.episode_end, part.duration):
            found.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
        if part.offered is not None:
            found.update(np.packbits(part.offered).tobytes())
        if part.load is not None:
            found.update(np.ascontiguousarray(part.load).tobytes())
    return f"sha256:{found.hexdigest()}"


def write_selection(
    folder: Path,
    study: Study,
    wanted: Wanted,
    manifest: Mapping[str, object],
    format: Format = "csv",
    start: Start = START,
    progress: Progress | None = None,
    known: Mapping[str, Known] | None = None,
    task: Task | None = None,
) -> Results:
    """Select for every learner and leave tables in a folder; finished chunks are not repeated.

    ``known`` are confusion matrices by criterion, for shares that are corrected for them.
    """
    plan, others = _checked(study, wanted, start.threads)
    models = with_others(
        others,
        wanted.models,
        lambda experts: guarded_fit(Guard(), others, experts, [ALL], start.threads),
    )
    size = _size(study, wanted, plan)
    with remembering(), RunFolder(folder, manifest, Results.outputs(), start) as run:

        def learned(who: Study, criterion: Criterion, name: str) -> Criterion:
            known = run.known(f"{name}-{criterion.key}")
            if known is not None:
                return criterion.knowing(known, models)
            found = criterion.learn(who, models, None, start.threads, progress)
            run.remember(f"{name}-{criterion.key}", found.knowledge())
            return found

        asked = check_criteria(wanted.criteria)
        criteria = [learned(others, criterion, LEARNED) for criterion in asked]
        # What learned from learners judges otherwise if the excluded are among them.
        again = [c for c, known in zip(asked, criteria, strict=True) if known is not c]
        again = [] if study.included.all() else again
        everybody = Guard().long_enough(study) if again else study
        again = [learned(everybody, criterion, LEARNED_ALL) for criterion in again]
        wanted = replace(wanted, models=models, criteria=criteria, again=again)

        def part(number: int) -> Part:
            first, end = number * size, min((number + 1) * size, len(study))
            return Part(
                number,
                wanted.tables,
                end - first,
                lambda: Work(
                    chunk_tables, wanted, Chunk.of(study, first, end, wanted.with_predictions)
                ),
            )

        run.complete([part(number) for number in range(-(-len(study) // size))], progress)
        _assemble(run, wanted, study, format, known)
    inputs = Inputs(task, study, tuple(wanted.models), {})
    return Results.of(folder, inputs=inputs)


def _size(study: Study, wanted: Wanted, plan: FitPlan) -> int:
    """How many learners make a part."""
    # A part should not take long, so that little is lost when a run is stopped.
    times = 1 + sum(extra.cost for extra in wanted.extras)
    each = times * plan.n_units * len(study.context) // len(study)
    # And there should be several, so that workers and shards have something to do.
    several = max(FEWEST, -(-len(study) // SEVERAL))
    return int(min(CHUNK, several, max(50 if times == 1 else 1, WORK // max(1, each))))


def _checked(study: Study, wanted: Wanted, threads: int | None) -> tuple[FitPlan, Study]:
    """Refuse what cannot be done, before any work; the fits there will be, and the included."""
    plan = check_somebody(study, wanted.models, threads)
    criteria = check_criteria(wanted.criteria)
    check_named(wanted.predict_with, wanted.models)
    others = Guard().long_enough(study.without_excluded())
    for criterion in criteria:
        criterion.check(others)
    check_stops(study, wanted.models, [t for c in criteria for t in c.truncations])
    if wanted.epsilon is not None:
        check_epsilon(wanted.epsilon, len(study.actions))
    if wanted.intervals is not None:
        nats_within(wanted.intervals)
    if wanted.with_weights and not any(is_weighted(model) for model in wanted.models):
        raise HowlearnError(
            "--weights: no candidate is a mixture of strategies; add one, such as --add-model "
            "'exp4(ByShape, ByShapeExc)'"
        )
    return plan, others


def _assemble(
    run: RunFolder, wanted: Wanted, study: Study, format: Format, known: Mapping[str, Known] | None
) -> None:
    """The tables of all learners."""
    models, criteria, again = wanted.models, wanted.criteria, wanted.again
    nobody_left(run.read("selection"))
    for name in ALWAYS:
        run.assemble(name, format)
    texts, candidates = [repr(c) for c in criteria], [model.name for model in models]
    scores = run.read("scores")
    shares = shares_table(included(scores), texts, candidates, known, learned=wanted.criteria)
    both = shares
    if study.excluded is not None:
        everybody = shares
        if not study.included.all():
            rest = [scores.filter(~pl.col("criterion").is_in([repr(c) for c in again]))]
            rest += [run.read(WITH_EXCLUDED)] if again else []
            everybody = shares_table(
                pl.concat(rest), texts, candidates, known, learned=[*criteria, *again]
            )
        both = among(shares, everybody)
    run.assemble("shares", format, both.lazy())
    if wanted.with_predictions:
        frame = with_every_row(run.read("predictions").collect(), study)
        if wanted.latents:
            frame = only_used(frame, models, study)
            by = f"the model that {criteria[0]!r} selects for each learner"
            which = f"the model {wanted.predict_with}" if wanted.predict_with else by
            inputs = originals(study)
            if inputs:
                write_events(run.path / BIDS, frame, source_of(study).files, inputs, models, which)
            frame = beside(frame, inputs)
        run.assemble("predictions", format, frame.lazy())
    if wanted.later is not None:
        run.assemble("future", format)
    if wanted.epsilon is not None:
        run.assemble("lowest", format)
    for extra in wanted.extras:
        run.assemble(extra.name, format)
    if wanted.with_weights:
        run.assemble("weights", format)
        run.assemble("weights-mean", format, averages(included(run.read("weights"))).lazy())
        run.assemble("leaders", format, leaders(run.read("weights").collect()).lazy())
    together = group_tables(criteria)
    with_all = group_tables(again) if again else together
    for name, frame in together.items():
        frame = frame if study.excluded is None else among(frame, with_all[name])
        run.assemble(name, format, frame.lazy())
