"""Text files with one row per line: comma, tab, semicolon or | between the columns."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from howlearn.errors import DataError, Problem

SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "|"}
CHUNK = 2**20
SIGNATURES = (b"PAR1", b"PK\x03\x04", b"\x89PNG", b"\x1f\x8b", b"%PDF", b"\xd0\xcf\x11\xe0")
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Delimited:
    """A CSV or TSV file; every column is read as text, so that messages show what it says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.stem = str(path), path.stem
        self._refuse_other_than_text()
        header, blank_lines = self._header()
        self.first_row = blank_lines + 2  # polars skips blank lines before the header
        self.separator = max(SEPARATORS, key=header.count)
        names = next(csv.reader([header], delimiter=self.separator), [])
        self.columns = tuple(name.strip() for name in names)
        twice = [name for name, times in Counter(self.columns).items() if name and times > 1]
        if twice:
            raise DataError([self._twice(name, blank_lines + 1) for name in twice])

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows at once; a row with too few or too many values is refused."""
        last = len(self.columns) - 1
        wanted = sorted({*(self.columns.index(name) for name in columns), last})
        try:
            frame = pl.read_csv(
                self.path,
                separator=self.separator,
                columns=wanted,
                infer_schema=False,
                glob=False,
            )
            frame.columns = [str(i) for i in wanted]
        except (pl.exceptions.PolarsError, ValueError) as error:
            raise DataError(self._diagnosis() or [self._unknown(error)]) from None
        if frame[str(last)].null_count():  # polars fills short rows without a word
            ragged = self._ragged()
            if ragged:
                raise DataError(ragged)
        yield frame.select(pl.col(str(self.columns.index(n))).alias(n) for n in columns)

    def _refuse_other_than_text(self) -> None:
        with self.path.open("rb") as file:
            chunk = file.read(CHUNK)
            if chunk.startswith(UTF16):  # told apart below
                return
            binary = chunk.startswith(SIGNATURES)
            parquet = chunk.startswith(b"PAR1")
            while chunk and not binary:
                binary = b"\0" in chunk
                chunk = file.read(CHUNK)
        if binary:
            remedy = "name it .parquet" if parquet else "save the file as CSV UTF-8"
            found, allowed = "a file that is not text", "rows of UTF-8 text"
            raise DataError([self._problem(None, None, found, allowed, remedy)])

    def _twice(self, name: str, row: int) -> Problem:
        remedy = "is the row with the names of the columns missing?" if _number(name) else ""
        found = "the same name for two columns"
        return self._problem(row, name, found, "different names", remedy)

    def _header(self) -> tuple[str, int]:
        with self.path.open("rb") as lines:
            for blank, line in enumerate(lines):
                if line.strip(b"\r\n"):
                    return self._header_text(line, blank + 1), blank
        allowed = "a row with the names of the columns, then one row per trial"
        raise DataError([self._problem(None, None, "an empty file", allowed)])

    def _header_text(self, line: bytes, row: int) -> str:
        try:
            header = line.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError([self._not_utf8(row)]) from None
        if "\r" in header:
            found = "line ends of another kind"
            remedy = "save the file as CSV UTF-8"
            raise DataError([self._problem(row, None, found, "lines of UTF-8 text", remedy)])
        return header

    def _diagnosis(self) -> list[Problem]:
        """Why polars could not read the file, slowly but with row numbers."""
        with self.path.open("rb") as lines:
            for row, line in enumerate(lines, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    return [self._not_utf8(row)]
        return self._ragged()

    def _ragged(self) -> list[Problem]:
        width = len(self.columns)
        problems = []
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            try:
                for row, values in enumerate(csv.reader(lines, delimiter=self.separator), start=1):
                    if len(values) not in (0, width) and any(value.strip() for value in values):
                        found = f"{len(values)} value{'s' * (len(values) != 1)}"
                        allowed = f"{width} in every row, separated by {self._separators()}"
                        problems.append(self._problem(row, None, found, allowed))
            except (csv.Error, UnicodeDecodeError) as error:
                return [self._unknown(error)]
        return problems

    def _separators(self) -> str:
        return SEPARATORS[self.separator]

    def _not_utf8(self, row: int) -> Problem:
        remedy = "save the file as CSV UTF-8"
        return self._problem(row, None, "characters that are not UTF-8", "UTF-8 text", remedy)

    def _unknown(self, error: Exception) -> Problem:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        found = f"a file that cannot be read as a table ({reason})"
        allowed = f"rows of text, separated by {self._separators()}"
        return self._problem(None, None, found, allowed)

    def _problem(
        self, row: int | None, column: str | None, found: str, allowed: str, remedy: str = ""
    ) -> Problem:
        return Problem(self.name, row, column, found, allowed, remedy)


def _number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
