"""The likelihoods of cells: of all sets of contexts, or of those that a search asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howlearn.core.arrays import Floats
from howlearn.core.rule import Rule
from howlearn.core.study import Study
from howlearn.discovery.rates import NOTHING, through_nodes
from howlearn.engine.cell_fits import Passes, evaluate, fit_units, profile_units, smooth_curves
from howlearn.engine.layout import Block, Statuses, Units, lay_out, product
from howlearn.fitting.cells import block_of
from howlearn.fitting.fits import marks_of, sizes_of
from howlearn.selection.rate_grid import averaged_curves, log_rates

GROUP = 128  # cells that go through the trials together: their states stay in fast memory


@dataclass(frozen=True)
class Needs:
    """What criteria look at: maxima, whole curves, hold-outs at these splits."""

    maxima: bool = False
    curves: bool = False
    splits: tuple[float, ...] = ()

    def __or__(self, other: Needs) -> Needs:
        splits = tuple(dict.fromkeys((*self.splits, *other.splits)))
        return Needs(self.maxima or other.maxima, self.curves or other.curves, splits)


@dataclass(frozen=True)
class Cells:
    """Log-likelihoods of cells; the axes are learner, cell, (rate). What nobody needs is empty."""

    rule: Rule
    sizes: NDArray[np.int64]  # contexts in each cell
    n_trials: NDArray[np.int64]  # [learner]: scored trials
    maxima: Floats  # of all trials at the best parameters
    curves: Floats  # at the nodes of ``through_nodes`` where smooth, or at the rates themselves
    held_out: dict[float, Floats]  # of the trials after each split

    def of(self, learner: int) -> Cells:
        """One learner only."""
        one = slice(learner, learner + 1)
        return Cells(
            self.rule,
            self.sizes,
            self.n_trials[one],
            self.maxima[one],
            self.curves[one],
            {split: part[one] for split, part in self.held_out.items()},
        )

    def averaged(self, kernel: Floats) -> Floats:
        """The log of the mean likelihood of the first learner, by kernel[rate, column]."""
        curves = self.curves[0]
        smooth = curves.shape[1] != len(kernel)
        likely = product(curves, through_nodes(self.rule)) if smooth else curves.copy()
        top = likely.max(axis=1, keepdims=True)
        likely -= top
        np.maximum(likely, np.log(NOTHING), out=likely)
        found = product(np.exp(likely, out=likely), kernel)
        with np.errstate(divide="ignore"):  # rates that are out of the question
            np.log(found, out=found)
        found += top
        return found


def fit_cells(study: Study, rule: Rule, cells: Sequence[tuple[int, ...]], needs: Needs) -> Cells:
    """What is needed of these cells, of every learner of the study."""
    ends = np.diff(study.starts)[:, None]
    block = block_of(study, rule, ends)
    held = {
        split: block_of(study, rule, marks_of(study, sizes_of(study.n_scored, [split])))
        for split in needs.splits
    }
    parts: list[tuple[Floats, Floats]] = []
    rest: dict[float, list[Floats]] = {split: [] for split in needs.splits}
    for first in range(0, len(cells), GROUP):
        group = [[list(cell)] for cell in cells[first : first + GROUP]]
        units = lay_out(group, len(study.contexts))
        parts.append(_profiles(block, units, rule, needs))
        for split, marked in held.items():
            rest[split].append(_held_out(marked, units, rule))
    return Cells(
        rule,
        np.array([len(cell) for cell in cells]),
        study.n_scored,
        np.concatenate([maxima for maxima, _ in parts], axis=1),
        np.concatenate([curves for _, curves in parts], axis=1),
        {split: np.concatenate(found, axis=1) for split, found in rest.items()},
    )


def _profiles(block: Block, units: Units, rule: Rule, needs: Needs) -> tuple[Floats, Floats]:
    """Maxima [learner, cell], and curves [learner, cell, node]."""
    shape = (len(block), len(units[3]))
    maxima, curves = np.empty((len(block), 0)), np.empty((*shape, 0))
    if not needs.maxima and not needs.curves:
        return maxima, curves
    smooth = smooth_curves(block, units, rule)
    if needs.maxima:
        rough = smooth is None
        found = (
            fit_units(block, units, rule) if rough else profile_units(block, units, rule, smooth)
        )
        maxima = found.value[:, -1]
    if needs.curves:
        values = smooth
        if values is None:
            values = averaged_curves(Passes.prepare(block, units, rule), rule, log_rates(rule))
        curves = values.reshape(*shape, -1)
    return maxima, curves


def _held_out(block: Block, units: Units, rule: Rule) -> Floats:
    """Likelihoods [learner, cell] of the trials after the mark, parameters from those before.

    A cell without information there has the parameters' defaults: what other cells of a partition
    know (as in ``select``) would make its score depend on the partition.
    """
    found = fit_units(block, units, rule)
    rest = found.total[:, 0] - found.value[:, 0]
    guessed = found.status[:, 0] >= Statuses.FLAT
    learner, unit = np.nonzero(guessed.any(axis=2))
    if len(learner):
        default = np.array([parameter.default for parameter in rule.parameters])
        theta = np.where(guessed, default, found.theta[:, 0])[learner, unit]
        stop = block.marks[learner, 0]
        value, total = evaluate(block, units, rule, learner, unit, theta, stop)
        rest[learner, unit] = total - value
    return rest
