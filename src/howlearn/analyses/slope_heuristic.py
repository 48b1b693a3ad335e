"""The slope heuristic: the price per parameter from the fits of the complex models."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from howlearn.analyses.contests import Contest
from howlearn.analyses.dimension_jump import (
    SAFETY,
    Found,
    LossCurve,
    curve_of,
    dimension_jump,
    not_falling,
    pooled_jump,
    too_few,
)
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.fitting.fits import ALL, Fits

TUNING = 4.685  # 95% efficiency for normal errors
MAD = 0.6745  # median |error| / standard deviation, for normal errors
ITERATIONS = 20  # as rlm of R's MASS, which capushe uses
CONVERGED = 1e-4  # relative change of the residuals, as rlm
ROUNDING = 1e-12  # part of the range: residuals below it are noise of the arithmetic


class Line(NamedTuple):
    slope: float
    r_squared: float  # weighted as the line is


def bisquare_line(x: Floats, y: Floats) -> Line:
    """Tukey's bisquare by reweighting: w = (1 − (r / 4.685σ)²)², σ = median|r| / 0.6745.

    Starts from least squares, and stays with it where the weights leave no line.

    Reference: Venables & Ripley (2002), Modern Applied Statistics with S, section 6.5 (rlm).

    >>> x = np.arange(10.0)
    >>> y = 2 * x
    >>> y[4] = 50
    >>> round(bisquare_line(x, y).slope, 6)
    2.0
    """
    x, y = x - x.mean(), y - y.mean()  # a line through a far-off cloud would lose digits
    weights = np.ones_like(x)
    slope, residuals = _weighted(x, y, weights)
    for _ in range(ITERATIONS):
        scale = np.median(np.abs(residuals)) / MAD
        if scale <= ROUNDING * np.ptp(y):
            break
        trial = np.clip(1 - (residuals / (TUNING * scale)) ** 2, 0, None) ** 2
        if len(np.unique(x[trial > 0])) < 2:
            weights = np.ones_like(x)
            slope, residuals = _weighted(x, y, weights)
            break
        weights, before = trial, residuals
        slope, residuals = _weighted(x, y, weights)
        if np.linalg.norm(residuals - before) <= CONVERGED * np.linalg.norm(before):
            break
    total = np.sum(weights * (y - np.average(y, weights=weights)) ** 2)
    left = np.sum(weights * residuals**2)
    return Line(slope, float(1 - left / total) if total > 0 else 0.0)


def _weighted(x: Floats, y: Floats, weights: Floats) -> tuple[float, Floats]:
    dx, dy = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    slope = float(np.sum(weights * dx * dy) / np.sum(weights * dx**2))
    return slope, dy - slope * dx


# Data-driven slope estimation: the price per parameter from the fits of the complex models.

PLATEAU = 0.15  # of all regressions must select the same model: capushe's default
POINTS = 5  # of the regression: through fewer almost anything looks straight
R_SQUARED = 0.9  # of the regression: below it the more complex models do not lie on a line
BEND = 3.0  # standard errors: a smooth bend has R² near 1, but its gains shrink beyond chance
STRAIGHT = 0.1  # of the slope: a smaller change of it along the points is not a bend, however sure


class Slopes(NamedTuple):
    """Regressions over fewer and fewer points, and where their answers settle."""

    lines: list[Line]  # over the P, P − 1, …, 2 largest shapes
    models: Ints  # that twice the slope selects
    plateau: tuple[int, int] | None  # lines[start:stop] select one model

    @property
    def middle(self) -> int | None:
        return None if self.plateau is None else sum(self.plateau) // 2


def slopes_of(best: LossCurve) -> Slopes:
    """Robust regressions over the P, P − 1, …, 2 largest shapes."""
    lines = [bisquare_line(best.shape[p:], -best.contrast[p:]) for p in range(len(best.shape) - 1)]
    places = [best.selected(SAFETY * line.slope) for line in lines]
    models = best.index[np.array(places, np.int64)]
    return Slopes(lines, models, _last_plateau(models))


def slope_heuristic(shape: Floats, complexity: Floats, contrast: Floats) -> Found:
    """κ̂ = the slope of −γ_m in s_m over the complex models; κ = 2κ̂.

    As ``DDSE`` in capushe: of each shape the best model; robust regressions over the P, P − 1,
    …, 2 largest shapes; from the fewest points back, the first run of at least 15% of them that
    selects one model argmin γ_m + 2κ̂·s_m; the slope is that of the middle of the run. Where the
    complex models do not lie on a rising line there is no constant, and ``reason`` says why.

    References: Baudry, Maugis & Michel (2012), Statistics and Computing 22; Arlot (2019),
    Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1.0, 16)
    >>> gamma = 3 - 0.01 * d + np.maximum(4 - d, 0)  # from D = 4 on, 0.01 per parameter
    >>> found = slope_heuristic(d, d, gamma)
    >>> found.selected, round(found.kappa, 6)
    (3, 0.02)
    """
    curve = curve_of(shape, complexity, contrast)
    best = curve.best()
    slopes = slopes_of(best)
    middle = slopes.middle
    objections = _objections(curve, best, slopes)
    if middle is None or objections:
        return Found(" ".join(objections))
    slope, r_squared = slopes.lines[middle]
    reason = (
        f"Over the {len(best.shape) - middle} most complex candidates the fit improves steadily by "
        f"{slope:.4g} per unit of penalty (R² = {r_squared:.3f}); the constant is twice that."
    )
    return Found(reason, SAFETY * slope, int(slopes.models[middle]))


def _last_plateau(models: Ints) -> tuple[int, int] | None:
    """The last run of equal models that is at least PLATEAU of all: (start, stop).

    >>> _last_plateau(np.array([1, 1, 1, 2, 2, 2, 3]))
    (3, 6)
    """
    edges = [0, *(np.flatnonzero(np.diff(models)) + 1).tolist(), len(models)]
    runs = [(a, b) for a, b in pairwise(edges) if b > a]
    long = [run for run in runs if run[1] - run[0] >= PLATEAU * len(models)]
    return long[-1] if long else None


def _bends(x: Floats, y: Floats) -> bool:
    """Whether the gains per unit of x drift along x, by more than chance and by enough to matter.

    >>> x = np.arange(10, 21.0)
    >>> _bends(x, np.sqrt(x)), _bends(x, 2 * x)
    (True, False)
    """
    gains = np.diff(y) / np.diff(x)
    if len(gains) < POINTS - 1:
        return False  # too few points for a line in any case
    # Steps, not heights: heights pile up the noise of the steps, and would bend by chance.
    at = (x[1:] + x[:-1]) / 2
    at, level = at - at.mean(), gains.mean()
    drift = np.sum(at * gains) / np.sum(at**2)
    left = gains - level - drift * at
    error = np.sqrt(np.sum(left**2) / (len(gains) - 2) / np.sum(at**2))
    return bool(abs(drift) > BEND * error and abs(drift) * np.ptp(at) > STRAIGHT * abs(level))


def _objections(curve: LossCurve, best: LossCurve, slopes: Slopes) -> list[str]:
    """A sentence for everything that forbids to trust the slope."""
    found = [too_few(curve.complexity, len(curve.index)), not_falling(curve)]
    middle = slopes.middle
    slope, r_squared = (0.0, 0.0) if middle is None else slopes.lines[middle]
    points = 0 if middle is None else len(best.shape) - middle
    if middle is None:
        found.append(
            f"No model is selected by {PLATEAU:z.0%} of the regressions in a row, so the slope "
            "does not settle."
        )
    elif slope <= 0:
        found.append(
            "The fit gets worse, not better, with the complexity of the more complex models, so "
            "there is no slope."
        )
    elif points < POINTS:
        found.append(
            f"The slope settles only on the {points} most complex models, and a line needs at "
            f"least {POINTS}."
        )
    elif r_squared < R_SQUARED:
        found.append(
            f"The fits of the {points} most complex models do not lie on a line "
            f"(R² = {r_squared:.2f}, where {R_SQUARED:g} is needed)."
        )
    elif _bends(best.shape[middle:], -best.contrast[middle:]):
        found.append(
            f"The fits of the {points} most complex models lie on a bend, not on a line: what a "
            "further parameter gains keeps changing."
        )
    return [sentence for sentence in found if sentence]


# Dimension jump and slope heuristic over the candidates, for each learner and for all.

MOST = 500  # learners who are looked at one by one; of more, so many are picked evenly


def slope_of(learners: Fits | Contest) -> pl.DataFrame:
    """What both methods say of recorded learners, or of simulated ones.

    There is no constant where they do not apply.
    """
    if isinstance(learners, Contest):
        number = np.arange(len(learners)) - np.searchsorted(learners.true, learners.true) + 1
        names = [f"{learners.truths[k]} {i}" for k, i in zip(learners.true, number, strict=True)]
        models = learners.models
    else:
        names, models = list(learners.study.learners), tuple(learners.of)
    ell, d, n = learners.log_likelihood(ALL), learners.n_parameters, learners.n_scored
    if not np.isfinite(ell).all():
        raise HowlearnError("the slope heuristic needs a fit of every model to every learner")
    rows = []

    def told(jump: Found, slope: Found, learner: str | None, trials: float) -> None:
        for method, found in (("dimension jump", jump), ("slope heuristic", slope)):
            c = None if found.kappa is None or trials <= 1 else found.kappa / np.log(trials) ** 2
            model = None if found.selected is None else models[found.selected]
            rows.append((method, learner, found.applies, found.kappa, c, model, found.reason))

    mean = d.mean(axis=0)
    slope = slope_heuristic(mean, mean, -ell.mean(axis=0))
    told(pooled_jump(ell, d, n), slope, None, float(np.median(n)))
    many = min(len(n), MOST)
    for i in (k * len(n) // many for k in range(many)):
        # −ℓ/n against D/n: the slope is in nats per parameter.
        size, trials = d[i].astype(float), int(n[i])
        curve = (size / trials, size, -ell[i] / trials)
        told(dimension_jump(*curve, trials), slope_heuristic(*curve), names[i], trials)
    return of("slope", "calibrate").of_rows(rows)
