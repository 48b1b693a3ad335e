"""``select`` for studies of any size: chunk by chunk of learners, into a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.bids import write_events
from howlearn.criteria import Criterion, HoldOut, Prequential
from howlearn.engine.layout import Statuses
from howlearn.errors import HowlearnError
from howlearn.fitting.fits import STATUS_WORDS, Fits
from howlearn.fitting.guard import Guard
from howlearn.fitting.intervals import nats_within
from howlearn.fitting.population import with_others
from howlearn.fitting.run import Progress, check_stops, fit
from howlearn.fitting.truncation import ALL
from howlearn.folder import ALWAYS, BIDS, Format, RunFolder
from howlearn.future import leave_future_out
from howlearn.group_tables import group_tables
from howlearn.model import Model
from howlearn.predictions import (
    check_named,
    only_used,
    predictions,
    source_of,
    with_every_row,
)
from howlearn.reading.originals import beside, originals
from howlearn.selection import WITHIN, Selection, attempt, check_criteria, choose
from howlearn.share_tables import Known, shares_table
from howlearn.study import Study, trials_of
from howlearn.tables import among, fitted
from howlearn.theory.quantity import check_epsilon
from howlearn.unfitted import check_somebody, nobody_left, unfitted_of
from howlearn.weighing import averages, is_weighted, leaders, weights

WITH_EXCLUDED = "scores-all"  # parts: scores by criteria that learned from everybody
CHUNK = 5_000  # learners whose tables are held in memory at once
WORK = 10**8  # curves × trials in a part, about


@dataclass
class Summary:
    """What the end of a run tells: counts over all learners."""

    n_learners: int = 0
    selected: dict[str, Counter[str]] = field(default_factory=dict)  # by criterion
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    agreeing: int = 0  # learners for whom all criteria select the same model
    statuses: Counter[str] = field(default_factory=Counter)  # of the selected models' estimates
    together: dict[str, pl.DataFrame] = field(default_factory=dict)  # what all learners tell
    n_excluded: int | None = None  # None: nobody was asked about
    shares: pl.DataFrame = field(default_factory=pl.DataFrame)  # of the included, and of all
    unfitted: pl.DataFrame = field(default_factory=pl.DataFrame)  # who, and why


@dataclass(frozen=True)
class Extra:
    """A table that is made of every chunk's selection, by what lies above this module."""

    name: str
    # The selection, the number of its first learner, and progress in learners → the table.
    make: Callable[[Selection, int, Progress], pl.DataFrame]
    cost: int = 1  # how many times as long as fitting it takes


def select_into(
    folder: Path,
    study: Study,
    models: Sequence[Model],
    criteria: Sequence[Criterion],
    manifest: Mapping[str, object],
    within: float = WITHIN,
    format: Format = "csv",
    with_predictions: bool = False,
    fresh: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    latents: bool = False,
    predict_with: str | None = None,
    with_weights: bool = False,
    epsilon: float | None = None,
    known: Mapping[str, Known] | None = None,
    intervals: float | None = None,
    extras: Sequence[Extra] = (),
) -> Summary:
    """Select for every learner and leave tables in a folder; finished chunks are not repeated.

    ``latents`` adds the latent variables of the models to the predictions, and ``predict_with``
    names a model for the predictions of all learners. ``with_weights`` adds the weights of the
    mixtures' strategies; ``epsilon`` a table of the smallest probabilities of every fit. ``known``
    are confusion matrices by criterion, for shares that are corrected for them. ``intervals`` is
    their level for all models (see ``select``); ``extras`` are tables that others make.
    """
    plan, criteria = check_somebody(study, models, threads), check_criteria(criteria)
    check_named(predict_with, models)
    others = Guard().long_enough(study.without_excluded())
    for criterion in criteria:
        criterion.check(others)
    check_stops(study, models, [t for criterion in criteria for t in criterion.truncations])
    if epsilon is not None:
        check_epsilon(epsilon, len(study.actions))
    if intervals is not None:
        nats_within(intervals)
    if with_weights and not any(is_weighted(model) for model in models):
        raise HowlearnError(
            "--weights: no candidate is a mixture of strategies; add one, such as --add-model "
            "'exp4(ByShape, ByShapeExc)'"
        )
    models = with_others(
        others, models, lambda experts: fit(others, experts, [ALL], threads, guard=Guard())
    )
    # A part should not take long, so that little is lost when a run is stopped.
    times = 1 + sum(extra.cost for extra in extras)
    each = times * plan.n_units * len(study.context) // len(study)
    size = int(min(CHUNK, max(50 if times == 1 else 1, WORK // max(1, each))))
    run = RunFolder(folder, manifest, fresh)
    asked = criteria
    criteria = [criterion.learn(others, models, None, threads, progress) for criterion in asked]
    # What learned from learners judges otherwise if the excluded are among them.
    again = [c for c, known in zip(asked, criteria, strict=True) if known is not c]
    again = [] if study.included.all() else again
    again = [criterion.learn(study, models, None, threads, progress) for criterion in again]
    names = [*ALWAYS, "statuses", *(["predictions"] if with_predictions else [])]
    names += ["weights"] if with_weights else []
    names += ["lowest"] if epsilon is not None else []
    later = next((c for c in criteria if isinstance(c, HoldOut | Prequential)), None)
    later = later if with_predictions else None
    names += ["future"] if later else []
    names += [extra.name for extra in extras]
    names += [WITH_EXCLUDED] if again else []
    for number, start in enumerate(range(0, len(study), size)):
        stop = min(start + size, len(study))
        if not run.has(names, number):

            def report(done: float, _: int, start: int = start) -> None:
                if progress:
                    progress(start + int(done), len(study))

            chunk = study.part(start, stop)
            first = report if not extras else None  # nearly all of the work comes later
            selection = attempt(chunk, models, criteria, within, threads, first, intervals)
            parts = {name: getattr(selection, name) for name in ALWAYS}
            parts["statuses"] = _statuses(selection)
            if with_predictions:
                parts["predictions"] = predictions(selection, study, start, predict_with, latents)
            if later:
                fits = _with_source(selection, study, start)
                parts["future"] = leave_future_out(fits, later)
            if with_weights:
                parts["weights"] = weights(selection)
            if epsilon is not None:
                parts["lowest"] = selection.lowest(epsilon)
            for extra in extras:
                parts[extra.name] = extra.make(selection, start, report)
            if again:
                parts[WITH_EXCLUDED] = choose(selection.fits, again, within, threads).scores
            run.write(number, parts)
        if progress:
            progress(stop, len(study))
    nobody_left(run.read("selection"))
    for name in ALWAYS:
        run.assemble(name, format)
    texts, candidates = [repr(c) for c in criteria], [model.name for model in models]
    scores = run.read("scores")
    shares = shares_table(_included(scores), texts, candidates, known)
    both = shares
    if study.excluded is not None:
        everybody = shares
        if not study.included.all():
            rest = [scores.filter(~pl.col("criterion").is_in([repr(c) for c in again]))]
            rest += [run.read(WITH_EXCLUDED)] if again else []
            everybody = shares_table(pl.concat(rest), texts, candidates, known)
        both = among(shares, everybody)
    run.assemble("shares", format, both.lazy())
    if with_predictions:
        frame = with_every_row(run.read("predictions").collect(), study)
        if latents:
            frame = only_used(frame, models, study)
            by = f"the model that {criteria[0]!r} selects for each learner"
            which = f"the model {predict_with}" if predict_with else by
            inputs = originals(study)
            if inputs:
                write_events(folder / BIDS, frame, source_of(study).files, inputs, models, which)
            frame = beside(frame, inputs)
        run.assemble("predictions", format, frame.lazy())
    if later:
        run.assemble("future", format)
    if epsilon is not None:
        run.assemble("lowest", format)
    for extra in extras:
        run.assemble(extra.name, format)
    if with_weights:
        run.assemble("weights", format)
        run.assemble("weights-mean", format, averages(_included(run.read("weights"))).lazy())
        run.assemble("leaders", format, leaders(run.read("weights").collect()).lazy())
    together = group_tables(criteria)
    with_all = group_tables(again) if again else together
    for name, frame in together.items():
        frame = frame if study.excluded is None else among(frame, with_all[name])
        run.assemble(name, format, frame.lazy())
    selected = run.read("selection")
    unfitted = unfitted_of(selected)
    found = summary(_included(fitted(selected)), run.read("statuses"), len(criteria))
    found.unfitted = unfitted
    found.together = {**together, "shares": shares} if together else {}
    if study.excluded is not None:
        found.n_excluded, found.shares = int((~study.included).sum()), both
    return found


def summary(selection: pl.LazyFrame, statuses: pl.LazyFrame, n_criteria: int) -> Summary:
    """Count over the parts."""
    verdict = pl.col("verdict").str.replace(r" between .*", "")
    counts = selection.group_by("criterion", "model", verdict.alias("verdict")).len().collect()
    result = Summary()
    for criterion, model, word, count in counts.sort("criterion", "model", "verdict").iter_rows():
        result.selected.setdefault(criterion, Counter())[model] += count
        result.verdicts.setdefault(criterion, Counter())[word] += count
    models = selection.select("model").collect()["model"].to_numpy()
    by_learner = models.reshape(-1, n_criteria)  # the rows of a learner stand together
    result.n_learners = len(by_learner)
    result.agreeing = int(np.all(by_learner == by_learner[:, :1], axis=1).sum())
    total = statuses.group_by("status").agg(pl.col("count").sum()).collect()
    result.statuses = Counter(dict(total.iter_rows()))
    return result


def _included(table: pl.LazyFrame) -> pl.LazyFrame:
    """The rows of learners who are not excluded."""
    if "excluded" not in table.collect_schema():
        return table
    return table.filter(pl.col("excluded").is_null())


def _with_source(selection: Selection, study: Study, first: int) -> Fits:
    """The fits of learners from ``first`` on of ``study``, whose trials know their rows again."""
    fits, source = selection.fits, source_of(study)
    rows = source.row[trials_of(study, first + selection.places)]
    return replace(fits, study=replace(fits.study, source=replace(source, rows=rows)))


def _statuses(selection: Selection) -> pl.DataFrame:
    """How the fits ended that the first criterion selects, counted over their parameters."""
    fits = selection.fits
    j = fits.at(fits.fullest)
    counts: Counter[int] = Counter()
    for k, part in enumerate(fits.of.values()):
        mine = (selection.choices[0].selected == k) & fits.study.included
        counts.update(part.status[mine, j].reshape(-1).tolist())
    if fits.fullest == ALL:
        counts[Statuses.UNSEEN] = 0  # never shown to the learner: nothing to attend to
    return pl.DataFrame(
        {
            "status": [STATUS_WORDS[code] for code in STATUS_WORDS],
            "count": [counts[code] for code in STATUS_WORDS],
        }
    )
