"""Parquet files, some million rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import polars as pl

from howlearn.core.columns import column_named
from howlearn.core.errors import DataError, Problem
from howlearn.core.text import many
from howlearn.reading.columns import guess
from howlearn.reading.formats import Format
from howlearn.reading.formats.detect import Panic, no_panic, reason_of
from howlearn.reading.formats.experiment_logs import nested_tables
from howlearn.reading.formats.matrices import text_of
from howlearn.reading.formats.table import Extended, Table
from howlearn.reading.rows import BATCH_ROWS

TEXT = "text in UTF-8"
REMEDY = "write the file again with its text as UTF-8, or leave the column out"
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


class Parquet(Table):
    """A Parquet file; only the columns that are needed are read."""

    first_row = 2  # as if it were a spreadsheet with a header
    format = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.stem = str(path), path.stem
        path.open("rb").close()  # a missing file is told apart from a broken one
        try:
            with no_panic():
                rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
                self._schema = rows.collect_schema()
        except (pl.exceptions.PolarsError, Panic) as error:
            raise self._broken(error) from None
        self.columns = tuple(self._schema)
        self._sound: set[str] = set()  # columns whose pages were looked at

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Slices of the file, so that a large study never is in memory twice."""
        yield from map(_without_lists, self._parts(columns))

    def _parts(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            if not self._sound.issuperset(columns):
                check_pages(self.path, {*columns} - self._sound)
                self._sound.update(columns)
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            with no_panic():
                total = rows.select(pl.len()).collect().item()
            for start in range(0, total, BATCH_ROWS):
                with no_panic():
                    part = (
                        rows.select(map(column_named, columns)).slice(start, BATCH_ROWS).collect()
                    )
                yield self._decoded(part, start)
        except (pl.exceptions.PolarsError, Panic, Damage, OSError) as error:
            raise self._broken(error) from None

    def has_trials_in_lists(self) -> bool:
        """Whether choices and outcomes are lists; else lists are traces within a trial."""
        plain = [name for name, kind in self._schema.items() if not kind.is_nested()]
        alone = all(guess(role, plain) for role in ("action", "reward"))
        return not alone and len(self.columns) - len(plain) > 1

    def records(self) -> list[dict[str, Any]]:
        """The rows as objects: a learner or a session each, where columns hold lists of trials."""
        return [row for part in self._parts(self.columns) for row in part.iter_rows(named=True)]

    @property
    def n_rows(self) -> int:
        """How many rows the file says it has; 0 if it is damaged."""
        try:
            rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
            with no_panic():
                return rows.select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, Panic, OSError):  # is told when the rows are read
            return 0

    def _decoded(self, frame: pl.DataFrame, start: int) -> pl.DataFrame:
        """Bytes as the text that they are; those that are none are told with their row."""
        for column in frame.get_columns():
            if column.dtype != pl.Binary:
                continue
            texts = {raw: _as_text(raw) for raw in column.drop_nulls().unique()}
            text = pl.Series(column.name, map(texts.get, column), dtype=pl.String)
            wrong = (text.is_null() & column.is_not_null()).to_numpy()
            if wrong.any():
                row = start + int(wrong.argmax()) + self.first_row
                found = f"bytes that are not text in UTF-8 ({column[int(wrong.argmax())]!r})"
                more = int(wrong.sum()) - 1
                raise DataError([Problem(self.name, row, column.name, found, TEXT, REMEDY, more)])
            frame = frame.with_columns(text)
        return frame

    def _not_text(self) -> str:
        """The column whose text is not UTF-8."""
        for name in self.columns:
            try:
                with no_panic():
                    rows = pl.scan_parquet(self.path, glob=False, hive_partitioning=False)
                    rows.select(column_named(name)).collect()
            except (pl.exceptions.PolarsError, Panic, OSError):
                return name
        return ""

    def _broken(self, error: Exception) -> DataError:
        if "utf-8" in str(error).lower() and hasattr(self, "columns"):
            found, column = "bytes that are not text in UTF-8", self._not_text() or None
            return DataError([Problem(self.name, None, column, found, TEXT, REMEDY)])
        found = f"a file that is not Parquet or is damaged ({reason_of(error)})"
        return DataError([Problem(self.name, None, None, found, "a Parquet file")])


def _without_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists and structures as text."""
    return frame.with_columns(
        pl.Series(column.name, [text_of(value) for value in column.to_list()], dtype=pl.String)
        for column in frame.get_columns()
        if column.dtype.is_nested()
    )


def _as_text(raw: bytes) -> str | None:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


# What pages say about themselves. Polars believes it: with a damaged number it asks for more
# memory than there is, which ends the process.

TAIL = 8  # bytes after the footer: its length, and PAR1
HEAD, LONGEST_HEAD = 2**10, 2**24  # bytes of a page's head: of most, and with long statistics
DEEPEST = 16  # structures and lists in each other; Parquet's own have fewer
ROW_GROUPS, CHUNKS, CHUNK = 4, 1, 3  # fields: of a file, a group of rows, a column's part of it
# Of what is said about such a part:
PATH, VALUES, BYTES, FIRST_PAGE, FIRST_DICTIONARY = 3, 5, 7, 9, 11
KIND, UNPACKED, PACKED = 1, 2, 3  # of a page
DATA, DICTIONARY, DATA_2 = 0, 2, 3  # kinds of pages
ABOUT = {DATA: 5, DICTIONARY: 7, DATA_2: 8}  # the field with more about a page of each kind
COUNT, LEVELS = 1, (5, 6)  # of that: how many values, and of the second version bytes of levels


class Damage(ValueError):
    """A number in a Parquet file that cannot be."""


def check_pages(path: Path, columns: Collection[str]) -> None:
    """Refuse pages that claim to hold other values than there are; only their heads are read."""
    with path.open("rb", buffering=0) as file:
        size = file.seek(0, 2)
        length = int.from_bytes(_piece(file, size - TAIL, 4), "little")
        try:
            footer, _ = _structure(_piece(file, size - TAIL - length, length), 0)
            chunks = [chunk[CHUNK] for group in footer[ROW_GROUPS] for chunk in group[CHUNKS]]
            chosen = [chunk for chunk in chunks if chunk[PATH][0].decode() in columns]
            starts = [int(chunk.get(FIRST_DICTIONARY) or chunk[FIRST_PAGE]) for chunk in chosen]
            counts = [(int(chunk[VALUES]), int(chunk[BYTES])) for chunk in chosen]
        except (LookupError, TypeError, AttributeError, ValueError):
            raise Damage("its footer does not say where its columns are") from None
        for at, (values, length) in zip(starts, counts, strict=True):
            end = min(at + length, size)
            while values > 0 and at < end:
                count, at = _page(file, at, values)
                if at > size:
                    raise Damage("a page claims more bytes than there are")
                values -= count
            if values > 0:
                raise Damage(f"a column claims {many(values, 'value')} more than there are")


def _page(file: BinaryIO, at: int, left: int) -> tuple[int, int]:
    """How many of the values that are left a page has, and where the next one begins."""
    for most in (HEAD, LONGEST_HEAD):
        try:
            page, length = _structure(_piece(file, at, most), 0)
            break
        except IndexError:  # cut off
            continue
    else:
        raise Damage("the head of a page is not complete")
    kind: Any = page.get(KIND)
    about = page.get(ABOUT[kind]) if kind in (DATA, DICTIONARY, DATA_2) else {COUNT: 0}
    if not isinstance(about, dict):
        raise Damage("a page does not say how many values it has")
    levels = [about.get(field, 0) for field in LEVELS] if kind == DATA_2 else []
    numbers: list[Any] = [page.get(PACKED), page.get(UNPACKED), about.get(COUNT), *levels]
    if not all(isinstance(number, int) and 0 <= number < 2**31 for number in numbers):
        raise Damage("a page claims a number of values or bytes that cannot be")
    packed, unpacked, count = numbers[:3]
    if count > (unpacked if kind == DICTIONARY else left) or sum(levels) > min(packed, unpacked):
        raise Damage(f"a page claims {count:,} values, for which there is no room")
    return (0 if kind == DICTIONARY else count), at + length + packed


def _piece(file: BinaryIO, at: int, length: int) -> bytes:
    if at < 0:
        raise Damage("it begins before the file does")
    file.seek(at)
    return file.read(length)


# Thrift's compact protocol, in which Parquet's footers and the heads of its pages are written.

TRUE, FALSE, BYTE, FLOAT, BYTES_OF_TEXT, STRUCTURE = 1, 2, 3, 7, 8, 12  # kinds of values
NUMBERS, LISTS = (4, 5, 6), (9, 10)


def _structure(raw: bytes, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends; IndexError if it is cut."""
    fields: dict[int, Any] = {}
    field = 0
    while head := raw[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _signed(raw, at)
        fields[field], at = _value(raw, at, head & 15, depth)
    return fields, at + 1


def _value(raw: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > DEEPEST:
        raise Damage("structures are nested too deeply")
    if kind in NUMBERS:
        return _signed(raw, at)
    if kind == BYTES_OF_TEXT:
        length, at = _unsigned(raw, at)
        if at + length > len(raw):
            raise IndexError
        return raw[at : at + length], at + length
    if kind == STRUCTURE:
        return _structure(raw, at, depth + 1)
    if kind in LISTS:
        length, inner = raw[at] >> 4, raw[at] & 15
        length, at = _unsigned(raw, at + 1) if length == 15 else (length, at + 1)
        items = []
        for _ in range(length):
            item, at = _value(raw, at, BYTE if inner in (TRUE, FALSE) else inner, depth + 1)
            items.append(item)
        return items, at
    if kind in (TRUE, FALSE):
        return kind == TRUE, at
    if kind in (BYTE, FLOAT):
        after = at + (1 if kind == BYTE else 8)
        return raw[after - 1], after  # no such value is needed, only where it ends
    raise Damage("a value of a kind that Parquet does not have")


def _unsigned(raw: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        byte = raw[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise Damage("a number with too many digits")


def _signed(raw: bytes, at: int) -> tuple[int, int]:
    found, at = _unsigned(raw, at)
    return found >> 1 ^ -(found & 1), at


def open_parquet(
    path: Path, inside: str | None = None, content: bytes | None = None
) -> list[Table]:
    """A Parquet file with the columns that the folders above it are named for."""
    table = Parquet(path)
    if table.has_trials_in_lists():
        return nested_tables(path, [table.records()], "Parquet with lists")
    parts = partition_of(path)
    return [Extended(table, parts, {}) if parts else table]


def partition_of(path: Path) -> dict[str, str | None]:
    """The columns in the names of the folders above a file.

    >>> partition_of(Path("data/learner=3/block=a%20b/part-0.parquet"))
    {'learner': '3', 'block': 'a b'}
    """
    found: dict[str, str | None] = {}
    for folder in path.parents:
        name, equals, value = folder.name.partition("=")
        if not (name and equals):
            break
        found[unquote(name)] = None if value == _NOTHING else unquote(value)
    return dict(reversed(found.items()))


def partitioned(folder: Path) -> list[Path]:
    """The Parquet files of a folder that is divided into learner=1, learner=2 …"""
    inner = [path for path in folder.iterdir() if path.is_dir() and "=" in path.name]
    files = [path for part in inner for end in ("parquet", "pq") for path in part.rglob(f"*.{end}")]
    return [path for path in files if not path.name.startswith((".", "_"))]


FORMATS = (
    Format(
        "Parquet",
        "Parquet, also a folder divided into `learner=1`, `learner=2` …",
        open_parquet,
        (".parquet", ".pq"),
        starts=(b"PAR1",),
        may_be=lambda head, named: False,
        called="Parquet",
        binary=True,
        packed=False,
        rank=0,
        seeds=("parquet", "parquet folder"),
    ),
)
