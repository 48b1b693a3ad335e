"""A chart as the page carries it: what is drawn once, and a table of it for reading and saving."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from howlearn.report.page.compact import column, compact

WORDED = ("title", "text", "subtitle", "description")
MOST_ROWS = 2_000  # of a table beside a chart; the results folder has the rest


@dataclass(frozen=True, eq=False)
class Figure:
    """A question, its chart, the finding in words, and the numbers behind it."""

    name: str  # of its files and its place in the page
    chart: Any
    table: pl.DataFrame
    finding: str = ""

    @property
    def title(self) -> tuple[str, str]:
        """The question, and the note on how to read the chart."""
        found = spec_of(self.chart).get("title", "")
        if not isinstance(found, dict):
            return _line(found), ""
        return _line(found.get("text", "")), _line(found.get("subtitle", ""))

    def content(self) -> dict[str, Any]:
        """What the page's script takes."""
        frame = self.table.head(MOST_ROWS)
        return {
            "name": self.name,
            "spec": compact(spec_of(self.chart)),
            "columns": frame.columns,
            "table": [column(each.to_list()) for each in frame.get_columns()],
            "more": max(0, len(self.table) - MOST_ROWS),
        }


def about(figure: Figure, unit: str) -> Figure:
    """The same, in words about sequences where a learner has several."""
    if unit == "learner":
        return figure
    return replace(figure, chart=_worded(spec_of(figure.chart)), finding=_named(figure.finding))


def _worded(spec: Any) -> Any:
    """Titles and notes only: fields of the data keep their names."""
    if isinstance(spec, list):
        return [_worded(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    return {key: _part(key, value) for key, value in spec.items()}


def _part(key: str, value: Any) -> Any:
    if key == "datasets":
        return value
    return _named(value) if key in WORDED else _worded(value)


def _named(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("learner", "sequence")
    if isinstance(value, list):
        return [_named(part) for part in value]
    return _worded(value)


def spec_of(chart: Any) -> dict[str, Any]:
    """A chart without its colours for paper, which the page has once."""
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")}


def _line(text: Any) -> str:
    return " ".join(map(str, text)) if isinstance(text, list) else str(text or "")
