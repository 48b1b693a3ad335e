"""What was found as tidy tables: one row per fact, best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.discover_search import Judged
from howlearn.analyses.discover_words import NOT_JUDGED, summary_of
from howlearn.core.arrays import Floats
from howlearn.core.columns import Schema, columns_of, of, renamed
from howlearn.core.partition import cell_name
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence
from howlearn.engine.set_partitions import TIE, in_first_order
from howlearn.models.partition_model import PartitionModel
from howlearn.results.analysis import Analysis
from howlearn.selection.criterion import Criterion

# All learners together: mean co-classification, its clusters, and the marked partitions.


CUT = 0.5  # contexts that go together more often than not, on average, are one cell
UNKNOWN = 0.5  # of a pair that no learner met


def _mean() -> list[pl.Expr]:
    p = pl.col("probability")
    return [
        p.mean().alias("mean_probability"),
        (p.std() / p.count().sqrt()).fill_nan(None).alias("standard_error"),
        p.count().cast(pl.Int64).alias("learners"),
    ]


def _by_pair(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    keys = [*by, "criterion", "context_a", "context_b"]
    return frame.group_by(keys, maintain_order=True).agg(*_mean(), pl.col("exact").all())


def consensus_of(frame: pl.DataFrame, contexts: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and context: its place in the order, and the number of its cell.

    Average linkage of 1 − the mean co-classification; cells are cut where the contexts of two
    clusters go together less often than not.
    """
    keys = [*by, "criterion"]
    parts = []
    code = {context: i for i, context in enumerate(contexts)}
    for _, rows in _by_pair(frame, by).group_by(keys, maintain_order=True):
        together = np.full((len(contexts),) * 2, UNKNOWN)
        a = rows["context_a"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
        b = rows["context_b"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
        together[a, b] = together[b, a] = rows["mean_probability"].fill_null(UNKNOWN).to_numpy()
        order, cell = clustered(together)
        columns = {
            "context": [contexts[i] for i in order],
            "place": np.arange(1, len(order) + 1),
            "cell": cell,
            "exact": bool(rows["exact"].all()),
        }
        front = rows.select(keys)[np.zeros(len(order), int)]
        parts.append(front.hstack(pl.DataFrame(columns).get_columns()))
    if not parts:  # a single context has no pair
        own = of("consensus", "discover").types
        return pl.DataFrame(schema={**{key: frame.schema[key] for key in keys}, **own})
    return pl.concat(parts)


def clustered(together: Floats) -> tuple[list[int], list[int]]:
    """The contexts in order, and the cell of each of them.

    >>> clustered(np.array([[1.0, 0.1, 0.9], [0.1, 1.0, 0.2], [0.9, 0.2, 1.0]]))
    ([1, 2, 0], [1, 2, 2])
    """
    from scipy.cluster.hierarchy import fcluster, leaves_list, linkage

    pairs = 1.0 - together[np.triu_indices(len(together), 1)]
    tree = linkage(pairs, "average", optimal_ordering=True)
    order = leaves_list(tree).tolist()
    numbers = fcluster(tree, 1.0 - CUT, "distance")[order]
    first = dict.fromkeys(numbers.tolist())
    number = {label: i for i, label in enumerate(first, 1)}
    return order, [number[label] for label in numbers.tolist()]


def means(frame: pl.DataFrame, order: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and pair of contexts, the first one before the other in the order."""
    keys = [*by, "criterion"]
    places = order.select(*keys, "context", "place")
    found = _by_pair(frame, by)
    for side in ("a", "b"):
        renamed = places.rename({"context": f"context_{side}", "place": f"place_{side}"})
        found = found.join(renamed, [*keys, f"context_{side}"], "left", nulls_equal=True)
    turned = pl.col("place_a") > pl.col("place_b")
    swapped = [
        pl.when(turned).then(pl.col(f"{what}_{other}")).otherwise(f"{what}_{side}")
        .alias(f"{what}_{side}")
        for what in ("context", "place") for side, other in (("a", "b"), ("b", "a"))
    ]  # fmt: skip
    found = found.with_columns(*swapped, _groups(found, keys))
    ordered = found.sort("_group", "place_a", "place_b").drop("_group")
    front = [*keys, "context_a", "context_b", "mean_probability", "standard_error", "learners"]
    return ordered.select(*front, "place_a", "place_b", "exact")


def models(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """One row per criterion and marked partition, the most probable one first."""
    keys = [*by, "criterion", "model"]
    found = frame.group_by(keys, maintain_order=True).agg(
        *_mean(),
        (pl.col("rank") == 1).fill_null(False).mean().alias("share_best"),
        pl.col("rank").is_not_null().mean().alias("share_listed"),
        pl.col("difference").median().alias("median_difference"),
        pl.col("exact").all(),
    )
    group = _groups(found, keys[:-1])
    ordered = found.with_columns(group).sort(
        "_group", "mean_probability", descending=[False, True], maintain_order=True
    )
    return ordered.drop("_group")


def _groups(frame: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """The number of each row's group, in order of first appearance."""
    rows = frame.select(keys).rows()
    number = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    return pl.Series("_group", [number[row] for row in rows], pl.Int64)


# What ``discover`` found: tables of the learners, and of the population they make.


JUDGED = "judged"  # a status


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Discovery(Analysis):
    """The best partitions of every learner, and which contexts are treated alike, as tables."""

    command = "discover"
    CHARTS = ("coclassification",)

    partitions: pl.DataFrame  # one row per learner, criterion and rank
    coclassification: pl.DataFrame  # one row per learner, criterion and pair of contexts
    marked: pl.DataFrame  # one row per learner, criterion and marked partition
    contexts: tuple[str, ...]
    criteria: tuple[str, ...]
    by: tuple[str, ...] = ()  # columns: each combination of values is a separate population
    n_unmet: int = 0  # learners who did not meet every context
    # The cell of every context, in each of the marked partitions.
    marks: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    usual: bool = False  # whether the criteria are those that are taken where none is named
    answers: str = ""  # the marked partition of the contexts with the same right answer
    # The best partitions of some learners at several largest rates, where that takes seconds.
    bounds: pl.DataFrame = field(default_factory=lambda: of("bounds", "discover").of_rows([]))
    n_chance: int = 0  # learners whose choices no partition explains better than a coin

    def __repr__(self) -> str:
        return (
            f"Discovery among all partitions of {len(self.contexts)} contexts by "
            f"{', '.join(self.criteria)}: see .partitions, .coclassification, .population, "
            ".consensus, .marked, .models"
        )

    @cached_property
    def unjudged(self) -> pl.DataFrame:
        """One row per learner who could not be judged, with a status that says why."""
        rows = self.partitions.filter(pl.col("status") != JUDGED)
        first = rows.filter(pl.col("criterion") == self.criteria[0])
        return first.select(pl.all().exclude("criterion"))

    @property
    def exact(self) -> bool:
        """Whether nothing had to be searched."""
        return bool(self.partitions["exact"].all())

    @cached_property
    def population(self) -> pl.DataFrame:
        """The mean co-classification of every pair of contexts, in the order of a clustering."""
        return means(self.coclassification, self.consensus, self.by)

    @cached_property
    def consensus(self) -> pl.DataFrame:
        """The contexts in the order of a clustering, and the cells that it gives."""
        return consensus_of(self.coclassification, self.contexts, self.by)

    @cached_property
    def models(self) -> pl.DataFrame:
        """How probable each marked partition is on average, and how often it is the best."""
        return models(self.marked, self.by)

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """The mean co-classification."""
        return {"coclassification": self.population}

    def summary(self) -> Iterator[Listing | Sentence]:
        """Marked partitions, cells that the population agrees on, and what to do next."""
        yield from summary_of(self)

    def where(self, folder: Path) -> list[str]:
        names = "population.csv, consensus.csv, partitions.csv, …"
        return [f"Tables and chart: {folder}/{names}"]


LEARNERS = ("partitions", "coclassification", "marked")  # tables with rows for every learner

Codes = tuple[int, ...]
Named = Mapping[Codes, Sequence[tuple[int, ...]]]


def tables_of(
    study: Study,
    criteria: Sequence[Criterion],
    models: Sequence[PartitionModel],
    met: Sequence[Codes],
    named: Named,
    judged: Mapping[int, Sequence[Judged]],
    why: Mapping[int, str],
) -> dict[str, pl.DataFrame]:
    """The tables of learners; judged[learner][criterion], and why others cannot be judged."""
    texts, names = [repr(c) for c in criteria], [m.name for m in models]
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in LEARNERS}
    for i, codes in enumerate(met):
        if i in why:
            rows["partitions"] += [_unjudged(i, text, why[i]) for text in texts]
            continue
        found = judged[i]
        contexts = [study.contexts[code] for code in codes]
        parts = [in_first_order(cells) for cells in named[codes]]
        known: dict[tuple[int, ...], str] = {}
        for cells, name in zip(parts, names, strict=True):
            known[cells] = f"{known[cells]}, {name}" if cells in known else name
        for text, one in zip(texts, found, strict=True):
            rows["partitions"] += _ranked(i, text, one, contexts, known)
            rows["coclassification"] += _pairs(i, text, one, codes, study.contexts)
            rows["marked"] += _marked(i, text, one, contexts, names, parts)
    return {name: _labelled(study, rows[name], of(name, "discover")) for name in LEARNERS}


def marks_of(models: Sequence[PartitionModel]) -> dict[str, dict[str, int]]:
    """The cell of every context, in each of the partitions."""
    return {
        model.name: {c: i for i, cell in enumerate(model.partition.cells) for c in cell}
        for model in models
    }


def contexts_met(study: Study) -> list[Codes]:
    """Of every learner: the codes of the contexts that were shown."""
    return [
        tuple(np.unique(part.context[a:b]).tolist())
        for part in study.parts()
        for a, b in zip(part.starts[:-1], part.starts[1:], strict=True)
    ]


def conditions_of(study: Study, by: Sequence[str]) -> tuple[str, ...]:
    """The conditions as the tables call them."""
    renamed = labels(study).columns
    return tuple(renamed[1 + study.about.columns.index(name)] for name in by)


def _ranked(
    i: int, text: str, one: Judged, contexts: Sequence[str], known: Mapping[tuple[int, ...], str]
) -> list[tuple[Any, ...]]:
    best = one.ranked[0].score
    return [
        (i, text, rank, written(each.cells, contexts), len(each.cells), each.score,
         max(best - each.score, 0.0), np.exp(each.score - one.total), known.get(each.cells),
         one.exact, JUDGED)
        for rank, each in enumerate(one.ranked, 1)
    ]  # fmt: skip


def _unjudged(i: int, text: str, why: str) -> tuple[Any, ...]:
    nothing = [None] * (len(of("partitions", "discover").names) - 2)
    return i, text, *nothing, f"{NOT_JUDGED}: {why}"


def _pairs(
    i: int, text: str, one: Judged, codes: Codes, contexts: Sequence[str]
) -> list[tuple[Any, ...]]:
    """Every pair of the study's contexts; empty where the learner did not meet both."""
    place = {code: j for j, code in enumerate(codes)}
    rows = []
    for a, b in combinations(range(len(contexts)), 2):
        both = a in place and b in place
        probability = float(one.together[place[a], place[b]]) if both else None
        rows.append((i, text, contexts[a], contexts[b], probability, one.complete))
    return rows


def _marked(
    i: int,
    text: str,
    one: Judged,
    contexts: Sequence[str],
    names: Sequence[str],
    parts: Sequence[tuple[int, ...]],
) -> list[tuple[Any, ...]]:
    ranks = {each.cells: rank for rank, each in enumerate(one.ranked, 1)}
    best = one.ranked[0].score
    rows = [
        (i, text, name, written(cells, contexts), len(cells), score,
         0.0 if best - score < TIE else best - score, np.exp(score - one.total), ranks.get(cells),
         one.exact)
        for name, cells, score in zip(names, parts, one.named, strict=True)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row[6])


def written(cells: Sequence[int], contexts: Sequence[str]) -> str:
    """A partition in one text.

    >>> written((0b011, 0b100), ["1", "2", "3"])
    '1+2|3'
    """
    inside = ([c for j, c in enumerate(contexts) if cell >> j & 1] for cell in cells)
    return "|".join(cell_name(cell) for cell in inside)


def labels(study: Study) -> pl.DataFrame:
    """The columns that open a table; one with the name of a result is called ``input_NAME``."""
    return renamed(study.labels, columns_of("discover"))


def _labelled(study: Study, rows: Sequence[tuple[Any, ...]], table: Schema) -> pl.DataFrame:
    frame = table.of_rows(rows, "_learner")
    return labels(study)[frame["_learner"]].hstack(frame.drop("_learner").get_columns())
