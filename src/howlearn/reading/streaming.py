"""Input that is larger than memory: learners go to disk as soon as all their rows were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import DataError, Problem
from howlearn.core.stored_study import ROWS, Spool, StoredStudy, columns_of, source_of
from howlearn.core.study import Study
from howlearn.reading.code_books import Books
from howlearn.reading.facts import Facts, by_code
from howlearn.reading.formats.matrices import has_no_text
from howlearn.reading.formats.open import learner_names
from howlearn.reading.formats.parquet import Parquet
from howlearn.reading.formats.table import Table, Wrapped
from howlearn.reading.offers import as_lists
from howlearn.reading.order import Key, Ordered, conditions_key, in_order, recode_in_place
from howlearn.reading.plan import ReadingPlan, missing_columns
from howlearn.reading.problems import Ledger, Problems, no_rows
from howlearn.reading.rows import BATCH_ROWS, Batch
from howlearn.reading.trials import TrialReader

# Where the ordered trials of a study are kept: in memory, or on disk.


Arrays = Mapping[str, NDArray[Any]]


class InMemory:
    """Keeps the ordered trials of a study: one block, which has all of them."""

    def __init__(self) -> None:
        self._block: Ordered | None = None

    @property
    def block(self) -> Ordered:
        assert self._block is not None
        return self._block

    def add(self, block: Ordered) -> None:
        """Keep the trials of some sequences."""
        self._block = block

    def __contains__(self, name: str) -> bool:
        return name in self.block.arrays

    @property
    def rows(self) -> NDArray[np.integer] | None:
        """The row of every trial; None: every row is a trial, in order."""
        return self.block.rows

    def recode(self, name: str, table: NDArray[np.int32]) -> None:
        """Replace every code of a column by ``table[code]``."""
        recode_in_place(self.block.arrays[name], table)

    def blocks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[np.integer] | None]]:
        """Some columns of all trials, and their rows, as much at once as there is room for."""
        yield {name: self.block.arrays[name] for name in names}, self.block.rows

    def put(self, name: str, names: Sequence[str], make: Callable[[Arrays], NDArray[Any]]) -> None:
        """Replace a column by what is made of some columns."""
        self.block.arrays[name] = make({each: self.block.arrays[each] for each in names})

    def drop(self, name: str) -> None:
        """Do without a column."""
        self.block.arrays.pop(name, None)

    def study(self, codes: Sequence[int], scored: NDArray[np.int64], **told: Any) -> Study:
        """The study of these trials, given the codes of its sequences and their scored trials."""
        arrays = {name: values for name, values in self.block.arrays.items() if name != "rewarded"}
        return Study(starts=self.block.starts, **arrays, **told)


class OnDisk:
    """Does the same with temporary files, to which every block is appended."""

    def __init__(self) -> None:
        self.spool = Spool()
        self._lengths: list[tuple[list[int], NDArray[np.int64]]] = []  # by code

    def add(self, block: Ordered) -> None:
        rows = block.rows
        assert rows is not None
        before = len(self.spool)
        if ROWS in self.spool or np.any(rows != np.arange(before, before + len(rows))):
            if ROWS not in self.spool:  # until now every row was a trial, in order
                for start in range(0, before, len(rows) or 1):
                    stop = min(before, start + len(rows))
                    self.spool.append({ROWS: np.arange(start, stop)})
            self.spool.append({ROWS: rows})
        self.spool.append(block.arrays)
        self._lengths.append((block.codes, np.diff(block.starts)))

    def __contains__(self, name: str) -> bool:
        return name in self.spool

    @property
    def rows(self) -> NDArray[np.integer] | None:
        return None  # the study's source looks for them on disk

    def recode(self, name: str, table: NDArray[np.int32]) -> None:
        self.put(name, [name], lambda block: table[block[name]].astype(block[name].dtype))

    def blocks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[np.integer] | None]]:
        start = 0
        known = ROWS in self.spool
        for block in self.spool.blocks([*names, *([ROWS] if known else [])]):
            stop = start + len(block[names[0]])
            rows = block.pop(ROWS) if known else np.arange(start, stop)
            yield block, rows
            start = stop

    def put(self, name: str, names: Sequence[str], make: Callable[[Arrays], NDArray[Any]]) -> None:
        self.spool.put(name, names, make)

    def drop(self, name: str) -> None:
        self.spool.drop(name)

    def study(self, codes: Sequence[int], scored: NDArray[np.int64], **told: Any) -> Study:
        lengths = by_code(self._lengths, codes)  # 0 where a learner never chose
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self.spool.drop("rewarded")
        arrays = columns_of(self.spool)
        told["source"] = source_of(told["source"], self.spool)
        return StoredStudy(starts=starts, **arrays, **told, spool=self.spool, counted=scored)


TrialStore = InMemory | OnDisk
STREAMED_ROWS = 20_000_000  # rows of Parquet files from which on trials are kept on disk
MANY_KEYS = (
    100_000  # of segments or episodes, from which on those of earlier learners are forgotten
)
ENOUGH_DOUBLED = 10_000  # learners with trials numbered twice, after which a list is long enough

NOT_GROUPED = (
    "the rows of a learner are not together, so that all trials are held in memory; a file that is "
    "sorted by learner needs much less"
)


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
    while isinstance(table, Wrapped):
        table = table.table
    return table


class Stream:
    """Takes complete learners from a reader's pile after every batch, and keeps them on disk."""

    def __init__(self, plan: ReadingPlan, problems: Problems, level: int) -> None:
        self.plan, self.problems, self.level = plan, problems, level
        self.facts, self.store = Facts(plan), OnDisk()
        self._doubled = Problems(problems.ledger)  # told after what is wrong with rows
        self._keys: list[Key] = []  # of each sequence, by its code
        self._places: list[int] = []  # of the learner of each sequence, with --by
        self._learners: dict[str | None, int] = {}  # and their places
        self._written = -1  # the place of the last learner on disk
        self.grouped = True  # whether the rows of every learner are together
        self.needed = level  # where trial numbers restart in parts of a sequence it is higher

    def take(self, reader: TrialReader, last: bool = False) -> bool:
        """Keep the learners who are complete: all but the one of the last row, until the end.

        False where this cannot go on: rows that are not together, or trials to be ordered anew.
        """
        pile, seen = reader.pile, reader.seen
        self.grouped = seen is None or not seen.late
        if not self.grouped or not len(pile):
            return self.grouped
        lost = pile.look("sequence") < 0  # refused already
        if lost.any():
            pile.keep(~lost)
        place = self._place_of(pile.look("sequence"), reader.books)
        if not len(place):
            return True
        # Rows that are no trials may show a learner before another.
        self.grouped = place[0] > self._written and not np.any(place[1:] < place[:-1])
        complete = len(place) if last else int(np.searchsorted(place, place[-1]))
        if self.grouped and complete:
            self._keep(reader, place, complete)
        return self.grouped and self.needed == self.level

    def _keep(self, reader: TrialReader, place: NDArray[np.integer], complete: int) -> None:
        """Order the first trials of the pile, which are those of complete learners."""
        pile, seen = reader.pile, reader.seen
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
        self.needed = max(self.level, ordered.level)
        if self.needed > self.level:
            return
        self.facts.count(ordered)
        if not len(self.problems) and not len(self._doubled):
            self.facts.see(ordered)
            self.store.add(ordered)
        if seen is not None:
            seen.settle(codes)
        self._forget(reader)

    def finish(self, reader: TrialReader) -> None:
        """Keep the last learner too, and tell what was numbered twice."""
        going = self.grouped and self.needed == self.level
        if going and self.take(reader, last=True) and len(self._doubled):
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


# Reads tables in batches: large files in parts, many small files together.


ENOUGH_PROBLEMS = 10_000  # after which reading on would only add to a long list


def read_tables(
    tables: Sequence[Table],
    plan: ReadingPlan,
    problems: Problems,
    then: Callable[[TrialReader], bool] = lambda reader: True,
) -> TrialReader:
    """A reader that has read the rows of all tables.

    ``then`` is called after every batch, and says whether to go on.
    """
    reader = TrialReader(plan, problems, learner_names(tables))
    for batch in _batches(tables, plan, problems):
        reader.read(batch)
        enough = len(problems) > ENOUGH_PROBLEMS and not reader.advice.only_words
        if not then(reader) or enough:
            break
    reader.advice.fill_in(problems)
    for role, rows in reader.advice.words_taken.items():
        reader.counts[f"recoded {role} words"] += rows
    return reader


def _batches(tables: Sequence[Table], plan: ReadingPlan, problems: Problems) -> Iterator[Batch]:
    waiting: list[tuple[int, pl.DataFrame]] = []
    for number, frame in _frames(tables, plan, problems):
        if waiting and waiting[-1][1].schema != frame.schema:
            yield _together(waiting, problems)
            waiting = []
        waiting.append((number, frame))
        problems.ledger.rows += frame.height
        if sum(frame.height for _, frame in waiting) >= BATCH_ROWS:
            yield _together(waiting, problems)
            waiting = []
    if waiting:
        yield _together(waiting, problems)


def _together(waiting: list[tuple[int, pl.DataFrame]], problems: Problems) -> Batch:
    frame = pl.concat([frame for _, frame in waiting])
    files = [(number, frame.height) for number, frame in waiting]
    return Batch(frame, problems.ledger.rows - frame.height, files)


def _frames(
    tables: Sequence[Table], plan: ReadingPlan, problems: Problems
) -> Iterator[tuple[int, pl.DataFrame]]:
    """The frames of all tables with the table's number; what cannot be read is a problem."""
    columns = list(plan.columns)
    for number, table in enumerate(tables):
        problems.ledger.open(table.name, table.first_row)
        absent = missing_columns(plan, table)
        problems.extend(absent)
        if absent:
            continue
        filled = False
        try:
            there = [name for name in columns if name in table.columns]
            absences = [
                pl.lit(None, pl.String).alias(name) for name in columns if name not in there
            ]
            for frame in table.frames(there):
                filled = filled or has_rows(frame)
                frame = as_lists(frame, plan.roles.offered)
                filled_up = _plain(frame, table, problems).with_columns(absences)
                # by name: select would take * or ^a$ for patterns
                whole = pl.DataFrame([filled_up.get_column(name) for name in columns])
                for part in whole.iter_slices(BATCH_ROWS):
                    yield number, part
        except DataError as error:
            problems.extend(error.problems)
            continue
        if not filled:
            problems.extend([no_rows(table.name)])


def has_rows(frame: pl.DataFrame) -> bool:
    """Whether anything stands in a frame."""
    return any(column.null_count() < frame.height for column in frame.get_columns())


def _plain(frame: pl.DataFrame, table: Table, problems: Problems) -> pl.DataFrame:
    """Columns of lists and the like cannot be labels; they are refused and read as missing."""
    for column in frame.get_columns():
        if has_no_text(column.dtype):
            found, allowed = f"values of the type {column.dtype}", "numbers, text or booleans"
            problems.extend([Problem(table.name, None, column.name, found, allowed)])
            empty = pl.Series(column.name, [None], dtype=pl.String)
            frame = frame.with_columns(empty.new_from_index(0, frame.height))
    return frame
