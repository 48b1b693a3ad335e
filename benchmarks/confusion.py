"""``python -m benchmarks.confusion``: are the models of simulated learners found again?

Learners of all candidates of a design are judged as one study. The ceiling is how often somebody
would be right who knows how the parameters of every model were drawn and that all models are
equally frequent: no criterion can do better on average.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.models import likelihood_of
from benchmarks.recovery import BETA, BY_DESIGN, RANGES, RATE, STEEP, TURNS, designs, made
from benchmarks.report import note
from howlearn import Range, Task, select
from howlearn.core.study import Study, joined
from howlearn.models.partition_model import candidates
from howlearn.models.values import drawn, parameter_values

ALONE, STICKY = "gradient bandit", "gradient bandit+stickiness"
EACH = "OnePerItem (one rate)+stickiness"
BASE = ("q-learning", "q-forgetting", "win-stay-lose-shift")
# What competes in such a task by default, apart from models with a rate per context; and hmm.
CANDIDATES = {
    "reversal": (ALONE, STICKY, *BASE, "q-two-rates", "q-start", "pearce-hall", TURNS),
    "restless": (ALONE, STICKY, *BASE, "q-start", "kalman-mean", "kalman-ucb", "kalman-thompson"),
    "lists": (EACH, *BASE, "q-start"),
    "go-no-go": (EACH, *BASE, "go-no-go"),
    "gambling": (ALONE, STICKY, *BASE, "q-signed"),
    "blocks": (EACH, *BASE, "rlwm", "wm-habit"),
}
BANDIT = {"eta": Range(0.1, 1), "stickiness": Range(-1, 1)}
MORE = {**RANGES, ALONE: BANDIT, STICKY: BANDIT, EACH: BANDIT}
STEEPER = {  # where arms differ by little
    "q-learning": {"alpha": RATE, "beta": STEEP},
    "q-forgetting": {"alpha": RATE, "phi": Range(0.01, 0.5), "beta": STEEP},
    "q-start": {"alpha": RATE, "start": Range(0, 1), "beta": STEEP},
}
JUDGES = ("population", "penalized(c=0.012)", "bic")
SURE = 0.95  # a probability
DRAWS = 1000  # of parameters, for the ceiling


def ranges_of(design: str) -> dict[str, dict[str, Range]]:
    """Where the parameters of every model are drawn from."""
    steep = STEEPER if design in ("restless", "gambling") else {}
    return {**MORE, "q-start": {**STEEPER["q-start"], "beta": BETA}, **steep, **BY_DESIGN[design]}


def together(design: str, task: Task, learners: int, trials: int, seed: int) -> Study:
    """Learners of every candidate; the column ``truth`` says which."""
    known = ranges_of(design)
    parts = [
        (name, made(task, name, learners, trials, seed + k, known)[0])
        for k, name in enumerate(CANDIDATES[design])
    ]
    return joined(parts, "truth")


def shares(
    design: str, task: Task, study: Study
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """By each judge: how often learners of a model (rows) are given each (columns).

    And how often the first judge is wrong with a clear verdict, and with a probability above SURE.
    """
    models = [task.model(name) for name in CANDIDATES[design]]
    found = select(study, models, [*JUDGES], check=False).selection
    truth = study.about["truth"].to_numpy()
    tables = []
    for judge in JUDGES:
        given = found.filter(criterion=judge)["model"].to_numpy()
        rows = [[np.mean(given[truth == name] == m.name) for m in models]
                for name in CANDIDATES[design]]  # fmt: skip
        tables.append(np.array(rows))
    first = found.filter(criterion=JUDGES[0])
    named = dict(zip(CANDIDATES[design], (m.name for m in models), strict=True))
    wrong = first["model"].to_numpy() != np.array([named[name] for name in truth])
    sure = first["verdict"].to_numpy() == "clear", first["probability"].to_numpy() > SURE
    rows = [
        [np.mean((each & wrong)[truth == name]) for each in sure] for name in CANDIDATES[design]
    ]
    return tables, np.array(rows)


def ceiling(design: str, task: Task, study: Study, seed: int) -> dict[str, float]:
    """How often each model is found by who knows all but the parameters; hmm is left out."""
    names = [name for name in CANDIDATES[design] if name != TURNS]
    scores = np.stack([_log_evidence(design, task, study, name, seed) for name in names])
    given = np.argmax(scores, axis=0)
    truth = study.about["truth"].to_numpy()
    return {name: float(np.mean(given[truth == name] == k)) for k, name in enumerate(names)}


def _log_evidence(
    design: str, task: Task, study: Study, name: str, seed: int
) -> NDArray[np.float64]:
    """Of every learner: the mean likelihood over parameters, drawn as the learners' own were."""
    whole = STICKY if name == ALONE else name  # whose likelihood has a compiled form
    model = task.model(whole)
    known = {p.name: ranges_of(design)[name][p.name] for _, p in model.owners(task.actions)}
    theta = drawn(parameter_values(model, known, task.actions), range(DRAWS), (seed, 7))
    if name == ALONE:
        theta[:, -1] = 0.0
    likelihood, found = likelihood_of(study, model), np.empty(len(study))
    for i, n in enumerate(np.diff(study.starts).tolist()):
        each = likelihood.at(np.full(DRAWS, i), theta, np.full((DRAWS, 1), n))[:, 0]
        found[i] = logsumexp(each) - np.log(DRAWS)
    return found


def table(design: str, task: Task, learners: int, trials: int, seed: int, top: bool) -> str:
    """In Markdown: the share that is found again, by each judge, and what is taken for it."""
    study = together(design, task, learners, trials, seed)
    start = perf_counter()
    judged, misled = shares(design, task, study)
    note(f"{design}, n = {trials}: judged in {perf_counter() - start:.0f} s")
    best = ceiling(design, task, study, seed) if top else {}
    lines = [["true model", *JUDGES, "ceiling", "clear and wrong", f"p > {SURE:g} and wrong",
              "instead, by population"]]  # fmt: skip
    lines.append(["---"] * len(lines[0]))
    for k, name in enumerate(CANDIDATES[design]):
        others = judged[0][k].copy()
        others[k] = 0.0
        order = [j for j in np.argsort(-others)[:2] if others[j] > 0.05]
        instead = ", ".join(f"{CANDIDATES[design][j]} {others[j]:.0%}" for j in order)
        highest = f"{best[name]:.0%}" if name in best else ""
        lines.append(
            [
                f"`{name}`",
                *(f"{each[k, k]:.0%}" for each in judged),
                highest,
                *(f"{each:.0%}" for each in misled[k]),
                instead,
            ]
        )
    means = [f"{np.mean(np.diag(each)):.0%}" for each in judged]
    lines.append(
        [
            "all",
            *means,
            f"{np.mean([*best.values()]):.0%}" if best else "",
            *(f"{each:.1%}" for each in misled.mean(axis=0)),
            "",
        ]
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """All designs, one table for each number of trials."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.confusion")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, nargs="+", default=[300, 1000], metavar="N")
    parser.add_argument("--learners", type=int, nargs="+", default=[40, 40], metavar="N")
    parser.add_argument("--ceiling", action="store_true", help="compute it, too (slow)")
    parser.add_argument("--design", nargs="+", choices=[*CANDIDATES], default=[*CANDIDATES])
    chosen = parser.parse_args()
    begin = perf_counter()
    for design in chosen.design:
        task = designs()[design][0]
        task = replace(task, models=candidates(task.contexts))
        for trials, learners in zip(chosen.trials, chosen.learners, strict=True):
            text = table(design, task, learners, trials, chosen.seed, chosen.ceiling)
            print(f"\n{design}, n = {trials}, {learners} learners of each model, "
                  f"seed {chosen.seed}\n\n{text}\n", flush=True)  # fmt: skip
    print(f"{perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
