"""All partitions: how fast they are judged, and ``python -m benchmarks.partitions``: which of them
are found again.

The latter prints the tables of docs/discover.md: learners of the paper's design (five-four, 500
trials, correct data) whose partition is known.
"""

from __future__ import annotations

import argparse
from functools import partial
from time import process_time

import numpy as np
import polars as pl

from benchmarks.data import learners
from benchmarks.report import Row, duration, note, table
from benchmarks.timing import least
from howlearn import Partition, PartitionModel, Study, Task, discover, simulate
from howlearn.analyses.discover_tables import written
from howlearn.models.values import correct_rewards

CRITERIA = (
    "ewens",
    "ewens(cells=independent)",
    "codelength",
    "bic",
    "kappa(1)",
    "penalized(c=0.012)",
    "holdout(split=0.5)",
)
NINE_BAR, FOURTEEN_BAR = 20e-3, 5.0


TIMED = {"bic": ["bic"], "ewens": ["ewens"], "ewens and codelength": ["ewens", "codelength"]}


def run(quick: bool) -> list[Row]:
    """Processor time per learner on one core, from trials to tables: fits of all cells, the five
    best partitions, co-classification."""
    count = 5 if quick else 20
    nine, many = learners("ByShapeExc", count), _fourteen()
    rows = []
    for study, what, bar, times in (
        (nine, "9 contexts, 21,147 partitions", NINE_BAR, 3 if quick else 10),
        (many, "14 contexts, 190,899,322 partitions", FOURTEEN_BAR, 1 if quick else 3),
    ):
        tasks = [partial(discover, study, criteria=c, threads=1) for c in TIMED.values()]
        found = least(tasks, times, clock=process_time)
        for name, seconds in zip(TIMED, found, strict=True):
            each = seconds / len(study)
            text = f"{what}, 500 trials, {name}, processor time"
            rows.append(Row(text, duration(each), f"≤ {duration(bar)}", met=each <= bar))
    return rows


def _fourteen() -> Study:
    """One learner with fourteen contexts in three cells."""
    names = [str(i + 1) for i in range(14)]
    cells = (tuple(names[:6]), tuple(names[6:11]), tuple(names[11:]))
    model = PartitionModel("three", Partition(cells))
    rewards = {c: correct_rewards(["A", "B"], "AB"[i % 2]) for i, c in enumerate(names)}
    task = Task("fourteen", tuple(names), ("A", "B"), (model,), rewards=rewards)
    return simulate(task, model, {"eta": 0.05}, 1, 500, seed=1)


def main() -> None:
    """How often the true partition is the best, and what the matrix says of pairs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partitions")
    parser.add_argument("--learners", type=int, default=100, help="of each model")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2026)
    chosen = parser.parse_args()
    task = Task.load("five-four")
    found: dict[str, list[str]] = {}
    pairs: dict[str, list[str]] = {}
    calibration = []
    for k, model in enumerate(task.models):
        note(f"{model.name} …")
        study = learners(model.name, chosen.learners, chosen.trials, chosen.seed + k)
        result = discover(study, criteria=CRITERIA, models=task.models, count=1)
        cells = model.partition.cells
        same = {c: i for i, cell in enumerate(cells) for c in cell}
        truth = _truth(cells, task.contexts)
        for criterion in result.criteria:
            best = result.partitions.filter(criterion=criterion)["partition"] == truth
            found.setdefault(criterion, []).append(_share(best.to_numpy()))
            frame = result.coclassification.filter(criterion=criterion).with_columns(
                together=pl.col("context_a").replace_strict(same)
                == pl.col("context_b").replace_strict(same)
            )
            inside = frame.filter("together")["probability"].mean()
            outside = frame.filter(~pl.col("together"))["probability"].mean()
            texts = ("–" if v is None else f"{v:.2f}" for v in (inside, outside))
            pairs.setdefault(criterion, []).append(" / ".join(texts))
            calibration.append(frame.select("criterion", "probability", "together"))
    header = ["criterion", *(model.name for model in task.models)]
    print(f"True partition is the best, %, {chosen.learners} learners each\n")
    print(table(header, [[c, *row] for c, row in found.items()]))
    print("Mean co-classification of pairs that share a cell / that do not\n")
    print(table(header, [[c, *row] for c, row in pairs.items()]))
    print("Share of pairs that truly share a cell, by what the matrix says\n")
    edges = [0.1, 0.3, 0.5, 0.7, 0.9]
    bins = pl.concat(calibration).with_columns(
        bin=pl.sum_horizontal(pl.col("probability") > edge for edge in edges)
    )
    shares = bins.group_by("criterion", "bin").agg(pl.col("together").mean())
    labels = ["0–.1", ".1–.3", ".3–.5", ".5–.7", ".7–.9", ".9–1"]
    known = {(c, b): s for c, b, s in shares.iter_rows()}
    rows = [
        [c, *(f"{known[c, b]:.2f}" if (c, b) in known else "–" for b in range(6))] for c in found
    ]
    print(table(["criterion", *labels], rows))


def _truth(cells: tuple[tuple[str, ...], ...], contexts: tuple[str, ...]) -> str:
    masks = [sum(1 << contexts.index(c) for c in cell) for cell in cells]
    return written(sorted(masks, key=lambda mask: mask & -mask), contexts)


def _share(hits: np.ndarray) -> str:
    p = float(hits.mean())
    return f"{100 * p:.0f} ± {100 * np.sqrt(p * (1 - p) / len(hits)):.0f}"


if __name__ == "__main__":
    main()
