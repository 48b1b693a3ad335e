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

from howlearn.core.arrays import Floats
from howlearn.shares.marginal import Marginal, log_marginal
from howlearn.shares.rows import checked, checked_prior, scaled

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
    equal = float((_log_sum(evidence) - np.log(evidence.shape[1])).sum())
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
    from scipy.special import digamma

    likelihood, top = scaled(evidence)
    alpha, path = before, []
    weight, each = before, top
    for _ in range(STEPS):
        logs = digamma(alpha) - digamma(alpha.sum())
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
    from scipy.special import gammaln

    return float(gammaln(alpha).sum() - gammaln(alpha.sum()))


def _log_sum(values: Floats) -> Floats:
    top = values.max(axis=1)
    return top + np.log(np.exp(values - top[:, None]).sum(axis=1))


def exceedance(alpha: ArrayLike) -> Floats:
    """The probability of each share of a Dirichlet distribution to be the largest.

    Shares are independent gamma variables divided by their sum, so that it is
    ∫ f_k(x) Π_{j≠k} F_j(x) dx; the trapezium rule in log x, where the integrand fades at both ends.

    >>> exceedance([2.0, 1.0]).round(4).tolist()
    [0.75, 0.25]
    """
    from scipy.special import betainc

    alpha = np.asarray(alpha, np.float64)
    if len(alpha) == 1:
        return np.ones(1)
    if len(alpha) == 2:
        first = float(betainc(alpha[1], alpha[0], 0.5))
        return np.array([first, 1.0 - first])
    found = np.array([_largest(alpha, k) for k in range(len(alpha))])
    return found / found.sum()


def _largest(alpha: Floats, k: int) -> float:
    from scipy.special import gammainc, gammainccinv, gammaincinv, gammaln

    a = alpha[k]
    low = max(float(gammaincinv(a, TAIL)), 1e-300)
    y = np.linspace(np.log(low), np.log(float(gammainccinv(a, TAIL))), NODES)
    x = np.exp(y)
    others = np.prod(gammainc(np.delete(alpha, k)[:, None], x), axis=0)
    density = np.exp(a * y - x - gammaln(a))
    return float(np.sum(density * others) * (y[1] - y[0]))
