"""How two manifests differ, in words."""

from __future__ import annotations

import json
from typing import Any

from howlearn.core.text import shortened

LONGEST = 100  # characters of a value that a message shows


def differences(
    found: Any, wanted: Any, place: str = "", sides: tuple[str, str] = ("there", "now")
) -> list[str]:
    """One line for everything that two manifests say differently."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        lines = []
        for key in [*wanted, *(k for k in found if k not in wanted)]:
            deeper = f"{place}.{key}" if place else str(key)
            lines += differences(found.get(key), wanted.get(key), deeper, sides)
        return lines
    if found == wanted:
        return []
    if _named(found) and _named(wanted):  # such as models: what differs is said of each
        there, here = ({each["name"]: each for each in side} for side in (found, wanted))
        if list(there) == list(here):
            return differences(there, here, place, sides)
    return [f"{place}: {_short(found)} {sides[0]}, {_short(wanted)} {sides[1]}"]


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(e, dict) and "name" in e for e in value)


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:  # of a damaged manifest
        text = "something nested without end"
    return shortened(text, LONGEST, kept=LONGEST)
