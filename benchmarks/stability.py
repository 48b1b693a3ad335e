"""``python -m benchmarks.stability``: is a stable selection a right one?

Prints a table: learners of all six models of the five-four task, and doubles of each.
"""

from __future__ import annotations

import argparse

import polars as pl

from benchmarks.report import table
from howlearn.analyses.check import select
from howlearn.analyses.doubles import stability
from howlearn.core.study import joined
from howlearn.models.task import Task
from howlearn.simulation.simulate import simulate

TASK = Task.load("five-four")
CRITERIA = ("penalized(c=0.012)", "holdout(split=0.5)", "aic", "bic")
BANDS = (("under 0.8", 0.0, 0.8), ("0.8 to 0.95", 0.8, 0.95), ("0.95 or more", 0.95, 2.0))


def compared(learners: int, doubles: int, eta: float, trials: int, seed: int) -> pl.DataFrame:
    """Stability, and whether the model that was selected is the true one."""
    parts = [
        (model.name, simulate(TASK, model, {"eta": eta}, learners, trials, (seed, m)))
        for m, model in enumerate(TASK.models)
    ]
    selection = select(joined(parts, "true_model"), TASK.models, CRITERIA, check=False)
    frame = stability(selection, doubles, TASK, seed)
    return frame.with_columns(right=pl.col("model") == pl.col("true_model"))


def page(frame: pl.DataFrame) -> str:
    rows = []
    for criterion in CRITERIA:
        mine = frame.filter(pl.col("criterion") == criterion)
        cells = [f"{mine['stability'].mean():.2f}", f"{mine['right'].mean():.2f}"]
        for _, low, high in BANDS:
            band = mine.filter((pl.col("stability") >= low) & (pl.col("stability") < high))
            cells.append(f"{band['right'].mean():.2f} of {len(band)}" if len(band) else "·")
        rows.append([f"`{criterion}`", *cells])
    header = ["criterion", "mean stability", "share right"]
    return table([*header, *(f"right where it is {word}" for word, _, _ in BANDS)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=100, help="of each of the six models")
    parser.add_argument("--doubles", type=int, default=50, help="of each learner")
    parser.add_argument("--eta", type=float, default=0.03)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    frame = compared(given.learners, given.doubles, given.eta, given.trials, given.seed)
    print(page(frame))


if __name__ == "__main__":
    main()
