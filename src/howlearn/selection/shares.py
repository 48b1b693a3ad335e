"""How common each model is, from log-evidence or from what was selected: the public functions.

Arrays only. ``evidence[learner, model]`` is in nats, and may be ``-inf`` for a model that cannot
have made a learner's choices; rows need not be normalised.

Here: shares of models from what was selected, with the known confusion taken out.

Of the learners whose model is m, a share Q[m, k] is given model k. So a learner who was given k has
the likelihood Σ_m w_m Q[m, k], and the shares w maximise Π_i Σ_m w_m Q[m, k_i]: EM,
w_m ← w_m Σ_k (n_k/N) Q[m, k] / Σ_m' w_m' Q[m', k], on a concave function. Q itself comes from
simulated learners; the intervals count both kinds of chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.selection.mixture_shares import (
    GAP,
    HELD,
    ROUGH,
    Shares,
    climb,
    drawn_times,
    interval,
    mixture_shares,
    tidy,
    widened,
)
from howlearn.selection.random_effects import RandomEffects, log_marginal, random_effects

__all__ = [
    "Confusion",
    "RandomEffects",
    "corrected_shares",
    "log_marginal",
    "mixture_shares",
    "random_effects",
]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How many simulated learners of each true model were given each model.

    ``counts`` is [true, selected], or [design, true, selected] where learners differ in what they
    were shown or how often: each then belongs to a design.
    """

    counts: Floats

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts, np.float64)
        object.__setattr__(self, "counts", counts if counts.ndim == 3 else counts[None])
        if not (np.isfinite(self.counts).all() and (self.counts >= 0).all()):
            raise HowlearnError("a confusion matrix counts learners: no count may be negative")
        if not (self.counts.sum(axis=2) > 0).all():
            raise HowlearnError("a confusion matrix needs simulated learners of every true model")

    @cached_property
    def shares(self) -> Floats:
        """Q: [design, true, selected]."""
        return self.counts / self.counts.sum(axis=2, keepdims=True)

    @property
    def noise(self) -> float:
        """How far Q may be from the truth by chance, in any one direction: two standard errors."""
        n = self.counts.sum(axis=2, keepdims=True)
        variance = (self.shares * (1.0 - self.shares) / n).sum(axis=2)
        return 2.0 * float(np.sqrt(variance.max()))

    @property
    def smallest(self) -> float:
        """The smallest singular value of Q over all designs: the distance from a lower rank."""
        stacked = self.shares.transpose(1, 0, 2).reshape(self.shares.shape[1], -1)
        return float(np.linalg.svd(stacked, compute_uv=False)[-1] / np.sqrt(len(self.shares)))

    @property
    def vague(self) -> bool:
        """Whether Q may, by chance, be a matrix from which shares do not follow."""
        true, selected = self.shares.shape[1:]
        return true > 1 and (selected < true or self.smallest <= max(self.noise, 1e-9))

    def blurred(self, most: float = 0.3) -> list[int]:
        """The true models whose shares are the least known: learners of some look like the others'.

        They make up the combination of rows of Q that is nearest to nothing.
        """
        stacked = self.shares.transpose(1, 0, 2).reshape(self.shares.shape[1], -1)
        return np.flatnonzero(np.abs(np.linalg.svd(stacked)[0][:, -1]) >= most).tolist()


def corrected_shares(
    selected: Ints,
    confusion: Confusion,
    design: Ints | None = None,
    resamples: int = 200,
    seed: int | tuple[int, ...] = 0,
    owner: Ints | None = None,
) -> Shares:
    """Shares of the true models, from the model that was selected for every learner.

    ``design`` says which confusion matrix is a learner's. Rows with the same ``owner`` are
    resampled together.

    >>> confusion = Confusion(np.array([[80.0, 20.0], [0.0, 100.0]]))
    >>> selected = np.repeat([0, 1], [40, 60])  # of 50 and 50, ten of the first are taken for
    >>> corrected_shares(selected, confusion, resamples=20).share.round(3).tolist()
    [0.5, 0.5]
    """
    selected = np.asarray(selected, np.int64)
    design = np.zeros(len(selected), np.int64) if design is None else np.asarray(design)
    n_selected = confusion.counts.shape[2]
    if not len(selected) or selected.min() < 0 or selected.max() >= n_selected:
        raise HowlearnError(f"selected models are numbers from 0 to {n_selected - 1}")
    # Learners of one design who were given the same model are all alike: a class.
    kinds, kind = np.unique(design * n_selected + selected, return_inverse=True)
    places = kinds // n_selected, kinds % n_selected
    likelihood = _likelihood(confusion.counts, *places)
    times = np.bincount(kind, minlength=len(kinds)).astype(np.float64)
    share, value = climb(likelihood, times[None], GAP)
    share = tidy(share)
    owner = np.arange(len(selected)) if owner is None else owner
    drawn = _resampled(confusion, places, kind, owner, resamples, seed)
    ends = interval(drawn, share[0])
    lower, upper = widened(*ends, likelihood[kind], share[0])
    return Shares(share[0], lower, upper, float(value[0]), drawn)


def _resampled(
    confusion: Confusion,
    places: tuple[Ints, Ints],
    kind: Ints,
    owner: Ints,
    resamples: int,
    seed: int | tuple[int, ...],
) -> Floats:
    """Shares of learners drawn anew, with confusion matrices drawn anew."""
    random = np.random.default_rng(seed)
    n_kinds = len(places[0])
    totals = np.rint(confusion.counts.sum(axis=2)).astype(np.int64)
    size = max(1, HELD // max(len(kind), confusion.counts.size))
    parts = [np.empty((0, confusion.counts.shape[1]))]
    for start in range(0, resamples, size):
        many = min(size, resamples - start)
        rows = drawn_times(owner, many, random)
        times = np.array([np.bincount(kind, row, n_kinds) for row in rows], np.float64)
        counts = random.multinomial(totals, confusion.shares, size=(many, *totals.shape))
        likelihood = _likelihood(counts.astype(np.float64), *places)
        parts.append(climb(likelihood, times, ROUGH)[0])
    return np.concatenate(parts)


def _likelihood(counts: Floats, design: Ints, selected: Ints) -> Floats:
    """Q[m, k] of every class: [..., class, true].

    A model that was selected for a learner and for no simulated one is taken to have been selected
    for half a simulated learner of every true model.
    """
    total = counts.sum(axis=-1)[..., design, :]
    found = np.swapaxes(counts, -1, -2)[..., design, selected, :]
    never = (found == 0).all(axis=-1, keepdims=True)
    return np.where(never, 0.5, found) / total
