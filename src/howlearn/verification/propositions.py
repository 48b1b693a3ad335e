"""Do the propositions hold, along random, adversarial and all short sequences?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.rule import Form
from howlearn.theory.exp3_ix import exp3_ix_bounds
from howlearn.theory.exp4 import exp4_quantities
from howlearn.theory.gradient import gradient_bounds
from howlearn.theory.quantity import Quantity
from howlearn.verification.paths import Extremes, Player, exp3_ix_paths, exp4_paths, gradient_paths
from howlearn.verification.players import adversaries, every_sequence

LONGEST = 300  # trials of a path: beyond, nothing new happens
EACH = 24  # paths of every habit
ROUNDING = 1e-9  # of a comparison
SHARES = (1.0, 0.9, 0.5, 0.1, 0.01)  # of the largest rate, besides those drawn


@dataclass(frozen=True)
class Setup:
    """One design on which a proposition is tried."""

    actions: int
    trials: int
    R: float
    epsilon: float
    experts: int = 0
    rho: float = 1.0

    @property
    def rate(self) -> float:
        """The largest rate of a trial."""
        return self.R / math.sqrt(self.trials)

    def __str__(self) -> str:
        more = f", {self.experts} experts, rho={self.rho:g}" if self.experts else ""
        return f"K={self.actions}, n={self.trials}, R={self.R:g}, epsilon={self.epsilon:.3g}{more}"


@dataclass(frozen=True)
class Claim:
    """A bound by the keys of its numbers in the calculators."""

    rule: str
    form: Form
    horizon: str | None  # the key of T; None: every trial
    lipschitz: str | None  # the key of L or log L; None: the claim is about probabilities
    in_log_rate: bool = False  # whether L is about log θ, where probabilities are at least ε


CLAIMS = (
    Claim("gradient", "gain", "T_epsilon", None),
    Claim("gradient", "loss", "T_epsilon", None),
    Claim("gradient", "gain", "T_epsilon", "log_L_epsilon"),
    Claim("gradient", "loss", "T_epsilon", "log_L_epsilon"),
    Claim("exp3-ix", "loss", "T_epsilon", None),
    Claim("exp3-ix", "loss", "T_epsilon", "log_L_epsilon"),
    Claim("exp4", "loss", "T_epsilon", None),
    Claim("exp4", "loss", "T_epsilon", "log_L_epsilon"),
    Claim("gradient", "gain", "T_epsilon_exact", None),
    Claim("gradient", "gain", "T_epsilon_exact", "L_linear"),
    Claim("gradient", "gain", None, "log_L_log_rate", in_log_rate=True),
    Claim("exp3-ix", "loss", "T_epsilon", "log_L_at_T"),
    Claim("exp3-ix", "gain", "T_epsilon_gain", None),
    Claim("exp3-ix", "gain", "T_epsilon_gain", "log_L_gain"),
    Claim("exp4", "loss", "T_epsilon", "log_L_factor"),
    Claim("exp4", "gain", "T_epsilon_gain", None),
    Claim("exp4", "gain", "T_epsilon_gain", "log_L_gain"),
)


def setups(rule: str) -> Iterator[Setup]:
    """Designs within the propositions' domain: long and short horizons, few and many actions."""
    for actions, trials, rate, share in product(
        (2, 3, 5), (125, 5000), (0.01, 0.05, 0.3), (0.04, 0.3, 0.8)
    ):
        R = rate * math.sqrt(trials)
        if rule != "exp4":
            yield Setup(actions, trials, R, share / actions)
            continue
        if actions == 5:
            continue
        for experts, rho in ((2, 0.2), (4, 1.0)):
            yield Setup(actions, trials, R, share * rho / experts, experts, rho)


def bounds_of(rule: str, setup: Setup) -> dict[str, Quantity]:
    """What the calculators say of a design."""
    common = (setup.epsilon, setup.actions, setup.trials, setup.R)
    if rule == "gradient":
        found = gradient_bounds(*common)
    elif rule == "exp3-ix":
        found = exp3_ix_bounds(*common)
    else:
        found = exp4_quantities(setup.epsilon, setup.experts, setup.rho, setup.trials, setup.R)
    return {quantity.key: quantity for quantity in found}


@dataclass
class _Tally:
    """What was found about a claim so far."""

    source: str = ""
    designs: int = 0
    paths: int = 0
    longest: int = 0  # trials of a path
    closest: float = 0.0  # the largest share of what the bound allows that any path used
    violations: int = 0  # designs and kinds of paths for which it was more than all
    example: str | None = None


def check_propositions(
    seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> pl.DataFrame:
    """One row per claim: how close any path came to the bound, and how often one went beyond."""
    tallies = {claim: _Tally() for claim in CLAIMS}
    kinds = [*dict.fromkeys((claim.rule, claim.form) for claim in CLAIMS)]
    for k, kind in enumerate(kinds):
        mine = [claim for claim in CLAIMS if (claim.rule, claim.form) == kind]
        for setup in setups(kind[0]):
            _check(mine, setup, seed, tallies)
        if progress:
            progress(k + 1, len(kinds))
    rows = [
        {"rule": claim.rule, "form": claim.form, "claim": _words(claim), **vars(tally)}
        for claim, tally in tallies.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"example": pl.String})


def _check(claims: list[Claim], setup: Setup, seed: int, tallies: dict[Claim, _Tally]) -> None:
    """All claims about one rule and form, on one design."""
    known = bounds_of(claims[0].rule, setup)
    found: dict[int, list[tuple[int, Extremes]]] = {}  # by the number of trials
    for claim in claims:
        if claim.horizon not in (None, *known) or claim.lipschitz not in (None, *known):
            continue  # such as a bound for two actions
        horizon = setup.trials if claim.horizon is None else int(known[claim.horizon].value)
        trials = min(horizon, LONGEST)
        if trials < 1:
            continue
        if trials not in found:
            found[trials] = [
                (paths, _extremes(claim, setup, player, paths, trials, seed))
                for player, paths in _players(setup, trials, seed)
            ]
        quantity, tally = known[claim.lipschitz or claim.horizon or ""], tallies[claim]
        tally.source, tally.designs = quantity.source, tally.designs + 1
        tally.longest = max(tally.longest, trials)
        for paths, extremes in found[trials]:
            share = _share(claim, setup, quantity, extremes)
            tally.paths += paths
            tally.closest = max(tally.closest, share)
            if share > 1.0 + ROUNDING:
                tally.violations += 1
                tally.example = tally.example or str(setup)


def _words(claim: Claim) -> str:
    upto = f" up to {claim.horizon}" if claim.horizon else ""
    if claim.in_log_rate:
        return "|d logit / d log rate| <= 1/epsilon while p >= epsilon"
    if claim.lipschitz is None:
        return f"p >= epsilon{upto}"
    bound = claim.lipschitz.removeprefix("log_")
    return f"|d log p / d theta| <= {bound}{upto}"


def _players(setup: Setup, trials: int, seed: int) -> Iterator[tuple[Player, int]]:
    yield adversaries(EACH, setup.actions, seed)
    short = every_sequence(trials, setup.actions)
    if short is not None:
        yield short


def _extremes(
    claim: Claim, setup: Setup, player: Player, paths: int, trials: int, seed: int
) -> Extremes:
    """The largest rate for most paths, smaller ones for the others."""
    # Where a bound does not hold, a probability may reach 0; what follows is not a number then, and
    # counts as a violation.
    with np.errstate(all="ignore"):
        return _followed(claim, setup, player, paths, trials, seed)


def _followed(
    claim: Claim, setup: Setup, player: Player, paths: int, trials: int, seed: int
) -> Extremes:
    random = np.random.default_rng(seed + 1)
    shares = np.where(random.random(paths) < 0.5, 1.0, random.choice(SHARES, paths))
    eta = setup.rate * shares
    if claim.rule == "gradient":
        return gradient_paths(eta, setup.actions, trials, player, claim.form, setup.epsilon)
    if claim.rule == "exp3-ix":
        gamma = setup.rate * random.choice([0.0, 0.01, 0.5, 1.0], paths)
        return exp3_ix_paths(eta, gamma, setup.actions, trials, player, claim.form)
    return exp4_paths(eta, trials, player, _advice(setup, paths, seed), claim.form)


def _advice(setup: Setup, paths: int, seed: int) -> Callable[[int], Floats]:
    """Experts at odds with each other, constant on some paths and changing on others.

    Every action has at least ρ from all of them together: from the last expert where there is room,
    and otherwise because some expert is sure of it.
    """
    K, E = setup.actions, setup.experts
    room = 1.0 - K * setup.rho

    def certain(favoured: NDArray[np.int64]) -> Floats:
        advice = np.eye(K)[favoured]
        if room >= 0:
            advice[:, -1] = setup.rho + room * advice[:, -1]
        return advice

    habits = np.random.default_rng(seed + 2)
    moving = habits.random(paths) < 0.5
    start = habits.integers(0, K, (paths, 1))
    constant = certain((np.arange(E) + start) % K)

    def advise(t: int) -> Floats:
        random = np.random.default_rng([seed, t])
        drawn = random.integers(0, K, (paths, E))
        covering = (np.arange(E) + random.integers(0, K, (paths, 1))) % K
        return np.where(moving[:, None, None], certain(drawn if room >= 0 else covering), constant)

    return advise


def _share(claim: Claim, setup: Setup, quantity: Quantity, found: Extremes) -> float:
    """How much of what the bound allows was used: beyond 1 it is violated."""
    if claim.in_log_rate:
        return float(found.invariant.max() * setup.epsilon)
    if claim.lipschitz is None:
        least = float(found.probability.min())
        return setup.epsilon / least if least > 0 else math.inf
    slope = float(found.slope.max()) / math.sqrt(setup.trials)  # of a rate, so of θ/√n
    if slope == 0.0:
        return 0.0
    if not math.isfinite(slope):  # a probability was 0
        return math.inf
    log_bound = quantity.value
    if not claim.lipschitz.startswith("log_"):
        log_bound = math.log(quantity.value) if quantity.value > 0 else -math.inf
    return math.exp(min(math.log(slope) - log_bound, 700.0))
