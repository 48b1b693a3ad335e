"""Candidates fitted to simulated learners, part by part: all that errors and recovery need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

import numpy as np
import polars as pl

from howlearn.analyses.designs import Design
from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.engine.layout import Statuses
from howlearn.fitting.fit import check, check_stops, guarded_fit
from howlearn.fitting.fits import ALL, Fits, Truncation
from howlearn.fitting.unfittable import Guard
from howlearn.models.model import Model
from howlearn.runs.parts import Part, Progress, Store, Work
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import winners

# The candidates' likelihoods for learners whose true model is known: all that errors need.

NO_BLOCKS = (
    "simulated learners are not fitted block by block, so prequential cannot be judged before "
    "the experiment; holdout, or prequential with blocks=1, can"
)


@dataclass(frozen=True, eq=False)
class Contest:
    """Candidates fitted to simulated learners; the axes are learner, (split), model."""

    truths: tuple[str, ...]
    models: tuple[str, ...]
    splits: tuple[float, ...]
    true: Ints  # of each learner: which of the truths made it
    n_scored: Ints
    n_parameters: Ints
    all_trials: Floats  # log-likelihoods at the estimates from all trials
    later_trials: Floats  # of the trials after each split, at the estimates from those before
    trained: Ints  # trials before each split: [learner, split]
    n_lost: int = 0  # learners who could not be fitted, and are not among these

    def __len__(self) -> int:
        return len(self.true)

    def log_likelihood(self, truncation: Truncation) -> Floats:
        if truncation != ALL:
            raise HowlearnError(f"the likelihood of the first {truncation!r} was not kept")
        return self.all_trials

    def n_parameters_at(self, truncation: Truncation) -> Ints:
        if truncation != ALL:
            raise HowlearnError(f"the likelihood of the first {truncation!r} was not kept")
        return self.n_parameters

    def rest(self, truncation: Truncation) -> Floats:
        return self.later_trials[:, self._at(truncation)]

    def between(self, truncation: Truncation, following: Truncation) -> Floats:
        if following != ALL:
            raise HowlearnError(NO_BLOCKS)
        return self.rest(truncation)

    def n_fitted(self, truncation: Truncation) -> Ints:
        return self.n_scored if truncation == ALL else self.trained[:, self._at(truncation)]

    def _at(self, truncation: Truncation) -> int:
        if not isinstance(truncation, float) or truncation not in self.splits:
            raise HowlearnError(
                f"nothing was fitted at split {truncation!r}; there are "
                f"{', '.join(f'{split:g}' for split in self.splits)}"
            )
        return self.splits.index(truncation)

    def selected(self, criterion: Criterion) -> Ints:
        """The model that a criterion selects for each learner."""
        return winners(criterion.scores(self).score, self.n_parameters, criterion.tie)

    @property
    def own(self) -> Ints:
        """Of each learner: the true model among the candidates, −1 if it is none of them."""
        places = [self.models.index(t) if t in self.models else -1 for t in self.truths]
        return np.array(places)[self.true]


def contest_frame(fits: Fits, true: Ints) -> pl.DataFrame:
    """What is kept of fits at ``ALL`` and at splits: one row per learner, of that true model."""
    columns = {
        "true": true,
        "n_scored": fits.n_scored,
        "n_parameters": fits.n_parameters,
        "all_trials": fits.log_likelihood(ALL),
    }
    if splits := _splits(fits):
        later = np.stack([fits.rest(split) for split in splits], axis=1)
        columns["later_trials"] = later.reshape(len(true), -1)
        columns["trained"] = np.stack([fits.n_fitted(split) for split in splits], axis=1)
    return pl.DataFrame(columns)


def contest_from(
    frame: pl.DataFrame, truths: Sequence[str], models: Sequence[str], splits: Sequence[float]
) -> Contest:
    """A contest from the rows of ``contest_frame``."""
    n = len(frame)
    later, trained = np.empty((n, 0, len(models))), np.empty((n, 0), np.int64)
    if splits:
        later = frame["later_trials"].to_numpy().reshape(n, len(splits), len(models))
        trained = frame["trained"].to_numpy()
    names = tuple(truths), tuple(models), tuple(splits)
    kept = ("true", "n_scored", "n_parameters", "all_trials")
    true, n_scored, n_parameters, likelihood = (frame[name].to_numpy() for name in kept)
    return Contest(*names, true, n_scored, n_parameters, likelihood, later, trained)


def contest_of(fits: Fits, truths: Sequence[str], true: Ints) -> Contest:
    """The contest of these fits."""
    return contest_from(contest_frame(fits, true), truths, [*fits.of], _splits(fits))


def _splits(fits: Fits) -> list[float]:
    return [t for t in fits.truncations if isinstance(t, float) and t != ALL]


# Where the time of a run goes.


class Clock:
    """Seconds by the name of what took them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        start = perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + perf_counter() - start


# Parameter recovery: how far estimates lie from the truth, per cell and number of trials.


def estimates_of(fits: Fits, model: str, theta: Floats, first: int | Ints = 0) -> pl.DataFrame:
    """The true model's estimates beside the truth, one row per learner, split and parameter.

    Learners are numbered from ``first`` on, or have these numbers.
    """
    part = fits.of[model]
    shares = [j for j, t in enumerate(fits.truncations) if isinstance(t, float)]
    found, status, sizes = part.theta[:, shares], part.status[:, shares], fits.sizes[:, shares]
    n_learners, n_splits, n_parameters = found.shape
    rows = n_learners * n_splits
    numbers = np.arange(n_learners) + first if isinstance(first, int) else first

    def tiled(values: tuple[str, ...]) -> pl.Series:
        return pl.Series(values, dtype=pl.String).gather(np.tile(np.arange(n_parameters), rows))

    splits = np.array([t for t in fits.truncations if isinstance(t, float)])
    return pl.DataFrame(
        {
            "true_model": [model] * (rows * n_parameters),
            "learner": np.repeat(numbers, n_splits * n_parameters),
            "cell": tiled(part.cells),
            "parameter": tiled(part.parameters),
            "split": np.repeat(np.tile(splits, n_learners), n_parameters),
            "trials_fitted": np.repeat(sizes.reshape(-1), n_parameters),
            "true_value": np.repeat(theta[:, None], n_splits, axis=1).reshape(-1),
            "estimate": found.reshape(-1),
            "status": status.reshape(-1),
        },
        schema_overrides={"true_model": pl.String},
    ).filter(pl.col("status") != int(Statuses.UNSEEN))


KEYS = ["true_model", "cell", "parameter", "split"]


def recovery(estimates: pl.DataFrame) -> pl.DataFrame:
    """Relative errors |estimate − truth| / truth: median, quartiles, mean and its standard error.

    Where the truth is 0 there is no relative error; such learners are not counted in it.
    """
    groups = estimates.partition_by(KEYS, maintain_order=True, as_dict=True)
    rows = [dict(zip(KEYS, key, strict=True)) | _row(group) for key, group in groups.items()]
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(group: pl.DataFrame) -> dict[str, float | None]:
    truth, estimate = group["true_value"].to_numpy(), group["estimate"].to_numpy()
    some = truth > 0
    error = np.abs(estimate[some] - truth[some]) / truth[some]
    lower, median, upper = np.quantile(error, [0.25, 0.5, 0.75]) if some.any() else [None] * 3
    bound = np.isin(group["status"].to_numpy(), [int(Statuses.AT_LOWER), int(Statuses.AT_UPPER)])
    return {
        "trials_fitted": float(np.median(group["trials_fitted"].to_numpy())),
        "learners": int(some.sum()),  # who have a relative error
        "true_value": float(truth.mean()),
        "median_estimate": float(np.median(estimate)),
        "relative_error": median,
        "lower_quartile": lower,
        "upper_quartile": upper,
        "mean_relative_error": float(error.mean()) if some.any() else None,
        "standard_error": float(error.std(ddof=1) / len(error) ** 0.5) if len(error) > 1 else None,
        "at_bound": float(bound.mean()),
    }


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
        raise HowlearnError(f"splits must lie between 0 and 1, each given once, got {list(splits)}")


def check_candidates(
    design: Design, models: Sequence[Model], truncations: Sequence[Truncation] = ()
) -> None:
    """Refuse candidates that cannot be fitted to such learners, before any folder is made."""
    if design.learners < 2 and any(model.asks_others for model in models):
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
    label = f", {of.label}" if of.label else ""
    fits, numbers, estimates = fitted_group(
        of.design, group, of.models, of.truncations, threads, progress, of.clock, label
    )
    true = np.full(len(numbers), group.truth, np.int64)
    stream = pl.lit(group.stream, pl.Int64).alias("stream")
    frames = (contest_frame(fits, true), estimates)
    return {
        table: frame.with_columns(stream) for table, frame in zip(of.tables, frames, strict=True)
    }


def fitted_group(
    design: Design,
    group: Group,
    models: Sequence[Model],
    truncations: Sequence[Truncation],
    threads: int | None,
    progress: Progress,
    clock: Clock | None = None,
    label: str = "",
) -> tuple[Fits, Ints, pl.DataFrame]:
    """Simulate learners and fit every candidate: the fits, who they are, the truth's estimates.

    One who cannot be fitted should not end a night of computing: such learners are left out, and
    counted at the end.
    """
    clock, guard = clock or Clock(), Guard(shortest=1)
    with clock(f"simulation{label}"):
        study, theta = design.simulate(group.truth, group.stream, group.start, group.stop)
    with clock(f"estimation{label}"):
        fits = guarded_fit(guard, study, models, truncations, threads, progress)
    if not len(fits.study) and group.start == 0:  # nobody yet of this true model
        guard.end()
    kept = np.arange(len(study)) if guard.kept is None else guard.kept
    numbers = group.start + kept
    truth = design.truths[group.truth].name
    return fits, numbers, estimates_of_truth(fits, truth, theta[kept], numbers)


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
    fits: Fits, model: str, theta: np.ndarray, first: int | Ints
) -> pl.DataFrame:
    """Of the true model; empty if it is not a candidate."""
    if model in fits.of:
        return estimates_of(fits, model, theta, first)
    any_model = next(iter(fits.of))
    nobody = np.zeros_like(fits.of[any_model].theta[:, 0])
    return estimates_of(fits, any_model, nobody).clear()
