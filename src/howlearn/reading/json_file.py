"""JSON: jsPsych's and JATOS' exports, JSON Lines, pandas' to_json, and other nested values."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from howlearn.core.errors import DataError, Problem
from howlearn.reading.cells import is_jspsych
from howlearn.reading.encodings import decoded, encoding_of
from howlearn.reading.nested import parts, table_in
from howlearn.reading.sniffing import refused
from howlearn.reading.table import Held

NEEDED = "a list of trials, or an object with one"


def open_json(path: Path, content: bytes | None = None) -> list[Held]:
    """The table in a JSON file; its rows are counted as trials, from 1."""
    raw = path.read_bytes() if content is None else content
    encoding = encoding_of(raw)
    if encoding is None:
        raise refused(path, "a file that is not text")
    notes: list[str] = []
    try:
        values = _values(path, decoded(raw, encoding))
        frame = _table(values, notes)
    except (UnicodeError, RecursionError):
        raise refused(path, "a file that is not JSON or is damaged") from None
    if frame is None or not frame.height:
        found = "JSON without trials" if values else "an empty file"
        raise DataError([Problem(str(path), None, None, found, NEEDED)])
    kind = "jsPsych JSON" if is_jspsych(frame.columns) else "JSON"
    lines = " (several values one after the other)" if len(values) > 1 else ""
    told = f"{kind}{lines}, rows counted as trials"
    return [Held(str(path), path.stem, frame, told, 1, [*dict.fromkeys(notes)])]


def _table(values: list[Any], notes: list[str]) -> Any:
    if len(values) == 1:
        inner = values[0]
        with suppress(ValueError):  # JSON as a text in JSON
            inner = json.loads(inner) if isinstance(inner, str) else inner
        return table_in(inner, notes=notes)
    if all(isinstance(value, dict) for value in values):  # JSON Lines: a trial or a learner each
        return table_in(values, notes=notes)
    found = {str(i): table_in(value, notes=notes) for i, value in enumerate(values, start=1)}
    tables = {name: frame for name, frame in found.items() if frame is not None and frame.height}
    return parts(tables) if tables else None


def _values(path: Path, text: str) -> list[Any]:
    """The values that stand one after the other in a text."""
    decoder = json.JSONDecoder(strict=False)
    found, place = [], 0
    while True:
        while place < len(text) and text[place] in " \t\r\n,\x1e":
            place += 1
        if place >= len(text):
            return found
        try:
            value, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            what = f"a file that is not JSON or is damaged (line {error.lineno}: {error.msg})"
            raise refused(path, what) from None
        found.append(value)
