"""Random-effects Bayesian model selection: how common each model is, and which one leads.

Every learner uses one model; the models' shares r have a Dirichlet prior. The posterior is
approximated by q(r) q(z): u_ik ∝ exp(L_ik + ψ(α_k) − ψ(Σα)), α_k = α0_k + Σ_i u_ik, which never
decreases the bound F1 ≤ log p(data). Stephan et al. (2009), NeuroImage 46; Rigoux et al. (2014),
NeuroImage 84, for the risk that all models are equally common and the protected exceedance
probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from howlearn.core.arrays import Floats, log_sum, special
from howlearn.selection.mixture_shares import HELD, checked, checked_prior, climb, scaled

# The probability of the data when the shares of the models are not known.
#
# Z = ∫ Dir(w; α0) Π_i Σ_m w_m e^{L_im} dw by importance sampling. Given who uses which model (z),
# the shares have the posterior Dir(α0 + counts of z); so the posterior itself is a mixture of such
# Dirichlet distributions over z. A Gibbs sampler draws some z, and that mixture, with a small part
# of the prior so that weights are bounded, is where the shares are drawn from. The estimate of Z is
# unbiased however well the sampler has mixed.

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
    constant = special().gammaln(alpha.sum(axis=1)) - special().gammaln(alpha).sum(axis=1)
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


CLOSE = 1e-10  # change of α, relative to the number of learners
STEPS = 10_000
NODES = 4_001  # of the integral for exceedance probabilities
DEEPEST = 690.0  # nats by which one share may lie below another: more would be 0 as a number
TAIL = 1e-15  # of the distributions that it leaves out


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """What is known about the shares of the models."""

    alpha: Floats  # of the Dirichlet posterior
    posterior: Floats  # [learner, model]: the probability that the learner uses the model
    exceedance: Floats  # the probability that the model is the most common one
    protected: Floats  # the same where all may be equally common
    risk: float  # the Bayesian omnibus risk: the probability that all are
    bound: float  # F1: at most the log marginal likelihood
    bound_equal: float  # F0: that of equal shares, exactly
    path: tuple[float, ...] = field(repr=False)  # F1 after every iteration
    evidence: Floats = field(repr=False)
    prior: Floats = field(repr=False)

    @property
    def expected(self) -> Floats:
        """The expected shares."""
        return self.alpha / self.alpha.sum()

    def integrated_risk(self, draws: int = 4_000, seed: int | tuple[int, ...] = 0) -> Marginal:
        """The omnibus risk from the marginal likelihood itself, with its standard error.

        F1 is a lower bound where learners leave room for several models; F0 is exact. So the
        published risk is too high then.
        """
        found = log_marginal(self.evidence, self.prior, draws, seed)
        risk = float(np.exp(-np.logaddexp(0.0, found.value - self.bound_equal)))
        return Marginal(risk, risk * (1.0 - risk) * found.error)


def random_effects(log_evidence: ArrayLike, prior: float | ArrayLike = 1.0) -> RandomEffects:
    """Shares of the models from the log-evidence of every learner, [learner, model].

    ``prior`` is α0 of the Dirichlet distribution, for all models or one by one.

    >>> found = random_effects([[0.0, -3.0], [0.0, -4.0], [0.0, -2.0], [-1.0, 0.0]])
    >>> found.expected.round(2).tolist(), found.protected.round(2).tolist()
    ([0.76, 0.24], [0.72, 0.28])
    """
    evidence = checked(log_evidence)
    before = checked_prior(prior, evidence.shape[1])
    alpha, posterior, path = _climb(evidence, before)
    equal = float((log_sum(evidence) - np.log(evidence.shape[1])).sum())
    risk = float(np.exp(-np.logaddexp(0.0, path[-1] - equal)))
    leads = exceedance(alpha)
    protected = (1.0 - risk) * leads + risk / len(leads)
    return RandomEffects(
        alpha, posterior, leads, protected, risk, path[-1], equal, tuple(path), evidence, before
    )


def _climb(evidence: Floats, before: Floats) -> tuple[Floats, Floats, list[float]]:
    """α, the posterior, and F1 after every step.

    With c_k = ψ(α_k) − ψ(Σα), and α = α0 + Σu after a step, the terms with ψ cancel:
    F1 = log B(α) − log B(α0) + Σ u (L − log u), and L_ik − log u_ik = log Σ_j e^(L_ij + c_j) − c_k.
    So a step takes two products of a matrix and a vector, and no logarithm for every model. einsum
    adds in the same order on any number of cores.
    """
    likelihood, top = scaled(evidence)
    alpha, path = before, []
    weight, each = before, top
    for _ in range(STEPS):
        logs = special().psi(alpha) - special().psi(alpha.sum())
        logs = np.maximum(logs, logs.max() - DEEPEST)
        weight = np.exp(logs - logs.max())
        each = np.einsum("ik,k->i", likelihood, weight)
        used = weight * np.einsum("ik,i->k", likelihood, 1.0 / each)
        after = before + used
        explained = (top + np.log(each)).sum() + len(top) * logs.max() - (logs * used).sum()
        path.append(float(_log_beta(after) - _log_beta(before) + explained))
        moved = np.abs(after - alpha).max()
        alpha = after
        if moved <= CLOSE * len(evidence):
            break
    return alpha, likelihood * weight / each[:, None], path


def _log_beta(alpha: Floats) -> float:
    return float(special().gammaln(alpha).sum() - special().gammaln(alpha.sum()))


def exceedance(alpha: ArrayLike) -> Floats:
    """The probability of each share of a Dirichlet distribution to be the largest.

    Shares are independent gamma variables divided by their sum, so that it is
    ∫ f_k(x) Π_{j≠k} F_j(x) dx; the trapezium rule in log x, where the integrand fades at both ends.

    >>> exceedance([2.0, 1.0]).round(4).tolist()
    [0.75, 0.25]
    """
    alpha = np.asarray(alpha, np.float64)
    if len(alpha) == 1:
        return np.ones(1)
    if len(alpha) == 2:
        first = float(special().betainc(alpha[1], alpha[0], 0.5))
        return np.array([first, 1.0 - first])
    found = np.array([_largest(alpha, k) for k in range(len(alpha))])
    return found / found.sum()


def _largest(alpha: Floats, k: int) -> float:
    a = alpha[k]
    low = max(float(special().gammaincinv(a, TAIL)), 1e-300)
    y = np.linspace(np.log(low), np.log(float(special().gammainccinv(a, TAIL))), NODES)
    x = np.exp(y)
    others = np.prod(special().gammainc(np.delete(alpha, k)[:, None], x), axis=0)
    density = np.exp(a * y - x - special().gammaln(a))
    return float(np.sum(density * others) * (y[1] - y[0]))
