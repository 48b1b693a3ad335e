"""``python -m benchmarks.metalearning``: can one tell which strategies a learner learns from?

Writes docs/metalearning-study.md. Learners of single strategies, of Exp4 over sets of them, and of
abrupt switches are simulated in the five-four task, and all of these compete for each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import note, table
from howlearn import Task, fit, simulate
from howlearn.core.study import Study
from howlearn.fitting.fits import ALL
from howlearn.models import Exp4, Expert, Switch
from howlearn.models.mixture import Mixture, Source
from howlearn.models.model import Model
from howlearn.selection.criteria import AIC, HoldOut, Likelihood
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import winners

Floats = NDArray[np.float64]
PAGE = Path(__file__).resolve().parents[1] / "docs" / "metalearning-study.md"
TASK = Task.load("five-four")
ETA = 0.05  # of every strategy
THETAS = (0.01, 0.03, 0.1, 0.3)
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


class Found:
    """The scores of one criterion: by truth [learner, candidate], with D [learner, candidate]."""

    def __init__(self) -> None:
        self.scores: dict[str, tuple[Floats, NDArray[np.int64]]] = {}

    def counts(self, among: Sequence[str]) -> NDArray[np.int64]:
        """Who is selected when only some of the models compete: [truth, selected]."""
        columns = [NAMES.index(name) for name in among]
        counts = np.zeros((len(NAMES), len(NAMES)), np.int64)
        for truth, (score, d) in self.scores.items():
            chosen = winners(score[:, columns], d[:, columns])
            np.add.at(counts[NAMES.index(truth)], np.array(columns)[chosen], 1)
        return counts

    def right(self, truths: Sequence[str], among: Sequence[str]) -> tuple[float, int]:
        """The share of learners of these truths who are given their own model."""
        counts = self.counts(among)
        rows = [NAMES.index(truth) for truth in truths]
        n = int(counts[rows].sum())
        return sum(counts[r, r] for r in rows) / n, n

    def several(self, truths: Sequence[str], among: Sequence[str]) -> tuple[float, int]:
        """The share of learners of these truths who are given one strategy or several, rightly."""
        counts = self.counts(among)
        rows = [NAMES.index(truth) for truth in truths]
        n = int(counts[rows].sum())
        columns = np.array([name in SEVERAL for name in NAMES])
        good = sum(counts[r, columns == (NAMES[r] in SEVERAL)].sum() for r in rows)
        return good / n, n


SINGLE_NAMES = [SHORT[name] for name in SINGLES]
SET_NAMES = [short(names) for names in SETS]
SWITCH_NAMES = [short(pair, "→") for pair in SWITCHES]


def share(value: tuple[float, int]) -> str:
    """With its Monte-Carlo standard error."""
    p, n = value
    return f"{100 * p:.0f} ± {100 * np.sqrt(max(p * (1 - p), 0.25 / n) / n):.0f}"


def criteria(n: int) -> tuple[Criterion, ...]:
    """The likelihood of the first √n trials is there because T_ε is of that order."""
    return AIC(), HoldOut(), HoldOut(split=0.1), Likelihood(), Likelihood(trials=int(np.sqrt(n)))


EARLY = "likelihood(trials=⌊√n⌋)"


class Study1:
    """Known rates: all truths, all n, all θ."""

    def __init__(self, learners: int, seed: int) -> None:
        self.found: dict[tuple[int, float, str], Found] = {}
        self.estimates: dict[tuple[int, float, str], tuple[Floats, Floats]] = {}
        models = candidates()
        for n in TRIALS:
            wanted = sorted({t for criterion in criteria(n) for t in criterion.truncations})
            for theta in THETAS:
                started = perf_counter()
                for group in groups(n, theta, learners, seed):
                    if theta != THETAS[0] and group.truth not in SET_NAMES:
                        continue  # does not depend on θ
                    fits = fit(group.study, models, wanted)
                    for criterion in criteria(n):
                        name = EARLY if getattr(criterion, "trials", None) else repr(criterion)
                        scores = (criterion.scores(fits).score, fits.n_parameters)
                        for each in THETAS if group.truth not in SET_NAMES else (theta,):
                            found = self.found.setdefault((n, each, name), Found())
                            found.scores[group.truth] = scores
                    if group.truth in SEVERAL:
                        own = fits.of[group.truth].theta[:, fits.at(ALL), 0]
                        self.estimates[n, theta, group.truth] = (own, group.own)
                note(f"n = {n}, theta = {theta}: {perf_counter() - started:.0f} s")


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
                for criterion in (AIC(), HoldOut()):
                    found = self.found.setdefault((way, repr(criterion)), Found())
                    found.scores[group.truth] = (criterion.scores(fits).score, fits.n_parameters)
            note(f"n = {n}, rates {way}: {perf_counter() - started:.0f} s")


def confusion(found: Found) -> str:
    counts = found.counts(NAMES)
    percent = 100 * counts / counts.sum(axis=1, keepdims=True)
    rows = [
        [f"**{name}**", *(f"{value:.0f}" if value >= 0.5 else "·" for value in percent[r])]
        for r, name in enumerate(NAMES)
    ]
    return table(["true \\ selected", *NAMES], rows)


def _compared(one: Study1, told: Callable[..., tuple[float, int]]) -> list[list[str]]:
    """Shares of learners, of single strategies and of sets, where only these compete."""
    among = [*SINGLE_NAMES, *SET_NAMES]
    return [
        [
            str(n), name, share(told(one.found[n, THETAS[0], name], SINGLE_NAMES, among)),
            *(share(told(one.found[n, t, name], SET_NAMES, among)) for t in THETAS),
        ]
        for n in TRIALS
        for name in ("aic", "holdout(split=0.1)", "holdout(split=0.5)")
    ]  # fmt: skip


def page(one: Study1, two: dict[int, Study2], learners: int, joint: int, seed: int) -> str:
    thetas = [f"θ = {theta:g}" for theta in THETAS]
    text = [
        "# Study: can mixtures of strategies be recognised?\n",
        "A command wrote this page. [Mixtures](metalearning.md) explains the results.\n",
        f"```sh\npython -m benchmarks.metalearning --learners {learners} --joint {joint} "
        f"--seed {seed}\n```\n",
        "Learners of the five-four task. Strategies: A = OneForAll, S = ByShape, P = ByPattern, "
        "Sx = ByShapeExc, Px = ByPatternExc, all with η = "
        f"{ETA:g} in every cell. P+Px is Exp4 over these two, P→Px an abrupt switch at a trial "
        "drawn evenly from the middle three fifths. "
        f"{learners} learners per true model; ± is one Monte-Carlo standard error, all in per "
        "cent. θ is the effective rate (the paper's θ divided by √n). Chance is 33% where three "
        "sets compete.\n",
        "## Rates known\n",
        "### Which set? Only the three sets compete; learners of the three\n",
    ]
    rows = [
        [str(n), name, *(share(one.found[n, t, name].right(SET_NAMES, SET_NAMES)) for t in THETAS)]
        for n in TRIALS
        for name in ("likelihood", EARLY, "holdout(split=0.1)", "holdout(split=0.5)")
    ]
    text += [
        table(["trials", "criterion", *thetas], rows),
        "The paper's criterion is the likelihood of the first T_ε trials, and T_ε is of the order "
        "of √n.\n",
        "### One strategy or several? The five strategies and the three sets compete\n",
    ]
    header = ["trials", "criterion", "one strategy", *(f"Exp4, {theta}" for theta in thetas)]
    text += [
        table(header, _compared(one, Found.several)),
        "Right means a single strategy for learners of one, a set (any) for learners of Exp4.\n",
        "### The same with the right model itself\n",
    ]
    header = ["trials", "criterion", "strategy", *(f"set, {theta}" for theta in thetas)]
    text += [table(header, _compared(one, Found.right))]
    for n, theta in ((250, 0.1), (500, 0.03), (500, 0.1), (500, 0.3), (2000, 0.1)):
        text += [
            f"### All ten models compete: {n} trials, θ = {theta:g}, aic\n",
            confusion(one.found[n, theta, "aic"]),
        ]
    text += ["### How well is θ recovered?\n"]
    rows = []
    for n in TRIALS:
        for name in SET_NAMES:
            row = [str(n), name]
            for theta in THETAS:
                own, _ = one.estimates[n, theta, name]
                low, middle, high = np.quantile(own, [0.25, 0.5, 0.75])
                bound = 100 * np.mean((own <= 0) | (own >= 1))
                row.append(f"{middle:.2g} ({low:.2g}–{high:.2g}), {bound:.0f}%")
            rows.append(row)
    text += [
        table(["trials", "set", *thetas], rows),
        "Median estimate, quartiles, and how many lie at a bound (0 or 1).\n",
        "### How well is the trial of a switch recovered?\n",
    ]
    rows = []
    for n in TRIALS:
        for name in SWITCH_NAMES:
            own, true = one.estimates[n, THETAS[0], name]
            low, middle, high = np.quantile(np.abs(own - true), [0.25, 0.5, 0.75])
            rows.append([str(n), name, f"{middle:.0f} ({low:.0f}–{high:.0f})"])
    text += [
        table(["trials", "switch", "error in trials: median (quartiles)"], rows),
        "## Rates unknown\n",
        "Other learners, θ = 0.1, all ten models compete; single strategies have rates from the "
        "same place as the experts. Where rates are estimated, each counts as a parameter (`aic`), "
        "and the hold-out estimates them on the first half. `joint` is of "
        f"{joint} learners per true model.\n",
    ]
    header = [
        "trials", "rates", "criterion", "right model", "of these: strategy", "set", "switch",
        "one or several",
    ]  # fmt: skip
    rows = []
    for n, study in two.items():
        for way, _, _ in Study2.WAYS:
            for name in ("aic", "holdout(split=0.5)"):
                found = study.found[way, name]
                parts = (NAMES, SINGLE_NAMES, SET_NAMES, SWITCH_NAMES)
                rows.append(
                    [str(n), way, name, *(share(found.right(part, NAMES)) for part in parts),
                     share(found.several(NAMES, NAMES))]
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
