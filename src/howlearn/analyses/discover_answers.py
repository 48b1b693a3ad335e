"""What ``discover`` cannot tell apart, and how far its answer hangs on the largest rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.columns import of
from howlearn.core.partition import Partition
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.models.partition_model import PartitionModel

if TYPE_CHECKING:
    from howlearn.analyses.discover_tables import Discovery

NAME = "SameAnswer"
CLEAR = 0.95  # of the rewarded choices in a context: the right answer is then the same for all
BOUNDS = (0.5, 1.0, 5.0)  # largest rates that are tried
SAMPLE, MOST_CONTEXTS = 20, 10  # learners and contexts with which that takes seconds


def with_answers(
    study: Study, models: Sequence[PartitionModel]
) -> tuple[tuple[PartitionModel, ...], str]:
    """The marked partitions with that by right answers among them, and its name; "" if unknown."""
    cells = _same_answer(study)
    if cells is None:
        return tuple(models), ""
    own = {frozenset(cell) for cell in cells}
    for model in models:
        if {frozenset(cell) for cell in model.partition.cells} == own:
            return tuple(models), model.name
    return (*models, PartitionModel(NAME, Partition(cells))), NAME


def _same_answer(study: Study) -> tuple[tuple[str, ...], ...] | None:
    """The contexts by their right answers; None where these are not known, or all the same."""
    answers = study.answers
    if answers is None or (answers < 0).any():
        if study.right_wrong is None:
            return None
        right = study.learned & (study.reward == study.right_wrong[1])
        times = np.zeros((len(study.contexts), len(study.actions)))
        np.add.at(times, (study.context[right], study.action[right]), 1)
        if (times.max(axis=1) < np.maximum(CLEAR * times.sum(axis=1), 1)).any():
            return None
        answers = times.argmax(axis=1)
    groups: dict[int, list[str]] = {}
    for context, answer in zip(study.contexts, answers.tolist(), strict=True):
        groups.setdefault(answer, []).append(context)
    return tuple(map(tuple, groups.values())) if len(groups) > 1 else None


def at_bounds(study: Study, rule: Rule, found: Discovery) -> pl.DataFrame:
    """The best partitions of some learners by the first criterion, at several largest rates."""
    table = of("bounds", "discover")
    slow = not (rule.smooth_with_gains and rule.form == "gain")
    if slow or len(study.contexts) > MOST_CONTEXTS:
        return table.of_rows([])
    labels = [""] * len(study)
    if found.by:
        names = [name.removeprefix("input_") for name in found.by]
        values = study.labels.select(found.by).iter_rows()
        labels = [", ".join(map(" ".join, zip(names, map(str, v), strict=True))) for v in values]
    rows: list[tuple[object, ...]] = []
    for label in dict.fromkeys(labels):
        mine = np.flatnonzero(np.array(labels) == label)[:SAMPLE]
        rows += _with_bounds(study.take(mine), rule, found.criteria[0], label)
    return table.of_rows(rows)


def _with_bounds(
    some: Study, rule: Rule, criterion: str, condition: str
) -> list[tuple[object, ...]]:
    """A row for each largest rate, the smallest first."""
    from howlearn.analyses.discover import attempt
    from howlearn.analyses.discover_criteria import check_criteria

    rows: list[tuple[object, ...]] = []
    for bound in sorted({*BOUNDS, rule.max_rate}):
        made = attempt(some, rule.with_max_rate(bound), check_criteria([criterion]), (), 1, ())
        best = made.partitions.filter(rank=1)
        counts = best["partition"].value_counts(sort=True)
        if len(counts):
            rows.append((criterion, condition, bound, len(best), counts["partition"][0],
                         counts["count"][0] / len(best), best["n_cells"].median()))  # fmt: skip
    return rows
