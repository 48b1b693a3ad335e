"""Do the propositions hold, along random, adversarial and all short sequences?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from howlearn.core.arrays import Floats, Ints
from howlearn.core.rule import Form
from howlearn.paper.bounds import Quantity
from howlearn.paper.theory import TheoryDesign, rule_bounds

# Bandits along chosen sequences of actions, plainly: probabilities and their derivatives.
#
# Written for the check of the propositions, with nothing of the engine in it: many paths side by
# side, one rate each.

# From the probabilities [path, action] and the trial: the actions and the feedback in [0, 1].
Player = Callable[[Floats, int], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Extremes:
    """Per trial, over all paths."""

    probability: Floats  # the smallest of any action
    slope: Floats  # the largest |∂ log p / ∂(η, γ)| of any action
    invariant: Floats  # the largest η·|∂x/∂η| where no probability was under ε yet, two actions


def gradient_paths(
    eta: Floats, actions: int, trials: int, player: Player, form: Form, epsilon: float
) -> Extremes:
    """h ← h ± η·g·(e_A − p), with u = ∂h/∂η; eta[path]."""
    sign = 1.0 if form == "gain" else -1.0
    h, u = np.zeros((len(eta), actions)), np.zeros((len(eta), actions))
    found = _empty(trials)
    above = np.ones(len(eta), bool)
    for t in range(trials):
        p = _softmax(h)
        mean = np.sum(p * u, axis=1, keepdims=True)
        above &= p.min(axis=1) >= epsilon
        found.probability[t] = p.min()
        found.slope[t] = np.abs(u - mean).max()
        found.invariant[t] = np.max(eta * np.abs(u[:, 0] - u[:, -1]), initial=0.0, where=above)
        chosen, g = player(p, t)
        step = np.eye(actions)[chosen] - p
        rate = (sign * g)[:, None]
        u += rate * step - rate * eta[:, None] * p * (u - mean)
        h += rate * eta[:, None] * step
    return found


def exp3_ix_paths(
    eta: Floats, gamma: Floats, actions: int, trials: int, player: Player, form: Form
) -> Extremes:
    """h_A ← h_A ± η·g/(p_A + γ), with u = ∂h/∂(η, γ)."""
    sign = 1.0 if form == "gain" else -1.0
    every = np.arange(len(eta))
    h, u = np.zeros((len(eta), actions)), np.zeros((2, len(eta), actions))
    found = _empty(trials)
    for t in range(trials):
        p = _softmax(h)
        d = u - np.sum(p * u, axis=2, keepdims=True)
        found.probability[t] = p.min()
        found.slope[t] = np.hypot(d[0], d[1]).max()
        chosen, g = player(p, t)
        q, dq = p[every, chosen], p[every, chosen] * d[:, every, chosen]
        den = q + gamma
        u[0, every, chosen] += sign * g * (1.0 - eta * dq[0] / den) / den
        u[1, every, chosen] -= sign * g * eta * (1.0 + dq[1]) / den**2
        h[every, chosen] += sign * eta * g / den
    return found


def exp4_paths(
    theta: Floats, trials: int, player: Player, advise: Callable[[int], Floats], form: Form
) -> Extremes:
    """H_j ← H_j ± θ·ξ_j(A)·g/π(A); advise(t)[path, expert, action] are the experts'."""
    sign = 1.0 if form == "gain" else -1.0
    every = np.arange(len(theta))
    xi = advise(0)
    weight, u = np.zeros(xi.shape[:2]), np.zeros(xi.shape[:2])
    found = _empty(trials)
    for t in range(trials):
        xi = advise(t)
        q = _softmax(weight)
        pi = np.einsum("bj,bjk->bk", q, xi)
        lean = q * (u - np.sum(q * u, axis=1, keepdims=True))
        slope = np.einsum("bj,bjk->bk", lean, xi) / pi
        found.probability[t] = pi.min()
        found.slope[t] = np.abs(slope).max()
        chosen, g = player(pi, t)
        y = xi[every, :, chosen] * (g / pi[every, chosen])[:, None]
        u += sign * y * (1.0 - theta * slope[every, chosen])[:, None]
        weight += sign * theta[:, None] * y
    return found


def _empty(trials: int) -> Extremes:
    return Extremes(np.empty(trials), np.empty(trials), np.zeros(trials))


def _softmax(h: Floats) -> Floats:
    e = np.exp(h - h.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# What learners may have done: at random, to make trouble, and everything there is.

ALL_PATHS = 20_000  # sequences of a short record that are all tried


def adversaries(n: int, actions: int, seed: int) -> tuple[Player, int]:
    """A player with as many habits, ``n`` paths of each, and the number of paths.

    Three draw at random: any action and feedback, feedback of 0 or 1, actions by the model itself.
    The others, with full feedback: always the same, the most probable, the least probable action,
    one after the other, and the least probable from the middle of ever longer blocks on.
    """
    random = np.random.default_rng(seed)
    total = 8 * n

    def play(p: Floats, t: int) -> tuple[Ints, Floats]:
        chosen, g = np.empty(total, np.int64), np.ones(total)
        habit = np.array_split(np.arange(total), 8)
        for k in (0, 1):
            chosen[habit[k]] = random.integers(0, actions, n)
        u = random.random((n, 1))
        chosen[habit[2]] = np.minimum(np.sum(u >= np.cumsum(p[habit[2]], axis=1), axis=1),
                                      actions - 1)  # fmt: skip
        g[habit[0]] = random.random(n)
        g[habit[1]] = random.integers(0, 2, n)
        g[habit[2]] = random.integers(0, 2, n)
        chosen[habit[3]] = 0
        chosen[habit[4]] = np.argmax(p[habit[4]], axis=1)
        chosen[habit[5]] = np.argmin(p[habit[5]], axis=1)
        chosen[habit[6]] = t % actions
        late = np.arange(n) <= np.log2(t + 1)
        mine = p[habit[7]]
        chosen[habit[7]] = np.where(late, np.argmin(mine, axis=1), np.argmax(mine, axis=1))
        return chosen, g

    return play, total


def every_sequence(trials: int, actions: int) -> tuple[Player, int] | None:
    """All sequences of actions with feedback 0 or 1, or all of actions with feedback 1; None where
    there are too many.

    What happens at the last trial does not matter to its probabilities.
    """
    length = max(trials - 1, 0)
    for outcomes in (2 * actions, actions):
        total = outcomes**length
        if total <= ALL_PATHS:
            codes = np.arange(total)[:, None] // outcomes ** np.arange(length)[None] % outcomes
            chosen = codes % actions
            g = (codes // actions == 0).astype(float)

            def play(
                p: Floats, t: int, chosen: Ints = chosen, g: Floats = g
            ) -> tuple[Ints, Floats]:
                at = min(t, length - 1)
                if length == 0:
                    return np.zeros(1, np.int64), np.ones(1)
                return chosen[:, at], g[:, at]

            return play, total
    return None


LONGEST = 300  # trials of a path: beyond, nothing new happens
EACH = 24  # paths of every habit
ROUNDING = 1e-9  # of a comparison
SHARES = (1.0, 0.9, 0.5, 0.1, 0.01)  # of the largest rate, besides those drawn


@dataclass(frozen=True)
class Proposition:
    """A bound by the keys of its numbers in the calculators."""

    rule: str
    form: Form
    horizon: str | None  # the key of T; None: every trial
    lipschitz: str | None  # the key of L or log L; None: the claim is about probabilities
    in_log_rate: bool = False  # whether L is about log θ, where probabilities are at least ε


CLAIMS = (
    Proposition("gradient", "gain", "T_epsilon", None),
    Proposition("gradient", "loss", "T_epsilon", None),
    Proposition("gradient", "gain", "T_epsilon", "log_L_epsilon"),
    Proposition("gradient", "loss", "T_epsilon", "log_L_epsilon"),
    Proposition("exp3-ix", "loss", "T_epsilon", None),
    Proposition("exp3-ix", "loss", "T_epsilon", "log_L_epsilon"),
    Proposition("exp4", "loss", "T_epsilon", None),
    Proposition("exp4", "loss", "T_epsilon", "log_L_epsilon"),
    Proposition("gradient", "gain", "T_epsilon_exact", None),
    Proposition("gradient", "gain", "T_epsilon_exact", "L_linear"),
    Proposition("gradient", "gain", None, "log_L_log_rate", in_log_rate=True),
    Proposition("exp3-ix", "loss", "T_epsilon", "log_L_at_T"),
    Proposition("exp3-ix", "gain", "T_epsilon_gain", None),
    Proposition("exp3-ix", "gain", "T_epsilon_gain", "log_L_gain"),
    Proposition("exp4", "loss", "T_epsilon", "log_L_factor"),
    Proposition("exp4", "gain", "T_epsilon_gain", None),
    Proposition("exp4", "gain", "T_epsilon_gain", "log_L_gain"),
)


def setups(rule: str) -> Iterator[TheoryDesign]:
    """Designs within the propositions' domain: long and short horizons, few and many actions."""
    for actions, trials, rate, share in product(
        (2, 3, 5), (125, 5000), (0.01, 0.05, 0.3), (0.04, 0.3, 0.8)
    ):
        R = rate * math.sqrt(trials)
        if rule != "exp4":
            yield TheoryDesign(rule, trials, R, share / actions, actions)
            continue
        if actions == 5:
            continue
        for experts, rho in ((2, 0.2), (4, 1.0)):
            yield TheoryDesign(rule, trials, R, share * rho / experts, actions, experts, rho)


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


def check_propositions(seed: int = 0) -> pl.DataFrame:
    """One row per claim: how close any path came to the bound, and how often one went beyond."""
    tallies = {claim: _Tally() for claim in CLAIMS}
    for kind in dict.fromkeys((claim.rule, claim.form) for claim in CLAIMS):
        mine = [claim for claim in CLAIMS if (claim.rule, claim.form) == kind]
        for setup in setups(kind[0]):
            _check(mine, setup, seed, tallies)
    rows = [
        {"rule": claim.rule, "form": claim.form, "claim": _words(claim), **vars(tally)}
        for claim, tally in tallies.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"example": pl.String})


def _check(
    claims: list[Proposition], setup: TheoryDesign, seed: int, tallies: dict[Proposition, _Tally]
) -> None:
    """All claims about one rule and form, on one design."""
    known = {quantity.key: quantity for quantity in rule_bounds(setup)}
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
                tally.example = tally.example or _described(setup)


def _described(setup: TheoryDesign) -> str:
    mixed = setup.rule == "exp4"
    more = f", {setup.experts} experts, rho={setup.rho:g}" if mixed else ""
    return f"K={setup.actions}, n={setup.trials}, R={setup.R:g}, epsilon={setup.epsilon:.3g}{more}"


def _words(claim: Proposition) -> str:
    upto = f" up to {claim.horizon}" if claim.horizon else ""
    if claim.in_log_rate:
        return "|d logit / d log rate| <= 1/epsilon while p >= epsilon"
    if claim.lipschitz is None:
        return f"p >= epsilon{upto}"
    bound = claim.lipschitz.removeprefix("log_")
    return f"|d log p / d theta| <= {bound}{upto}"


def _players(setup: TheoryDesign, trials: int, seed: int) -> Iterator[tuple[Player, int]]:
    yield adversaries(EACH, setup.actions, seed)
    short = every_sequence(trials, setup.actions)
    if short is not None:
        yield short


def _extremes(
    claim: Proposition, setup: TheoryDesign, player: Player, paths: int, trials: int, seed: int
) -> Extremes:
    """The largest rate for most paths, smaller ones for the others."""
    random = np.random.default_rng(seed + 1)
    shares = np.where(random.random(paths) < 0.5, 1.0, random.choice(SHARES, paths))
    eta = setup.rate * shares
    # Where a bound does not hold, a probability may reach 0; what follows is not a number then, and
    # counts as a violation.
    with np.errstate(all="ignore"):
        if claim.rule == "gradient":
            return gradient_paths(eta, setup.actions, trials, player, claim.form, setup.epsilon)
        if claim.rule == "exp3-ix":
            gamma = setup.rate * random.choice([0.0, 0.01, 0.5, 1.0], paths)
            return exp3_ix_paths(eta, gamma, setup.actions, trials, player, claim.form)
        return exp4_paths(eta, trials, player, _advice(setup, paths, seed), claim.form)


def _advice(setup: TheoryDesign, paths: int, seed: int) -> Callable[[int], Floats]:
    """Experts at odds with each other, constant on some paths and changing on others.

    Every action has at least ρ from all of them together: from the last expert where there is room,
    and otherwise because some expert is sure of it.
    """
    K, E = setup.actions, setup.experts
    room = 1.0 - K * setup.rho

    def certain(favoured: Ints) -> Floats:
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


def _share(claim: Proposition, setup: TheoryDesign, quantity: Quantity, found: Extremes) -> float:
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
