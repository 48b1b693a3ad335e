"""A table in APA style, before it becomes Word or LaTeX."""

from __future__ import annotations

from dataclasses import dataclass, field

STATISTICS = frozenset({"n", "Mdn", "N"})  # symbols that stand in italics


@dataclass(frozen=True)
class Head:
    """The heading of a column."""

    text: str
    over: str = ""  # of neighbouring columns with the same one: a heading over all of them

    @property
    def italic(self) -> bool:
        return self.text in STATISTICS


@dataclass(frozen=True)
class ApaTable:
    """Text only: numbers are formatted already. The first columns are words, the others numbers."""

    number: int
    title: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())
    n_words: int = 1  # columns of words, to be set flush left

    @property
    def groups(self) -> tuple[tuple[str, int, int], ...]:
        """The headings over several columns, each with the first column and their number."""
        found: list[tuple[str, int, int]] = []
        for i, head in enumerate(self.heads):
            if found and found[-1][0] == head.over:
                name, first, n = found[-1]
                found[-1] = (name, first, n + 1)
            else:
                found.append((head.over, i, 1))
        return tuple(found)

    @property
    def spanned(self) -> bool:
        return any(head.over for head in self.heads)
