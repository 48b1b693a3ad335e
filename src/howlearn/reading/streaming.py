"""Input that is larger than memory: learners go to disk as soon as all their rows were read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.assembly import Key, conditions_key, in_order
from howlearn.reading.books import Books
from howlearn.reading.facts import Facts
from howlearn.reading.parquet import Parquet
from howlearn.reading.plan import Plan
from howlearn.reading.problems import Ledger, Problems
from howlearn.reading.stores import OnDisk
from howlearn.reading.table import Table
from howlearn.reading.trials import TrialReader

STREAMED_ROWS = 20_000_000  # rows of Parquet files from which on trials are kept on disk
MANY_KEYS = (
    100_000  # of segments or episodes, from which on those of earlier learners are forgotten
)
ENOUGH_DOUBLED = 10_000  # learners with trials numbered twice, after which a list is long enough

NOT_GROUPED = (
    "the rows of a learner are not together, so that all trials are held in memory; a file that is "
    "sorted by learner needs much less"
)


class NotGrouped(Exception):
    """The rows of a learner are not together."""


class StartAnew(Exception):
    """Trial numbers turned out to start anew in parts of a sequence: all must be ordered so."""

    def __init__(self, level: int) -> None:
        self.level = level


def is_large(tables: Sequence[Table]) -> bool:
    """Whether these are Parquet files with so many rows that they are streamed."""
    rows = 0
    inner = [_inside(table) for table in tables]
    if not all(isinstance(table, Parquet) for table in inner):
        return False
    for table in inner:
        rows += table.n_rows if isinstance(table, Parquet) else 0
        if rows > STREAMED_ROWS:
            return True
    return False


def _inside(table: Table) -> Table:
    """The file of a table whose columns were renamed or added to."""
    while hasattr(table, "table"):
        table = table.table  # type: ignore[attr-defined]
    return table


class Stream:
    """Takes complete learners from a reader's pile after every batch, and keeps them on disk."""

    def __init__(self, plan: Plan, problems: Problems, level: int) -> None:
        self.plan, self.problems, self.level = plan, problems, level
        self.facts, self.store = Facts(plan), OnDisk()
        self._doubled = Problems(problems.ledger)  # told after what is wrong with rows
        self._keys: list[Key] = []  # of each sequence, by its code
        self._places: list[int] = []  # of the learner of each sequence, with --by
        self._learners: dict[str | None, int] = {}  # and their places
        self._written = -1  # the place of the last learner on disk

    def take(self, reader: TrialReader, last: bool = False) -> None:
        """Keep the learners who are complete: all but the one of the last row, until the end."""
        pile, seen = reader.pile, reader.seen
        if seen is not None and seen.late:
            raise NotGrouped
        if not len(pile):
            return
        lost = pile.look("sequence") < 0  # refused already
        if lost.any():
            pile.keep(~lost)
        place = self._place_of(pile.look("sequence"), reader.books)
        if not len(place):
            return
        if place[0] <= self._written or np.any(place[1:] < place[:-1]):
            raise NotGrouped  # or rows that are no trials show a learner before another
        complete = len(place) if last else int(np.searchsorted(place, place[-1]))
        if not complete:
            return
        block = pile.until(complete)
        self._written = int(place[complete - 1])
        sequence = block.take("sequence")
        low = int(sequence.min())
        sequence -= low
        codes = self._in_rank((np.flatnonzero(np.bincount(sequence)) + low).tolist())
        rank = np.zeros(max(codes) + 1 - low, np.int32)
        rank[np.array(codes) - low] = np.arange(len(codes))
        ordered = in_order(
            block,
            rank[sequence],
            block.rows(),
            [self._keys[code] for code in codes],
            codes,
            self._doubled if len(self._doubled) < ENOUGH_DOUBLED else Problems(Ledger()),
            self.plan.roles.trial,
            self.level,
        )
        if ordered.level > self.level:
            raise StartAnew(ordered.level)
        self.facts.count(ordered)
        if not len(self.problems) and not len(self._doubled):
            self.facts.see(ordered)
            self.store.add(ordered)
        if seen is not None:
            seen.settle(codes)
        self._forget(reader)

    def finish(self, reader: TrialReader) -> None:
        """Keep the last learner too, and tell what was numbered twice."""
        self.take(reader, last=True)
        if len(self._doubled):
            self.problems.extend(self._doubled.error().problems)

    def _place_of(self, sequence: NDArray[np.int32], books: Books) -> NDArray[np.integer]:
        """The place of the learner of every trial, in the order in which learners appear."""
        known = books.sequences
        new = [*islice(reversed(known), len(known) - len(self._keys))]
        self._keys += reversed(new)
        if not self.plan.options.by:
            return sequence
        for key in reversed(new):
            self._places.append(self._learners.setdefault(key[0], len(self._learners)))
        low, high = int(sequence.min(initial=0)), int(sequence.max(initial=-1)) + 1
        return np.array(self._places[low:high], np.int64)[sequence - low]

    def _in_rank(self, codes: list[int]) -> list[int]:
        """The codes of complete sequences in the order that they have in a study."""
        if not self.plan.options.by:
            return codes
        return sorted(codes, key=lambda c: (self._places[c], conditions_key(self._keys[c])))

    def _forget(self, reader: TrialReader) -> None:
        """Segments and episodes are known as long as a learner is not complete."""
        pile, books = reader.pile, reader.books
        for name, book in (("segment", books.segments), ("episode", books.episodes)):
            if len(book) <= MANY_KEYS:
                continue
            kept, codes = np.unique(pile.look(name), return_inverse=True)
            keys = list(book)
            book.clear()
            book.update({keys[code]: i for i, code in enumerate(kept)})
            pile.put(name, codes.astype(np.int32))
