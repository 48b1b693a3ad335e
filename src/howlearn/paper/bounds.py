"""How long probabilities stay above ε, and how fast they change with θ, rule by rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Form
from howlearn.core.rules import Exp3IX, GradientBandit, exp3_ix_horizon, gradient_horizon
from howlearn.fitting.fits import check_epsilon

# A number of the theory, with where it comes from and when it holds.


SURELY = "trials with every probability at least epsilon"


@dataclass(frozen=True)
class Quantity:
    """One formula's value for one design."""

    key: str
    value: float
    source: str  # where it is stated, or that it is this project's own
    form: str  # gain, loss, or both
    assumptions: str
    meaning: str = ""
    brief: str = ""  # a few plain words, for what a short list shows

    @property
    def words(self) -> str:
        """The value in print."""
        return f"{self.value:,.6g}" if math.isfinite(self.value) else "overflows"

    def plain(self) -> Any:
        """For JSON: whole numbers as such, and no infinity."""
        if isinstance(self.value, int) or not math.isfinite(self.value):
            return self.value if math.isfinite(self.value) else None
        return float(self.value)


def check_domain(epsilon: float, actions: int, trials: int, R: float) -> None:
    """Refuse what the propositions on bandits do not cover."""
    if actions < 2:
        raise HowlearnError(f"at least two actions are needed, got {actions}")
    if trials < 1:
        raise HowlearnError(f"at least one trial is needed, got {trials}")
    check_epsilon(epsilon, actions)
    if not 0 < R < math.inf:
        raise HowlearnError(f"R, the largest theta, must be a positive number, got {R:g}")


def exp(x: float) -> float:
    """Infinite where it overflows: the log is given beside it."""
    return math.exp(x) if x < 700 else math.inf


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
                 "trials of a cell during which every action has at least probability epsilon",
                 SURELY),
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
                     "the same, exactly, over all records and rates", f"{SURELY}, exactly"),
            Quantity("epsilon_at_n", lowest_probability(rate, trials),
                     "sharper: exact worst case", "gain",
                     "two actions, rewards in [0, 1], R/sqrt(n) < 2",
                     "the smallest probability of any action in all n trials",
                     "smallest probability of an action in n trials"),
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


# Exp3-IX: how long probabilities stay above ε, and how fast they change with θ.


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
                 "trials of a cell during which every action has at least probability epsilon",
                 SURELY),
        Quantity("log_L_epsilon", log_l + 1 / epsilon**2, "Proposition 4", "loss", stated,
                 "log of the Lipschitz constant of the log-probabilities in theta up to T_epsilon"),
        Quantity("log_L_at_T", _log_lipschitz(epsilon, rate, horizon, trials),
                 "sharper: the proof's own exponent", "loss", stated,
                 "the same, without rounding the exponent up to 1/epsilon^2"),
        Quantity("T_epsilon_gain", gain, "sharper: for gains", "gain",
                 "rewards in [0, 1], epsilon < 1/K",
                 "the same as T_epsilon where rewards are gains, which the paper does not cover",
                 f"{SURELY}, for gains"),
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


# How long the probabilities of Exp4 stay away from 0, and how fast they change with θ.


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
                 "trials during which every action has at least probability epsilon", SURELY),
        Quantity("log_L_epsilon", loss.log_lipschitz, "Proposition 6", "loss", stated,
                 "log of the Lipschitz constant of the log-probabilities in theta up to T_epsilon"),
        Quantity("log_L_factor", sharper, "sharper: the proof's own factor", "loss", stated,
                 "the same with the factor 1 - |F| epsilon/rho that the paper drops"),
        Quantity("T_epsilon_gain", gain.horizon, "sharper: for gains", "gain", stated,
                 "the same as T_epsilon where rewards are gains, which the paper does not cover",
                 f"{SURELY}, for gains"),
        Quantity("log_L_gain", gain.log_lipschitz, "sharper: for gains", "gain", stated),
    ]  # fmt: skip


def _check(epsilon: float, n_experts: int, rho: float, n_trials: int, R: float) -> None:
    if n_experts < 1:
        raise HowlearnError(f"at least one expert is needed, got {n_experts}")
    if n_trials < 1:
        raise HowlearnError(f"at least one trial is needed, got {n_trials}")
    if not 0 < rho <= n_experts:
        raise HowlearnError(f"rho must be above 0 and at most the number of experts, got {rho:g}")
    if not 0 < epsilon < rho / n_experts:
        raise HowlearnError(
            f"epsilon must lie between 0 and rho/|F| = {rho / n_experts:g}, got {epsilon:g}"
        )
    if not 0 < R < math.inf:
        raise HowlearnError(f"R must be a positive number, got {R:g}")


# By the names of the rules that the paper has propositions for.
CELL_BOUNDS = {GradientBandit.name: gradient_bounds, Exp3IX.name: exp3_ix_bounds}
