"""Seeds of JSON: lists of trials, objects around them, one value per line, what pandas writes."""

from __future__ import annotations

import json
from typing import Any

from fuzz.rows import NAMES, columns, records, rows
from fuzz.seeds import Writer, one


def _json(value: Any, name: str = "a.json") -> Writer:
    return lambda: one(name, "json", json.dumps(value).encode())


def _jspsych() -> list[dict[str, Any]]:
    return [
        {
            **record,
            "trial_type": "html-button-response",
            "trial_index": i,
            "time_elapsed": 900 * i,
            "response": {"Q0": record["choice"], "Q1": [1, 2]},
        }
        for i, record in enumerate(records())
    ]


def _lines() -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records()).encode()


def _matrices() -> dict[str, Any]:
    found = columns()
    half = len(rows()) // 2
    return {
        name: [found[name][:half], found[name][half:]] for name in ("choice", "reward", "stimulus")
    } | {"N": 2, "T": half, "subjID": ["x", "y"]}


SEEDS: dict[str, Writer] = {
    "json": _json(records()),
    "jspsych json": _json(_jspsych()),
    "json lines": lambda: one("a.jsonl", "json", _lines()),
    "json columns": _json(columns()),
    "json split": _json({"columns": list(NAMES), "data": [list(row) for row in rows()]}),
    "json learners": _json({"p1": {"trials": records()[:6]}, "p2": {"trials": records()[6:]}}),
    "json matrices": _json(_matrices()),
}
