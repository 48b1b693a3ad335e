"""What was found, whether it comes from ``select`` or from a results folder: tables and study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.study import Study
from howlearn.core.text import many
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.results.inputs import Inputs, recorded
from howlearn.runs.folder import read_table
from howlearn.runs.shards import MANIFEST
from howlearn.selection.select import WITHIN, Selection
from howlearn.selection.share_tables import shares_table
from howlearn.selection.tables import OTHER, fitted


def findings(
    source: Selection | Findings | Path | str,
    task: Task | str | None = None,
    inputs: Inputs | None = None,
) -> Findings:
    """What ``select`` gave, or what ``howlearn select`` left in a folder.

    ``task`` says what is right and what actions earn, where a selection does not know; ``inputs``
    are what ``howlearn.results.inputs.recorded`` gave for the folder, if it was asked already.
    """
    if isinstance(source, Findings):
        return source
    if isinstance(source, Selection):
        task = Task.load(task) if isinstance(task, str) else task
        return OfSelection(source, task)
    if isinstance(source, str | Path):
        folder = Path(source)
        if not folder.is_dir():
            raise HowlearnError(f"{folder} is no folder with results of howlearn select")
        return OfFolder(folder, inputs)
    raise HowlearnError(
        f"charts are made of what howlearn.select gives, or of a results folder, not of {source!r}"
    )


@dataclass(frozen=True, eq=False)
class Findings:
    """The tables of a selection, its study, task and models; read or made when first asked for.

    Learners who are excluded are in none of them, nor in the study; ``whole`` tables have them.
    Those who could not be fitted are nowhere.
    Sequence i of the study has row i of ``chosen``, of every theta, and of each criterion's part
    of ``selection``.
    """

    @cached_property
    def study(self) -> Study:
        """The trials."""
        raise NotImplementedError

    @cached_property
    def task(self) -> Task | None:
        """The task, where there is one."""
        raise NotImplementedError

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The candidates."""
        raise NotImplementedError

    @cached_property
    def within(self) -> float:
        """Nats; models closer to the best than this are not told apart."""
        raise NotImplementedError

    def whole(self, name: str) -> pl.DataFrame:
        """One of the tables of ``howlearn select``, with the learners that are excluded."""
        raise NotImplementedError

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables of ``howlearn select``, of the learners that are not excluded."""
        frame = self.whole(name)
        if "among" in frame.columns:
            frame = frame.filter(pl.col("among") == "included").drop("among")
        if "excluded" in frame.columns:
            frame = frame.filter(pl.col("excluded").is_null()).drop("excluded")
        return frame

    @cached_property
    def selection(self) -> pl.DataFrame:
        return self.table("selection")

    @cached_property
    def scores(self) -> pl.DataFrame:
        return self.table("scores")

    @cached_property
    def estimates(self) -> pl.DataFrame:
        return self.table("estimates")

    @cached_property
    def shares(self) -> pl.DataFrame:
        """Of the learners who are not excluded."""
        return self.table("shares")

    @cached_property
    def criteria(self) -> list[str]:
        """In the order of the run: the first one decides where one model is needed."""
        return self.selection["criterion"].unique(maintain_order=True).to_list()

    @property
    def names(self) -> list[str]:
        """Of the candidates."""
        return [model.name for model in self.models]

    @cached_property
    def first(self) -> pl.DataFrame:
        """The rows of ``selection`` by the first criterion: one per sequence."""
        frame = self.selection.filter(pl.col("criterion") == self.criteria[0])
        if frame["learner"].to_list() != list(self.study.learners):
            raise HowlearnError(
                "the results are not those of this study: their learners differ; run howlearn "
                "select anew"
            )
        return frame

    @cached_property
    def chosen(self) -> Ints:
        """Of every sequence: the place of its model among the candidates, by the first criterion.

        Where that is none of them (Other), the best candidate stands in.
        """
        name = pl.when(pl.col("model") == OTHER).then("runner_up").otherwise("model")
        name = pl.when(pl.col("model").is_in(self.names)).then("model").otherwise(name)
        place = {name: k for k, name in enumerate(self.names)}
        found = self.first.select(name.cast(pl.String).replace_strict(place, default=None))
        if found.to_series().null_count():
            raise HowlearnError("the results have models that are not among the candidates")
        return found.to_series().to_numpy().astype(np.int64)

    @cached_property
    def unlisted(self) -> NDArray[np.bool_]:
        """Of every sequence: whether its model is none of the candidates (Other)."""
        return (~self.first["model"].cast(pl.String).is_in(self.names)).to_numpy()

    def stand_ins(self, rows: Ints) -> list[str]:
        """A note, where the best candidate stands in for a partition that is not listed."""
        count = int(self.unlisted[rows].sum())
        who = many(count, "sequence")
        note = f"for {who} whose model is none of the candidates, the best of these stands in"
        return [note] if count else []

    def theta(self, model: int) -> Floats:
        """The estimates of one model from as many trials as were fitted: [sequence, parameter]."""
        return self.column(model, "estimate").astype(np.float64)

    def status(self, model: int) -> NDArray[Any]:
        """How the fit of each of those ended, in a word: [sequence, parameter]."""
        return self.column(model, "status")

    def column(self, model: int, column: str) -> NDArray[Any]:
        """A column of the table of estimates for one model: [sequence, parameter]."""
        name, n = self.names[model], len(self.study)
        n_parameters = len(self.models[model].owners(self.study.actions))
        mine = self.estimates.filter(pl.col("model") == name)
        if not n_parameters:
            return np.empty((n, 0))
        if mine.height % (n * n_parameters) or not mine.height:
            raise HowlearnError(
                f"the table of estimates has {mine.height} rows for {name}, which do not fit "
                f"{n} sequences; run howlearn select anew"
            )
        shape = (n, -1, n_parameters)
        fullest = mine["trials_fitted"].to_numpy().reshape(shape)[:, :, 0].argmax(axis=1)
        return mine[column].to_numpy().reshape(shape)[np.arange(n), fullest]


@dataclass(frozen=True, eq=False)
class OfSelection(Findings):
    """From ``select``."""

    given: Selection
    told: Task | None = None

    @cached_property
    def study(self) -> Study:
        return self.given.fits.study.without_excluded()

    @cached_property
    def task(self) -> Task | None:
        return self.told

    @cached_property
    def models(self) -> tuple[Model, ...]:
        return self.given.fits.models

    @cached_property
    def within(self) -> float:
        return self.given.within

    def whole(self, name: str) -> pl.DataFrame:
        if name == "shares":  # with intervals, which those of a selection do not have
            return shares_table(self.scores, self.criteria, self.names)
        return fitted(getattr(self.given, name))


@dataclass(frozen=True, eq=False)
class OfFolder(Findings):
    """From the folder of a run; only the study needs the data again."""

    folder: Path
    known: Inputs | None = None

    @cached_property
    def inputs(self) -> Inputs:
        return self.known if self.known is not None else recorded(self.folder, with_excluded=True)

    @cached_property
    def study(self) -> Study:
        return self.inputs.study.without_excluded()

    @cached_property
    def task(self) -> Task | None:
        return self.inputs.task

    @cached_property
    def models(self) -> tuple[Model, ...]:
        return self.inputs.candidates

    @property
    def names(self) -> list[str]:
        return [str(model["name"]) for model in self._manifest.get("models", [])]

    @cached_property
    def within(self) -> float:
        return float(self._manifest.get("options", {}).get("within", WITHIN))

    @cached_property
    def _manifest(self) -> dict[str, Any]:
        try:
            return read_json(self.folder / MANIFEST)
        except (OSError, ValueError):
            raise HowlearnError(f"{self.folder} has no {MANIFEST} that can be read") from None

    def whole(self, name: str) -> pl.DataFrame:
        return fitted(read_table(self.folder, name))
