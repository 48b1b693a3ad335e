"""Learners who could not be fitted: who ends a run, and what its tables and words say of others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import SHORTEST, Study
from howlearn.core.text import few, many, shortened
from howlearn.fitting.fit import FitPlan, check, check_models, guarded_fit
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model, own
from howlearn.selection.tables import NOT_FITTED, included

PROBED = 20  # learners on whom a model of one's own must fail to be taken for broken
NAMED = 5  # learners that a sentence names


def check_somebody(study: Study, models: Sequence[Model], threads: int | None = None) -> FitPlan:
    """Whether these models can be fitted to anybody, before any work is done.

    A model of the user's own is tried on some learners, until it can be fitted to one: one that
    fails for everybody should not have to fail for a million.
    """
    check_models(models)
    guard = Guard()
    some = guard.long_enough(study.take(_spread(study)))
    if not len(some):
        some = guard.long_enough(study)
    if not len(some):
        guard.end()
    refused: dict[int, Exception] = {}
    plan = check(some, models, refused)
    if len(refused) == len(some):
        raise refused[min(refused)]
    for model in models:
        if _brings_code(model) and not model.asks_others:  # which one learner has none of
            _try(model, some, threads)
    return plan


def _brings_code(model: Model) -> bool:
    """Whether a model is, adjusts or mixes one of the user's own, or has it learn in its cells."""
    rules = [unit.rule for unit in model.units]
    return own(model) or any(map(own, rules)) or any(map(_brings_code, model.parts))


def _try(model: Model, some: Study, threads: int | None) -> None:
    guards = []
    for i in range(len(some)):
        guards.append(Guard())
        if len(guarded_fit(guards[-1], some.part(i, i + 1), [model], threads=threads).study):
            return
    guards[0].end()


def _spread(study: Study) -> np.ndarray:
    """The learner with the longest record, and others from all over the study."""
    longest = int(np.argmax(np.diff(study.starts)))
    others = np.linspace(0, len(study) - 1, PROBED).astype(np.int64)
    return np.array([*dict.fromkeys([longest, *others.tolist()])])


def unfitted_of(selection: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame:
    """One row per learner who could not be fitted, and why, from a table of what was selected."""
    said = f"{NOT_FITTED}: "
    verdict = pl.col("verdict").cast(pl.String)
    rows = selection.lazy().filter(verdict.str.starts_with(said))
    first = rows.filter(pl.col("criterion") == pl.col("criterion").first())
    told = first.with_columns(why=verdict.str.strip_prefix(said))
    return told.drop(of("selection").names, strict=False).collect()


def without_unfitted(study: Study, results: Path) -> Study:
    """The study of a results folder, of which it has all learners, without those not fitted."""
    frame = _verdicts(results)
    wanted = np.array([not text.startswith(f"{NOT_FITTED}: ") for text in frame], np.bool_)
    if len(wanted) != len(study):  # no table, or not of this study: others say so
        wanted = study.n_scored >= SHORTEST
    return study.only(wanted)


def _verdicts(results: Path) -> list[str]:
    """The first verdict on every sequence."""
    for ending, scan in (("csv", _scan_csv), ("parquet", pl.scan_parquet)):
        file = results / f"learners.{ending}"
        if file.is_file():
            try:
                frame = scan(file)
                names = frame.collect_schema().names()
                column = next(name for name in names if name.startswith("verdict_"))
                found = frame.select(pl.col(column).cast(pl.String).fill_null("")).collect()
                return found[column].to_list()
            except (OSError, pl.exceptions.PolarsError, StopIteration):
                return []
    return []


def _scan_csv(file: Path) -> pl.LazyFrame:
    return pl.scan_csv(file, infer_schema=False)


def nobody_left(selection: pl.LazyFrame) -> None:
    """Refuse to sum up a run in which nobody could be fitted, of those who are not excluded."""
    selection = included(selection)
    if selection.select(pl.col("model").is_not_null().any()).collect().item():
        return
    found = unfitted_of(selection)
    raise HowlearnError(f"no learner could be fitted: {'; '.join(reasons(found))}")


def sentence(found: pl.DataFrame, where: str = "verdict in selection.csv") -> str:
    """Who could not be fitted, and why, in one sentence.

    >>> sentence(pl.DataFrame({"learner": ["7"], "why": ["1 trial with a choice"]}))
    '1 learner could not be fitted (see verdict in selection.csv): 7 (1 trial with a choice)'
    """
    names = list(dict.fromkeys(found["learner"].to_list()))
    shown = few([*map(_short, names)], NAMED, " and {left:,} more")
    return (
        f"{many(len(names), 'learner')} could not be fitted (see {where}): "
        f"{shown} ({'; '.join(reasons(found))})"
    )


def reasons(found: pl.DataFrame, shown: int = 3) -> list[str]:
    """The most frequent reasons, with how many learners have them where it is not one alone."""
    counts = found["why"].value_counts(sort=True).sort("count", "why", descending=[True, False])
    rows = counts.head(shown).rows()
    told = [why if n == 1 else f"{why}: {n:,} learners" for why, n in rows]
    return told + (["…"] if len(counts) > shown else [])


def _short(name: str) -> str:
    return shortened(" ".join(name.split()), 40)
