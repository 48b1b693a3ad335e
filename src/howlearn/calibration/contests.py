"""Simulate learners of every model and fit every candidate, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.calibration.clock import Clock
from howlearn.calibration.contest import Contest, contest_from, contest_of
from howlearn.calibration.design import Design
from howlearn.calibration.recovery import estimates_of
from howlearn.errors import HowlearnError
from howlearn.fitting import Fits, fit
from howlearn.fitting.guard import Guard
from howlearn.fitting.population import asks_others
from howlearn.fitting.run import check, check_stops
from howlearn.fitting.truncation import ALL, Truncation
from howlearn.model import Model
from howlearn.study import Study

PART = 500  # learners in a part: little is lost when a run is stopped
CALIBRATION, FRESH = 0, 1  # streams of random numbers: who chooses the constants, who tests them
SPLITS = tuple(round(0.1 * k, 1) for k in range(1, 10))

Progress = Callable[[int, int], None]  # learners done, learners in all


class Store(Protocol):
    """Where finished parts are kept."""

    def has(self, tables: list[str], number: int) -> bool: ...

    def write(self, number: int, tables: Mapping[str, pl.DataFrame]) -> None: ...

    def read(self, table: str) -> pl.LazyFrame: ...


class Memory:
    """Parts that nobody keeps after the run."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[int, pl.DataFrame]] = {}

    def has(self, tables: list[str], number: int) -> bool:
        return all(number in self.tables.get(table, {}) for table in tables)

    def write(self, number: int, tables: Mapping[str, pl.DataFrame]) -> None:
        for name, frame in tables.items():
            self.tables.setdefault(name, {})[number] = frame

    def read(self, table: str) -> pl.LazyFrame:
        parts = self.tables[table]
        return pl.concat([parts[number] for number in sorted(parts)]).lazy()


@dataclass(frozen=True)
class Part:
    """Some learners of one true model, of one stream of random numbers."""

    number: int
    stream: int
    truth: int
    start: int
    stop: int


def parts_of(design: Design, streams: Sequence[int]) -> Iterator[Part]:
    """All learners of a design in parts, always cut in the same way."""
    number = 0
    for stream in streams:
        for truth in range(len(design.truths)):
            for start in range(0, design.learners, PART):
                stop = min(start + PART, design.learners)
                yield Part(number, stream, truth, start, stop)
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


def contests(
    design: Design,
    models: Sequence[Model],
    splits: Sequence[float],
    streams: Sequence[int],
    store: Store,
    threads: int | None = None,
    progress: Progress | None = None,
    label: str = "",
    clock: Clock | None = None,
) -> tuple[dict[int, Contest], pl.DataFrame]:
    """A contest per stream, and the estimates of the first one; finished parts are not repeated.

    ``label`` keeps the parts of several designs apart in one store.
    """
    check_splits(splits)
    truncations = [*sorted(map(float, splits)), ALL]
    names = [model.name for model in design.truths]
    total = len(streams) * len(design.truths) * design.learners
    done = 0
    clock, of = clock or Clock(), f", {label}" if label else ""
    in_files = f"-{label}".replace(" ", "-") if label else ""
    contest_table, estimates_table = f"contest{in_files}", f"estimates{in_files}"
    for part in parts_of(design, streams):
        if not store.has([contest_table, estimates_table], part.number):
            with clock(f"simulation{of}"):
                study, theta = design.simulate(part.truth, part.stream, part.start, part.stop)
            with clock(f"estimation{of}"):
                fits, kept = fit_those_who_can(part, study, models, truncations, threads)
            true = np.full(len(kept), part.truth, np.int64)
            stream = pl.lit(part.stream, pl.Int64).alias("stream")
            contest = contest_of(fits, names, true).frame().with_columns(stream)
            estimates = estimates_of_truth(
                fits, names[part.truth], theta[kept], part.start + kept
            ).with_columns(stream)
            store.write(part.number, {contest_table: contest, estimates_table: estimates})
        done += part.stop - part.start
        if progress:
            progress(done, total)
    frame = store.read(contest_table).collect()
    found, wanted = {}, len(names) * design.learners
    for stream in streams:
        mine = frame.filter(stream=stream)
        one = contest_from(mine, names, [m.name for m in models], truncations[:-1])
        found[stream] = replace(one, n_lost=wanted - len(one))
    estimates = store.read(estimates_table).filter(pl.col("stream") == streams[0]).collect()
    return found, estimates.drop("stream")


def fit_those_who_can(
    part: Part,
    study: Study,
    models: Sequence[Model],
    truncations: Sequence[Truncation],
    threads: int | None,
) -> tuple[Fits, NDArray[np.int64]]:
    """The fits of simulated learners without those who cannot be fitted; and who the others are.

    One of them should not end a night of computing: they are left out, and counted at the end.
    """
    guard = Guard(shortest=1)
    fits = fit(study, models, truncations, threads, guard=guard)
    if not len(fits.study) and part.start == 0:  # nobody yet of this true model
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
