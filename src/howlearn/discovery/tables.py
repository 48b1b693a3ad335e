"""What was found as tidy tables: one row per fact, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.columns import Schema, columns_of, of, renamed
from howlearn.core.partition import cell_name
from howlearn.core.study import Study
from howlearn.discovery.judging import Judged
from howlearn.discovery.result import JUDGED, NOT_JUDGED, Discovery
from howlearn.engine.set_partitions import TIE, in_first_order
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.criterion import Criterion

LEARNERS = ("partitions", "coclassification", "marked")  # tables with rows for every learner

Codes = tuple[int, ...]
Named = Mapping[Codes, Sequence[tuple[int, ...]]]


def discovery(
    study: Study,
    criteria: Sequence[Criterion],
    models: Sequence[PartitionModel],
    by: Sequence[str],
    met: Sequence[Codes],
    named: Named,
    judged: Mapping[int, Sequence[Judged]],
    why: Mapping[int, str],
) -> Discovery:
    """The tables of all learners; judged[learner][criterion], and why others cannot be judged."""
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
    unmet = sum(len(met[i]) < len(study.contexts) for i in judged)
    best, together, marked = (
        _labelled(study, rows[name], of(name, "discover")) for name in LEARNERS
    )
    return Discovery(
        best,
        together,
        marked,
        tuple(study.contexts),
        tuple(texts),
        conditions_of(study, by),
        unmet,
    )


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
