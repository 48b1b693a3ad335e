"""Shares of models by maximum likelihood, from the log-evidence of every learner.

The likelihood of shares w is Π_i Σ_m w_m e^{L_im}. Its log is concave in w. EM climbs it, w_m ←
w_m g_m with g_m = mean_i e^{L_im} / Σ_k w_k e^{L_ik}, in steps that are lengthened where that
goes higher (Varadhan & Roland 2008). By concavity no shares are better than w by more than n
(max_m g_m − 1) nats, which says when to stop. Likelihoods are divided by the largest of their row,
so that they cannot overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError

GAP = 1e-7  # nats by which shares may miss the best ones
ROUGH = 1e-4  # the same for shares of resampled learners: a hundredth of their standard error
STEPS = 2_000
HELD = 4_000_000  # numbers of resampled learners × learners that are held at once
LEVELS = (0.025, 0.975)
FALL = 1.92  # nats from the top of a likelihood to the ends of a 95% interval
TINY = 1e-300
NONE = 1e-7  # less than any learner is worth


def checked(log_evidence: ArrayLike) -> Floats:
    """Log-evidence as [learner, model]; every learner has a model that can be."""
    found = np.asarray(log_evidence, np.float64)
    if found.ndim != 2 or not found.size:
        raise HowlearnError(
            f"log-evidence has a row per learner and a column per model, not the shape "
            f"{found.shape}"
        )
    if np.isnan(found).any() or np.isposinf(found).any():
        raise HowlearnError("log-evidence is a number of nats, or -inf for an impossible model")
    bare = np.flatnonzero(np.isneginf(found).all(axis=1))
    if len(bare):
        raise HowlearnError(
            f"no model can have made the choices of row {bare[0] + 1}: all its log-evidence is -inf"
        )
    return found


def scaled(log_evidence: Floats) -> tuple[Floats, Floats]:
    """Likelihoods divided by the largest of their row, and the logs of those."""
    top = log_evidence.max(axis=-1)
    return np.exp(log_evidence - top[..., None]), top


def certain(selected: Ints, n_models: int) -> Floats:
    """Log-evidence that knows nothing but the selected models.

    >>> certain(np.array([1]), 2).tolist()
    [[-inf, 0.0]]
    """
    return np.where(np.arange(n_models) == selected[:, None], 0.0, -np.inf)


def checked_prior(prior: float | ArrayLike, n_models: int) -> Floats:
    """α0 of every model's share."""
    found = np.broadcast_to(np.asarray(prior, np.float64), (n_models,)).copy()
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise HowlearnError(f"the prior of the shares must be a number above 0, got {prior}")
    return found


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the models with the ends of their 95% intervals."""

    share: Floats
    lower: Floats
    upper: Floats
    log_likelihood: float
    resampled: Floats = field(repr=False)  # [resample, model]


def mixture_shares(
    log_evidence: ArrayLike,
    resamples: int = 200,
    seed: int | tuple[int, ...] = 0,
    owner: Ints | None = None,
) -> Shares:
    """Shares by EM, and bootstrap intervals over learners.

    Rows with the same ``owner`` are sequences of one learner, and are resampled together.

    >>> found = mixture_shares(np.log([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]]), resamples=50)
    >>> found.share.round(2).tolist()
    [0.68, 0.32]
    """
    found = checked(log_evidence)
    likelihood, top = scaled(found)
    share, value = climb(likelihood, np.ones((1, len(found))))
    share = tidy(share)
    random = np.random.default_rng(seed)
    drawn = resampled_shares(likelihood, resamples, random, owner)
    lower, upper = interval(drawn, share[0])
    lower, upper = widened(lower, upper, likelihood, share[0])
    return Shares(share[0], lower, upper, float(value[0] + top.sum()), drawn)


def tidy(shares: Floats) -> Floats:
    """Shares that EM was leaving for 0, at 0."""
    found = np.where(shares < NONE, 0.0, shares)
    return found / found.sum(axis=-1, keepdims=True)


def resampled_shares(
    likelihood: Floats, resamples: int, random: np.random.Generator, owner: Ints | None = None
) -> Floats:
    """Shares of learners who are drawn anew, with replacement: [resample, model]."""
    if owner is None:
        owner = np.arange(len(likelihood))
    size = max(1, HELD // len(likelihood))
    parts = [np.empty((0, likelihood.shape[1]))]
    for start in range(0, resamples, size):
        times = drawn_times(owner, min(size, resamples - start), random)
        parts.append(climb(likelihood, times, ROUGH)[0])
    return np.concatenate(parts)


def drawn_times(owner: Ints, resamples: int, random: np.random.Generator) -> Floats:
    """How often each row is drawn, when learners are: [resample, row]."""
    n = int(owner.max()) + 1
    drawn = random.integers(n, size=(resamples, n)) + np.arange(resamples)[:, None] * n
    times = np.bincount(drawn.reshape(-1), minlength=resamples * n).reshape(resamples, n)
    return times[:, owner].astype(np.float64)


def climb(
    likelihood: Floats, times: Floats, gap: float = GAP, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The best shares for each row of ``times``, which says how often a learner counts.

    ``likelihood`` is [learner, model], or [row, learner, model] where it differs. A share that is 0
    at the ``start`` stays so. Gives the shares, [row, model], and their log-likelihoods.
    """
    n_models = likelihood.shape[-1]
    total = times.sum(axis=1)
    shares = np.full((len(times), n_models), 1.0 / n_models) if start is None else start.copy()
    values = np.empty(len(times))
    free = shares > 0
    mixed = _mixed(likelihood, shares)
    left = np.arange(len(times))
    values[:] = _value(times, mixed)
    for _ in range(STEPS):
        mine, own = _of(likelihood, left), times[left]
        gain = _gain(mine, own, mixed) / total[left, None]
        going = total[left] * (np.where(free[left], gain, 0.0).max(axis=1) - 1.0) > gap
        if not going.all():
            left, mixed, gain = left[going], mixed[going], gain[going]
            mine, own = _of(likelihood, left), times[left]
        if not len(left):
            break
        shares[left], values[left], mixed = _step(
            mine, own, shares[left], values[left], shares[left] * gain
        )
    return shares, values


def _step(
    likelihood: Floats, times: Floats, old: Floats, value: Floats, first: Floats
) -> tuple[Floats, Floats, Floats]:
    """Two steps of EM, and a longer one in their direction where that is not lower."""
    total = times.sum(axis=1, keepdims=True)
    second = first * _gain(likelihood, times, _mixed(likelihood, first)) / total
    step, bend = first - old, second - 2.0 * first + old
    size, curve = np.linalg.norm(step, axis=1), np.linalg.norm(bend, axis=1)
    far = np.maximum(np.divide(size, curve, out=np.ones_like(size), where=curve > TINY), 1.0)
    far = far[:, None]
    longer = np.maximum(old + 2.0 * far * step + far**2 * bend, 0.1 * second)
    longer /= longer.sum(axis=1, keepdims=True)
    mixed = _mixed(likelihood, longer)
    reached = _value(times, mixed)
    worse = ~(reached >= value)
    if worse.any():
        longer[worse] = second[worse]
        mixed[worse] = _mixed(_of(likelihood, np.flatnonzero(worse)), second[worse])
        reached[worse] = _value(times[worse], mixed[worse])
    return longer, reached, mixed


def _of(likelihood: Floats, rows: Ints) -> Floats:
    if likelihood.ndim == 2 or len(rows) == len(likelihood):
        return likelihood
    return likelihood[rows]


def _mixed(likelihood: Floats, shares: Floats) -> Floats:
    """Σ_m w_m e^{L_im}: [row, learner]."""
    if likelihood.ndim == 2:
        return shares @ likelihood.T
    return np.matmul(likelihood, shares[:, :, None])[:, :, 0]


def _gain(likelihood: Floats, times: Floats, mixed: Floats) -> Floats:
    # Only learners who do not count can be impossible under a row's shares.
    weight = times / np.maximum(mixed, TINY)
    if likelihood.ndim == 2:
        return weight @ likelihood
    return np.matmul(weight[:, None, :], likelihood)[:, 0]


def _value(times: Floats, mixed: Floats) -> Floats:
    return np.einsum("ij,ij->i", times, np.log(np.maximum(mixed, TINY)))


def interval(drawn: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Between the 2.5% and 97.5% quantiles, by column; without draws nothing is known."""
    if not len(drawn):
        return np.full_like(centre, np.nan), np.full_like(centre, np.nan)
    lower, upper = np.quantile(drawn, LEVELS, axis=0)
    return np.minimum(lower, centre), np.maximum(upper, centre)


def widened(
    lower: Floats, upper: Floats, likelihood: Floats, share: Floats
) -> tuple[Floats, Floats]:
    """Intervals no narrower than where the likelihood falls by 1.92 nats.

    Resampling never finds a model that nobody seems to use, however few the learners are, and is
    too sure that a model is used at all. While one share changes the others keep their proportions,
    unless it is 0: whether there need be any learners of a model is asked of the best shares
    without it.
    """
    lower, upper = lower.copy(), upper.copy()
    n, n_models = likelihood.shape
    if n_models == 1 or not np.isfinite(upper).all():
        return lower, upper
    without = np.where(np.eye(n_models, dtype=bool), 0.0, 1.0 / (n_models - 1))
    start = np.where(without > 0, 0.9 * share + 0.1 / n_models, 0.0)
    start /= start.sum(axis=1, keepdims=True)
    top = _value(np.ones((1, n)), likelihood[None] @ share)[0]
    needless = climb(likelihood, np.ones((n_models, n)), 0.01, start)[1] >= top - FALL
    for m in range(n_models):
        others = 1.0 - share[m]
        if others > 1e-12:
            rest = np.maximum(likelihood @ share - share[m] * likelihood[:, m], 0.0) / others
        else:  # there is no proportion to keep: as if the others explained these learners least
            rest = likelihood.min(axis=1)

        def value(at: float, own: Floats = likelihood[:, m], rest: Floats = rest) -> float:
            with np.errstate(divide="ignore"):
                return float(np.log(at * own + (1.0 - at) * rest).sum())

        down = _end(value, float(share[m]), 0.0, top - FALL)
        lower[m] = 0.0 if needless[m] else min(lower[m], down)
        upper[m] = max(upper[m], _end(value, float(share[m]), 1.0, top - FALL))
    return lower, upper


def _end(value: Callable[[float], float], inside: float, outside: float, enough: float) -> float:
    """Where a concave function falls below ``enough`` on the way to ``outside``."""
    if value(outside) >= enough:
        return outside
    for _ in range(30):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if value(middle) >= enough else (inside, middle)
    return inside
