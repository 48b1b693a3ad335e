"""The calculators: numbers of the specification, domains, and brute force for short records."""

from __future__ import annotations

import itertools
import math

import pytest

from howlearn.core.errors import HowlearnError
from howlearn.paper.bounds import (
    exp3_ix_bounds,
    gradient_bounds,
    lowest_probability,
    worst_case_horizon,
)
from howlearn.paper.theory import TheoryDesign, published, quantities, repaired, telling_from
from oracle import RULES, log_softmax

R = 0.059 * math.sqrt(500)


def values(found) -> dict[str, float]:
    return {quantity.key: quantity.value for quantity in found}


def test_gradient_bandit() -> None:
    found = values(gradient_bounds(0.05, 2, 500, R))
    assert found["T_epsilon"] == 19
    assert found["L_epsilon"] == pytest.approx(78.0537, abs=1e-4)
    assert found["log_L_epsilon"] == pytest.approx(math.log(78.0537), abs=1e-6)
    assert found["T_epsilon_exact"] == 177
    assert found["L_linear_n"] == pytest.approx(2 * 499 / math.sqrt(500))
    assert "T_epsilon_exact" not in values(gradient_bounds(0.05, 3, 500, R))  # two actions only
    assert "L_linear" not in values(gradient_bounds(0.05, 2, 4, 10.0))  # rates up to 4 only


@pytest.mark.parametrize(
    ("epsilon", "rate", "visits"),
    [(0.05, 0.059, 177), (0.01, 0.059, 868), (0.01, 1, 50), (0.001, 1, 500)],
)
def test_the_exact_worst_case(epsilon: float, rate: float, visits: int) -> None:
    assert worst_case_horizon(epsilon, rate, 10**6) == visits
    assert lowest_probability(rate, visits) >= epsilon > lowest_probability(rate, visits + 1)


@pytest.mark.parametrize(("rate", "p"), [(0.059, 0.0175), (0.1, 0.0102), (1.0, 0.001)])
def test_the_lowest_probability_in_500_trials(rate: float, p: float) -> None:
    assert lowest_probability(rate, 500) == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize("rate", [0.1, 0.7, 1.5])
def test_the_worst_case_by_brute_force(rate: float) -> None:
    """All sequences of actions and rewards, several rates up to the largest."""
    n = 7
    lowest = [1.0] * n
    for eta in (0.3 * rate, 0.8 * rate, rate):
        for actions in itertools.product((0, 1), repeat=n - 1):
            for rewards in itertools.product((0.0, 1.0), repeat=n - 1):
                h = [0.0, 0.0]
                for v in range(n):
                    log_p = log_softmax(h)
                    lowest[v] = min(lowest[v], math.exp(min(log_p)))
                    if v < n - 1:
                        h = RULES["gradient"](h, log_p, actions[v], rewards[v], 1.0, eta)
    expected = [lowest_probability(rate, v) for v in range(1, n + 1)]
    assert lowest == pytest.approx(expected, abs=1e-12)


def test_exp3_ix() -> None:
    found = values(exp3_ix_bounds(0.1, 2, 500, 1.0))
    assert found["T_epsilon"] == 8
    assert found["log_L_epsilon"] == pytest.approx(104.6963, abs=1e-4)
    assert found["log_L_at_T"] < found["log_L_epsilon"]


@pytest.mark.parametrize(("form", "key"), [("loss", "T_epsilon"), ("gain", "T_epsilon_gain")])
def test_exp3_ix_stays_above_epsilon(form: str, key: str) -> None:
    """All sequences of actions, the largest feedback each time, rates up to R."""
    n, epsilon, largest = 400, 0.12, 2.0
    horizon = int(values(exp3_ix_bounds(epsilon, 2, n, largest))[key])
    assert horizon >= 3
    short = min(horizon, 9)
    sign = 1.0 if form == "gain" else -1.0
    for eta, gamma in itertools.product((0.5, 2.0), (0.0, 0.5, 2.0)):
        for actions in itertools.product((0, 1), repeat=short - 1):
            h = [0.0, 0.0]
            for v in range(short):
                log_p = log_softmax(h)
                assert math.exp(min(log_p)) >= epsilon
                if v < short - 1:
                    rates = (eta / math.sqrt(n), gamma / math.sqrt(n))
                    h = RULES["exp3-ix"](h, log_p, actions[v], 1.0, sign, *rates)


def test_what_theorem_3_asks_for() -> None:
    found = values(quantities(TheoryDesign("gradient", 500, R, 0.05, sizes=(9, 1, 2, 2, 4, 4))))
    assert found["A_epsilon"] == pytest.approx(108.97, abs=0.01)
    assert found["penalty_per_parameter"] == pytest.approx(1.09e5, rel=0.01)
    assert found["Sigma_epsilon"] == pytest.approx(math.log(108.97) * 0.6753, rel=1e-4)
    ix = values(quantities(TheoryDesign("exp3-ix", 500, 1.0, 0.03)))
    assert ix["A_epsilon"] == math.inf  # its log is there beside it
    assert math.isfinite(ix["log_A_epsilon"])


def test_the_constants_of_the_hold_out() -> None:
    found = [published(d, 250, 6).multiplier for d in (1.3, 1.5, 2, 3, 5)]
    assert found == pytest.approx([71483, 2289, 936, 666, 668], abs=0.5)
    rounded = [published(d, 250, 6, rounded=True).multiplier for d in (1.3, 1.5, 2, 3, 5)]
    assert rounded == pytest.approx([277017, 8830, 3577, 2514, 2486], abs=0.5)
    better = [repaired(d, 250, 6).multiplier for d in (0.75, 1, 1.5, 2, 3)]
    assert better == pytest.approx([223, 162, 146, 153, 182], abs=1)
    assert published(2, 250, 6).residual == pytest.approx(51.8, abs=0.05)
    assert repaired(2, 250, 6).residual == pytest.approx(3.2, abs=0.1)
    assert repaired(2, 10_000, 6).residual == pytest.approx(0.088, abs=0.001)
    for bound in (published, repaired):
        n = telling_from(bound, 2, 6)
        assert bound(2, n, 6).residual < 1 <= bound(2, n - 1, 6).residual


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.5}, "1/K = 0.5"),
        ({"epsilon": 0.0}, "epsilon must lie between 0"),
        ({"R": 0.0}, "positive number, got 0"),
        ({"R": math.nan}, "positive number"),
        ({"actions": 1}, "at least two actions"),
        ({"trials": 0}, "at least one trial"),
        ({"rule": "exp3"}, "gradient, exp3-ix, exp4"),
        ({"split": 1.0}, "split must lie between"),
        ({"leading": 0.5}, "leading constants above"),
        ({"sizes": (1, -2)}, "0 or more parameters"),
    ],
)
def test_what_lies_outside_the_domain_is_refused(change: dict, words: str) -> None:
    usual = {"rule": "gradient", "trials": 500, "R": 1.0, "epsilon": 0.05}
    with pytest.raises(HowlearnError, match=words):
        quantities(TheoryDesign(**{**usual, **change}))
