"""How long the probabilities of Exp4 stay away from 0, and how fast they change with θ."""

from __future__ import annotations

import math
from typing import NamedTuple

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Form
from howlearn.theory.quantity import Quantity


class Exp4Bounds(NamedTuple):
    """Up to trial ``horizon`` every action has at least the probability ε, and log-probabilities
    change by at most exp(``log_lipschitz``) times the change of θ."""

    horizon: int  # T_ε
    log_lipschitz: float  # log L_ε


def exp4_bounds(
    epsilon: float, n_experts: int, rho: float, n_trials: int, R: float, form: Form = "loss"
) -> Exp4Bounds:
    """T_ε and log L_ε of Exp4 with θ ∈ [0, R], the rate of a trial being θ/√n.

    Loss form: Proposition 6 of Aubert et al. (2025), for feedback in [0, 1]. For the gain form the
    paper gives nothing; there T_ε is this project's own bound, and L_ε that of the general
    argument, (|F|T/(ε√n))·exp(|F|RT/(ε²√n))/ε. ``rho`` is a lower bound of the sum of the experts'
    probabilities of any action.

    >>> bounds = exp4_bounds(epsilon=0.1, n_experts=2, rho=0.5, n_trials=500, R=1.0)
    >>> bounds.horizon, round(bounds.log_lipschitz, 4)
    (6, 104.6052)
    """
    _check(epsilon, n_experts, rho, n_trials, R)
    rate = R / math.sqrt(n_trials)
    if form == "loss":
        horizon = math.floor((1 / n_experts - epsilon / rho) / rate)
        return Exp4Bounds(min(horizon, n_trials), 1 / epsilon**2 - math.log(R * epsilon**2))
    steps = math.log(rho / (n_experts * epsilon)) / (rate * (1 + rate / (8 * epsilon**2)))
    horizon = min(math.floor(steps), n_trials)
    if horizon == 0:
        return Exp4Bounds(0, -math.inf)
    scale = math.log(n_experts * horizon / (epsilon**2 * math.sqrt(n_trials)))
    return Exp4Bounds(horizon, scale + n_experts * rate * horizon / epsilon**2)


def exp4_quantities(
    epsilon: float, n_experts: int, rho: float, n_trials: int, R: float
) -> list[Quantity]:
    """The same for both forms, labelled."""
    loss, gain = (
        exp4_bounds(epsilon, n_experts, rho, n_trials, R, form) for form in ("loss", "gain")
    )
    left = 1 - n_experts * epsilon / rho
    sharper = math.log(left) - math.log(R * epsilon**2) + left / epsilon**2
    stated = "losses in [0, 1], experts whose probabilities of any action add up to rho or more"
    return [
        Quantity("T_epsilon", loss.horizon, "Proposition 6", "loss", stated,
                 "trials during which every action has at least probability epsilon"),
        Quantity("log_L_epsilon", loss.log_lipschitz, "Proposition 6", "loss", stated,
                 "log of the Lipschitz constant of the log-probabilities in theta up to T_epsilon"),
        Quantity("log_L_factor", sharper, "sharper: the proof's own factor", "loss", stated,
                 "the same with the factor 1 - |F| epsilon/rho that the paper drops"),
        Quantity("T_epsilon_gain", gain.horizon, "sharper: for gains", "gain", stated,
                 "the same as T_epsilon where rewards are gains, which the paper does not cover"),
        Quantity("log_L_gain", gain.log_lipschitz, "sharper: for gains", "gain", stated),
    ]  # fmt: skip


def _check(epsilon: float, n_experts: int, rho: float, n_trials: int, R: float) -> None:
    if n_experts < 1:
        raise HowlearnError(f"there is at least one expert, not {n_experts}")
    if n_trials < 1:
        raise HowlearnError(f"there is at least one trial, not {n_trials}")
    if not 0 < rho <= n_experts:
        raise HowlearnError(
            f"rho lies above 0 and at most at the number of experts, not at {rho:g}"
        )
    if not 0 < epsilon < rho / n_experts:
        raise HowlearnError(
            f"epsilon lies between 0 and rho/|F| = {rho / n_experts:g}, not at {epsilon:g}"
        )
    if not 0 < R < math.inf:
        raise HowlearnError(f"R is a positive number, not {R:g}")
