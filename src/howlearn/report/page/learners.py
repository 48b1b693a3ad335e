"""Every learner: a compact table of all, and what the panels show of those that are sampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report import learner_charts, learner_details
from howlearn.report.page.answer import selected_estimates
from howlearn.report.page.figures import compact, spec_of
from howlearn.report.partition_drawing import cells_of, partition
from howlearn.report.words import rounded
from howlearn.results.results import Results
from howlearn.selection.tables import ALL

LONGEST = 1_000  # characters of a name that the page keeps
MOST_LABELS = 4  # columns carried along that the table shows
MOST_ESTIMATES = 60  # of one learner


def table_of(results: Results) -> dict[str, Any]:
    """All sequences, names as places in lists: one short row each."""
    selection, criteria = results.numbered, results.criteria
    names = [*dict.fromkeys([*results.names, *_texts(selection["model"])])]
    verdicts = [*dict.fromkeys(_texts(selection["verdict"]))]
    place, said = ({name: k for k, name in enumerate(each)} for each in (names, verdicts))
    frame = results.table("learners", ALL)
    labels = results.labels[1 : 1 + MOST_LABELS]
    columns: list[list[Any]] = [[text[:LONGEST] for text in _texts(frame[c])]
                                for c in ["learner", *labels]]  # fmt: skip
    columns += [frame["n_trials"].to_list(), [int(e) for e in results.excluded]]
    for criterion in criteria:
        mine = selection.filter(criterion=criterion)
        columns.append([place[m] for m in _texts(mine["model"])])
        columns.append([place.get(m) for m in _texts(mine["runner_up"])])
        columns.append(_short(mine, "margin"))
        columns.append([said[v] for v in _texts(mine["verdict"])])
        columns.append(_short(mine, "probability"))
    return {
        "criteria": criteria,
        "models": names,
        "verdicts": verdicts,
        "labels": labels,
        "unit": results.unit,
        "rows": [list(row) for row in zip(*columns, strict=True)],
    }


def _texts(column: pl.Series) -> list[str]:
    return column.cast(pl.String).fill_null("").to_list()


def _short(frame: pl.DataFrame, name: str) -> list[float | None]:
    if name not in frame.columns:
        return [None] * len(frame)
    value = pl.col(name).cast(pl.Float64)
    finite = pl.when(value.is_finite()).then(value.round_sig_figs(3))
    return frame.select(finite.alias(name))[name].to_list()


def scores_of(results: Results, chosen: Sequence[int]) -> dict[int, list[list[float | None]]]:
    """Of each sequence: by criterion, how many nats every model lies behind the best."""
    scores, n_models = results.table("scores", ALL), len(results.names)
    keys = [name for name in results.labels if name in scores.columns]
    whose = results.table("learners", ALL).select(keys).with_row_index("sequence")
    mine = whose.filter(pl.col("sequence").is_in([*chosen]))
    frame = scores.join(mine, on=keys, nulls_equal=True)
    behind = pl.col("score").max().over("sequence", "criterion") - pl.col("score")
    frame = rounded(frame.with_columns(behind=behind.cast(pl.Float64)).select(
        "sequence", "criterion", "model", "behind"), 3)  # fmt: skip
    columns = {c: k for k, c in enumerate(results.criteria)}
    rows = {m: k for k, m in enumerate(results.names)}
    found: dict[int, list[list[float | None]]] = {}
    for sequence, criterion, model, value in frame.iter_rows():
        if criterion in columns and model in rows:
            empty: list[list[float | None]] = [[None] * n_models for _ in columns]
            found.setdefault(sequence, empty)[columns[criterion]][rows[model]] = value
    return found


def estimates_of(results: Results, chosen: Sequence[int]) -> dict[int, list[list[Any]]]:
    """Of each sequence, the selected model's: cell, parameter, estimate, interval, status."""
    frame = selected_estimates(results).filter(pl.col("sequence").is_in([*chosen]))
    for name in ("lower", "upper"):
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name))
    columns = ["cell", "parameter", "estimate", "lower", "upper", "status"]
    number = pl.col("estimate", "lower", "upper").cast(pl.Float64)
    frame = rounded(frame.with_columns(number).select("sequence", *columns), 3)
    found: dict[int, list[list[Any]]] = {}
    for sequence, *rest in frame.iter_rows():
        own = found.setdefault(sequence, [])
        if len(own) < MOST_ESTIMATES:
            own.append([_cut(value) for value in rest])
    return found


def _cut(value: Any) -> Any:
    return value[:LONGEST] if isinstance(value, str) else value


def panels_of(
    results: Results, chosen: Sequence[int], drawn: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """What is known of the sampled ones; ``drawn`` are the data of their charts."""
    scores, estimates = scores_of(results, chosen), estimates_of(results, chosen)
    return {
        str(k): {
            "scores": scores.get(k, []),
            "estimates": estimates.get(k, []),
            "drawn": dict(drawn.get(k, {})),
        }
        for k in chosen
    }


# The charts of one learner's panel: specs once, data for every sampled learner.


# Of the details; the rest stands in the page's own tables.
KEPT = ("model", "curve", "cells")


@dataclass(frozen=True)
class Panels:
    """Specs with empty data sets, what all learners share, and each one's own numbers."""

    specs: dict[str, Any] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict)
    partitions: dict[str, Any] = field(default_factory=dict)  # by model
    drawn: dict[int, dict[str, Any]] = field(default_factory=dict)  # by sequence
    note: str = ""  # why there is none of it


def panels(
    found: Results,
    chosen: Sequence[int],
    progress: Callable[[int, int], None] | None = None,
) -> Panels:
    """Of the chosen sequences; a sentence where these data cannot be drawn."""
    try:
        common = learner_details.common(found)
        specs = {
            name: compact(spec_of(spec))
            for name, spec in learner_charts.specs(common).items()
            if name in ("curve", "trajectory")
        }
        drawn = {}
        for number, place in enumerate(chosen):
            detail = learner_details.detail(found, int(place))
            drawn[place] = {name: detail[name] for name in KEPT if name in detail}
            if progress:
                progress(number + 1, len(chosen))
        shared = {name: common[name] for name in ("models", "percent", "contexts", "cells")}
        return Panels(specs, shared, _partitions(found, chosen), drawn)
    except HowlearnError as error:
        return Panels(note=str(error))


def _partitions(found: Results, chosen: Sequence[int]) -> dict[str, Any]:
    """A drawing for every model that is selected for one of them."""
    study, used = found.study, {int(found.chosen[place]) for place in chosen}
    drawn = {}
    for place in sorted(used):
        model = found.models[place]
        if cells_of(model) is not None:
            chart = partition(model, study.contexts, study.features)
            drawn[model.name] = compact(spec_of(chart))
    return drawn


# Which learners a page shows one by one, where it cannot show all.


def sampled(models: pl.Series, size: int, seed: int) -> list[int]:
    """Places of ``size`` sequences: every selected model has its share of them, and at least one.

    >>> models = pl.Series(["a"] * 98 + ["b"] * 2)
    >>> chosen = sampled(models, 10, seed=0)
    >>> len(chosen), [models[place] for place in chosen].count("b")
    (10, 1)
    """
    if size >= len(models):
        return [*range(len(models))]
    draw = np.random.default_rng(seed)
    groups = pl.DataFrame({"model": models}).with_row_index("place").group_by("model")
    places = {str(key[0]): frame["place"].to_numpy() for key, frame in groups}
    if size < len(places):
        return sorted(draw.choice(len(models), size, replace=False).tolist())
    chosen: list[int] = []
    left, rooms, waiting = len(models), size, len(places)
    # The rare first: their one place must not be rounded away.
    for own in sorted(places.values(), key=lambda found: (len(found), found[0])):
        waiting -= 1
        fair = max(1, round(rooms * len(own) / left))
        count = min(fair, len(own), rooms - waiting)
        chosen += draw.choice(own, count, replace=False).tolist()
        rooms, left = rooms - count, left - len(own)
    return sorted(chosen)
