"""Every chart answers one question, which is its title: tidy frames in, altair charts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from howlearn.report.accuracy import boxes, recovery
from howlearn.report.bars import confusion_bars, shares, shares_by_criterion
from howlearn.report.bounds import bounds
from howlearn.report.coclassification import coclassification
from howlearn.report.confusions import confusion
from howlearn.report.curves import learning_curves
from howlearn.report.disagreement import disagreement
from howlearn.report.errors import error_curves
from howlearn.report.groups import group_shares
from howlearn.report.learner_charts import learner, trajectories
from howlearn.report.margins import margins
from howlearn.report.partition_drawing import partition
from howlearn.report.paths import path
from howlearn.report.plans import plan, share_intervals
from howlearn.report.rates import rates
from howlearn.report.reliability import reliability
from howlearn.report.strategies import average_weights, learners_weights
from howlearn.report.style import CONFIG, Chart

__all__ = [
    "average_weights",
    "beside",
    "bounds",
    "boxes",
    "coclassification",
    "confusion",
    "confusion_bars",
    "disagreement",
    "error_curves",
    "group_shares",
    "learner",
    "learners_weights",
    "learning_curves",
    "margins",
    "partition",
    "path",
    "plan",
    "rates",
    "recovery",
    "reliability",
    "share_intervals",
    "shares",
    "shares_by_criterion",
    "trajectories",
]


def beside(charts: Sequence[Chart], titles: Sequence[str]) -> Chart:
    """Charts side by side, each under a title in the place of its own."""
    retitled = [_retitled(chart, title) for chart, title in zip(charts, titles, strict=True)]
    row = alt.hconcat(*retitled, spacing=30)
    # One legend serves all charts only where it says the same in all of them.
    legends = {str(found) for chart in charts for found in _domains(chart.to_dict(validate=False))}
    row = row.resolve_scale(color="shared" if len(legends) <= 1 else "independent")
    return row.properties(config=CONFIG, description="; ".join(titles))


def _retitled(chart: Chart, title: str) -> Any:
    copy = chart.copy(deep=["title"])
    offset = getattr(chart.title, "offset", alt.Undefined)
    copy.title = alt.TitleParams(title, offset=offset)
    copy.config = alt.Undefined
    return copy


def _domains(spec: Any) -> list[Any]:
    """The domains of all colour legends in a chart."""
    if isinstance(spec, list):
        return [found for part in spec for found in _domains(part)]
    if not isinstance(spec, dict):
        return []
    scale = (spec.get("color") or {}).get("scale") if isinstance(spec.get("color"), dict) else None
    own = [scale["domain"]] if isinstance(scale, dict) and "domain" in scale else []
    return own + [found for part in spec.values() for found in _domains(part)]
