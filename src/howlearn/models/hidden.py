"""Strategies that take turns: as hidden states of a Markov chain, or by one switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.rule import Parameter
from howlearn.engine import compile as compiled
from howlearn.engine.layout import SCORED, Statuses
from howlearn.models.mixture import Best, Expert, Mixture, Source, States, WeighedTrials
from howlearn.models.model import Model, same, sized

FLAT = 1e-9  # nats; a likelihood that varies less than this holds no information
CLOSE = 3.0  # nats; tops of the grid that are this close to the best are climbed too
EDGE = 1e-9  # of a probability: closer to 0 or 1 it is at the bound
GRID = np.unique(np.concatenate([np.linspace(0, 0.9, 19), 1 - np.logspace(-1, -5, 33), [1.0]]))


@dataclass(frozen=True, repr=False)
class HiddenStrategies(Mixture):
    """One of several strategies chooses at every trial; which one follows a Markov chain.

    All see the learner's choices and rewards from the beginning. Before the first trial each
    strategy is as probable as the others; before every later one the strategy that chose stays with
    probability ``stay``, and else any of the others takes over. With ``transitions`` "free" each
    strategy is left with its own probability, and with three or more, what takes over has its
    share of what those before it left. The likelihood is the sum over all sequences of strategies:
    Ashwood et al. (2022), whose states are fixed policies.

    >>> from howlearn.models.partition_model import candidates
    >>> model = HiddenStrategies(candidates(["1", "2"]))
    >>> model.name, model.n_parameters(n_actions=2)
    ('hmm(OneForAll, OnePerItem)', 4)
    """

    transitions: Literal["shared", "free"] = "shared"

    kind = "hmm"
    allowed = ("source", "transitions")
    title = "switches between strategies (hidden Markov model)"
    phrase = "a hidden Markov model, in which several strategies take turns"
    cites = ("ashwood2022",)
    profiled = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transitions not in ("shared", "free"):
            raise HowlearnError(
                f"{self.name}: transitions must be shared or free, got {self.transitions!r}"
            )
        if len(self.experts) < 2:
            raise HowlearnError(
                f"{self.name}: a hidden Markov model needs two strategies or more, which take "
                "turns; there is one"
            )

    @property
    def settings(self) -> tuple[str, ...]:
        free = () if self.transitions == "shared" else ("transitions=free",)
        return (*super().settings, *free)

    @cached_property
    def own(self) -> tuple[Parameter, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self.transitions == "shared":
            return (Parameter("stay", 0.0, 1.0, default=0.95, neutral=1.0, smallest=0.01),)
        leave = [Parameter(f"leave({name})", 0.0, 1.0, default=0.05) for name in self.strategies]
        shares = [
            Parameter(f"share({name}: {other})", 0.0, 1.0, default=1 / (len(self.experts) - 1 - j))
            for name in self.strategies
            for j, other in enumerate([n for n in self.strategies if n != name][:-1])
        ]
        return (*leave, *shares)

    def contains(self, other: Model, actions: Sequence[str]) -> tuple[str, ...]:
        """Whoever never leaves a strategy is, half of the time, one who has no other."""
        alone = any(not each.given and same(each.model, other) for each in self.experts)
        return sized(self.own) if alone else ()

    def chain(self, own: Floats) -> tuple[Floats, Floats]:
        """The transition probabilities T[from, to], and their derivatives [parameter, from, to]."""
        n = len(self.experts)
        if self.transitions == "shared":
            d = np.where(np.eye(n) > 0, 1.0, -1.0 / (n - 1))
            stay = float(own[0])
            return np.where(np.eye(n) > 0, stay, (1 - stay) / (n - 1)), d[None]
        t, d = np.zeros((n, n)), np.zeros((len(own), n, n))
        shares = own[n:].reshape(n, n - 2)
        for u in range(n):
            t[u, u], d[u, u, u] = 1 - own[u], -1.0
            left, d_left = 1.0, np.zeros(n - 2)  # of all that goes elsewhere
            for j, s in enumerate(v for v in range(n) if v != u):
                part, d_part = (left, d_left.copy())
                if j < n - 2:
                    share = shares[u, j]
                    part, d_part = left * share, d_left * share
                    d_part[j] = left
                    d_left = d_left * (1 - share)
                    d_left[j] = -left
                    left *= 1 - share
                t[u, s], d[u, u, s] = own[u] * part, part
                d[n + u * (n - 2) : n + (u + 1) * (n - 2), u, s] = own[u] * d_part
        return t, d

    def _forward(
        self, own: Floats, advice: Floats, trials: WeighedTrials, slopes: Floats, owner: Ints
    ) -> tuple[Floats, Floats, Floats]:
        """Log-weights [trial, expert], log p of what was chosen, and its derivatives."""
        t, d_t = self.chain(own)
        n = len(advice)
        log_q, log_p = np.empty(advice.shape), np.empty(n)
        d = np.empty((n, len(d_t) + len(owner)))
        compiled.hidden().forward(
            np.ascontiguousarray(advice), trials.flags, self._start, _log(t), d_t,
            np.ascontiguousarray(slopes), owner, log_q, log_p, d,
        )  # fmt: skip
        return log_q, log_p, d

    @property
    def _start(self) -> Floats:
        return np.full(len(self.experts), -np.log(len(self.experts)))

    def blend(self, own: Floats, advice: Floats, trials: WeighedTrials) -> tuple[Floats, Floats]:
        chosen = np.take_along_axis(advice, trials.action[:, None, None], axis=2)[:, :, 0]
        log_q = self._forward(own, chosen, trials, *_nothing(len(advice)))[0]
        each = log_q[:, :, None] + advice
        top = each.max(axis=1)
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return log_q, safe + np.log(np.exp(each - safe[:, None]).sum(axis=1))

    def slopes(
        self, own: Floats, advice: Floats, slopes: Floats, owner: Ints, trials: WeighedTrials
    ) -> tuple[Floats, Floats]:
        _, log_p, d = self._forward(own, advice, trials, slopes, owner)
        return log_p, d

    def states(self, own: Floats, advice: Floats, trials: WeighedTrials) -> States:
        log_q = self._forward(own, advice, trials, *_nothing(len(advice)))[0]
        filtered, smoothed = np.empty(advice.shape), np.empty(advice.shape)
        path = np.empty(len(advice), np.int64)
        compiled.hidden().states(
            np.ascontiguousarray(advice), trials.flags, self._start, _log(self.chain(own)[0]),
            log_q, filtered, smoothed, path,
        )  # fmt: skip
        return States(np.exp(filtered), np.exp(smoothed), path)

    def best(self, advice: Floats, trials: WeighedTrials, marks: Ints, seen: Ints) -> Best:
        theta = np.empty((*marks.shape, len(self.own)))
        status = np.full(theta.shape, Statuses.OK, np.int8)
        value, rest = np.empty(marks.shape), np.empty(marks.shape)
        for i in range(len(marks)):
            mine = slice(trials.offsets[i], trials.offsets[i + 1])
            some = WeighedTrials(
                np.array([0, mine.stop - mine.start]), trials.action[mine], trials.feedback[mine],
                trials.flags[mine],
            )  # fmt: skip
            own = _Learner(self, advice[mine], some)
            for j, mark in enumerate(marks[i].tolist()):
                x, flat = own.best(mark)
                usual = np.array([parameter.default for parameter in self.own])
                theta[i, j] = usual if flat or not seen[i, j] else x
                each = own.each(theta[i, j])
                value[i, j], rest[i, j] = each[:mark].sum(), each[mark:].sum()
                status[i, j][theta[i, j] <= EDGE] = Statuses.AT_LOWER
                status[i, j][theta[i, j] >= 1 - EDGE] = Statuses.AT_UPPER
                if flat:
                    status[i, j] = Statuses.FLAT
                if not seen[i, j]:
                    status[i, j] = Statuses.UNSEEN
                elif not np.isfinite(value[i, j]):
                    status[i, j] = Statuses.BROKEN
        return Best(theta, status, value, rest)


class _Learner:
    """The likelihood of one learner's trials in the chain's own parameters."""

    def __init__(self, model: HiddenStrategies, advice: Floats, trials: WeighedTrials) -> None:
        self.model, self.advice, self.trials = model, advice, trials
        self.scored = (trials.flags & SCORED) > 0
        shared = [HiddenStrategies(model.experts)] if model.transitions == "free" else []
        self.shared = _Learner(shared[0], advice, trials) if shared else self

    @cached_property
    def grid(self) -> Floats:
        """Log-likelihoods [stay of the grid, trials before]."""
        each = [self.each(np.array([stay])) for stay in GRID]
        return np.concatenate([np.zeros((len(GRID), 1)), np.cumsum(each, axis=1)], axis=1)

    def each(self, x: Floats) -> Floats:
        """What every trial adds to the log-likelihood."""
        nothing = _nothing(len(self.advice))
        log_p = self.model._forward(x, self.advice, self.trials, *nothing)[1]
        return np.where(self.scored, log_p, 0.0)

    def both(self, x: Floats, mark: int) -> tuple[float, Floats]:
        """The log-likelihood of the trials before a mark, and its gradient."""
        nothing = _nothing(len(self.advice))
        _, log_p, d = self.model._forward(x, self.advice, self.trials, *nothing)
        scored = self.scored[:mark]
        return float(log_p[:mark][scored].sum()), d[:mark][scored].sum(axis=0)

    def best(self, mark: int) -> tuple[Floats, bool]:
        """The best parameters, and whether none are better than others."""
        values = self.shared.grid[:, mark]
        if not np.isfinite(values).any():
            return np.array([p.default for p in self.model.own]), False
        stay, top = max(self.shared.tops(mark), key=lambda found: found[1])
        if self.model.transitions == "shared":
            return np.array([stay]), float(np.ptp(values[np.isfinite(values)])) < FLAT
        return self._free(mark, stay, top)

    def tops(self, mark: int) -> Iterator[tuple[float, float]]:
        """Where the likelihood has tops in stay, and their heights."""
        from scipy.optimize import brentq

        values = self.grid[:, mark]
        padded = np.concatenate([[-np.inf], values, [-np.inf]])
        peaks = (values >= padded[:-2]) & (values >= padded[2:])
        for k in np.flatnonzero(peaks & (values > values.max() - CLOSE)).tolist():
            yield float(GRID[k]), float(values[k])
            low, high = GRID[max(k - 1, 0)], GRID[min(k + 1, len(GRID) - 1)]

            def slope(x: float) -> float:
                return float(self.both(np.array([x]), mark)[1][0])

            ends = slope(low), slope(high)
            if np.isfinite(ends).all() and ends[0] > 0 > ends[1]:
                x = cast(float, brentq(slope, low, high, xtol=1e-12))
                yield x, self.both(np.array([x]), mark)[0]

    def _free(self, mark: int, stay: float, top: float) -> tuple[Floats, bool]:
        """The best of several searches, one of which starts from the shared probability."""
        from scipy.optimize import minimize

        usual, n = np.array([p.default for p in self.model.own]), len(self.model.experts)
        starts = []
        for leave in (np.full(n, 1 - stay), np.full(n, 0.02), np.full(n, 0.3),
                      *np.where(np.eye(n) > 0, 0.3, 0.02)):  # fmt: skip
            starts.append(np.concatenate([np.clip(leave, 1e-4, 1.0), usual[n:]]))

        def uphill(x: Floats) -> tuple[float, Floats]:
            value, d = self.both(x, mark)
            return (-value, -d) if np.isfinite(value) and np.isfinite(d).all() else (1e300, 0 * d)

        even = np.concatenate([np.full(n, 1 - stay), usual[n:]])
        found = [(top, even)]
        bounds = [(0.0, 1.0)] * len(even)
        for start in starts:
            ended = minimize(uphill, start, jac=True, method="L-BFGS-B", bounds=bounds)
            found.append((-float(ended.fun), np.clip(ended.x, 0.0, 1.0)))
        return max(found, key=lambda each: each[0])[1], False


def _log(t: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(t)


def _nothing(n: int) -> tuple[Floats, Ints]:
    """No derivatives in parameters of strategies."""
    return np.empty((n, 0)), np.empty(0, np.int64)


# Switch: a learner who gives up one strategy for another, at one trial.


LONGEST = 1e9  # trials
LEVEL = 1e-9  # nats; trials that differ less are equally good


@dataclass(frozen=True, repr=False, init=False)
class Switch(Mixture):
    """The first strategy chooses up to some trial, the second from it on.

    Both see the learner's choices and rewards from the beginning. ``trial`` is the number of the
    first trial at which the second chooses, counted within the learner's sequence: 1 if it always
    does, and one more than there are trials if it never does. It counts as three parameters in D:
    chosen among all trials, it gains as much by chance (Ninomiya, 2015, Ann. Inst. Stat. Math. 67,
    943–961).

    >>> from howlearn.models.partition_model import candidates
    >>> Switch(*candidates(["1", "2"])).name
    'switch(OneForAll, OnePerItem)'
    """

    kind = "switch"
    counts = 3
    title = "follows one strategy, then switches to another"
    phrase = "a switch from one strategy to another at one trial, counted as three parameters"
    cites = ("ninomiya2015",)
    profiled = True
    abrupt = True

    def __init__(
        self,
        first: Model | Expert,
        second: Model | Expert,
        source: Source = "training",
        label: str = "",
    ) -> None:
        vars(self).update(experts=(first, second), source=source, label=label, of_others=None)
        self.__post_init__()

    @classmethod
    def of(cls, experts: Sequence[Expert], settings: Mapping[str, Any]) -> Switch:
        if len(experts) != 2:
            raise HowlearnError(
                f"{cls.kind} needs two experts, the first and the second, got {len(experts)}"
            )
        return cls(experts[0], experts[1], **settings)

    own = (Parameter("trial", 1.0, LONGEST, default=100.0, scale=1.0),)

    def is_like(self, other: Model) -> bool:
        ordered = [e.meaning for e in self.experts] == [e.meaning for e in other.experts]
        return ordered and super().is_like(other)

    def blend(self, own: Floats, advice: Floats, trials: WeighedTrials) -> tuple[Floats, Floats]:
        second = self._second(own, len(advice))
        weight = np.column_stack([~second, second])
        with np.errstate(divide="ignore"):
            log_q = np.log(weight.astype(float))
        return log_q, np.where(second[:, None], advice[:, 1], advice[:, 0])

    def slopes(
        self, own: Floats, advice: Floats, slopes: Floats, owner: Ints, trials: WeighedTrials
    ) -> tuple[Floats, Floats]:
        second = self._second(own, len(advice))
        chooses = np.where(second[:, None], owner == 1, owner == 0)
        return np.where(second, advice[:, 1], advice[:, 0]), np.where(chooses, slopes, 0.0)

    def _second(self, own: Floats, n: int) -> NDArray[np.bool_]:
        return np.arange(1, n + 1) >= np.floor(own[0])

    def best(self, advice: Floats, trials: WeighedTrials, marks: Ints, seen: Ints) -> Best:
        theta = np.empty((*marks.shape, 1))
        status = np.full((*marks.shape, 1), Statuses.OK, np.int8)
        value, rest = np.empty(marks.shape), np.empty(marks.shape)
        scored = (trials.flags & SCORED) > 0
        for i in range(len(marks)):
            mine = slice(trials.offsets[i], trials.offsets[i + 1])
            each = np.where(scored[mine, None], advice[mine], 0.0)
            n = len(each)
            before = np.concatenate([[0.0], np.cumsum(each[:, 0])])  # by the first, up to a trial
            for j, mark in enumerate(marks[i].tolist()):
                # at[k]: the first chooses the first k trials. Sums, no differences: one of the
                # two may be out of the question, and its sum huge.
                after = np.concatenate([np.cumsum(each[:mark, 1][::-1])[::-1], [0.0]])
                at = before[: mark + 1] + after
                k = int(np.argmax(at))
                for end in (0, mark):  # no switch at all, rather than one by rounding
                    if at[end] >= at[k] - LEVEL:
                        k = end
                if np.max(at) - np.min(at) < LEVEL:
                    status[i, j] = Statuses.FLAT
                value[i, j] = at[k]
                never = k == mark
                theta[i, j] = n + 1 if never else k + 1
                rest[i, j] = each[mark:, 0 if never else 1].sum()
                if seen[i, j] == 0:
                    status[i, j] = Statuses.UNSEEN
        return Best(theta, status, value, rest)
