"""The tables of a chunk of learners, and of all: in memory, or in a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core import columns
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, trials_of
from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import ALL, STATUS_WORDS
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.results.analysis import Tables
from howlearn.results.inputs import Inputs, recorded
from howlearn.results.manifest import (
    CLEAR,
    FIT,
    WITHHELD,
    fails,
    manifest_of,
    read_manifest,
    with_verdicts,
)
from howlearn.results.manifest import TABLES as VERDICTS
from howlearn.runs.files import PARTS
from howlearn.runs.folder import read_table, there
from howlearn.runs.parts import Parts, Progress, identity
from howlearn.selection.criterion import Criterion
from howlearn.selection.predictions import leave_future_out, predictions, source_of, weights
from howlearn.selection.select import WITHIN, Selection, attempt, choose
from howlearn.selection.share_tables import group_tables, shares_of
from howlearn.selection.tables import among
from howlearn.selection.unfitted import unfitted_of, without_unfitted

ALWAYS = ("scores", "estimates", "selection", "learners")  # tables of every selection
WITH_EXCLUDED = "scores-all"  # parts: scores by criteria that learned from everybody


@dataclass(frozen=True)
class Extra:
    """A table that is made of every chunk's selection, by what lies above this module."""

    name: str
    # The selection, the places of its learners in the study, threads, progress → the table.
    make: Callable[[Selection, NDArray[np.int64], int | None, Progress], pl.DataFrame]
    cost: int = 1  # how many times as long as fitting it takes


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is done for every chunk."""

    models: Sequence[Model]
    criteria: Sequence[Criterion]
    within: float = WITHIN
    intervals: float | None = None
    with_predictions: bool = False
    latents: bool = False
    predict_with: str | None = None
    with_weights: bool = False
    epsilon: float | None = None
    extras: Sequence[Extra] = ()
    again: Sequence[Criterion] = ()  # criteria that learned from everybody, the excluded too

    @property
    def later(self) -> Criterion | None:
        """The criterion whose later trials are predicted."""
        if not self.with_predictions:
            return None
        return next((c for c in self.criteria if c.later), None)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of a chunk's tables."""
        asked = {
            "predictions": self.with_predictions,
            "weights": self.with_weights,
            "lowest": self.epsilon is not None,
            "future": self.later is not None,
            **{extra.name: True for extra in self.extras},
            WITH_EXCLUDED: bool(self.again),
        }
        return (*ALWAYS, "statuses", *(name for name, is_asked in asked.items() if is_asked))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some learners, and the place of the first of them in the study."""

    study: Study
    first: int

    @classmethod
    def of(cls, study: Study, start: int, stop: int, with_rows: bool) -> Chunk:
        """The learners from start to stop; their trials know their rows in the input if asked."""
        source, part = source_of(study), study.part(start, stop)
        if not with_rows:  # as much to send to a worker as all else about a trial
            return cls(part, start)
        rows = source.part(int(study.starts[start]), int(study.starts[stop]))
        return cls(replace(part, source=rows), start)


def chunk_tables(
    wanted: Wanted, chunk: Chunk, threads: int | None, progress: Progress
) -> dict[str, pl.DataFrame]:
    """Select for some learners, and everything that is asked for besides."""
    shown = progress if not wanted.extras else None  # nearly all of the work comes later
    selection = attempt(
        chunk.study,
        wanted.models,
        wanted.criteria,
        wanted.within,
        threads,
        shown,
        wanted.intervals,
    )
    if wanted.with_predictions:
        selection = _traced(selection, chunk.study)
    places = selection.places + chunk.first
    tables = {name: getattr(selection, name) for name in ALWAYS}
    tables["statuses"] = status_counts(selection)
    if wanted.with_predictions:
        tables["predictions"] = predictions(selection, wanted.predict_with, wanted.latents)
    if wanted.later is not None:
        tables["future"] = leave_future_out(selection.fits, wanted.later)
    if wanted.with_weights:
        tables["weights"] = weights(selection)
    if wanted.epsilon is not None:
        tables["lowest"] = selection.lowest(wanted.epsilon)
    for extra in wanted.extras:
        tables[extra.name] = extra.make(selection, places, threads, progress)
    if wanted.again:
        again = choose(selection.fits, wanted.again, wanted.within, threads)
        tables[WITH_EXCLUDED] = again.scores
    return tables


def _traced(selection: Selection, study: Study) -> Selection:
    """The trials of those who could be fitted know their rows in the input again."""
    fits, source = selection.fits, source_of(study)
    rows = source.row[trials_of(study, selection.places)]
    traced = replace(fits.study, source=replace(source, rows=rows))
    return replace(selection, fits=replace(fits, study=traced))


def status_counts(selection: Selection) -> pl.DataFrame:
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


# Where results come from: what ``select`` has just made, or a folder.


@dataclass(frozen=True, eq=False)
class Memory:
    """Results that ``select`` has just made."""

    selection: Selection
    known: Task | None = None
    fit: Mapping[str, Any] = field(default_factory=dict)  # what is known of it, by who found it

    @cached_property
    def tables(self) -> Tables:
        together = group_tables(self._criteria)
        return Tables((*ALWAYS, "shares", *together), self._table)

    @property
    def _criteria(self) -> list[Any]:
        return [choice.criterion for choice in self.selection.choices]

    def _table(self, name: str) -> pl.DataFrame:
        if name == "shares":
            return shares_of(self.selection)
        if name in ALWAYS:
            frame = getattr(self.selection, name)
            failed = name in VERDICTS and fails(self.fit)
            return with_verdicts(frame, CLEAR, WITHHELD) if failed else frame
        frame, study = group_tables(self._criteria)[name], self.selection.fits.study
        if study.excluded is None:
            return frame
        everybody = [choice.criterion for choice in self.selection.everybody.choices]
        return among(frame, group_tables(everybody)[name])

    @cached_property
    def manifest(self) -> dict[str, Any]:
        criteria = [repr(criterion) for criterion in self._criteria]
        options = {"criteria": criteria, "within": self.within}
        study, models = self.selection.given or self.inputs.study, self.inputs.candidates
        told = {FIT: self.fit} if self.fit else {}
        return {**manifest_of((), study, models, options, hashed=False), **told}

    @cached_property
    def inputs(self) -> Inputs:
        fits = self.selection.fits
        return Inputs(self.known, fits.study, fits.models, {})

    @property
    def models(self) -> tuple[Model, ...]:
        return self.selection.fits.models

    @property
    def names(self) -> list[str]:
        return [*self.selection.fits.of]

    @property
    def within(self) -> float:
        return self.selection.within

    @property
    def unfitted(self) -> pl.DataFrame:
        return self.selection.unfitted

    @property
    def statuses(self) -> pl.DataFrame:
        return status_counts(self.selection)


@dataclass(frozen=True, eq=False)
class Folder:
    """Results that lie in a folder; only the study needs the data again."""

    path: Path
    given: Inputs | None = None  # what they were made from, where that is known

    @cached_property
    def tables(self) -> Tables:
        names = [name for name in columns.tables() if there(self.path, name)]
        return Tables(names, lambda name: read_table(self.path, name))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return read_manifest(self.path, "select")

    @cached_property
    def inputs(self) -> Inputs:
        if self.given is None:
            return recorded(self.path, with_excluded=True)
        return replace(self.given, study=without_unfitted(self.given.study, self.path))

    @property
    def models(self) -> tuple[Model, ...]:
        return (self.given or self.inputs).candidates

    @property
    def names(self) -> list[str]:
        return [str(model["name"]) for model in self.manifest.get("models", [])]

    @property
    def within(self) -> float:
        return float(self.manifest.get("options", {}).get("within", WITHIN))

    @property
    def unfitted(self) -> pl.DataFrame:
        try:
            return unfitted_of(self.tables["selection"])
        except (KeyError, HowlearnError, pl.exceptions.PolarsError):  # no table that tells
            return pl.DataFrame(schema={"learner": pl.String, "why": pl.String})

    @property
    def statuses(self) -> pl.DataFrame:
        parts = Parts(self.path / PARTS, identity(self.manifest))
        parts.look()
        files = parts.of("statuses")
        if not files:
            return pl.DataFrame(schema={"status": pl.String, "count": pl.Int64})
        return pl.read_parquet(files, glob=False)
