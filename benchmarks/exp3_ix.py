"""``python -m benchmarks.exp3_ix``: when can Exp3-IX be told from its neighbours, and estimated?

Writes docs/exp3-ix-study.md. Learners of the Gradient Bandit, of Exp3 and of Exp3-IX are simulated
in the five-four task, with up to 100,000 trials.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import note, table
from howlearn import PartitionModel, Task, fit, simulate
from howlearn.core.rule import Form, Rule
from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
from howlearn.core.study import Study
from howlearn.engine.layout import Statuses
from howlearn.fitting.fits import ALL, Fits, Truncation, distinct
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import winners

Floats = NDArray[np.float64]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "exp3-ix-study.md"
TASK = Task.load("five-four")
AT = 500  # trials at which all ways of growing have the same rate, for one of the scales
RULES = ("gradient", "exp3", "exp3-ix")
LONG = 10_000  # trials beyond which partitions are told apart for one scale only
GAMMA = 3.0  # times η: implicit exploration that changes what is chosen


@dataclass(frozen=True)
class Scale:
    """How rates depend on the number of trials."""

    name: str
    eta: float  # at 500 trials
    falls: bool  # as 1/√n, so that the paper's θ is fixed

    def rate(self, n: int) -> float:
        return self.eta * np.sqrt(AT / n) if self.falls else self.eta


SCALES = (
    Scale("θ = 0.2", 0.2 / np.sqrt(AT), True),
    Scale("θ = 0.7", 0.7 / np.sqrt(AT), True),
    Scale("θ = 2", 2.0 / np.sqrt(AT), True),
    Scale("η = 0.03", 0.03, False),
)
MANY = {500: 1.0, 2000: 1.0, 10_000: 0.4, 100_000: 0.1}  # share of the learners


def rule_of(name: str, form: Form) -> Rule:
    kinds = {"gradient": GradientBandit, "exp3": Exp3, "exp3-ix": Exp3IX}
    return kinds[name](form)


def model_of(name: str, rule: Rule, label: str | None = None) -> PartitionModel:
    model = TASK.model(name)
    assert isinstance(model, PartitionModel)
    return PartitionModel(label or name, model.partition, rule)


def learners_of(
    truth: PartitionModel, eta: float, n: int, count: int, seed: Sequence[int]
) -> Study:
    values = {"eta": eta, "gamma": GAMMA * eta}
    # A step of the Gradient Bandit is 2η(1 − p) in the logit, of Exp3 η/p: alike at p = ½.
    given = [values[parameter.name] for _, parameter in truth.owned]
    return simulate(TASK, truth, np.tile(given, (count, 1)), trials=n, seed=tuple(seed))


def share(right: int, n: int) -> str:
    p = right / n
    return f"{100 * p:.0f} ± {100 * np.sqrt(max(p * (1 - p), 0.25 / n) / n):.0f}"


# 1. Which rule, and which parameters, the partition being known


def truncations(n: int) -> dict[str, Truncation]:
    """How much is fitted: the paper's order of T_ε, and shares of all trials."""
    return {"√n": int(np.sqrt(n)), "n/10": 0.1, "n/2": 0.5, "n": ALL}


CRITERIA: tuple[Criterion, ...] = (AIC(), HoldOut())


@dataclass
class Rules:
    """Learners in the cells of ByShape, one rule each: what is selected, what is estimated."""

    form: Form
    counts: dict[tuple[str, int, str, str], NDArray[np.int64]]  # scale, n, criterion, truth
    estimates: dict[tuple[str, int, str], tuple[Floats, NDArray[np.int8], Floats]]


def told(form: Form, sizes: dict[int, int], seed: int) -> Rules:
    found = Rules(form, {}, {})
    models = [model_of("ByShape", rule_of(name, form), name) for name in RULES]
    for n, count in sizes.items():
        for s, scale in enumerate(SCALES):
            started = perf_counter()
            for r, truth in enumerate(models):
                study = learners_of(truth, scale.rate(n), n, count, (seed, n, s, r, len(form)))
                wanted = truncations(n)
                if truth.name != "exp3-ix":
                    wanted = {key: wanted[key] for key in ("n/2", "n")}
                fits = fit(study, models, distinct(wanted.values()))
                for criterion in CRITERIA:
                    chosen = winners(criterion.scores(fits).score, fits.n_parameters)
                    counted = np.bincount(chosen, minlength=len(models))
                    found.counts[scale.name, n, repr(criterion), truth.name] = counted
                if truth.name == "exp3-ix":
                    part = fits.of[truth.name]
                    true = np.tile([scale.rate(n), GAMMA * scale.rate(n)], 2)
                    for key, truncation in wanted.items():
                        j = fits.at(truncation)
                        found.estimates[scale.name, n, key] = (
                            part.theta[:, j], part.status[:, j], true,
                        )  # fmt: skip
            note(f"{form}, n = {n}, {scale.name}: {perf_counter() - started:.0f} s")
    return found


def rules_table(found: Rules, criterion: str, sizes: dict[int, int]) -> str:
    rows = []
    for scale in SCALES:
        for n in sizes:
            row = [scale.name, f"{n:,}"]
            for truth in RULES:
                counts = found.counts[scale.name, n, criterion, truth]
                total = int(counts.sum())
                own = RULES.index(truth)
                others = [
                    f"{RULES[k]} {100 * counts[k] / total:.0f}"
                    for k in range(3)
                    if k != own and counts[k]
                ]
                text = share(int(counts[own]), total)
                row.append(text + (f" ({', '.join(others)})" if others else ""))
            rows.append(row)
    names = ("Gradient Bandit", "Exp3", "Exp3-IX")
    return table(["scale", "trials", *(f"true: {name}" for name in names)], rows)


def estimates_table(found: Rules, sizes: dict[int, int]) -> str:
    rows = []
    for scale in SCALES:
        for n in sizes:
            for key in truncations(n):
                theta, status, true = found.estimates[scale.name, n, key]
                row = [scale.name, f"{n:,}", key]
                for d in range(2):
                    value, mine = theta[:, d::2], status[:, d::2]
                    error = np.median(np.abs(value - true[d]) / true[d])
                    low = np.mean((mine == Statuses.AT_LOWER) | (mine == Statuses.FLAT))
                    high = np.mean(mine == Statuses.AT_UPPER)
                    row += [f"{true[d]:.3g}", f"{100 * error:.0f}", f"{100 * low:.0f}",
                            f"{100 * high:.0f}"]  # fmt: skip
                rows.append(row)
    header = ["scale", "trials", "fitted", "true η", "error of η", "at 0", "at 1", "true γ",
              "error of γ", "at 0", "at 1"]  # fmt: skip
    return table(header, rows)


# 2. Which partition, the rule being Exp3-IX


def partition_criteria(n: int) -> dict[str, Criterion]:
    return {
        "penalized(c=0.012)": Penalized(),
        "aic": AIC(),
        "bic": BIC(),
        "holdout(split=0.5)": HoldOut(),
        "penalized, first √n trials": Penalized(stop_at=int(np.sqrt(n))),
    }


Partitions = dict[tuple[str, int, str], tuple[int, int]]  # scale, n, criterion: right, all


def partitions(form: Form, scales: Sequence[Scale], sizes: dict[int, int], seed: int) -> Partitions:
    names = [model.name for model in TASK.models]
    models = [model_of(name, rule_of("exp3-ix", form)) for name in names]
    found: Partitions = {}
    for n, count in sizes.items():
        for s, scale in enumerate(scales[:1] if n > LONG else scales):
            started = perf_counter()
            for k, truth in enumerate(models):
                study = learners_of(truth, scale.rate(n), n, count, (seed, n, s, k, 7, len(form)))
                by = partition_criteria(n)
                fits: Fits = fit(
                    study, models, distinct(t for c in by.values() for t in c.truncations)
                )
                for key, criterion in by.items():
                    scores = criterion.scores(fits)
                    size = fits.n_parameters if scores.n_parameters is None else scores.n_parameters
                    chosen = winners(scores.score, size)
                    right, total = found.get((scale.name, n, key), (0, 0))
                    right += int(np.sum(chosen == k))
                    found[scale.name, n, key] = (right, total + count)
            note(f"partitions, {form}, n = {n}, {scale.name}: {perf_counter() - started:.0f} s")
    return found


def partitions_table(found: Partitions) -> str:
    keys = [*dict.fromkeys((scale, n) for scale, n, _ in found)]
    names = [*dict.fromkeys(criterion for _, _, criterion in found)]
    rows = [
        [scale, f"{n:,}", *(share(*found[scale, n, name]) for name in names)] for scale, n in keys
    ]
    return table(["scale", "trials", *names], rows)


def page(learners: int, seed: int, long: bool) -> str:
    every = {n: max(4, int(learners * part)) for n, part in MANY.items()}
    if not long:
        every = {n: count for n, count in every.items() if n <= 2000}
    short = {n: max(4, learners // 4) for n in every if n <= 2000}
    gains, losses = told("gain", every, seed), told("loss", short, seed)
    few = {n: max(2, count // 4) for n, count in every.items()}
    of_gains = partitions("gain", SCALES[1:], few, seed)
    of_losses = partitions("loss", SCALES[1:2], {n: max(2, c // 4) for n, c in short.items()}, seed)
    counts = ", ".join(f"{count} with {n:,} trials" for n, count in every.items())
    command = f"python -m benchmarks.exp3_ix --learners {learners} --seed {seed}"
    return "\n".join([
        "# Study: can Exp3-IX be recognised and estimated?\n",
        "A command wrote this page. [Exp3-IX](exp3-ix.md) explains the results.\n",
        f"```sh\n{command}\n```\n",
        "Learners of the five-four task, in the cells of ByShape unless stated otherwise. The "
        "scale says how rates depend on the number n of trials: with θ fixed, as in the paper, "
        "η = θ/√n; with η fixed it is the same for all n. γ is three times η. Learners per true "
        f"rule: {counts}; in loss form {short[500]}. ± is one Monte-Carlo standard error; shares "
        "and relative errors are in per cent.\n",
        "## Which rule? Gains\n",
        "Share of learners who get their own rule, and in brackets another one.\n",
        "### aic\n", rules_table(gains, "aic", every),
        "### holdout(split=0.5)\n", rules_table(gains, "holdout(split=0.5)", every),
        "## Which rule? Losses\n",
        "### aic\n", rules_table(losses, "aic", short),
        "### holdout(split=0.5)\n", rules_table(losses, "holdout(split=0.5)", short),
        "## How well are η and γ estimated? Gains\n",
        "Median over learners and both cells of |estimate − truth| / truth, from the first trials "
        "fitted, and how many estimates lie at their bounds, 0 and 1 (γ without a rate counts as "
        "at 0).\n",
        estimates_table(gains, every),
        "## How well are η and γ estimated? Losses\n", estimates_table(losses, short),
        "## Which partition, with Exp3-IX in every cell? Gains\n",
        "Share of learners of all six partitions who get their own; "
        f"{', '.join(f'{6 * c} learners with {n:,} trials' for n, c in few.items())}.\n",
        partitions_table(of_gains),
        "## Which partition? Losses\n", partitions_table(of_losses),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=60, help="per true rule, at 500 trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="at most 2,000 trials")
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    given.out.write_text(page(given.learners, given.seed, not given.short), encoding="utf-8")
    note(f"written to {given.out}")


if __name__ == "__main__":
    main()
