"""Where results come from: what ``select`` has just made, or a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.core import columns
from howlearn.core.errors import HowlearnError
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.results.analysis import Tables
from howlearn.results.chunk import ALWAYS, status_counts
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
from howlearn.runs.parts import Parts, identity
from howlearn.selection.select import WITHIN, Selection
from howlearn.selection.share_tables import group_tables, shares_of
from howlearn.selection.tables import among
from howlearn.selection.unfitted import unfitted_of, without_unfitted


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
