"""The chart of learning curves."""

from __future__ import annotations

from howlearn.report.behaviour import Behaviour
from howlearn.report.style import Chart


def learning_curves(behaviour: Behaviour) -> Chart:
    """People and doubles, overall and by context."""
    raise NotImplementedError
