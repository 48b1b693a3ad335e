"""The check of the propositions: its recursions, its sequences, and that it can find fault."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from howlearn.paper.bounds import lowest_probability
from howlearn.paper.theory import TheoryDesign
from howlearn.paper.verify_propositions import (
    CLAIMS,
    Proposition,
    _check,
    _Tally,
    check_propositions,
    every_sequence,
    exp3_ix_paths,
    exp4_paths,
    gradient_paths,
)
from oracle import exp3_ix, gradient_bandit, log_softmax

STEP = 1e-6


def played(rng, trials, actions):
    chosen, g = rng.integers(0, actions, trials), rng.random(trials)
    return chosen, g, lambda p, t: (np.full(len(p), chosen[t]), np.full(len(p), g[t]))


def plain(update, chosen, g, sign, actions, *parameters):
    """Log-probabilities before every trial."""
    h, before = [0.0] * actions, []
    for a, x in zip(chosen, g, strict=True):
        before.append(log_softmax(h))
        h = update(h, before[-1], int(a), float(x), sign, *parameters)
    return np.array(before)


@pytest.mark.parametrize("form", ["gain", "loss"])
@pytest.mark.parametrize("actions", [2, 4])
def test_paths_are_plain_replays_with_their_derivatives(form, actions):
    rng, sign = np.random.default_rng(3), 1.0 if form == "gain" else -1.0
    chosen, g, player = played(rng, 30, actions)
    eta, gamma = 0.2, 0.1
    found = gradient_paths(np.array([eta]), actions, 30, player, form, 0.0)
    at = [plain(gradient_bandit, chosen, g, sign, actions, eta + d) for d in (-STEP, 0, STEP)]
    slope = np.abs(at[2] - at[0]).max(axis=1) / (2 * STEP)
    assert_allclose(found.probability, np.exp(at[1]).min(axis=1), rtol=1e-10)
    assert_allclose(found.slope, slope, atol=1e-6)
    found = exp3_ix_paths(np.array([eta]), np.array([gamma]), actions, 30, player, form)
    at = plain(exp3_ix, chosen, g, sign, actions, eta, gamma)
    both = []
    for de, dg in ((STEP, 0.0), (0.0, STEP)):
        up = plain(exp3_ix, chosen, g, sign, actions, eta + de, gamma + dg)
        down = plain(exp3_ix, chosen, g, sign, actions, eta - de, gamma - dg)
        both.append((up - down) / (2 * STEP))
    assert_allclose(found.probability, np.exp(at).min(axis=1), rtol=1e-9)
    assert_allclose(found.slope, np.hypot(*both).max(axis=1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", ["gain", "loss"])
def test_paths_of_mixtures_are_plain_replays(form):
    rng = np.random.default_rng(4)
    chosen, g, player = played(rng, 25, 3)
    advice = rng.dirichlet(np.ones(3), (25, 2))

    def log_pi(theta):
        weight, out = np.zeros(2), []
        for t in range(25):
            q = np.exp(weight - np.logaddexp.reduce(weight))
            pi = q @ advice[t]
            out.append(np.log(pi))
            sign = 1 if form == "gain" else -1
            weight = weight + sign * theta * advice[t][:, chosen[t]] * g[t] / pi[chosen[t]]
        return np.array(out)

    found = exp4_paths(np.array([0.3]), 25, player, lambda t: advice[t][None], form)
    slope = np.abs(log_pi(0.3 + STEP) - log_pi(0.3 - STEP)).max(axis=1) / (2 * STEP)
    assert_allclose(found.probability, np.exp(log_pi(0.3)).min(axis=1), rtol=1e-10)
    assert_allclose(found.slope, slope, atol=1e-6)


def test_every_sequence_is_there_once():
    player, count = every_sequence(4, 2)
    assert count == 4**3
    played = [player(np.empty((count, 2)), t) for t in range(3)]
    steps = np.stack([a + 2 * (1 - g) for a, g in played], axis=1)
    assert len({tuple(row) for row in steps}) == count
    assert every_sequence(12, 2)[1] == 2**11  # all actions, with feedback 1
    assert every_sequence(40, 2) is None


def test_the_worst_case_is_reached_by_some_sequence():
    player, count = every_sequence(8, 2)
    found = gradient_paths(np.full(count, 0.4), 2, 8, player, "gain", 0.0)
    exact = [lowest_probability(0.4, v) for v in range(1, 9)]
    assert_allclose(found.probability, exact, atol=1e-15)


def test_nothing_is_violated():
    found = check_propositions(seed=5)
    assert found["violations"].sum() == 0
    assert len(found) == len(CLAIMS)
    assert found["designs"].min() >= 10
    assert found["closest"].max() > 0.99  # some bound is nearly reached


@pytest.mark.parametrize(
    "wrong",
    [
        Proposition("exp3-ix", "gain", None, "log_L_at_T"),  # beyond its horizon
        Proposition("exp3-ix", "loss", None, "log_L_at_T"),
        Proposition("gradient", "loss", "T_epsilon_exact", None),
        Proposition("gradient", "loss", None, "log_L_log_rate"),
    ],
)
def test_a_wrong_claim_is_found_out(wrong):
    tallies = {wrong: _Tally()}
    for rate in (0.05, 0.3):
        design = TheoryDesign(wrong.rule, 500, rate * math.sqrt(500), 0.05)
        _check([wrong], design, 0, tallies)
    tally = tallies[wrong]
    assert tally.violations > 0
    assert tally.closest > 1
    assert tally.example.startswith("K=2, n=500")
