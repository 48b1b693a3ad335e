"""``python -m benchmarks.recovery``: are the parameters of simulated learners found again?

Prints the tables of docs/recovery-study.md. Every learner draws its true parameters from the ranges
below, evenly on the log scale, or evenly where a range starts at 0 or below.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.report import note
from benchmarks.tasks import blocks, gambling, go_no_go, grid, lists, restless, reversal, shown
from howlearn import Range, Task, fit, simulate
from howlearn.core.study import Study
from howlearn.fitting.fits import STATUS_WORDS
from howlearn.fitting.replay import log_probabilities
from howlearn.models.model import Model
from howlearn.models.values import drawn, parameter_values

Floats = NDArray[np.float64]

RATE, BETA = Range(0.05, 0.8), Range(1, 10)
RANGES: dict[str, dict[str, Range]] = {
    "q-learning": {"alpha": RATE, "beta": BETA},
    "q-two-rates": {"alpha_better": RATE, "alpha_worse": RATE, "beta": BETA},
    "q-forgetting": {"alpha": RATE, "phi": Range(0.01, 0.5), "beta": BETA},
    "q-perseveration": {"alpha": RATE, "beta": BETA, "tau": RATE, "kappa": Range(0.5, 4)},
    "win-stay-lose-shift": {"win_stay": Range(0.6, 1), "lose_shift": Range(0.3, 1)},
    "aca": {"alpha": Range(0.05, 1), "gamma": Range(0.9, 1)},
    "alcove": {
        "c": Range(2, 10),
        "phi": Range(1, 5),
        "lambda_w": Range(0.02, 0.2),
        "lambda_alpha": Range(0.002, 0.05),
    },
    "component-cue": {"lambda_w": Range(0.005, 0.1), "phi": Range(1, 5)},
    "gcm": {
        "c": Range(2, 10),
        "gamma": Range(0.5, 3),
        "b": Range(0.05, 1),
        "share_1": Range(0, 0.6),
        "share_2": Range(0, 0.6),
        "share_3": Range(0, 0.6),
    },
    "ByShape+lapse+stickiness": {
        "eta": Range(0.01, 0.1),
        "lapse": Range(0, 0.3),
        "stickiness": Range(-1, 1),
    },
}
MEMORY = {
    "alpha": Range(0.01, 0.2),
    "kappa": Range(0, 0.2),
    "rho": Range(0.5, 1),
    "phi": Range(0.02, 0.5),
    "epsilon": Range(0.01, 0.2),
    "b_memory": Range(0, 1),
    "b_slow": Range(0, 1),
    "capacity": Range(2, 5),
}
FILTER = {"noise": Range(0.05, 0.5), "drift": Range(0.02, 0.2)}
STEEP = Range(5, 30)  # β where arms differ by 0.3 on average
TURNS = "hmm(q-learning, coin[p(A)=0.5], source=joint)"
START = {"alpha": RATE, "start": Range(0, 1), "beta": BETA}
# By name of task: models that are tried there, or with other ranges there.
BY_DESIGN: dict[str, dict[str, dict[str, Range]]] = {
    "reversal": {
        "pearce-hall": {"alpha": RATE, "attention": RATE, "beta": BETA},
        "q-start": START,
        TURNS: {"stay": Range(0.9, 0.99), "alpha": RATE, "beta": Range(3, 10)},
    },
    "restless": {
        "kalman-mean": {**FILTER, "beta": STEEP},
        "kalman-ucb": {**FILTER, "beta": STEEP, "explore": Range(0.2, 2)},
        "kalman-thompson": FILTER,
    },
    "lists": {"q-start": START},
    "go-no-go": {
        "go-no-go": {
            "alpha": RATE, "beta": BETA, "go_bias": Range(-1, 2), "pavlovian": Range(-0.5, 1),
        },
    },
    "gambling": {"q-signed": {"alpha": RATE, "beta": STEEP}},
    "blocks": {"rlwm": MEMORY, "wm-habit": MEMORY},
}  # fmt: skip
Q_FAMILY = ("q-learning", "q-two-rates", "q-forgetting", "q-perseveration", "win-stay-lose-shift")
RESAMPLED = 1000  # times, for the standard errors
WORSE = 1e-6  # nats by which an estimate may lie under the truth: rounding


def designs() -> dict[str, tuple[Task, tuple[str, ...]]]:
    """The tasks, and the models that are tried on each."""
    return {
        "five-four": (replace(Task.load("five-four"), order="blocks"), tuple(RANGES)),
        "grid": (grid(), ("gcm",)),
        "reversal": (reversal(), (*Q_FAMILY, *BY_DESIGN["reversal"])),
        **{
            task.name: (task, tuple(BY_DESIGN[task.name]))
            for task in (restless(), lists(), go_no_go(), gambling(), blocks())
        },
    }


@dataclass(frozen=True, eq=False)
class Recovered:
    """One model's learners: what their parameters were, and what the fit says."""

    parameters: tuple[str, ...]  # with the cell, where there are several
    ranges: tuple[Range, ...]
    truth: Floats  # [learner, parameter]
    estimate: Floats
    status: NDArray[np.str_]
    gain: Floats  # [learner]: log-likelihood at the estimates minus that at the truth
    seconds: float


def made(
    task: Task,
    name: str,
    learners: int,
    trials: int,
    seed: int,
    known: Mapping[str, Mapping[str, Range]] | None = None,
) -> tuple[Study, Floats, list[Range]]:
    """Learners of a model, with their true parameters, and where these were drawn from."""
    model = task.model(name)
    mine = ({**RANGES, **BY_DESIGN.get(task.name, {})} if known is None else known)[name]
    ranges = {p.name: mine[p.name] for _, p in model.owners(task.actions)}
    truth = drawn(parameter_values(model, ranges, task.actions), range(learners), (seed,))
    like = shown(task, learners, trials, seed)
    n = trials if like is None else None
    study = simulate(task, model, truth, trials=n, seed=seed, like=like)
    return study, truth, [ranges[p.name] for _, p in model.owners(task.actions)]


def recover(task: Task, name: str, learners: int, trials: int, seed: int) -> Recovered:
    """Simulate learners of a model, and fit the same model to them."""
    model = task.model(name)
    owners = model.owners(task.actions)
    study, truth, ranges = made(task, name, learners, trials, seed)
    start = perf_counter()
    found = fit(study, [model]).of[model.name]
    seconds = perf_counter() - start
    several = {p.name for _, p in owners if [q.name for _, q in owners].count(p.name) > 1}
    names = (f"{p.name}({cell})" if p.name in several else p.name for cell, p in owners)
    words = np.array([STATUS_WORDS[code] for code in range(len(STATUS_WORDS))])
    return Recovered(
        tuple(names),
        tuple(ranges),
        truth,
        found.theta[:, 0],
        words[found.status[:, 0]],
        found.log_likelihood[:, 0] - at(study, model, truth),
        seconds,
    )


def at(study: Study, model: Model, theta: Floats) -> Floats:
    """The log-likelihood of every learner's choices at parameters of its own."""
    return np.array([
        log_probabilities(study, i, model, theta[i])[range(len(one)), one.action].sum()
        for i, one in enumerate(study)
    ])  # fmt: skip


def rank_correlations(truth: Floats, estimate: Floats) -> Floats:
    """Spearman's, of every row; 0 where all estimates are the same."""
    ranks = [rankdata(values, axis=1) for values in (truth, estimate)]
    x, y = (rank - rank.mean(axis=1, keepdims=True) for rank in ranks)
    size = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.divide((x * y).sum(axis=1), size, out=np.zeros(len(x)), where=size > 0)


def with_error(truth: Floats, estimate: Floats, seed: int) -> tuple[float, float]:
    """Spearman's correlation and its standard error: learners are drawn again and again."""
    again = np.random.default_rng(seed).integers(0, len(truth), (RESAMPLED, len(truth)))
    spread = rank_correlations(truth[again], estimate[again]).std()
    return float(rank_correlations(truth[None], estimate[None])[0]), float(spread)


def trade_off(found: Recovered) -> str:
    """The two parameters whose relative errors go together most, and how much."""
    off = ((found.estimate - found.truth) / found.truth).T
    pairs = [
        (float(rank_correlations(off[i][None], off[j][None])[0]), i, j)
        for j in range(len(off))
        for i in range(j)
    ]
    r, i, j = max(pairs, key=lambda pair: abs(pair[0]))
    return f"{found.parameters[i]} and {found.parameters[j]} ({r:.2f})"


def cells(found: Recovered, k: int, seed: int) -> list[str]:
    """Correlation ± standard error, median relative error, share at a bound or flat."""
    truth, estimate = found.truth[:, k], found.estimate[:, k]
    r, error = with_error(truth, estimate, seed)
    off = np.median(np.abs(estimate - truth) / np.abs(truth))
    bound = np.isin(found.status[:, k], ("at lower bound", "at upper bound", "flat")).mean()
    return [f"{r:.2f} ± {error:.2f}", f"{off:.0%}", f"{bound:.0%}"]


def table(runs: Sequence[tuple[str, Sequence[Recovered]]], sizes: Sequence[int], seed: int) -> str:
    """In Markdown; one row per parameter."""
    heads = [f"{word}, n = {n}" for n in sizes for word in ("correlation", "error", "bound")]
    lines = [["model", "parameter", "true values", *heads]]
    lines.append(["---"] * len(lines[0]))
    for name, found in runs:
        for k, parameter in enumerate(found[0].parameters):
            true = f"{found[0].ranges[k].lower:g} to {found[0].ranges[k].upper:g}"
            figures = [cell for each in found for cell in cells(each, k, seed)]
            lines.append([f"`{name}`" if k == 0 else "", parameter, true, *figures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """All designs, then their tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, nargs="+", default=[300, 3000], metavar="N")
    parser.add_argument("--learners", type=int, nargs="+", default=[40, 20], metavar="N")
    every = [*RANGES, *(name for each in BY_DESIGN.values() for name in each)]
    parser.add_argument("--model", nargs="+", choices=every, default=every)
    chosen = parser.parse_args()
    begin = perf_counter()
    for design, (task, names) in designs().items():
        runs: list[tuple[str, list[Recovered]]] = []
        for name in (name for name in names if name in chosen.model):
            found = [
                recover(task, name, learners, trials, chosen.seed)
                for learners, trials in zip(chosen.learners, chosen.trials, strict=True)
            ]
            runs.append((name, found))
            times = ", ".join(f"{each.seconds:.1f} s" for each in found)
            alone = sum(int((each.status[:, 0] == "starts disagree").sum()) for each in found)
            worse = sum(int((each.gain < -WORSE).sum()) for each in found)
            note(
                f"{design}, {name}: fitted in {times}; starts disagree: {alone} learners; "
                f"less likely than the truth: {worse}; "
                f"errors correlate most: {', '.join(map(trade_off, found))}"
            )
        if runs:
            print(f"\n{design}\n\n{table(runs, chosen.trials, chosen.seed)}\n", flush=True)
    print(f"seed {chosen.seed}, {perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
