"""The exact fit of a coin: frequencies, none of them under the floor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howlearn.core.study import Study
from howlearn.engine.crossings import Reach, crossings, depth_of, march
from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import FitWork, ModelFits, Refused, Thetas, names_of
from howlearn.fitting.intervals import known_ends
from howlearn.fitting.settings import Marked
from howlearn.models.coin import Coin


class Counts:
    """Coins, whose fit is a count: a way of fitting."""

    searched, slow, evidence = False, False, "exact"
    n_units, n_curves = 0, 0
    kernels: tuple[object, ...] = ()

    def __init__(self, models: Sequence[Coin], study: Study, refused: Refused = None) -> None:
        self.models = models

    def fit(self, work: FitWork) -> list[ModelFits]:
        return [fit_coin(work.study, model, work.marks, work.reach) for model in self.models]

    @staticmethod
    def later(models: Sequence[Coin], at: Marked) -> Thetas:
        """Counts of the actions times their log-probabilities."""
        study, sets = at.study, sets_of(at.study)
        marks = np.zeros((len(study), 2), np.int64)
        marks[at.learners] = at.marks
        upto = counts_upto(study, sets, marks)[at.learners]
        counts = upto[:, 1] - upto[:, 0]  # [learner, set, action]
        found = {}
        for model in models:
            mine = at.theta[model.name]
            p = np.column_stack([mine, 1.0 - mine.sum(axis=1)])
            found[model.name] = log_likelihood(counts, p, sets)
        return found


def sets_of(study: Study) -> NDArray[np.bool_]:
    """What was on offer: [set, action]; one set of all actions where nothing is said."""
    everything = np.ones((1, len(study.actions)), np.bool_)
    return everything if study.offers is None else study.offers


def counts_upto(
    study: Study, sets: NDArray[np.bool_], marks: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How often each action was chosen before each mark: [learner, mark, set, action]."""
    n_sets, n_actions = sets.shape
    learner = np.repeat(np.arange(len(study)), np.diff(study.starts))
    position = np.arange(len(study.context)) - study.starts[learner]
    offer = 0 if study.offer is None else study.offer.astype(np.int64)
    cell = (learner * n_sets + offer) * n_actions + study.action
    out = np.zeros((*marks.shape, n_sets, n_actions))
    for j in range(marks.shape[1]):
        inside = study.scored & (position < marks[learner, j])
        counts = np.bincount(cell[inside], minlength=len(study) * n_sets * n_actions)
        out[:, j] = counts.reshape(len(study), n_sets, n_actions)
    return out


def log_likelihood(
    counts: NDArray[np.float64], p: NDArray[np.float64], sets: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of counts[…, set, action] under p[…, action], renormalised over each set."""
    value = np.sum(counts.sum(axis=-2) * np.log(p), axis=-1)
    if sets.all():
        return value
    return value - np.sum(counts.sum(axis=-1) * np.log(p @ sets.T), axis=-1)


def fit_coin(
    study: Study, model: Coin, marks: NDArray[np.int64], reach: Reach | None = None
) -> ModelFits:
    """Count the actions before and after every mark."""
    n_actions, sets = len(study.actions), sets_of(study)
    everything = np.diff(study.starts)[:, None]
    counts = counts_upto(study, sets, np.concatenate([marks, everything], axis=1))
    before, total = counts[:, :-1], counts[:, -1:]
    floor, ceiling = model.floor(n_actions), 1 - (n_actions - 1) * model.floor(n_actions)
    linked = linked_by(total.sum(axis=-1) > 0, sets)
    p = floored(before.sum(axis=-2), floor)
    if study.offers is not None:
        p = renormalised_counts(before, sets, floor)
    status = np.full(p.shape, Statuses.OK, np.int8)
    status[p <= floor] = Statuses.AT_LOWER
    status[p >= ceiling] = Statuses.AT_UPPER
    status[before.sum(axis=(-2, -1)) == 0] = Statuses.UNSEEN
    ends = None
    if reach is not None:
        j, last = reach.mark, n_actions - 1
        parameters = [parameter for _, parameter in model.owners(study.actions)]
        each = before[:, j].sum(axis=-2)
        ends = _ends(each, p[:, j], (floor, ceiling), reach.limit)[:, :last]
        if study.offers is not None:  # the others do not simply share the rest
            ends[:] = np.nan
        ends = known_ends(ends, status[:, j, :last], parameters)
    return ModelFits(
        model,
        *names_of(model, study.actions),
        p[..., :-1],
        status[..., :-1],
        log_likelihood(before, p, sets),
        log_likelihood(total - before, p, sets),
        n_actions - _n_groups(linked)[:, 0],
        ends=ends,
    )


# With offers the probabilities of a coin are those of Luce's choice rule, which Hunter's MM
# algorithm (2004, Ann. Stat. 32, 384–406) fits. Actions that are never on offer together, not even
# by way of others, cannot be compared: each group of those that can has its share of 1.


ROUNDS, CONVERGED, LONGEST = 500, 1e-11, 1e4


def linked_by(seen: NDArray[np.bool_], sets: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[…, action, action]: whether two actions can be compared, by the sets seen[…, set]."""
    pairs = sets[:, :, None] & sets[:, None, :]
    linked = np.tensordot(seen.astype(float), pairs.astype(float), axes=1) > 0
    linked |= np.eye(sets.shape[1], dtype=bool)
    for _ in range(max(1, int(np.ceil(np.log2(sets.shape[1]))))):
        linked = (linked.astype(float) @ linked.astype(float)) > 0
    return linked


def _n_groups(linked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many groups of actions there are: one parameter less than a group has actions."""
    return np.rint(np.sum(1.0 / linked.sum(axis=-1), axis=-1)).astype(np.int64)


def renormalised_counts(
    counts: NDArray[np.float64], sets: NDArray[np.bool_], floor: float
) -> NDArray[np.float64]:
    """The probabilities p[…, action] that maximise Σ counts·log(p / Σ p over the set), p ≥ floor.

    >>> counts = np.array([[[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0]]])
    >>> sets = np.array([[True, True, False, False], [False, False, True, True]])
    >>> renormalised_counts(counts, sets, 1e-3).round(3).tolist()
    [[0.375, 0.125, 0.25, 0.25]]
    """
    shape, n_actions = counts.shape[:-2], sets.shape[1]
    times, of_set = counts.sum(axis=-2).reshape(-1, n_actions), counts.sum(axis=-1)
    of_set = of_set.reshape(-1, len(sets))
    linked = linked_by(of_set > 0, sets)
    share = linked.sum(axis=-1) / n_actions  # of an action's group
    p = np.full(times.shape, 1.0 / n_actions)

    def step(who: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where(of_set[who] > 0, of_set[who] / (at @ sets.T), 0.0) @ sets
        return _shared(times[who], price, linked[who], share[who], floor)

    def value(who: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        logs = np.log(at @ sets.T)
        return np.sum(times[who] * np.log(at), axis=1) - np.sum(of_set[who] * logs, axis=1)

    left = np.flatnonzero(of_set.sum(axis=1) > 0)
    for _ in range(ROUNDS):
        if not len(left):
            break
        one = step(left, p[left])
        two = step(left, one)
        first, second = np.log(one / p[left]), np.log(two / one)
        # Two steps tell where they lead to (SQUAREM); whatever is not better is not taken.
        bend = np.linalg.norm(second - first, axis=1, keepdims=True)
        length = np.linalg.norm(first, axis=1, keepdims=True) / np.maximum(bend, 1e-300)
        length = np.minimum(np.maximum(length, 1.0), LONGEST)
        jump = np.clip(2 * length * first + length**2 * (second - first), -30.0, 30.0)
        far = p[left] * np.exp(jump)
        far = step(left, np.maximum(far, floor))
        better = value(left, far) >= value(left, two)
        new = np.where(better[:, None], far, two)
        moved = np.maximum(
            np.max(np.abs(second), axis=1), np.max(np.abs(np.log(new / two)), axis=1)
        )
        p[left] = new
        left = left[moved > CONVERGED]
    return p.reshape(*shape, n_actions)


def _shared(
    times: NDArray[np.float64],
    price: NDArray[np.float64],
    linked: NDArray[np.bool_],
    share: NDArray[np.float64],
    floor: float,
) -> NDArray[np.float64]:
    """max(floor, times/(price + λ)), with the λ of every group for which it adds up to its share.

    A sum of such terms is convex and falls with λ: Newton's steps do not pass the root from below.
    """
    group, chosen = linked.astype(float), times > 0

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.einsum("nab,nb->na", group, values)

    # Where one action alone has the whole share: all terms are positive, and the sum too large.
    level = np.where(chosen, times / share - price, -np.inf)
    level = np.max(np.where(linked, level[:, None], -np.inf), axis=2)
    level = np.where(np.isfinite(level), level, 0.0)
    for _ in range(60):
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(chosen, times / (price + level), 0.0)
        free = each > floor
        value = total(np.where(free, each, floor)) - share
        slope = total(np.where(free, each / np.maximum(price + level, 1e-300), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.where(slope > 0, value / slope, 0.0)
        level = level + moved
        if np.all(np.abs(moved) <= 1e-15 * (1.0 + np.abs(level))):
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(chosen, times / (price + level), 0.0)
    alone = linked.sum(axis=-1) == 1
    return np.where(alone, share, np.maximum(each, floor))


def _ends(
    counts: NDArray[np.float64],
    p: NDArray[np.float64],
    bounds: tuple[float, float],
    limit: float,
) -> NDArray[np.float64]:
    """Of intervals for every probability, the others sharing the rest: [learner, action, 2]."""
    mine, all_ = counts.reshape(-1), np.repeat(counts.sum(axis=1), counts.shape[1])

    def value(who: NDArray[np.int64], at: NDArray[np.float64]) -> NDArray[np.float64]:
        count, others = mine[who][:, None], (all_ - mine)[who][:, None]
        return count * np.log(at) + others * np.log1p(-at)

    at = np.repeat(p.reshape(-1), 2)
    top = value(np.arange(len(mine)), p.reshape(-1, 1))[:, 0]

    def look(sides: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        return depth_of(top[sides // 2][:, None], value(sides // 2, x))

    step, bound = np.full(len(at), 0.05), np.tile(bounds, len(mine))
    found = crossings(look, march(look, at, step, bound, limit), limit, tolerance=1e-5)
    # The floor is there for scores; as a value a probability may be 0 or 1.
    found = np.where(found <= bounds[0], 0.0, np.where(found >= bounds[1], 1.0, found))
    return found.reshape(*counts.shape, 2)


def floored(counts: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """The probabilities that maximise Σ counts·log p with every p at least at the floor.

    What falls under the floor is set to it and the others share the rest in proportion, until none
    falls. Without any count all are equal.

    >>> floored(np.array([[9.0, 1.0, 0.0]]), 0.1).round(3).tolist()
    [[0.8, 0.1, 0.1]]
    """
    low = np.zeros(counts.shape, bool)
    empty = counts.sum(axis=-1, keepdims=True) == 0
    counts = np.where(empty, 1.0, counts)
    while True:
        free = np.where(low, 0.0, counts)
        mass = 1.0 - floor * low.sum(axis=-1, keepdims=True)
        p = np.where(low, floor, mass * free / free.sum(axis=-1, keepdims=True))
        if np.all(p >= floor):
            return p
        low |= p < floor
