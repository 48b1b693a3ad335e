"""Models that are fitted whole, as the compiled loops take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Parameter
from howlearn.engine import compile as compiled

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
            self.forgone,
            self.ends,
            self.duration,
            self.offered,
            self.load,
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

    def at(self, u: Floats) -> Floats:
        """Parameters [problem, parameter] from u."""
        columns = [p.at(u[:, d]) for d, p in enumerate(self.parameters)]
        return np.stack(columns, axis=1) if columns else np.empty_like(u)

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

    @cached_property
    def module(self) -> ModuleType:
        """The compiled loops."""
        return compiled.whole(self.first, self.adjustments)

    def stage(self, setting: Setting) -> tuple[Any, ...]:
        """What is the same for all learners, in the order in which the loops take it."""
        return (
            setting.n_actions,
            len(self.index),
            setting.features,
            setting.levels,
            setting.n_levels,
            setting.numeric,
            *(float(end) for end in setting.rewards),
            *(float(reward) for reward in setting.right_wrong),
            setting.answers,
            self.cell_of,
            self.index,
            self.edges,
        )


class RecordLikelihood:
    """The likelihood of some learners' records under a model, in u."""

    def __init__(self, whole: Whole, setting: Setting, records: Records) -> None:
        self.whole, self.module = whole, whole.module
        self.stage, self.columns = whole.stage(setting), records.columns
        self.offsets, self.log_options = records.offsets, records.log_options
        given = getattr(whole.first, "gradient", None) is not None
        self.analytic = given and not whole.adjustments

    def at(self, learner: Ints, x: Floats, marks: Ints) -> Floats:
        """Log-likelihoods [problem, mark] of the trials before each mark, at parameters x."""
        out = np.empty(marks.shape)
        marks = np.ascontiguousarray(marks, np.int64)
        x = self.whole.full(x)
        self.module.likelihoods(self.stage, self.columns, self.offsets, learner, x, marks, out)
        return out

    def value(self, learner: Ints, u: Floats, mark: Ints) -> Floats:
        """Of the trials before one mark per problem; what is no number counts as impossible."""
        value = self.at(learner, self.whole.at(u), mark[:, None])[:, 0]
        return np.where(np.isnan(value), -np.inf, value)

    def slope(self, learner: Ints, u: Floats, mark: Ints, value: Floats | None = None) -> Floats:
        """Its gradient in u: the model's own, or differences around u (within the bounds).

        With the ``value`` at u differences are taken to one side only: half the work, and rough.
        """
        whole, x = self.whole, self.whole.at(u)
        marks = np.ascontiguousarray(mark[:, None], np.int64)
        if self.analytic:
            return self.both(learner, u, mark)[1]
        step = (STEP if value is None else ROUGH_STEP) * whole.ends
        below, above = np.maximum(u - step, 0.0), np.minimum(u + step, whole.ends)
        if value is None:
            rise = self._shifted(learner, x, above, marks) - self._shifted(learner, x, below, marks)
            width = above - below
        else:
            to = np.where(u + step > whole.ends, below, above)
            rise, width = self._shifted(learner, x, to, marks) - value[:, None], to - u
        return np.nan_to_num(rise / width, nan=0.0, posinf=0.0, neginf=0.0)

    def both(self, learner: Ints, u: Floats, mark: Ints) -> tuple[Floats, Floats]:
        """The value and its gradient in u, in one pass, where the model gives its own."""
        whole, x = self.whole, self.whole.full(self.whole.at(u))
        marks = np.ascontiguousarray(mark[:, None], np.int64)
        value, out = np.empty(len(u)), np.empty_like(x)
        self.module.slopes(self.stage, self.columns, self.offsets, learner, x, marks, value, out)
        out = out[:, : u.shape[1]]
        slopes = [p.slope(u[:, d]) for d, p in enumerate(whole.parameters)]
        value = np.where(np.isnan(value), -np.inf, value)
        return value, np.nan_to_num(out, posinf=0.0, neginf=0.0) * np.stack(slopes, axis=1)

    def _shifted(self, learner: Ints, x: Floats, to: Floats, marks: Ints) -> Floats:
        out = np.empty_like(x)
        x, to = self.whole.full(x), np.ascontiguousarray(self.whole.at(to))
        self.module.shifted(self.stage, self.columns, self.offsets, learner, x, to, marks, out)
        return out


def replay(whole: Whole, setting: Setting, records: Records, x: Floats) -> tuple[Floats, Floats]:
    """One learner's log-probabilities [trial, action] and latents [trial, …]."""
    out = np.zeros((len(records.context), setting.n_actions))
    latents = np.full((len(records.context), whole.n_latents), np.nan)
    x = whole.full(x[None])[0]
    whole.module.replay(whole.stage(setting), records.columns, x, out, latents)
    return out, latents


def places(sizes: Sequence[int]) -> Ints:
    """Where parts of these sizes start and end, one after the other.

    >>> places([2, 3])
    array([0, 2, 5])
    """
    return np.cumsum([0, *sizes], dtype=np.int64)
