"""The charts of a run, by the names of their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howlearn.report import figures

if TYPE_CHECKING:
    from howlearn.calibration.result import Calibration
    from howlearn.report.style import Chart


def of_calibration(result: Calibration) -> dict[str, Chart]:
    """Errors by constant and by split, the confusion matrix, parameter recovery."""
    models = result.contest.models
    charts: dict[str, Chart] = {}
    for curve in result.tuned:
        chosen = {
            f"smallest {word} error": float(curve.settings[curve.best(goal)])
            for goal, word in (("maximum", "largest"), ("average", "mean"))
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
