"""The probability of the data when the shares of the models are not known.

Z = ∫ Dir(w; α0) Π_i Σ_m w_m e^{L_im} dw by importance sampling. Given who uses which model (z), the
shares have the posterior Dir(α0 + counts of z); so the posterior itself is a mixture of such
Dirichlet distributions over z. A Gibbs sampler draws some z, and that mixture, with a small part of
the prior so that weights are bounded, is where the shares are drawn from. The estimate of Z is
unbiased however well the sampler has mixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from howlearn.core.arrays import Floats
from howlearn.shares.mixture import HELD, climb
from howlearn.shares.rows import checked, checked_prior, scaled

CHAINS = 25
KEPT = 8  # states of every chain
APART = 2  # sweeps between them
WARM = 10  # sweeps before the first
FROM_PRIOR = 0.05  # of the draws


@dataclass(frozen=True)
class Marginal:
    """An estimate, and the standard error of its simulation."""

    value: float
    error: float


def log_marginal(
    log_evidence: ArrayLike,
    prior: float | ArrayLike = 1.0,
    draws: int = 4_000,
    seed: int | tuple[int, ...] = 0,
) -> Marginal:
    """log ∫ Dir(w; prior) Π_i Σ_m w_m e^{L_im} dw.

    >>> found = log_marginal([[0.0, -np.inf]] * 3)  # all use the first model: log 1/4
    >>> round(found.value, 2)
    -1.39
    """
    evidence = checked(log_evidence)
    before = checked_prior(prior, evidence.shape[1])
    likelihood, top = scaled(evidence)
    offset = float(top.sum())
    if evidence.shape[1] == 1:
        return Marginal(offset, 0.0)
    random = np.random.default_rng(seed)
    centres = _counts(likelihood, before, random) + before
    log_shares = _drawn(centres, before, draws, random)
    log_weight = (
        _log_likelihoods(likelihood, log_shares)
        + _log_density(log_shares, before[None])[:, 0]
        - _log_proposal(log_shares, centres, before)
    )
    highest = float(log_weight.max())
    weight = np.exp(log_weight - highest)
    mean = float(weight.mean())
    error = float(weight.std(ddof=1) / np.sqrt(draws) / mean)
    return Marginal(offset + highest + float(np.log(mean)), error)


def _counts(likelihood: Floats, before: Floats, random: np.random.Generator) -> Floats:
    """Learners per model in states of a Gibbs sampler: [state, model]."""
    n = len(likelihood)
    start, _ = climb(likelihood, np.ones((1, n)))
    shares = random.dirichlet(before + n * start[0], size=CHAINS)
    found = []
    for sweep in range(WARM + KEPT * APART):
        counts = _assigned(likelihood, shares, random)
        shares = _dirichlet(counts + before, random)
        if sweep >= WARM and (sweep - WARM) % APART == 0:
            found.append(counts)
    return np.concatenate(found)


def _assigned(likelihood: Floats, shares: Floats, random: np.random.Generator) -> Floats:
    """Let every learner draw a model, given shares; in blocks, to hold little at once."""
    counts = np.zeros(shares.shape)
    size = max(1, HELD // shares.size)
    for start in range(0, len(likelihood), size):
        part = likelihood[start : start + size]
        grown = np.cumsum(shares[:, None, :] * part, axis=2)
        cut = random.random(grown.shape[:2]) * grown[:, :, -1]
        chosen = (grown[:, :, :-1] < cut[:, :, None]).sum(axis=2)
        chosen += np.arange(len(shares))[:, None] * shares.shape[1]
        found = np.bincount(chosen.reshape(-1), minlength=shares.size)
        counts += found.reshape(shares.shape)
    return counts


def _dirichlet(alpha: Floats, random: np.random.Generator) -> Floats:
    drawn = np.maximum(random.standard_gamma(alpha), 1e-300)
    return drawn / drawn.sum(axis=1, keepdims=True)


def _drawn(centres: Floats, before: Floats, draws: int, random: np.random.Generator) -> Floats:
    """Logs of shares from the mixture of the prior and the Dirichlet distributions."""
    from_prior = round(FROM_PRIOR * draws)
    which = random.integers(len(centres), size=draws - from_prior)
    alpha = np.concatenate([centres[which], np.tile(before, (from_prior, 1))])
    # In logs, and by α + 1, so that a share of next to nothing does not become 0.
    drawn = np.log(random.standard_gamma(alpha + 1.0))
    drawn += np.log(np.maximum(random.random(alpha.shape), 1e-300)) / alpha
    top = drawn.max(axis=1, keepdims=True)
    return drawn - top - np.log(np.exp(drawn - top).sum(axis=1, keepdims=True))


def _log_likelihoods(likelihood: Floats, log_shares: Floats) -> Floats:
    shares = np.exp(log_shares)
    size = max(1, HELD // len(shares))
    found = np.zeros(len(shares))
    with np.errstate(divide="ignore"):
        for start in range(0, len(likelihood), size):
            found += np.log(shares @ likelihood[start : start + size].T).sum(axis=1)
    return found


def _log_density(log_shares: Floats, alpha: Floats) -> Floats:
    """Of every draw under every Dirichlet distribution: [draw, distribution]."""
    from scipy.special import gammaln

    constant = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
    return log_shares @ (alpha - 1.0).T + constant


def _log_proposal(log_shares: Floats, centres: Floats, before: Floats) -> Floats:
    inner = _log_density(log_shares, centres)
    top = inner.max(axis=1)
    mixed = top + np.log(np.exp(inner - top[:, None]).mean(axis=1))
    prior = _log_density(log_shares, before[None])[:, 0]
    from_prior = round(FROM_PRIOR * len(log_shares)) / len(log_shares)
    if from_prior == 0.0:
        return mixed
    return np.logaddexp(np.log1p(-from_prior) + mixed, np.log(from_prior) + prior)
