"""A chart as the page carries it: what is drawn once, and a table of it for reading and saving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from howlearn.report.page.compact import column, compact

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


def spec_of(chart: Any) -> dict[str, Any]:
    """A chart without its colours for paper, which the page has once."""
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")}


def _line(text: Any) -> str:
    return " ".join(map(str, text)) if isinstance(text, list) else str(text or "")
