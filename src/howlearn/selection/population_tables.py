"""Tables of every learner's likelihood under every model, as the population's loops take them.

Partition models are integrated on their grid of log rates: log η_C = a + v_C, where the learner's
effect a is normal in the population and v_C ~ N(0, s²) for every cell; the table of a model has the
likelihood at nodes of a, with the cells integrated out, for each of a few s. A model with one rate
for all cells has no spread between them. Other models have clouds of points, or, where these
would be too few, an approximation of their evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats, Ints
from howlearn.core.study import Study
from howlearn.models.model import Model
from howlearn.selection.clouds import MOST, Cloud, Likelihood
from howlearn.selection.hierarchy import RateGroup, groups_of
from howlearn.selection.holes import COLUMNS, NEAR, SIZES, holes_of, log_outside
from howlearn.selection.rate_grid import curves_of, on_grid, plan_of

SPREADS = (0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6)  # of the log rates of a learner's cells
STRIDE = 2  # nodes of the cells' rates between two of the learner's effect
BEYOND = 1.5  # how far effects may lie above the largest rate, in log rates
SEED = 20_251  # of the clouds
TINIEST = 1e-37  # of the best: nothing less is told apart from nothing
NOWHERE = -1e6  # nats: a model that rules a learner's choices out wherever it is looked at


@dataclass(frozen=True)
class Layout:
    """Which candidate is of which kind, in the order of the tables' columns."""

    models: tuple[Model, ...]
    rated: tuple[int, ...]  # places of the partition models on grids
    clouds: tuple[int, ...]
    fixed: tuple[int, ...]
    family: Ints  # [rated model]

    @classmethod
    def of(cls, models: Sequence[Model], study: Study) -> Layout:
        return cls.of_models(models, study.actions)

    @classmethod
    def of_models(cls, models: Sequence[Model], actions: Sequence[str] = ("", "")) -> Layout:
        kinds: dict[object, list[int]] = {}
        clouds, fixed = [], []
        for k, model in enumerate(models):
            if on_grid(model):
                kinds.setdefault(frozenset(unit.rule for unit in model.units), []).append(k)
            elif model.way in ("counts", "table"):
                fixed.append(k)
            else:
                few = 1 <= len(model.owners(actions)) <= MOST
                (clouds if few else fixed).append(k)
        rated = [k for mine in kinds.values() for k in mine]
        family = np.repeat(np.arange(len(kinds)), [len(mine) for mine in kinds.values()])
        return cls(tuple(models), tuple(rated), tuple(clouds), tuple(fixed), family)

    @property
    def order(self) -> Ints:
        """The candidates in the order of the columns."""
        return np.array([*self.rated, *self.clouds, *self.fixed], np.int64)

    @property
    def n_families(self) -> int:
        return int(self.family.max(initial=-1)) + 1

    def upper(self) -> Floats:
        """Of every family the log of the largest rate."""
        found = np.zeros(self.n_families)
        for k, f in zip(self.rated, self.family, strict=True):
            units = self.models[k].units
            found[f] = max(np.log(unit.rule.parameters[0].upper) for unit in units)
        return found


@dataclass(frozen=True, eq=False)
class Tables:
    """The likelihoods of some learners; the axes are as the compiled loops say."""

    layout: Layout
    rated: Floats  # [spread, learner, model, node]
    nodes: Floats  # [family, node]
    clouds: tuple[Cloud, ...]
    top_rated: Floats  # [learner, model]: the log of what the tables are relative to
    fixed: Floats  # [learner, model]: log-evidence
    holes: Floats  # [cloud, coordinate, …]: where a simpler candidate says the same

    @classmethod
    def of(cls, study: Study, layout: Layout, fixed: Floats, threads: int | None = None) -> Tables:
        """Of all learners of a study; ``fixed[learner, candidate]`` is known for models that need
        it."""
        rated, nodes, top = rated_tables(study, layout, threads)
        clouds = [
            Cloud.around(Likelihood(layout.models[k], study, threads), SEED + 10 * j)
            for j, k in enumerate(layout.clouds)
        ]
        holes = _holes(layout, clouds)
        return cls(layout, rated, nodes, tuple(clouds), top, fixed[:, list(layout.fixed)], holes)

    def under(self, study: Study, layout: Layout, threads: int | None = None) -> Tables:
        """Of the same learners, with larger rates."""
        rated, nodes, top = rated_tables(study, layout, threads)
        return replace(self, layout=layout, rated=rated, nodes=nodes, top_rated=top)

    def with_holes(self) -> Iterator[Tables]:
        """Of the same learners, with holes of every size."""
        for near in SIZES:
            yield replace(self, holes=_holes(self.layout, self.clouds, near))

    @classmethod
    def known(cls, layout: Layout, evidence: Floats) -> Tables:
        """Of models of which nothing but the log-evidence is known."""
        nothing = np.empty((len(SPREADS), len(evidence), 0, 2))
        holes = np.zeros((0, 0, COLUMNS))
        return cls(layout, nothing, nothing[0, 0], (), nothing[0, :, :, 0], evidence, holes)

    def renewed(self, mean: Floats, variance: Floats) -> Tables:
        """With points of clouds where the population lies: [model, learner, parameter]."""
        clouds = [
            cloud.renewed(mean[j][:, : cloud.likelihood.d], variance[j][:, : cloud.likelihood.d])
            for j, cloud in enumerate(self.clouds)
        ]
        return replace(self, clouds=tuple(clouds))

    def take(self, who: Ints) -> Tables:
        """Those of some learners, of whom one may be there more than once."""
        found = replace(
            self, rated=self.rated[:, who], top_rated=self.top_rated[who], fixed=self.fixed[who]
        )
        points, weight, dims, top = self.packed
        found.__dict__["packed"] = (points[who], weight[who], dims, top[who])
        return found

    def with_fixed(self, column: Floats) -> Tables:
        """With one more model, of which nothing but the log-evidence is known."""
        return replace(self, fixed=np.column_stack([self.fixed, column]))

    def log_weight(self, j: int) -> Floats:
        """[learner, point] of a cloud, with what holes leave of each point."""
        return self.clouds[j].log_weight + log_outside(self.holes[j], self.clouds[j].points)

    @property
    def dims(self) -> Ints:
        return np.array([cloud.likelihood.d for cloud in self.clouds], np.int64)

    @cached_property
    def pairs(self) -> Ints:
        """Two clouds, and for every parameter of the first the one of the second that is the same,
        or −1: those that have any."""
        each = [cloud.likelihood.advisor.parameters for cloud in self.clouds]
        most = int(self.dims.max(initial=1))
        rows = []
        for a, b in combinations(range(len(each)), 2):
            place = {(p.name, p.lower, p.upper): d for d, p in enumerate(each[b])}
            row = [place.get((p.name, p.lower, p.upper), -1) for p in each[a]]
            if max(row) >= 0:
                rows.append([a, b, *row, *[-1] * (most - len(row))])
        return np.array(rows, np.int64).reshape(-1, 2 + most)

    @cached_property
    def packed(self) -> tuple[Floats, Floats, Ints, Floats]:
        """Points [learner, model, parameter, point], weights, dims, and the weights' log tops."""
        n, dims = len(self.fixed), self.dims
        most = max((cloud.points.shape[1] for cloud in self.clouds), default=1)
        points = np.zeros((n, len(dims), int(dims.max(initial=1)), most))
        weight, top = np.zeros((n, len(dims), most)), np.zeros((n, len(dims)))
        for j, cloud in enumerate(self.clouds):
            log_w = self.log_weight(j)
            size = log_w.shape[1]
            best = log_w.max(axis=1)  # −∞ where no point explains a learner at all
            top[:, j] = np.where(np.isfinite(best), best, NOWHERE)
            points[:, j, : dims[j], :size] = cloud.points.transpose(0, 2, 1)
            weight[:, j, :size] = np.exp(log_w - top[:, j, None])
        return points, weight, dims, top

    @cached_property
    def log_top(self) -> Floats:
        """[learner, column]: the log of what each column is relative to."""
        return np.column_stack([self.top_rated, self.packed[3], self.fixed])

    @cached_property
    def best(self) -> Floats:
        """Of every learner the largest of these."""
        return self.log_top.max(axis=1)

    @cached_property
    def scale(self) -> Floats:
        return np.exp(self.log_top - self.best[:, None])

    @cached_property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What the compiled loops take first; what they sum are numbers of 64 bits."""
        points, weight, dims, _ = self.packed
        clouds = _short(points), _short(weight), dims, self.holes
        return _short(self.rated), self.nodes, self.layout.family, *clouds, self.scale


def _holes(layout: Layout, clouds: Sequence[Cloud], near: float = NEAR) -> Floats:
    if not clouds:
        return np.zeros((0, 0, COLUMNS))
    parameters = [cloud.likelihood.advisor.parameters for cloud in clouds]
    study = clouds[0].likelihood.study
    told = layout.clouds, parameters, study.actions, study.reward_range
    return holes_of(layout.models, *told, near)


def rated_tables(
    study: Study, layout: Layout, threads: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Likelihoods [spread, learner, model, node], the nodes, and the logs of their largest."""
    n, n_rated = len(study), len(layout.rated)
    models = [m for k in layout.rated if on_grid(m := layout.models[k])]
    groups: list[RateGroup] = []
    if models:
        curves = curves_of(study, plan_of(models, study), threads)
        groups = groups_of(models, range(n_rated), curves)
    each = [_effects(group) for group in groups]
    most = max((len(x) for x in each), default=2)
    nodes = np.empty((layout.n_families, most))
    log_table = np.empty((len(SPREADS), n, n_rated, most))
    for f, (group, x) in enumerate(zip(groups, each, strict=True)):
        nodes[f] = x[0] + (x[1] - x[0]) * np.arange(most)
        _fill(log_table, group, nodes[f])
    top = log_table.max(axis=(0, 3), initial=-np.inf)
    return np.exp(log_table - top[None, :, :, None]), nodes, top


def _short(values: Floats) -> NDArray[np.float32]:
    """As numbers of 32 bits, of which loops read twice as many at once; the tiniest are 0."""
    return np.where(np.abs(values) > TINIEST, values, 0.0).astype(np.float32)


def _effects(group: RateGroup) -> Floats:
    """Nodes of the learner's effect: among those of the rates, and on beyond the largest."""
    x = max((group.curves.nodes[rule] for rule in group.rules), key=len)
    step = STRIDE * (x[1] - x[0])
    below = (len(x) - 1) // STRIDE
    return x[-1] + step * np.arange(-below, int(np.ceil(BEYOND / step)) + 1)


def _fill(log_table: Floats, group: RateGroup, effects: Floats) -> None:
    for j, s in enumerate(SPREADS):
        cells = {rule: group.cells(s, rule, effects) for rule in group.rules}
        for k, model in zip(group.columns, group.models, strict=True):
            if len(model.units) == 1 and len(model.units[0].cells) > 1:
                log_table[j, :, k] = group.at_rate(model, effects)
            else:
                log_table[j, :, k] = group.sums(model, cells)
