"""Text files with one row per line, whatever separates the columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import polars as pl

from howlearn.core.errors import DataError, Problem
from howlearn.core.text import many
from howlearn.reading.columns import guess
from howlearn.reading.formats import TEXT, Format
from howlearn.reading.formats.detect import CHUNK, format_named, reason_of, refused
from howlearn.reading.formats.encodings import (
    SAY_IT,
    UNKNOWN,
    UNTOLD,
    Encoding,
    decoded,
    encoding_of,
)
from howlearn.reading.formats.experiment_logs import (
    QUALTRICS,
    QUALTRICS_NOTE,
    QUALTRICS_ROWS,
    has_commas,
    in_turn,
    is_import_row,
    is_jspsych,
    is_psychopy,
    log_rows,
    with_points,
    without_quotes,
)
from howlearn.reading.formats.nested import flat, object_in
from howlearn.reading.formats.table import (
    MOST_COLUMNS,
    Extended,
    Table,
    distinct_names,
    told_twice,
    too_many_columns,
)
from howlearn.reading.formats.text_layout import (
    ABOVE,
    LABELS_NOTE,
    TWO_ROWS,
    Layout,
    described,
    is_data,
    is_wrapped,
    layout_of,
    rows_of_labels,
    split,
)
from howlearn.reading.problems import listed

HEAD_LINES = 100  # that the layout is found out from
HEAD_BYTES = 2**20
WIDE = 16  # columns from which rows are first seen to have so many values
TAIL_BYTES, LAST_BYTES = 2**12, 110  # at the end, for empty lines and for Gorilla's last one
_LAST = re.compile(rb'[\r\n]+"?END OF FILE[",;\t\s]*$')
EMPTY_ALLOWED = "a row with the names of the columns, then one row per trial"


class Delimited(Table):
    """A CSV or TSV file; every column is read as text, so that messages show what it says."""

    def __init__(self, path: Path, content: bytes | None = None, header: bool = False) -> None:
        """``header``: the first row has the names, whatever it looks like."""
        self.path = path
        self.name, self.stem = str(path), path.stem
        encoding = encoding_of(path if content is None else content)
        if encoding is None:
            raise DataError([self._not_text()])
        self._content = self._whole(self._plain(content, encoding))
        head = self._head()
        # Quoted text may hold many separators, but not in every line; counting comes first, since
        # making names of them would take a machine's memory.
        if min((sum(map(line.count, ",;\t|")) for line in head if line), default=0) > MOST_COLUMNS:
            raise DataError([too_many_columns(self.name)])
        layout = layout_of(head)
        self._wrapped = layout is not None and is_wrapped(layout)
        if self._wrapped:
            self._content = self._unwrapped()
            layout = layout_of(self._head())
        if layout is None:
            raise DataError([self._problem(None, None, "an empty file", EMPTY_ALLOWED)])
        if len(layout.names) > MOST_COLUMNS:
            raise DataError([too_many_columns(self.name)])
        self.layout = layout
        self.first_row = layout.header + 2
        self._about_names = 0
        self._header = 1  # rows with names
        self._even = False  # whether every row was seen to have as many values as there are names
        if self._is_qualtrics():
            self._about_names = QUALTRICS_ROWS
            self.first_row += QUALTRICS_ROWS
            layout = replace(layout, records=layout.records[QUALTRICS_ROWS:])
            self.layout = layout
        elif not header and not layout.unnamed and is_data(layout.names, layout.records):
            layout = self._without_header(layout)
        elif not layout.unnamed:
            rows = 0 if layout.about else rows_of_labels(layout.records)
            labels = layout.records[0] if rows else layout.labels
            self._about_names = rows or layout.about
            self.first_row += self._about_names
            self.about = described(layout.names, labels)
            self.layout = layout = replace(layout, records=layout.records[rows:])
        names = ("", *layout.names) if layout.unnamed else layout.names
        self.twice = [name for name, times in Counter(names).items() if name and times > 1]
        kept = iter(distinct_names([name for name in names if name]))
        self.columns = tuple(next(kept) if name else "" for name in names)
        self._psychopy = is_psychopy(self.columns)
        self._objects = self._expanded()
        self.columns += tuple(self._objects)
        self.format = self._format(encoding)
        self.notes = tuple(self._notes(encoding))
        self.layout = replace(layout, records=())  # there may be thousands of files

    @property
    def separator(self) -> str:
        """What stands between the columns."""
        return self.layout.separator

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows at once; a row with too few or too many values is refused."""
        sources = [self._objects.get(name, (name,))[0] for name in columns]
        frame = self._read([self._places[name] for name in sources])
        found = []
        for name, source in zip(columns, sources, strict=True):
            values = frame[str(self._places[source])].alias(name)
            if name in self._objects:
                values = _members(values, self._objects[name][1])
            else:
                values = self._cleaned(values)
            found.append(values)
        yield pl.DataFrame(found)

    def everything(self) -> pl.DataFrame:
        """All columns as the file has them, called by their numbers."""
        return self._read(range(self._width))

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each column stands; of several without a name the first."""
        return {name: i for i, name in reversed([*enumerate(self.columns)])}

    @cached_property
    def _width(self) -> int:
        return len(self.columns) - len(self._objects)

    def _read(self, wanted: Iterable[int]) -> pl.DataFrame:
        """The columns at these places, called by their numbers."""
        if self.layout.rewritten:
            return self._rewritten.select(str(i) for i in sorted(set(wanted)))
        last = len(self.layout.names) - 1
        places = sorted({*wanted, last})
        if last > WIDE and not self._even and self._lacks_separators():
            self._refuse_ragged()  # before polars makes room for all that is not there
            self._even = True
        try:
            frame = pl.read_csv(
                self.path if self._content is None else self._content,
                separator=self.separator,
                columns=places,
                infer_schema=False,
                glob=False,
                skip_lines=self.layout.header,
                has_header=bool(self._header),
            )
            frame.columns = [str(i) for i in places]
            frame = frame[self._about_names :]
        except (pl.exceptions.PolarsError, ValueError) as error:
            return self._checked([self._unknown(error)]).select(str(i) for i in places)
        if not self._even and frame[str(last)].null_count():
            self._refuse_ragged()  # polars fills short rows without a word
            self._even = True
        return frame

    def _lacks_separators(self) -> bool:
        """Whether there are far fewer separators than so many rows need."""
        lines = separators = 0
        with self.path.open("rb") if self._content is None else io.BytesIO(self._content) as file:
            while chunk := file.read(CHUNK):
                lines += chunk.count(b"\n")
                separators += chunk.count(self.separator.encode())
        return 2 * separators < lines * (len(self.layout.names) - 1)

    @cached_property
    def _rewritten(self) -> pl.DataFrame:
        return self._checked([])

    def _checked(self, otherwise: list[Problem]) -> pl.DataFrame:
        """The rows read one by one: slower, but nothing is taken for what it is not."""
        width = len(self.layout.names) + self.layout.unnamed
        rows: list[list[str | None]] = []
        wrong: dict[int, list[int]] = {}  # number of values → rows
        for row, values in self._records():
            more = islice(values, width, None)  # millions are not copied
            if len(values) > width and not any(value.strip() for value in more):
                values = values[:width]  # separators at the end of the line
            if len(values) == width:
                rows.append([value or None for value in values])
            elif "".join(values).strip():
                wrong.setdefault(len(values), []).append(row)
            else:
                rows.append([None] * width)
        if wrong or (otherwise and not rows):
            raise DataError(self._wrong_number(wrong) or otherwise)
        schema = {str(i): pl.String for i in range(width)}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _refuse_ragged(self) -> None:
        width = len(self.layout.names)
        wrong: dict[int, list[int]] = {}  # number of values → rows
        for row, values in self._records():
            if len(values) not in (0, width) and "".join(values).strip():
                wrong.setdefault(len(values), []).append(row)
        if wrong:
            raise DataError(self._wrong_number(wrong))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows of the data, with their numbers as a spreadsheet counts."""
        before = self.layout.header
        with self._text() as lines:
            try:
                records = split(islice(lines, before, None), self.separator)
                below = islice(records, self._header + self._about_names, None)
                numbered = enumerate(below, start=self.first_row)
                yield from log_rows(numbered, self.columns) if self.layout.short else numbered
            except (csv.Error, UnicodeDecodeError) as error:
                raise DataError([self._unknown(error)]) from None

    def _text(self) -> io.TextIOBase:
        if self._content is None:
            return self.path.open(encoding="utf-8-sig", newline="")
        return io.TextIOWrapper(io.BytesIO(self._content), encoding="utf-8-sig", newline="")

    def _is_qualtrics(self) -> bool:
        """Whether two rows about the columns stand below their names."""
        if len(QUALTRICS.intersection(self.layout.names)) < 2 and not any(
            is_import_row(record) for record in self.layout.records[:QUALTRICS_ROWS]
        ):
            return False
        try:  # not from the first lines: a question may have many
            rows = [values for _, values in islice(self._records(), QUALTRICS_ROWS)]
        except DataError:  # told when the rows are read
            return False
        return len(rows) == QUALTRICS_ROWS and is_import_row(rows[-1])

    def _without_header(self, layout: Layout) -> Layout:
        """The layout of a table whose first row is a trial already: its columns have numbers."""
        self._header, self.first_row = 0, self.first_row - 1
        self.bare = tuple(str(i) for i in range(1, len(layout.names) + 1))
        content = self._content
        self.with_header = lambda: Delimited(self.path, content, header=True)
        records = (layout.names, *layout.records)
        self.layout = replace(layout, names=self.bare, records=records)
        return self.layout

    def _head(self) -> list[str]:
        with self._text() as text:
            lines = text.read(HEAD_BYTES).split("\n")
            if text.read(1) and len(lines) > 1:
                lines.pop()  # it is cut
        return [line.removesuffix("\r") for line in lines[:HEAD_LINES]]

    def _unwrapped(self) -> bytes:
        """The text without the quotes around whole rows, and those inside as they were."""
        with self._text() as text:
            rows = [line.strip() for line in text]
        whole = [len(row) > 1 and row[0] == row[-1] == '"' for row in rows]
        found = [
            row[1:-1].replace('""', '"') if quoted else row
            for row, quoted in zip(rows, whole, strict=True)
        ]
        return "\n".join([*found, ""]).encode("utf-8")

    def _plain(self, content: bytes | None, encoding: Encoding) -> bytes | None:
        """The text as polars reads it; None where the file can be read as it is."""
        if encoding.plain:
            return content
        raw = self.path.read_bytes() if content is None else content
        try:
            text = decoded(raw, encoding)
        except UnicodeError:
            if encoding.name != UNKNOWN:
                raise DataError([self._not_text()]) from None
            untold = self._problem(
                None, None, UNTOLD, "UTF-8, or an encoding that is named", SAY_IT
            )
            raise DataError([untold]) from None
        if "\0" in text:
            raise DataError([self._not_text()])
        return text.encode("utf-8")

    def _whole(self, content: bytes | None) -> bytes | None:
        """The text without Gorilla's last line, which says that it is, and many empty ones."""
        if content is None:
            with self.path.open("rb") as file:
                file.seek(max(0, self.path.stat().st_size - TAIL_BYTES))
                tail = file.read()
        else:
            tail = content[-TAIL_BYTES:]
        empty = len(tail) == TAIL_BYTES and not tail.strip(b"\r\n")  # perhaps millions of them
        if not empty and not _LAST.search(tail[-LAST_BYTES:]):
            return content
        whole = self.path.read_bytes() if content is None else content
        whole = whole.rstrip(b"\r\n") + b"\n" if empty else whole
        return whole[:-LAST_BYTES] + _LAST.sub(b"\n", whole[-LAST_BYTES:])

    def _cleaned(self, values: pl.Series) -> pl.Series:
        if self.separator != ",":
            values = with_points(values.alias("")).alias(values.name)  # ^a$ would be a pattern
        return without_quotes(values) if self._psychopy else values

    def _expanded(self) -> dict[str, tuple[str, str]]:
        """Columns for what the objects in cells hold: their name → the column, and the key."""
        rows = [row for row in self.layout.records if "{" in "".join(row)]
        width = len(self.layout.names) + self.layout.unnamed
        holding = [
            i
            for i in range(width)
            if any(len(row) > i and object_in(row[i].strip()) for row in rows)
        ]
        jspsych = is_jspsych(self.columns)  # questions often come last
        frame = self._read(range(width) if jspsych else holding) if jspsych or holding else None
        if frame is None:
            return {}
        if jspsych:
            starts = (frame[str(i)].str.strip_chars().str.starts_with("{") for i in range(width))
            holding = [i for i, each in enumerate(starts) if each.any()]
        found: dict[str, tuple[str, str]] = {}
        for i in holding:
            name = self.columns[i]
            for text in frame[str(i)].drop_nulls().unique(maintain_order=True):
                for key in flat(object_in(text.strip()) or {}):
                    member = f"{name}.{key}"
                    if member not in self.columns:
                        found.setdefault(member, (name, key))
        return found

    def _format(self, encoding: Encoding) -> str:
        layout = self.layout
        kind = {"\t": "TSV", " ": "Text"}.get(self.separator, "CSV")
        if self._psychopy:
            kind = f"PsychoPy {kind}"
        elif is_jspsych(self.columns):
            kind = f"jsPsych {kind}"
        elif self._about_names and not self.about and not layout.about:
            kind = f"Qualtrics {kind}"
        elif "subjID" in self.columns and self.separator != ",":
            kind = f"hBayesDM {kind.lower() if kind == 'Text' else kind}"
        words = [kind, f"separated by {layout.words}"]
        whole = [row for row in layout.records if len(row) == len(layout.names)]
        columns = zip(*whole, strict=True)
        if self.separator != "," and any(has_commas(pl.Series(list(c))) for c in columns):
            words.append("decimal comma")
        return ", ".join([*words, *([encoding.words] if encoding.words else [])])

    def _notes(self, encoding: Encoding) -> Iterator[str]:
        if not encoding.name.startswith("utf"):
            yield f"its letters are not UTF-8; they were read as {encoding.words} (--encoding NAME)"
        if self.twice:
            yield told_twice(self.twice)
        if self._about_names:
            qualtrics = not self.about and not self.layout.about
            yield QUALTRICS_NOTE if qualtrics else LABELS_NOTE if self.about else TWO_ROWS
        if self._wrapped:
            yield "each of its rows was in quotes as a whole; the quotes were removed"
        if self.layout.above:
            kept = f" ({listed([*self.layout.told])} was kept)" if self.layout.told else ""
            yield ABOVE.format(self.first_row - self._about_names - 1) + kept

    def _not_text(self) -> Problem:
        remedy = "save the file as CSV UTF-8"
        return self._problem(None, None, "a file that is not text", "rows of text", remedy)

    def _wrong_number(self, wrong: dict[int, list[int]]) -> list[Problem]:
        width = len(self.layout.names) + self.layout.unnamed
        allowed = f"{width} in every row, separated by {self.layout.words}"
        return [
            Problem(self.name, rows[0], None, many(number, "value"), allowed, more=len(rows) - 1)
            for number, rows in wrong.items()
        ]

    def _unknown(self, error: Exception) -> Problem:
        found = f"a file that cannot be read as a table ({reason_of(error)})"
        allowed = f"rows of text, separated by {self.layout.words}"
        return self._problem(None, None, found, allowed)

    def _problem(
        self, row: int | None, column: str | None, found: str, allowed: str, remedy: str = ""
    ) -> Problem:
        return Problem(self.name, row, column, found, allowed, remedy)


def _members(values: pl.Series, key: str) -> pl.Series:
    """What the objects in a column's cells hold under a key, as text."""
    from howlearn.reading.formats.matrices import text_of

    different = values.drop_nulls().unique()
    members = {
        text: text_of(flat(object_in(text.strip()) or {}).get(key)) for text in different.to_list()
    }
    return values.replace_strict(members, return_dtype=pl.String, default=None)


def open_text(path: Path, inside: str | None = None, content: bytes | None = None) -> list[Table]:
    """A text; one that is called otherwise must look like a table."""
    table, named = Delimited(path, content), format_named(path)
    if named is not None and named not in FORMATS and len(table.columns) < 2:
        raise refused(path, f"a file that is not {named.name} or is damaged")
    told = {k: v for k, v in table.layout.told.items() if not guess("learner", table.columns)}
    return [in_turn(Extended(table, told, table.about) if told else table)]


FORMATS = (
    Format(
        "log",
        "logs with columns, as Presentation writes them, where no other data are in a folder",
        open_text,
        (".log",),
        seeds=("log",),
        rank=5,
        explains=True,
    ),
    Format(
        TEXT,
        "CSV, TSV and other text with commas, semicolons, tabs, bars or blanks between columns, "
        "also compressed (`.gz`, `.bz2`, `.xz`)",
        open_text,
        (".csv", ".tsv", ".txt", ".dat"),
        called="CSV, TSV or other text with columns",
        rank=0,
        seeds=(
            *("csv", "tsv", "semicolon", "blanks", "quoted", "utf-16", "windows", "wide"),
            *("jspsych", "psychopy", "qualtrics", "hbayesdm", "csv.gz"),
        ),
    ),
)
