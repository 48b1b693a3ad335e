"""Random effects against integrals and draws, and the marginal likelihood of shares."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import digamma, gammaln
from scipy.stats import beta

from howlearn.core.errors import HowlearnError
from howlearn.selection.mixture_shares import certain
from howlearn.selection.random_effects import exceedance, log_marginal, random_effects

RANDOM = np.random.default_rng(7)
CLEAR = RANDOM.normal(size=(12, 3)) * 4
VAGUE = RANDOM.normal(size=(12, 3))


def two_models(evidence: np.ndarray, a0: float) -> float:
    """log Z for two models: one integral over the first one's share."""

    def density(w: float) -> float:
        explained = np.logaddexp(np.log(w) + evidence[:, 0], np.log1p(-w) + evidence[:, 1])
        return float(np.exp(explained.sum() - top) * beta.pdf(w, a0, a0))

    top = evidence.max(axis=1).sum()
    return float(top + np.log(quad(density, 0, 1, epsabs=0, limit=200)[0]))


def three_models(evidence: np.ndarray) -> float:
    """log Z for three models and a flat prior: an integral over the triangle."""
    top = evidence.max(axis=1)
    likelihood = np.exp(evidence - top[:, None])

    def density(b: float, a: float) -> float:
        return float(np.prod(likelihood @ np.array([a, b, 1 - a - b])))

    value, _ = dblquad(density, 0, 1, 0, lambda a: 1 - a, epsabs=1e-9, epsrel=1e-6)
    return float(top.sum() + np.log(2 * value))


@pytest.mark.parametrize("a0", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("scale", [0.3, 3.0, 40.0])
def test_marginal_of_two_models(a0: float, scale: float) -> None:
    evidence = np.random.default_rng(1).normal(size=(15, 2)) * scale - 50
    found = log_marginal(evidence, a0)
    assert found.error < 0.02
    assert abs(found.value - two_models(evidence, a0)) < 4 * found.error + 1e-6


@pytest.mark.parametrize("evidence", [CLEAR, VAGUE], ids=["clear", "vague"])
def test_marginal_of_three_models(evidence: np.ndarray) -> None:
    found = log_marginal(evidence)
    assert found.error < 0.02
    assert abs(found.value - three_models(evidence)) < 4 * found.error + 1e-5


@pytest.mark.parametrize("counts", [(5, 3, 0), (1, 0, 0), (200, 100, 3), (0, 0, 0, 0, 7, 1)])
def test_marginal_of_known_models_is_that_of_counts(counts: tuple[int, ...]) -> None:
    n, k = np.array(counts), len(counts)
    exact = gammaln(n + 1).sum() - gammaln(n.sum() + k) + gammaln(k)
    found = log_marginal(certain(np.repeat(np.arange(k), n), k))
    assert found.error < 0.02
    assert abs(found.value - exact) < 4 * found.error + 1e-6


def test_errors_of_the_marginal_are_as_large_as_it_says() -> None:
    exact = two_models(VAGUE[:, :2], 1.0)
    found = [log_marginal(VAGUE[:, :2], draws=400, seed=seed) for seed in range(100)]
    off = np.array([(each.value - exact) / each.error for each in found])
    assert abs(off.mean()) < 0.35
    assert 0.6 < off.std() < 1.3


def published(evidence: np.ndarray, alpha: np.ndarray, u: np.ndarray, a0: np.ndarray) -> float:
    """F1 term by term, as in the papers."""
    e = digamma(alpha) - digamma(alpha.sum())
    prior = gammaln(a0.sum()) - gammaln(a0).sum() + ((a0 - 1) * e).sum()
    own = gammaln(alpha.sum()) - gammaln(alpha).sum() + ((alpha - 1) * e).sum()
    return float(prior + (u * (e + evidence)).sum() - own - (u * np.log(u)).sum())


@pytest.mark.parametrize("evidence", [CLEAR, VAGUE], ids=["clear", "vague"])
@pytest.mark.parametrize("prior", [1.0, (0.5, 1.0, 4.0)])
def test_the_bound_is_the_published_one_and_grows(evidence: np.ndarray, prior: object) -> None:
    found = random_effects(evidence, prior)  # type: ignore[arg-type]
    a0 = np.broadcast_to(np.asarray(prior, float), 3)
    assert found.bound == pytest.approx(published(evidence, found.alpha, found.posterior, a0))
    assert (np.diff(found.path) >= -1e-10).all()
    assert len(found.path) > 3
    exact = log_marginal(evidence, prior)  # type: ignore[arg-type]
    assert found.bound < exact.value + 4 * exact.error


def test_the_risk_is_that_of_the_true_marginal_likelihoods_where_models_are_clear() -> None:
    evidence = certain(np.repeat([0, 1, 2], [6, 3, 1]), 3) * 1.0
    evidence[np.isneginf(evidence)] = -12.0
    found = random_effects(evidence)
    gap = three_models(evidence) - found.bound_equal
    assert found.risk == pytest.approx(1 / (1 + np.exp(gap)), abs=1e-3)
    assert found.risk == pytest.approx(random_effects(evidence).integrated_risk().value, abs=0.01)
    leads = found.exceedance
    assert found.protected == pytest.approx((1 - found.risk) * leads + found.risk / 3)


def test_where_models_are_vague_the_published_risk_is_too_high() -> None:
    """F1 is a bound, F0 is not: the risk by integration is the one that is right."""
    found = random_effects(VAGUE)
    exact = 1 / (1 + np.exp(three_models(VAGUE) - found.bound_equal))
    risk = found.integrated_risk()
    assert abs(risk.value - exact) < 4 * risk.error + 1e-4
    assert found.risk > exact + 0.02


def test_a_small_example_by_drawing_everything() -> None:
    """Shares from the prior, weighted by the likelihood: expected shares and who leads."""
    evidence = CLEAR * 3  # nearly certain, where the approximation is nearly exact
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 400_000)
    top = evidence.max(axis=1)
    weight = np.exp(np.log(shares @ np.exp(evidence - top[:, None]).T).sum(axis=1))
    weight /= weight.sum()
    found = random_effects(evidence)
    assert weight @ shares == pytest.approx(found.expected, abs=0.01)
    leads = np.bincount(shares.argmax(axis=1), weight, minlength=3)
    assert leads == pytest.approx(found.exceedance, abs=0.02)


@pytest.mark.parametrize(
    "alpha", [(2.0, 1.0), (0.3, 2.0, 5.0, 5.5), (1.0,) * 6, (4000.0, 3990.0, 4050.0), (0.05,) * 3]
)
def test_exceedance_is_that_of_draws(alpha: tuple[float, ...]) -> None:
    n = 200_000
    drawn = np.random.default_rng(3).dirichlet(alpha, n)
    counts = np.bincount(drawn.argmax(axis=1), minlength=len(alpha)) / n
    found = exceedance(alpha)
    assert found.sum() == pytest.approx(1.0)
    assert (np.abs(found - counts) < 4 * np.sqrt(0.25 / n)).all()


def test_two_of_three_equal_ones_lead_alike_and_two_are_exact() -> None:
    assert exceedance([7.0, 7.0, 7.0]) == pytest.approx(np.full(3, 1 / 3), abs=1e-12)
    assert exceedance([3.0, 2.0])[0] == pytest.approx(1 - beta.cdf(0.5, 3, 2))
    # The integral agrees with the exact value where a third model hardly counts.
    assert exceedance([3.0, 2.0, 1e-9])[0] == pytest.approx(1 - beta.cdf(0.5, 3, 2), abs=1e-6)


def test_one_model_one_learner_and_impossible_models() -> None:
    alone = random_effects([[-3.0]] * 4)
    assert (alone.expected.tolist(), alone.protected.tolist(), alone.risk) == ([1.0], [1.0], 0.5)
    one = random_effects([[0.0, -np.inf, -1.0]])
    assert one.posterior[0, 1] == 0
    assert np.isfinite(one.bound)
    assert one.expected.sum() == pytest.approx(1)
    many = random_effects(np.random.default_rng(0).normal(size=(5000, 4)) * 2)
    assert np.isfinite(many.protected).all()
    assert many.alpha.sum() == pytest.approx(5004)


def test_a_bad_prior_is_refused() -> None:
    with pytest.raises(HowlearnError, match="above 0"):
        random_effects([[0.0, 1.0]], prior=0.0)
