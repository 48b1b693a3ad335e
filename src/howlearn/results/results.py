"""What ``select`` found, in memory or in a folder: tables, the study and the candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, many
from howlearn.fitting.fits import Fits
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.results.analysis import Analysis, Tables
from howlearn.results.chunk import Folder, Memory
from howlearn.results.inputs import Inputs
from howlearn.results.manifest import record, rounded
from howlearn.results.select_summary import summary_of
from howlearn.runs.files import BIDS, refuse_links
from howlearn.runs.folder import read_table
from howlearn.selection.select import Choice, Selection
from howlearn.selection.tables import ALL, INCLUDED, OTHER, Who, fitted, of_whom

UNSTABLE = 0.5  # a share of doubles


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Results(Analysis):
    """The tables of a selection, its study, task and candidates; read or made when asked for.

    The properties and ``tables`` hold all learners, as the files do: the column ``excluded`` says
    who is excluded, and the verdict who could not be fitted. ``table`` is of those who were fitted,
    without the excluded unless that is asked for, and so is the study. Sequence i of the study has
    row i of ``chosen``, of every theta, and of each criterion's part of ``selection``.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=2, trials=40, seed=1)
    >>> hl.select(study, task.models, ["aic"]).table("selection", who="all").columns[:3]
    ['learner', 'criterion', 'model']
    """

    command: ClassVar[str] = "select"
    CHARTS: ClassVar[tuple[str, ...]] = ("weights", "weights-learners")
    FILES: ClassVar[tuple[str, ...]] = (BIDS,)

    source: Memory | Folder
    who: Who = INCLUDED
    usual: bool = False  # whether the criteria are those that are taken where none is named

    @classmethod
    def of(
        cls,
        source: Results | Selection | Path | str,
        task: Task | str | None = None,
        inputs: Inputs | None = None,
    ) -> Results:
        """What ``select`` gave, or what ``howlearn select`` left in a folder.

        ``task`` says what is right and what actions earn, where a selection does not know;
        ``inputs`` are what the results of a folder were made from, where they are available.
        """
        task = Task.load(task) if isinstance(task, str) else task
        if isinstance(source, Results):
            if task is None or isinstance(source.source, Folder):
                return source
            return replace(source, source=replace(source.source, known=task))
        if isinstance(source, Selection):
            return cls(Memory(source, task))
        if isinstance(source, str | Path):
            folder = Path(source)
            if not folder.is_dir():
                raise HowlearnError(f"{folder} is not a results folder of howlearn select")
            refuse_links(folder)
            return cls(Folder(folder, inputs))
        raise HowlearnError(
            f"charts and tables are of what howlearn.select gives, or of a results folder, not of "
            f"{source!r}"
        )

    def __repr__(self) -> str:
        if isinstance(self.source, Folder):
            return f"Results in {self.source.path}: {', '.join(self.tables)}"
        lost = len(self.source.selection.why)
        return (
            f"Results among {', '.join(self.names)} for {len(self.fits.study):,} sequences, "
            f"by {', '.join(self.criteria)}: see .shares, .selection, .scores, .estimates, "
            ".learners" + (f"; {lost:,} could not be fitted: see .unfitted" if lost else "")
        )

    def among(self, who: Who) -> Results:
        """The same with or without the learners who are excluded."""
        return replace(self, who=who)

    @property
    def folder(self) -> Path | None:
        """Where they lie, unless they are in memory."""
        return self.source.path if isinstance(self.source, Folder) else None

    @property
    def manifest(self) -> dict[str, Any]:
        """What decided these results: options, versions, the candidates, what was read."""
        return self.source.manifest

    @property
    def options(self) -> Mapping[str, Any]:
        return self.manifest["options"]

    # The tables

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:  # pyright: ignore
        """As they are in a folder, by their names."""
        return self.source.tables

    def table(self, name: str, who: Who | None = None) -> pl.DataFrame:
        """Of the learners who were fitted: the "included", or "all" of them."""
        if who not in (None, self.who):
            return self.among(who).table(name)
        return self._of_whom[name] if name in self._of_whom else self._whole(name)

    @cached_property
    def _of_whom(self) -> Tables:
        return Tables(self.tables, lambda name: of_whom(fitted(self.tables[name]), self.who))

    def _whole(self, name: str) -> pl.DataFrame:
        """As it is in a folder; one that is not there is refused in words."""
        if name in self.tables:
            return self.tables[name]
        if self.folder is None:
            raise HowlearnError(f"a selection in memory has no table {name}")
        return read_table(self.folder, name)

    @property
    def selection(self) -> pl.DataFrame:
        """One row per learner and criterion: the model, the runner-up, the margin, a verdict."""
        return self._whole("selection")

    @property
    def scores(self) -> pl.DataFrame:
        """One row per learner, criterion and model, best first."""
        return self._whole("scores")

    @property
    def estimates(self) -> pl.DataFrame:
        """One row per learner, model, cell, parameter and number of trials fitted."""
        return self._whole("estimates")

    @property
    def learners(self) -> pl.DataFrame:
        """One wide row per learner."""
        return self._whole("learners")

    @property
    def shares(self) -> pl.DataFrame:
        """How common each model is, by each criterion.

        With excluded learners, ``among`` the "included" and among "all".
        """
        return self._whole("shares")

    @property
    def unfitted(self) -> pl.DataFrame:
        """One row per learner who could not be fitted, and why; they are in no count."""
        return self.source.unfitted

    @property
    def statuses(self) -> pl.DataFrame:
        """How the fits ended that the first criterion selects, counted over their parameters."""
        return self.source.statuses

    # In memory only

    def stabilities(self) -> Iterator[tuple[str, int, float, float, float, int]]:
        """By criterion: of how many learners, mean stability, quartiles, how many are unstable."""
        for criterion in self.criteria:
            mine = self.tables["stability"].filter(criterion=criterion)["stability"].drop_nulls()
            if len(mine):
                low, high = (mine.quantile(q, "linear") or 0.0 for q in (0.25, 0.75))
                mean = float(mine.to_numpy().mean())
                yield criterion, len(mine), mean, low, high, int((mine < UNSTABLE).sum())

    @property
    def fits(self) -> Fits:
        """What the selection rests on."""
        return self._selection.fits

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Each criterion's answer, as arrays."""
        return self._selection.choices

    @property
    def places(self) -> Ints:
        """Of the sequences that were fitted, among those given."""
        return self._selection.places

    @property
    def everybody(self) -> Results:
        """The selection as it would be if no learner were excluded."""
        return Results.of(self._selection.everybody)

    def lowest(self, epsilon: float = 0.05) -> pl.DataFrame:
        """How small the probabilities of every fit become, and from which trial on under ε."""
        return self._selection.lowest(epsilon)

    @property
    def _selection(self) -> Selection:
        if isinstance(self.source, Folder):
            raise HowlearnError(
                f"the fits are not in {self.folder}: howlearn.select without a folder has them"
            )
        return self.source.selection

    # The study and the candidates

    @cached_property
    def study(self) -> Study:
        """The trials."""
        study = self.source.inputs.study
        return study.without_excluded() if self.who == INCLUDED else replace(study, excluded=None)

    @property
    def why_not(self) -> str:
        """Why the study cannot be read again, in a sentence; nothing where it can."""
        return self._again[1]

    @cached_property
    def _again(self) -> tuple[Inputs | None, str]:
        try:
            return self.source.inputs, ""
        except (HowlearnError, OSError) as error:
            return None, str(error)

    @property
    def task(self) -> Task | None:
        """The task, where there is one."""
        return self.source.inputs.task

    @property
    def models(self) -> tuple[Model, ...]:
        """The candidates."""
        return self.source.models

    @property
    def names(self) -> list[str]:
        """Of the candidates."""
        return self.source.names

    @property
    def within(self) -> float:
        """Nats; models within this of the best count as tied."""
        return self.source.within

    @cached_property
    def criteria(self) -> list[str]:
        """In the order of the run: the first one decides where one model is needed."""
        return self.table("selection", ALL)["criterion"].unique(maintain_order=True).to_list()

    @cached_property
    def unit(self) -> str:
        """What the rows of the tables are about."""
        whole = self.manifest["learners"] == self.manifest["sequences"]
        return "learner" if whole else "sequence"

    @cached_property
    def labels(self) -> list[str]:
        """The columns that name a sequence and say what else is known of it."""
        own = self.table("learners", ALL).columns
        return own[: own.index("n_trials")]

    @cached_property
    def excluded(self) -> pl.Series:
        """Of every sequence: whether it is left out of the shares."""
        frame = fitted(self.tables["learners"])
        if "excluded" not in frame.columns:
            return pl.Series("excluded", [False] * len(frame), pl.Boolean)
        return (frame["excluded"].cast(pl.String).fill_null("") != "").alias("excluded")

    @cached_property
    def numbered(self) -> pl.DataFrame:
        """The selection for all learners: the number of the sequence, and whether excluded."""
        frame = self.table("selection", ALL)
        number = pl.int_range(len(frame), dtype=pl.Int64) // len(self.criteria)
        frame = frame.with_columns(sequence=number)
        return frame.with_columns(excluded=self.excluded.gather(frame["sequence"]))

    def with_fit(self, told: Mapping[str, Mapping[str, Any]]) -> Results:
        """The same with what was found of the fit of the candidates, which verdicts follow."""
        if isinstance(self.source, Memory):
            return replace(self, source=replace(self.source, fit=rounded(told)))
        record(self.source.path, **told)
        return replace(self, source=Folder(self.source.path, self.source.given))

    # Sequence by sequence

    @cached_property
    def first(self) -> pl.DataFrame:
        """The rows of ``selection`` by the first criterion: one per sequence."""
        frame = self.table("selection").filter(pl.col("criterion") == self.criteria[0])
        if frame["learner"].to_list() != list(self.study.learners):
            raise HowlearnError(
                "the results are not those of this study: their learners differ; run howlearn "
                "select again"
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
    def unlisted(self) -> Bools:
        """Of every sequence: whether its model is none of the candidates (Other)."""
        return (~self.first["model"].cast(pl.String).is_in(self.names)).to_numpy()

    def stand_ins(self, rows: Ints) -> list[str]:
        """A note, where the best candidate stands in for a partition that is not listed."""
        count = int(self.unlisted[rows].sum())
        who = many(count, "sequence")
        note = (
            f"for {who} whose model is none of the candidates, the best candidate is used instead"
        )
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
        mine = self.table("estimates").filter(pl.col("model") == name)
        if not n_parameters:
            return np.empty((n, 0))
        if mine.height % (n * n_parameters) or not mine.height:
            raise HowlearnError(
                f"the table of estimates has {mine.height} rows for {name}, which do not fit "
                f"{n} sequences; run howlearn select again"
            )
        shape = (n, -1, n_parameters)
        fullest = mine["trials_fitted"].to_numpy().reshape(shape)[:, :, 0].argmax(axis=1)
        return mine[column].to_numpy().reshape(shape)[np.arange(n), fullest]

    # In words, in charts

    def summary(self) -> Iterator[Listing | Sentence]:
        """What ``howlearn select`` prints."""
        yield from summary_of(self)

    def where(self, folder: Path) -> list[str]:
        return []  # the summary says it where it belongs

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """The weights of mixtures, where they were asked for."""
        drawn = {"weights": "weights-mean", "weights-learners": "weights"}
        return {name: self.tables[table] for name, table in drawn.items() if table in self.tables}
