"""What goes wrong in the user's hands: the errors that are printed without a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howlearn.core.text import LONGEST, many, one_line

LONGEST_MESSAGE = 16_000  # characters
SHOWN_PER_KIND = 5  # rows of one kind that are listed before "and N more"


class HowlearnError(Exception):
    """Something the user can mend; the command line prints it and exits with status 2.

    >>> import howlearn as hl
    >>> try:
    ...     hl.Partition([])
    ... except hl.HowlearnError as error:
    ...     print(error)
    a partition needs at least one cell, and no cell may be empty
    """

    def __str__(self) -> str:
        """What it says; a name of very many letters, as damaged files have, is cut."""
        text = super().__str__()
        if len(text) <= LONGEST_MESSAGE:
            return text
        half = LONGEST_MESSAGE // 2
        return f"{text[:half]}…{text[-half + 1 :]}"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with the data, and what would help.

    >>> print(Problem("a.csv", 5, "Reward", "7", "0 to 1", "--reward-range LO,HI", more=2))
    a.csv, row 5 and 2 more, column Reward: found 7; allowed: 0 to 1 (helps: --reward-range LO,HI)
    """

    file: str
    row: int | None  # as a spreadsheet counts: the header is row 1
    column: str | None
    found: str
    allowed: str
    remedy: str = ""
    more: int = 0  # further rows where the same was found

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        if self.more:
            row += f" and {self.more:,} more"
        column = "" if self.column is None else f", column {one_line(self.column, LONGEST)}"
        remedy = f" (helps: {one_line(self.remedy)})" if self.remedy else ""
        file, found = one_line(self.file, LONGEST), one_line(self.found, LONGEST)
        return f"{file}{row}{column}: found {found}; allowed: {one_line(self.allowed)}{remedy}"


class EndedEarly(Exception):
    """A command has done its part, and ends before its usual end: the text says how to go on."""


class DataError(HowlearnError):
    """The data cannot be used as they are; carries every problem found.

    >>> import howlearn as hl
    >>> import polars as pl
    >>> rows = {"learner": [1, 1], "context": ["x", "x"], "action": [0, 1], "reward": [1, 7]}
    >>> try:
    ...     hl.read(pl.DataFrame(rows))
    ... except hl.DataError as error:
    ...     print([(problem.row, problem.found) for problem in error.problems])
    [(3, '7')]
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(_listing(self.problems))


def _listing(problems: Sequence[Problem]) -> str:
    kinds: dict[tuple[str | None, str, str], list[Problem]] = {}
    for problem in problems:
        key = (problem.column, problem.allowed, problem.remedy)
        kinds.setdefault(key, []).append(problem)
    lines = [f"the data cannot be used as they are: {many(len(problems), 'problem')}"]
    for members in kinds.values():
        lines += [f"  {problem}" for problem in members[:SHOWN_PER_KIND]]
        if len(members) > SHOWN_PER_KIND:
            lines.append(f"  … and {len(members) - SHOWN_PER_KIND:,} more like these")
    return "\n".join(lines)
