"""What files beside the data say about the columns: JSON sidecars, Psych-DS, data dictionaries.

Everything ends up in ``Table.about`` in the words of BIDS (Description, LongName, Levels);
``descriptions`` hands it out as plain text.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from howlearn.core.errors import DataError
from howlearn.core.safe_files import text_in
from howlearn.reading.columns import plain
from howlearn.reading.formats.table import Table, file_of

LARGEST = 1_000_000  # bytes of a file that explains others
ABOVE = 2  # folders above the data's own in which it may lie
DEEPEST = 8  # levels of JSON that are looked into
_NAMED = re.compile(
    r"code_?book|(data|variable)?_?-?dict(ionary)?|data_?desc|dataset_description|datapackage|"
    r"variables?(_|-|\.|list|names)|legend|meta_?data|column_?(names|description|info)"
)
_NAMES = "variable variablename varname column columnname field fieldname name item".split()
_TEXTS = (
    "description longname variabledescription definition meaning explanation label variablelabel "
    "title details fulllabel dcdescription"
).split()
_LEVELS = "levels values valuelabels coding codes categories allowedvalues options enum".split()
_PAIR = re.compile(r"\s*['\"]?([^\s=:;,|'\"][^=:;,|'\"]{0,30}?)['\"]?\s*(?:=|:|→|->)\s*([^;,|\n]+)")

About = dict[str, Mapping[str, Any]]  # column → what is said about it


@dataclass(frozen=True)
class Description:
    """What the data themselves say about a column."""

    text: str  # what it holds, in the words of those who made it
    levels: Mapping[str, str] = field(default_factory=dict)  # value → what it means, "" if unsaid


def descriptions(tables: Sequence[Table]) -> dict[str, Description]:
    """What is said about the columns of these tables, by sidecars or by a data dictionary.

    >>> from howlearn.reading.formats.table import Held
    >>> import polars as pl
    >>> table = Held("x.csv", "x", pl.DataFrame({"r_t": ["0", "1"]}), "CSV")
    >>> table.about = {"r_t": {"Description": "Reward", "Levels": {"0": "none", "1": "a point"}}}
    >>> descriptions([table])
    {'r_t': Description(text='Reward', levels={'0': 'none', '1': 'a point'})}
    """
    found: dict[str, Description] = {}
    for table in tables:
        for column, said in table.about.items():
            text = _text(said)
            levels = _levels(_under(said, _LEVELS))
            if column in table.columns and column not in found and (text or levels):
                found[column] = Description(text, levels)
    return found


def describe(tables: Iterable[Table]) -> None:
    """Add to every table what files beside it say about its columns."""
    known: dict[Path, list[About]] = {}
    for table in tables:
        path = file_of(table.name)
        if not path.is_file():  # a data frame
            continue
        said: About = {}
        for about in (*_of_the_file(path), *_around(path.parent, path, known)):
            said = {**_fitting(about, table.columns), **said}
        if said:
            table.about = {**said, **table.about}


def is_dictionary(names: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a table's columns are those of a list of variables, and hardly those of the data."""
    words = [plain(name) for name in names]
    shared = sum(name in columns for name in names if name)
    listed = any(w in _NAMES for w in words) and any(w in _TEXTS for w in words)
    return listed and 2 * shared < len(names)


def of_dictionary(rows: Iterable[Mapping[str, Any]]) -> About:
    """A data dictionary, a row or an object for each column, as what is said about them."""
    found: About = {}
    for row in rows:
        name, text = _under(row, _NAMES), _text(row)
        levels = _under(row, _LEVELS)
        if isinstance(name, str) and name.strip() and (text or levels):
            found[name.strip()] = {"Description": text, "Levels": levels or {}}
    return found


def _around(folder: Path, path: Path, known: dict[Path, list[About]]) -> Iterator[About]:
    """What lies in the folder of a file, then in those above it."""
    for place in (folder, *folder.parents[:ABOVE]):
        if place not in known:
            known[place] = [about for each in _explaining(place) for about in _said_in(each)]
        yield from (about for about in known[place])


def _explaining(folder: Path) -> list[Path]:
    try:
        return sorted(
            each
            for each in folder.iterdir()
            if _NAMED.search(each.name.lower())
            and each.suffix.lower() in (".json", ".jsonld", ".csv", ".tsv", ".txt")
            and each.is_file()
            and each.stat().st_size <= LARGEST
        )
    except OSError:  # a folder that may not be read
        return []


def _of_the_file(path: Path) -> Iterator[About]:
    """What the file's own sidecar says: data.json beside data.csv."""
    own = path.with_suffix(".json")
    if path.suffix.lower() != ".json" and own.is_file() and own.stat().st_size <= LARGEST:
        yield from _said_in(own)


def _said_in(path: Path) -> Iterator[About]:
    if path.suffix.lower() in (".json", ".jsonld"):
        content = json_in(path)
        yield from _nested(content, 0)
        if isinstance(content, dict):
            said = {
                name: {"Description": what} if isinstance(what, str) else what
                for name, what in content.items()
            }
            yield {name: what for name, what in said.items() if isinstance(what, dict)}
        return
    yield of_dictionary(_rows(path))


def json_in(path: Path) -> Any:
    """The content of a JSON file; None where it cannot be read."""
    try:
        return json.loads(text_in(path))
    except (OSError, ValueError, RecursionError):
        return None


def _nested(content: Any, depth: int) -> Iterator[About]:
    """The lists of variables in JSON: variableMeasured, the fields of a schema, columns."""
    if depth > DEEPEST:
        return
    if isinstance(content, list):
        if content and all(isinstance(one, dict) for one in content):
            about = of_dictionary(content)
            if about:
                yield about
        for one in content:
            yield from _nested(one, depth + 1)
    elif isinstance(content, dict):
        for inner in content.values():
            yield from _nested(inner, depth + 1)


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a small text file with a separator."""
    try:
        lines = text_in(path).splitlines()
        separator = max(",;\t", key=lines[0].count) if lines else ","
        rows = [*csv.DictReader(lines, delimiter=separator)]
    except (OSError, ValueError, csv.Error):
        return []
    return rows if rows and is_dictionary([str(name) for name in rows[0]], ()) else []


def _fitting(about: About, columns: Sequence[str]) -> About:
    """What is said about these columns, if it can be about this table at all."""
    spelled = {name.casefold(): name for name in reversed(columns) if name}
    found = {spelled[n.casefold()]: what for n, what in about.items() if n.casefold() in spelled}
    enough = len(found) > 1 or 2 * len(found) >= min(len(about), len(columns))
    return {name: what for name, what in found.items() if _says(what)} if enough else {}


def _under(row: Mapping[str, Any], words: Sequence[str]) -> Any:
    """The value under the first of the words that is there."""
    by_word = {plain(str(key)): value for key, value in reversed([*row.items()])}
    return next((by_word[word] for word in words if by_word.get(word) not in (None, "")), None)


def _says(said: Mapping[str, Any]) -> bool:
    return bool(_text(said) or _under(said, _LEVELS))


def _text(said: Mapping[str, Any]) -> str:
    text = _under(said, _TEXTS)
    return text.strip() if isinstance(text, str) else ""


def _levels(said: Any) -> dict[str, str]:
    """What the values mean, however it is written.

    >>> _levels("1 = left, 2 = right"), _levels([{"value": 0, "label": "wrong"}]), _levels(["a"])
    ({'1': 'left', '2': 'right'}, {'0': 'wrong'}, {'a': ''})
    """
    if isinstance(said, Mapping):
        return {str(value): _level(meaning) for value, meaning in said.items()}
    if isinstance(said, list):
        pairs = [one for one in said if isinstance(one, Mapping)]
        named = {str(_under(one, ["value", "code", "name", "level"])): _level(one) for one in pairs}
        return named or {str(one): "" for one in said if isinstance(one, str | int | float)}
    if isinstance(said, str):
        return {match[1].strip(): match[2].strip() for match in _PAIR.finditer(said)}
    return {}


def _level(meaning: Any) -> str:
    if isinstance(meaning, Mapping):
        return _text(meaning)
    return meaning.strip() if isinstance(meaning, str) else ""


FEWEST_SAID = 2  # columns of the data that a list of variables explains


def dictionaries(tables: Sequence[Table]) -> list[Table]:
    """The tables that are lists of the others' columns; what they say is handed to the others."""
    found = []
    for table in [table for table in tables if is_dictionary(table.columns, ())]:
        rest = [other for other in tables if other is not table]
        columns = {name for other in rest for name in other.columns}
        if not rest or not is_dictionary(table.columns, [*columns]):
            continue
        try:
            frames = [*table.frames([name for name in table.columns if name])]
        except DataError:  # told when the rows are read
            continue
        said = of_dictionary(row for frame in frames for row in frame.iter_rows(named=True))
        if len(columns.intersection(said)) < FEWEST_SAID:
            continue
        found.append(table)
        for other in rest:
            mine = {name: what for name, what in said.items() if name in other.columns}
            other.about = {**mine, **other.about}
    return found
