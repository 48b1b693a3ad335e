"""A chart as the page carries it: what is drawn once, and a table of it for reading and saving."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from howlearn.report.page.words import rounded

DIGITS = 5  # of the numbers that are drawn
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
        found = self.spec.get("title", "")
        if not isinstance(found, dict):
            return _line(found), ""
        return _line(found.get("text", "")), _line(found.get("subtitle", ""))

    @property
    def spec(self) -> dict[str, Any]:
        return spec_of(self.chart)

    def content(self) -> dict[str, Any]:
        """What the page's script takes."""
        frame = rounded(self.table.head(MOST_ROWS), DIGITS)
        return {
            "name": self.name,
            "spec": self.spec,
            "columns": frame.columns,
            "rows": [[*row] for row in frame.rows()],
            "more": max(0, len(self.table) - MOST_ROWS),
        }


def spec_of(chart: Any) -> dict[str, Any]:
    """A chart without its colours for paper, which the page has once, and numbers in few digits."""
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return _lighter({k: v for k, v in spec.items() if k not in ("config", "$schema")})


def _lighter(value: Any) -> Any:
    if isinstance(value, dict):
        given = value.get("values")
        if isinstance(given, str) and value.get("format", {}).get("type") == "json":
            value = {**{k: v for k, v in value.items() if k != "format"}, "values": json.loads(given)}
        return {key: _lighter(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_lighter(inner) for inner in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(f"{value:.{DIGITS}g}") if not value.is_integer() else int(value)
    return value


def _line(text: Any) -> str:
    return " ".join(map(str, text)) if isinstance(text, list) else str(text or "")
