"""The proposition on Exp4: numbers, domain, and whether it holds on paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.models.coin import Coin
from howlearn.models.exp4 import Exp4
from howlearn.models.mixture import Expert, WeighedTrials
from howlearn.paper.bounds import exp4_bounds

MODEL = {
    form: Exp4([Expert(Coin(), {"p(A)": 0.5}), Expert(Coin(), {"p(A)": 0.4})], form=form)
    for form in ("gain", "loss")
}


def test_the_numbers_of_the_specification() -> None:
    found = exp4_bounds(epsilon=0.1, n_experts=2, rho=0.5, n_trials=500, R=1.0)
    assert found.horizon == 6
    assert found.log_lipschitz == pytest.approx(104.6052, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.25}, "rho/|F| = 0.25"),
        ({"epsilon": 0.0}, "epsilon must lie between"),
        ({"rho": 0.0}, "rho must be above 0"),
        ({"rho": 3.0}, "rho must be above 0"),
        ({"R": 0.0}, "R must be a positive number"),
        ({"n_experts": 0}, "at least one expert"),
        ({"n_trials": 0}, "at least one trial"),
    ],
)
def test_what_lies_outside_the_domain_is_refused(change: dict, words: str) -> None:
    usual = {"epsilon": 0.1, "n_experts": 2, "rho": 0.5, "n_trials": 500, "R": 1.0}
    with pytest.raises(HowlearnError) as caught:
        exp4_bounds(**{**usual, **change})
    assert words in str(caught.value)


def _paths(seed: int, n_experts: int, rho: float, horizon: int):
    """Random advice with Σ_j ξ_j ≥ ρ, and actions that are random or chosen to do harm."""
    random = np.random.default_rng(seed)
    for kind in ("random", "same action", "least likely", "most likely"):
        xi = random.beta(0.4, 0.4, (horizon, n_experts))
        low = rho / n_experts
        yield kind, low + (1 - 2 * low) * xi, random


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize(("n_experts", "R", "n"), [(2, 1.0, 500), (3, 0.5, 2000), (2, 5.0, 500)])
def test_the_bounds_hold_on_paths(form: str, n_experts: int, R: float, n: int) -> None:
    rho = 0.4
    for epsilon in (0.3 * rho / n_experts, 0.8 * rho / n_experts):
        bounds = exp4_bounds(epsilon, n_experts, rho, n, R, form)
        if bounds.horizon < 1:
            continue
        for seed in range(5):
            for kind, xi, random in _paths(seed, n_experts, rho, bounds.horizon):
                _check_path(form, kind, xi, random, R / math.sqrt(n), epsilon, bounds, math.sqrt(n))


def _check_path(form, kind, xi, random, rate, epsilon, bounds, root):
    horizon, n_experts = xi.shape
    model = Exp4(
        [Expert(Coin(), {"p(A)": 0.1 + 0.1 * j}) for j in range(n_experts)],
        form=form,
        max_rate=20.0,
    )
    advice = np.log(np.stack([xi, 1 - xi], axis=2))
    sign = 1.0 if form == "gain" else -1.0
    action = random.integers(0, 2, horizon)
    trials = WeighedTrials(
        np.array([0, horizon]), action, np.full(horizon, sign), np.full(horizon, 3, np.uint8)
    )
    policies = []
    for share in (1.0, 0.5):
        if kind != "random" and share == 1.0:
            for t in range(horizon):  # the policy at t depends on what was chosen before only
                pi = np.exp(model.blend(np.array([rate]), advice, trials)[1][t])
                pick = {"same action": 0, "least likely": np.argmin(pi)}.get(kind, np.argmax(pi))
                action[t] = pick
        policies.append(model.blend(np.array([share * rate]), advice, trials)[1])
    assert np.exp(np.stack(policies)).min() >= epsilon - 1e-12
    change = np.abs(policies[0] - policies[1]).max()
    if change > 0:
        assert math.log(change / (0.5 * rate * root)) <= bounds.log_lipschitz


def test_the_loss_form_holds_for_all_sequences_of_actions() -> None:
    bounds = exp4_bounds(epsilon=0.05, n_experts=2, rho=0.5, n_trials=400, R=1.0)
    horizon = min(bounds.horizon, 8)
    assert horizon == 8
    xi = np.linspace(0.25, 0.75, horizon)[:, None] * np.array([1.0, 0.0]) + np.array([0.0, 0.25])
    advice = np.log(np.stack([xi, 1 - xi], axis=2))
    for actions in itertools.product((0, 1), repeat=horizon):
        trials = WeighedTrials(
            np.array([0, horizon]),
            np.array(actions),
            np.full(horizon, -1.0),
            np.full(horizon, 3, np.uint8),
        )
        log_pi = MODEL["loss"].blend(np.array([1.0 / 20]), advice, trials)[1]
        assert np.exp(log_pi).min() >= 0.05
