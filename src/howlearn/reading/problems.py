"""Collects everything that is wrong with the files, so that it is all said at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import DataError, Problem
from howlearn.core.text import few, quoted, shortened

VALUES_LISTED = 100  # different values of one kind in one batch that are named one by one
NAMES_SHOWN = 12  # names in a list of what is allowed
LONGEST_SHOWN = 200  # letters of a name


def listed(names: Sequence[str]) -> str:
    """Names in a row, cut where the list gets long.

    >>> listed([str(i) for i in range(1, 31)])
    '1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, … (30 in all)'
    """
    return few([*map(shown_name, names)], NAMES_SHOWN, ", … ({all} in all)")


def shown_name(name: str) -> str:
    """A name as it stands in a message: its beginning where it is very long."""
    return shortened(name, LONGEST_SHOWN, kept=LONGEST_SHOWN)


def no_rows(file: str) -> Problem:
    """What is wrong with a file that has names of columns and nothing below."""
    allowed = "one row per trial below the names of the columns"
    return Problem(file, None, None, "no rows", allowed)


@dataclass
class Ledger:
    """Which file every row came from; rows are counted over all files, from 0."""

    names: list[str] = field(default_factory=list)
    first_rows: list[int] = field(default_factory=list)  # as a spreadsheet counts
    starts: list[int] = field(default_factory=list)
    rows: int = 0

    def open(self, name: str, first_row: int) -> int:
        """The rows that follow belong to this file; returns the file's number."""
        self.names.append(name)
        self.first_rows.append(first_row)
        self.starts.append(self.rows)
        return len(self.names) - 1

    def locate(self, row: int) -> tuple[str, int]:
        """The file of a row, and its number in a spreadsheet."""
        file = bisect_right(self.starts, row) - 1
        return self.names[file], row - self.starts[file] + self.first_rows[file]

    def file_rows(self) -> tuple[int, ...]:
        """How many data rows each file has."""
        return tuple(np.diff([*self.starts, self.rows]).tolist())


class Problems:
    """Problems found so far; the same value in the same column and file is one problem."""

    def __init__(self, ledger: Ledger, known: Iterable[Problem] = ()) -> None:
        self.ledger = ledger
        self._found: dict[tuple[str, str | None, str, str, str], Problem] = {}
        self.extend(known)

    def __len__(self) -> int:
        return len(self._found)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems; one that is known already only counts."""
        for new in problems:
            key = (new.file, new.column, new.found, new.allowed, new.remedy)
            old = self._found.get(key)
            more = 0 if old is None else old.more + new.more + 1
            self._found[key] = new if old is None else replace(old, more=more)

    def reword(self, old: str, new: str) -> None:
        """Replace a remedy by a better one, now that more is known."""
        for key, problem in self._found.items():
            if problem.remedy == old:
                self._found[key] = replace(problem, remedy=new)

    def withdraw(self, remedy: str) -> None:
        """Take back the problems with this remedy: all rows together show that there is none."""
        self._found = {key: one for key, one in self._found.items() if one.remedy != remedy}

    def at(
        self, row: int, column: str | None, found: str, allowed: str, remedy: str, more: int = 0
    ) -> None:
        """Add a problem at a row counted over all files."""
        file, line = self.ledger.locate(row)
        self.extend([Problem(file, line, column, found, allowed, remedy, more)])

    def refuse(
        self,
        rows: NDArray[np.int64],
        codes: NDArray[np.int32],
        bad: NDArray[np.bool_],
        shown: pl.Series,
        column: str,
        allowed: str,
        remedy: str,
    ) -> None:
        """Add the rows whose code is bad: one problem per file and value."""
        if not bad.any():
            return
        wrong = np.flatnonzero(bad[codes])
        files = np.searchsorted(self.ledger.starts, rows[wrong], side="right")
        pairs = files * len(bad) + codes[wrong]
        _, first, times = np.unique(pairs, return_index=True, return_counts=True)
        order = np.argsort(first)
        for i in order[:VALUES_LISTED]:
            position = wrong[first[i]]
            found = quoted(shown[int(codes[position])])
            self.at(int(rows[position]), column, found, allowed, remedy, int(times[i]) - 1)
        rest = order[VALUES_LISTED:]
        if len(rest):
            row = int(rows[wrong[first[rest[0]]]])
            more = int(times[rest].sum()) - 1
            self.at(row, column, f"{len(rest):,} more values", allowed, remedy, more)

    def raise_all(self) -> None:
        """Stop here when anything was found."""
        if self._found:
            raise self.error()

    def error(self) -> DataError:
        """Everything found so far as one error."""
        return DataError(tuple(self._found.values()))


def refuse_whole(
    problems: Problems,
    column: str | None,
    found: str,
    allowed: str = "at least two actions",
    remedy: str = "--action COL, --task TASK",
) -> None:
    """Add a problem of all files together."""
    names = problems.ledger.names
    file = names[0] if len(names) == 1 else f"{len(names)} files"
    problems.extend([Problem(file, None, column, found, allowed, remedy)])
