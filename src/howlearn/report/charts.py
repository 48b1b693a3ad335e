"""The charts of a run, by the names of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from howlearn.report import figures

if TYPE_CHECKING:
    from howlearn.calibration.plan import Plan
    from howlearn.calibration.result import Calibration
    from howlearn.report.style import Chart


def of_calibration(result: Calibration) -> dict[str, Chart]:
    """Errors by constant and by split, the confusion matrix, parameter recovery."""
    models = result.contest.models
    charts: dict[str, Chart] = {}
    for curve in result.tuned:
        chosen = {
            "smallest largest error": float(curve.settings[curve.best("maximum")]),
            "smallest mean error": float(curve.settings[curve.best("average")]),
        }
        charts[f"errors-{curve.name}"] = figures.error_curves(
            curve.frame(),
            curve.settings_frame(),
            result.marks if curve.name == "penalized" else {},
            chosen,
            curve.name,
            models,
        )
    first = result.criteria[0]
    frame = result.confusion.filter(criterion=first.name)
    charts["confusion"] = figures.confusion(
        frame.filter(setting=frame["setting"][0]).select("true_model", "selected_model", "share"),
        models,
    )
    charts["recovery"] = figures.recovery(result.recovery)
    return charts


def of_plan(result: Plan) -> dict[str, Chart]:
    """Recovery by number of trials, and the intervals of the shares by number of learners."""
    widest = result.shares.group_by("trials", "learners", "criterion", maintain_order=True).agg(
        pl.col("half_width").max()
    )
    return {
        "plan": figures.plan(result.recovered, result.target, result.models),
        "shares": figures.share_intervals(widest),
    }
