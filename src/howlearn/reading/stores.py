"""Where the ordered trials of a study are kept: in memory, or on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from howlearn.core.stored_study import ROWS, Spool, StoredStudy, columns_of, source_of
from howlearn.core.study import Study
from howlearn.reading.assembly import Ordered, recode_in_place
from howlearn.reading.facts import by_code

Arrays = Mapping[str, NDArray[Any]]


class Store(Protocol):
    """Keeps the trials of one block after another, sequence after sequence."""

    def add(self, block: Ordered) -> None:
        """Keep the trials of some sequences."""
        ...

    def __contains__(self, name: str) -> bool: ...

    @property
    def rows(self) -> NDArray[np.integer] | None:
        """The row of every trial; None: every row is a trial, in order."""
        ...

    def recode(self, name: str, table: NDArray[np.int32]) -> None:
        """Replace every code of a column by ``table[code]``."""
        ...

    def blocks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[np.integer] | None]]:
        """Some columns of all trials, and their rows, as much at once as there is room for."""
        ...

    def put(self, name: str, names: Sequence[str], make: Callable[[Arrays], NDArray[Any]]) -> None:
        """Replace a column by what is made of some columns."""
        ...

    def study(self, codes: Sequence[int], scored: NDArray[np.int64], **told: Any) -> Study:
        """The study of these trials, given the codes of its sequences and their scored trials."""
        ...


class InMemory:
    """Holds one block, which has all trials."""

    def __init__(self) -> None:
        self._block: Ordered | None = None

    @property
    def block(self) -> Ordered:
        assert self._block is not None
        return self._block

    def add(self, block: Ordered) -> None:
        self._block = block

    def __contains__(self, name: str) -> bool:
        return name in self.block.arrays

    @property
    def rows(self) -> NDArray[np.integer] | None:
        return self.block.rows

    def recode(self, name: str, table: NDArray[np.int32]) -> None:
        recode_in_place(self.block.arrays[name], table)

    def blocks(
        self, names: Sequence[str]
    ) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[np.integer] | None]]:
        yield {name: self.block.arrays[name] for name in names}, self.block.rows

    def put(self, name: str, names: Sequence[str], make: Callable[[Arrays], NDArray[Any]]) -> None:
        self.block.arrays[name] = make({each: self.block.arrays[each] for each in names})

    def study(self, codes: Sequence[int], scored: NDArray[np.int64], **told: Any) -> Study:
        arrays = {name: values for name, values in self.block.arrays.items() if name != "rewarded"}
        return Study(starts=self.block.starts, **arrays, **told)


class OnDisk:
    """Appends every block to temporary files."""

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

    def study(self, codes: Sequence[int], scored: NDArray[np.int64], **told: Any) -> Study:
        lengths = by_code(self._lengths, codes)  # 0 where a learner never chose
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self.spool.drop("rewarded")
        arrays = columns_of(self.spool)
        told["source"] = source_of(told["source"], self.spool)
        return StoredStudy(starts=starts, **arrays, **told, spool=self.spool, counted=scored)
