"""Two-parameter surfaces too rough for any grid, searched as the record grows.

With losses an update drives preferences apart: what learners of other parameters would have done
soon differs altogether, so that the likelihood of 500 trials can have its top on a needle a
millionth of a rate wide, thousands of nats above its surroundings. That of the first trials is
smooth, though, and its top becomes narrower with every trial. So a cloud of points is led to it:
from the points that explain the first trials best, those that explain some more are sought between
and around them, and so on to the last trial, by fewer trials at a time where the top narrows fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from howlearn.core.arrays import Floats, Ints
from howlearn.engine.layout import RATES

if TYPE_CHECKING:
    from howlearn.engine.two_parameters import Climb

CLOUD, KEPT = 8 * RATES, RATES  # points in all, and those from which the next ones are made
BEST = KEPT // 2  # of these, the highest; the others are any that are near
FIRST, LONGER = 8, 1.6  # trials that the first stage adds, and how much more each next one
NEAR = 6.0  # nats behind the best, at which a point is still worth following
FEWEST, ENOUGH = 16, RATES  # points near the best: for fewer a stage is halved, for more lengthened
PATIENCE = 60  # passes over all trials, after which stages are no longer halved
LAST, WIDE = 40, 6  # rounds with all trials, and those of the whole cloud
FEW, SETTLED = 16, 1e-10  # points kept in the others, nats between them


def followed(climb: Climb, curves: Ints, seed: int = 0) -> tuple[Ints, Floats]:
    """The best point of the cloud for each of some curves; no other curve matters to it."""
    return curves, np.array([_led(climb, int(each), seed) for each in curves]).reshape(-1, 2)


def _led(climb: Climb, curve: int, seed: int) -> Floats:
    learner, mark, _ = np.unravel_index(curve, climb.passes.shape)
    end = int(climb.passes.block.marks[learner, mark])
    random = np.random.default_rng(seed)
    x = kept = _spread(climb.ends)
    stop, step, passed = 0, float(FIRST), 0
    while stop < end:
        ahead = min(end, stop + int(step))
        values = _values(climb, curve, x, ahead)
        passed += ahead
        near = values > values.max() - NEAR
        if near.sum() < FEWEST and step >= 2.0 and stop and passed < PATIENCE * end:
            step /= 2  # the top has become too narrow for the cloud
        else:
            # While trials are to come, all that are not far behind are alike: picked by chance.
            order = np.lexsort((-values, -(near * (1.0 + random.random(len(values))))))
            best = np.argsort(-values, kind="stable")[:BEST]
            kept = x[np.concatenate([best, order[~np.isin(order, best)][: KEPT - BEST]])]
            stop, step = ahead, step * (LONGER if near.sum() >= ENOUGH else 1.0)
        x = np.concatenate([kept, _between(kept, CLOUD - KEPT, climb.ends, random)])
    for turn in range(LAST):
        wide = turn < WIDE
        values = _values(climb, curve, x, end)
        order = np.argsort(-values, kind="stable")[: KEPT if wide else FEW]
        x, values = x[order], values[order]
        if values[0] - values[-1] < SETTLED:
            break
        n = (CLOUD if wide else 2 * RATES) - len(x)
        x = np.concatenate([x, _between(x, n, climb.ends, random)])
    return x[0]


def _spread(ends: Floats) -> Floats:
    """Points that fill the square in u evenly, and its diagonal, where both are comparable."""
    k = np.arange(1, CLOUD - RATES + 1)[:, None]
    even = (k * np.array([0.7548776662466927, 0.5698402909980532])) % 1.0
    diagonal = np.repeat(np.linspace(0.0, 1.0, RATES)[:, None], 2, axis=1)
    return np.concatenate([even, diagonal]) * ends


def _between(kept: Floats, n: int, ends: Floats, random: np.random.Generator) -> Floats:
    """New points: from some kept one, along the difference of two others, far and near."""
    start, one, other = random.integers(0, len(kept), (3, n))
    length = np.exp(random.uniform(np.log(0.02), np.log(1.5), n))[:, None]
    return np.clip(kept[start] + length * (kept[one] - kept[other]), 0.0, ends)


def _values(climb: Climb, curve: int, x: Floats, stop: int) -> Floats:
    """Likelihoods [point] of the trials before a stop."""
    theta = climb.parameters_at(x).reshape(-1, RATES, 2).transpose(0, 2, 1)
    stops = np.full(len(theta), stop, np.int64)
    values = climb.passes.scan(np.full(len(theta), curve), theta, stops).reshape(-1)
    return np.where(np.isfinite(values), values, -np.inf)
