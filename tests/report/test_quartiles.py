"""Quartiles, wherever a report or a summary gives them."""

from __future__ import annotations

from functools import partial
from json import loads
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from howlearn.report.page.answer import stability
from howlearn.report.page.figures import Figure, about, quartile_table, spec_of
from howlearn.report.rate_charts import SCHEMA, rates
from howlearn.results.results import Results
from howlearn.selection.predictions import averages

VALUES = np.array([0.1, 0.2, 0.3, 0.4, 0.8])
LOWER, UPPER = 0.2, 0.4  # two of five values lie between each of them and an end


def estimates() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "learner": ["1", "2", "3", "4", "5"],
            "model": "One",
            "cell": "a+b",
            "parameter": "eta",
            "estimate": VALUES,
            "lower_bound": 0.0,
            "upper_bound": 1.0,
            "status": "inside",
        },
        schema=SCHEMA,
    )


def test_the_table_of_estimates() -> None:
    (row,) = quartile_table(estimates()).to_dicts()
    assert (row["lower_quartile"], row["median"], row["upper_quartile"]) == (LOWER, 0.3, UPPER)
    assert row["learners"] == 5


def test_the_chart_of_estimates() -> None:
    drawn = rates(estimates()).to_dict()
    (row,) = next(loads(text) for text in drawn["datasets"].values() if "median" in text)
    assert (row["lower"], row["median"], row["upper"]) == (LOWER, 0.3, UPPER)


def test_the_chart_of_estimates_counts_sequences() -> None:
    """Two of each learner, in two cells; of all of them, though only some are drawn."""
    one = estimates()
    frame = pl.concat([one, one]).with_columns(cell=pl.lit("a"))
    frame = pl.concat([frame, frame.with_columns(cell=pl.lit("b"))])
    for drawn in (rates(frame), rates(frame.head(3), frame)):
        assert "One · eta (10 learners)" in str(drawn.to_dict())
    figure = about(Figure("estimates", spec_of(rates(frame)), frame), "sequence")
    assert "One · eta (10 sequences)" in str(figure.spec)


def test_the_summary_of_stability() -> None:
    frame = pl.DataFrame({"criterion": ["aic"] * 5, "stability": VALUES, "doubles": [100] * 5})
    gathered: Any = SimpleNamespace(tables={"stability": frame}, criteria=["aic"], unit="learner")
    gathered.stabilities = partial(Results.stabilities, gathered)
    ((criterion, mean, spread, under, n),), _ = stability(gathered)
    assert (criterion, mean, spread, n) == ("aic", "0.36", "0.2 to 0.4", "5")
    assert under == "4 learners"


def test_the_means_of_weights() -> None:
    frame = pl.DataFrame(
        {
            "learner": ["1", "2", "3", "4", "5"],
            "model": "exp4",
            "trial": 1,
            "strategy": "One",
            "weight": VALUES,
            "leads": False,
        }
    )
    (row,) = averages(frame.lazy()).to_dicts()
    assert (row["lower_quartile"], row["upper_quartile"]) == (LOWER, UPPER)
