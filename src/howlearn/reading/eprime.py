"""E-Prime's logs: blocks of lines, one for each trial, then one for each list of trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from howlearn.core.errors import DataError, Problem
from howlearn.reading.encodings import decoded, encoding_of
from howlearn.reading.nested import from_records
from howlearn.reading.sniffing import refused
from howlearn.reading.table import Held

FORMAT = "E-Prime log, rows counted as trials"
_NEEDED = "a log with the lines of each trial (LogFrame)"
_REMEDY = "export it as text from E-DataAid, or put several together in E-Merge first"
_UNSAID = ("VersionPersist", "LevelName")  # about the file, not the session


Frame = tuple[int, dict[str, str]]  # the level of a trial or of a list, and what its lines say


def open_eprime(path: Path, content: bytes | None = None) -> list[Held]:
    """The trials of a log: its deepest level, with what the levels above and its head say."""
    raw = path.read_bytes() if content is None else content
    encoding = encoding_of(raw)
    try:
        lines = [] if encoding is None else decoded(raw, encoding).splitlines()
    except UnicodeError:
        raise refused(path, "an E-Prime log that is damaged", _REMEDY) from None
    head, frames, cut = _parsed(lines)
    rows = _trials(head, frames)
    if not rows:
        found = "an E-Prime log without trials"
        raise DataError([Problem(str(path), None, None, found, _NEEDED, _REMEDY)])
    notes = ["the log is cut off; its last, incomplete part was left out"] if cut else []
    return [Held(str(path), path.stem, from_records(rows), FORMAT, 1, notes)]


def _parsed(lines: Sequence[str]) -> tuple[dict[str, str], list[Frame], bool]:
    """What the head says, the frames in the order of the log, and whether the last one is cut."""
    head: dict[str, str] = {}
    frames: list[Frame] = []
    level, said = 1, None
    for line in lines:
        text = line.strip()
        if text.startswith("***") and text.endswith("***"):
            mark = text.strip("* ").lower()
            if mark == "logframe end" and said is not None:
                frames.append((level, said))
            said = head if mark == "header start" else {} if mark == "logframe start" else None
            continue
        name, colon, value = (part.strip() for part in text.partition(":"))
        if colon and said is not None:
            said.setdefault(name, value)
        elif name == "Level" and value.isdigit():
            level = int(value)
    return head, frames, said is not None


def _trials(head: dict[str, str], frames: Sequence[Frame]) -> list[dict[str, str]]:
    """One record per frame of the deepest level; a frame above is about those before it."""
    session = {name: value for name, value in head.items() if name not in _UNSAID}
    deepest = max((level for level, _ in frames), default=0)
    rows: list[dict[str, str]] = []
    told: dict[int, int] = {}  # level → how many rows its frames have told about
    for level, said in frames:
        if level == deepest:
            rows.append({**session, **said})
            continue
        for row in rows[told.get(level, 0) :]:
            for name, value in said.items():
                row.setdefault(name, value)
        told[level] = len(rows)
    return rows
