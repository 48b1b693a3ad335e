"""A Study whose trials lie on disk: parts of it are read when they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.spool import AT_ONCE, Spool, folder
from howlearn.study import Source, Study

PER_TRIAL = ("context", "action", "reward", "scored", "learned", "reset")
IF_KNOWN = ("forgone", "episode_end", "duration")
ROWS = "rows"  # of the input; no such column: every row is a trial, in order


@dataclass(frozen=True)
class StoredSource(Source):
    """Where trials on disk came from."""

    spool: Spool = field(default_factory=Spool)

    def part(self, start: int, stop: int) -> Source:
        """Where trials start to stop came from, in memory."""
        rows = self.spool.read(ROWS, start, stop)
        return Source(self.files, self.file_rows, rows, self.first_rows)


@dataclass(frozen=True, eq=False, repr=False)
class StoredStudy(Study):
    """A study of any size; ``part`` and ``take`` give ordinary studies in memory.

    The arrays are maps of the files: they may be looked at, but what looks at all of them brings
    all of them into memory.
    """

    spool: Spool = field(default_factory=Spool)
    counted: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def n_scored(self) -> NDArray[np.int64]:
        """Scored trials of every sequence, as they were counted on the way to the disk."""
        return self.counted

    def where(self) -> str:
        """A sentence on where the trials are."""
        return (
            f"{self.spool.n_bytes / 1e9:.1f} GB of trials lie in {folder()} until this ends (the "
            "environment variable TMPDIR names another folder)"
        )

    def part(self, start: int, stop: int) -> Study:
        """Sequences start to stop, read into memory."""
        runs = [(int(self.starts[start]), int(self.starts[stop]))]
        return self._read(
            runs,
            learners=self.learners[start:stop],
            starts=self.starts[start : stop + 1] - self.starts[start],
            about=self.about[start:stop],
            excluded=None if self.excluded is None else self.excluded[start:stop],
        )

    def take(self, sequences: NDArray[np.integer]) -> Study:
        """These sequences, in this order, read into memory."""
        lengths = np.diff(self.starts)[sequences]
        known = self.excluded
        return self._read(
            self._runs(sequences),
            learners=tuple(self.learners[i] for i in sequences),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            about=self.about[sequences] if self.about.width else self.about,
            excluded=None if known is None else tuple(known[i] for i in sequences),
        )

    def only(self, wanted: NDArray[np.bool_]) -> Study:
        """The sequences that are marked, whose trials are copied on disk, once."""
        if wanted.all():
            return self
        others, known = np.flatnonzero(wanted), self.excluded
        lengths = np.diff(self.starts)[others]
        if not lengths.any():  # nothing to be kept anywhere
            return self.take(others)
        spool = self.spool.derived(wanted.tobytes(), lambda: self._copied(others))
        return replace(
            self,
            learners=tuple(self.learners[i] for i in others),
            starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            about=self.about[others] if self.about.width else self.about,
            excluded=None if known is None else tuple(known[i] for i in others),
            source=None if self.source is None else source_of(self.source, spool),
            spool=spool,
            counted=self.counted[others],
            **columns_of(spool),
        )

    def _runs(self, sequences: NDArray[np.integer]) -> list[tuple[int, int]]:
        """Where the trials of these sequences lie; those that follow each other are one run."""
        first, last = self.starts[sequences], self.starts[np.asarray(sequences) + 1]
        breaks = np.flatnonzero(first[1:] != last[:-1]) + 1
        begins = first[np.concatenate(([0], breaks))] if len(first) else first
        ends = last[np.concatenate((breaks - 1, [-1]))] if len(first) else last
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def _read(self, runs: list[tuple[int, int]], **changed: Any) -> Study:
        arrays = {
            name: self.spool.gather(name, runs)
            for name in (*PER_TRIAL, *IF_KNOWN)
            if name in self.spool
        }
        same = {each.name: getattr(self, each.name) for each in fields(Study)}
        return Study(**{**same, **arrays, **changed, "source": None})

    def _copied(self, sequences: NDArray[np.integer]) -> Spool:
        """The trials of some sequences in a spool of their own, with their rows."""
        spool = Spool()
        before = np.concatenate(([0], np.cumsum(np.diff(self.starts)[sequences])))
        blocks = np.flatnonzero(np.diff(before // AT_ONCE)) + 1  # where another million begins
        for block in np.split(np.asarray(sequences), blocks[blocks < len(sequences)]):
            runs = self._runs(block)
            spool.append({name: self.spool.gather(name, runs) for name in self.spool.names})
            if ROWS not in self.spool:
                spool.append({ROWS: np.concatenate([np.arange(*run) for run in runs])})
        return spool


def source_of(source: Source, spool: Spool) -> Source:
    """A source that finds the rows of its trials in a spool, if they are there."""
    if ROWS not in spool:
        return source
    rows = spool.view(ROWS)
    return StoredSource(source.files, source.file_rows, rows, source.first_rows, spool)


def columns_of(spool: Spool) -> dict[str, NDArray[Any]]:
    """The arrays of a study as maps of the files."""
    return {name: spool.view(name) for name in (*PER_TRIAL, *IF_KNOWN) if name in spool}
