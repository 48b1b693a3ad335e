"""Simulate learners of every model and fit every candidate, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.calibration.clock import Clock
from howlearn.calibration.contest import Contest, contest_from, contest_of
from howlearn.calibration.design import Design
from howlearn.calibration.recovery import estimates_of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.fitting.fit import check, check_stops, fit
from howlearn.fitting.fits import ALL, Fits, Truncation
from howlearn.fitting.joint import asks_others
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.runs.parts import Part, Progress, Store, Work

GROUP = 500  # learners in a part: little is lost when a run is stopped
CALIBRATION, FRESH = 0, 1  # streams of random numbers: who chooses the constants, who tests them
SPLITS = tuple(round(0.1 * k, 1) for k in range(1, 10))


@dataclass(frozen=True)
class Group:
    """Some learners of one true model, of one stream of random numbers."""

    number: int
    stream: int
    truth: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def groups_of(design: Design, streams: Sequence[int]) -> Iterator[Group]:
    """All learners of a design in groups, always cut in the same way."""
    number = 0
    for stream in streams:
        for truth in range(len(design.truths)):
            for start in range(0, design.learners, GROUP):
                stop = min(start + GROUP, design.learners)
                yield Group(number, stream, truth, start, stop)
                number += 1


def check_splits(splits: Sequence[float]) -> None:
    """Refuse what is not a share of the trials."""
    if len({*splits}) != len(splits) or not all(0 < split < 1 for split in splits):
        raise HowlearnError(
            f"splits are larger than 0 and smaller than 1, each given once, not {list(splits)}"
        )


def check_candidates(
    design: Design, models: Sequence[Model], truncations: Sequence[Truncation] = ()
) -> None:
    """Refuse candidates that cannot be fitted to such learners, before any folder is made."""
    if design.learners < 2 and any(asks_others(model) for model in models):
        raise HowlearnError(
            "source=population takes the strategies' parameters from other learners: simulate at "
            "least two of every model"
        )
    study, _ = design.simulate(0, 0, 0, 1)
    check(study, models)
    check_stops(study, models, truncations)


@dataclass(frozen=True, eq=False)
class Contests:
    """A contest per stream of random numbers; ``label`` keeps several designs apart in a store."""

    design: Design
    models: Sequence[Model]
    splits: Sequence[float]
    streams: Sequence[int]
    label: str = ""
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        check_splits(self.splits)

    @property
    def tables(self) -> tuple[str, str]:
        """The names of the tables in a store."""
        in_files = f"-{self.label}".replace(" ", "-") if self.label else ""
        return f"contest{in_files}", f"estimates{in_files}"

    @property
    def truncations(self) -> tuple[float, ...]:
        """The splits, and all trials."""
        return (*sorted(map(float, self.splits)), ALL)

    @property
    def parts(self) -> list[Part]:
        """The work."""
        return [
            Part(group.number, self.tables, len(group), partial(Work, _contest, self, group))
            for group in groups_of(self.design, self.streams)
        ]

    def found(self, store: Store) -> tuple[dict[int, Contest], pl.DataFrame]:
        """The contests, and the estimates of the first one, once the work is done."""
        contest_table, estimates_table = self.tables
        names = [model.name for model in self.design.truths]
        frame = store.read(contest_table).collect()
        found, wanted = {}, len(names) * self.design.learners
        for stream in self.streams:
            mine = frame.filter(stream=stream)
            candidates = [model.name for model in self.models]
            one = contest_from(mine, names, candidates, self.truncations[:-1])
            found[stream] = replace(one, n_lost=wanted - len(one))
        mine = pl.col("stream") == self.streams[0]
        return found, store.read(estimates_table).filter(mine).collect().drop("stream")


def _contest(
    of: Contests, group: Group, threads: int | None, progress: Progress
) -> dict[str, pl.DataFrame]:
    """Simulate a group of learners and fit every candidate to each of them."""
    names = [model.name for model in of.design.truths]
    label = f", {of.label}" if of.label else ""
    with of.clock(f"simulation{label}"):
        study, theta = of.design.simulate(group.truth, group.stream, group.start, group.stop)
    with of.clock(f"estimation{label}"):
        fits, kept = fit_those_who_can(group, study, of.models, of.truncations, threads, progress)
    true = np.full(len(kept), group.truth, np.int64)
    stream = pl.lit(group.stream, pl.Int64).alias("stream")
    estimates = estimates_of_truth(fits, names[group.truth], theta[kept], group.start + kept)
    frames = (contest_of(fits, names, true).frame(), estimates)
    return {
        table: frame.with_columns(stream) for table, frame in zip(of.tables, frames, strict=True)
    }


def fit_those_who_can(
    group: Group,
    study: Study,
    models: Sequence[Model],
    truncations: Sequence[Truncation],
    threads: int | None,
    progress: Progress | None = None,
) -> tuple[Fits, NDArray[np.int64]]:
    """The fits of simulated learners without those who cannot be fitted; and who the others are.

    One of them should not end a night of computing: they are left out, and counted at the end.
    """
    guard = Guard(shortest=1)
    fits = fit(study, models, truncations, threads, progress, guard=guard)
    if not len(fits.study) and group.start == 0:  # nobody yet of this true model
        guard.end()
    return fits, np.arange(len(study)) if guard.kept is None else guard.kept


def left_out(n_lost: int, n_found: int) -> tuple[str, ...]:
    """What to say of simulated learners who could not be fitted.

    >>> left_out(0, 600), left_out(2, 598)[0][:40]
    ((), '2 of 600 simulated learners could not be')
    """
    return (
        f"{n_lost:,} of {n_lost + n_found:,} simulated learners could not be fitted, and are left "
        "out of all numbers",
    )[: int(n_lost > 0)]


def estimates_of_truth(
    fits: Fits, model: str, theta: np.ndarray, first: int | NDArray[np.int64]
) -> pl.DataFrame:
    """Of the true model; empty if it is not a candidate."""
    if model in fits.of:
        return estimates_of(fits, model, theta, first)
    any_model = next(iter(fits.of))
    nobody = np.zeros_like(fits.of[any_model].theta[:, 0])
    return estimates_of(fits, any_model, nobody).clear()
