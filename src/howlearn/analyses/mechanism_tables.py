"""Points of every learner's models, and the population that all learners tell of together.

First come points around the tops under a broad prior and a population by expectation maximisation;
then tops under that population, more points around them and points from the population itself. A
sampler that only reweighs these points gives shares and sizes with all doubt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from howlearn.analyses.mechanism_space import Data, Space
from howlearn.core.arrays import Floats, Ints, special
from howlearn.engine import compile as compiled
from howlearn.engine.search import filling
from howlearn.models.adjustments import Part
from howlearn.runs.parts import in_threads

FIRST, LOCAL, DRAWN = 32, 64, 32  # points: around first tops, around the others, of the population
STRETCH, WIDER = 1.15, 1.2  # how much wider than tops and population
SIGNS = (0.1, 0.8)  # a sign is drawn with probability 0.1 + 0.8·ρ
ROUNDS, AGAIN = 5, 4  # of searches for tops
SWEEPS, BURN, TRIES = 8_000, 1_000, 6
FEWER, MANY = 3_000, 300  # sweeps, with more learners than this
BLOCK = 10  # learners in a thread's task
LEVEL = (0.025, 0.975)
FOUND = 0.1  # a share above which the interval of a part that is found lies
MOST_MODELS = 8  # to which a part that is not listed is added
TOGETHER = 1.0 / 16.0  # of the Dirichlet prior of models


@dataclass(frozen=True, eq=False)
class Population:
    """One distribution per quantity, and how common models are."""

    mean: Floats
    variance: Floats
    plus: Floats  # share of positive signs
    shares: Floats  # [part, and the base]

    @classmethod
    def usual(cls, space: Space) -> Population:
        """Wide, before anything is known."""
        prior = space.prior
        return cls(
            prior[:, 0].copy(), 1.3 * prior[:, 1] ** 2 + prior[:, 3] ** 2,
            np.full(len(prior), 0.5), np.full(len(space.parts) + (len(space.bases) > 1), 0.5),
        )  # fmt: skip

    def normal(self, space: Space) -> tuple[Floats, Floats]:
        """Mean and variance of coordinates; of what is signed, not of its logarithm."""
        mean, variance = self.mean.copy(), self.variance.copy()
        for g in np.flatnonzero(space.kinds >= 2):
            d = space.first[g + 1] - space.first[g]
            size = np.exp(self.mean[g] + self.variance[g] / 2)
            square = np.exp(2 * self.mean[g] + 2 * self.variance[g])
            mean[g] = (2 * self.plus[g] - 1) * size if space.kinds[g] == 2 else 0.0
            variance[g] = square / d - mean[g] ** 2
        each = np.diff(space.first)
        return np.repeat(mean, each), np.repeat(variance, each)


def ends(values: Floats) -> tuple[float, float, float]:
    """The mean of draws, and their 95% interval."""
    lower, upper = np.quantile(values, LEVEL)
    return float(values.mean()), float(lower), float(upper)


def log_prior(space: Space, shares: Floats) -> Floats:
    """[model] with independent shares."""
    _, shows, can = space.models
    p = np.clip(shares, 1e-4, 1 - 1e-4)
    return np.where(can, np.where(shows == 1, np.log(p), np.log1p(-p)), 0.0).sum(axis=1)


@dataclass(eq=False)
class Tops(ABC):
    """Where every learner's models have their tops."""

    space: Space
    data: Data
    own: tuple[Any, ...]
    seed: int
    threads: int | None = None
    step: Callable[[float], None] = lambda share: None
    kept: Callable[[str, Callable[[], Floats]], Floats] = lambda name, make: make()

    def __post_init__(self) -> None:
        self.kernel = self.space.kernel()
        self.chains = compiled.mechanisms()  # what needs no parts of the user is compiled once
        n, (n_models, d) = len(self.data), self.space.on_coordinates.shape
        self.top, self.root = np.zeros((n, n_models, d)), np.zeros((n, n_models, d, d))
        self.start = Population.usual(self.space)
        self._tops(self.start, first=True)

    @abstractmethod
    def sampled(self, together: bool = False, seed: int = 0) -> Draws:
        """Shares and sizes with all doubt."""

    @abstractmethod
    def shares_with(
        self, part: type[Part], draws: Draws, instead: Sequence[str], data: Data | None = None
    ) -> Floats:
        """Of a part that is not listed, if it were; ``draws`` are those without it.

        ``instead``: parts that may be there only because this one is missing; ``data``: trials as
        learners with the part see them.
        """

    def in_blocks(self, work: Callable[[Ints], None]) -> None:
        """By threads; the first learner alone, since what is compiled is compiled then."""
        n = len(self.data)
        work(np.arange(min(1, n)))
        starts = range(1, n, BLOCK)
        in_threads(lambda s: work(np.arange(s, min(s + BLOCK, n))), starts, self.threads)

    def _tops(self, population: Population, first: bool) -> None:
        space, data = self.space, self.data
        order, parent = space.ladder
        mean, variance = population.normal(space)
        start = self.top if not first else np.broadcast_to(mean, self.top.shape)
        start = np.ascontiguousarray(start)
        above = parent if first else parent[:0]
        rounds = ROUNDS if first else AGAIN
        about = (space.on_coordinates, space.models[0], order, above, space.coded, mean, variance)
        told = (data.starts, data.arrays, data.world, self.own, rounds, self.top, self.root)

        def search() -> Floats:
            self.in_blocks(lambda who: self.kernel.tops(start, *about, *told, who))
            return np.concatenate([self.top.ravel(), self.root.ravel()])

        found = self.kept(f"tops-{rounds}", search)
        top, root = np.split(found, [self.top.size])
        self.top, self.root = (
            top.reshape(self.top.shape).copy(),
            root.reshape(self.root.shape).copy(),
        )


@dataclass(eq=False)
class Tables(Tops):
    """Sizes [learner, point, quantity] with log-weights, of all models."""

    blocks: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = len(self.data), self.top.shape[2]
        self.x = np.empty((n, 0, d))
        self.model = np.empty(0, np.int64)
        self.value = np.empty((n, 0))
        self.step(0.4)
        self._local(FIRST, 1)
        self._weigh()
        at = self.maximised()
        self.step(0.5)
        self._tops(at, first=False)
        self.step(0.7)
        self._local(LOCAL, 2)
        self._drawn(at, DRAWN, 3)
        self._weigh()
        self.step(0.9)

    def _uniform(self, points: int, d: int, stream: int) -> Floats:
        """[learner, model and point, d]: a set that fills the cube, shifted for each of both."""
        n, n_models, _ = self.top.shape
        shift = np.stack(
            [
                np.random.default_rng([self.seed, stream, i]).random((n_models, 1, d))
                for i in range(n)
            ]
        )
        u = (filling(points, d) + shift) % 1.0
        return np.clip(u.reshape(n, n_models * points, d), 1e-5, 1 - 1e-5)

    def _local(self, points: int, stream: int) -> None:
        space, d = self.space, self.top.shape[2]
        u = self._uniform(points, d + 1, stream)
        square = np.maximum(2.0 * special().gammaincinv(2.5, u[..., d]), 1e-6)
        z = special().ndtri(u[..., :d]) * np.sqrt(5.0 / square)[..., None]
        model = np.repeat(np.arange(self.top.shape[1]), points)
        x = np.zeros_like(z)
        about = (space.on_coordinates, self.top, self.root, STRETCH)
        self.in_blocks(lambda who: self.chains.spread_out(z, model, *about, who, x))
        self._add(x, model)
        self.blocks.append((points, "tops", self.top.copy(), self.root.copy()))

    def _drawn(self, at: Population, points: int, stream: int) -> None:
        space = self.space
        n, n_models, d = self.top.shape
        model = np.repeat(np.arange(n_models), points)
        sd, plus = WIDER * np.sqrt(at.variance), SIGNS[0] + SIGNS[1] * at.plus
        y = at.mean + sd * special().ndtri(self._uniform(points, len(sd), stream))
        x = np.zeros((n, n_models * points, d))
        random = [np.random.default_rng([self.seed, stream + 10, i]) for i in range(n)]
        for g, kind in enumerate(space.kinds):
            mine = slice(space.first[g], space.first[g + 1])
            if kind < 2:
                x[..., mine.start] = y[..., g]
                continue
            way = np.stack(
                [r.standard_normal((len(model), mine.stop - mine.start)) for r in random]
            )
            if kind == 2:
                u = np.stack([each.random((len(model), 1)) for each in random])
                way = np.where(u < plus[g], 1.0, -1.0)
            way /= np.linalg.norm(way, axis=2, keepdims=True)
            x[..., mine] = np.exp(y[..., g, None]) * way
        x *= space.on_coordinates[model]
        self._add(x, model)
        self.blocks.append((points, "population", at.mean, sd, plus))

    def _add(self, x: Floats, model: Ints) -> None:
        """Likelihoods at further points."""
        space, data = self.space, self.data
        about = (space.on_coordinates, space.models[0], space.coded)
        told = (data.starts, data.arrays, data.world, self.own)

        def values() -> Floats:
            out = np.empty(x.shape[:2])
            self.in_blocks(lambda who: self.kernel.likelihoods(x, model, *about, *told, who, out))
            return out.ravel()

        value = self.kept(f"values-{len(self.blocks)}", values).reshape(x.shape[:2])
        self.x = np.concatenate([self.x, x], axis=1)
        self.model = np.concatenate([self.model, model])
        self.value = np.concatenate([self.value, value], axis=1)

    def _weigh(self) -> None:
        """The weights of all points: likelihoods over what they were drawn with, all together."""
        space, model, shape = self.space, self.model, self.value.shape
        self.y = np.zeros((*shape, len(space.kinds)))
        self.positive = np.zeros((*shape, len(space.kinds)), np.bool_)
        jacobian, density = np.zeros(shape), np.full(shape, -np.inf)
        measured = (space.on, space.first, space.kinds, space.area)
        self.in_blocks(
            lambda who: self.chains.sizes(
                self.x, model, *measured, who, self.y, self.positive, jacobian
            )
        )
        total = sum(block[0] for block in self.blocks)
        for points, kind, *about in self.blocks:
            found = np.empty(shape)
            if kind == "tops":
                ons = (self.x, model, space.on_coordinates, *about, STRETCH)
                self.in_blocks(lambda who: self.chains.around_tops(*ons, who, found))  # noqa: B023
                found += jacobian
            else:
                known = (self.y, self.positive, model, space.on, space.kinds, *about)
                self.in_blocks(lambda who: self.chains.in_population(*known, who, found))  # noqa: B023
            np.logaddexp(density, found + np.log(points / total), out=density)
        weight = self.value - density - np.log(total)
        self.log_weight = np.where(np.isfinite(weight), weight, -1e300)

    def likely(self, at: Population, prior: Floats) -> tuple[Floats, float]:
        """How probable every point is under a population; and the log evidence."""
        space = self.space
        density = np.empty(self.log_weight.shape)
        about = (self.y, self.positive, self.model, space.on, space.kinds)
        told = (at.mean, np.sqrt(at.variance), at.plus)
        self.in_blocks(lambda some: self.chains.in_population(*about, *told, some, density))
        weight = np.empty(self.log_weight.shape)
        evidence = self.chains.weigh(self.log_weight, density, self.model, prior, weight)
        return weight, evidence

    def maximised(self, rounds: int = 60) -> Population:
        """The population by expectation maximisation, priors included."""
        space = self.space
        _, shows, can = space.models
        prior = space.prior
        at = Population(
            prior[:, 0].copy(), 2 * prior[:, 3] ** 2, self.start.plus.copy(), self.start.shares
        )
        found, uses = np.zeros((len(prior), 4)), np.zeros((len(self.data), len(shows)))
        before = -np.inf
        for turn in range(rounds):
            weight, evidence = self.likely(at, log_prior(space, at.shares))
            self.chains.moments(self.y, self.positive, self.model, space.on, weight, found, uses)
            common = uses.sum(axis=0)
            yes, all_of = (common[:, None] * (shows * can)).sum(axis=0), common @ can
            count, total, squares, positive = found.T
            pull = at.variance / prior[:, 1] ** 2
            mean = np.maximum((total + pull * prior[:, 0]) / (count + pull), prior[:, 2])
            left = squares - 2 * mean * total + count * mean**2 + 3.0 * prior[:, 3] ** 2
            variance = np.clip(left / (count + 5.0), 0.01, prior[:, 4] ** 2)
            shares = (yes + 0.5) / (all_of + 1.0)
            at = Population(mean, variance, (positive + 1.0) / (count + 2.0), shares)
            if turn > 5 and evidence - before < 0.02:
                break
            before = evidence
        return at

    def sampled(self, together: bool = False, seed: int = 0, sweeps: int = SWEEPS) -> Draws:
        """By reweighing points."""
        space, at = self.space, self.maximised()
        _, shows, can = space.models
        flat = np.full(len(at.shares), 0.5)
        kept = np.clip(at.plus, 0.1, 0.9)
        ways = ((at.shares, 1.5, 0.4), ((at.shares + flat) / 2, 1.5, 0.3), (flat, 2.5, 0.3))
        proposal = np.zeros(self.log_weight.shape)
        for shares, wider, part in ways:
            wide = Population(at.mean, at.variance * wider, kept, shares)
            proposal += part * self.likely(wide, log_prior(space, shares))[0]
        with np.errstate(divide="ignore"):
            log_proposal = np.log(proposal)
        cumulated = np.cumsum(proposal, axis=1)
        cumulated /= cumulated[:, -1:]
        n = len(self.data)
        sweeps = sweeps if n <= MANY else FEWER
        draws, people = room_for_draws(space, n, sweeps)
        self.chains.sample(
            self.y, self.positive, self.log_weight, self.model, space.on, space.kinds, shows,
            can, cumulated, log_proposal, space.prior, space.smallest, at.mean.copy(),
            at.variance.copy(), at.plus.copy(), log_prior(space, np.clip(at.shares, 0.02, 0.98)),
            TOGETHER, together, BURN, sweeps, TRIES, seed, draws, people,
        )  # fmt: skip
        return Draws(space, n, sweeps, draws, people)

    def shares_with(
        self, part: type[Part], draws: Draws, instead: Sequence[str], data: Data | None = None
    ) -> Floats:
        """Added to the commonest models, and in place of one of their parts.

        All models without it are kept: with fewer of them, it would make up for those that are
        gone.
        """
        known, n = self.space, len(self.space.parts)
        with_it: dict[tuple[int, tuple[int, ...]], None] = {}
        for base, shows in draws.commonest(MOST_MODELS):
            alike = [j for j in range(n) if known.parts[j].name in instead]
            for gone in (n, *alike) if known.bases[base] in part.bases else ():
                row = tuple(int(on and j != gone) for j, on in enumerate(shows))
                with_it[base, (*row, 1)] = None
        if not with_it:
            return np.zeros(1)
        space = replace(known, parts=(*known.parts, part), smallest_sizes={}, some=tuple(with_it))

        def kept(name: str, make: Callable[[], Floats]) -> Floats:
            return self.kept(f"{part.name}-{name}", make) if data is None else make()

        more = Tables(
            space, data or self.data, self.own, self.seed, self.threads, kept=kept
        )  # fmt: skip
        without_it = ((base, (*shows, 0)) for base, shows in known.rows)
        both = copy(self)
        both.space = replace(space, some=(*without_it, *with_it))
        both.start = Population.usual(both.space)
        both.model = np.concatenate([self.model, more.model + len(known.rows)])
        one_more = ((0, 0), (0, 0), (0, 1))
        both.y = np.concatenate([np.pad(self.y, one_more), more.y], axis=1)
        both.positive = np.concatenate([np.pad(self.positive, one_more), more.positive], axis=1)
        both.log_weight = np.concatenate([self.log_weight, more.log_weight], axis=1)
        return both.sampled(False, self.seed, FEWER).shares[:, n]


def room_for_draws(space: Space, n: int, sweeps: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What the samplers fill: see ``sample`` in ``engine/kernels/mechanism_chains.py``."""
    g = len(space.quantities)
    draws = (np.zeros((sweeps, n), np.int64), *(np.zeros((sweeps, g)) for _ in range(4)))
    return draws, tuple(np.zeros((n, g)) for _ in range(3))


@dataclass(frozen=True, eq=False)
class Draws:
    """What the sampler drew."""

    space: Space
    n: int
    sweeps: int
    draws: tuple[Any, ...]
    people: tuple[Floats, ...]

    @property
    def masks(self) -> Ints:
        """[draw, learner]: the parts shown, as bits; the last one is the second base."""
        return self.draws[0]

    def _shown(self, axis: int) -> Floats:
        count = len(self.space.parts) + (len(self.space.bases) > 1)
        return np.stack([(self.masks >> j & 1).mean(axis=axis) for j in range(count)], axis=1)

    @cached_property
    def shares(self) -> Floats:
        """[draw, part, and the base]: of these learners."""
        return self._shown(1)

    @cached_property
    def probability(self) -> Floats:
        """[learner, part, and the base]"""
        return self._shown(0)

    def commonest(self, most: int) -> list[tuple[int, tuple[int, ...]]]:
        """Models that the most learners seem to follow: bases, and the parts that they show."""
        n = len(self.space.parts)
        each = [np.unique(mine, return_counts=True) for mine in self.masks.T]
        masks = Counter(int(values[counts.argmax()]) for values, counts in each)
        return [
            (mask >> n, tuple(mask >> j & 1 for j in range(n)))
            for mask, _ in masks.most_common(most)
        ]

    @property
    def beyond(self) -> Floats:
        """[draw, part]"""
        return self.draws[1][:, self.space.n_own :] / self.n

    @property
    def location(self) -> Floats:
        """[draw, part]: scaled sizes."""
        return self.draws[2][:, self.space.n_own :]

    @property
    def variance(self) -> Floats:
        return self.draws[3][:, self.space.n_own :]

    @property
    def plus(self) -> Floats:
        """[draw, part]: share of positive signs among those who show it."""
        return self.draws[4][:, self.space.n_own :]

    @property
    def probability_beyond(self) -> Floats:
        """[learner, part]"""
        return self.people[0][:, self.space.n_own :] / self.sweeps

    @property
    def sizes(self) -> tuple[Floats, Floats]:
        """[learner, part]: the mean of scaled sizes, and of signs, where the part is shown."""
        on = np.maximum(self.probability[:, : len(self.space.parts)] * self.sweeps, 1.0)
        scaled, sign = (each[:, self.space.n_own :] / on for each in self.people[1:])
        return scaled, sign
