"""``python -m benchmarks.recovery``: are the parameters of simulated learners found again?

Prints the tables of docs/recovery-study.md. Every learner draws its true parameters from the ranges
below, evenly on the log scale, or evenly where a range starts at 0 or below.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks.report import note
from howlearn import Range, Task, fit, read, select, simulate
from howlearn.core.study import Study
from howlearn.fitting.fits import STATUS_WORDS
from howlearn.fitting.replay import log_probabilities
from howlearn.models.model import Model
from howlearn.models.schedule import Reversal, Reward, correct_rewards
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
FILTER = {"noise": Range(0.1, 1), "drift": Range(0.02, 0.3)}
TURNS = "hmm(q-learning, coin[p(A)=0.5], source=joint)"
BY_DESIGN: dict[str, dict[str, dict[str, Range]]] = {  # models that are tried on one design only
    "reversal": {
        "pearce-hall": {"alpha": RATE, "attention": RATE, "beta": BETA},
        "kalman-mean": {**FILTER, "beta": BETA},
        "kalman-ucb": {**FILTER, "beta": BETA, "explore": Range(0.2, 2)},
        "kalman-thompson": FILTER,
        TURNS: {"stay": Range(0.9, 0.99), "alpha": RATE, "beta": Range(3, 10)},
    },
    "go/no-go": {
        "go-no-go": {
            "alpha": RATE, "beta": BETA, "go_bias": Range(-1, 2), "pavlovian": Range(-0.5, 1),
        },
    },
    "gambling": {"q-signed": {"alpha": RATE, "beta": BETA}},
    "blocks": {"rlwm": MEMORY, "wm-habit": MEMORY},
}  # fmt: skip
# Which models are confused with which: those of a design, and what is simpler.
RIVALS = {
    "reversal": (
        "q-learning", "q-two-rates", "pearce-hall", "kalman-mean", "kalman-ucb", "kalman-thompson",
        TURNS,
    ),
    "go/no-go": ("q-learning", "go-no-go"),
    "blocks": ("q-learning", "rlwm", "wm-habit"),
}  # fmt: skip
JUDGES = ("penalized(c=0.012)", "bic")
Q_FAMILY = ("q-learning", "q-two-rates", "q-forgetting", "q-perseveration", "win-stay-lose-shift")
RESAMPLED = 1000  # times, for the standard errors
WORSE = 1e-6  # nats by which an estimate may lie under the truth: rounding


def grid(side: int = 5) -> Task:
    """Contexts with two numbers as features; those above the diagonal belong to B."""
    places = {f"{x}-{y}": (x, y) for x in range(side) for y in range(side) if x + y != side - 1}
    rewards = {
        name: correct_rewards(("A", "B"), "B" if x + y >= side else "A")
        for name, (x, y) in places.items()
    }
    features = {name: {"x": str(x), "y": str(y)} for name, (x, y) in places.items()}
    return Task("grid", tuple(places), ("A", "B"), (), features=features, rewards=rewards,
                order="blocks")  # fmt: skip


def reversal(trials: int = 3000, every: int = 50) -> Task:
    """Two arms that pay with probabilities of 0.8 and 0.2, and change places every 50 trials."""
    rewards = {"arms": {"A": Reward(0.8), "B": Reward(0.2)}}
    changes = tuple(Reversal(t + 1, ("A", "B"), ("arms",)) for t in range(every, trials, every))
    return Task("reversal", ("arms",), ("A", "B"), (), rewards=rewards, reversals=changes)


def go_no_go() -> Task:
    """Four cues: to respond or not, to win or not to lose, with the right answer in 80%."""
    rewards = {}
    for right in ("go", "nogo"):
        for cue, low in (("win", 0.0), ("avoid", -1.0)):
            rewards[f"{right} to {cue}"] = {
                action: Reward(0.8 if action == right else 0.2, low + 1.0, low)
                for action in ("go", "nogo")
            }
    return Task("go-no-go", tuple(rewards), ("go", "nogo"), (), rewards=rewards,
                reward_range=(-1.0, 1.0), order="blocks")  # fmt: skip


def gambling() -> Task:
    """Four decks: two with large gains and larger losses, two with small ones; all start at 0."""
    rewards = {"A": Reward(0.5, 1.0, -1.0), "B": Reward(0.8, 0.5, -1.0), "C": Reward(0.5, 0.5, 0.0),
               "D": Reward(0.8, 0.4, -0.2)}  # fmt: skip
    return Task("gambling", ("decks",), (*rewards,), (), rewards={"decks": rewards},
                reward_range=(-1.0, 1.0))  # fmt: skip


SIZES = (2, 4, 6, 3, 5)  # stimuli in a block, over and over
TIMES = 10  # that a stimulus is shown
LONGEST = 1_000  # trials


def blocks() -> Task:
    """Blocks of new stimuli, of which each has one of three right answers."""
    names = [f"{b}:{s}" for b in range(25) for s in range(SIZES[b % len(SIZES)])]
    rng = np.random.default_rng(1)
    rewards = {name: correct_rewards(("A", "B", "C"), "ABC"[rng.integers(3)]) for name in names}
    return Task("blocks", tuple(names), ("A", "B", "C"), (), rewards=rewards)


def blocks_of(learners: int, trials: int, seed: int) -> Study:
    """What learners are shown in blocks: in random order, with its load."""
    rng, rows = np.random.default_rng(seed), []
    for learner in range(learners):
        mine: list[dict[str, object]] = []
        block = 0
        while len(mine) < trials:
            size = SIZES[block % len(SIZES)]
            order = [s for _ in range(TIMES) for s in rng.permutation(size).tolist()]
            mine += [{"context": f"{block}:{s}", "block": block, "load": size} for s in order]
            block += 1
        rows += [{"learner": learner, **row, "action": "ABC"[t % 3], "reward": t % 2}
                 for t, row in enumerate(mine[:trials])]  # fmt: skip
    names = {"learner": "learner", "context": "context", "action": "action", "reward": "reward"}
    return read(pl.DataFrame(rows), **names, reset_by="block", load="load")


def designs() -> dict[str, tuple[Task, tuple[str, ...]]]:
    """The tasks, and the models that are tried on each."""
    return {
        "five-four": (replace(Task.load("five-four"), order="blocks"), tuple(RANGES)),
        "grid": (grid(), ("gcm",)),
        "reversal": (reversal(), (*Q_FAMILY, *BY_DESIGN["reversal"])),
        "go/no-go": (go_no_go(), tuple(BY_DESIGN["go/no-go"])),
        "gambling": (gambling(), tuple(BY_DESIGN["gambling"])),
        "blocks": (blocks(), tuple(BY_DESIGN["blocks"])),
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
    task: Task, name: str, learners: int, trials: int, seed: int
) -> tuple[Study, Floats, list[Range]]:
    """Learners of a model, with their true parameters, and where these were drawn from."""
    model = task.model(name)
    known = {**RANGES, **{n: r for each in BY_DESIGN.values() for n, r in each.items()}}[name]
    ranges = {p.name: known[p.name] for _, p in model.owners(task.actions)}
    truth = drawn(parameter_values(model, ranges, task.actions), range(learners), (seed,))
    if task.name == "blocks":
        shown = blocks_of(learners, trials, seed)
        study = simulate(task, model, truth, like=shown, seed=seed)
    else:
        study = simulate(task, model, truth, trials=trials, seed=seed)
    return study, truth, [ranges[p.name] for _, p in model.owners(task.actions)]


def confused(design: str, task: Task, learners: int, trials: int, seed: int) -> str:
    """By which model learners of each are explained best, in Markdown."""
    models = [task.model(name) for name in RIVALS[design]]
    lines = [["true model", *(f"{name}, {judge}" for judge in JUDGES for name in RIVALS[design])]]
    lines.append(["---"] * len(lines[0]))
    for name in RIVALS[design]:
        study = made(task, name, learners, trials, seed)[0]
        found = select(study, models, [*JUDGES], check=False).selection
        shares = [
            (found.filter(criterion=judge)["model"] == other.name).mean()
            for judge in JUDGES
            for other in models
        ]
        lines.append([f"`{name}`", *(f"{share:.0%}" for share in shares)])
        note(f"{design}, n = {trials}: learners of {name} are judged")
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
    parser.add_argument("--confused", nargs="*", choices=list(RIVALS), default=())
    chosen = parser.parse_args()
    begin = perf_counter()
    for design in chosen.confused:
        for learners, trials in zip(chosen.learners, chosen.trials, strict=True):
            text = confused(design, designs()[design][0], learners, trials, chosen.seed)
            print(f"\n{design}, n = {trials}, {learners} learners\n\n{text}\n", flush=True)
    if chosen.confused:
        return
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
