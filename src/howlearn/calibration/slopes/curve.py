"""The contrast of models against their complexity: input and rules of the slope heuristics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howlearn.core.errors import HowlearnError

SAFETY = 2.0  # optimal penalty = twice the minimal one: Birgé & Massart (2007)
TIE = 1e-9  # part of the contrast's range that rounding may fake; the house's 1e-9 nats
COMPLEXITIES = 11  # capushe refuses 10 models or fewer; models of one complexity count once
RISES = 0.1  # of the falls: fits of nested models only fall, and more than noise is a turn


@dataclass(frozen=True, eq=False)
class Curve:
    """Checked models, sorted by penalty shape and then by contrast."""

    index: NDArray[np.int64]  # of each model in the user's order
    shape: NDArray[np.float64]
    complexity: NDArray[np.float64]
    contrast: NDArray[np.float64]

    @property
    def tolerance(self) -> float:
        """Contrasts as close as this are equal."""
        return TIE * float(np.ptp(self.contrast))

    def best(self) -> Curve:
        """Of each shape the model with the smallest contrast: the others are never selected."""
        first = np.diff(self.shape, prepend=-np.inf) > 0
        return Curve(
            self.index[first], self.shape[first], self.complexity[first], self.contrast[first]
        )

    def selected(self, kappa: float) -> int:
        """argmin γ + κ·s, as a position in the curve; a tie goes to the smallest shape."""
        score = self.contrast + kappa * self.shape
        return int(np.flatnonzero(score <= score.min() + self.tolerance)[0])


def curve_of(shape: ArrayLike, complexity: ArrayLike, contrast: ArrayLike) -> Curve:
    """Check and sort.

    >>> curve_of([0.2, 0.1], [2, 1], [0.5, 0.7]).index
    array([1, 0])
    """
    columns = {"shape": shape, "complexity": complexity, "contrast": contrast}
    s, d, g = (_column(name, values) for name, values in columns.items())
    if not len(s) == len(d) == len(g):
        raise HowlearnError(
            "shape, complexity and contrast need one value per model each; "
            f"found {len(s)}, {len(d)} and {len(g)}"
        )
    if (d < 0).any():
        raise HowlearnError(f"a complexity is a number from 0 on, not {d.min():g}")
    if (np.diff(s[np.lexsort((s, d))]) < 0).any():
        raise HowlearnError(
            "the penalty shape must grow with the complexity, but a model of larger complexity "
            "has a smaller shape; use D/n or log(n)²·D/n"
        )
    order = np.lexsort((g, s))
    return Curve(order, s[order], d[order], g[order])


def too_few(complexity: NDArray[np.float64], n_models: int) -> str:
    """A sentence where there are too few complexities to see a line or a jump, or nothing."""
    distinct = len(np.unique(complexity))
    if distinct >= COMPLEXITIES:
        return ""
    return (
        f"There {_are(n_models, 'candidate model')} of {distinct} different "
        f"complexit{'y' if distinct == 1 else 'ies'}, and the method needs at least "
        f"{COMPLEXITIES} different ones."
    )


def not_falling(curve: Curve) -> str:
    """A sentence where the larger half of the models does not fit better and better."""
    best = curve.best()
    steps = np.diff(best.contrast[(len(best.contrast) - 1) // 2 :])
    rises, falls = steps[steps > 0].sum(), -steps[steps < 0].sum()
    if falls > 0 and rises <= RISES * falls + curve.tolerance:
        return ""
    return (
        "Among the more complex half of the candidates the fit does not keep improving with the "
        "complexity, as it must where simpler models are special cases of complex ones."
    )


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers, or an error that names them.

    >>> numbers("shape", [1, float("nan")])
    Traceback (most recent call last):
    howlearn.core.errors.HowlearnError: shape must hold finite numbers only; found nan
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise HowlearnError(f"{name} must hold numbers only, as many in each row") from None
    if not np.isfinite(array).all():
        odd = array[~np.isfinite(array)][0]
        raise HowlearnError(f"{name} must hold finite numbers only; found {odd}")
    return array


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    column = numbers(name, values)
    if column.ndim != 1 or not column.size:
        raise HowlearnError(f"{name} must hold one number per model; found shape {column.shape}")
    return column


def _are(count: int, noun: str) -> str:
    return f"is {count} {noun}" if count == 1 else f"are {count} {noun}s"
