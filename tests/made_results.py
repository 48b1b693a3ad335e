"""A results folder in memory: what a run leaves, without a run."""

from __future__ import annotations

from typing import Any

import polars as pl

CRITERIA = ("population", "penalized(c=0.012)", "holdout(split=0.5)")


def unit(cells: str, rule: str = "gradient", form: str = "gain", upper: float = 1.0) -> dict:
    return {"cells": cells, "rule": rule, "form": form, "bounds": {"eta": [0.0, upper]}}


def manifest(**changes: Any) -> dict[str, Any]:
    """Of two candidates and four learners; ``options`` are added to those that are there."""
    made: dict[str, Any] = {
        "command": "select",
        "howlearn": "0.2.0",
        "versions": {"python": "3.11.7", "numpy": "2.0", "numba": "0.60", "polars": "1.20"},
        "input": {"data/of someone/trials.csv": "sha256:" + "0123456789abcdef" * 4},
        "options": {"criteria": [*CRITERIA], "within": 2.0, "seed": 0, "stability": None, "by": []},
        "rows": {"rows read": 400},
        "notes": [],
        "learners": 4,
        "sequences": 4,
        "trials": 400,
        "models": [
            {"name": "One", "rates": "per-cell", "units": [unit("a+b")]},
            {"name": "Each", "rates": "per-cell", "units": [unit("a"), unit("b")]},
        ],
    }
    options = {**made["options"], **changes.pop("options", {})}
    return {**made, **changes, "options": options}


def tables(**changes: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Learners 1 to 3 are given Each and the fourth One, by the first two criteria."""
    learners = ["1", "2", "3", "4"]
    given = {c: ["Each", "Each", "Each", "One"] for c in CRITERIA[:2]}
    given[CRITERIA[2]] = ["One", "Each", "Each", "One"]
    verdicts = ["clear", "clear", "undecided between Each and One", "no better than a coin"]
    selection = pl.concat(
        pl.DataFrame(
            {
                "learner": learners,
                "criterion": [criterion] * 4,
                "model": models,
                "runner_up": ["One"] * 4,
                "margin": [4.0, 3.0, 1.0, 0.0],
                "verdict": verdicts,
                "p_other": pl.Series([0.1] * 4 if criterion == "population" else [None] * 4),
            },
            schema_overrides={"p_other": pl.Float64},
        )
        for criterion, models in given.items()
    )
    rows = [
        (learner, model, cell, "eta", 0.1 * i, trials, None, None, status)
        for i, learner in enumerate(learners, 1)
        for model, cell in (("One", "a+b"), ("Each", "a"), ("Each", "b"))
        for trials, status in (
            (50, "ok"),
            (100, "at upper bound" if (learner, cell) == ("3", "b") else "ok"),
        )
    ]
    columns = "learner model cell parameter estimate trials_fitted lower upper status".split()
    return {
        "selection": selection,
        "estimates": pl.DataFrame(rows, columns, orient="row"),
        "learners": pl.DataFrame({"learner": learners, "n_trials": [100] * 4}),
        **changes,
    }


def confusion() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "criterion": ["penalized"] * 4 + ["aic"] * 4,
            "setting": [0.012] * 4 + [None] * 4,
            "true_model": ["One", "One", "Each", "Each"] * 2,
            "selected_model": ["One", "Each"] * 4,
            "share": [0.9, 0.1, 0.25, 0.75, 1.0, 0.0, 0.0, 1.0],
            "learners": [20] * 8,
        }
    )
