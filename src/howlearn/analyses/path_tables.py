"""Selections along the axes as tidy tables, and who leads where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints, log_sum
from howlearn.core.columns import of, renamed
from howlearn.core.study import Study
from howlearn.fitting.fit import Progress
from howlearn.fitting.fits import Fits
from howlearn.selection.criterion import Criterion
from howlearn.selection.evidence import (
    Evidence,
    log_evidence_alone,
    log_evidence_even,
    without_grid,
)
from howlearn.selection.hierarchy import groups_of
from howlearn.selection.rate_grid import SPREADS, in_blocks, on_grid, plan_of
from howlearn.selection.select import winners

# The selected model of every learner as a function of κ, the price of a parameter: exactly.
#
# Every score ℓ − κ·D is a line in κ, so the best model changes at the corners of their upper
# envelope, each time to a model with fewer parameters.


NEVER = -1e300  # in place of a log-likelihood of −∞, so that differences are numbers
OUT = -1e308  # of models that are not asked


@dataclass(frozen=True)
class Intervals:
    """From ``start`` on (up to ``stop``, not included) a learner's selected model is ``model``."""

    learner: Ints
    start: Floats
    stop: Floats
    model: Ints


def intervals(log_likelihood: Floats, n_parameters: Ints, most: float) -> Intervals:
    """The intervals of κ from 0 to ``most`` over which each learner's selection stays the same.

    The axes of both arrays are learner, model. Ties are broken as ``select`` does: fewer
    parameters, then the order of the candidates.

    >>> found = intervals(np.array([[-10.0, -13.0]]), np.array([[3, 1]]), 10.0)
    >>> found.model.tolist(), found.start.tolist(), found.stop.tolist()
    ([0, 1], [0.0, 1.5], [1.5, 10.0])
    """
    height = np.where(np.isfinite(log_likelihood), log_likelihood, NEVER)
    who = np.arange(len(height))
    at, model = np.zeros(len(height)), winners(height, n_parameters)
    learners, starts, stops, models = [], [], [], []
    while len(who):
        own = height[who, model], n_parameters[who, model]
        fewer = n_parameters[who] < own[1][:, None]
        fall = np.where(fewer, own[0][:, None] - height[who], np.inf)
        price = np.where(fewer, fall / np.maximum(own[1][:, None] - n_parameters[who], 1), np.inf)
        until = np.minimum(np.maximum(price.min(axis=1), at), most)
        kept = (until > at) | (until >= most)
        for found, values in zip(
            (learners, starts, stops, models), (who, at, until, model), strict=True
        ):
            found.append(values[kept])
        left = until < most
        who, at, fewer = who[left], until[left], fewer[left]
        there = np.where(fewer, height[who] - at[:, None] * n_parameters[who], OUT)
        model = winners(there, n_parameters[who])
    learner, start, stop, selected = (
        np.concatenate(found) for found in (learners, starts, stops, models)
    )
    order = np.lexsort((start, learner))
    return Intervals(learner[order], start[order], stop[order], selected[order])


KAPPA = "kappa"  # the axis of prices, and what the tables call its criterion
STEP = 0.05  # nats between two rows of the shares along the price

Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]  # [place, model]


def priced(study: Study, found: Intervals, names: Sequence[str]) -> pl.DataFrame:
    """One row per learner and interval of prices."""
    frame = of("path-learners", "path").frame(
        {
            "axis": KAPPA,
            "criterion": KAPPA,
            "from_kappa": found.start,
            "to_kappa": found.stop,
            "model": pl.Series([*names], dtype=pl.String).gather(found.model),
        }
    )
    return labels(study)[found.learner].hstack(frame.get_columns())


def selected(
    study: Study, axis: str, value: float | None, chosen: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """One row per learner and criterion at one place of an axis."""
    frames = []
    for criterion, models in chosen.items():
        frame = of("path-learners", "path").frame(
            {
                "axis": axis,
                "value": value,
                "criterion": criterion,
                "model": pl.Series([*models], dtype=pl.String),
            }
        )
        frames.append(labels(study).hstack(frame.get_columns()))
    return pl.concat(frames)


def labels(study: Study) -> pl.DataFrame:
    """The columns that open a table; one with the name of a result is called ``input_NAME``."""
    return renamed(study.labels, of("path-learners", "path").names)


def prices(criteria: Sequence[Criterion], n_scored: NDArray[np.int64]) -> pl.DataFrame:
    """The price of every criterion at the learners' median n, and its range over learners."""
    n = n_scored.astype(float)
    rows = []
    for criterion in criteria:
        own = criterion.price(n)
        middle = float(criterion.price(np.array([np.median(n)]))[0])
        rows.append((repr(criterion), middle, float(own.min()), float(own.max())))
    schema = {"criterion": pl.String}
    schema |= dict.fromkeys(("kappa", "lowest", "highest"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def in_order(learners: pl.DataFrame, models: Sequence[str]) -> list[str]:
    """The candidates, then what else was selected."""
    return [*dict.fromkeys([*models, *learners["model"].unique(maintain_order=True)])]


def corners(learners: pl.DataFrame, models: Sequence[str]) -> tuple[NDArray[np.float64], Counts]:
    """All prices at which a learner's selection changes, and how many have each model from there.

    Exact: the numbers stay the same up to the next price.
    """
    mine = learners.filter(pl.col("axis") == KAPPA)
    place = mine["model"].replace_strict([*models], [*range(len(models))]).to_numpy()
    start, stop = mine["from_kappa"].to_numpy(), mine["to_kappa"].to_numpy()
    at, begins = np.unique(start, return_inverse=True)
    change = np.zeros((len(at), len(models)), np.int64)
    np.add.at(change, (begins, place), 1)
    inner = stop < stop.max(initial=0.0)  # the last interval of a learner has no end
    np.add.at(change, (np.searchsorted(at, stop[inner]), place[inner]), -1)
    return at, np.cumsum(change, axis=0)


def counts_at(at: NDArray[np.float64], counts: Counts, values: Sequence[float]) -> Counts:
    """The numbers of learners at some prices."""
    return counts[np.searchsorted(at, np.asarray(values, float), side="right") - 1]


def shares(
    learners: pl.DataFrame, models: Sequence[str], marks: Sequence[float], most: float, n: int
) -> pl.DataFrame:
    """How many learners each model is selected for: along prices, bounds and priors."""
    names = in_order(learners, models)
    steps = int(np.ceil(most / STEP - 1e-9))
    grid = {round(k * STEP, 10) for k in range(steps)} | {most} | {m for m in marks if m <= most}
    values = sorted(grid)
    along = counts_at(*corners(learners, names), values)
    rows: list[tuple[Any, ...]] = [
        (KAPPA, value, KAPPA, name, int(count), float(count / n))
        for value, mine in zip(values, along, strict=True)
        for name, count in zip(names, mine, strict=True)
    ]
    keys = ["axis", "value", "criterion"]
    rest = learners.filter(pl.col("axis") != KAPPA)
    for key, frame in rest.group_by(keys, maintain_order=True):
        found = dict(frame["model"].value_counts().iter_rows())
        rows += [(*key, name, found.get(name, 0), found.get(name, 0) / n) for name in names]
    return of("path", "path").of_rows(rows)


def leading(table: pl.DataFrame, axis: str) -> dict[tuple[float | None, str], list[str]]:
    """The models with most learners, several where they are level, by value and criterion."""
    keys = ["value", "criterion"]
    mine = table.filter(pl.col("axis") == axis)
    mine = mine.filter(pl.col("learners") == pl.col("learners").max().over(keys))
    groups = mine.group_by(keys, maintain_order=True)
    return {(key[0], str(key[1])): frame["model"].to_list() for key, frame in groups}  # type: ignore[misc]


def runs(counts: Counts) -> list[tuple[int, int, list[int]]]:
    """First place, last place and leading models of every stretch of an axis that somebody leads.

    As few stretches as can be: who is level with the others leads on, and where several lead
    together, it is whoever leads in the end.

    >>> runs(np.array([[2, 2, 0], [3, 1, 0], [2, 2, 0], [0, 4, 0]]))
    [(0, 2, [0]), (3, 3, [1])]
    """
    lead: Flags = counts == counts.max(axis=1, keepdims=True)
    new = np.flatnonzero(np.any(lead[1:] != lead[:-1], axis=1)) + 1
    found, first, now = [], 0, lead[0]
    for k in new.tolist():
        if np.any(now & lead[k]):
            now = now & lead[k]
        else:
            found.append((first, k - 1, np.flatnonzero(now).tolist()))
            first, now = k, lead[k]
    return [*found, (first, len(lead) - 1, np.flatnonzero(now).tolist())]


def leaders(
    learners: pl.DataFrame, table: pl.DataFrame, models: Sequence[str], most: float, n: int
) -> pl.DataFrame:
    """One row per stretch of an axis that one model leads; a row for every prior."""
    names = in_order(learners, models)
    rows: list[tuple[Any, ...]] = []

    def row(key: tuple[str, str], ends: tuple[Any, Any], mine: Counts, who: list[int]) -> None:
        share = mine[:, who[0]] / n
        text = " and ".join(names[k] for k in who)
        rows.append((*key, *ends, text, float(share.min()), float(share.max())))

    at, counts = corners(learners, names)
    for first, last, who in runs(counts):
        end = float(at[last + 1]) if last + 1 < len(at) else most
        row((KAPPA, KAPPA), (float(at[first]), end), counts[first : last + 1], who)
    rest = table.filter(pl.col("axis") != KAPPA)
    for key, frame in rest.group_by(["axis", "criterion"], maintain_order=True):
        values = frame["value"].to_numpy()[:: len(names)]
        mine = frame["learners"].to_numpy().reshape(-1, len(names))
        for first, last, who in runs(mine):
            ends = (None, None) if key[0] == "prior" else (values[first], values[last])
            row((str(key[0]), str(key[1])), ends, mine[first : last + 1], who)
    return of("path-leaders", "path").of_rows(rows)


# The evidence of one learner alone, by what is assumed about learning rates beforehand.


AVERAGED = repr(Evidence())
EVEN = "evidence, cells independent"
BLOCK = 500  # learners whose curves are held at once


def spread_text(spread: float) -> str:
    """What the tables call a prior with this spread of cells."""
    return f"evidence, spread {spread:g}"


def under_priors(
    fits: Fits, threads: int | None = None, progress: Progress | None = None
) -> dict[str, Floats]:
    """Log evidence [learner, model] by prior: the spreads averaged and one by one, no learner rate.

    In all of them log rates are even between the smallest and the largest one: a learner's own
    rate, around which cells have a spread, or without it every cell's rate.
    """
    study, models = fits.study, fits.models
    fixed = without_grid(fits, models)
    texts = [*map(spread_text, SPREADS), EVEN]
    found = {text: fixed.copy() for text in texts}
    chosen = [(k, m) for k, m in enumerate(models) if on_grid(m)]
    columns, parts = [k for k, _ in chosen], [m for _, m in chosen]
    for mine, curves in in_blocks(study, plan_of(models, study), BLOCK, threads):
        for group in groups_of(parts, columns, curves):
            for text, spread in zip(texts, SPREADS, strict=False):
                found[text][mine, group.columns] = log_evidence_alone(group, (spread,))
            found[EVEN][mine, group.columns] = log_evidence_even(group)
        if progress:
            progress(mine.stop, len(study))
    each = np.stack([found[text] for text in texts[:-1]], axis=-1)
    return {AVERAGED: log_sum(each) - np.log(len(SPREADS)), **found}
