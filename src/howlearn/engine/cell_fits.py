"""The exact fit of units: one pass on a grid, two that certify, a few that refine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.rule import Parameter, Rule
from howlearn.engine import compile as compiled
from howlearn.engine import profiles, spikes, two_parameters
from howlearn.engine.crossings import Reach
from howlearn.engine.layout import LANES, RATES, Block, Statuses, UnitFits, Units, product, through

PAIR_LIMIT = 500.0  # 2·η·g beyond this would underflow in the two-action kernel
ROUNDS = 60  # of refinement; three or four are the rule
RISE = 1e-7  # nats; a parabola tells so small a rise to the top a hundred times better
SPARSE, WIDEST, DEGREE = 24, 0.31, 7  # nodes of a smooth likelihood, steps of u, spline

Points = dict[str, NDArray[Any]]  # u, value, total and status


@dataclass(frozen=True)
class Passes:
    """The compiled passes over one block for one rule."""

    block: Block
    units: Units
    rule: Rule
    module: ModuleType
    every: int  # visits between two moves of exponents
    close: float  # nats; local maxima this close to the best one are all refined
    blocks: int  # of RATES nodes each that the grid needs for the likelihood's structure
    spiky: bool  # whether tops may hide between the nodes all the same
    rates: int = RATES  # nodes in the lanes of ``grid``

    @classmethod
    def prepare(cls, block: Block, units: Units, rule: Rule, rates: int = RATES) -> Passes:
        largest = float(np.max(block.feedback, initial=0.0))
        step = 2.0 * rule.parameters[0].upper * largest
        # Losses drive preferences apart instead of together (see `spikes`).
        spiky = bool(np.min(block.feedback, initial=0.0) < 0.0)
        close, blocks = (0.05, 1) if rule.smooth_with_gains and not spiky else (3.0, 16)
        two = block.n_actions == 2 and step <= PAIR_LIMIT and not len(block.offered)
        pair = bool(rule.pair_kernel) and not spiky and two
        every = 16
        if pair:  # a probability is at least about exp(−step)/(1 + step·n)
            longest = int(np.max(np.diff(block.offsets), initial=1))
            every = int(min(16, max(1, 600 // (step + np.log1p(step * longest) + 1))))
        module = compiled.passes(rule, pair)
        return cls(block, units, rule, module, every, close, blocks, spiky, rates)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Learners, marks, units: curves are numbered in this order."""
        return *self.block.marks.shape, len(self.units[3])

    def up_to(self, mark: int) -> Ints:
        """The numbers of the curves up to one mark, learner by learner."""
        return np.arange(np.prod(self.shape)).reshape(self.shape)[:, mark].reshape(-1)

    def curves(self, nodes: Floats, *others: float) -> Floats:
        """Log-likelihoods [curve, node] at nodes of the first parameter, the others fixed."""
        parts = []
        n = self.rates
        for first in range(0, len(nodes), n):
            rates = [nodes[first : first + n], *(np.full(n, other) for other in others)]
            parts.append(self.grid(np.stack(rates)).reshape(-1, n))
        return np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]

    def grid(self, rates: Floats) -> Floats:
        """Log-likelihoods [learner, mark, unit, rate] at rates[parameter, rate]."""
        block = self.block
        out = np.empty((*self.shape, self.rates))
        tasks = block.marks, self.units, rates
        self.module.grid(*block.trials, *tasks, block.n_actions, self.every, out)
        return out

    def scan(self, curves: Ints, points: Floats, stop: Ints | None = None) -> Floats:
        """Log-likelihoods [curve, rate] of some curves at points[curve, parameter, rate].

        With a ``stop`` of the trials before it.
        """
        block = self.block
        learner, mark, unit = np.unravel_index(curves, self.shape)
        if stop is None:
            stop = np.ascontiguousarray(block.marks[learner, mark], np.int64)
        out = np.empty((len(curves), 1, 1, RATES))
        places = np.ascontiguousarray(learner), np.ascontiguousarray(unit)
        tasks = self.units, *places, np.ascontiguousarray(points), stop
        self.module.scan(*block.trials, *tasks, block.n_actions, self.every, out)
        return out[:, 0, 0]

    def probe_curves(self, curves: Ints, points: Floats) -> tuple[Floats, Floats, Floats]:
        """Values, gradients and totals of some curves at points[curve, parameter, lane]."""
        learner, mark, unit = np.unravel_index(curves, self.shape)
        stops = np.repeat(self.block.marks[learner, mark][:, None], LANES, axis=1)
        return self.probe(learner, unit, points, stops)

    def probe(
        self, learner: Ints, unit: Ints, points: Floats, stops: Ints
    ) -> tuple[Floats, Floats, Floats]:
        """The same of tasks that each have a stop for every lane."""
        order = np.argsort(learner, kind="stable")  # tasks of one learner share one pass
        values = np.empty((len(learner), LANES))
        gradients = np.empty((len(learner), len(self.rule.parameters), LANES))
        totals = np.empty((len(learner), LANES))
        block = self.block
        self.module.probe(
            *block.trials,
            self.units,
            learner[order],
            unit[order],
            np.ascontiguousarray(points[order]),
            np.ascontiguousarray(stops[order], np.int64),
            block.n_actions,
            self.every,
            values,
            gradients,
            totals,
        )
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return values[back], gradients[back], totals[back]


def fit_units(block: Block, units: Units, rule: Rule, reach: Reach | None = None) -> UnitFits:
    """The global maximum of each unit's likelihood up to each mark, within the rule's bounds.

    With a ``reach`` also the ends of intervals.
    """
    passes = Passes.prepare(block, units, rule)
    ends = np.diff(block.offsets)[:, None]
    seen = trials_seen(block, units, np.concatenate([block.marks, ends], axis=1))
    shown = seen[:, -1] > 0
    if len(rule.parameters) == 1:
        return _fit_line(passes, seen[:, :-1], shown, rule.parameters[0], reach)
    return two_parameters.fit_surface(passes, seen[:, :-1], shown, rule.parameters, reach)


def profile_units(block: Block, units: Units, rule: Rule, curves: Floats) -> UnitFits:
    """As ``fit_units`` for a rule with one parameter, from likelihoods [curve, node] at ``nodes``.

    Maxima are good to 1e-9 nats, which takes half as long as making sure of the estimates as well:
    those are good for a likelihood, and not for a hold-out.
    """
    passes = Passes.prepare(block, units, rule)
    seen = trials_seen(block, units, block.marks)
    parameter = rule.parameters[0]
    if curves.shape[1] < RATES:
        curves = product(curves, _denser(parameter.end, curves.shape[1]))
    return _fit_line(passes, seen, seen[:, -1] > 0, parameter, known=curves)


def smooth_nodes(parameter: Parameter) -> Floats:
    """Even u: at so many a smooth likelihood must be known to be known everywhere.

    >>> from howlearn.core.rules import GradientBandit
    >>> len(smooth_nodes(GradientBandit().parameters[0]))
    24
    """
    n = SPARSE if parameter.end <= WIDEST * (SPARSE - 1) else RATES
    return np.linspace(0.0, parameter.end, n)


def smooth_curves(block: Block, units: Units, rule: Rule) -> Floats | None:
    """Likelihoods [curve, node] at ``smooth_nodes``; None where they need not be smooth."""
    parameter, *others = rule.parameters
    nodes = smooth_nodes(parameter)
    passes = Passes.prepare(block, units, rule, len(nodes))
    return passes.curves(parameter.at(nodes)) if passes.blocks == 1 and not others else None


@cache
def _denser(end: float, n: int) -> Floats:
    """From n even nodes to as many as a search starts from."""
    return through(np.linspace(0.0, end, n), np.linspace(0.0, end, RATES), DEGREE)


def trials_seen(block: Block, units: Units, marks: Ints) -> Ints:
    """How many trials of each unit come before each mark: [learner, mark, unit]."""
    starts, contexts, _, rows, n_contexts = units
    learner = np.repeat(np.arange(len(block)), np.diff(block.offsets))
    position = np.arange(len(learner)) - block.offsets[learner]
    met = learner * n_contexts + block.context
    seen = np.empty((*marks.shape, len(rows)), np.int64)
    counts = np.zeros((len(block), len(contexts) + 1), np.int64)
    for j in range(marks.shape[1]):
        before = met[position < marks[learner, j]]
        shown = np.bincount(before, minlength=len(block) * n_contexts).reshape(-1, n_contexts)
        np.cumsum(shown[:, contexts], axis=1, out=counts[:, 1:])
        seen[:, j] = counts[:, starts[1:]] - counts[:, starts[:-1]]
    return seen


def evaluate(
    block: Block,
    units: Units,
    rule: Rule,
    learner: Ints,
    unit: Ints,
    theta: Floats,
    stop: Ints,
) -> tuple[Floats, Floats]:
    """Log-likelihood before ``stop`` and of all trials, at given theta[task, parameter]."""
    passes = Passes.prepare(block, units, rule)
    points = np.repeat(theta[:, :, None], LANES, axis=2)
    stops = np.repeat(stop[:, None], LANES, axis=1)
    values, _, totals = passes.probe(learner, unit, points, stops)
    return values[:, 0], totals[:, 0]


def replay_unit(
    block: Block, units: Units, rule: Rule, learner: int, unit: int, theta: Floats
) -> Floats:
    """Log-probabilities [trial, action] of one learner; 0 where the unit has no part in a trial."""
    starts, contexts, slots, rows, n_contexts = units
    cell_of = np.full(n_contexts, -1)
    mine = slice(starts[unit], starts[unit + 1])
    cell_of[contexts[mine]] = slots[mine]
    trials = slice(block.offsets[learner], block.offsets[learner + 1])
    out = np.zeros((1, len(block.context[trials]), block.n_actions))
    compiled.single(rule).replay(
        block.context[trials],
        block.action[trials],
        block.feedback[trials],
        block.flags[trials],
        block.offered[trials],
        cell_of,
        np.tile(theta, (1, rows[unit], 1)),
        out,
    )
    return out[0]


def _fit_line(
    passes: Passes,
    seen: Ints,
    shown: Bools,
    parameter: Parameter,
    reach: Reach | None = None,
    known: Floats | None = None,
) -> UnitFits:
    """Units with one parameter; where their curves are known, their maxima only."""
    shape = passes.shape
    nodes = np.linspace(0.0, parameter.end, RATES * passes.blocks)
    values = passes.curves(parameter.at(nodes)) if known is None else known
    found, curves, centre = _settled(
        passes,
        np.ascontiguousarray(seen).reshape(-1),
        values,
        nodes[1],
        parameter,
        hasty=known is not None,
    )
    if len(curves):
        again = _refine(passes, curves, centre, nodes[1], parameter)
        best_first = np.lexsort((-again["value"], curves))
        _, first = np.unique(curves[best_first], return_index=True)
        pick = best_first[first]
        for name, target in found.items():
            target[curves[pick]] = again[name][pick]
    u, value, total, status = found.values()
    if passes.spiky:
        informed = np.flatnonzero(status < Statuses.FLAT)
        curves, *spike = spikes.find_spikes(passes, informed, parameter)
        for i in np.flatnonzero(spike[1] > value[curves] + spikes.EXACT):
            if spike[1][i] > value[curves[i]]:  # a curve may have several
                u[curves[i]], value[curves[i]], total[curves[i]] = (part[i] for part in spike)
                status[curves[i]] = Statuses.OK
    if passes.blocks > 1:
        spikes.mark_unstable(passes, u[:, None], value, status[:, None], [parameter])
    ends = None
    if reach is not None:
        ends = profiles.line_ends(passes, nodes, values, u, value, parameter, reach)
        ends = ends.reshape(shape[0], shape[2], 1, 2)
    return UnitFits(
        parameter.at(u).reshape(*shape, 1),
        status.reshape(*shape, 1),
        value.reshape(shape),
        total.reshape(shape),
        shown,
        ends,
    )


def _settled(
    passes: Passes, seen: Ints, values: Floats, width: np.float64, parameter: Parameter, hasty: bool
) -> tuple[Points, Ints, Floats]:
    """The best point of every curve, from its values at nodes so wide apart; and (curve, u) pairs.

    The pairs are those that must be refined: tops that are not certified, and those of curves with
    several that are almost as high.
    """
    search = compiled.search()
    end, count = parameter.end, len(values)
    u, curvature = np.zeros(count), np.zeros(count)
    node, status = np.zeros(count, np.int64), np.zeros(count, np.int8)
    rivals, rival_nodes = np.zeros((2, (8 + count) * 2 * passes.blocks), np.int64)
    n_rivals = search.locate(
        values, seen, width, passes.close, u, node, curvature, status, rivals, rival_nodes
    )
    value, total, gradient = _certificate(passes, u, parameter)
    if not hasty:
        search.newton(u, gradient, curvature, status, node, width, end, parameter.scale)
        value, total, gradient = _certificate(passes, u, parameter)
    search.certify(u, value, gradient, curvature, status, end, parameter.scale)
    if hasty:
        _rise(u, value, gradient, curvature, status, parameter)
    open_ = np.flatnonzero(status == Statuses.SEARCHING)
    contested = np.unique(rivals[:n_rivals])
    # A contested curve is refined from its best node as well, so that like is compared with like.
    again = np.union1d(open_, contested)
    curves = np.concatenate([again, rivals[:n_rivals]])
    centre = width * np.concatenate([node[again], rival_nodes[:n_rivals]])
    return {"u": u, "value": value, "total": total, "status": status}, curves, centre


def _rise(
    u: Floats,
    value: Floats,
    gradient: Floats,
    curvature: Floats,
    status: NDArray[np.int8],
    parameter: Parameter,
) -> None:
    """Settle the points that are almost at the top, with the rest of the way by a parabola."""
    inside = (status == Statuses.SEARCHING) & (u > 0.0) & (u < parameter.end) & (curvature < 0.0)
    slope, bend = gradient[inside] * parameter.slope(u[inside]), -curvature[inside]
    rise = slope * slope / (2.0 * bend)
    near = np.flatnonzero(inside)[rise < RISE]
    u[near] += (slope / bend)[rise < RISE]
    value[near] += rise[rise < RISE]
    status[near] = Statuses.OK


def _certificate(passes: Passes, u: Floats, parameter: Parameter) -> tuple[Floats, Floats, Floats]:
    """Value, total and gradient of every curve at u: the lanes of one pass are the marks."""
    n_learners, n_marks, n_units = passes.shape
    learner = np.repeat(np.arange(n_learners), n_units)
    unit = np.tile(np.arange(n_units), n_learners)
    out = np.empty((3, n_learners, n_marks, n_units))
    for first in range(0, n_marks, LANES):
        lanes = np.minimum(first + np.arange(LANES), n_marks - 1)  # spare lanes repeat the last
        points = parameter.at(u.reshape(passes.shape)[:, lanes])  # [learner, lane, unit]
        stops = passes.block.marks[:, lanes]
        result = passes.probe(
            learner,
            unit,
            points.transpose(0, 2, 1).reshape(-1, 1, LANES),
            np.repeat(stops, n_units, axis=0),
        )
        used = min(LANES, n_marks - first)
        for k, part in enumerate((result[0], result[2], result[1][:, 0])):
            part = part.reshape(n_learners, n_units, LANES)[:, :, :used]
            out[k, :, first : first + used] = part.transpose(0, 2, 1)
    return out[0].reshape(-1), out[1].reshape(-1), out[2].reshape(-1)


def _refine(
    passes: Passes, curves: Ints, centre: Floats, width: float, parameter: Parameter
) -> Points:
    """Narrow brackets around the centres until every point is certified."""
    search = compiled.search()
    end = parameter.end
    low, high = np.maximum(centre - width, 0.0), np.minimum(centre + width, end)
    guess = centre.copy()
    status = np.full(len(curves), Statuses.SEARCHING, np.int8)
    result = {name: np.zeros(len(curves)) for name in ("u", "value", "total")}
    for _ in range(ROUNDS):
        left = np.flatnonzero(status == Statuses.SEARCHING)
        if not len(left):
            break
        points = np.empty((len(left), LANES))
        search.spread(low[left], high[left], guess[left], points)
        values, gradients, totals = passes.probe_curves(
            curves[left], parameter.at(points)[:, None, :]
        )
        parts = [low[left], high[left], guess[left]]
        best, state = np.zeros(len(left), np.int64), status[left]
        search.narrow(points, values, gradients[:, 0], end, parameter.scale, *parts, best, state)
        low[left], high[left], guess[left] = parts
        status[left] = state
        every = np.arange(len(left))
        result["u"][left] = points[every, best]
        result["value"][left] = values[every, best]
        result["total"][left] = totals[every, best]
    status[status == Statuses.SEARCHING] = Statuses.OK
    return {**result, "status": status}
