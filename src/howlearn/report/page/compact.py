"""Rows of named values as columns, which take a third of the space; the page's script undoes it."""

from __future__ import annotations

import json
import math
from typing import Any, TypeGuard

DIGITS = 5  # of the numbers that are drawn
TEXT = {"type": "json"}  # how style.data says that data are text
FEW_ROWS = 3  # below which columns save nothing
COLUMNS, NAMES, PLACES = "$columns", "$names", "$places"


def compact(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart's spec with its data as columns, without fields that nothing in it mentions."""
    return _lighter(spec, json.dumps(_bare(spec)))


def _bare(value: Any) -> Any:
    """A spec without its data, in which names of fields can be looked for."""
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k not in ("values", "datasets")}
    return [_bare(each) for each in value] if isinstance(value, list | tuple) else value


def _lighter(value: Any, mentioned: str) -> Any:
    if isinstance(value, dict):
        found = {}
        for key, inner in value.items():
            if key == "datasets" and isinstance(inner, dict):
                found[key] = {name: _data(rows, mentioned) for name, rows in inner.items()}
            elif key == "values":
                found[key] = _data(inner, mentioned)
            elif key != "format" or inner != TEXT:  # data are no longer text
                found[key] = _lighter(inner, mentioned)
        return found
    if isinstance(value, list | tuple):
        return [_lighter(each, mentioned) for each in value]
    return short(value)


def _data(values: Any, mentioned: str) -> Any:
    """Of a data set, or any other list of values."""
    if isinstance(values, str) and values[:1] == "[":
        values = json.loads(values)
    return _columns(values, mentioned) if _rows(values) else _lighter(values, mentioned)


def _rows(values: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether these are records that all have the same fields."""
    if not isinstance(values, list) or len(values) < FEW_ROWS:
        return False
    return all(isinstance(row, dict) and row.keys() == values[0].keys() for row in values)


def _columns(rows: list[dict[str, Any]], mentioned: str) -> dict[str, Any]:
    used = [name for name in rows[0] if json.dumps(name)[1:-1] in mentioned]
    return {COLUMNS: {name: column([row[name] for row in rows]) for name in used}}


def column(values: list[Any]) -> Any:
    """Texts as places in a list of them, where that is shorter."""
    values = [short(value) for value in values]
    if not all(isinstance(value, str) for value in values):
        return values
    names = [*dict.fromkeys(values)]
    if len(names) > len(values) / 2:
        return values
    place = {name: k for k, name in enumerate(names)}
    return {NAMES: names, PLACES: [place[value] for value in values]}


def short(value: Any) -> Any:
    """A number in as few digits as can be seen; what is not finite is missing."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
