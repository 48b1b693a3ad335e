"""The dimension jump: the price per parameter at which the selected complexity collapses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from howlearn.core.arrays import Bools, Floats, Ints

SAFETY = 2.0  # optimal penalty = twice the minimal one: Birgé & Massart (2007)
TIE = 1e-9  # part of the contrast's range that rounding may fake; the house's 1e-9 nats
COMPLEXITIES = 11  # capushe refuses 10 models or fewer; models of one complexity count once
RISES = 0.1  # of the falls: fits of nested models only fall, and more than noise is a turn


@dataclass(frozen=True, eq=False)
class LossCurve:
    """Models, sorted by penalty shape and then by contrast."""

    index: Ints  # of each model in the user's order
    shape: Floats
    complexity: Floats
    contrast: Floats

    @property
    def tolerance(self) -> float:
        """Contrasts as close as this are equal."""
        return TIE * float(np.ptp(self.contrast))

    def best(self) -> LossCurve:
        """Of each shape the model with the smallest contrast: the others are never selected."""
        first = np.diff(self.shape, prepend=-np.inf) > 0
        return LossCurve(
            self.index[first], self.shape[first], self.complexity[first], self.contrast[first]
        )

    def selected(self, kappa: float) -> int:
        """argmin γ + κ·s, as a position in the curve; a tie goes to the smallest shape."""
        score = self.contrast + kappa * self.shape
        return int(np.flatnonzero(score <= score.min() + self.tolerance)[0])


def curve_of(shape: Floats, complexity: Floats, contrast: Floats) -> LossCurve:
    """Models sorted by penalty shape, which grows with the complexity, and then by contrast.

    >>> curve_of(*np.array([[0.2, 0.1], [2, 1], [0.5, 0.7]])).index
    array([1, 0])
    """
    order = np.lexsort((contrast, shape))
    return LossCurve(order, shape[order], complexity[order], contrast[order])


def too_few(complexity: Floats, n_models: int) -> str:
    """A sentence where there are too few complexities to see a line or a jump, or nothing."""
    distinct = len(np.unique(complexity))
    if distinct >= COMPLEXITIES:
        return ""
    are = "is 1 candidate model" if n_models == 1 else f"are {n_models} candidate models"
    return (
        f"There {are} of {distinct} different "
        f"complexit{'y' if distinct == 1 else 'ies'}, and the method needs at least "
        f"{COMPLEXITIES} different ones."
    )


def not_falling(curve: LossCurve) -> str:
    """A sentence where the larger half of the models does not fit better and better."""
    best = curve.best()
    steps = np.diff(best.contrast[(len(best.contrast) - 1) // 2 :])
    rises, falls = steps[steps > 0].sum(), -steps[steps < 0].sum()
    if falls > 0 and rises <= RISES * falls + curve.tolerance:
        return ""
    return (
        "Among the more complex half of the candidates the fit does not keep improving with the "
        "complexity, as it must if simpler models are special cases of complex ones."
    )


# The dimension jump: the price per parameter at which the selected complexity collapses.

DOMINANCE = 2.0  # times the second jump: where two are alike, noise says which is the larger
LARGE_PART = 0.5  # of all falls: a smaller jump need not cross half of the complexities
BULGE = 0.5  # of the rise of the contrast: more above the line means a gap, not a slope
AGREEMENT = SAFETY  # between jump and threshold: further apart, doubling κ̂ means nothing


class Found(NamedTuple):
    """What a method says: a constant and the models that it selects, or why there is none."""

    reason: str
    kappa: float | None = None  # nats per parameter; the minimal one is half of it
    selected: int | None = None  # of one learner, or of all learners taken as one

    @property
    def applies(self) -> bool:
        return self.kappa is not None


class Jumps(NamedTuple):
    """Every price at which a simpler model is selected."""

    kappas: Floats  # from kappas[i] on, curve[steps[i]] is selected; kappas[0] = 0
    steps: Ints
    heights: Floats  # the complexities of these models

    @property
    def sizes(self) -> Floats:
        """The fall of complexity at kappas[1], kappas[2] …"""
        return self.heights[:-1] - self.heights[1:]

    @property
    def largest(self) -> int | None:
        """The last of equal ones counts; equal up to rounding is equal."""
        sizes = self.sizes
        return int(np.flatnonzero(sizes >= sizes.max() * (1 - TIE))[-1]) if len(sizes) else None


def dimension_jump(shape: Floats, complexity: Floats, contrast: Floats, n_trials: int) -> Found:
    """κ̂ = the κ at which the complexity of m̂(κ) = argmin γ_m + κ·s_m falls most; κ = 2κ̂.

    The path is that of ``Djump`` in capushe (the last of equal jumps counts). The threshold
    variant is inf{κ: D_m̂(κ) ≤ D_threshold}, D_threshold the smaller of n/log n and half of the
    largest complexity. Without a jump that stands out there is no constant, and ``reason`` says
    why.

    References: Baudry, Maugis & Michel (2012), Statistics and Computing 22; Arlot (2019),
    Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1.0, 16)
    >>> gamma = 3 - 0.01 * d + np.maximum(4 - d, 0)  # from D = 4 on, 0.01 per parameter
    >>> found = dimension_jump(d, d, gamma, n_trials=500)
    >>> found.selected, round(found.kappa, 6)
    (3, 0.02)
    """
    curve = curve_of(shape, complexity, contrast)
    jumps = jumps_of(curve)
    objections = _objections(curve, jumps, n_trials)
    largest, heights = jumps.largest, jumps.heights
    if largest is None or objections:
        return Found(" ".join(objections))
    at = float(jumps.kappas[largest + 1])
    step = np.searchsorted(jumps.kappas, SAFETY * at, side="right") - 1
    reason = (
        f"The complexity of the selected model falls from {heights[largest]:g} to "
        f"{heights[largest + 1]:g} where the penalty constant passes {at:.4g}, by far the "
        "largest fall; the constant is twice that."
    )
    return Found(reason, SAFETY * at, int(curve.index[jumps.steps[step]]))


def window(n_trials: float) -> float:
    """δ = √(log n / n): jumps at κ(1 − δ) to κ(1 + δ) are one jump (Arlot, 2019).

    >>> round(window(500), 4)
    0.1115
    """
    return float(np.sqrt(np.log(n_trials) / n_trials))


def jumps_of(curve: LossCurve) -> Jumps:
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
    return Jumps(np.array(kappas), np.array(steps), curve.complexity[steps])


def below_threshold(curve: LossCurve, jumps: Jumps, n_trials: int) -> float | None:
    """The κ of the threshold variant."""
    limit = n_trials / np.log(n_trials) if n_trials > 1 else np.inf
    below = np.flatnonzero(jumps.heights <= min(limit, curve.complexity.max() / 2))
    return float(jumps.kappas[below[0]]) if len(below) else None


def _objections(curve: LossCurve, jumps: Jumps, n_trials: int) -> list[str]:
    """A sentence for everything that forbids to trust the jump."""
    found = [too_few(curve.complexity, len(curve.index)), not_falling(curve)]
    (kappas, steps, heights), largest = jumps, jumps.largest
    jump, second = (0.0, 0.0) if largest is None else _merged(jumps, largest, window(n_trials))
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
            "parameter predicts, so the jump marks a gap between models, not a slope."
        )
    at = 0.0 if largest is None else kappas[largest + 1]
    low = below_threshold(curve, jumps, n_trials)
    if low is not None and not at / AGREEMENT <= low <= at * AGREEMENT:
        found.append(
            f"The largest jump ({at:.3g}) and the fall below half of the largest complexity "
            f"({low:.3g}) are at very different constants."
        )
    return [sentence for sentence in found if sentence]


def _bulge(curve: LossCurve, low: int, high: int) -> float:
    """How far the best models between two of the path lie above their line, as part of its rise."""
    best = curve.best()
    s0, s1, g0, g1 = *curve.shape[[low, high]], *curve.contrast[[low, high]]
    inside = (best.shape > s0) & (best.shape < s1)
    line = g0 + (g1 - g0) * (best.shape[inside] - s0) / (s1 - s0)
    return float(np.max(best.contrast[inside] - line, initial=0.0) / (g0 - g1))


def _merged(jumps: Jumps, largest: int, delta: float) -> tuple[float, float]:
    """The largest jump and the next, each with what falls in the window around it."""
    kappas, sizes = jumps.kappas[1:], jumps.sizes

    def near(centre: float) -> Bools:
        return (kappas >= centre * (1 - delta)) & (kappas <= centre * (1 + delta))

    mine = near(kappas[largest])
    others = [float(sizes[near(kappa) & ~mine].sum()) for kappa in kappas[~mine]]
    return float(sizes[mine].sum()), max(others, default=0.0)


# The dimension jump of many learners at once.

LOWEST, HIGHEST = 0.01, 100.0  # nats per parameter: far below Wilks' ½ and far above BIC
TIE_NATS = 1e-9  # scores as close as this are equal, here as everywhere


def pooled_jump(log_likelihood: Floats, n_parameters: Ints, n_trials: Ints) -> Found:
    """κ̂ = the κ around which D̄(κ) = mean_i D(argmax_m ℓ_im − κ·D_im) falls most; κ = 2κ̂.

    A fall is a jump only where half of all that D̄ ever loses is lost within κ(1 ± δ),
    δ = √(log n / n) with the median learner's n. Learners differ, and mostly D̄ slides.

    Reference: Arlot (2019), Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1, 16)
    >>> one = -np.maximum(4 - d, 0) * 20 + 0.5 * d  # from D = 4 on, half a nat per parameter
    >>> round(pooled_jump(np.array([one, one]), np.array([d, d]), np.array([500])).kappa, 1)
    1.0
    """
    ell, d = log_likelihood, n_parameters.astype(float)
    delta = window(float(np.median(n_trials)))
    grid = _grid(delta)
    falls = mean_complexity(ell, d, grid * (1 - delta)) - mean_complexity(
        ell, d, grid * (1 + delta)
    )
    jump = float(falls.max())
    tops = np.flatnonzero(falls >= jump - 1e-12)
    steepest = float(grid[tops[len(tops) // 2]])  # windows that hold all of a jump centre on it
    mean = mean_complexity(ell, d, grid)
    whole = float(mean[0] - d.min(axis=1).mean())
    share = jump / whole if whole > 0 else 0.0
    objections = _pooled_objections(d, grid, mean, steepest, share, delta)
    if objections:
        return Found(" ".join(objections))
    reason = (
        f"Around {steepest:.3g} nats per parameter the mean complexity loses {jump:.3g} "
        f"parameters, {share:z.0%} of all it ever loses; the constant is twice that price."
    )
    return Found(reason, SAFETY * steepest)


def _grid(delta: float) -> Floats:
    """Zero, and steps of a quarter of the window, so that no jump falls between two of them."""
    steps = int(np.ceil(np.log(HIGHEST / LOWEST) / np.log1p(max(delta, 0.01) / 4)))
    return np.concatenate(([0.0], np.geomspace(LOWEST, HIGHEST, steps + 1)))


def mean_complexity(ell: Floats, d: Floats, kappas: Floats) -> Floats:
    """Of the learners' best models at each κ; a tie goes to fewer parameters."""
    found = []
    for kappa in kappas:
        score = ell - kappa * d
        tied = score >= score.max(axis=1, keepdims=True) - TIE_NATS
        found.append(np.where(tied, d, np.inf).min(axis=1).mean())
    return np.array(found)


def _pooled_objections(
    d: Floats, grid: Floats, mean: Floats, steepest: float, share: float, delta: float
) -> list[str]:
    found = [too_few(d.max(axis=0), d.shape[1])]
    if share < LARGE_PART:
        found.append(
            "As the price per parameter grows the mean complexity of the selected models slides "
            f"down without a jump: within {delta:z.0%} of any price it loses at most {share:z.0%} "
            f"of all it ever loses, where {LARGE_PART:z.0%} would be a jump."
        )
    else:
        below = np.flatnonzero(mean <= d.max(axis=1).mean() / 2)
        half = float(grid[below[0]]) if len(below) else np.inf
        if not steepest / AGREEMENT <= half <= steepest * AGREEMENT:
            found.append(
                f"The largest fall ({steepest:.3g} nats per parameter) is not the one that takes "
                "the learners from complex models to simple ones."
            )
    return [sentence for sentence in found if sentence]
