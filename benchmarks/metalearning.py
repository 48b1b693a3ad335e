"""``python -m benchmarks.metalearning``: can one tell which strategies a learner learns from?

Writes docs/metalearning-study.md. Learners of single strategies, of Exp4 over sets of them, and of
abrupt switches are simulated in the five-four task, and all of these compete for each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import note
from howlearn import Exp4, Expert, Switch, Task, fit, simulate
from howlearn.criteria import AIC, Criterion, HoldOut, Likelihood
from howlearn.fitting import Fits
from howlearn.model import Model
from howlearn.models.mixture import Mixture, Source
from howlearn.selection import choose
from howlearn.study import Study

Floats = NDArray[np.float64]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "metalearning-study.md"
TASK = Task.load("five-four")
ETA = 0.05  # of every strategy
THETAS = (0.03, 0.1, 0.3)
TRIALS = (250, 500, 1000, 2000)
SINGLES = ("OneForAll", "ByShape", "ByPattern", "ByShapeExc", "ByPatternExc")
SETS = (
    ("ByPattern", "ByPatternExc"),
    ("ByShape", "ByShapeExc"),
    ("OneForAll", "ByPattern", "ByPatternExc"),
)
SWITCHES = (("ByPattern", "ByPatternExc"), ("ByShape", "ByShapeExc"))
SHORT = {
    "OneForAll": "A",
    "ByShape": "S",
    "ByPattern": "P",
    "ByShapeExc": "Sx",
    "ByPatternExc": "Px",
}


def short(names: Sequence[str], arrow: str = "+") -> str:
    """A few letters for the tables."""
    return arrow.join(SHORT[name] for name in names)


def candidates(rate: float | None = ETA, source: Source = "training") -> list[Model]:
    """Single strategies, sets and switches; with rates that are given, or from the source."""

    def expert(name: str) -> Expert:
        model = TASK.model(name)
        return Expert(model, {"eta": rate}) if rate else Expert(model)

    singles: list[Model] = [Exp4([expert(n)], source=source, label=SHORT[n]) for n in SINGLES]
    sets = [Exp4([*map(expert, names)], source=source, label=short(names)) for names in SETS]
    turns = [
        Switch(expert(a), expert(b), source=source, label=short((a, b), "→")) for a, b in SWITCHES
    ]
    return [*singles, *sets, *turns]


NAMES = [model.name for model in candidates()]
SEVERAL = {name for name in NAMES if "+" in name or "→" in name}


@dataclass(frozen=True)
class Group:
    """Learners of one true model."""

    truth: str
    study: Study
    own: Floats  # θ or the trial of the switch; 0 for single strategies


def groups(n: int, theta: float, learners: int, seed: int) -> Iterator[Group]:
    """Learners of every truth; a switch comes between a fifth and four fifths of the trials."""
    for k, model in enumerate(candidates()):
        assert isinstance(model, Mixture)
        own = np.zeros(learners)
        if isinstance(model, Switch):
            random = np.random.default_rng([seed, n, k])
            own = random.integers(n // 5, 4 * n // 5, learners).astype(float) + 1
        elif model.own:
            own[:] = theta
        given = own[:, None] if model.own else np.empty((learners, 0))
        study = simulate(TASK, model, given, trials=n, seed=(seed, n, k, int(1000 * theta)))
        yield Group(model.name, study, own)


@dataclass
class Found:
    """Selections of one criterion: [truth, selected], and learners per truth."""

    counts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((len(NAMES), len(NAMES)), np.int64)
    )

    def add(self, truth: str, selected: NDArray[np.int64]) -> None:
        np.add.at(self.counts[NAMES.index(truth)], selected, 1)

    def right(self, truths: Sequence[str]) -> tuple[float, int]:
        """The share of learners of these truths who are given their own model."""
        rows = [NAMES.index(truth) for truth in truths]
        n = int(self.counts[rows].sum())
        return sum(self.counts[r, r] for r in rows) / n, n

    def several(self, truths: Sequence[str]) -> tuple[float, int]:
        """The share of learners of these truths who are given one strategy or several, rightly."""
        rows = [NAMES.index(truth) for truth in truths]
        n = int(self.counts[rows].sum())
        columns = np.array([name in SEVERAL for name in NAMES])
        good = sum(self.counts[r, columns == (NAMES[r] in SEVERAL)].sum() for r in rows)
        return good / n, n


SINGLE_NAMES = [SHORT[name] for name in SINGLES]
SET_NAMES = [short(names) for names in SETS]
SWITCH_NAMES = [short(pair, "→") for pair in SWITCHES]


def share(value: tuple[float, int]) -> str:
    """With its Monte-Carlo standard error."""
    p, n = value
    return f"{100 * p:.0f} ± {100 * np.sqrt(max(p * (1 - p), 0.25 / n) / n):.0f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def criteria(n: int) -> tuple[Criterion, ...]:
    """AIC, the hold-out, and the likelihood of the first √n trials (T_ε is of that order)."""
    return AIC(), HoldOut(), Likelihood(trials=int(np.sqrt(n)))


def fitted(study: Study, models: Sequence[Model], n: int) -> Fits:
    wanted = sorted({t for criterion in criteria(n) for t in criterion.truncations})
    return fit(study, models, wanted)


class Study1:
    """Known rates: all truths, all n, all θ."""

    def __init__(self, learners: int, seed: int) -> None:
        self.found: dict[tuple[int, float, str], Found] = {}
        self.estimates: dict[tuple[int, float, str], tuple[Floats, Floats, float]] = {}
        models = candidates()
        for n in TRIALS:
            for theta in THETAS:
                started = perf_counter()
                for group in groups(n, theta, learners, seed):
                    if theta != THETAS[0] and group.truth not in SET_NAMES:
                        continue  # does not depend on θ
                    fits = fitted(group.study, models, n)
                    for choice in choose(fits, criteria(n)).choices:
                        key = (n, theta, choice.criterion.name)
                        self.found.setdefault(key, Found()).add(group.truth, choice.selected)
                    if group.truth in SEVERAL:
                        part = fits.of[group.truth]
                        at_bound = float(np.isin(part.status[:, -1, 0], (1, 2)).mean())
                        self.estimates[n, theta, group.truth] = (
                            part.theta[:, -1, 0], group.own, at_bound,
                        )  # fmt: skip
                note(f"n = {n}, theta = {theta}: {perf_counter() - started:.0f} s")
        for n in TRIALS:  # singles and switches were simulated once
            for theta in THETAS[1:]:
                for name in ("aic", "holdout", "likelihood"):
                    first = self.found[n, THETAS[0], name].counts
                    for truth in (*SINGLE_NAMES, *SWITCH_NAMES):
                        row = NAMES.index(truth)
                        self.found[n, theta, name].counts[row] = first[row]


class Study2:
    """Rates that are wrong by a factor of 2, or estimated."""

    WAYS: tuple[tuple[str, float | None, Source], ...] = (
        ("known", ETA, "training"),
        ("twice too large", 2 * ETA, "training"),
        ("half as large", ETA / 2, "training"),
        ("own fits (training)", None, "training"),
        ("other learners (population)", None, "population"),
        ("joint", None, "joint"),
    )

    def __init__(self, n: int, theta: float, learners: int, joint: int, seed: int) -> None:
        self.found: dict[tuple[str, str], Found] = {}
        made = [*groups(n, theta, learners, seed)]
        for way, rate, source in self.WAYS:
            started = perf_counter()
            models = candidates(rate, source)
            for group in made:
                study = group.study
                if source == "joint":
                    study = study.part(0, min(joint, len(study)))
                fits = fit(study, models, [0.5, 1.0])
                for choice in choose(fits, (AIC(), HoldOut())).choices:
                    key = (way, choice.criterion.name)
                    self.found.setdefault(key, Found()).add(group.truth, choice.selected)
            note(f"n = {n}, rates {way}: {perf_counter() - started:.0f} s")


def confusion(found: Found) -> str:
    percent = 100 * found.counts / found.counts.sum(axis=1, keepdims=True)
    rows = [
        [f"**{name}**", *(f"{value:.0f}" if value >= 0.5 else "·" for value in percent[r])]
        for r, name in enumerate(NAMES)
    ]
    return table(["true \\ selected", *NAMES], rows)


def page(one: Study1, two: dict[int, Study2], learners: int, joint: int, seed: int) -> str:
    text = [
        "# Can one tell which strategies a learner learns from?\n",
        "This page is written by a command, and says what it found; [metalearning.md]"
        "(metalearning.md) says what it means.\n",
        f"```sh\npython -m benchmarks.metalearning --learners {learners} --joint {joint} "
        f"--seed {seed}\n```\n",
        "Learners of the five-four task. Strategies: A = OneForAll, S = ByShape, P = ByPattern, "
        "Sx = ByShapeExc, Px = ByPatternExc, all with η = "
        f"{ETA:g} in every cell. P+Px is Exp4 over these two, P→Px an abrupt switch at a trial "
        "drawn evenly from the middle three fifths. All ten models compete for every learner; "
        f"{learners} learners per true model; ± is one Monte-Carlo standard error, in per cent. "
        "θ is the effective rate (the paper's θ divided by √n).\n",
        "## Rates known\n",
        "### Is the right set found? Per cent of the learners of the three sets\n",
    ]
    header = ["trials", "criterion", *(f"θ = {theta:g}" for theta in THETAS)]
    rows = [
        [str(n), name, *(share(one.found[n, theta, name].right(SET_NAMES)) for theta in THETAS)]
        for n in TRIALS
        for name in ("aic", "holdout", "likelihood")
    ]
    text += [table(header, rows)]
    text += [
        "`likelihood` is that of the first ⌊√n⌋ trials, the order of the paper's T_ε.\n",
        "### One strategy or several? Per cent that are told rightly\n",
    ]
    header = [
        "trials", "criterion", "one strategy", *(f"Exp4, θ = {theta:g}" for theta in THETAS),
        "switch",
    ]  # fmt: skip
    rows = [
        [
            str(n), name, share(one.found[n, THETAS[0], name].several(SINGLE_NAMES)),
            *(share(one.found[n, theta, name].several(SET_NAMES)) for theta in THETAS),
            share(one.found[n, THETAS[0], name].several(SWITCH_NAMES)),
        ]
        for n in TRIALS
        for name in ("aic", "holdout")
    ]  # fmt: skip
    text += [table(header, rows)]
    for n, theta in ((250, 0.1), (500, 0.1), (2000, 0.1)):
        text += [
            f"### Which model is selected instead? {n} trials, θ = {theta:g}, aic, per cent\n",
            confusion(one.found[n, theta, "aic"]),
        ]
    text += ["### How well is θ recovered?\n"]
    rows = []
    for n in TRIALS:
        for name in SET_NAMES:
            row = [str(n), name]
            for theta in THETAS:
                found, _, bound = one.estimates[n, theta, name]
                low, middle, high = np.quantile(found, [0.25, 0.5, 0.75])
                row.append(f"{middle:.2g} ({low:.2g}–{high:.2g}), {100 * bound:.0f}%")
            rows.append(row)
    text += [
        table(["trials", "set", *(f"θ = {theta:g}" for theta in THETAS)], rows),
        "Median estimate, quartiles, and how many lie at a bound (0 or 1).\n",
        "### How well is the trial of a switch recovered?\n",
    ]
    rows = []
    for n in TRIALS:
        for name in SWITCH_NAMES:
            found, true, _ = one.estimates[n, THETAS[0], name]
            error = np.abs(found - true)
            low, middle, high = np.quantile(error, [0.25, 0.5, 0.75])
            rows.append([str(n), name, f"{middle:.0f} ({low:.0f}–{high:.0f})"])
    text += [
        table(["trials", "switch", "error in trials: median (quartiles)"], rows),
        "## Rates unknown\n",
        "The same learners, θ = 0.1; single strategies have rates from the same place as the "
        "experts. Where rates are estimated, each counts as a parameter (`aic`), and the hold-out "
        f"estimates them on the first half. `joint` is of {joint} learners per true model.\n",
    ]
    header = ["trials", "rates", "criterion", "right model", "right set (Exp4)", "one or several"]
    rows = []
    for n, study in two.items():
        for way, _, _ in Study2.WAYS:
            for name in ("aic", "holdout"):
                found = study.found[way, name]
                rows.append(
                    [str(n), way, name, share(found.right(NAMES)), share(found.right(SET_NAMES)),
                     share(found.several(NAMES))]
                )  # fmt: skip
    text += [table(header, rows)]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learners", type=int, default=200, help="per true model")
    parser.add_argument("--joint", type=int, default=30, help="of them, for joint fits")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    one = Study1(given.learners, given.seed)
    two = {n: Study2(n, 0.1, given.learners, given.joint, given.seed + 1) for n in (500, 1000)}
    given.out.write_text(page(one, two, given.learners, given.joint, given.seed), encoding="utf-8")
    note(f"written: {given.out.name}")


if __name__ == "__main__":
    main()
