"""The numerical study on one set of learners: the archive's, or simulated ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howlearn.analyses.contests import Clock, Contest, Contests, contest_of, estimates_of
from howlearn.analyses.designs import TaskDesign
from howlearn.analyses.error_rates import ErrorCurve, confusion_table, curve
from howlearn.core.arrays import Bools, Floats
from howlearn.core.errors import HowlearnError
from howlearn.core.study import joined
from howlearn.engine.layout import Statuses
from howlearn.fitting.fit import fit
from howlearn.fitting.fits import ALL, Fits
from howlearn.models.task import Task
from howlearn.paper import published
from howlearn.paper.archive import Archive
from howlearn.runs.parts import Store
from howlearn.selection.criteria import AIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion

# R's ``loess`` in one dimension, with R's interpolation: the smoother behind Figure 2c.


CELL = 0.2  # R's default: a cell of the tree holds at most this share of a neighbourhood
MARGIN = 0.005  # of the range of x, on both sides of the data


def loess(x: ArrayLike, y: ArrayLike, span: float = 0.75, degree: int = 2) -> Floats:
    """The fitted values at x: ``predict(loess(y ~ x, span = span, degree = degree))`` of R.

    Local polynomials with tricube weights are fitted at the vertices of a tree of cells, and a
    cubic with the fitted values and slopes joins them (R's surface = "interpolate"). ``y`` may
    hold several curves as columns.

    >>> x = np.arange(1, 101)
    >>> bool(np.allclose(loess(x, x**2), x**2))
    True

    Cleveland & Grosse (1991), Computational methods for local regression.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    _check(x, y, span, degree)
    order = np.argsort(x, kind="stable")
    at = _vertices(x[order], math.floor(len(x) * span * CELL))
    columns = y.reshape(len(x), -1)
    value, slope = _local_fits(x, columns, at, span, degree)
    return _blend(x, at, value, slope).reshape(y.shape)


def _check(x: Floats, y: Floats, span: float, degree: int) -> None:
    if x.ndim != 1 or y.ndim not in (1, 2) or len(y) != len(x):
        raise HowlearnError(f"loess: x has shape {x.shape} and y {y.shape}; one y per x is needed")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise HowlearnError("loess: x and y must be finite numbers")
    if degree not in (0, 1, 2):
        raise HowlearnError(f"loess: degree {degree} is not 0, 1 or 2")
    if (different := len(np.unique(x))) <= degree:
        raise HowlearnError(f"loess: {degree + 1} different x are needed, {different} found")
    if _neighbours(len(x), span) <= degree:
        raise HowlearnError(
            f"loess: span {span} of {len(x)} points leaves too few for degree {degree}"
        )


def _neighbours(n: int, span: float) -> int:
    return min(n, math.floor(n * span + 1e-5))


def _vertices(x: Floats, most: int) -> Floats:
    """Where cells meet: halved at the median until at most ``most`` points are in each."""
    low, high = x[0], x[-1]
    margin = MARGIN * max(high - low, 1e-10 * max(abs(low), abs(high)) + 1e-30)
    cuts = {low - margin, high + margin}
    pending = [(0, len(x), low - margin, high + margin)]  # points start:stop, and the cell's ends
    while pending:
        start, stop, left, right = pending.pop()
        if stop - start <= most:
            continue
        middle = _untied(x, start, stop)
        cut = x[middle]
        if cut in (left, right):
            continue
        cuts.add(cut)
        pending += [(start, middle + 1, left, cut), (middle + 1, stop, cut, right)]
    return np.array(sorted(cuts))


def _untied(x: Floats, start: int, stop: int) -> int:
    """The last point of the lower half, moved to the nearest place where x changes."""
    middle = (start + stop + 1) // 2 - 1
    for step in range(stop - start):
        for place in (middle + step, middle - step):
            if not start <= place < stop - 1:
                return middle
            if x[place] != x[place + 1]:
                return place
    return middle


def _local_fits(
    x: Floats, y: Floats, at: Floats, span: float, degree: int
) -> tuple[Floats, Floats]:
    """Value and slope of the weighted polynomial around every vertex."""
    distance = np.abs(x - at[:, None])
    nearest = np.partition(distance, _neighbours(len(x), span) - 1, axis=1)
    width = nearest[:, [_neighbours(len(x), span) - 1]] * math.sqrt(
        max(1.0, span)
    )  # R scales squares
    if (width == 0).any():
        raise HowlearnError(f"loess: with span {span} all neighbours of a point have the same x")
    inside = distance < width
    weight = np.where(inside, 1 - np.minimum(distance / width, 1) ** 3, 0) ** 1.5  # square root
    powers = (x - at[:, None])[:, :, None] ** np.arange(degree + 1)
    design = weight[:, :, None] * powers
    # Columns of one length, as in R: with ties in x the fit of least norm depends on it.
    size = np.sqrt((design**2).sum(axis=1, keepdims=True))
    size[size == 0] = 1.0
    inverse = np.linalg.pinv(design / size, rcond=100 * np.finfo(float).eps)
    fitted = inverse @ (weight[:, :, None] * y) / size.swapaxes(1, 2)
    slope = fitted[:, 1] if degree else np.zeros_like(fitted[:, 0])
    return fitted[:, 0], slope


def _blend(x: Floats, at: Floats, value: Floats, slope: Floats) -> Floats:
    """The cubic through values and slopes at both ends of each point's cell."""
    left = np.clip(np.searchsorted(at, x) - 1, 0, len(at) - 2)
    width = (at[left + 1] - at[left])[:, None]
    h = (x - at[left])[:, None] / width
    ends = (1 - h) ** 2 * (1 + 2 * h) * value[left] + h**2 * (3 - 2 * h) * value[left + 1]
    slopes = h * (1 - h) ** 2 * slope[left] - h**2 * (1 - h) * slope[left + 1]
    return ends + slopes * width


SPLITS = tuple(n / published.TRIALS for n in published.HORIZONS)
RECOVERED = ("OneForAll", "OnePerItem")  # the two models of Figure 2a


@dataclass(frozen=True, eq=False)
class Version:
    """Everything that the figures need of one set of learners."""

    contest: Contest
    holdout: ErrorCurve
    penalized: ErrorCurve
    relative_errors: pl.DataFrame  # one row per learner: model, trials_fitted, relative_error
    fits: Fits | None = None  # of the archive's learners, to be held against the stored ones

    def fitted(self, n: int) -> Floats:
        """Log-likelihoods of the first n trials, at the estimates from them: [learner, model]."""
        assert self.fits is not None
        return self.fits.log_likelihood(n / published.TRIALS)

    def undetermined(self, n: int) -> Bools:
        """Whether the first n trials leave some rate of a model open: [learner, model]."""
        assert self.fits is not None
        j = self.fits.at(n / published.TRIALS)
        parts = [part.status[:, j] >= Statuses.FLAT for part in self.fits.of.values()]
        return np.stack([part.any(axis=1) for part in parts], axis=1)

    @cached_property
    def smooth(self) -> Floats:
        """The error curves of the penalised criterion as the authors smoothed them."""
        index = np.arange(1.0, len(self.penalized.settings) + 1)
        return np.asarray(loess(index, self.penalized.error.T)).T

    def matrix(self, criterion: Criterion) -> pl.DataFrame:
        """Which models are selected for the learners of each."""
        return confusion_table(self.contest, criterion)

    def boxes(self) -> pl.DataFrame:
        """Figure 2a: quartiles over the learners, and whiskers as R draws them."""
        rows = []
        groups = self.relative_errors.partition_by("model", "trials_fitted", maintain_order=True)
        for group in groups:
            error = group["relative_error"].to_numpy()
            low, middle, high = np.quantile(error, [0.25, 0.5, 0.75])
            reach = 1.5 * (high - low)
            inside = error[(error >= low - reach) & (error <= high + reach)]
            rows.append(
                (group["model"][0], group["trials_fitted"][0], inside.min(), low, middle, high,
                 inside.max())
            )  # fmt: skip
        names = "model trials_fitted lower lower_quartile median upper_quartile upper".split()
        return pl.DataFrame(rows, schema=names, orient="row")


def design(learners: int, seed: int, as_published: bool = False) -> TaskDesign:
    """The paper's synthetic learners."""
    task = Task.load("five-four")
    truths = tuple(task.model(name) for name in published.MODELS)
    parameters = {"": {"eta": published.RATE}, "OnePerItem": {"eta": published.RAMP}}
    return TaskDesign(task, truths, parameters, learners, published.TRIALS, seed, as_published)


def contests(of: TaskDesign, label: str, clock: Clock) -> Contests:
    """The study on simulated learners, still to be done."""
    return Contests(of, of.task.models, SPLITS, (0,), label, clock)


def simulated(of: Contests, store: Store) -> Version:
    """The study on simulated learners, once it is done."""
    found, estimates = of.found(store)
    with of.clock("selections and errors"):
        return _version(found[0], estimates)


def from_archive(archive: Archive, clock: Clock, threads: int | None = None) -> Version:
    """The study on the learners of the authors' archive, rewards as recorded."""
    paper = design(2, 0)
    study = joined([(name, archive.learners[name]) for name in published.MODELS], "true_model")
    true = np.repeat(
        np.arange(len(published.MODELS)), [len(archive.learners[name]) for name in published.MODELS]
    )
    with clock("estimation, archive"):
        fits = fit(study, paper.task.models, [*SPLITS, ALL], threads)
    with clock("selections and errors"):
        frames = []
        for k, name in enumerate(published.MODELS):
            mine = np.flatnonzero(true == k)
            values = np.array([float(v) for v in paper.values(k)])  # pyright: ignore[reportArgumentType]
            own = fits.part(int(mine[0]), int(mine[-1]) + 1)
            frames.append(estimates_of(own, name, np.tile(values, (len(mine), 1))))
        version = _version(contest_of(fits, published.MODELS, true), pl.concat(frames))
        return replace(version, fits=fits)


def _version(contest: Contest, estimates: pl.DataFrame) -> Version:
    return Version(
        contest,
        curve(contest, [HoldOut(split) for split in SPLITS]),
        curve(contest, [Penalized(c) for c in published.CONSTANTS]),
        _relative_errors(estimates.filter(pl.col("true_model").is_in(RECOVERED))),
    )


def _relative_errors(estimates: pl.DataFrame) -> pl.DataFrame:
    """The mean over cells of |η̂ − η| / η, for every learner and truncation."""
    error = (pl.col("estimate") - pl.col("true_value")).abs() / pl.col("true_value")
    return (
        estimates.with_columns(error.alias("relative_error"))
        .group_by("true_model", "trials_fitted", "learner", maintain_order=True)
        .agg(pl.col("relative_error").mean())
        .rename({"true_model": "model"})
        .sort("model", "trials_fitted", "learner")
    )


def values(version: Version) -> dict[published.Key, float]:
    """Every number of the figures, by what it is of."""
    found: dict[published.Key, float] = {}
    for row in version.boxes().iter_rows(named=True):
        key = published.Key("2a", published.RELATIVE, f"N={row['trials_fitted']}", row["model"])
        found[key] = row["median"]
    found |= _curve_values("2b", version.holdout, [f"N={n}" for n in published.HORIZONS])
    found |= _best_values("2b", version.holdout.error, published.HORIZONS)
    constants = [f"c={c:g}" for c in published.CONSTANTS]
    found |= _curve_values("2c", version.penalized, constants)
    found |= _best_values("2c", version.penalized.error, published.CONSTANTS)
    smooth = version.smooth
    for k, model in enumerate(version.contest.truths):
        for setting, value in zip(constants, smooth[k], strict=True):
            found[published.Key("2c", published.ERROR + published.SMOOTH, setting, model)] = float(
                value
            )
    for setting, value in zip(constants, smooth.mean(axis=0), strict=True):
        found[published.Key("2c", published.MEAN_ERROR + published.SMOOTH, setting)] = float(value)
    found |= _best_values("2c", smooth, published.CONSTANTS, published.SMOOTH)
    raw_best = published.CONSTANTS[int(np.argmin(version.penalized.error.mean(axis=0)))]
    for figure, setting, criterion in (
        ("3a", f"N={published.CHOSEN_N}", HoldOut(published.CHOSEN_N / published.TRIALS)),
        ("3b", f"c={published.CHOSEN_C}", Penalized(published.CHOSEN_C)),
        ("appendix", f"c={published.AVERAGE_C}", Penalized(published.AVERAGE_C)),
        ("appendix", "aic", AIC()),
        ("appendix", "c with the smallest mean error", Penalized(raw_best)),
    ):
        for row in version.matrix(criterion).iter_rows(named=True):
            key = published.Key(
                figure, published.SELECTED, setting, row["true_model"], row["selected_model"]
            )
            found[key] = row["share"]
    return found


def _curve_values(figure: str, of: ErrorCurve, settings: list[str]) -> dict[published.Key, float]:
    found: dict[published.Key, float] = {}
    for j, setting in enumerate(settings):
        for k, model in enumerate(of.truths):
            found[published.Key(figure, published.ERROR, setting, model)] = float(of.error[k, j])
        found[published.Key(figure, published.MEAN_ERROR, setting)] = float(of.error[:, j].mean())
    return found


def _best_values(
    figure: str, error: Floats, settings: tuple[float, ...], how: str = ""
) -> dict[published.Key, float]:
    """The first of the settings with the smallest error, as the authors take it."""
    return {
        published.Key(figure, published.WHERE_MAX + how): float(
            settings[int(np.argmin(error.max(axis=0)))]
        ),
        published.Key(figure, published.WHERE_MEAN + how): float(
            settings[int(np.argmin(error.mean(axis=0)))]
        ),
    }
