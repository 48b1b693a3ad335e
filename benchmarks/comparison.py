"""``python -m benchmarks.comparison``: false alarms and power of ``howlearn compare``.

Prints the table of docs/compare.md. Learners of known models are simulated once, on the five-four
task, with rates drawn evenly on the log scale; every experiment draws two groups from them. The
evidence is EV1: a learner's rates are log-normal around a rate of its own, which is uniform on the
log scale, with a spread that is averaged over a few values.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import note
from howlearn.analyses.compare_groups import Groups
from howlearn.analyses.compare_tests import difference, group_shares, shares_test
from howlearn.core.study import Study
from howlearn.engine.cell_fits import Passes
from howlearn.engine.layout import RATES
from howlearn.fitting.cells import UnitPlan, block_of
from howlearn.fitting.fit import fit
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.models.values import Range
from howlearn.selection.criteria import AIC
from howlearn.selection.mixture_shares import certain
from howlearn.simulation.simulate import simulate

Floats = NDArray[np.float64]

SPREADS = (0.1, 0.3, 0.7, 1.2)
LOWEST = 0.001  # of the rates
TRUE = ("ByShape", "ByPattern", "ByShapeExc", "OnePerItem")
FIRST = (0.4, 0.1, 0.4, 0.1)  # shares of these in the first group
DESIGNS = {  # and in the second
    "none": FIRST,
    "20 points from ByShape to ByPattern": (0.2, 0.3, 0.4, 0.1),
    "40 points from ByShape to ByPattern": (0.0, 0.5, 0.4, 0.1),
    "40 points from ByShapeExc to OnePerItem": (0.4, 0.1, 0.0, 0.5),
}


def log_evidence(study: Study, models: tuple[PartitionModel, ...]) -> Floats:
    """[learner, model]"""
    plan = UnitPlan.of(models, study.contexts)
    ((rule, units),) = plan.layouts.items()
    rates = np.geomspace(LOWEST, rule.parameters[0].upper, RATES)
    passes = Passes.prepare(block_of(study, rule, np.diff(study.starts)[:, None]), units, rule)
    cells = passes.grid(rates[None])[:, 0]  # [learner, unit, rate]
    apart = np.log(rates)[:, None] - np.log(rates)
    found = []
    for spread in SPREADS:
        kernel = np.exp(-0.5 * (apart / spread) ** 2)
        kernel /= kernel.sum(axis=1, keepdims=True)
        top = cells.max(axis=2, keepdims=True)
        per_cell = top + np.log(np.exp(cells - top) @ kernel.T)
        found.append(
            np.stack([per_cell[:, place.units].sum(axis=1) for place in plan.places], axis=1)
        )
    every = np.concatenate(found, axis=2)  # [learner, model, spread × own rate]
    top = every.max(axis=2)
    return top + np.log(np.exp(every - top[:, :, None]).mean(axis=2))


def pool(task: Task, trials: int, learners: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    """Log-evidence, and what AIC selects, of simulated learners: model after model."""
    evidence, selected = [], []
    for k, name in enumerate(TRUE):
        study = simulate(task, name, {"eta": Range(0.02, 0.08)}, learners, trials, (seed, k))
        evidence.append(log_evidence(study, task.models))
        selected.append(AIC().scores(fit(study, task.models)).score.argmax(axis=1))
    return np.concatenate(evidence), np.concatenate(selected)


def experiment(
    random: np.random.Generator, second: tuple[float, ...], n: int, learners: int
) -> tuple[NDArray[np.int64], Groups]:
    """Two groups of n learners from the pool."""
    left = [random.permutation(learners) for _ in TRUE]
    chosen = []
    for share in (FIRST, second):
        for k in random.choice(len(TRUE), n, p=share):
            last, left[k] = left[k][-1], left[k][:-1]
            chosen.append(k * learners + int(last))
    code = np.repeat([0, 1], n)
    return np.array(chosen), Groups(
        "group", "group", ("A", "B"), code, np.arange(2 * n), np.arange(2 * n), ()
    )


def main() -> None:
    """All designs, by the evidence and by what AIC selects."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--pool", type=int, default=300, help="simulated learners per model")
    parser.add_argument("--learners", type=int, default=30, help="in each group")
    parser.add_argument("--experiments", type=int, default=200)
    chosen = parser.parse_args()
    begin = perf_counter()
    task = Task.load("five-four")
    names = [model.name for model in task.models]
    evidence, selected = pool(task, chosen.trials, chosen.pool, chosen.seed)
    own = np.repeat([names.index(name) for name in TRUE], chosen.pool)
    note(f"AIC is wrong for {np.mean(selected != own):.0%} of the pool, the largest evidence for "
         f"{np.mean(evidence.argmax(axis=1) != own):.0%}")  # fmt: skip
    print("| difference | by | p ≤ .05 | Bayes factor ≥ 3 for different | ≥ 3 for the same | "
          "largest difference, estimated | intervals cover |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for j, (words, second) in enumerate(DESIGNS.items()):
        truth = np.zeros(len(names))
        for name, a, b in zip(TRUE, FIRST, second, strict=True):
            truth[names.index(name)] = a - b
        largest = int(np.argmin(truth))
        rows: dict[str, list[list[float]]] = {"evidence": [], "selected by AIC": []}
        for k in range(chosen.experiments):
            random = np.random.default_rng((chosen.seed, j, k))
            who, groups = experiment(random, second, chosen.learners, chosen.pool)
            for by, given in (
                ("evidence", evidence[who]),
                ("selected by AIC", certain(selected[who], len(names))),
            ):
                test = shares_test(given, groups, 199, (chosen.seed, k))
                found = group_shares(given, groups, 200, random)
                value, lower, upper = difference(found, 0, 1, paired=False)
                covers = np.mean((lower <= truth) & (truth <= upper))
                nats = test.log_bayes_factor
                rows[by].append([test.p <= 0.05, nats <= -np.log(3), nats >= np.log(3),
                                 value[largest], covers])  # fmt: skip
        for by, each in rows.items():
            mean, error = np.mean(each, axis=0), np.std(each, axis=0) / np.sqrt(len(each))
            cells = [f"{100 * m:.1f}% ± {100 * e:.1f}" for m, e in zip(mean, error, strict=True)]
            print(f"| {words} | {by} | {' | '.join(cells)} |", flush=True)
    print(f"seed {chosen.seed}, {perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
