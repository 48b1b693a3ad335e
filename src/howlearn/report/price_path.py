"""Shares along the price of a parameter from the likelihoods in the scores: no new fit."""

from __future__ import annotations

import numpy as np
import polars as pl

from howlearn.analyses import path_tables
from howlearn.analyses.path_tables import intervals
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import ALL
from howlearn.report.findings import Findings
from howlearn.selection.criteria import AIC, BIC, Penalized, criterion_named
from howlearn.selection.criterion import PerParameter
from howlearn.sensitivity.tables import SHARES

MAX_KAPPA = 10.0  # nats per parameter
NONE = {"criterion": pl.String, "kappa": pl.Float64, "lowest": pl.Float64, "highest": pl.Float64}


def price_path(found: Findings, most: float = MAX_KAPPA) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frame and the marks that ``figures.path`` draws; both empty where nothing is known.

    Frame: axis, value, criterion, model, learners, share. Marks: criterion, kappa, lowest, highest.
    The scores must have a criterion that charges a price per parameter for all trials.
    """
    priced = {text: c for text in found.criteria if (c := _per_parameter(text)) is not None}
    if not priced:
        return pl.DataFrame(schema=SHARES), pl.DataFrame(schema=NONE)
    mine = found.scores.filter(pl.col("criterion") == next(iter(priced)))
    names = [n for n in found.names if n in set(mine["model"].cast(pl.String))]
    place = {name: k for k, name in enumerate(names)}
    mine = mine.with_columns(place=pl.col("model").cast(pl.String).replace_strict(place))
    shape = (-1, len(names))
    order = mine["place"].to_numpy().reshape(shape)
    likelihood, count = np.empty(order.shape), np.empty(order.shape, np.int64)
    for target, column in ((likelihood, "log_likelihood"), (count, "n_parameters")):
        np.put_along_axis(target, order, mine[column].to_numpy().reshape(shape), axis=1)
    n_trials = mine["n_trials"].to_numpy().reshape(shape)[:, 0]
    paths = intervals(likelihood, count, most)
    learners = pl.DataFrame(
        {
            "axis": pl.repeat(path_tables.KAPPA, len(paths.model), dtype=pl.String, eager=True),
            "value": pl.repeat(None, len(paths.model), dtype=pl.Float64, eager=True),
            "criterion": pl.repeat(
                path_tables.KAPPA, len(paths.model), dtype=pl.String, eager=True
            ),
            "from_kappa": paths.start,
            "to_kappa": paths.stop,
            "model": pl.Series(names, dtype=pl.String).gather(paths.model),
        }
    )
    known = {repr(c): c for c in (*priced.values(), AIC(), BIC(), Penalized())}
    marks = path_tables.prices([*known.values()], np.maximum(n_trials, 1))
    shares = path_tables.shares(learners, names, marks["kappa"].to_list(), most, len(order))
    return shares, marks


def _per_parameter(text: str) -> PerParameter | None:
    """The criterion, if it looks at all trials and charges the same for every parameter."""
    try:
        criterion = criterion_named(text)
    except HowlearnError:
        return None
    if not isinstance(criterion, PerParameter):
        return None
    (truncation,) = criterion.truncations if len(criterion.truncations) == 1 else (None,)
    return criterion if isinstance(truncation, float) and truncation == ALL else None
