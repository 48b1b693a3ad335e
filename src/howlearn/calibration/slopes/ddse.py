"""Data-driven slope estimation: the price per parameter from the fits of the complex models."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howlearn.calibration.slopes.bisquare import bisquare_line
from howlearn.calibration.slopes.curve import SAFETY, Curve, curve_of, not_falling, too_few

PLATEAU = 0.15  # of all regressions must select the same model: capushe's default
POINTS = 5  # of the regression: through fewer almost anything looks straight
R_SQUARED = 0.9  # of the regression: below it the more complex models do not lie on a line
BEND = 3.0  # standard errors: a smooth bend has R² near 1, but its gains shrink beyond chance
STRAIGHT = 0.1  # of the slope: a smaller change of it along the points is no bend, however sure


@dataclass(frozen=True, eq=False)
class Slope:
    """The slopes over fewer and fewer points, and the constant where they settle."""

    slopes: NDArray[np.float64]  # over the P, P − 1, …, 2 largest shapes
    models: NDArray[np.int64]  # that twice the slope selects
    plateau: tuple[int, int] | None  # slopes[start:stop] select one model
    points: int | None  # of the regression in the plateau's middle
    r_squared: float | None  # of the same
    kappa_hat: float | None  # its slope: the minimal penalty
    kappa: float | None  # 2·kappa_hat
    selected: int | None
    applies: bool
    reason: str


def slope_heuristic(shape: ArrayLike, complexity: ArrayLike, contrast: ArrayLike) -> Slope:
    """κ̂ = the slope of −γ_m in s_m over the complex models; κ = 2κ̂.

    As ``DDSE`` in capushe: of each shape the best model; robust regressions over the P, P − 1,
    …, 2 largest shapes; from the fewest points back, the first run of at least 15% of them that
    selects one model argmin γ_m + 2κ̂·s_m; the slope is that of the middle of the run. Where the
    complex models do not lie on a rising line there is no constant, and ``reason`` says why.

    References: Baudry, Maugis & Michel (2012), Statistics and Computing 22; Arlot (2019),
    Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1, 16)
    >>> gamma = 3 - 0.01 * d + np.maximum(4 - d, 0)  # from D = 4 on, 0.01 per parameter
    >>> found = slope_heuristic(d, d, gamma)
    >>> found.plateau, found.selected, round(found.kappa, 6)
    ((0, 14), 3, 0.02)
    """
    curve = curve_of(shape, complexity, contrast)
    best = curve.best()
    lines = [bisquare_line(best.shape[p:], -best.contrast[p:]) for p in range(len(best.shape) - 1)]
    slopes = np.array([line.slope for line in lines], dtype=float)
    models = best.index[[best.selected(SAFETY * slope) for slope in slopes]]
    plateau = _last_plateau(models)
    middle = None if plateau is None else plateau[0] + (plateau[1] - plateau[0]) // 2
    points = None if middle is None else len(best.shape) - middle
    r_squared = None if middle is None else lines[middle].r_squared
    slope = None if middle is None else float(slopes[middle])
    bends = middle is not None and _bends(best.shape[middle:], -best.contrast[middle:])
    objections = _objections(curve, slope, points, r_squared, bends)
    if middle is None or slope is None or objections:
        slope, kappa, selected = None, None, None
        reason = " ".join(objections)
    else:
        kappa, selected = SAFETY * slope, int(models[middle])
        reason = (
            f"Over the {points} most complex candidates the fit improves steadily by {slope:.4g} "
            f"per unit of penalty (R² = {r_squared:.3f}); the constant is twice that."
        )
    return Slope(
        slopes=slopes,
        models=models,
        plateau=plateau,
        points=points,
        r_squared=r_squared,
        kappa_hat=slope,
        kappa=kappa,
        selected=selected,
        applies=not objections,
        reason=reason,
    )


def _last_plateau(models: NDArray[np.int64]) -> tuple[int, int] | None:
    """The last run of equal models that is at least PLATEAU of all: (start, stop).

    >>> _last_plateau(np.array([1, 1, 1, 2, 2, 2, 3]))
    (3, 6)
    """
    edges = [0, *(np.flatnonzero(np.diff(models)) + 1).tolist(), len(models)]
    runs = [(a, b) for a, b in pairwise(edges) if b > a]
    long = [run for run in runs if run[1] - run[0] >= PLATEAU * len(models)]
    return long[-1] if long else None


def _bends(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
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


def _objections(
    curve: Curve,
    slope: float | None,
    points: int | None,
    r_squared: float | None,
    bends: bool,
) -> list[str]:
    """A sentence for everything that forbids to trust the slope."""
    found = [too_few(curve.complexity, len(curve.index)), not_falling(curve)]
    if slope is None or points is None or r_squared is None:
        found.append(
            f"No model is selected by {PLATEAU:.0%} of the regressions in a row, so the slope "
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
    elif bends:
        found.append(
            f"The fits of the {points} most complex models lie on a bend, not on a line: what a "
            "further parameter gains keeps changing."
        )
    return [sentence for sentence in found if sentence]
