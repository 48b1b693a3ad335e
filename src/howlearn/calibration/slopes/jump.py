"""The dimension jump: the price per parameter at which the selected complexity collapses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howlearn.calibration.slopes.curve import SAFETY, TIE, Curve, curve_of, not_falling, too_few
from howlearn.core.errors import HowlearnError

DOMINANCE = 2.0  # times the second jump: where two are alike, noise says which is the larger
LARGE_PART = 0.5  # of all falls: a smaller jump need not cross half of the complexities
BULGE = 0.5  # of the rise of the contrast: more above the line means a gap, not a slope
AGREEMENT = SAFETY  # between jump and threshold: further apart, doubling κ̂ means nothing


@dataclass(frozen=True, eq=False)
class Jump:
    """The path of selected models, and the constant where there is one."""

    kappas: NDArray[np.float64]  # from kappas[i] on, path[i] is selected; kappas[0] = 0
    path: NDArray[np.int64]
    sizes: NDArray[np.float64]  # the fall of complexity at kappas[1], kappas[2] …
    jump: float  # the largest of them, 0 where there is none
    threshold: float  # complexity that the threshold variant asks the path to fall below
    kappa_hat: float | None  # where the largest jump is: the minimal penalty
    kappa_threshold: float | None  # the same by the threshold variant
    kappa: float | None  # 2·kappa_hat
    selected: int | None
    applies: bool
    reason: str


def dimension_jump(
    shape: ArrayLike, complexity: ArrayLike, contrast: ArrayLike, n_trials: int
) -> Jump:
    """κ̂ = the κ at which the complexity of m̂(κ) = argmin γ_m + κ·s_m falls most; κ = 2κ̂.

    The path is that of ``Djump`` in capushe (the last of equal jumps counts). The threshold
    variant is inf{κ: D_m̂(κ) ≤ D_threshold}, D_threshold the smaller of n/log n and half of the
    largest complexity. Without a jump that stands out there is no constant, and ``reason`` says
    why.

    References: Baudry, Maugis & Michel (2012), Statistics and Computing 22; Arlot (2019),
    Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1, 16)
    >>> gamma = 3 - 0.01 * d + np.maximum(4 - d, 0)  # from D = 4 on, 0.01 per parameter
    >>> found = dimension_jump(d, d, gamma, n_trials=500)
    >>> found.path.tolist(), found.jump, round(found.kappa, 6)
    ([14, 3, 0], 11.0, 0.02)
    """
    if not n_trials >= 1:  # nor NaN
        raise HowlearnError(f"a jump needs the number of trials, at least 1, not {n_trials}")
    curve = curve_of(shape, complexity, contrast)
    kappas, steps = _path(curve)
    path = curve.index[steps]
    heights = curve.complexity[steps]
    sizes = heights[:-1] - heights[1:]
    threshold = float(min(_size_limit(n_trials), curve.complexity.max() / 2))
    below = np.flatnonzero(heights <= threshold)
    by_threshold = float(kappas[below[0]]) if len(below) else None
    # Equal up to rounding is equal, and the last of equal jumps counts.
    largest = int(np.flatnonzero(sizes >= sizes.max() * (1 - TIE))[-1]) if len(sizes) else None
    at = None if largest is None else float(kappas[largest + 1])
    objections = _objections(curve, kappas, steps, largest, by_threshold, n_trials)
    if largest is None or at is None or objections:
        at, by_threshold, kappa, selected = None, None, None, None
        reason = " ".join(objections)
    else:
        kappa = SAFETY * at
        selected = int(path[np.searchsorted(kappas, kappa, side="right") - 1])
        reason = (
            f"The complexity of the selected model falls from {heights[largest]:g} to "
            f"{heights[largest + 1]:g} where the penalty constant passes {at:.4g}, by far the "
            "largest fall; the constant is twice that."
        )
    return Jump(
        kappas=kappas,
        path=path,
        sizes=sizes,
        jump=float(sizes.max(initial=0.0)),
        threshold=threshold,
        kappa_hat=at,
        kappa_threshold=by_threshold,
        kappa=kappa,
        selected=selected,
        applies=not objections,
        reason=reason,
    )


def window(n_trials: float) -> float:
    """δ = √(log n / n): jumps at κ(1 − δ) to κ(1 + δ) are one jump (Arlot, 2019).

    >>> round(window(500), 4)
    0.1115
    """
    return float(np.sqrt(np.log(n_trials) / n_trials))


def _size_limit(n_trials: int) -> float:
    return n_trials / np.log(n_trials) if n_trials > 1 else np.inf


def _path(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Every κ at which the selected model changes, and the models: the lower convex hull."""
    s, g = curve.shape, curve.contrast
    kappas, steps = [0.0], [curve.selected(0.0)]
    while (smaller := np.flatnonzero(s < s[steps[-1]])).size:
        here = steps[-1]
        rise, width = g[smaller] - g[here], s[here] - s[smaller]
        kappa = float((rise / width).min())
        # Models on one line leave together, to the smallest; rounding must not part them.
        tied = rise <= kappa * width + curve.tolerance
        kappas.append(kappa)
        steps.append(int(smaller[tied][0]))
    return np.array(kappas), np.array(steps)


def _objections(
    curve: Curve,
    kappas: NDArray[np.float64],
    steps: NDArray[np.int64],
    largest: int | None,
    by_threshold: float | None,
    n_trials: int,
) -> list[str]:
    """A sentence for everything that forbids to trust the jump."""
    found = [too_few(curve.complexity, len(curve.index)), not_falling(curve)]
    heights = curve.complexity[steps]
    sizes = heights[:-1] - heights[1:]
    delta = window(n_trials)
    jump, second = (0.0, 0.0) if largest is None else _merged(kappas[1:], sizes, largest, delta)
    at_zero = float(curve.complexity.max() - heights[0])
    if at_zero > 0 and at_zero >= jump:
        found.append(
            f"The largest fall of the complexity, from {curve.complexity.max():g} to "
            f"{heights[0]:g}, comes without any penalty: the most complex models do not even fit "
            "best."
        )
    elif largest is None:
        found.append("The same model is selected whatever the penalty, so there is no jump.")
    if jump < LARGE_PART * (heights[0] - heights[-1]) or jump < DOMINANCE * second:
        found.append(
            "As the penalty grows the complexity falls in several steps of similar size "
            f"(the largest by {jump:g}, the next by {second:g}, of {heights[0] - heights[-1]:g} "
            "in all), so no single jump stands out."
        )
    if largest is not None and _bulge(curve, steps[largest + 1], steps[largest]) > BULGE:
        found.append(
            "The models that the largest jump passes over fit far worse than a steady gain per "
            "parameter would have it, so the jump marks a gap between models and not a slope."
        )
    at = 0.0 if largest is None else kappas[largest + 1]
    if by_threshold is not None and not at / AGREEMENT <= by_threshold <= at * AGREEMENT:
        found.append(
            f"The largest jump ({at:.3g}) and the fall below half of the largest complexity "
            f"({by_threshold:.3g}) are at quite different constants."
        )
    return [sentence for sentence in found if sentence]


def _bulge(curve: Curve, low: int, high: int) -> float:
    """How far the best models between two of the path lie above their line, as part of its rise."""
    best = curve.best()
    s0, s1, g0, g1 = *curve.shape[[low, high]], *curve.contrast[[low, high]]
    inside = (best.shape > s0) & (best.shape < s1)
    line = g0 + (g1 - g0) * (best.shape[inside] - s0) / (s1 - s0)
    return float(np.max(best.contrast[inside] - line, initial=0.0) / (g0 - g1))


def _merged(
    kappas: NDArray[np.float64], sizes: NDArray[np.float64], largest: int, delta: float
) -> tuple[float, float]:
    """The largest jump and the next, each with what falls in the window around it."""

    def near(centre: float) -> NDArray[np.bool_]:
        return (kappas >= centre * (1 - delta)) & (kappas <= centre * (1 + delta))

    mine = near(kappas[largest])
    others = [float(sizes[near(kappa) & ~mine].sum()) for kappa in kappas[~mine]]
    return float(sizes[mine].sum()), max(others, default=0.0)
