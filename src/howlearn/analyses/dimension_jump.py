"""The dimension jump: the price per parameter at which the selected complexity collapses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError

SAFETY = 2.0  # optimal penalty = twice the minimal one: Birgé & Massart (2007)
TIE = 1e-9  # part of the contrast's range that rounding may fake; the house's 1e-9 nats
COMPLEXITIES = 11  # capushe refuses 10 models or fewer; models of one complexity count once
RISES = 0.1  # of the falls: fits of nested models only fall, and more than noise is a turn


@dataclass(frozen=True, eq=False)
class LossCurve:
    """Checked models, sorted by penalty shape and then by contrast."""

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


def curve_of(shape: ArrayLike, complexity: ArrayLike, contrast: ArrayLike) -> LossCurve:
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
        raise HowlearnError(f"a complexity must be 0 or greater, got {d.min():g}")
    if (np.diff(s[np.lexsort((s, d))]) < 0).any():
        raise HowlearnError(
            "the penalty shape must grow with the complexity, but a model of larger complexity "
            "has a smaller shape; use D/n or log(n)²·D/n"
        )
    order = np.lexsort((g, s))
    return LossCurve(order, s[order], d[order], g[order])


def too_few(complexity: Floats, n_models: int) -> str:
    """A sentence where there are too few complexities to see a line or a jump, or nothing."""
    distinct = len(np.unique(complexity))
    if distinct >= COMPLEXITIES:
        return ""
    return (
        f"There {_are(n_models, 'candidate model')} of {distinct} different "
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


def numbers(name: str, values: ArrayLike) -> Floats:
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


def _column(name: str, values: ArrayLike) -> Floats:
    column = numbers(name, values)
    if column.ndim != 1 or not column.size:
        raise HowlearnError(f"{name} must hold one number per model; found shape {column.shape}")
    return column


def _are(count: int, noun: str) -> str:
    return f"is {count} {noun}" if count == 1 else f"are {count} {noun}s"


# The dimension jump: the price per parameter at which the selected complexity collapses.

DOMINANCE = 2.0  # times the second jump: where two are alike, noise says which is the larger
LARGE_PART = 0.5  # of all falls: a smaller jump need not cross half of the complexities
BULGE = 0.5  # of the rise of the contrast: more above the line means a gap, not a slope
AGREEMENT = SAFETY  # between jump and threshold: further apart, doubling κ̂ means nothing


@dataclass(frozen=True, eq=False)
class Jump:
    """The path of selected models, and the constant where there is one."""

    kappas: Floats  # from kappas[i] on, path[i] is selected; kappas[0] = 0
    path: Ints
    sizes: Floats  # the fall of complexity at kappas[1], kappas[2] …
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
        raise HowlearnError(f"a jump needs the number of trials, at least 1, got {n_trials}")
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


def _path(curve: LossCurve) -> tuple[Floats, Ints]:
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
    curve: LossCurve,
    kappas: Floats,
    steps: Ints,
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
            "parameter predicts, so the jump marks a gap between models, not a slope."
        )
    at = 0.0 if largest is None else kappas[largest + 1]
    if by_threshold is not None and not at / AGREEMENT <= by_threshold <= at * AGREEMENT:
        found.append(
            f"The largest jump ({at:.3g}) and the fall below half of the largest complexity "
            f"({by_threshold:.3g}) are at very different constants."
        )
    return [sentence for sentence in found if sentence]


def _bulge(curve: LossCurve, low: int, high: int) -> float:
    """How far the best models between two of the path lie above their line, as part of its rise."""
    best = curve.best()
    s0, s1, g0, g1 = *curve.shape[[low, high]], *curve.contrast[[low, high]]
    inside = (best.shape > s0) & (best.shape < s1)
    line = g0 + (g1 - g0) * (best.shape[inside] - s0) / (s1 - s0)
    return float(np.max(best.contrast[inside] - line, initial=0.0) / (g0 - g1))


def _merged(kappas: Floats, sizes: Floats, largest: int, delta: float) -> tuple[float, float]:
    """The largest jump and the next, each with what falls in the window around it."""

    def near(centre: float) -> Bools:
        return (kappas >= centre * (1 - delta)) & (kappas <= centre * (1 + delta))

    mine = near(kappas[largest])
    others = [float(sizes[near(kappa) & ~mine].sum()) for kappa in kappas[~mine]]
    return float(sizes[mine].sum()), max(others, default=0.0)


# The dimension jump of many learners at once.

LOWEST, HIGHEST = 0.01, 100.0  # nats per parameter: far below Wilks' ½ and far above BIC
TIE_NATS = 1e-9  # scores as close as this are equal, here as everywhere


@dataclass(frozen=True, eq=False)
class PooledJump:
    """The mean complexity along the penalty, and the constant where it collapses."""

    kappas: Floats  # nats per parameter, from 0 on
    mean_complexity: Floats  # of the models selected at kappas
    falls: Floats  # of the mean within [κ(1 − δ), κ(1 + δ)]
    steepest: float  # κ of the largest fall, whether or not it is a jump
    jump: float  # the largest fall
    share: float  # the same as a part of the whole fall from κ = 0 to no end
    kappa_hat: float | None
    kappa: float | None  # 2·kappa_hat, in nats per parameter
    selected: Ints | None  # each learner's model at kappa
    applies: bool
    reason: str


def pooled_jump(
    log_likelihood: ArrayLike,
    n_parameters: ArrayLike,
    n_trials: ArrayLike,
    kappas: ArrayLike | None = None,
) -> PooledJump:
    """κ̂ = the κ around which D̄(κ) = mean_i D(argmax_m ℓ_im − κ·D_im) falls most; κ = 2κ̂.

    A fall is a jump only where half of all that D̄ ever loses is lost within κ(1 ± δ),
    δ = √(log n / n) with the median learner's n. Learners differ, and mostly D̄ slides.

    Reference: Arlot (2019), Journal de la Société Française de Statistique 160.

    >>> d = np.arange(1, 16)
    >>> one = -np.maximum(4 - d, 0) * 20 + 0.5 * d  # from D = 4 on, half a nat per parameter
    >>> found = pooled_jump([one, one], [d, d], n_trials=500)
    >>> found.jump, round(found.kappa, 1), found.selected.tolist()
    (11.0, 1.0, [3, 3])
    """
    ell, d, n = _checked(log_likelihood, n_parameters, n_trials)
    delta = window(n)
    grid = _grid(delta) if kappas is None else _checked_grid(kappas)
    mean = _mean_complexity(ell, d, grid)
    falls = _mean_complexity(ell, d, grid * (1 - delta)) - _mean_complexity(
        ell, d, grid * (1 + delta)
    )
    jump = float(falls.max())
    tops = np.flatnonzero(falls >= jump - 1e-12)
    steepest = float(grid[tops[len(tops) // 2]])  # windows that hold all of a jump centre on it
    whole = float(_mean_complexity(ell, d, np.zeros(1))[0] - d.min(axis=1).mean())
    share = jump / whole if whole > 0 else 0.0
    objections = _pooled_objections(d, grid, mean, steepest, share, delta)
    if objections:
        kappa_hat, kappa, selected = None, None, None
        reason = " ".join(objections)
    else:
        kappa_hat, kappa = steepest, SAFETY * steepest
        selected = _selected(ell, d, kappa)
        reason = (
            f"Around {steepest:.3g} nats per parameter the mean complexity loses {jump:.3g} "
            f"parameters, {share:z.0%} of all it ever loses; the constant is twice that price."
        )
    return PooledJump(
        kappas=grid,
        mean_complexity=mean,
        falls=falls,
        steepest=steepest,
        jump=jump,
        share=share,
        kappa_hat=kappa_hat,
        kappa=kappa,
        selected=selected,
        applies=not objections,
        reason=reason,
    )


def _grid(delta: float) -> Floats:
    """Zero, and steps of a quarter of the window, so that no jump falls between two of them."""
    steps = int(np.ceil(np.log(HIGHEST / LOWEST) / np.log1p(max(delta, 0.01) / 4)))
    return np.concatenate(([0.0], np.geomspace(LOWEST, HIGHEST, steps + 1)))


def _selected(ell: Floats, d: Floats, kappa: float) -> Ints:
    """Each learner's best model at κ nats per parameter; a tie goes to fewer parameters."""
    score = ell - kappa * d
    tied = score >= score.max(axis=1, keepdims=True) - TIE_NATS
    return np.where(tied, d, np.inf).argmin(axis=1)


def _mean_complexity(ell: Floats, d: Floats, kappas: Floats) -> Floats:
    rows = np.arange(len(d))
    return np.array([d[rows, _selected(ell, d, kappa)].mean() for kappa in kappas])


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


def _checked(
    log_likelihood: ArrayLike, n_parameters: ArrayLike, n_trials: ArrayLike
) -> tuple[Floats, Floats, float]:
    ell = numbers("log_likelihood", log_likelihood)
    d = numbers("n_parameters", n_parameters)
    n = numbers("n_trials", n_trials)
    if ell.ndim != 2 or not ell.size or ell.shape != d.shape:
        raise HowlearnError(
            "log_likelihood and n_parameters need one row per learner and one column per model; "
            f"found shapes {ell.shape} and {d.shape}"
        )
    if (d < 0).any():
        raise HowlearnError(f"n_parameters must be 0 or greater, got {d.min():g}")
    if n.ndim > 1 or (n.ndim and len(n) != len(ell)) or not (n >= 1).all():
        raise HowlearnError("n_trials must be one number of at least 1, or one per learner")
    return ell, d, float(np.median(n))


def _checked_grid(kappas: ArrayLike) -> Floats:
    grid = numbers("kappas", kappas)
    if grid.ndim != 1 or not grid.size or (grid < 0).any():
        raise HowlearnError("kappas must be a list of numbers that are 0 or greater")
    return np.unique(grid)
