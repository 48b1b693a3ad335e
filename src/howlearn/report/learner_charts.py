"""The charts of one learner, from its details; as specs they take their data by name.

A page stores ``specs(common)`` once and fills the data sets of a learner with what ``rows(detail,
common)`` lists, in its own script: curve ← {x, y}; trajectory ← {cell, x, p, y}; scores ←
{criterion, model, behind, selected}; estimates ← {owner, estimate, lower, upper, status}.
"""

from __future__ import annotations

from typing import Any

from howlearn.report.findings import Findings
from howlearn.report.style import Chart

CHARTS = ("curve", "trajectory", "scores", "estimates")


def specs(common: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Vega-Lite specs by name of chart; each has one data set, of the same name, left empty."""
    raise NotImplementedError


def rows(detail: dict[str, Any], common: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each data set, as a page's script makes them from the compact form."""
    raise NotImplementedError


def trajectories(detail: dict[str, Any], common: dict[str, Any]) -> Chart:
    """Choices in each cell, and the model's probabilities."""
    raise NotImplementedError


def learner(detail: dict[str, Any], common: dict[str, Any], found: Findings) -> Chart:
    """All charts of one learner in one."""
    raise NotImplementedError
