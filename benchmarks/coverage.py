"""``python -m benchmarks.coverage``: how often do intervals hold the true parameter?

Writes docs/intervals-study.md; with ``--leaps exp3``, and then ``--leaps exp3-ix``, adds the tables
of these rules to it. Learners of the five-four task, whose model and rates are known.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import note, table
from howlearn import Exp3, Exp3IX, GradientBandit, Partition, PartitionModel, Task, fit, simulate
from howlearn.core.rule import Rule
from howlearn.core.rules import RULES
from howlearn.fitting.intervals import LEVEL, STRETCH, stretch_of
from howlearn.models import QLearning
from howlearn.models.model import Model
from howlearn.models.values import correct_rewards

Floats = NDArray[np.float64]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "intervals-study.md"
TASK = Task.load("five-four")
SIZES = (60, 125, 250, 500, 1000)
ETAS = (0.01, 0.03, 0.1, 0.3)
# The level whose stretched quantile is the plain χ² quantile of the usual one.
PLAIN = 2.0 * NormalDist().cdf(NormalDist().inv_cdf((1 + LEVEL) / 2) / np.sqrt(STRETCH)) - 1.0
KINDS = {"gain": "gains", "loss": "losses"}
THREE = Task(
    "three",
    tuple("uvwxyz"),
    ("A", "B", "C"),
    (),
    rewards={c: correct_rewards("ABC", "ABC"[i % 3]) for i, c in enumerate("uvwxyz")},
)


@dataclass(frozen=True)
class Held:
    """Of some learners of one model: which intervals hold the truth, [learner, parameter]."""

    held: NDArray[np.bool_]
    width: Floats
    at_bound: NDArray[np.bool_]

    @property
    def share(self) -> float:
        return float(self.held.mean())

    @property
    def error(self) -> float:
        """One standard error; learners are independent, their cells need not be."""
        spread = float(self.held.mean(axis=1).std())
        least = 0.5 / np.sqrt(self.held.size)
        return max(spread, least) / np.sqrt(len(self.held))

    @property
    def worst(self) -> float:
        """Of the parameter that is held least often."""
        return float(self.held.mean(axis=0).min())


def covered(
    task: Task,
    model: Model,
    values: Mapping[str, float],
    n: int,
    count: int,
    seed: Sequence[int],
    levels: Sequence[float] = (LEVEL,),
) -> list[Held]:
    """Simulate, fit, and look, at each of the levels."""
    study = simulate(task, model, values, count, n, tuple(seed))
    owners = [parameter for _, parameter in model.owners(study.actions)]
    truth = np.array([values[parameter.name] for parameter in owners])
    bounds = np.array([[parameter.lower, parameter.upper] for parameter in owners])
    found = []
    for level in levels:
        ends = fit(study, [model], level=level).of[model.name].ends
        assert ends is not None
        low, high = ends[..., 0], ends[..., 1]
        near = 1e-9 * np.abs(truth)
        held = (low <= truth + near) & (truth <= high + near)
        at_bound = (low <= bounds[:, 0]) | (high >= bounds[:, 1])
        found.append(Held(held, high - low, at_bound))
    return found


def with_rule(name: str, rule: Rule) -> PartitionModel:
    model = TASK.model(name)
    assert isinstance(model, PartitionModel)
    return PartitionModel(name, model.partition, rule)


def _share(held: Held) -> str:
    return f"{100 * held.share:.1f} ± {100 * held.error:.1f} ({100 * held.worst:.0f})"


def main_tables(learners: int, seed: int) -> tuple[str, str, str]:
    """Coverage, that of the plain quantile, and widths, of the six models."""
    rows: dict[int, list[list[str]]] = {0: [], 1: [], 2: []}
    for m, model in enumerate(TASK.models):
        for n in SIZES:
            started = perf_counter()
            cells: list[list[Held]] = []
            for e, eta in enumerate(ETAS):
                values, seeds = {"eta": eta}, (seed, m, n, e)
                cells.append(covered(TASK, model, values, n, learners, seeds, (LEVEL, PLAIN)))
            head = [model.name, f"{n:,}"]
            for k in (0, 1):
                rows[k].append([*head, *(_share(held[k]) for held in cells)])
            rows[2].append([
                *head,
                *(f"{held[0].width.mean():.3f} ({100 * held[0].at_bound.mean():.0f})"
                  for held in cells),
            ])  # fmt: skip
            note(f"{model.name}, {n} trials: {perf_counter() - started:.0f} s")
    header = ["model", "trials", *(f"η = {eta:g}" for eta in ETAS)]
    return table(header, rows[0]), table(header, rows[1]), table(header, rows[2])


SLOW = 4  # times fewer learners where fits are slow


def other_table(learners: int, seed: int, leaps: Sequence[str] | None = None) -> str:
    """Three actions, losses, a model that is fitted whole; or rules that leap, by name."""
    names = ("OneForAll", "ByShape", "OnePerItem")
    cases: list[tuple[str, Task, Model, Mapping[str, float]]] = []
    for rule in (Exp3(), GradientBandit("loss"), Exp3("loss")):
        for name in names:
            label = f"{rule.title}, {KINDS[rule.form]}, {name}"
            cases.append((label, TASK, with_rule(name, rule), {}))
    for form in ("gain", "loss"):
        label = f"Exp3-IX, {KINDS[form]}, ByShape (γ = 3η)"
        cases.append((label, TASK, with_rule("ByShape", Exp3IX(form)), {"gamma": 3.0}))
    pairs = PartitionModel(
        "pairs", Partition((("u", "x"), ("v", "y"), ("w", "z"))), GradientBandit()
    )
    mixed = PartitionModel("mixed", Partition((tuple("uvw"), tuple("xyz"))), GradientBandit())
    for model in (pairs, mixed):
        cases.append((f"three actions, {model.name}", THREE, model, {}))
    cases.append(("q-learning (α = η, β = 3)", TASK, QLearning(), {"beta": 3.0}))
    rows = []
    for c, (label, task, model, more) in enumerate(cases):
        rule = model.units[0].rule if isinstance(model, PartitionModel) else model
        if rule.name not in leaps if leaps else stretch_of(rule) > 1.0:
            continue
        started = perf_counter()
        for n in (60, 250, 1000):
            cells = []
            for e, eta in enumerate(ETAS):
                values = {"eta": eta, "alpha": eta, "gamma": 3.0 * eta, **more}
                if "gamma" in more:
                    values["gamma"] = more["gamma"] * eta
                mine = {p.name for _, p in model.owners(task.actions)}
                values = {name: value for name, value in values.items() if name in mine}
                count = learners // SLOW if len(mine) > 1 else learners
                (held,) = covered(task, model, values, n, count, (seed, 100 + c, n, e))
                cells.append(_share(held))
            rows.append([label, f"{n:,}", *cells])
        note(f"{label}: {perf_counter() - started:.0f} s")
    return table(["learners", "trials", *(f"η = {eta:g}" for eta in ETAS)], rows)


def page(learners: int, others: int, seed: int, out: Path) -> None:
    """Written twice: the last table takes a while."""
    coverage, plain, widths = main_tables(learners, seed)
    command = f"python -m benchmarks.coverage --learners {learners} --others {others} --seed {seed}"
    text = "\n".join([
        "# Study: how often intervals contain the true rate\n",
        "A command wrote this page. [Intervals](intervals.md) explains the results.\n",
        f"```sh\n{command}\n```\n",
        "Learners of the five-four task with one rate η in all cells, fitted with the model that "
        f"made them. There are {learners:,} learners in every entry of the first tables and "
        f"{others:,} in the next ({others // SLOW:,} for models with two parameters). Entries are "
        "per cent of intervals at level "
        f"{LEVEL:g} that contain the true rate, over all cells of the model, ± one Monte-Carlo "
        "standard error. In brackets: the cell with the lowest coverage (which is lower by chance "
        "where there are many cells).\n",
        "## Coverage\n", coverage,
        "## Coverage with the plain quantile of χ²\n", plain,
        "## Mean width, and in brackets how many intervals reach a bound\n", widths,
    ])  # fmt: skip
    out.write_text(text, encoding="utf-8")
    heading = "\n## Losses, three actions, and a model that is fitted as a whole\n\n"
    out.write_text(text + heading + other_table(others, seed), encoding="utf-8")


def add_leaps(learners: int, seed: int, rules: Sequence[str], out: Path) -> None:
    """A table of rules that leap at the end of a page, which may have others by another seed."""
    names = " ".join(rules)
    command = f"python -m benchmarks.coverage --others {learners} --seed {seed} --leaps {names}"
    found = other_table(learners, seed, rules)
    titles = " and ".join(RULES[name].title for name in rules)
    count = learners // SLOW if all(len(RULES[n]().parameters) > 1 for n in rules) else learners
    heading = f"\n## {titles}\n\n```sh\n{command}\n```\n\n{count:,} learners in every entry.\n\n"
    out.write_text(out.read_text(encoding="utf-8") + heading + found, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=2000, help="in every place of the tables")
    parser.add_argument("--others", type=int, default=200, help="of other rules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--leaps", nargs="+", help="only exp3, exp3-ix; added to the page")
    given = parser.parse_args()
    if given.leaps:
        add_leaps(given.others, given.seed, given.leaps, given.out)
    else:
        page(given.learners, given.others, given.seed, given.out)
    note(f"written to {given.out}")


if __name__ == "__main__":
    main()
