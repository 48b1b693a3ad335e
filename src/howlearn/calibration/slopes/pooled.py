"""The dimension jump of many learners at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from howlearn.calibration.slopes.curve import SAFETY, numbers, too_few
from howlearn.calibration.slopes.jump import AGREEMENT, LARGE_PART, window
from howlearn.core.errors import HowlearnError

LOWEST, HIGHEST = 0.01, 100.0  # nats per parameter: far below Wilks' ½ and far above BIC
TIE_NATS = 1e-9  # scores as close as this are equal, here as everywhere


@dataclass(frozen=True, eq=False)
class PooledJump:
    """The mean complexity along the penalty, and the constant where it collapses."""

    kappas: NDArray[np.float64]  # nats per parameter, from 0 on
    mean_complexity: NDArray[np.float64]  # of the models selected at kappas
    falls: NDArray[np.float64]  # of the mean within [κ(1 − δ), κ(1 + δ)]
    steepest: float  # κ of the largest fall, whether or not it is a jump
    jump: float  # the largest fall
    share: float  # the same as a part of the whole fall from κ = 0 to no end
    kappa_hat: float | None
    kappa: float | None  # 2·kappa_hat, in nats per parameter
    selected: NDArray[np.int64] | None  # each learner's model at kappa
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
    objections = _objections(d, grid, mean, steepest, share, delta)
    if objections:
        kappa_hat, kappa, selected = None, None, None
        reason = " ".join(objections)
    else:
        kappa_hat, kappa = steepest, SAFETY * steepest
        selected = _selected(ell, d, kappa)
        reason = (
            f"Around {steepest:.3g} nats per parameter the mean complexity loses {jump:.3g} "
            f"parameters, {share:.0%} of all it ever loses; the constant is twice that price."
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


def _grid(delta: float) -> NDArray[np.float64]:
    """Zero, and steps of a quarter of the window, so that no jump falls between two of them."""
    steps = int(np.ceil(np.log(HIGHEST / LOWEST) / np.log1p(max(delta, 0.01) / 4)))
    return np.concatenate(([0.0], np.geomspace(LOWEST, HIGHEST, steps + 1)))


def _selected(ell: NDArray[np.float64], d: NDArray[np.float64], kappa: float) -> NDArray[np.int64]:
    """Each learner's best model at κ nats per parameter; a tie goes to fewer parameters."""
    score = ell - kappa * d
    tied = score >= score.max(axis=1, keepdims=True) - TIE_NATS
    return np.where(tied, d, np.inf).argmin(axis=1)


def _mean_complexity(
    ell: NDArray[np.float64], d: NDArray[np.float64], kappas: NDArray[np.float64]
) -> NDArray[np.float64]:
    rows = np.arange(len(d))
    return np.array([d[rows, _selected(ell, d, kappa)].mean() for kappa in kappas])


def _objections(
    d: NDArray[np.float64],
    grid: NDArray[np.float64],
    mean: NDArray[np.float64],
    steepest: float,
    share: float,
    delta: float,
) -> list[str]:
    found = [too_few(d.max(axis=0), d.shape[1])]
    if share < LARGE_PART:
        found.append(
            "As the price per parameter grows the mean complexity of the selected models slides "
            f"down without a jump: within {delta:.0%} of any price it loses at most {share:.0%} "
            f"of all it ever loses, where {LARGE_PART:.0%} would be a jump."
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
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    ell = numbers("log_likelihood", log_likelihood)
    d = numbers("n_parameters", n_parameters)
    n = numbers("n_trials", n_trials)
    if ell.ndim != 2 or not ell.size or ell.shape != d.shape:
        raise HowlearnError(
            "log_likelihood and n_parameters need one row per learner and one column per model; "
            f"found shapes {ell.shape} and {d.shape}"
        )
    if (d < 0).any():
        raise HowlearnError(f"n_parameters must be numbers from 0 on, not {d.min():g}")
    if n.ndim > 1 or (n.ndim and len(n) != len(ell)) or not (n >= 1).all():
        raise HowlearnError("n_trials must be one number from 1 on, or one per learner")
    return ell, d, float(np.median(n))


def _checked_grid(kappas: ArrayLike) -> NDArray[np.float64]:
    grid = numbers("kappas", kappas)
    if grid.ndim != 1 or not grid.size or (grid < 0).any():
        raise HowlearnError("kappas must be a list of numbers from 0 on")
    return np.unique(grid)
