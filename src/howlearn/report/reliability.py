"""The chart of predicted probabilities against choices."""

from __future__ import annotations

from howlearn.report.predicted import Predicted
from howlearn.report.style import Chart


def reliability(predicted: Predicted) -> Chart:
    """Observed against predicted shares; beside it both along the trials, where that is known."""
    raise NotImplementedError
