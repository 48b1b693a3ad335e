"""--bin: the numbers of a column become labels of bins, so that few contexts come of many."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.errors import DataError, HowlearnError
from howlearn.reading.labels import CodedColumn, code_column
from howlearn.reading.problems import Problems, listed
from howlearn.reading.rows import Rows, holds, numbers_of

if TYPE_CHECKING:
    from howlearn.reading.formats.table import Table
    from howlearn.reading.plan import ReadingPlan

HOW = "write COL:N for N bins of equal width (at least 2), or COL:CUT,CUT… with cut points"
MOST = 1_000  # bins of one column; more would not be few contexts
DIGITS = 3  # of a bin's width that its ends are rounded to, so that labels are short and true
_WHOLE = re.compile("[-+]?[0-9]+")


@dataclass(frozen=True)
class Bins:
    """Bin i holds the numbers from ``cuts[i - 1]`` on that are smaller than ``cuts[i]``."""

    option: str  # as it was typed, for messages
    cuts: tuple[float, ...]
    labels: tuple[str, ...]

    def of(self, column: CodedColumn, rows: Rows, problems: Problems) -> CodedColumn:
        """The column with its bins in place of its numbers; what is missing stays missing."""
        name = column.name
        remedy = f"--missing {name}:VALUE, --recode {name}:OLD=NEW, or no --bin for it"
        allowed = f"a number, since {self.option} makes bins of them"
        values, _ = numbers_of(rows, column, problems, allowed, remedy)
        place = np.searchsorted(self.cuts, values, side="right")
        place[column.labels.is_null().to_numpy()] = len(self.labels)
        used, codes = np.unique(place, return_inverse=True)
        first = np.full(len(used), np.iinfo(np.int64).max)
        np.minimum.at(first, codes, column.first)
        labels = pl.Series([*self.labels, None], dtype=pl.String).gather(used)
        return CodedColumn(name, codes.astype(np.int32)[column.codes], labels, labels, first)


def binned(rows: Rows, plan: ReadingPlan, problems: Problems) -> Rows:
    """The rows as contexts and features see them: with the labels of bins for numbers."""
    if not plan.bins:
        return rows
    cut = {name: bins.of(rows.columns[name], rows, problems) for name, bins in plan.bins.items()}
    return rows.with_columns(cut)


def parse_bin(text: str) -> tuple[str, int | tuple[float, ...]]:
    """The column of a --bin, and the number of its bins or its cut points.

    >>> parse_bin("size:4"), parse_bin("size:0.2,0.5"), parse_bin("size:0.5")
    (('size', 4), ('size', (0.2, 0.5)), ('size', (0.5,)))
    """
    name, _, how = (part.strip() for part in text.rpartition(":"))
    if name and _WHOLE.fullmatch(how):  # a single cut point has a decimal point
        if not 2 <= int(how) <= MOST:
            raise HowlearnError(f"--bin {text!r}: from 2 to {MOST:,} bins are possible; {HOW}")
        return name, int(how)
    try:
        cuts = tuple(float(cut) for cut in how.split(","))
    except ValueError:
        cuts = ()
    if not name or not cuts or not all(math.isfinite(cut) for cut in cuts):
        raise HowlearnError(f"--bin {text!r}: {HOW}")
    if any(low >= high for low, high in pairwise(cuts)):
        raise HowlearnError(
            f"--bin {text!r}: cut points are written from the smallest to the largest"
        )
    return name, cuts


def between(option: str, cuts: Sequence[float]) -> Bins:
    """Bins between cut points; the first and the last are open.

    >>> between("--bin size:0.2,0.5", (0.2, 0.5)).labels
    ('<0.2', '0.2–0.5', '≥0.5')
    """
    ends = [_number(cut) for cut in cuts]
    inner = (f"{low}–{high}" for low, high in pairwise(ends))
    return Bins(option, tuple(cuts), (f"<{ends[0]}", *inner, f"≥{ends[-1]}"))


def equal(option: str, low: float, high: float, n: int) -> Bins:
    """So many bins of equal width; the last one holds the largest number too.

    >>> equal("--bin size:3", 0.0, 1.0, 3).labels
    ('0–0.333', '0.333–0.667', '0.667–1')
    """
    width = high / n - low / n  # high − low may be too large for a number
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(width))) if width > 0 else 0
    ends = [round(float(end), decimals) for end in (low + i * width for i in range(n + 1))]
    if any(left >= right for left, right in pairwise(ends)):
        raise HowlearnError(f"{option}: {low!r} and {high!r} are too close together for {n} bins")
    shown = [_number(end) for end in ends]
    labels = (f"{left}–{right}" for left, right in pairwise(shown))
    return Bins(option, tuple(ends[1:-1]), tuple(labels))


def _number(value: float) -> str:
    return f"{value + 0.0:.15g}"  # without the sign of −0


def with_bins(plan: ReadingPlan, tables: Sequence[Table]) -> ReadingPlan:
    """The plan with the bins that --bin asks for; equal widths need a look at all the files."""
    asked: dict[str, tuple[str, int | tuple[float, ...]]] = {}
    for text in plan.options.bin:
        name, how = parse_bin(text)
        _check_column(text, name, plan, tables[0].columns)
        if name in asked:
            raise HowlearnError(f"--bin {text!r}: {name} has its bins already")
        asked[name] = f"--bin {text}", how
    reach = _reach(tables, plan, [name for name, (_, how) in asked.items() if isinstance(how, int)])
    bins: dict[str, Bins] = {}
    for name, (option, how) in asked.items():
        if not isinstance(how, int):
            bins[name] = between(option, how)
        elif reach[name][0] < reach[name][1]:
            bins[name] = equal(option, *reach[name], how)
        elif reach[name][0] == reach[name][1]:
            raise HowlearnError(f"{option}: {name} has one value only ({_number(reach[name][0])})")
        else:  # no number at all: every row will be refused
            bins[name] = Bins(option, (), ("",))
    notes = [f"{c} is cut into {len(b.labels)} bins: {listed(b.labels)}" for c, b in bins.items()]
    return replace(plan, bins=bins, notes=(*plan.notes, *notes))


def _check_column(text: str, name: str, plan: ReadingPlan, columns: Sequence[str]) -> None:
    if name not in columns:
        known = listed([column for column in columns if column])
        raise HowlearnError(f"--bin {text!r}: there is no column {name}; the columns: {known}")
    if name not in (*plan.roles.context, *plan.options.features):
        raise HowlearnError(
            f"--bin {text!r}: {name} is neither a context nor a feature; name it with "
            "--context COL[,COL] or --features COL[,COL]"
        )


def _reach(
    tables: Sequence[Table], plan: ReadingPlan, names: Sequence[str]
) -> Mapping[str, tuple[float, float]]:
    """The smallest and the largest number of each column in the rows that --where keeps."""
    reach = dict.fromkeys(names, (np.inf, -np.inf))
    columns = dict.fromkeys((*names, *(plan.where.columns if plan.where else ())))
    for table in tables if names else ():
        if not set(columns) <= set(table.columns):
            continue
        try:
            for frame in table.frames(list(columns)):
                _widen(reach, frame, plan)
        except DataError:  # will be told when the rows are read
            continue
    return {name: (float(low), float(high)) for name, (low, high) in reach.items()}


def _widen(reach: dict[str, tuple[float, float]], frame: pl.DataFrame, plan: ReadingPlan) -> None:
    if any(kind.is_nested() or kind in (pl.Object, pl.Binary) for kind in frame.dtypes):
        return  # will be told when the rows are read
    columns = {
        values.name: code_column(values, plan.recode.get(values.name, {}), plan.gone(values.name))[
            0
        ]
        for values in frame.get_columns()
    }
    kept = slice(None) if plan.where is None else holds(plan.where, columns)
    for name, (low, high) in reach.items():
        values = columns[name].numbers()[np.unique(columns[name].codes[kept])]
        values = values[np.isfinite(values)]
        reach[name] = min(low, values.min(initial=np.inf)), max(high, values.max(initial=-np.inf))
