"""What all learners together tell: shares of models and where parameters lie, with all doubt.

Hyperparameters, labels and shares are drawn in turn by two chains that only reweigh tables
(``engine/kernels/population.py``). Priors are weak and come from the fits in which everybody uses
one family of models, so that no model is favoured by where its parameters are a priori.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.engine import compile as compiled
from howlearn.runs.parts import in_threads
from howlearn.selection.holes import SIZES
from howlearn.selection.population_tables import SPREADS, Tables

LOCATION = 1.5  # standard deviation of the prior of centres and means
NARROW = 0.3  # the smallest deviation that a prior of variances is centred at
SAME = 0.1  # standard deviation of learners who do not differ
OFFSETS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)  # standard deviations of models' offsets
SHARES, TOGETHER = 0.5, 3.0  # learners that the shares' prior counts for: of a model, of all
BURN, SWEEPS, LONGEST = 300, 1_500, 12_000
APART = 0.05  # of a share between the two chains: more, and both go on
NEARLY = 0.1  # nats that EM gains in a round: less, and a chain may start, which goes further down
KEPT = 64  # draws of hyperparameters that are kept
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Prior:
    """Where centres and variances are a priori: of families, and of clouds."""

    rated_mean: Floats  # [family]
    rated_variance: Floats
    cloud_mean: Floats  # [model, parameter]
    cloud_variance: Floats
    location: float = LOCATION

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (
            self.rated_mean,
            self.rated_variance,
            self.cloud_mean,
            self.cloud_variance,
            self.location,
        )


@dataclass(frozen=True, eq=False)
class State:
    """Hyperparameters and shares, as the compiled loops change them."""

    spread: Ints  # [family]: place among SPREADS
    centre: Floats  # [family, group]
    width: Floats
    offset: Floats  # [rated model]
    mean: Floats  # [cloud model, group, parameter]
    variance: Floats
    shares: Floats  # [group, model]
    value: float = -np.inf

    def copy(self) -> State:
        return replace(self, **{n: a.copy() for n, a in vars(self).items() if n != "value"})

    @property
    def hyper(self) -> tuple[np.ndarray, ...]:
        return self.spread, self.centre, self.width, self.offset, self.mean, self.variance


@dataclass(frozen=True)
class Options:
    """What is free."""

    apart: bool = True  # models of a family have offsets
    offsets: tuple[float, ...] = OFFSETS
    free_width: bool = True  # whether learners of a family differ
    alpha: float | None = None  # of the shares' Dirichlet prior, unless it is ``alpha_of``
    paired: bool = False  # rows of one owner are the same learner's
    sweeps: int = SWEEPS
    longest: int = LONGEST  # sweeps of chains that do not agree
    burn: int = BURN
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the chains found; models are in the order of the tables' columns."""

    shares: Floats  # [draw, group, model]
    keeps: Floats  # [draw]: the share of owners who use one model in all their rows
    probability: Floats  # [row, model]
    evidence: Floats  # [row, model]: log of the integral averaged over draws
    hyper: tuple[np.ndarray, ...]  # a few draws of centre, width, spread, offset, mean, variance
    kept_shares: Floats  # [few, group, model]: of the same sweeps
    difference: float  # the largest of a mean share between the chains
    sweeps: int  # of each chain
    ends: tuple[list[State], ...]  # where the chains stopped, for every size of holes


def alpha_of(models: int) -> float:
    """Of each. With more, intervals might not hold what is seen: 19 of 20 with one of 8."""
    return min(SHARES, TOGETHER / models)


def share_interval(draws: Floats, code: Ints) -> tuple[Floats, Floats]:
    """95% intervals of shares [draw, group, model] among the learners of each group.

    Draws are never 0 or 1, so that no interval would hold a share of nobody or everybody. An end
    that is where it would be if less than half a learner used the model, or did not, is 0 or 1.
    """
    lower, upper = np.quantile(draws, (0.025, 0.975), axis=0)
    n = np.maximum(np.bincount(code, minlength=len(lower)), 1)[:, None]
    alpha = alpha_of(lower.shape[1])
    nobody, everybody = (_few(alpha * k) / n for k in (1, max(lower.shape[1] - 1, 1)))
    return np.where(lower < nobody, 0.0, lower), np.where(upper > 1.0 - everybody, 1.0, upper)


def _few(prior: float) -> float:
    """The 2.5% quantile of a gamma variable: half a learner, and what the prior counts for.

    >>> round(_few(0.5), 4), round(_few(3.5), 4)
    (0.0253, 1.0899)
    """
    shape, low, high, x = prior + 0.5, 0.0, prior + 0.5, 0.0
    for _ in range(60):
        x = (low + high) / 2
        terms = np.cumprod([x / (shape + k) for k in range(1, 200)])
        below = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1)) * (1 + terms.sum())
        low, high = (x, high) if below < 0.025 else (low, x)
    return x


def prior_of(tables: Tables, location: float = LOCATION) -> tuple[Prior, State]:
    """Priors centred where each family lies if everybody uses it; and a state to start from."""
    layout, n = tables.layout, len(tables.fixed)
    n_clouds, d = len(layout.clouds), tables.packed[0].shape[2]
    first = Prior(
        layout.upper() - 2.0,
        np.full(layout.n_families, 0.49),
        np.zeros((n_clouds, d)),
        np.ones((n_clouds, d)),
    )
    n_models = tables.scale.shape[1]
    state = State(
        np.full(layout.n_families, 3),
        first.rated_mean[:, None].copy(),
        np.full((layout.n_families, 1), 1.2),
        np.zeros(len(layout.rated)),
        np.zeros((n_clouds, 1, d)),
        np.full((n_clouds, 1, d), 2.0),
        np.zeros((1, n_models)),
    )
    group, found = np.zeros(n, np.int64), state.copy()
    for f, mine in enumerate(columns_of_families(tables)):
        alone = state.copy()
        alone.shares[:, mine] = 1.0 / len(mine)
        _climb(tables, group, first, alone, rounds=60, enough=1e-3)
        j = f - layout.n_families
        for name in ("centre", "width", "spread") if j < 0 else ("mean", "variance"):
            place = f if j < 0 else j
            getattr(found, name)[place] = getattr(alone, name)[place]
    state = found
    prior = Prior(
        state.centre[:, 0].copy(),
        np.maximum(state.width[:, 0], NARROW) ** 2,
        state.mean[:, 0].copy(),
        np.maximum(state.variance[:, 0], NARROW**2),
        location,
    )
    state.shares[:] = 1.0 / n_models
    return prior, state


def columns_of_families(tables: Tables) -> list[Ints]:
    """The columns of every family; every cloud is one."""
    family, n = tables.layout.family, len(tables.layout.rated)
    found = [np.flatnonzero(family == f) for f in range(tables.layout.n_families)]
    return [*found, *(np.array([n + j]) for j in range(len(tables.layout.clouds)))]


def _loops(tables: Tables) -> ModuleType:
    return compiled.population(bool(tables.layout.clouds))


def _climb(
    tables: Tables,
    group: Ints,
    prior: Prior,
    state: State,
    apart: bool = False,
    rounds: int = 400,
    enough: float = NEARLY,
) -> State:
    """EM from a state, which is changed; with the value that was reached."""
    found = np.ones(tables.scale.shape), np.empty(tables.scale.shape)
    value = _loops(tables).climb(
        *tables.arrays, group, prior.arrays, apart, True, rounds, enough, *state.hyper,
        state.shares, *found,
    )  # fmt: skip
    return replace(state, value=value)


def start(tables: Tables, prior: Prior, state: State, group: Ints, options: Options) -> list[State]:
    """States to start chains from, the best by EM first."""
    n_groups = int(group.max(initial=0)) + 1

    def spread_out(one: State) -> State:
        repeated = {
            name: np.repeat(getattr(one, name)[:, :1], n_groups, axis=1)
            for name in ("centre", "width", "mean", "variance")
        }
        shares = np.repeat(one.shares[:1], n_groups, axis=0)
        return replace(one.copy(), **repeated, shares=shares)

    shared = _climb(tables, group, prior, spread_out(state))
    found = [shared]
    if options.apart and len(tables.layout.rated) > 1:
        each = state.copy()
        zero, offset = np.zeros(len(group), np.int64), np.zeros(len(tables.layout.rated))
        for k, f in enumerate(tables.layout.family.tolist()):
            alone = each.copy()
            alone.shares[:] = np.arange(each.shares.shape[1]) == k
            alone = _climb(tables, zero, prior, alone, rounds=40)
            offset[k] = alone.centre[f, 0] - state.centre[f, 0]
        for shares in (shared.shares, np.full_like(shared.shares, 1.0 / shared.shares.shape[1])):
            begin = replace(shared.copy(), offset=offset.copy(), shares=shares.copy())
            begin.shares[:] = 0.98 * begin.shares + 0.02 / begin.shares.shape[1]
            found.append(_climb(tables, group, prior, begin, apart=True))
    if not options.free_width:
        found = [replace(one, width=np.full_like(one.width, SAME)) for one in found]
    found = [replace(one, shares=0.9 * one.shares + 0.1 / one.shares.shape[1]) for one in found]
    return sorted(found, key=lambda one: -one.value)


@dataclass(eq=False)
class Chain:
    """One chain, which can be made longer."""

    tables: Tables
    group: Ints
    owner: Ints
    prior: Prior
    options: Options
    state: State
    seed: int
    shares: list[Floats] = field(default_factory=list)
    keeps: list[Floats] = field(default_factory=list)
    sums: list[tuple[int, Floats, Floats]] = field(default_factory=list)
    hyper: list[tuple[np.ndarray, ...]] = field(default_factory=list)
    kept: list[Floats] = field(default_factory=list)

    def run(self, sweeps: int) -> None:
        o, s = self.options, self.state
        n, n_models = self.tables.scale.shape
        every = max(sweeps // KEPT, 1)
        few = sweeps // every
        shares = np.empty((sweeps, len(s.shares), n_models))
        keeps, told, evidence = np.zeros(sweeps), np.zeros((n, n_models)), np.zeros((n, n_models))
        hyper = tuple(
            np.empty((few, *a.shape), a.dtype)
            for a in (s.centre, s.width, s.spread, s.offset, s.mean, s.variance)
        )
        burn = 0 if self.shares else o.burn
        seed = self.seed + 7_919 * len(self.shares)
        _loops(self.tables).sample(
            *self.tables.arrays, self.tables.pairs, self.group, self.owner, self.prior.arrays,
            o.apart, np.array(o.offsets), o.free_width, o.alpha or alpha_of(n_models), o.paired,
            seed, burn, sweeps, every, *s.hyper, s.shares, shares, keeps, hyper, told,
            evidence,
        )  # fmt: skip
        self.shares.append(shares)
        self.keeps.append(keeps)
        self.sums.append((sweeps, told, evidence))
        self.hyper.append(hyper)
        self.kept.append(shares[every - 1 :: every][:few])

    @property
    def mean(self) -> Floats:
        return np.concatenate(self.shares).mean(axis=0)

    @property
    def probability(self) -> Floats:
        """[row, model]"""
        sweeps, told, _ = zip(*self.sums, strict=True)
        return np.average(told, axis=0, weights=sweeps)


Apart = Callable[[list[Chain]], float]  # how much chains differ in what matters


def drawn(
    tables: Tables,
    group: Ints,
    options: Options,
    prior: Prior,
    starts: list[State],
    owner: Ints | None = None,
    threads: int | None = None,
    apart: Apart | None = None,
) -> Posterior:
    """Two chains from different starts, longer where they do not agree."""
    apart = apart or _difference
    owner = np.arange(len(group) + 1) if owner is None else owner
    begin = [starts[0], starts[1] if len(starts) > 1 else starts[0]]
    chains = [
        Chain(tables, group, owner, prior, options, state.copy(), options.seed + 104_729 * c)
        for c, state in enumerate(begin)
    ]
    sweeps = options.sweeps
    chains[0].run(sweeps)  # what is compiled on first use is compiled before threads would wait
    chains[1].run(sweeps)
    while apart(chains) > APART and 2 * sweeps <= options.longest:
        in_threads(lambda chain: chain.run(sweeps), chains, threads)  # noqa: B023
        sweeps *= 2
    return _together(chains, tables, sweeps)


def _difference(chains: list[Chain]) -> float:
    first, second = (chain.mean for chain in chains)
    return float(np.abs(first - second).max())


def _together(chains: list[Chain], tables: Tables, sweeps: int) -> Posterior:
    parts = [part for chain in chains for part in chain.sums]
    total = sum(n for n, _, _ in parts)
    probability = np.sum([n * told for n, told, _ in parts], axis=0) / total
    mean = np.sum([n * found for n, _, found in parts], axis=0) / total
    return Posterior(
        np.concatenate([each for chain in chains for each in chain.shares]),
        np.concatenate([each for chain in chains for each in chain.keeps]),
        probability,
        np.log(mean) + tables.log_top,
        tuple(map(np.concatenate, zip(*(h for c in chains for h in c.hyper), strict=True))),
        np.concatenate([each for chain in chains for each in chain.kept]),
        _difference(chains),
        sweeps,
        ([chain.state for chain in chains],),
    )


@dataclass(frozen=True, eq=False)
class Fitted:
    """Tables of a study with where its population lies by EM: what chains start from."""

    tables: Tables
    prior: Prior
    state: State
    group: Ints
    options: Options

    @cached_property
    def starts(self) -> list[State]:
        return start(self.tables, self.prior, self.state, self.group, self.options)

    @cached_property
    def sizes(self) -> list[Fitted]:
        """With holes of every size, each with its own starts; as it is if there are none."""
        if not self.tables.holes.any():
            return [self]
        location = self.prior.location
        each = self.tables.with_holes()
        return [fitted_to(tables, self.group, self.options, location) for tables in each]

    def again(self, options: Options, location: float, ends: Sequence[list[State]]) -> Fitted:
        """With another width of the prior of locations; chains go on from where others stopped."""
        sizes = [
            replace(one, options=options, prior=replace(one.prior, location=location))
            for one in self.sizes
        ]
        for one, stopped in zip(sizes, ends, strict=True):
            one.__dict__["starts"] = stopped
        sizes[0].__dict__["sizes"] = sizes
        return sizes[0]


def fitted_to(tables: Tables, group: Ints, options: Options, location: float = LOCATION) -> Fitted:
    return Fitted(tables, *prior_of(tables, location), group, options)


def answered(
    found: Fitted, threads: int | None, owner: Ints | None = None, apart: Apart | None = None
) -> Posterior:
    """What the chains say, on average over the sizes of holes if there are any."""
    options, each = found.options, found.sizes
    options = replace(options, sweeps=options.sweeps // len(each))
    answers = [
        drawn(one.tables, one.group, options, one.prior, one.starts, owner, threads, apart)
        for one in each
    ]
    return answers[0] if len(answers) == 1 else _averaged(answers)


def _averaged(answers: list[Posterior]) -> Posterior:
    """With as many draws of each, one after the other."""

    def draws(of: Sequence[np.ndarray]) -> np.ndarray:
        n = min(map(len, of))
        return np.concatenate([each[np.linspace(0, len(each) - 1, n).astype(int)] for each in of])

    return Posterior(
        draws([each.shares for each in answers]),
        draws([each.keeps for each in answers]),
        np.mean([each.probability for each in answers], axis=0),
        _log_mean([each.evidence for each in answers]),
        tuple(map(draws, zip(*(each.hyper for each in answers), strict=True))),
        draws([each.kept_shares for each in answers]),
        max(each.difference for each in answers),
        max(each.sweeps for each in answers),
        tuple(ends for each in answers for ends in each.ends),
    )


def _log_mean(of: Sequence[Floats]) -> Floats:
    return np.logaddexp.reduce(np.stack(of)) - np.log(len(of))


def judged(
    tables: Tables, group: Ints, hyper: tuple[np.ndarray, ...], shares: Floats
) -> tuple[Floats, Floats]:
    """Probabilities and log-evidence [learner, model] of other learners, given draws."""
    if not tables.holes.any():
        return _judged(tables, group, hyper, shares)
    parts = np.split(np.arange(len(shares)), len(SIZES))  # draws as ``_averaged`` has them
    probability, evidence = zip(*(
        _judged(each, group, tuple(values[mine] for values in hyper), shares[mine])
        for each, mine in zip(tables.with_holes(), parts, strict=True)
    ), strict=True)  # fmt: skip
    return np.mean(probability, axis=0), _log_mean(evidence)


def _judged(
    tables: Tables, group: Ints, hyper: tuple[np.ndarray, ...], shares: Floats
) -> tuple[Floats, Floats]:
    probability, evidence = np.zeros(tables.scale.shape), np.zeros(tables.scale.shape)
    _loops(tables).judge(*tables.arrays, group, hyper, shares, probability, evidence)
    return probability, np.log(evidence) + tables.log_top


def spread_of(place: float) -> float:
    """The spread of cells at a place among SPREADS, on average."""
    return float(np.exp(np.interp(place, np.arange(len(SPREADS)), np.log(SPREADS))))
