"""Other: every partition that is not listed, as one candidate.

A mixture over all partitions of the contexts that a learner met, with Ewens' weights. What the
candidates among them have is taken off, so that Other stands for all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howlearn.core.arrays import Floats, Ints, log_sum
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES, lay_out, product, through
from howlearn.engine.set_partitions import all_sets, log_total, members
from howlearn.fitting.cells import block_of
from howlearn.models.partition_model import PartitionModel
from howlearn.runs.parts import in_threads
from howlearn.selection.hierarchy import Hyper, normal
from howlearn.selection.rate_grid import log_cells, log_rising

LARGEST = 12  # contexts
ALPHA = 1.0  # of Ewens' weights
CELLS = 128  # that go through the trials together: their states stay in fast memory
REACH = 4.0  # standard deviations of log rates that are looked at
SPARSE, DEGREE = 0.5, 7  # spacing of log rates that a spline through a smooth likelihood bears
NODES = 24  # as in fits, whose compiled pass serves here too
FINE, COARSE = 0.05, 0.15  # spacings at which cells are integrated: half of their spread
BLOCK = 10  # learners in one pass


def can_have_other(models: Sequence[PartitionModel], study: Study) -> bool:
    """Whether all partitions can be gone through: one rule with one rate, and few contexts."""
    rules = {unit.rule for model in models for unit in model.units}
    if len(rules) != 1 or not 2 <= len(study.contexts) <= LARGEST:
        return False
    rule = next(iter(rules))
    return isinstance(rule, Rule) and len(rule.parameters) == 1


def log_evidence_other(
    study: Study,
    models: Sequence[PartitionModel],
    nodes: Floats,
    hyper: Hyper,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Of every learner: the log evidence of all partitions that are not listed."""
    rule = models[0].units[0].rule
    assert isinstance(rule, Rule)
    grid = _Grid.around(hyper, nodes, rule, study)
    out = np.empty(len(study))
    kinds: dict[bytes, list[int]] = {}  # by the contexts that were met
    place = 0
    for part in study.parts():
        for i in range(len(part)):
            met = np.zeros(len(study.contexts), bool)
            met[part.context[part.starts[i] : part.starts[i + 1]]] = True
            kinds.setdefault(met.tobytes(), []).append(place + i)
        place += len(part)
    work = []
    for key, mine in kinds.items():
        met = np.flatnonzero(np.frombuffer(key, bool))
        work += [(met, np.array(mine[k : k + BLOCK])) for k in range(0, len(mine), BLOCK)]
    done = 0

    def one(task: tuple[Ints, Ints]) -> None:
        nonlocal done
        met, who = task
        out[who] = _of_block(study.take(who), rule, models, met, grid, hyper)
        done += len(who)
        if progress:
            progress(done, len(study))

    one(work[0])
    in_threads(one, work[1:], threads)
    return out


@dataclass(frozen=True)
class _Grid:
    """Log rates: few, at which likelihoods are computed, and many, at which they are integrated."""

    sparse: Floats
    fine: Floats
    effects: Floats

    @classmethod
    def around(cls, hyper: Hyper, nodes: Floats, rule: Rule, study: Study) -> _Grid:
        reach = REACH * float(np.hypot(hyper.tau, hyper.s))
        low, high = max(nodes[0], hyper.mu - reach), min(nodes[-1], hyper.mu + reach)
        if high - low < 4 * FINE:  # all learners at a bound
            low, high = max(nodes[0], high - 4 * FINE), min(nodes[-1], low + 4 * FINE)
        smooth = rule.smooth_with_gains and rule.form == "gain"
        if not smooth or study.reward_range[0] < 0:  # with cliffs: nothing lies between the nodes
            fine = np.linspace(low, high, RATES * int(np.ceil((high - low) / (FINE * RATES))))
            return cls(fine, fine, cls._effects(hyper, fine, FINE))
        n = NODES if (high - low) / (NODES - 1) <= SPARSE else RATES
        width = float(np.clip(hyper.s / 2, FINE, COARSE))
        fine = np.linspace(low, high, max(4, int(np.ceil((high - low) / width)) + 1))
        return cls(np.linspace(low, high, n), fine, cls._effects(hyper, fine, width))

    @staticmethod
    def _effects(hyper: Hyper, fine: Floats, width: float) -> Floats:
        if hyper.tau == 0.0:
            return np.array([hyper.mu])
        return fine[:: 2 if width < 2 * FINE and len(fine) > 8 else 1]

    @property
    def lanes(self) -> int:
        return min(len(self.sparse), RATES)

    @cached_property
    def through(self) -> Floats:
        """Weights [sparse, fine] of a spline through the sparse nodes."""
        if self.sparse is self.fine:
            return np.eye(len(self.fine))
        return through(self.sparse, self.fine, DEGREE if len(self.sparse) < RATES else 3)

    def kernel(self, s: float) -> Floats:
        """[fine, effect]: how a cell's rate is distributed, given the learner effect."""
        found = np.exp(-0.5 * ((self.fine[:, None] - self.effects) / s) ** 2)
        return found / found.sum(axis=0)


def _of_block(
    study: Study, rule: Rule, models: Sequence[PartitionModel], met: Ints, grid: _Grid, hyper: Hyper
) -> Floats:
    j = len(met)
    sets = all_sets(tuple(met.tolist()))
    marks = np.diff(study.starts)[:, None]
    block = block_of(study, rule, marks)
    rates = np.minimum(np.exp(grid.sparse), rule.parameters[0].upper)
    curves = np.empty((len(study), len(sets), len(rates)))
    for first in range(0, len(sets), CELLS):
        mine = sets[first : first + CELLS]
        units = lay_out([[cell] for cell in mine], len(study.contexts))
        passes = Passes.prepare(block, units, rule, grid.lanes)
        found = passes.curves(rates)
        curves[:, first : first + len(mine)] = found.reshape(len(study), len(mine), -1)
    kernel, prior = grid.kernel(hyper.s), normal(grid.effects, hyper.mu, hyper.tau or 1.0)
    weight = log_cells(members(j).sum(axis=1), ALPHA)
    listed = _listed(models, [study.contexts[c] for c in met])
    size = float(sum(np.exp(_log_prior(cells, weight, j)) for cells in listed))
    if size > 1.0 - 1e-9:  # there is no other partition
        return np.full(len(study), -np.inf)
    out = np.empty(len(study))
    for i in range(len(study)):
        fine = product(curves[i], grid.through)
        top = fine.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            cells = np.log(product(np.exp(fine - top), kernel)) + top
        log_w = np.full((2**j, len(prior)), -np.inf)
        log_w[1:] = np.maximum(cells, -1e300) + weight[1:, None]
        every = log_total(log_w) - log_rising(j, ALPHA)
        total = float(log_sum(every + prior))
        left = 1.0
        if listed:  # nothing is where all candidates have one rate for several cells
            known = [log_w[cells].sum(axis=0) - log_rising(j, ALPHA) for cells in listed]
            mine = float(log_sum(np.array([log_sum(part + prior) for part in known])))
            left = -np.expm1(min(mine - total, 0.0))
        # All but nothing is left: what rounding leaves of it.
        out[i] = total + np.log(max(left, 1e-15)) - np.log1p(-size)
    return out


def _log_prior(cells: list[int], weight: Floats, j: int) -> float:
    return float(weight[cells].sum()) - log_rising(j, ALPHA)


def _listed(models: Sequence[PartitionModel], contexts: Sequence[str]) -> list[list[int]]:
    """The candidates as sets of the contexts that were met, each partition once."""
    place = {context: k for k, context in enumerate(contexts)}
    found: dict[tuple[int, ...], None] = {}
    for model in models:
        if model.rates == "shared" and len(model.partition.cells) > 1:
            continue  # one rate for all cells is no mixture's part
        cells = [[place[c] for c in cell if c in place] for cell in model.partition.cells]
        found[tuple(sorted(sum(1 << k for k in cell) for cell in cells if cell))] = None
    return [list(cells) for cells in found]
