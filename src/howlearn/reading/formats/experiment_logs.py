"""Logs of experiment software: E-Prime, jsPsych and other JSON."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.reading.columns import is_count, is_practice, parts_of
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import refused
from howlearn.reading.formats.encodings import decoded, encoding_of
from howlearn.reading.formats.levels import Look, Unclear, named_levels
from howlearn.reading.formats.nested import SEVERAL, from_records, parts, table_in, whole_table
from howlearn.reading.formats.table import Asking, Held, Table
from howlearn.reading.formats.variables import with_lists
from howlearn.reading.problems import listed

FORMAT = "E-Prime log, rows counted as trials"
_BEGINS = b"*** Header Start ***"
_BEGINS_IN = 100  # bytes, of UTF-16 too
_NEEDED = "a log with the lines of each trial (LogFrame)"
_REMEDY = "export it as text from E-DataAid, or put several together in E-Merge first"
_UNSAID = ("VersionPersist", "LevelName")  # about the file, not the session


Frame = tuple[int, dict[str, str]]  # the level of a trial or of a list, and what its lines say


def open_eprime(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Held]:
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
    frame, put = one_response(from_records(rows))
    return [Held(str(path), path.stem, frame, FORMAT, 1, [*notes, *put])]


_RESPONSE = ("RESP", "ACC", "RT", "CRESP")
_PHASES = {
    *"train training learn learning acquisition test testing transfer probe phase block".split()
}


class _Object(NamedTuple):
    columns: dict[str, str]  # RESP, ACC … → its column
    said: set[str]
    there: pl.Series  # the rows in which it says anything


def one_response(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The table with one column for responses that several objects of E-Prime took in turn.

    Phases, such as training and test, have an object each, which never says anything in a row of
    another's; they have a part of their names in common, and the responses. And a note.
    """
    objects: dict[str, _Object] = {}
    for column in frame.columns:
        name = column.removesuffix(".RESP")
        trained = not _PHASES.isdisjoint(parts_of(name))
        if name != column and (trained or not is_practice(name)):
            own = {end: f"{name}.{end}" for end in _RESPONSE if f"{name}.{end}" in frame.columns}
            values = [_told(frame[each]) for each in own.values()]
            there = pl.DataFrame(values).select(pl.any_horizontal(pl.all().is_not_null()))
            said = {*_told(frame[column]).drop_nulls().to_list()}
            objects[name] = _Object(own, said, there.to_series())
    alike: list[str] = []
    for name in sorted(objects, key=lambda name: -int(objects[name].there.sum())):
        if all(_in_turn(name, objects[name], one, objects[one]) for one in alike):
            alike.append(name)
    ends = [end for end in _RESPONSE if all(end in objects[name].columns for name in alike)]
    if len(alike) < 2 or not {*ends}.isdisjoint(frame.columns):
        return frame, []
    made = [
        frame.select(pl.coalesce(_told(frame[objects[n].columns[end]]) for n in alike))
        .to_series()
        .alias(end)
        for end in ends
    ]
    note = f"{listed(alike)} respond in turn; their columns were put together as {listed(ends)}"
    left = frame.drop(objects[name].columns[end] for name in alike for end in ends)
    return left.with_columns(made), [note]


def in_turn(table: Table) -> Table:
    """An export of E-Prime with one column for responses; any other table as it is."""
    if sum(column.endswith(".RESP") for column in table.columns) < 2:
        return table
    try:
        named = [column for column in table.columns if column]
        frame, notes = one_response(pl.concat(table.frames(named)))
    except DataError:  # will be told when the rows are read
        return table
    told = [*table.notes, *notes]
    put = Held(table.name, table.stem, frame, table.format, table.first_row, told, table.twice)
    return put if notes else table


def _in_turn(name: str, one: _Object, known: str, other: _Object) -> bool:
    words, others = {*parts_of(name)}, {*parts_of(known)}
    related = (words & others) - _PHASES or words | others <= _PHASES
    return bool(related) and len(one.said & other.said) > 1 and not (one.there & other.there).any()


def _told(values: pl.Series) -> pl.Series:
    """Texts without those that say nothing."""
    bare = values.cast(pl.String).str.strip_chars()
    return bare.set(bare.is_in(["", "NULL"]).fill_null(True), None)


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
        elif name == "Level" and is_count(value):
            level = int(value)
    return head, frames, said is not None


def _trials(head: dict[str, str], frames: Sequence[Frame]) -> list[dict[str, str]]:
    """One record per frame of the deepest level; a frame above is about those before it.

    Unless there are none, and many like it: practice or a test may have one level less.
    """
    session = {name: value for name, value in head.items() if name not in _UNSAID}
    deepest = max((level for level, _ in frames), default=0)
    kinds = Counter(map(_kind, frames))
    alone = Counter(_kind(b) for a, b in pairwise(((0, {}), *frames)) if a[0] <= b[0])
    trials = {kind for kind, n in alone.items() if n >= SEVERAL and 2 * n > kinds[kind]}
    rows: list[dict[str, str]] = []
    told: dict[int, int] = {}  # level → how many rows its frames have told about
    for level, said in frames:
        if level == deepest or _kind((level, said)) in trials:
            rows.append({**session, **said})
            continue
        for row in rows[told.get(level, 0) :]:
            for name, value in said.items():
                row.setdefault(name, value)
        told[level] = len(rows)
    return rows


def _kind(frame: Frame) -> tuple[int, str]:
    return frame[0], frame[1].get("Procedure", "")


# Presentation's logs: rows of an event end early, and a second table follows.


_EVENT = ("event type", "code")
_NO_EVENTS = {"pulse", "port input", "quit", "pause", "resume", "manual", "nothing"}
_FILLERS = {*"fix fixation fixcross fixationcross cross + blank blankscreen iti isi wait".split()}


def is_presentation(columns: Sequence[str]) -> bool:
    """Whether the columns are those of Presentation's logs."""
    return {name.lower() for name in columns} >= {*_EVENT}


def log_rows(
    records: Iterable[tuple[int, list[str]]], columns: Sequence[str]
) -> Iterator[tuple[int, list[str]]]:
    """The rows of a log that are about what was shown or done, filled up to the last column."""
    kind, code = map([*map(str.lower, columns)].index, _EVENT)
    for row, values in records:
        if columns[kind] in values:
            return
        more = [*values, *[""] * (len(columns) - len(values))]
        filler = re.sub(r"[^a-z+]", "", more[code].lower()) in _FILLERS
        if not (filler or more[kind].lower() in _NO_EVENTS):
            yield row, more


# What experiment software writes into cells, as plain values.


_COMMA = r"^\s*[-+]?[0-9]+,[0-9]+\s*$"
_NUMBER = r"^\s*[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?\s*$"
_LIST = r"^\s*[1-9][0-9]?,[0-9]{1,2}\s*$"  # two short numbers: more likely 1 and 2 than 1.2
_MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
QUALTRICS = frozenset("StartDate EndDate Progress Finished RecordedDate ResponseId".split())
QUALTRICS_ROWS = 2  # below the names: the questions, and where they are in the survey
QUALTRICS_NOTE = (
    "it is an export of Qualtrics; the two rows below the names of its columns were left out"
)
_IMPORT = '{"ImportId"'
_PSYCHOPY = ("psychopyversion", "expname", "framerate")


def with_points(values: pl.Series) -> pl.Series:
    """Decimal commas as points, if that makes numbers of all values.

    >>> with_points(pl.Series(["0,5", "1", None])).to_list()
    ['0.5', '1', None]
    >>> with_points(pl.Series(["1,2", "2,1"])).to_list()
    ['1,2', '2,1']
    """
    if not has_commas(values):
        return values
    return values.str.replace(",", ".", literal=True)


def has_commas(values: pl.Series) -> bool:
    """Whether a column's numbers have decimal commas."""
    if values.dtype != pl.String:
        return False
    commas = values.str.contains(_COMMA)
    if not commas.any():
        return False
    there = values.filter(values.is_not_null() & ~values.str.strip_chars().is_in(_MISSING))
    return bool(there.str.contains(_NUMBER).all()) and not there.str.contains(_LIST).all()


def is_psychopy(columns: Sequence[str]) -> bool:
    """Whether a file's columns are PsychoPy's."""
    names = [name.lower() for name in columns]
    return any(name in _PSYCHOPY for name in names) or any(
        name.endswith((".thisrepn", ".thistrialn")) for name in names
    )


def is_import_row(values: Sequence[str | None]) -> bool:
    """Whether a row is the one in which Qualtrics says where each column comes from.

    >>> is_import_row(['{"ImportId":"QID1"}', '{"ImportId":"QID2"}', ""])
    True
    """
    there = [value.strip() for value in values if value is not None and value.strip()]
    return bool(there) and all(value.startswith(_IMPORT) for value in there)


def is_jspsych(columns: Sequence[str]) -> bool:
    """Whether the columns are those of jsPsych."""
    return "trial_type" in columns and bool({"trial_index", "time_elapsed"} & set(columns))


def without_quotes(values: pl.Series) -> pl.Series:
    """PsychoPy's keys without quotes and brackets; None is no key.

    >>> without_quotes(pl.Series("key_resp.keys", ["'left'", "['right']", "None", "a"])).to_list()
    ['left', 'right', None, 'a']
    """
    if values.dtype != pl.String:
        return values
    name, values = values.name, values.alias("values")  # polars takes ^a$ for a pattern
    values = values.str.replace(r"^\s*\[?\s*(?:'([^',]*)'|\"([^\",]*)\")\s*\]?\s*$", "$1$2")
    if "." not in name:  # a column of the design: None may be a name there
        return values.alias(name)
    gone = values.str.strip_chars().is_in(["None", "[]"]).fill_null(False)
    return values.zip_with(~gone, pl.Series([None], dtype=pl.String)).alias(name)


# JSON: jsPsych's and JATOS' exports, JSON Lines, pandas' to_json, and other nested values.


_NO_VALUE = re.compile(r"""("[^"\\]*(?:\\.[^"\\]*)*")|(:\s*)(?=[,}\]])""")
MENDED = "names without a value (`: ,`), which JSON does not have, were read as missing values"
CUT = "the list of trials is cut off; its last, incomplete part was left out"
NEEDED = "a list of trials, or an object with one"


def open_json(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Table]:
    """The table in a JSON file; its rows are counted as trials, from 1."""
    raw = path.read_bytes() if content is None else content
    encoding = encoding_of(raw)
    if encoding is None:
        raise refused(path, "a file that is not text")
    try:
        text = decoded(raw, encoding)
        try:
            return nested_tables(path, _values(path, text))
        except DataError:
            values, notes = _mended(text)
            if not notes:
                raise
            tables = nested_tables(path, values)
            tables[0].notes = (*tables[0].notes, *notes)
            return tables
    except (UnicodeError, RecursionError):
        raise refused(path, "a file that is not JSON or is damaged") from None


def nested_tables(
    path: Path, values: list[Any], kind: str = "JSON", look: Look | None = None
) -> list[Table]:
    """The table in nested values that a file holds one after the other."""

    def again(axes: Sequence[str], padding: str | None) -> list[Table]:
        return nested_tables(path, values, kind, Look(tuple(axes), padding))

    asked = look or Look()
    try:
        frame = _table(values, asked)
    except Unclear as unclear:
        if look is not None:
            raise DataError([unclear.problem(str(path))]) from None
        return [Asking(str(path), path.stem, unclear.problem(str(path)), again)]
    if frame is None or not frame.height:
        found = f"{kind} without trials" if values else "an empty file"
        raise DataError([Problem(str(path), None, None, found, NEEDED)])
    kind = f"jsPsych {kind}" if is_jspsych(frame.columns) else kind
    lines = " (several values one after the other)" if len(values) > 1 else ""
    told = f"{kind}{lines}, rows counted as trials"
    bare = frame.columns[frame.width - asked.bare :] if asked.bare else ()
    table = Held(str(path), path.stem, frame, told, 1, asked.told(), bare=bare)
    table.again = again
    return [table]


def _table(values: list[Any], look: Look) -> Any:
    if len(values) == 1:
        inner = values[0]
        with suppress(ValueError):  # JSON as a text in JSON
            inner = json.loads(inner) if isinstance(inner, str) else inner
        return whole_table(with_lists(inner), look)
    if all(isinstance(value, dict) for value in values):  # JSON Lines: a trial or a learner each
        return whole_table(with_lists(values), look)
    found = {str(i): table_in(value, look) for i, value in enumerate(values, start=1)}
    tables = {name: frame for name, frame in found.items() if frame is not None and frame.height}
    return named_levels(parts(tables), look) if tables else None


def _mended(text: str) -> tuple[list[Any], list[str]]:
    """The values of a log that is nearly JSON, and what was mended; nothing where it is not."""
    notes = []
    filled = _NO_VALUE.sub(lambda match: match[1] or f"{match[2]}null", text)
    if filled != text:
        notes.append(MENDED)
    with suppress(ValueError):
        return [json.loads(filled)], notes
    start = filled.find("[")
    if filled[:start].strip() or start < 0:
        return [], []
    decoder, found, place = json.JSONDecoder(strict=False), [], start + 1
    while True:
        while place < len(filled) and filled[place] in " \t\r\n,":
            place += 1
        try:
            value, place = decoder.raw_decode(filled, place)
        except json.JSONDecodeError as error:
            at_the_end = error.pos >= len(filled.rstrip()) or error.msg.startswith("Unterminated")
            return ([found], [*notes, CUT]) if len(found) > 1 and at_the_end else ([], [])
        except (ValueError, RecursionError):
            return [], []
        found.append(value)


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
        except ValueError:  # Python's limit for whole numbers
            what = f"a whole number of more than {sys.get_int_max_str_digits():,} digits"
            raise refused(path, what, "write the number as text, in quotes") from None
        found.append(value)


def _is_eprime(path: Path, head: bytes) -> bool:
    return _BEGINS in head[:_BEGINS_IN].replace(b"\0", b"")


def _may_be_json(head: bytes, named: bool) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip(b"\xff\xfe \t\r\n")
    if named or text[:1] == b"{":
        return named or text[1:].lstrip()[:1] in (b'"', b"}")
    return text[:1] == b"[" and text[1:].lstrip()[:1] in (b"{", b"[", b"]")


FORMATS = (
    Format(
        "E-Prime",
        "logs of E-Prime",
        open_eprime,
        knows=_is_eprime,
        seeds=("e-prime",),
    ),
    Format(
        "JSON",
        "JSON and JSON Lines, as jsPsych, JATOS, Firebase and pandas write them",
        open_json,
        (".json", ".jsonl", ".ndjson"),
        may_be=_may_be_json,
        called="JSON",
        rank=4,
        explains=True,
        seeds=(
            *("json", "jspsych json", "json lines", "json columns", "json split"),
            *("json learners", "json matrices"),
        ),
    ),
)
