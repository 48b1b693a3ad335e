"""How many learners were given each model, by criterion, with and without those excluded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from howlearn.report.apa.numbers import percent
from howlearn.report.apa.table import ApaTable, Head
from howlearn.report.methods.words import clean, count

ALL_SHOWN = 12  # candidates of which all are shown; of more, those that somebody was given
BESIDE = 4  # criteria beside one another; more stand below one another
TITLE = "Learners for Whom Each Model Was Selected, by Criterion"
INCLUDED, ALL = "included", "all learners"

Counts = dict[tuple[str, str], dict[str, int]]  # by criterion and who is counted: model → learners


def counts_table(
    manifest: Mapping[str, Any],
    selection: pl.DataFrame,
    included: pl.DataFrame,
    criteria: Sequence[str],
    shares: pl.DataFrame | None = None,
) -> ApaTable:
    """Beside one another where they fit the page, else below one another."""
    scoped = included.height < selection.height
    counts: Counts = {}
    for criterion in criteria:
        counts[criterion, INCLUDED] = _counted(included.filter(pl.col("criterion") == criterion))
        if scoped and shares is not None:
            counts[criterion, ALL] = _of_all(shares.filter(pl.col("criterion") == criterion))
    models, notes = _shown(manifest, counts)
    if scoped:
        notes.append("Included: without the learners who were excluded.")
    make = _beside if len(counts) <= BESIDE else _below
    heads, rows, n_words = make(counts, models, scoped)
    return ApaTable(0, TITLE, tuple(heads), tuple(rows), tuple(notes), n_words)


def _counted(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows["model"].cast(pl.String).value_counts().iter_rows())


def _of_all(shares: pl.DataFrame) -> dict[str, int]:
    """As if nobody were excluded: a population is then learned from all learners."""
    rows = shares.filter((pl.col("among") == "all") & (pl.col("learners") > 0))
    return {str(model): int(n) for model, n in rows.select("model", "learners").iter_rows()}


def _shown(manifest: Mapping[str, Any], counts: Counts) -> tuple[list[str], list[str]]:
    """The models in the order of the candidates, and what is to be said of those left out."""
    found = {name for each in counts.values() for name in each}
    given = dict.fromkeys(str(model.get("name")) for model in manifest.get("models") or ())
    models = [*given, *sorted(found - {*given})]
    left = [name for name in models if name not in found]
    if len(models) <= ALL_SHOWN or not left:
        return models, []
    others = count(len(left), "candidate")
    models = [name for name in models if name in found]
    return models, [f"Not shown: {others} that no learner was given."]


def _cells(found: dict[str, int], model: str) -> tuple[str, str]:
    n = found.get(model, 0)
    return f"{n:,}", percent(n, sum(found.values()))


def _beside(
    counts: Counts, models: Sequence[str], scoped: bool
) -> tuple[list[Head], list[tuple[str, ...]], int]:
    heads = [Head("Model")]
    for (criterion, scope), found in counts.items():
        over = clean(criterion) + (f", {scope}" if scoped else "")
        over += f" (N = {sum(found.values()):,})"
        heads += [Head("n", over), Head("%", over)]
    rows = [
        (clean(model), *(cell for found in counts.values() for cell in _cells(found, model)))
        for model in models
    ]
    return heads, rows, 1


def _below(
    counts: Counts, models: Sequence[str], scoped: bool
) -> tuple[list[Head], list[tuple[str, ...]], int]:
    words = ["Criterion", *(["Learners"] if scoped else []), "Model"]
    rows = [
        (clean(criterion), *([scope] if scoped else []), clean(model), *_cells(found, model))
        for (criterion, scope), found in counts.items()
        for model in models
        if model in found  # in a long list, rows of zeros would hide the others
    ]
    return [*map(Head, words), Head("n"), Head("%")], rows, len(words)
