"""Cells of Exp3-IX: two parameters each, against a dense grid of both; and the whole verify."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.report import Row, duration
from benchmarks.timing import least
from howlearn import PartitionModel, Task, fit, simulate
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3IX
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES, lay_out
from howlearn.fitting.cells import block_of
from howlearn.paper.verify import verify

TRIALS, BAR, VERIFY_BAR = 500, 5e-3, 60.0
DENSE = (640, 64)  # values of η and of γ


def run(quick: bool) -> list[Row]:
    """One cell of 500 trials per learner, gain and loss form; one thread."""
    learners = 10 if quick else 60
    task = Task.load("five-four")
    rows = []
    for form in ("gain", "loss"):
        for words, model in (
            ("nine objects in one cell", PartitionModel(
                "cell", Partition.all(task.contexts), Exp3IX(form))),
            ("a cell each, the same η and γ", PartitionModel(
                "cell", Partition.each(task.contexts), Exp3IX(form), rates="shared")),
        ):  # fmt: skip
            study = simulate(task, model, {"eta": 0.03, "gamma": 0.1}, learners, TRIALS, seed=1)
            ours = partial(fit, study, [model], [1.0], 1)
            theirs = partial(_dense, study.part(0, 2), model)
            seconds, dense = least([ours, theirs], 2 if quick else 3)
            seconds, dense = seconds / learners, dense / 2
            rows.append(
                Row(
                    f"Exp3-IX, {form} form, {words}, {TRIALS} trials",
                    duration(seconds),
                    f"≤ {duration(BAR)}",
                    f"{DENSE[0]} × {DENSE[1]} grid: {dense / seconds:,.0f} ×",
                    seconds <= BAR,
                )
            )
    if not quick:
        (seconds,) = least([verify], 1, warm=False)
        rows.append(
            Row("howlearn verify, default size", duration(seconds), f"≤ {duration(VERIFY_BAR)}",
                met=seconds <= VERIFY_BAR)
        )  # fmt: skip
    return rows


def _dense(study: Study, model: PartitionModel) -> float:
    """The highest point of a grid."""
    rule, code = model.units[0].rule, {context: i for i, context in enumerate(study.contexts)}
    first, second = rule.parameters
    cells = [[[code[context] for context in cell] for cell in model.units[0].cells]]
    units = lay_out(cells, len(study.contexts))
    passes = Passes.prepare(block_of(study, rule, np.diff(study.starts)[:, None]), units, rule)
    best = -np.inf
    for gamma in second.at(np.linspace(0.0, second.end, DENSE[1])):
        for k in range(0, DENSE[0], RATES):
            rates = first.at(np.linspace(0.0, first.end, DENSE[0]))[k : k + RATES]
            best = max(best, float(passes.grid(np.stack([rates, np.full(RATES, gamma)])).max()))
    return best
