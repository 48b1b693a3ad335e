"""How the columns of a text file are laid out: found out from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from howlearn.reading.columns import GUESSED, guess, is_telling
from howlearn.reading.formats.experiment_logs import is_import_row, is_presentation

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "|", " ": "blanks"}
LABELS_NOTE = "what stands below the names of its columns describes them, and was left out"
TWO_ROWS = "the names of its columns take two rows, which were put together"
ABOVE = "its columns are named in row {}; what is above was left out"
BLANKS = " "  # runs of them
_BETWEEN = tuple(separator for separator in SEPARATORS if separator != BLANKS)
RECORDS = 60  # that are looked at
FEWEST_COUNTED = 3  # columns whose names are their numbers
TITLE_LINES = 20  # among which the table starts
_SEP_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # Excel's first line
_COUNT = re.compile(r"[0-9]{1,9}")
_WORDS = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Where the table starts and what separates its columns."""

    separator: str
    header: int  # lines before the one with the names
    names: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]  # the first rows
    unnamed: bool = False  # the rows have one more value than there are names, before the others
    above: bool = False  # a title stands above the names
    longer: bool = False  # rows have separators at their end that the names have not
    short: bool = False  # rows may end early, and another table may follow
    labels: tuple[str, ...] = ()  # what rows below the names say about the columns
    about: int = 0  # such rows
    told: Mapping[str, str] = field(default_factory=dict)  # what is above tells about all rows

    @property
    def words(self) -> str:
        """What separates the columns, for people."""
        return SEPARATORS[self.separator]

    @property
    def rewritten(self) -> bool:
        """Whether polars cannot read it as it is."""
        return self.separator == BLANKS or self.unnamed or self.longer or self.short


def layout_of(lines: Sequence[str]) -> Layout | None:
    """The layout of a text from its first lines; None where nothing is in them."""
    said, start = None, 0
    for number, line in enumerate(lines):
        match = _SEP_LINE.fullmatch(line.strip("\ufeff\r\n "))
        if match and said is None and match[1] in SEPARATORS:
            said, start = match[1], number + 1
        elif line.strip("\ufeff\r\n ,;|\t"):
            break
    comments = _comments(lines, start)
    first = comments[-1] + 1 if comments else start
    while first < len(lines) and not lines[first].strip("\ufeff\r\n"):
        first += 1
    if first >= len(lines):
        return None
    separator = said or _separator(lines[first:])
    found = _laid_out(lines, first, separator)
    if sum(map(bool, found.names)) < 2 or _is_ragged(found):
        return _below_a_title(lines, first, said) or found
    if comments and any(map(_is_number, found.names)):  # the names stand behind a #
        named = _laid_out(lines, comments[-1], separator)
        if len(named.names) > 1 and len(named.names) == len(found.names):
            return named
    return _with_heads(lines, first, found) or found


def _is_ragged(found: Layout) -> bool:
    """Whether most rows have another number of values than the first."""
    enough = len(found.records) >= FEWEST_BELOW and found.separator != BLANKS
    return enough and not found.short and _share(found.records, len(found.names)) < 0.5


def _with_heads(lines: Sequence[str], first: int, found: Layout) -> Layout | None:
    """The layout of a table whose names are not simply the values of its first row."""
    if found.unnamed or found.separator == BLANKS or not _may_have_heads(found.records):
        return None
    above = lines[first : first + RECORDS]
    if any(line.count('"') % 2 for line in above):
        return None
    rows = [(_records([line], found.separator) or [[]])[0] for line in above]
    heads = None if any(map(is_import_row, rows[1:3])) else heads_of(rows)
    if heads is None:
        return None
    below = heads.above + heads.rows
    records = [tuple(row) for row in rows[below:] if any(v.strip() for v in row)]
    return replace(
        found,
        header=first + heads.above,
        names=heads.names,
        records=tuple(records),
        above=heads.above > 0,
        labels=heads.labels,
        about=heads.rows - 1,
        told=told_in(rows[: heads.above]),
    )


def _may_have_heads(records: Sequence[Sequence[str]]) -> bool:
    """Whether numbers at the end stand below words in several columns: a quick look."""
    if len(records) <= FEWEST_BELOW:
        return False
    ends = [j for j, text in enumerate(records[-1]) if _is_number(text)]
    words = {
        j
        for row in records[:FEWEST_BELOW]
        for j in ends
        if len(row) > j and row[j].strip() and not _is_number(row[j])
    }
    return bool(words)


def _below_a_title(lines: Sequence[str], first: int, said: str | None) -> Layout | None:
    """The layout of a table that starts some lines below the first."""
    unnamed = None  # a table whose rows have names too, which a row above names may seem to be
    for start in range(first + 1, min(first + TITLE_LINES, len(lines) - 1)):
        separator = said or _separator(lines[start:])
        found = _laid_out(lines, start, separator)
        width = len(found.names)
        if width < 3 or separator == BLANKS or not all(found.names) or not found.records:
            continue
        even = found.short or _share(found.records, width) >= 0.9
        if not even or any(map(_is_number, found.names)):
            continue
        rows = [(_records([line], separator) or [[]])[0] for line in lines[first:start]]
        found = replace(found, above=True, told=told_in(rows))
        if not found.unnamed and not (unnamed and is_data(found.names, found.records)):
            return found
        unnamed = unnamed or found
    return unnamed


def is_wrapped(layout: Layout) -> bool:
    """Whether whole rows stand in quotes, as a spreadsheet writes what it took for one column."""
    separator = layout.separator
    if len(layout.names) == 1:
        [name] = layout.names
        separator = max(_BETWEEN, key=name.count)
        if separator not in name:
            return False
    rows = layout.records
    between = separator in _BETWEEN
    return between and bool(rows) and all(len(row) == 1 and separator in row[0] for row in rows)


def split(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The records of a text."""
    if separator == BLANKS:
        for line in lines:
            words = _WORDS.finditer(line)
            yield [w[2] if w[1] is None else w[1].replace('""', '"') for w in words]
        return
    yield from csv.reader(lines, delimiter=separator)


def _laid_out(lines: Sequence[str], first: int, separator: str) -> Layout:
    records = _records(lines[first:], separator)
    if not records:
        return Layout(separator, first, (lines[first].strip(),), ())
    header = records[0]
    if header:
        header = [header[0].lstrip("\ufeff").removeprefix("#"), *header[1:]]
    names = tuple(name.strip() for name in header)
    rows = tuple(tuple(record) for record in records[1:] if any(v.strip() for v in record))
    unnamed = bool(rows) and all(len(row) == len(names) + 1 for row in rows)
    trailing = all(not row[-1].strip() for row in rows)
    longer = any(_trailing(row, len(names)) for row in rows)
    short = is_presentation(names)
    return Layout(
        separator, first, names, rows, unnamed and not trailing, longer=longer, short=short
    )


def is_data(names: Sequence[str], records: Sequence[Sequence[str | None]]) -> bool:
    """Whether what should be the names of columns looks like a row of data.

    That is: numbers that do not just count the columns, or values that their columns have again.

    >>> below = [("p1", "102", "left"), ("p2", "101", "right")]
    >>> is_data(("p1", "101", "left"), below), is_data(("id", "trial", "side"), below)
    (True, False)
    >>> is_data(("1", "0", "7"), [("1", "1", "3")]), is_data(("1", "2", "3"), [("5", "5", "4")])
    (True, False)
    """
    there = [name.strip() for name in names if name.strip()]
    # files that were put together have the names again
    rows = [row for row in records if [v or "" for v in row[: len(names)]] != list(names)]
    if not there or not rows:
        return False
    numbers = [name for name in there if _is_number(name)]
    if 2 * len(numbers) > len(there):
        return not _counted(numbers)
    again = sum(
        bool(name.strip()) and any(len(row) > i and (row[i] or "").strip() == name for row in rows)
        for i, name in enumerate(names)
    )
    return again + bool(numbers) > 1 and again > 0


FEWEST_BELOW = 3  # rows


def rows_of_labels(records: Sequence[Sequence[str]]) -> int:
    """How many rows below the names only describe the columns: words above numbers.

    >>> rows_of_labels([("Number", "Which urn?"), ("1", "2"), ("2", "1"), ("3", "2")])
    1
    >>> rows_of_labels([("1", "left"), ("2", "right"), ("3", "left"), ("4", "left")])
    0
    """
    for rows in (2, 1):
        below = [*zip(*records[rows:], strict=False)]
        told = [[v.strip() for v in column if v.strip()] for column in below]
        if len(records) - rows < FEWEST_BELOW or not told:
            continue
        if all(_are_labels(record, told) for record in records[:rows]):
            return rows
    return 0


def _are_labels(record: Sequence[str], told: Sequence[Sequence[str]]) -> bool:
    """Whether a row has words only, none of which its column has again, and numbers are below."""
    there = {i: v.strip() for i, v in enumerate(record[: len(told)]) if v.strip()}
    numbers = [i for i in there if len(told[i]) >= FEWEST_BELOW and all(map(_is_number, told[i]))]
    words = {text for text in there.values() if len(text) > 2 and text.lower() not in _NOTHING}
    return (
        len(numbers) > 1
        and 2 * len(there) > len(record)
        and len(words) > 1
        and not any(_is_number(text) or text in told[i] for i, text in there.items())
        and not any(there[i].lower() in _NOTHING for i in numbers)
    )


class Heads(NamedTuple):
    """Where the names of columns are: how many rows are above, how many rows they take."""

    above: int
    rows: int
    names: tuple[str, ...]
    labels: tuple[str, ...]  # a further row that describes the columns


def heads_of(rows: Sequence[Sequence[str]]) -> Heads | None:
    """The names of columns where they are not simply the first row; None where they are.

    Numbers tell where the data begin. Above may be what is about the whole file, then one row of
    names, with labels below, or one with groups of columns above it.

    >>> below = [("s1", "1", "0.5"), ("s1", "2", "0.7"), ("s2", "1", "0.2")]
    >>> heads_of([("date", "version", ""), ("May 1", "2", ""), ("who", "trial", "rt"), *below])
    Heads(above=2, rows=1, names=('who', 'trial', 'rt'), labels=())
    >>> heads_of([("person", "response", ""), ("", "key", "number"), *below]).names
    ('person', 'key', 'response number')
    """
    width = max(map(len, rows), default=0)
    columns = [[row[j].strip() if len(row) > j else "" for row in rows] for j in range(width)]
    starts = Counter(n for column in columns for n in _numbers_from(column))
    start = max(starts, key=lambda n: (starts[n], -n), default=0)
    if start < 2 or starts[start] < 2:
        return None
    used = [j for j in range(width) if any(columns[j][start:])]
    head = [[column[i] for column in columns] for i in range(start)]
    names, labels, above = head[-1], (), _rows_above(head)
    if start - above > 2:
        above = start - 1 if all(names[j] for j in used) else start - 2
    if any(
        head[i][j] in columns[j][start:] for i in range(above, start) for j in used if head[i][j]
    ):
        return None  # a trial whose numbers are missing
    if above == start:
        return None
    if start - above == 2:
        names, labels = _joined(head[-2], head[-1], used)
    if sum(bool(names[j]) for j in used) < NAMED * len(used):
        return None
    return Heads(above, start - above, tuple(names), tuple(labels))


NAMED = 0.6  # of the columns


def _rows_above(head: Sequence[Sequence[str]]) -> int:
    """How many of the rows above the data are about the whole file, such as names and values."""
    found = 0
    for i, row in enumerate(head):
        there = [j for j, text in enumerate(row) if text]
        pair = there in ([0], [0, 1]) and len(row) > 3 and all(head[-1][j] for j in there)
        if pair or not there or any(_is_number(row[j]) for j in there):
            found = i + 1
    return found


def _joined(
    top: Sequence[str], low: Sequence[str], used: Sequence[int]
) -> tuple[Sequence[str], Sequence[str]]:
    """The names of columns from two rows, and what describes them."""
    tops, lows = ([row[j] for j in used if row[j]] for row in (top, low))
    lacks, alike = len(used) - len(tops), len({*tops}) < len(tops)
    whole = not lacks or (lacks == 1 and len(lows) == len(used))
    if whole and not alike and _roles(tops) >= _roles(lows):
        return top, low
    names, group = [], ""
    for above, below in zip(top, low, strict=True):
        group = above or group
        alone = low.count(below) == 1 and (is_telling(below) or not is_telling(group))
        names.append(above if not below else below if alone else f"{group} {below}".strip())
    return names, ()


def _roles(names: Sequence[str]) -> int:
    return sum(bool(guess(role, names)) for role in GUESSED)


def _numbers_from(column: Sequence[str]) -> range:
    """The places from which on there are numbers only; several where some before are empty."""
    times, first = 0, 0
    for place in range(len(column) - 1, -1, -1):
        text = column[place]
        if _is_number(text):
            times, first = times + 1, place
        elif text and text.lower() not in _NOTHING:
            return range(place + 1, first + 1) if times >= FEWEST_BELOW else range(0)
    return range(first + 1) if times >= FEWEST_BELOW else range(0)


def told_in(rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """What the rows above a table tell about learner, session or group, by its name.

    >>> told_in([["file", "participant"], ["x.csv", "p7"], []]), told_in([["Subject: 4"]])
    ({'participant': 'p7'}, {'Subject': '4'})
    """
    pairs: list[tuple[str, str]] = []
    for row, after in zip_longest(rows, rows[1:], fillvalue=()):
        there = [text.strip() for text in row if text.strip()]
        if len(there) == 1:
            name, _, value = there[0].partition(":")
            pairs += [(name, value)]
        elif len(there) == 2:
            pairs += [(there[0], there[1])]
        pairs += [*zip(row, after, strict=False)] if len(there) > 1 else []
    return {
        name.strip(): value.strip()
        for name, value in reversed(pairs)
        if value.strip() and len(name) + len(value) < LONGEST and guess("learner", [name.strip()])
    }


def described(names: Sequence[str], labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """What labels say about columns, as sidecars do."""
    pairs = zip(names, labels, strict=False)
    return {name: {"Description": text.strip()} for name, text in pairs if text}


LONGEST = 60  # letters of a name


_NOTHING = {*"na n/a nan null none nil missing undefined inf -inf true false".split()}


def _counted(numbers: Sequence[str]) -> bool:
    """Whether numbers count something, as the trials that columns are for."""
    if len(numbers) < FEWEST_COUNTED or not all(_COUNT.fullmatch(number) for number in numbers):
        return False
    found = [int(number) for number in numbers]
    return all(after == before + 1 for before, after in pairwise(found))


def _comments(lines: Sequence[str], start: int) -> list[int]:
    """The lines with # before the table."""
    found = []
    for number in range(start, len(lines)):
        line = lines[number].strip("\ufeff\r\n ")
        if line.startswith("#"):
            found.append(number)
        elif line:
            return found
    return []  # nothing else: then they are no comments


def _separator(lines: Sequence[str]) -> str:
    scores = {}
    for separator in SEPARATORS:
        if separator == BLANKS or separator not in lines[0]:
            continue
        records = _records(lines, separator)
        width = len(records[0]) if records else 0
        if width > 1:
            scores[separator] = (round(_share(records[1:], width), 1), width)
    best = max(scores, key=lambda s: scores[s], default=None)
    if best is not None and (scores[best][0] >= 0.5 or len(lines) < 2):
        return best
    if _by_blanks(lines):
        return BLANKS
    return max(SEPARATORS, key=lambda s: lines[0].count(s) if s != BLANKS else 0)


def _share(records: Sequence[Sequence[str]], width: int) -> float:
    """The part of the rows that have as many values as there are names."""
    rows = [record for record in records if any(value.strip() for value in record)]
    if not rows:
        return 1.0
    if all(len(row) == width + 1 for row in rows):
        return 1.0
    return sum(len(row) == width or _trailing(row, width) for row in rows) / len(rows)


def _by_blanks(lines: Sequence[str]) -> bool:
    rows = [record for record in _records(lines, BLANKS) if record]
    width = len(rows[0]) if rows else 0
    lengths = {len(row) for row in rows[1:]}
    return width > 1 and len(lengths) == 1 and lengths <= {width, width + 1}


def _records(lines: Sequence[str], separator: str) -> list[list[str]]:
    found: list[list[str]] = []
    try:
        for record in split((line + "\n" for line in lines), separator):
            found.append(record)
            if len(found) > RECORDS:
                break
    except csv.Error:  # told when the rows are read
        pass
    return found


def _trailing(row: Sequence[str], width: int) -> bool:
    """Whether a row is longer only by empty values at its end."""
    return len(row) > width and not any(value.strip() for value in row[width:])


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None
