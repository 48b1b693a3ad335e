"""Is something missing from the list? Scores of parts that are not listed, with their own null.

At every learner's best model the slope of the likelihood in a part that is off says whether the
part would help. What it would be by chance comes from doubles of the learners, who follow their
models and are fitted again, since fitting alone biases slopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from howlearn.analyses.mechanism_space import Data, Space, why_not
from howlearn.analyses.mechanism_tables import Tables, log_prior
from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study
from howlearn.models.adjustments import Part
from howlearn.models.mechanism_parts import known_mechanisms

DOUBLES = 24  # studies of doubles
LEVEL = 0.02  # of all tests together
STREAM = 31  # of random numbers
ROUNDS = 4  # of the search for a double's top
LEAST = 1e-6  # information without which a learner says nothing of a part
CALM = 0.7  # a null scatters at least so much


@dataclass(frozen=True)
class Missing:
    """How much a part that is not listed would help: of all learners alike, or of each apart."""

    part: type[Part]
    z: float  # of all learners together
    p: float  # corrected for the number of tests

    @property
    def alarms(self) -> bool:
        return self.p < LEVEL


def unlisted(study: Study, space: Space, told: dict[str, bool]) -> tuple[type[Part], ...]:
    """The built-in parts that these data could show, and that were not looked for."""
    names = {part.name for part in space.parts}
    return tuple(
        part
        for name, part in known_mechanisms().items()
        if name not in names and space.bases[0] in part.bases
        and part.__module__.startswith("howlearn.")
        and why_not(part, told, space.n_actions) is None
    )  # fmt: skip


def missing(tables: Tables, parts: Sequence[type[Part]], doubles: int = DOUBLES) -> list[Missing]:
    """The parts that would help most, first."""
    if not parts:
        return []
    work = _Scores(tables, parts)
    seen = work.statistics(tables.data, work.x)
    gains = _gains(tables.data)
    null = np.stack([work.of_double(gains, b) for b in range(doubles)])
    centre, spread = null.mean(axis=0), null.std(axis=0, ddof=1)
    spread = np.maximum(spread * np.sqrt(1 + 1 / doubles), CALM * work.usual)
    t = (seen - centre) / spread
    found = [
        Missing(part, float(t[0, u]), _p(t[:, u], doubles, part, len(parts)))
        for u, part in enumerate(parts)
    ]
    return sorted(found, key=lambda each: each.p)


def _p(t: Floats, doubles: int, part: type[Part], tests: int) -> float:
    """Corrected for the number of tests. What has a sign may have another one in every learner:
    then the sum of squares tells, and the sum need not."""
    from scipy.special import stdtr

    p = stdtr(doubles - 1, -t[0])
    if part.effect is not None and part.effect.kind in ("signed", "vector"):
        p = 2 * min(2 * min(p, 1 - p), stdtr(doubles - 1, -t[1]))
    return float(min(1.0, tests * p))


class _Scores:
    """Scores at every learner's best model."""

    def __init__(self, tables: Tables, parts: Sequence[type[Part]]) -> None:
        self.tables, self.parts = tables, parts
        space = tables.space
        apart = Space(tuple(parts), space.bases[:1], space.n_actions, {})
        n_own = apart.first[apart.n_own]
        self.tested = tuple(np.ascontiguousarray(each[..., n_own:]) for each in apart.coded)
        self.of_part = np.repeat(np.arange(len(parts)), np.diff(apart.first[apart.n_own :]))
        prior = np.zeros(len(space.models[0]))
        weight, _ = tables.likely(tables.population, prior)
        value = np.zeros((len(tables.data), len(prior)))
        for k in range(len(prior)):
            value[:, k] = weight[:, tables.model == k].sum(axis=1)
        shares = tables.population.shares
        with np.errstate(divide="ignore"):
            self.model: Ints = (np.log(value) + log_prior(space, shares)).argmax(axis=1)
        self.x = tables.top[np.arange(len(self.model)), self.model].copy()
        # How far both statistics scatter if nothing is missing: a normal, and a sum of squares
        self.usual = np.array([[1.0], [np.sqrt(2.0 * len(self.model))]])

    def statistics(self, data: Data, x: Floats) -> Floats:
        """[statistic, part]: all learners together, and the sum of squares of each."""
        tables, space = self.tables, self.tables.space
        n, d, u = len(data), len(space.coded[0]), len(self.tested[0])
        slope, bend = np.zeros((n, d + u)), np.zeros((n, d + u, d + u))
        about = (self.model, space.on_coordinates, space.models[0], space.coded, self.tested)
        told = (data.starts, data.arrays, data.world, tables.own)
        tables.in_blocks(lambda who: tables.kernel.scores(x, *about, *told, who, slope, bend))
        total, info, squares = (np.zeros(len(self.parts)) for _ in range(3))
        for i in range(n):
            on = np.flatnonzero(space.on_coordinates[self.model[i]])
            own = bend[i][np.ix_(on, on)]
            own += 1e-3 * np.diag(np.maximum(np.diag(own), 1e-3))
            cross = bend[i][d:, on]
            pull = np.linalg.solve(own, np.column_stack([slope[i, on], cross.T]))
            score = slope[i, d:] - cross @ pull[:, 0]
            left = np.diag(bend[i])[d:] - np.einsum("uj,ju->u", cross, pull[:, 1:])
            for j in np.flatnonzero(left > LEAST):
                k = self.of_part[j]
                total[k] += score[j]
                info[k] += left[j]
                squares[k] += score[j] ** 2 / left[j]
        return np.stack([total / np.sqrt(np.maximum(info, LEAST)), squares])

    def of_double(self, gains: Floats, number: int) -> Floats:
        """The statistics of doubles, fitted again."""
        tables, space = self.tables, self.tables.space
        random = np.random.default_rng([tables.seed, STREAM, number])
        data = _copied(tables.data)
        on, bases = space.on_coordinates, space.models[0]
        told = (data.starts, data.arrays, data.world, tables.own)
        tables.kernel.play(
            self.x, self.model, on, bases, space.coded, *told, random.random(len(gains)), gains
        )
        x = self.x.copy()
        mean, variance = tables.population.normal(space)
        about = (self.model, on, bases, space.coded, mean, variance)
        tables.in_blocks(lambda who: tables.kernel.again(x, *about, *told, ROUNDS, who))
        return self.statistics(data, x)


def _copied(data: Data) -> Data:
    context, action, reward, flags, offered, forgone, when = data.arrays
    arrays: tuple[Any, ...] = (
        context, action.copy(), reward.copy(), flags, offered, forgone.copy(), when
    )  # fmt: skip
    return replace(data, arrays=arrays)


def _gains(data: Data) -> Floats:
    """What every action would have earned: what it did earn at the closest trial in its context.

    So schedules that change over time are kept.
    """
    context, action, reward, flags, _, forgone, _ = data.arrays
    n, n_actions = len(context), data.arrays[4].shape[1]
    gains = np.full((n, n_actions), np.nan)
    gains[np.arange(n), action] = reward
    if len(forgone):
        gains = np.where(np.isnan(gains), forgone, gains)
    learner = np.repeat(np.arange(len(data)), np.diff(data.starts))
    run = np.cumsum((flags & 4) > 0)
    key = np.lexsort((np.arange(n), context, run, learner))
    cell = (learner * (run.max() + 1) + run) * (context.max() + 1) + context
    for a in range(n_actions):
        for group in (cell, learner, np.zeros(n, np.int64)):  # if need be from ever further away
            gains[:, a] = _closest(
                gains[:, a], group, key if group is cell else np.argsort(group, kind="stable")
            )
    return np.where(np.isnan(gains), 0.0, gains)


def _closest(values: Floats, group: Ints, order: Ints) -> Floats:
    """Missing values from the closest one known in the same group, along an order."""
    v, g = values[order], group[order]
    known, at = ~np.isnan(v), np.arange(len(v))
    before = np.maximum.accumulate(np.where(known, at, -1))
    after = np.minimum.accumulate(np.where(known, at, len(v))[::-1])[::-1]
    left, right = np.maximum(before, 0), np.minimum(after, len(v) - 1)
    near = np.where((before >= 0) & (g[left] == g), at - before, len(v) + 1)
    far = np.where((after < len(v)) & (g[right] == g), after - at, len(v) + 1)
    pick = np.where(near <= far, left, right)
    found = np.where(np.minimum(near, far) <= len(v), v[pick], np.nan)
    out = np.empty(len(v))
    out[order] = found
    return out
