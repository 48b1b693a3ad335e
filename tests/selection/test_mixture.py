"""Shares by EM: against a plain optimiser, and what intervals are worth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from howlearn.core.errors import HowlearnError
from howlearn.selection import mixture_shares as shares_module
from howlearn.selection.mixture_shares import (
    certain,
    climb,
    drawn_times,
    mixture_shares,
    resampled_shares,
    scaled,
)


def evidence(n: int, share: list[float], seed: int, clear: float = 2.0) -> np.ndarray:
    """Log-evidence of learners whose models are drawn with these shares.

    A learner of model m shows x ~ N(clear e_m, 1): its log-likelihood is clear x_m plus a constant.
    """
    random = np.random.default_rng(seed)
    shown = random.normal(size=(n, len(share)))
    shown[np.arange(n), random.choice(len(share), n, p=share)] += clear
    return clear * shown - 300.0


def best(log_evidence: np.ndarray) -> tuple[np.ndarray, float]:
    """The obvious way: a general optimiser on the simplex, from several starts."""

    def minus(y: np.ndarray) -> float:
        w = np.exp(y - y.max())
        w /= w.sum()
        top = log_evidence.max(axis=1)
        return -float((top + np.log(np.exp(log_evidence - top[:, None]) @ w)).sum())

    random = np.random.default_rng(0)
    tries = [minimize(minus, random.normal(size=log_evidence.shape[1])) for _ in range(3)]
    found = min(tries, key=lambda each: each.fun)
    w = np.exp(found.x - found.x.max())
    return w / w.sum(), -found.fun


@pytest.mark.parametrize("share", [[0.5, 0.3, 0.2], [1.0, 0.0], [0.25] * 4, [1.0]])
def test_shares_are_those_of_a_plain_optimiser(share: list[float]) -> None:
    given = evidence(40, share, seed=len(share))
    found = mixture_shares(given, resamples=0)
    plain, value = best(given)
    assert found.log_likelihood >= value - 1e-6
    assert np.abs(found.share - plain).max() < 2e-3
    assert found.share.sum() == pytest.approx(1.0)
    assert np.isnan(found.lower).all()


def test_known_models_are_counted() -> None:
    found = mixture_shares(certain(np.repeat([0, 2], [6, 2]), 3))
    assert found.share.tolist() == pytest.approx([0.75, 0, 0.25])
    assert found.log_likelihood == pytest.approx(6 * np.log(0.75) + 2 * np.log(0.25))
    # No model can be said to be used by nobody, with eight learners.
    assert found.lower[1] == 0
    assert found.upper[1] == pytest.approx(1 - np.exp(-1.92 / 8), abs=1e-6)


def test_no_step_goes_down(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, _ = scaled(evidence(200, [0.6, 0.4, 0.0, 0.0], 3, clear=0.3))
    times = drawn_times(np.arange(200), 20, np.random.default_rng(1))
    values = []
    for steps in range(30):
        monkeypatch.setattr(shares_module, "STEPS", steps)
        values.append(climb(likelihood, times, gap=0.0)[1])
    assert (np.diff(values, axis=0) >= -1e-9).all()
    assert (np.diff(values, axis=0)[0] > 1e-3).any()


def test_many_resamples_are_those_done_one_by_one() -> None:
    likelihood, _ = scaled(evidence(60, [0.7, 0.3, 0.0], 5))
    times = drawn_times(np.arange(60), 15, np.random.default_rng(2))
    together = climb(likelihood, times)[0]
    for row, share in zip(times, together, strict=True):
        repeated = np.repeat(likelihood, row.astype(int), axis=0)
        alone = climb(repeated, np.ones((1, len(repeated))))[0][0]
        assert np.abs(alone - share).max() < 1e-3
    per_row = np.repeat(likelihood[None], len(times), axis=0)
    assert climb(per_row, times)[0] == pytest.approx(together)


def test_sequences_of_one_learner_are_resampled_together() -> None:
    times = drawn_times(np.array([0, 0, 1, 2, 2]), 50, np.random.default_rng(0))
    assert (times[:, 0] == times[:, 1]).all()
    assert (times[:, 3] == times[:, 4]).all()
    assert (times[:, [0, 2, 3]].sum(axis=1) == 3).all()


def test_blocks_of_resamples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood, _ = scaled(evidence(20, [0.5, 0.5], 1))
    at_once = resampled_shares(likelihood, 12, np.random.default_rng(4))
    monkeypatch.setattr(shares_module, "HELD", 60)
    assert resampled_shares(likelihood, 12, np.random.default_rng(4)) == pytest.approx(at_once)


def test_intervals_cover() -> None:
    truth = np.array([0.6, 0.3, 0.1, 0.0])
    covered, lengths = [], []
    for seed in range(150):
        found = mixture_shares(evidence(40, truth.tolist(), seed), 150, seed)
        covered.append((found.lower <= truth) & (truth <= found.upper))
        lengths.append(found.upper - found.lower)
    assert np.mean(covered, axis=0).min() > 0.88  # three standard errors below 0.95 are 0.90
    assert np.mean(lengths) < 0.35


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0.0, 1.0], "a row per learner"),
        ([[0.0, np.nan]], "number of nats"),
        ([[0.0, -1.0], [-np.inf, -np.inf]], "row 2"),
        (np.empty((0, 3)), "a row per learner"),
    ],
)
def test_what_is_no_evidence_is_refused(given: object, words: str) -> None:
    with pytest.raises(HowlearnError, match=words):
        mixture_shares(given)  # type: ignore[arg-type]
