"""The evidence of models whose parameters are not integrated on a grid: approximations.

Laplace's, in the scale u in which parameters are searched and a priori even: the likelihood is
taken for a normal around its top. A parameter that is best at a bound counts with its slope there,
and nothing is wider than the range of the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma

import numpy as np

from howlearn.core.arrays import Floats
from howlearn.core.study import Study
from howlearn.fitting.fits import ALL, Fits
from howlearn.fitting.replay import Advisor
from howlearn.fitting.settings import records_of, setting_of
from howlearn.models.coin import Coin, FixedPolicy
from howlearn.models.mixture import Mixture
from howlearn.models.model import Model

STEP = 1e-3  # of a parameter's range in u
EDGE = 1e-6  # of the range: closer to a bound is at it


def approximation(model: Model) -> str:
    """How the evidence of a model in no group is computed, in a word for the tables."""
    if isinstance(model, Coin):
        return "exact"
    return "schwarz" if isinstance(model, Mixture | FixedPolicy) else "laplace"


def log_evidence_by_laplace(fits: Fits, name: str) -> Floats:
    """Of every learner, from a fit to all trials."""
    part, study = fits.of[name], fits.study
    j = fits.at(ALL)
    model = part.model
    if isinstance(model, Coin):
        return log_evidence_of_coin(study)
    if isinstance(model, Mixture | FixedPolicy):  # what is fitted beforehand has no density here
        d = fits.n_parameters_at(ALL)[:, [*fits.of].index(name)]
        return part.log_likelihood[:, j] - 0.5 * d * np.log(study.n_scored)
    advisor = Advisor(model, study.contexts, study.actions, setting_of(study))
    ends = np.array([parameter.end for parameter in advisor.parameters])
    out = part.log_likelihood[:, j].copy()
    for i in np.flatnonzero(np.isfinite(out)).tolist():
        one = study.part(i, i + 1)
        records, scored = records_of(one), one.scored

        def value(u: Floats) -> float:
            theta = np.array([float(p.at(v)) for p, v in zip(advisor.parameters, u, strict=True)])
            found = float(advisor.chosen(records, theta)[scored].sum())  # noqa: B023
            return found if np.isfinite(found) else -1e300

        best = [
            float(p.u(np.array([v]))[0])
            for p, v in zip(advisor.parameters, part.theta[i, j], strict=True)
        ]
        out[i] += log_volume(value, np.array(best), ends)
    return out


def log_evidence_of_coin(study: Study) -> Floats:
    """Every distribution of the actions equally probable."""
    k = len(study.actions)
    out = np.empty(len(study))
    for i in range(len(study)):
        mine = slice(study.starts[i], study.starts[i + 1])
        counts = np.bincount(study.action[mine][study.scored[mine]], minlength=k)
        out[i] = lgamma(k) + sum(lgamma(c + 1) for c in counts) - lgamma(int(counts.sum()) + k)
    return out


def log_volume(value: Callable[[Floats], float], best: Floats, ends: Floats) -> float:
    """log of ∫ exp(ℓ(u) − ℓ(best)) du / Π ends, by Laplace's approximation around ``best``.

    >>> f = lambda u: -0.5 * ((u[0] - 3.0) / 0.1) ** 2
    >>> round(log_volume(f, np.array([3.0]), np.array([6.0])), 4)
    -3.1754
    >>> round(float(np.log(0.1 * np.sqrt(2 * np.pi) / 6.0)), 4)
    -3.1754
    """
    d = len(best)
    if d == 0:
        return 0.0
    steps = STEP * ends
    top = value(best)
    total = 0.0
    free = []
    for k in range(d):
        at_lower, at_upper = best[k] < EDGE * ends[k], best[k] > (1 - EDGE) * ends[k]
        if not (at_lower or at_upper):
            free.append(k)
            continue
        inward = best.copy()
        inward[k] += steps[k] if at_lower else -steps[k]
        slope = max((top - value(inward)) / steps[k], 0.0)
        # ∫ exp(−slope·x) dx from 0 to the other end, over that end
        x = slope * ends[k]
        total += np.log(-np.expm1(-x) / x) if x > 1e-9 else 0.0
    return total + _inner(value, best, ends, steps, free, top)


def _inner(
    value: Callable[[Floats], float],
    best: Floats,
    ends: Floats,
    steps: Floats,
    free: list[int],
    top: float,
) -> float:
    """Of the parameters inside their bounds: a normal no wider than their ranges."""
    if not free:
        return 0.0
    n = len(free)
    # Steps stay inside the bounds: the centre is moved, and a normal has the same curvature there.
    centre = np.clip(best, steps, ends - steps)
    middle = value(centre) if not np.array_equal(centre, best) else top

    def moved(*changes: tuple[int, float]) -> float:
        point = centre.copy()
        for k, sign in changes:
            point[k] += sign * steps[k]
        return value(point)

    hessian = np.empty((n, n))
    for a, i in enumerate(free):
        hessian[a, a] = moved((i, 1.0)) + moved((i, -1.0)) - 2.0 * middle
        for b in range(a):
            k = free[b]
            plus = moved((i, 1.0), (k, 1.0)) + moved((i, -1.0), (k, -1.0))
            minus = moved((i, 1.0), (k, -1.0)) + moved((i, -1.0), (k, 1.0))
            hessian[a, b] = hessian[b, a] = (plus - minus) / 4.0
    # In units of the ranges: no direction is wider than the box, and a flat one is as wide.
    curvature, _ = np.linalg.eigh(-hessian / STEP**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = np.sqrt(2.0 * np.pi / curvature)
    return float(np.log(np.where(curvature > 0, np.minimum(widths, 1.0), 1.0)).sum())
