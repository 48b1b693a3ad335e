"""Gradient Bandit: how long probabilities stay above ε, and how fast they change with θ."""

from __future__ import annotations

import math

from howlearn.theory.horizons import gradient_horizon
from howlearn.theory.quantity import Quantity, check_domain, exp

MOST = 2_000_000  # trials that are followed one by one, for what is exact


def gradient_bounds(epsilon: float, actions: int, trials: int, R: float) -> list[Quantity]:
    """T_ε and L_ε for θ ∈ [0, R], the rate of a trial being η = θ/√n; rewards at most 1.

    >>> bounds = {q.key: q.value for q in gradient_bounds(0.05, 2, 500, 0.059 * 500**0.5)}
    >>> bounds["T_epsilon"], round(bounds["L_epsilon"], 4), bounds["T_epsilon_exact"]
    (19, 78.0537, 177)
    """
    check_domain(epsilon, actions, trials, R)
    spare = math.log(1 / (actions * epsilon)) / 2
    horizon = min(gradient_horizon(epsilon, actions, R / math.sqrt(trials)), trials)
    log_l = 0.5 * math.log(2) - math.log(R) - 1.5 * math.log(epsilon)
    log_l += math.log(spare) - 0.5 * math.log(actions)
    stated = "rewards in [0, 1], epsilon < 1/K"
    found = [
        Quantity("T_epsilon", horizon, "Proposition 5", "both", stated,
                 "trials of a cell during which every action has at least probability epsilon"),
        Quantity("log_L_epsilon", log_l, "Proposition 5", "both", stated,
                 "log of the Lipschitz constant of the log-probabilities in theta up to T_epsilon"),
        Quantity("L_epsilon", exp(log_l), "Proposition 5", "both", stated),
    ]  # fmt: skip
    rate = R / math.sqrt(trials)
    if actions == 2 and rate < 2 and trials <= MOST:
        exact = worst_case_horizon(epsilon, rate, trials)
        found += [
            Quantity("T_epsilon_exact", exact, "sharper: exact worst case", "gain",
                     "two actions, rewards in [0, 1], R/sqrt(n) < 2",
                     "the same, exactly, over all records and rates"),
            Quantity("epsilon_at_n", lowest_probability(rate, trials),
                     "sharper: exact worst case", "gain",
                     "two actions, rewards in [0, 1], R/sqrt(n) < 2",
                     "the smallest probability of any action in all n trials"),
            Quantity("log_L_log_rate", math.log(1 / epsilon), "sharper: invariant region", "gain",
                     "two actions, R/sqrt(n) <= 2, probabilities at least epsilon",
                     "log of the Lipschitz constant in log(theta), whatever T and n"),
        ]  # fmt: skip
    if rate <= 4:
        last = next((q.value for q in found if q.key == "T_epsilon_exact"), horizon)
        found += [
            Quantity(key, 2 * max(t - 1, 0) / math.sqrt(trials), "sharper: spectrum of the update",
                     "gain", "any number of actions, R/sqrt(n) <= 4, rewards in [0, 1]",
                     f"Lipschitz constant in theta up to {upto}")
            for key, t, upto in (
                ("L_linear", last, "the longest T_epsilon above"), ("L_linear_n", trials, "n"),
            )
        ]  # fmt: skip
    return found


def worst_case_horizon(epsilon: float, rate: float, trials: int) -> int:
    """How many visits leave every probability at ε or above, whatever is chosen and paid.

    M_0 = 0, M_{v+1} = M_v + 2η σ(−M_v); the smallest probability at visit v is σ(−M_{v−1}).

    >>> worst_case_horizon(0.01, 0.059, 10_000)
    868
    """
    m, v = 0.0, 0
    while v < trials and _sigmoid(-m) >= epsilon:
        m += 2 * rate * _sigmoid(-m)
        v += 1
    return v


def lowest_probability(rate: float, trials: int) -> float:
    """The smallest probability of any action at trial n, whatever happened before.

    >>> round(lowest_probability(0.059, 500), 4)
    0.0175
    """
    m = 0.0
    for _ in range(trials - 1):
        m += 2 * rate * _sigmoid(-m)
    return _sigmoid(-m)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
