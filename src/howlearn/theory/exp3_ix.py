"""Exp3-IX: how long probabilities stay above ε, and how fast they change with θ."""

from __future__ import annotations

import math

from howlearn.theory.horizons import exp3_ix_horizon
from howlearn.theory.quantity import Quantity, check_domain


def exp3_ix_bounds(epsilon: float, actions: int, trials: int, R: float) -> list[Quantity]:
    """T_ε and log L_ε for both parameters in [0, R], each divided by √n in a trial.

    >>> bounds = {q.key: q.value for q in exp3_ix_bounds(0.1, 2, 500, 1.0)}
    >>> bounds["T_epsilon"], round(bounds["log_L_epsilon"], 4)
    (8, 104.6963)
    """
    check_domain(epsilon, actions, trials, R)
    rate = R / math.sqrt(trials)
    horizon = min(exp3_ix_horizon(epsilon, actions, rate, "loss"), trials)
    log_l = 0.5 * math.log(rate**2 + epsilon**2) - 3 * math.log(epsilon) - math.log(R)
    gain = min(exp3_ix_horizon(epsilon, actions, rate, "gain"), trials)
    stated = "losses in [0, 1], epsilon < 1/K"
    return [
        Quantity("T_epsilon", horizon, "Proposition 4", "loss", stated,
                 "trials of a cell during which every action has at least probability epsilon"),
        Quantity("log_L_epsilon", log_l + 1 / epsilon**2, "Proposition 4", "loss", stated,
                 "log of the Lipschitz constant of the log-probabilities in theta up to T_epsilon"),
        Quantity("log_L_at_T", _log_lipschitz(epsilon, rate, horizon, trials),
                 "sharper: the proof's own exponent", "loss", stated,
                 "the same, without rounding the exponent up to 1/epsilon^2"),
        Quantity("T_epsilon_gain", gain, "sharper: for gains", "gain",
                 "rewards in [0, 1], epsilon < 1/K",
                 "the same as T_epsilon where rewards are gains, which the paper does not cover"),
        Quantity("log_L_gain", _log_lipschitz(epsilon, rate, gain, trials), "sharper: for gains",
                 "gain", "rewards in [0, 1], epsilon < 1/K"),
    ]  # fmt: skip


def _log_lipschitz(epsilon: float, rate: float, horizon: int, trials: int) -> float:
    """L(T) = (T/√n)(c/ε)·exp(R_n T/ε²) with c = √(R_n² + ε²)/ε²."""
    if horizon == 0:
        return -math.inf
    c = 0.5 * math.log(rate**2 + epsilon**2) - 2 * math.log(epsilon)
    scale = math.log(horizon / math.sqrt(trials)) + c - math.log(epsilon)
    return scale + rate * horizon / epsilon**2
