"""How often the true model is missed when learners differ in their rates, by criterion.

``python -m benchmarks.population [--learners N] [--seed S] [--rows NAME,…]`` prints the tables of
docs/population.md: mean mismatch with its standard error, the worst model, and how well
probabilities are calibrated; then outsiders and unbalanced shares.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import howlearn as hl
from benchmarks.populations import Population
from howlearn.core.study import together
from howlearn.fitting.fits import Fits
from howlearn.models.partition_model import PartitionModel
from howlearn.selection.select import Choice, choose

PAPER = Population("paper", rate=None)
ROWS = (
    PAPER,
    Population("s=0"),
    Population("s=.3", s=0.3),
    Population("s=.7", s=0.7),
    Population("s=1.2", s=1.2),
    Population("τ=.7", tau=0.7),
    Population("τ=.7, s=.3", tau=0.7, s=0.3),
    Population("τ=1.2", tau=1.2),
    Population("OnePerItem ×3.5", factors={"OnePerItem": 3.5}),
)
KAPPAS = np.arange(0.0, 5.01, 0.05)
BINS = 10


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.population")
    parser.add_argument("--learners", type=int, default=220, help="of each of the six models")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7001)
    parser.add_argument("--rows", default="", help="names of designs; all by default")
    chosen = parser.parse_args()
    task = hl.Task.load("five-four")
    names = [name.strip() for name in chosen.rows.split(";") if name.strip()]
    rows = [row for row in ROWS if not names or row.name in names]
    print("| design | penalized(c=0.012) | best κ | evidence | population | per model |")
    print("|--|--|--|--|--|--|")
    for row in rows:
        print(mismatch(task, row, chosen.learners, chosen.trials, chosen.seed), flush=True)
    if names and "others" not in names:
        return
    print("\n| outsiders | share of Other | interval | insiders out | outsiders out | mismatch |")
    print("|--|--|--|--|--|--|")
    for row in (ROWS[1], ROWS[6]):
        print(outsiders(task, row, chosen.learners // 2, chosen.trials, chosen.seed), flush=True)
    print("\n| 70% of | largest deviation in standard errors | shares |")
    print("|--|--|--|")
    for k in range(6):
        print(unbalanced(task, ROWS[6], k, chosen.trials, chosen.seed + k), flush=True)


def mismatch(task: hl.Task, row: Population, n: int, trials: int, seed: int) -> str:
    """One line of the first table."""
    start = perf_counter()
    models = list(task.models)
    study, true = row.draw(task, models, [n] * len(models), trials, seed)
    fits = hl.fit(study, models)
    criteria = (hl.Penalized(), hl.Evidence(), hl.Population(), hl.Population(per_model=True))
    penalized, evidence, shared, apart = choose(fits, criteria).choices
    known = shared.criterion.learned  # type: ignore[attr-defined]
    hindsight = _best_price(fits, true)
    cells = [
        _missed(penalized.selected, true),
        f"{_missed(hindsight[1], true)} at {hindsight[0]:.2f}",
        f"{_missed(evidence.selected, true)}, {calibration_error(evidence, true):.3f}",
        f"{_missed(shared.selected, true)}, {calibration_error(shared, true):.3f}",
        f"{_missed(apart.selected, true)}, {calibration_error(apart, true):.3f}",
    ]
    median, tau = np.exp(known.centre[0, 0]), known.width[0, 0]
    note = f"μ={median:.3g} τ={tau:.2f} s={known.cells[0]:.2f}"
    took = f"{perf_counter() - start:.0f} s"
    return f"| {row.name} | " + " | ".join(cells) + f" | <!-- {note} {took} -->"


def _missed(selected: NDArray[np.int64], true: NDArray[np.int64]) -> str:
    """Percent of the learners whose model is not found, ± its standard error, worst model."""
    wrong = selected != true
    worst = max(float(np.mean(wrong[true == k])) for k in np.unique(true))
    error = float(np.sqrt(np.mean(wrong) * (1 - np.mean(wrong)) / len(wrong)))
    return f"{100 * np.mean(wrong):.1f}±{100 * error:.1f} ({100 * worst:.0f})"


def _best_price(fits: Fits, true: NDArray[np.int64]) -> tuple[float, NDArray[np.int64]]:
    """The price per parameter that is best in hindsight, and what it selects."""
    value, count = fits.log_likelihood(1.0), fits.n_parameters
    found = [(kappa, np.argmax(value - kappa * count, axis=1)) for kappa in KAPPAS]
    return min(found, key=lambda pair: float(np.mean(pair[1] != true)))


def calibration_error(choice: Choice, true: NDArray[np.int64]) -> float:
    """Expected calibration error of the probability of what is selected, in ten bins."""
    assert choice.scores.probability is not None
    p = choice.scores.probability[np.arange(len(true)), choice.selected]
    right = choice.selected == true
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    gaps = [
        abs(float(np.sum(right[place == b])) - float(np.sum(p[place == b]))) for b in range(BINS)
    ]
    return float(np.sum(gaps) / len(true))


def outsiders(task: hl.Task, row: Population, n: int, trials: int, seed: int) -> str:
    """30% of the learners use partitions that are not listed, each another one."""
    models = list(task.models)
    inside, true = row.draw(task, models, [n] * 6, trials, seed)
    n_out = round(0.3 / 0.7 * len(true))
    strange = strangers(task, n_out, seed)
    outside, _ = row.draw(task, strange, [1] * n_out, trials, seed + 1)
    study = together([inside, outside])
    choice = choose(hl.fit(study, models), [hl.Population()]).choices[0]
    known = choice.criterion.learned  # type: ignore[attr-defined]
    p = choice.scores.p_other
    assert p is not None
    out = np.arange(len(study)) >= len(true)
    share, lower, upper = known.with_other[:, 0, -1]
    return (
        f"| {row.name}: {n_out} of {len(study)} | {share:.3f} (true "
        f"{out.mean():.3f}) | {lower:.2f} to {upper:.2f} | "
        f"{np.mean(p[~out] > 0.5):.3f} | {np.mean(p[out] > 0.5):.3f} | "
        f"{_missed(choice.selected[~out], true)} |"
    )


def strangers(task: hl.Task, n: int, seed: int) -> list[PartitionModel]:
    """Random partitions (Chinese restaurant process) that are not among the task's."""
    random = np.random.default_rng([seed, 3])
    contexts = task.models[0].partition.contexts
    known = {frozenset(map(frozenset, m.partition.cells)) for m in task.models}
    found: list[PartitionModel] = []
    while len(found) < n:
        cells: list[list[str]] = []
        for context in random.permutation(np.array(contexts)).tolist():
            weights = np.array([*(len(cell) for cell in cells), 1.0])
            k = random.choice(len(weights), p=weights / weights.sum())
            if k == len(cells):
                cells.append([])
            cells[k].append(context)
        if frozenset(map(frozenset, cells)) not in known:
            partition = hl.Partition(tuple(tuple(cell) for cell in cells))
            found.append(PartitionModel(f"stranger {len(found)}", partition))
    return found


def unbalanced(task: hl.Task, row: Population, k: int, trials: int, seed: int) -> str:
    """140 learners of one model and 12 of each of the others."""
    models = list(task.models)
    counts = [140 if j == k else 12 for j in range(6)]
    study, true = row.draw(task, models, counts, trials, seed)
    choice = choose(hl.fit(study, models), [hl.Population()]).choices[0]
    known = choice.criterion.learned  # type: ignore[attr-defined]
    truth = np.bincount(true, minlength=6) / len(true)
    error = (known.upper[0] - known.lower[0]) / (2 * 1.96)
    off = np.abs(known.share[0] - truth) / np.maximum(error, 1 / len(true))
    return f"| {models[k].name} | {off.max():.2f} | {_percent(known.share[0])} |"


def _percent(shares: Sequence[float] | NDArray[np.float64]) -> str:
    return ", ".join(f"{100 * share:.0f}" for share in shares)


if __name__ == "__main__":
    main()
