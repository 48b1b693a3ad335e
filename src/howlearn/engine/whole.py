"""Models that are fitted whole, as the compiled loops take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Parameter
from howlearn.core.world import World
from howlearn.engine import compile as compiled
from howlearn.engine.model_source import Part

STEP = 3e-6  # of a parameter's range in u: for differences in place of derivatives
ROUGH_STEP = 1e-6  # for those to one side


@dataclass(frozen=True, eq=False)
class Setting:
    """What the data tell a model, the same for all learners."""

    n_actions: int
    features: Floats  # [context, feature]
    levels: Ints
    n_levels: Ints
    numeric: Bools
    rewards: tuple[float, float]  # lowest, highest
    right_wrong: tuple[float, float]  # rewards for wrong and right; NaN where they do not tell
    answers: Ints  # [context]: the right action, −1 if unknown
    actions: tuple[str, ...] = ()  # their names
    loaded: bool = True  # whether it is known how many stimuli a block has
    zero: float = 0.0  # the reward that is neither gain nor loss


@dataclass(frozen=True, eq=False)
class Records:
    """Some learners' trials; what is not known is an empty array."""

    offsets: Ints
    context: NDArray[np.int32]
    action: NDArray[np.int16]
    reward: Floats
    flags: NDArray[np.uint8]
    forgone: Floats  # [trial, action] or [0, action]
    ends: Bools
    duration: Floats
    offered: Bools  # [trial, action] or [0, action]
    load: Floats

    @property
    def columns(self) -> tuple[Any, ...]:
        """In the order in which the compiled loops take them."""
        return (
            np.ascontiguousarray(self.context, np.int64),
            np.ascontiguousarray(self.action, np.int64),
            self.reward,
            self.flags,
            self.ends,
            self.duration,
            self.load,
            self.forgone,
            self.offered,
        )

    @property
    def log_options(self) -> float | Floats:
        """The log of how many actions are on offer; [learner, 1] with its means if they differ."""
        if not len(self.offered):
            return float(np.log(self.offered.shape[1]))
        each = np.concatenate(([0.0], np.cumsum(np.log(self.offered.sum(axis=1)))))
        lengths = np.maximum(np.diff(self.offsets), 1)
        found: Floats = np.diff(each[self.offsets]) / lengths
        return found[:, None]


class Space:
    """Parameters as what a search moves in."""

    parameters: tuple[Parameter, ...]

    @cached_property
    def ends(self) -> Floats:
        """The upper bounds in u; the lower ones are 0."""
        return np.array([parameter.end for parameter in self.parameters])

    @cached_property
    def bounds(self) -> Floats:
        """Lower and upper bounds and scales: [3, parameter]."""
        return np.array([(p.lower, p.upper, p.scale) for p in self.parameters]).reshape(-1, 3).T

    def at(self, u: Floats) -> Floats:
        """Parameters [problem, parameter] from u, as ``Parameter.at`` gives each."""
        lower, upper, scale = self.bounds
        value = lower + scale * np.sinh(u)
        return np.where(u <= 0.0, lower, np.where(u >= self.ends, upper, value))

    def u(self, x: Floats) -> Floats:
        """From parameters to u."""
        columns = [p.u(x[:, d]) for d, p in enumerate(self.parameters)]
        return np.stack(columns, axis=1) if columns else np.empty_like(x)


@dataclass(frozen=True, eq=False)
class Whole(Space):
    """A learning part in the cells of a partition, adjustments of its policy, and parameters.

    ``index[cell, d]`` says which of the parameters, or of the values that are ``held`` and follow
    them, is the d-th of that cell.
    """

    first: Any  # a model, or a rule that learns in every cell
    adjustments: tuple[Any, ...]
    parameters: tuple[Parameter, ...]
    cell_of: Ints  # [context]; −1: not this model's
    index: Ints
    edges: Ints  # where the parameters of each adjustment start and end
    n_latents: int = 0
    held: tuple[float, ...] = ()

    def full(self, x: Floats) -> Floats:
        """Parameters [problem, parameter], followed by what is held."""
        if not self.held:
            return np.ascontiguousarray(x)
        return np.column_stack([x, np.broadcast_to(self.held, (len(x), len(self.held)))])

    @property
    def smooth(self) -> bool:
        """Whether few starts suffice: the model says so, and nothing is adjusted."""
        return bool(getattr(self.first, "smooth", False)) and not self.adjustments

    @property
    def kernel(self) -> str:
        """The loops that only such models have, where all cells share the parameters."""
        if (self.index != self.index[:1]).any():
            return ""
        if not self.adjustments:
            return getattr(self.first, "kernel", "")
        sticky = [part.name for part in self.adjustments] == ["stickiness"]
        gains = getattr(self.first, "form", "gain") == "gain"
        return getattr(self.first, "sticky_kernel", "") if sticky and gains else ""

    @property
    def kernel_slopes(self) -> bool:
        """Whether these loops tell slopes."""
        return getattr(self.first, "kernel_slopes", True)

    @cached_property
    def read(self) -> Ints:
        """Where these loops find what they read: the learning part's, then the adjustments'."""
        return np.concatenate([self.index[0], np.arange(self.edges[0], self.edges[-1])])


class Told:
    """A model and what the data tell it, the same for all learners, as the loops take it.

    Every frame starts as ``frame`` and every state as ``block``; what has its address in the frame
    is held here.
    """

    def __init__(self, whole: Whole, setting: Setting) -> None:
        self.module = m = compiled.whole()
        features = np.ascontiguousarray(setting.features, np.float64)
        levels = np.ascontiguousarray(setting.levels, np.int64)
        n_levels = np.ascontiguousarray(setting.n_levels, np.int64)
        numeric = np.ascontiguousarray(setting.numeric, np.bool_)
        n, rewards = setting.n_actions, np.array(setting.rewards, np.float64)
        self.held = (features, levels, n_levels, numeric, np.ones(n, bool), np.full(n, np.nan))
        self.frame = frame = np.zeros(m.WORDS, np.int64)
        frame[[m.N_ACTIONS, m.N_CELLS]] = n, len(whole.index)
        frame[[m.N_CONTEXTS, m.N_FEATURES]] = features.shape
        places = [m.ALL_FEATURES, m.LEVELS, m.N_LEVELS, m.NUMERIC, m.OFFERED, m.FORGONE]
        frame[places] = [each.ctypes.data for each in self.held]
        frame[[m.LOWEST, m.HIGHEST]] = rewards.view(np.int64)
        sizes, (lowest, highest) = (n, len(whole.index), len(features)), rewards.tolist()
        world = World(*sizes, features, levels, n_levels, numeric, lowest, highest)
        usual = np.array([*(float(p.default) for p in whole.parameters), *whole.held])
        theta = usual[whole.index[0]].tolist()
        self.parts = [Part(each, world, theta) for each in (whole.first, *whole.adjustments)]
        memory: list[bytes] = []
        words = [part.placed(memory) for part in self.parts]
        own = np.zeros((len(words), max(map(len, words))), np.int64)
        for row, mine in zip(own, words, strict=True):
            row[: len(mine)] = mine
        block = np.frombuffer(b"".join(memory), np.int64)
        same = bool((whole.index == whole.index[:1]).all())
        answers = (np.array(setting.right_wrong, np.float64), setting.answers, whole.cell_of)
        self.rest = (own, block, whole.index, whole.edges, same, self.parts[0].later, *answers)

    def of(self, records: Records) -> tuple[Any, ...]:
        """All that the loops take of some learners' trials, which the caller holds."""
        *columns, forgone, offered = records.columns
        frame, m = self.frame.copy(), self.module
        frame[m.ALL_OFFERED] = offered.ctypes.data if len(offered) else 0
        frame[m.ALL_FORGONE] = forgone.ctypes.data if len(forgone) else 0
        return self.steps, frame, *self.rest, *columns

    @cached_property
    def steps(self) -> Ints:
        """Where the functions of every part are, which are compiled if need be."""
        return np.array([compiled.step(part) for part in self.parts], np.int64)

    @cached_property
    def look(self) -> int:
        """Where the function is that tells latents."""
        return compiled.step(self.parts[0], "look")


told = lru_cache(maxsize=256)(Told)


class RecordLikelihood:
    """The likelihood of some learners' records under a model, in u."""

    def __init__(self, whole: Whole, setting: Setting, records: Records) -> None:
        self.whole, self.setting, self.records = whole, setting, records
        self.told = told(whole, setting)
        self.offsets, self.log_options = records.offsets, records.log_options
        self.kernel = "" if len(records.forgone) else whole.kernel
        own = getattr(whole.first, "gradient", None) is not None and not whole.adjustments
        self.analytic = whole.kernel_slopes if self.kernel else own

    def at(self, learner: Ints, x: Floats, marks: Ints) -> Floats:
        """Log-likelihoods [problem, mark] of the trials before each mark, at parameters x."""
        return self._passed(learner, x, marks, np.empty((0, 0)))

    def value(self, learner: Ints, u: Floats, mark: Ints) -> Floats:
        """Of the trials before one mark per problem; what is no number counts as impossible."""
        value = self.at(learner, self.whole.at(u), mark[:, None])[:, 0]
        return np.where(np.isnan(value), -np.inf, value)

    def slope(self, learner: Ints, u: Floats, mark: Ints, value: Floats | None = None) -> Floats:
        """Its gradient in u: the model's own, or differences around u (within the bounds).

        With the ``value`` at u differences are taken to one side only: half the work, and rough.
        """
        whole = self.whole
        if self.analytic:
            return self.both(learner, u, mark)[1]
        step = (STEP if value is None else ROUGH_STEP) * whole.ends
        below, above = np.maximum(u - step, 0.0), np.minimum(u + step, whole.ends)
        if value is None:
            rise = self._shifted(learner, u, above, mark) - self._shifted(learner, u, below, mark)
            width = above - below
        else:
            to = np.where(u + step > whole.ends, below, above)
            rise, width = self._shifted(learner, u, to, mark) - value[:, None], to - u
        return np.nan_to_num(rise / width, nan=0.0, posinf=0.0, neginf=0.0)

    def both(self, learner: Ints, u: Floats, mark: Ints) -> tuple[Floats, Floats]:
        """The value and its gradient in u, in one pass, where the model gives its own."""
        whole = self.whole
        out = np.empty((len(u), u.shape[1] + len(whole.held)))
        value = self._passed(learner, whole.at(u), mark[:, None], out)[:, 0]
        out = out[:, : u.shape[1]]
        value = np.where(np.isnan(value), -np.inf, value)
        slopes = whole.bounds[2] * np.cosh(u)  # of each parameter in u
        return value, np.nan_to_num(out, posinf=0.0, neginf=0.0) * slopes

    def _shifted(self, learner: Ints, u: Floats, to: Floats, mark: Ints) -> Floats:
        """Likelihoods with one parameter after the other moved to where ``to`` says."""
        n, d = u.shape
        x = np.repeat(self.whole.at(u)[:, None], d, axis=1)
        x[:, np.arange(d), np.arange(d)] = self.whole.at(to)
        marks = np.repeat(mark, d)[:, None]
        return self.at(np.repeat(learner, d), x.reshape(n * d, d), marks).reshape(n, d)

    def _passed(self, learner: Ints, x: Floats, marks: Ints, slopes: Floats) -> Floats:
        out, marks = np.empty(marks.shape), np.ascontiguousarray(marks, np.int64)
        x = self.whole.full(x)
        if not self.kernel:
            given = (self.offsets, learner, x, marks)
            self.told.module.likelihoods(*self.trials, *given, out, slopes)
            return out
        read = self.whole.read
        own = np.empty((len(slopes), len(read) if len(slopes) else 0))
        given = (self.offsets, learner, np.ascontiguousarray(x[:, read]), marks)
        compiled.loops(self.kernel).likelihoods(*self.trials, *given, out, own)
        slopes[:] = 0.0
        for place, slope in zip(read, own.T, strict=False):  # some are read more than once
            slopes[:, place] += slope
        return out

    @cached_property
    def trials(self) -> tuple[Any, ...]:
        if not self.kernel:
            return self.told.of(self.records)
        context, action, reward, flags, _, _, load, _, offered = self.records.columns
        load = load if len(load) else np.full(len(context), float(len(self.setting.features)))
        sizes, rewards = (len(self.whole.index), self.setting.n_actions), self.setting.rewards
        features = np.ascontiguousarray(self.setting.features, np.float64)
        given = (context, action, reward, flags, load, offered, self._right(), features)
        return (sizes, rewards, self.whole.cell_of, *given)

    def _right(self) -> Ints:
        """The right action of every trial, −1 if unknown: as ``kernels.whole.tell`` has it."""
        setting, records = self.setting, self.records
        action, n = records.action.astype(np.int64), setting.n_actions
        found, (wrong, right) = setting.answers[records.context], setting.right_wrong
        offered = records.offered if len(records.offered) else np.ones((1, n), bool)
        others = offered & (np.arange(n) != action[:, None])
        told = (records.reward == wrong) & (offered.sum(axis=1) == 2)
        found = np.where(told, others.argmax(axis=1), found)
        return np.where(records.reward == right, action, found)


def replay(
    whole: Whole, setting: Setting, records: Records, x: Floats, looks: bool = False
) -> tuple[Floats, Floats]:
    """One learner's log-probabilities [trial, action]; and latents [trial, …], if one looks.

    What tells latents is compiled when it is first needed.
    """
    given, x = told(whole, setting), whole.full(x[None])
    out = np.zeros((len(records.context), setting.n_actions))
    looks &= whole.n_latents > 0
    latents = np.full((len(records.context), whole.n_latents if looks else 0), np.nan)
    look = given.look if looks else 0
    given.module.replay(*given.of(records), look, x, out, latents)
    return out, latents


def replay_at(whole: Whole, setting: Setting, records: Records, x: Floats) -> Floats:
    """The log-probabilities at x[point, parameter]: [point, trial, action]."""
    given, n = told(whole, setting), len(records.context)
    trials, nothing = given.of(records), np.empty((n, 0))
    out = np.zeros((len(x), n, setting.n_actions))
    for each, mine in zip(whole.full(x)[:, None], out, strict=True):
        given.module.replay(*trials, 0, each, mine, nothing)
    return out


def play(
    whole: Whole,
    setting: Setting,
    records: Records,
    draws: Floats,
    gains: Floats,
    first_gains: Floats,
    tells: bool,
    x: Floats,
) -> None:
    """Draw one learner's actions and pay what they earn, into the records."""
    given, x = told(whole, setting), whole.full(x[None])
    scene = (draws, gains, first_gains, tells)
    given.module.play(*given.of(records), *scene, x, records.action, records.reward)


def places(sizes: Sequence[int]) -> Ints:
    """Where parts of these sizes start and end, one after the other.

    >>> places([2, 3])
    array([0, 2, 5])
    """
    return np.cumsum([0, *sizes], dtype=np.int64)
