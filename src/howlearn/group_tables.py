"""What all learners together tell, as tidy tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats
from howlearn.core.columns import of
from howlearn.criteria import Criterion, Population
from howlearn.evidence.curves import on_grid
from howlearn.evidence.laplace import approximation
from howlearn.evidence.population import Learned
from howlearn.tables import OTHER


def group_tables(criteria: Sequence[Criterion]) -> dict[str, pl.DataFrame]:
    """The tables of the first criterion that knows a population; none without one."""
    for criterion in criteria:
        if isinstance(criterion, Population) and criterion.learned is not None:
            return {
                "population": population(criterion),
                "population-rates": population_rates(criterion),
            }
    return {}


def population(criterion: Population) -> pl.DataFrame:
    """One row per model: its share with an interval; a last one for Other.

    Where rates of its own for every model explain the learners far better, both answers are there.
    """
    return pl.concat([_shares(criterion, part, rates) for part, rates in _answers(criterion)])


def population_rates(criterion: Population) -> pl.DataFrame:
    """One row per distribution of rates."""
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "criterion": repr(criterion),
                    "rates": rates,
                    "models": [", ".join(each.models) for each in part.rates],
                    "median_rate": [each.median for each in part.rates],
                    "spread_of_learners": [each.hyper.tau for each in part.rates],
                    "spread_of_cells": [each.hyper.s for each in part.rates],
                    "at_limits": [each.at_limits for each in part.rates],
                    "gain_of_rates_per_model": part.gain,
                    "price_of_rates_per_model": part.price,
                    "learners": part.n_sampled,
                    "learners_changed": _changed(criterion),
                },
                schema_overrides={"models": pl.String, "at_limits": pl.String},
            )
            for part, rates in _answers(criterion)
        ]
    )


def _answers(criterion: Population) -> list[tuple[Learned, str]]:
    known = criterion.learned
    assert known is not None
    names = ("per model", "shared") if criterion.per_model else ("shared", "per model")
    return [(known, names[0]), *([(known.rival, names[1])] if known.rival else [])]


def _shares(criterion: Population, known: Learned, rates: str) -> pl.DataFrame:
    models = [model.name for model in known.models]
    n = len(models)
    common = {"criterion": repr(criterion), "rates": rates}
    frame = of("population").frame(
        {
            **common,
            "model": models,
            "share": known.shares.share,
            "lower": known.shares.lower,
            "upper": known.shares.upper,
            "evidence": ["quadrature" if on_grid(m) else approximation(m) for m in known.models],
            **_with_other(known, slice(n)),
        }
    )
    frame = frame[np.argsort(-known.shares.share, kind="stable")]
    if known.with_other is None:
        return frame
    other = {"model": [OTHER], "evidence": "quadrature", **_with_other(known, slice(n, n + 1))}
    return pl.concat([frame, of("population").frame({**common, **other})])


def _with_other(known: Learned, which: slice) -> dict[str, Floats]:
    """Shares where Other is a candidate too, with the ends of their intervals."""
    found = known.with_other
    if found is None:
        return {}
    return {
        "share_with_other": found.share[which],
        "lower_with_other": found.lower[which],
        "upper_with_other": found.upper[which],
    }


def _changed(criterion: Population) -> int | None:
    """Learners who would be given another model by the other answer."""
    known = criterion.learned
    if known is None or known.rival is None:
        return None
    first, second = (
        np.argmax(each.log_evidence + np.log(each.expected), axis=1)
        for each in (known, known.rival)
    )
    return int(np.sum(first != second))
