"""What the rows of every learner say, gathered batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Ints
from howlearn.exclusion.language import CONDITIONS, FIRST, Condition, Measure

# Of lists, so that a learner's number does not depend on how many others there are.
_OF_NUMBERS = {
    "mean": pl.col("value").list.mean(),
    "median": pl.col("value").list.median(),
    "min": pl.col("value").list.min(),
    "max": pl.col("value").list.max(),
    "sd": pl.col("value").list.std(),
}


class Seen:
    """Collects what conditions need to know of every sequence, by its code.

    Counts and first values are kept as such; numbers are kept one by one, since a median needs all
    of them.

    >>> from howlearn.exclusion.language import parse
    >>> seen = Seen([parse("share(rt < 1) > 0.5 or max(rt) > 9", ["rt"])])
    >>> rows = pl.DataFrame({"rt": ["0.5", "3", None, "10"]})
    >>> seen.see(rows, np.array([0, 0, 1, 1]), np.array([False, False, True, False]))
    >>> seen.table([0, 1]).rows()
    [(0.0, 0.5, 3.0), (0.5, 0.0, 10.0)]
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        measures = {m.name: m for condition in conditions for m in condition.measures}
        self.measures: tuple[Measure, ...] = tuple(measures.values())
        self.columns = tuple(dict.fromkeys(c for m in self.measures for c in m.columns))
        self._rows = np.zeros(0, np.int64)
        self._missed = np.zeros(0, np.int64)
        self._counts: dict[str, Ints] = {}
        self._first: dict[str, dict[int, str]] = {}
        self._sequences: dict[str, list[NDArray[np.int32]]] = {}  # by what stands in the brackets
        self._numbers: dict[str, list[NDArray[np.float64]]] = {}
        self._settled: dict[str, list[pl.DataFrame]] = {}  # by measure
        self._done = np.zeros(0, np.bool_)
        self.late = False  # a row of a sequence came after it was settled

    def see(
        self, labels: pl.DataFrame, sequence: NDArray[np.integer], missed: NDArray[np.bool_]
    ) -> None:
        """Take in some rows: their labels, the sequence of each (−1: none), who did not choose."""
        mine = sequence >= 0
        owner = sequence[mine]
        self._rows = _added(self._rows, owner)
        self.late |= bool(self._done[owner[owner < len(self._done)]].any())
        self._missed = _added(self._missed, owner[missed[mine]])
        numbers: set[str] = set()
        for measure in self.measures:
            if measure.function not in (*CONDITIONS, FIRST):
                if measure.of in numbers:
                    continue
                numbers.add(measure.of)
            found = labels.select(measure.rows.alias("value")).to_series()
            if len(found) != labels.height:  # a constant condition
                found = found.new_from_index(0, labels.height)
            found = found.filter(pl.Series(mine))
            if measure.function in CONDITIONS:
                before = self._counts.get(measure.name, np.zeros(0, np.int64))
                holds = found.fill_null(False).to_numpy()
                self._counts[measure.name] = _added(before, owner[holds])
            elif measure.function == FIRST:
                self._see_first(measure.name, found, owner)
            else:
                self._see_numbers(measure.of, found, owner)

    def _see_first(self, name: str, values: pl.Series, owner: NDArray[np.integer]) -> None:
        known = self._first.setdefault(name, {})
        frame = pl.DataFrame({"owner": owner, "value": values}).drop_nulls()
        for code, value in frame.unique("owner", keep="first", maintain_order=True).iter_rows():
            known.setdefault(code, value)

    def _see_numbers(self, of: str, values: pl.Series, owner: NDArray[np.integer]) -> None:
        there = (values.is_not_null() & values.is_finite()).fill_null(False).to_numpy()
        numbers = values.to_numpy()[there].astype(np.float64)
        self._sequences.setdefault(of, []).append(owner[there].astype(np.int32))
        self._numbers.setdefault(of, []).append(numbers)

    def settle(self, codes: Sequence[int]) -> None:
        """No more rows of these sequences will come: their single numbers can be forgotten."""
        size = max([*codes, len(self._done) - 1]) + 1
        self._done = np.pad(self._done, (0, size - len(self._done)))
        self._done[codes] = True
        for of, parts in self._sequences.items():
            owner, value = np.concatenate(parts), np.concatenate(self._numbers[of])
            done = np.append(self._done, np.zeros(1, np.bool_))[np.minimum(owner, size)]
            mine = _lists(owner[done], value[done])
            for measure in self.measures:
                if measure.of == of and measure.function in _OF_NUMBERS:
                    found = mine.select("owner", _OF_NUMBERS[measure.function])
                    self._settled.setdefault(measure.name, []).append(found)
            self._sequences[of], self._numbers[of] = [owner[~done]], [value[~done]]

    def table(self, codes: Sequence[int]) -> pl.DataFrame:
        """``missed`` and every measure of these sequences; null where nothing is known."""
        size = len(self._rows)
        rows = np.maximum(self._rows, 1)
        columns = {"missed": pl.Series(_whole(self._missed, size) / rows)}
        for measure in self.measures:
            if measure.function in CONDITIONS:
                counts = _whole(self._counts.get(measure.name, np.zeros(0, np.int64)), size)
                share = measure.function == "share"
                columns[measure.name] = pl.Series(counts / rows if share else counts.astype(float))
            elif measure.function == FIRST:
                known: Mapping[int, str] = self._first.get(measure.name, {})
                values = [known.get(code) for code in range(size)]
                columns[measure.name] = pl.Series(values, dtype=pl.String)
            else:
                columns[measure.name] = self._aggregated(measure, size)
        return pl.DataFrame(columns)[list(codes)]

    def _aggregated(self, measure: Measure, size: int) -> pl.Series:
        parts = self._sequences.get(measure.of, [])
        if not parts:
            return pl.Series([None] * size, dtype=pl.Float64)
        rest = _lists(np.concatenate(parts), np.concatenate(self._numbers[measure.of]))
        settled = self._settled.get(measure.name, [])
        found = pl.concat([*settled, rest.select("owner", _OF_NUMBERS[measure.function])])
        every = pl.DataFrame({"owner": np.arange(size)})
        return every.join(found, on="owner", how="left", maintain_order="left")["value"]


def _lists(owner: NDArray[np.integer], value: NDArray[np.float64]) -> pl.DataFrame:
    """The numbers of every sequence as a list, in the order of the rows."""
    frame = pl.DataFrame({"owner": owner.astype(np.int64), "value": value})
    return frame.group_by("owner", maintain_order=True).agg("value")


def _added(counts: Ints, codes: NDArray[np.integer]) -> Ints:
    """The counts, with one more for every code."""
    more = np.bincount(codes, minlength=len(counts)).astype(np.int64)
    more[: len(counts)] += counts
    return more


def _whole(counts: Ints, size: int) -> Ints:
    return np.pad(counts, (0, size - len(counts)))
