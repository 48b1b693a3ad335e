"""A calibration as a folder: parts that survive an interruption, then tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from howlearn.calibration.advice import RECOMMENDATION
from howlearn.calibration.plan import Plan
from howlearn.calibration.recover import Recovery
from howlearn.calibration.result import Calibration
from howlearn.core.safe_files import write_csv
from howlearn.runs.files import write_json, write_text, write_whole

TABLES = ("errors", "settings", "confusion", "recovery", "slope")
CHARTS = (
    "errors-penalized",
    "errors-holdout",
    "confusion-penalized",
    "confusion-holdout",
    "recovery",
)
OUTPUTS = {
    RECOMMENDATION,
    *(f"{table}.csv" for table in TABLES),
    *(f"{chart}.{ending}" for chart in CHARTS for ending in ("svg", "png")),
}
RECOVERY_TABLES = ("confusion", "recovery", "learners")
RECOVERY_OUTPUTS = {
    *(f"{table}.csv" for table in RECOVERY_TABLES),
    *(f"{chart}.{ending}" for chart in ("confusion", "recovery") for ending in ("svg", "png")),
}
PLAN_TABLES = {"plan": "recovered", "pairs": "pairs", "shares": "shares"}
PLAN_OUTPUTS = {
    "plan.txt",
    *(f"{table}.csv" for table in PLAN_TABLES),
    *(f"{chart}.{ending}" for chart in ("plan", "shares") for ending in ("svg", "png")),
}


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Each table whole or not at all."""
    for name, frame in tables.items():
        write_whole(folder / f"{name}.csv", partial(write_csv, frame))


def write_calibration(folder: Path, calibration: Calibration, about: Mapping[str, Any]) -> None:
    """The tables, and last the recommendation: where it is, everything is."""
    write_tables(folder, {table: getattr(calibration, table) for table in TABLES})
    write_json(folder / RECOMMENDATION, {**calibration.recommendation, **about})


def write_recovery(folder: Path, result: Recovery) -> None:
    """The tables."""
    write_tables(folder, {table: getattr(result, table) for table in RECOVERY_TABLES})


def write_plan(folder: Path, plan: Plan) -> None:
    """The tables, and the answers in words."""
    write_tables(folder, {name: getattr(plan, table) for name, table in PLAN_TABLES.items()})
    text = "\n".join(plan.sentences) + "\n"
    write_text(folder / "plan.txt", text)
