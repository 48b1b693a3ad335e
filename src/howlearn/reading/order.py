"""Bring the trials of all files into order: sequence after sequence, trial after trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.code_books import Books
from howlearn.reading.labels import natural_key
from howlearn.reading.problems import Problems
from howlearn.reading.rows import Pile

AT_ONCE = 1_000_000  # trials that are recoded together, to keep copies small
PER_TRIAL = ("context", "action", "reward", "scored", "learned")
IF_ASKED = ("forgone", "rewarded", "duration", "offer", "load")

Key = tuple[str | None, ...]  # learner, then conditions


@dataclass
class Ordered:
    """All trials in order; sequence ``i`` has the trials ``starts[i]:starts[i + 1]``."""

    keys: list[Key]
    codes: list[int]  # of each sequence in the books
    starts: NDArray[np.int64]
    rows: NDArray[np.integer] | None  # None: every row is a trial, in order
    arrays: dict[str, NDArray[Any]]  # PER_TRIAL, reset; IF_ASKED, episode_end where there are
    level: int = 0  # 1: trial numbers restart in each segment, 2: in each episode of it

    def leave_out(self, short: NDArray[np.bool_]) -> None:
        """Drop the sequences that are marked."""
        lengths = np.diff(self.starts)
        lost = np.zeros(int(self.starts[0]), dtype=np.bool_)  # rows without a learner come first
        kept = np.concatenate([lost, np.repeat(~short, lengths)])
        self.rows = np.flatnonzero(kept) if self.rows is None else self.rows[kept]
        self.arrays = {name: values[kept] for name, values in self.arrays.items()}
        self.starts = np.concatenate(([0], np.cumsum(lengths[~short]))).astype(np.int64)
        self.keys = [key for key, out in zip(self.keys, short, strict=True) if not out]
        self.codes = [code for code, out in zip(self.codes, short, strict=True) if not out]


def sequence_name(key: Key) -> str:
    """A sequence as messages call it.

    >>> sequence_name(("7", "easy"))
    'learner 7 under easy'
    """
    learner, *conditions = key
    under = f" under {', '.join(str(c) for c in conditions)}" if conditions else ""
    return f"learner {learner}{under}"


def recode_in_place(codes: NDArray[Any], table: NDArray[Any]) -> None:
    """Replace every code by ``table[code]`` without a second large array."""
    for start in range(0, len(codes), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        codes[part] = table[codes[part]]


def assemble(pile: Pile, books: Books, problems: Problems) -> Ordered:
    """All trials in order; the pile's columns are taken away one by one to save memory."""
    keys, codes = sequences_of(books)
    rank = pile.take("sequence")
    if codes != sorted(codes):
        # A row without a learner or condition has the code −1, and keeps it.
        recode_in_place(rank, np.append(np.argsort(codes), -1).astype(np.int32))
    rows = pile.rows_unless(problems.ledger.rows)
    return in_order(pile, rank, rows, keys, codes, problems, books.plan.roles.trial)


def in_order(
    pile: Pile,
    rank: NDArray[np.int32],
    rows: NDArray[np.integer] | None,
    keys: list[Key],
    codes: list[int],
    problems: Problems,
    numbers: Sequence[str],
    level: int = 0,
) -> Ordered:
    """The trials of a pile in the order of their sequences' ranks, then of their numbers.

    ``numbers`` are the columns with the trial's number, ``level`` is the least one (see Ordered).
    """
    trial, segment, episode = (pile.take(name) for name in ("trial", "segment", "episode"))
    parts = [part for part in (segment, episode) if len(part)]
    order, doubled, level = _order(rank, trial, parts, level)
    _refuse_doubled(doubled, rank, trial, rows, keys, problems, numbers)
    if order is not None:
        rank = rank[order]
        rows = order if rows is None else rows[order]
        segment = segment[order] if len(segment) else segment
        episode = episode[order] if len(episode) else episode
    places = np.arange(len(keys) + 1, dtype=rank.dtype)  # another type would copy the ranks
    starts = np.searchsorted(rank, places).astype(np.int64)
    del rank, trial
    arrays = {"reset": _resets(starts, segment)}
    del segment
    if len(episode):
        arrays["episode_end"] = _episode_ends(arrays["reset"], episode)
    del episode
    for name in (*PER_TRIAL, *(name for name in IF_ASKED if name in pile)):
        column = pile.take(name)
        arrays[name] = column if order is None else column[order]
    if "load" in arrays:
        _refuse_changed_load(arrays, rows, problems)
    return Ordered(keys, codes, starts, rows, arrays, level)


def _refuse_changed_load(
    arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.integer] | None, problems: Problems
) -> None:
    """Refuse a load that changes where learning does not restart; no load is refused before."""
    load = arrays["load"]
    both = (load[1:] > 0) & (load[:-1] > 0)
    changed = np.flatnonzero(both & (load[1:] != load[:-1]) & ~arrays["reset"][1:]) + 1
    if len(changed):
        t = int(changed[0])
        found = f"a load of {load[t - 1]:g}, then of {load[t]:g}, in one block"
        allowed = "one load per block, the number of its stimuli"
        remedy = "--reset-by COL with the column of the blocks, in which learning restarts"
        row = t if rows is None else int(rows[t])
        problems.at(row, None, found, allowed, remedy, len(changed) - 1)


def sequences_of(books: Books) -> tuple[list[Key], list[int]]:
    """Learners as they first appear, conditions in natural order; and their codes."""
    if not books.plan.options.by:
        return list(books.sequences), list(books.sequences.values())
    learners = {key[0]: None for key in books.sequences}
    place = {learner: i for i, learner in enumerate(learners)}

    def sorting(item: tuple[Key, int]) -> tuple[object, ...]:
        return place[item[0][0]], *conditions_key(item[0])

    ranked = sorted(books.sequences.items(), key=sorting)
    return [key for key, _ in ranked], [code for _, code in ranked]


def conditions_key(key: Key) -> tuple[object, ...]:
    """Sorts the sequences of one learner: the conditions in natural order."""
    return tuple(natural_key(str(condition)) for condition in key[1:])


def _order(
    rank: NDArray[np.int32], trial: NDArray[Any], parts: Sequence[NDArray[np.int32]], level: int
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp], int]:
    """The order of the trials, None if they have it already; trials numbered twice; the level."""
    none = np.empty(0, dtype=np.intp)
    in_order = bool(np.all(rank[1:] >= rank[:-1]))
    if not len(trial):
        return (None if in_order else np.argsort(rank, kind="stable")), none, level
    numbers = [trial] if trial.ndim == 1 else [*trial.T]  # block, then trial within it
    if not level and in_order and np.all((rank[1:] > rank[:-1]) | _later(numbers)):
        return None, none, level
    keys: list[NDArray[np.integer]] = [rank]
    for part in parts[:level]:
        keys.append(_first_seen(keys[-1], part))
    order, doubled = _sorted((*keys, *numbers))
    for part in parts[level:] if len(doubled) else ():  # numbers restart in each part
        keys.append(_first_seen(keys[-1], part))
        order, doubled = _sorted((*keys, *numbers))
        if not len(doubled):
            break
    order = None if np.all(order[1:] > order[:-1]) else order
    return order, doubled, len(keys) - 1


def _later(numbers: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Whether each trial, from the second on, has a larger number than the one before it."""
    later = np.zeros(len(numbers[0]) - 1, dtype=np.bool_)
    for number in reversed(numbers):
        later = (number[1:] > number[:-1]) | ((number[1:] == number[:-1]) & later)
    return later


def _sorted(keys: Sequence[NDArray[Any]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.lexsort(keys[::-1])
    same = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    return order, order[1:][same]


def _first_seen(whole: NDArray[np.integer], part: NDArray[np.int32]) -> NDArray[np.intp]:
    """Where each trial's segment begins within its sequence, or its episode within its segment."""
    pairs = whole.astype(np.int64) * (int(part.max()) + 1) + part
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    return first[inverse]


def _refuse_doubled(
    doubled: NDArray[np.intp],
    rank: NDArray[np.int32],
    trial: NDArray[Any],
    rows: NDArray[np.integer] | None,
    keys: list[Key],
    problems: Problems,
    columns: Sequence[str],
) -> None:
    """One problem per sequence, at the first row that repeats a trial number."""
    doubled = np.sort(doubled[rank[doubled] >= 0])
    sequences, first, times = np.unique(rank[doubled], return_index=True, return_counts=True)
    remedy = (
        "--reset-by COL, --by COL, --learner COL, --trial BLOCK,TRIAL if numbers restart in "
        "each block, or --trial none to keep the order of the rows"
    )
    for sequence, position, count in zip(sequences, doubled[first], times, strict=True):
        row = int(position if rows is None else rows[position])
        number = ", ".join(f"{each:.15g}" for each in np.atleast_1d(trial[position]))
        found = f"trial {number} of {sequence_name(keys[sequence])} a second time"
        allowed = "each trial number once per learner"
        problems.at(row, ", ".join(columns) or None, found, allowed, remedy, int(count) - 1)


def _resets(starts: NDArray[np.int64], segment: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True at the first trial of each sequence, and where the reset key changes."""
    reset = np.zeros(int(starts[-1]), dtype=np.bool_)
    if len(segment):
        reset[1:] = segment[1:] != segment[:-1]
    reset[starts[:-1][np.diff(starts) > 0]] = True
    return reset


def _episode_ends(reset: NDArray[np.bool_], episode: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True before a new start or another episode, and at the very end."""
    end = np.ones(len(reset), dtype=np.bool_)
    end[:-1] = reset[1:] | (episode[1:] != episode[:-1])
    return end
