"""``recover``: are models and parameters found again, by the criteria as they are?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.analyses.contests import Group, fitted_group, groups_of, left_out, recovery
from howlearn.analyses.designs import ENOUGH, Design, TaskDesign, by_model_name
from howlearn.analyses.error_rates import standard_error
from howlearn.core.arrays import Ints
from howlearn.core.columns import of
from howlearn.core.study import together
from howlearn.core.text import Listing, Sentence
from howlearn.fitting.fits import ALL, Fits, Truncation, distinct
from howlearn.models.model import Model
from howlearn.models.names import models_of
from howlearn.models.task import Task
from howlearn.models.values import Parameters
from howlearn.results.analysis import MOST_ROWS, Analysis
from howlearn.runs.cluster import engine_of
from howlearn.runs.parts import Memory, Part, Progress, Store, Threads, Work
from howlearn.selection.criteria import DEFAULT
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import check_criteria, choose

if TYPE_CHECKING:
    from distributed import Client

TABLES = ("recovered", "estimates")
POPULATION = 50  # learners of every true model who teach a population


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Analysis):
    """What became of simulated learners: the models selected for them, and the estimates."""

    command = "recover"
    CHARTS = ("confusion", "recovery")

    truths: tuple[str, ...]
    models: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    learners: pl.DataFrame  # true_model, learner, criterion, selected_model
    estimates: pl.DataFrame
    n_lost: int = 0  # simulated learners who could not be fitted

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know besides."""
        return left_out(self.n_lost, len(self.learners) // len(self.criteria))

    def __repr__(self) -> str:
        return (
            f"Recovery of {', '.join(self.truths)} among {', '.join(self.models)}: see .confusion, "
            ".recovery, .learners"
        )

    @cached_property
    def confusion(self) -> pl.DataFrame:
        """How often each model is selected for the learners of each true model."""
        rows = []
        for criterion in map(repr, self.criteria):
            for truth in self.truths:
                mine = self.learners.filter(criterion=criterion, true_model=truth)["selected_model"]
                count = np.array([(mine == model).sum() for model in self.models])
                error = standard_error(count[None], np.array([[len(mine)]]))[0]
                share = count / max(len(mine), 1)
                each = zip(self.models, *(a.tolist() for a in (count, share, error)), strict=True)
                rows += [(criterion, truth, *row) for row in each]
        return of("confusion", "recover").of_rows(rows)

    @cached_property
    def recovery(self) -> pl.DataFrame:
        """Errors of the estimates of each true model, from all trials."""
        return recovery(self.estimates.filter(pl.col("split") == ALL))

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """The confusion matrix by the first criterion, and the errors of the estimates."""
        first = self.confusion.filter(pl.col("criterion") == repr(self.criteria[0]))
        return {"confusion": first, "recovery": self.recovery}

    def summary(self) -> Iterator[Listing | Sentence]:
        """How often models are recovered, and the estimates."""
        first = repr(self.criteria[0])
        rows = [(truth, *self._recovered(first, truth)) for truth in self.truths[:MOST_ROWS]]
        yield Listing(
            f"Share of learners whose true model is selected by {first}",
            ("true model", "recovered", "most often selected instead"),
            rows,
        )
        yield from self.sentences
        errors = self.recovery.drop_nulls("relative_error")["relative_error"]
        if len(errors):
            yield Sentence(
                f"Estimates differ from the true values by {errors.median():z.0%} (median over "
                "models and cells; recovery.csv has each)."
            )

    @property
    def sentences(self) -> list[Sentence]:
        """How often each criterion finds the true model, where that is a candidate."""
        own = self.confusion.filter(pl.col("true_model") == pl.col("selected_model"))
        found = []
        for (criterion,), rows in own.group_by("criterion", maintain_order=True):
            worst = rows.sort("share", maintain_order=True).row(0, named=True)
            found.append(
                f"{criterion}: the true model is selected for {rows['share'].mean():z.0%} of the "
                f"simulated learners, least often where it is {worst['true_model']} "
                f"({worst['share']:z.0%})."
            )
        return [*map(Sentence, found)]

    def _recovered(self, criterion: str, truth: str) -> tuple[str, str]:
        """How often a model is selected for its learners, and which one most often instead."""
        rows = self.confusion.filter(criterion=criterion, true_model=truth)
        right = rows.filter(selected_model=truth)
        wrong = rows.filter(pl.col("selected_model") != truth).sort("share", descending=True)
        text, instead = "not a candidate", ""
        if len(right):
            text = f"{right['share'][0]:z.0%} ± {right['standard_error'][0]:z.0%}"
        if len(wrong) and wrong["share"][0] > 0:
            instead = f"{wrong['selected_model'][0]} {wrong['share'][0]:z.0%}"
        return text, instead

    def where(self, folder: Path) -> list[str]:
        return [f"Tables: {folder}/confusion.csv, recovery.csv, learners.csv"]


def recover(
    task: Task | str,
    models: Sequence[Model | str] | None = None,
    parameters: Parameters | Mapping[str, Parameters] | None = None,
    learners: int = ENOUGH,
    trials: int | None = None,
    seed: int = 0,
    *,
    truths: Sequence[Model | str] | None = None,
    criteria: Sequence[Criterion | str] = DEFAULT,
    threads: int | None = None,
    progress: Progress | None = None,
    client: Client | None = None,
) -> Recovery:
    """Simulate learners of every true model, select among the candidates, compare.

    Models may be given by their names. Without ``truths`` every candidate is simulated.
    ``parameters`` and ``client`` are given as in ``calibrate``.

    >>> import howlearn as hl
    >>> result = hl.recover("shepard-1", parameters={"eta": 0.1}, learners=5, trials=60)
    >>> result.confusion.columns[:3]
    ['criterion', 'true_model', 'selected_model']
    """
    task = Task.load(task) if isinstance(task, str) else task
    own = models_of(models or task.candidates, task.model)
    made = models_of(truths or own, task.model)
    design = TaskDesign(task, made, by_model_name(parameters or {}), learners, trials, seed)
    store = Memory(engine_of(client, threads))
    return recover_design(design, own, criteria, store, threads, progress)


def recover_design(
    design: Design,
    models: Sequence[Model],
    criteria: Sequence[Criterion | str] = DEFAULT,
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Recovery:
    """Recover the learners of a design; parts that the store has are not computed again."""
    chosen = check_criteria(criteria)
    if any(criterion.learns for criterion in chosen):
        chosen = _knowing(design, models, chosen, threads)
    store = store if store is not None else Memory(Threads(threads))
    wanted = tuple(distinct([ALL, *(t for criterion in chosen for t in criterion.truncations)]))
    names = [model.name for model in design.truths]

    common = _Recovering(design, tuple(models), tuple(chosen), wanted)
    parts = [
        Part(group.number, TABLES, len(group), partial(Work, _recover, common, group))
        for group in groups_of(design, (0,))
    ]
    store.complete(parts, progress)
    learners = store.read("recovered").collect()
    return Recovery(
        tuple(names),
        tuple(model.name for model in models),
        chosen,
        learners,
        store.read("estimates").collect(),
        len(names) * design.learners - len(learners) // len(chosen),
    )


@dataclass(frozen=True, eq=False)
class _Recovering:
    design: Design
    models: tuple[Model, ...]
    criteria: tuple[Criterion, ...]
    truncations: tuple[Truncation, ...]


def _recover(
    of: _Recovering, group: Group, threads: int | None, progress: Progress
) -> dict[str, pl.DataFrame]:
    """Simulate a group of learners, and select among the candidates for each of them."""
    fits, numbers, estimates = fitted_group(
        of.design, group, of.models, of.truncations, threads, progress
    )
    truth = of.design.truths[group.truth].name
    return {"recovered": _selected(fits, of.criteria, truth, numbers), "estimates": estimates}


def _knowing(
    design: Design, models: Sequence[Model], criteria: Sequence[Criterion], threads: int | None
) -> tuple[Criterion, ...]:
    """Criteria that know a population: fresh learners of all true models, equally many."""
    each = min(design.learners, POPULATION)
    streams = [design.simulate(truth, 1, 0, each)[0] for truth in range(len(design.truths))]
    study = together(streams)
    return tuple(criterion.learn(study, models, None, threads) for criterion in criteria)


def _selected(fits: Fits, criteria: Sequence[Criterion], truth: str, numbers: Ints) -> pl.DataFrame:
    selection = choose(fits, criteria)
    names = pl.Series([*fits.of], dtype=pl.String)
    return pl.concat(
        pl.DataFrame(
            {
                "true_model": pl.Series([truth] * len(numbers), dtype=pl.String),
                "learner": numbers,
                "criterion": pl.Series([repr(choice.criterion)] * len(numbers), dtype=pl.String),
                "selected_model": names.gather(choice.selected),
            }
        )
        for choice in selection.choices
    )
