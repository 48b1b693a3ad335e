"""Shares and sizes of more parts than all combinations of which could be looked at.

Tops are found of the model with every part, and of those with one part less. They tell how long
steps should be, and how other parameters move when a learner gains or loses a part; then learners
gain and lose parts one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from howlearn.analyses.mechanism_space import Data
from howlearn.analyses.mechanism_tables import (
    FEWER,
    MANY,
    Draws,
    Tops,
    room_for_draws,
)
from howlearn.core.arrays import Floats
from howlearn.models.adjustments import Part
from howlearn.runs.parts import in_threads

CHAINS, SWEEPS, BURN, TRIES = 2, 2_000, 500, 3
LEAST = 1e-3  # a size of a part by which a change of other parameters may be divided


class Jumps(Tops):
    """As ``Tables``, with one base."""

    def __post_init__(self) -> None:
        every = np.ones(len(self.space.parts), int)
        less = [tuple((every - row).tolist()) for row in np.eye(len(every), dtype=int)]
        self.wanted = self.space
        self.space = replace(self.space, some=tuple((0, row) for row in (tuple(every), *less)))
        super().__post_init__()
        self.step(0.4)

    def _curves(self) -> Floats:
        """[learner]: the curvature of the log-likelihood at the top with every part."""
        _, variance = self.start.normal(self.space)
        inverse = np.linalg.inv(self.root[:, 0])
        curve = np.swapaxes(inverse, 1, 2) @ inverse - np.diag(1.0 / variance)
        return np.ascontiguousarray(curve)

    def _falls(self) -> Floats:
        """[learner, quantity, coordinate]: how tops differ with a part, if its size were 1."""
        space = self.space
        fall = np.zeros((len(self.data), len(space.quantities), self.top.shape[2]))
        for j in range(len(space.parts)):
            g = space.n_own + j
            if space.kinds[g] == 3:
                continue
            at = self.top[:, 0, space.first[g]]
            size = at if space.kinds[g] == 2 else space.quantities[g][1].size(at)
            away = np.where(np.abs(size) < LEAST, np.inf, size)[:, None]
            apart = (self.top[:, 0] - self.top[:, 1 + j]) * space.on_coordinates[1 + j]
            fall[:, g] = apart / away
        return fall

    def sampled(self, together: bool = False, seed: int = 0) -> Draws:
        """Shares and sizes with all doubt: a chain from all parts, and one from none."""
        assert not together  # which needs all combinations
        space, data, prior = self.space, self.data, self.space.prior
        n, sweeps = len(data), SWEEPS if len(data) <= MANY else FEWER
        draws, _ = room_for_draws(space, n, CHAINS * sweeps)
        people = [room_for_draws(space, n, 0)[1] for _ in range(CHAINS)]
        signed = np.repeat(space.kinds >= 2, np.diff(space.first))
        about = (space.n_own, int(space.models[0][0]), space.coded, space.first, space.kinds,
                 self._curves(), self._falls(), prior, space.smallest)  # fmt: skip
        told = (data.starts, data.arrays, data.world, self.own, BURN, sweeps, TRIES)

        def run(chain: int) -> None:
            on = np.ones((n, len(space.quantities)), np.bool_)
            on[:, space.n_own :] = chain == 0
            x = self.top[:, 0].copy()
            x[:, signed] += np.where(np.abs(x[:, signed]) < 0.1, 0.1, 0.0)  # 0 is no size
            x *= np.repeat(on, np.diff(space.first), axis=1)
            at = (prior[:, 0].copy(), prior[:, 3] ** 2, np.full(len(prior), 0.5))
            mine = tuple(each[chain * sweeps : (chain + 1) * sweeps] for each in draws)
            self.kernel.jump(x, on, *about, *at, *told, seed + chain, mine, people[chain])

        in_threads(run, range(CHAINS), self.threads)
        return Draws(self.wanted, n, CHAINS * sweeps, draws, tuple(map(np.add, *people)))

    def shares_with(
        self, part: type[Part], draws: Draws, instead: Sequence[str], data: Data | None = None
    ) -> Floats:
        assert data is None  # all learners see the same
        space = replace(self.wanted, parts=(*self.wanted.parts, part), smallest_sizes={})
        more = Jumps(space, self.data, self.own, self.seed, self.threads)
        return more.sampled(seed=self.seed).shares[:, -1]
