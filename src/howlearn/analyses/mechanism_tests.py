"""Is something missing from the list? What parts that are not listed would add.

Every learner's best model is fitted again with one part more. What that gains by chance comes from
doubles of the learners, who follow their best models and are fitted in the same way. Parts are
tried at a size that people have: some change nothing near their neutral value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from howlearn.analyses.mechanism_space import Data, Space, why_not
from howlearn.analyses.mechanism_tables import Population, Tops
from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study
from howlearn.models.adjustments import BASES, Part
from howlearn.models.mechanism_parts import known_mechanisms

DOUBLES = 24  # studies of doubles
LEVEL = 0.04  # of all tests together
STREAM = 31  # of random numbers
ROUNDS = 3  # of the search for a top
CALM = 1.0  # nats: a null scatters at least so much
NARROW = 0.3  # how far sizes may be from the usual one: a logit, or a share of that size
SIGNS = (1.0, -1.0)
SHARES = (0.02, 0.25, 0.5, 0.75, 0.98)  # of positive signs


@dataclass(frozen=True)
class Missing:
    """How much a part that is not listed would help."""

    part: type[Part]
    z: float  # its gain, against gains of doubles
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


def missing(tables: Tops, parts: Sequence[type[Part]], doubles: int = DOUBLES) -> list[Missing]:
    """The parts that would help most, first."""
    from scipy.special import stdtr

    if not parts:
        return []
    work = _Gains(tables, parts)
    seen = work.of(tables.data)
    rewards = _rewards(tables.data)
    null = np.stack([work.of_double(rewards, number) for number in range(doubles)])
    spread = np.maximum(null.std(axis=0, ddof=1), CALM) * np.sqrt(1 + 1 / doubles)
    z = (seen - null.mean(axis=0)) / spread
    p = np.minimum(1.0, len(parts) * stdtr(doubles - 1, -z))
    found = [Missing(*each) for each in zip(parts, z.tolist(), p.tolist(), strict=True)]
    return sorted(found, key=lambda each: each.p)


class _Gains:
    """What each part adds to every learner's best model, if all have it at a usual size.

    So one asks little of a learner, and of all together a lot.
    """

    def __init__(self, tables: Tops, parts: Sequence[type[Part]]) -> None:
        self.tables = tables
        known, (on, self.bases, top) = tables.space, tables.best()
        self.space = Space((*known.parts, *parts), known.bases, known.n_actions, {})
        (n, d), d_all, g = top.shape, int(self.space.first[-1]), len(known.quantities)
        self.top = np.pad(top, ((0, 0), (0, d_all - d)))
        # Not the population that was found: without a part that is missing it lies elsewhere, and
        # would keep everybody from the parameters that go with the part.
        self.normal = Population.usual(self.space).normal(self.space)
        self.parts = [slice(*self.space.first[g + u : g + u + 2]) for u in range(len(parts))]
        # [0]: the best models themselves; then with one part more, if it can be put on them
        self.on = np.zeros((1 + len(parts), n, d_all), np.bool_)
        self.on[:, :, :d] = on
        for u, part in enumerate(parts):
            able = np.isin(self.bases, [BASES.index(base) for base in part.bases])
            self.on[1 + u, able, self.parts[u]] = True

    def of(self, data: Data) -> Floats:
        """[part]: the log-likelihood of all learners with it, prior included, less without it."""
        before = np.zeros(len(data))
        x = self.top.copy()
        self._climbed(data, 0, x, before, *self.normal)
        found = []
        for u, mine in enumerate(self.parts, 1):
            gains = np.zeros((len(SIGNS), len(data)))
            _, size = self.space.quantities[len(self.space.quantities) - len(self.parts) + u - 1]
            kind = self.space.kinds[len(self.space.kinds) - len(self.parts) + u - 1]
            for s in range(len(SIGNS) if kind == 2 else 1):
                mean, variance = self.normal[0].copy(), self.normal[1].copy()
                if kind < 3:  # else it may point anywhere
                    mean[mine] = size.scaled(size.centre) if kind < 2 else SIGNS[s] * size.centre
                    variance[mine] = (NARROW * (1.0 if kind < 2 else size.centre)) ** 2
                start = np.where(self.on[u] & ~self.on[0], mean, x)
                self._climbed(data, u, start, gains[s], mean, variance)
            found.append(_total(gains - before if kind == 2 else gains[:1] - before))
        return np.array(found)

    def _climbed(
        self, data: Data, u: int, x: Floats, value: Floats, mean: Floats, variance: Floats
    ) -> None:
        tables, every = self.tables, np.arange(len(data))
        about = (every, self.on[u], self.bases, self.space.coded, mean, variance)
        told = (data.starts, data.arrays, data.world, tables.own, ROUNDS)
        tables.in_blocks(lambda who: tables.kernel.again(x, *about, *told, who, value))

    def of_double(self, rewards: Floats, number: int) -> Floats:
        """The same of doubles, who follow the best models and are fitted again."""
        tables = self.tables
        random = np.random.default_rng([tables.seed, STREAM, number])
        data = _copied(tables.data)
        about = (self.top, np.arange(len(data)), self.on[0], self.bases, self.space.coded)
        told = (data.starts, data.arrays, data.world, tables.own)
        tables.kernel.play(*about, *told, random.random(len(rewards)), rewards)
        return self.of(data)


def _total(gains: Floats) -> float:
    """Over learners; where signs differ between them, at the share of signs that suits all best."""
    if len(gains) == 1:
        return float(gains.sum())
    plus, minus = gains
    return max(
        float(np.logaddexp(np.log(share) + plus, np.log1p(-share) + minus).sum())
        for share in SHARES
    )


def _copied(data: Data) -> Data:
    context, action, reward, flags, offered, forgone, when = data.arrays
    arrays: tuple[Any, ...] = (
        context, action.copy(), reward.copy(), flags, offered, forgone.copy(), when
    )  # fmt: skip
    return replace(data, arrays=arrays)


def _rewards(data: Data) -> Floats:
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
