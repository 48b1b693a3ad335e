"""Whether inference over a population is fair and honest, off the paper's design.

``python -m benchmarks fair`` runs all parts and prints one row per figure with its Monte-Carlo
error; ``python -m benchmarks.fair PART[,PART] [--studies N] [--seed S]`` one of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import howlearn as hl
from benchmarks.confusion import ranges_of
from benchmarks.recovery import made
from benchmarks.report import Row
from benchmarks.tasks import blocks
from howlearn.analyses.compare_groups import Groups
from howlearn.analyses.compare_tests import Differences, by_rates
from howlearn.core.rule import Parameter
from howlearn.core.study import together
from howlearn.models.model import Model
from howlearn.models.names import among, models_of
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import QLearning
from howlearn.selection.learned import Learned

SEED = 52_001
TRIALS = 200
SHARP, BLUNT = "ByFeature1AndFeature2", "OnePerItem"


class Figure(NamedTuple):
    """A figure with its Monte-Carlo error and the bar it should meet."""

    what: str
    value: float
    error: float
    bar: str
    met: bool


def share(hits: Sequence[bool] | NDArray[np.bool_]) -> tuple[float, float]:
    """With its standard error, which is not 0 where all agree."""
    n, p = len(hits), float(np.mean(hits))
    q = (p * n + 1) / (n + 2)
    return p, float(np.sqrt(q * (1 - q) / n))


def at_most(what: str, hits: Sequence[bool] | NDArray[np.bool_], bar: float) -> Figure:
    p, error = share(hits)
    return Figure(f"{what} (n = {len(hits):,})", p, error, f"≤ {bar:g}", p <= bar)


def at_least(what: str, hits: Sequence[bool] | NDArray[np.bool_], bar: float) -> Figure:
    p, error = share(hits)
    return Figure(f"{what} (n = {len(hits):,})", p, error, f"≥ {bar:g}", p >= bar)


class OwnBandit(Model):
    """The Gradient Bandit per context with one rate, as somebody would write it."""

    parameters = (Parameter("eta", 0.0, 1.0, default=0.05),)
    cells = "shared"

    @staticmethod
    def start(world):
        return np.zeros((world.n_cells, world.n_actions))

    @staticmethod
    def log_policy(state, shown, theta, out):
        out[:] = state[shown.cell]
        hl.log_softmax(out)

    @staticmethod
    def update(state, trial, theta):
        out = state[trial.cell].copy()
        hl.log_softmax(out)
        for a in range(len(out)):
            chosen = 1.0 if a == trial.action else 0.0
            state[trial.cell, a] += theta.eta * trial.reward * (chosen - np.exp(out[a]))


# Learners


@dataclass(frozen=True)
class Rates:
    """log η = log(rate) + N(0, τ²) for the learner + N(0, s²) for every cell, at most 1."""

    rate: float = 0.15
    tau: float = 0.3
    s: float = 0.2

    def draw(self, random: np.random.Generator, n: int, cells: int) -> NDArray[np.float64]:
        learner = self.tau * random.standard_normal((n, 1))
        each = self.s * random.standard_normal((n, cells))
        return np.minimum(np.exp(np.log(self.rate) + learner + each), 1.0)


Part = tuple[Model, Callable[[np.random.Generator, int], NDArray[np.float64]], int]


def study_of(task: hl.Task, parts: Sequence[Part], trials: int, seed: int) -> hl.Study:
    """Learners of several models, one model after the other."""
    found = []
    for k, (model, draw, n) in enumerate(parts):
        if n:
            theta = draw(np.random.default_rng((seed, k, 7)), n)
            found.append(hl.simulate(task, model, theta, trials=trials, seed=(seed, k)))
    return together(found)


def partition(model: PartitionModel, n: int, rates: Rates = Rates()) -> Part:
    return model, lambda random, m: rates.draw(random, m, len(model.units)), n


def others(model: Model, ranges: Sequence[tuple[float, float]], n: int) -> Part:
    def draw(random: np.random.Generator, m: int) -> NDArray[np.float64]:
        low, high = np.array(ranges).T
        return random.uniform(low, high, (m, len(ranges)))

    return model, draw, n


def shepard() -> tuple[hl.Task, dict[str, PartitionModel]]:
    task = hl.Task.load("shepard-2")
    return task, {m.name: m for m in task.models if m.name != "ByCategory"}


def learned(study: hl.Study, models: Sequence[Model | str], thorough: bool = False) -> Learned:
    known = models_of(models, among(study))
    found = hl.Population().learn(study, known, thorough=thorough).learned
    assert found is not None
    return found


# Parts


def compared(
    seed: int,
    shares: tuple[float, float],
    sizes: tuple[int, int],
    slower: float = 1.0,
    tau: float = 0.3,
    trials: int = TRIALS,
) -> bool:
    """Whether two groups are declared to use other strategies; the second has its own speed."""
    task, models = shepard()
    random = np.random.default_rng((seed, 3))
    made = []
    for g, (p, n) in enumerate(zip(shares, sizes, strict=True)):
        rates = Rates(0.15 / (slower if g else 1.0), tau if g else 0.3)
        many = int(random.binomial(n, p))
        parts = [partition(models[SHARP], many, rates), partition(models[BLUNT], n - many, rates)]
        made.append(study_of(task, parts, trials if g else TRIALS, 2 * seed + g))
    everybody, code = np.arange(sum(sizes)), np.repeat([0, 1], sizes)
    groups = Groups("group", "group", ("a", "b"), code, everybody, everybody, ())
    unknown = np.empty((sum(sizes), len(models)))
    found = by_rates(together(made), [*models.values()], unknown, groups, seed).shares()
    return bool(Differences.of(found).different.any())


def compare_part(studies: int, seed: int) -> Iterator[Figure]:
    alike, even = (0.45, 0.45), (25, 25)
    sets: dict[str, Callable[[int], bool]] = {
        "same speed": lambda i: compared(i, alike, even),
        "1.2 times slower": lambda i: compared(i, alike, even, slower=1.2),
        "1.5 times slower": lambda i: compared(i, alike, even, slower=1.5),
        "3 times slower": lambda i: compared(i, alike, even, slower=3.0),
        "τ = 0.7 in one group": lambda i: compared(i, alike, even, tau=0.7),
        "40 and 6 of one strategy": lambda i: compared(i, (0.0, 0.0), (40, 6)),
        "one strategy, 40 trials": lambda i: compared(i, (0.0, 0.0), even, trials=40),
    }
    for what, one in sets.items():
        hits = [one(seed + i) for i in range(studies)]
        yield at_most(f"compare, equal shares, {what}: false alarms", hits, 0.07)
    hits = [compared(seed + i, (0.15, 0.85), (40, 40)) for i in range(studies)]
    yield at_least("compare, 15 against 85%, 40 + 40: found", hits, 0.8)
    hits = [compared(seed + i, (0.3, 0.6), even) for i in range(studies)]
    p, error = share(hits)
    what = f"compare, 30 against 60%, 25 + 25: found (n = {len(hits)})"
    yield Figure(what, p, error, "said", True)


def alike(
    what: str, studies: int, made: Callable[[int], hl.Study], models: Sequence[Model]
) -> Iterator[Figure]:
    """How one model is judged that competes with itself, entered in another way."""
    each, apart = [], []
    for i in range(studies):
        found = learned(made(i), models)
        each.append(found.probability[:, 0].mean())
        apart.append((found.log_evidence[:, 0] - found.log_evidence[:, 1]).mean())
    error = float(np.std(each) / np.sqrt(studies))
    mean, gap = float(np.mean(each)), float(np.mean(np.abs(apart)))
    what = f"one model by two doors, {what}: mean P of the first (n = {studies})"
    yield Figure(what, mean, error, ".4 to .6", 0.4 <= mean <= 0.6)
    error = float(np.std(np.abs(apart)) / np.sqrt(studies))
    yield Figure(f"the same: log-evidence apart, per learner (n = {studies})", gap, error,
                 "≤ 0.05", gap <= 0.05)  # fmt: skip


def doors_part(
    studies: int, seed: int, task: hl.Task | None = None, taus: Sequence[float] = (0.15, 0.5, 1.0)
) -> Iterator[Figure]:
    known, models = shepard()
    task = task or known
    grid = PartitionModel("grid", models[BLUNT].partition, rates="shared")
    for tau in taus:
        part = [partition(grid, 40, Rates(0.15, tau, 0.0))]
        what = f"{len(task.actions)} actions, τ = {tau:g}"
        yield from alike(
            what, studies, lambda i, p=part: study_of(task, p, TRIALS, seed + i),
            [grid, OwnBandit()],
        )  # fmt: skip


def twins_part(studies: int, seed: int) -> Iterator[Figure]:
    """Field models beside a copy of which nobody knows that it is one; blocks of new stimuli."""
    task, ranges = blocks(), ranges_of("blocks")
    for name in ("win-stay-lose-shift", "q-forgetting", "rlwm", "wm-habit"):
        model = task.model(name)
        unknown = {"is_like": lambda self, other: False, "contains": lambda self, other, of: ()}
        kind = type(model)
        copy = type(f"Own{kind.__name__}", (kind,), {"__module__": kind.__module__, **unknown})()
        object.__setattr__(copy, "name", "mine")
        what = f"{name}, {len(model.owners(task.actions))} parameters"
        yield from alike(
            what, studies, lambda i, n=name: made(task, n, 20, 300, seed + i, ranges)[0],
            [model, copy],
        )  # fmt: skip


Q_RANGES = ((0.1, 0.6), (2.0, 8.0))


def classes_part(studies: int, seed: int) -> Iterator[Figure]:
    """Q-learners and gradient learners, alone and half and half."""
    task, models = shepard()
    q = QLearning()
    sets = {
        "Q-learners only": [others(q, Q_RANGES, 50)],
        "OnePerItem, rate .15": [partition(models[BLUNT], 50)],
        "Q and OnePerItem .15": [others(q, Q_RANGES, 25), partition(models[BLUNT], 25)],
        "Q and OnePerItem .3": [others(q, Q_RANGES, 25), partition(models[BLUNT], 25, Rates(0.3))],
        "Q and ByFeature1AndFeature2": [others(q, Q_RANGES, 25), partition(models[SHARP], 25)],
    }
    for what, parts in sets.items():
        right: list[list[bool]] = [[], []]
        for i in range(studies):
            study = study_of(task, parts, TRIALS, seed + 17 * i)
            found = learned(study, [*models.values(), q]).probability.argmax(axis=1)
            start = 0
            for model, _, n in parts:
                mine = (found[start : start + n] == len(models)).tolist()
                is_q = model is q
                right[is_q] += mine if is_q else [not each for each in mine]
                start += n
        mixed = len(parts) > 1
        if right[1]:
            yield at_least(f"{what}: Q-learners found", right[1], 0.8 if mixed else 0.95)
        if right[0]:
            yield at_least(f"{what}: gradient learners given the right class", right[0], 0.95)


def speeds_part(studies: int, seed: int) -> Iterator[Figure]:
    """Five-four, one strategy faster or slower than the others."""
    task = hl.Task.load("five-four")
    stated, true_of = [], []
    for what, name, factor in (
        ("the same speed", "OnePerItem", 1.0), ("OnePerItem ×2", "OnePerItem", 2.0),
        ("OnePerItem ×3.5", "OnePerItem", 3.5), ("OnePerItem ×⅓", "OnePerItem", 1 / 3),
    ):  # fmt: skip
        wrong, sure = [], []
        for i in range(studies):
            parts = [
                partition(m, 40, Rates(0.03 * (factor if m.name == name else 1.0), 0.1, 0.1))
                for m in task.models
            ]
            study = study_of(task, parts, 500, seed + 31 * i)
            found = learned(study, task.models)
            true = np.repeat(np.arange(len(task.models)), 40)
            best = found.probability.argmax(axis=1)
            top = found.probability.max(axis=1)
            wrong += (best != true).tolist()
            sure += ((best != true) & (top > 0.95)).tolist()
            stated += top.tolist()
            true_of += (best == true).tolist()
        if factor == 1.0:
            yield at_most(f"five-four, {what}: mismatch", wrong, 0.02)
        yield at_most(f"five-four, {what}: confident errors", sure, 0.01)
    yield from reliability(np.array(stated), np.array(true_of))


def reliability(stated: NDArray[np.float64], true: NDArray[np.bool_]) -> Iterator[Figure]:
    edges = (0.0, 0.7, 0.88, 0.95, 0.99, 1.0001)
    for low, high in pairwise(edges):
        mine = (stated >= low) & (stated < high)
        if mine.sum() < 20:
            continue
        p, error = share(true[mine])
        said = float(stated[mine].mean())
        met = p >= said - 0.04
        what = f"stated {said:.3f}: true (n = {int(mine.sum()):,})"
        yield Figure(what, p, error, f"≥ {said - 0.04:.3f}", met)


def coverage_part(studies: int, seed: int) -> Iterator[Figure]:
    """Shares from a flat Dirichlet distribution over two strategies; do intervals hold them?"""
    task, models = shepard()
    inside: dict[str, list[bool]] = {"of the population": [], "of these learners": []}
    for i in range(studies):
        random = np.random.default_rng((seed, i, 5))
        n, p = (20, 40, 60)[i % 3], float(random.uniform())
        many = int(random.binomial(n, p))
        parts = [partition(models[SHARP], many), partition(models[BLUNT], n - many)]
        found = learned(study_of(task, parts, 300, seed + i), [*models.values()])
        k = [*models].index(SHARP)
        for what, value in zip(inside, (p, many / n), strict=True):
            inside[what].append(bool(found.lower[0, k] <= value <= found.upper[0, k]))
    for what, hits in inside.items():
        yield at_least(f"coverage of the 95% interval of a share {what}", hits, 0.93)


def bound_part(studies: int, seed: int) -> Iterator[Figure]:
    """Answers that depend on the largest rate, and right ones that do not."""
    task, models = shepard()
    flipped, withheld, right = [], [], []
    for i in range(studies):
        study = study_of(task, [others(QLearning(), ((0.3, 0.6), (6.0, 10.0)), 40)], TRIALS,
                         seed + i)  # fmt: skip
        narrow = learned(study, [*models.values()], thorough=True)
        wide = learned(study, [m.with_max_rate(5.0) for m in models.values()])
        best = narrow.probability.argmax(axis=1)
        clear = narrow.probability.max(axis=1) > 0.95
        again = np.take_along_axis(wide.probability, best[:, None], axis=1)[:, 0]
        flip = clear & (again < 0.5)
        flipped += flip[flip].tolist()
        withheld += (narrow.depends[flip] > 0).tolist()
        parts = [partition(models[SHARP], 20), partition(models[BLUNT], 20)]
        truth = learned(study_of(task, parts, TRIALS, seed + i), [*models.values()], thorough=True)
        true = np.repeat([[*models].index(SHARP), [*models].index(BLUNT)], 20)
        found = (truth.probability.argmax(axis=1) == true) & (truth.probability.max(axis=1) > 0.95)
        right += (truth.depends[found] > 0).tolist()
    if withheld:
        yield at_least("answers that the bound ×5 turns: withheld", withheld, 0.95)
    yield at_most("right and clear answers: withheld", right, 0.03)


def with_four_actions(task: hl.Task) -> hl.Task:
    """The same contexts and right answers, beside which there are three wrong ones."""
    wrong = {c: min(of.values(), key=lambda one: one.reward) for c, of in task.rewards.items()}
    more = {c: {**of, "C": wrong[c], "D": wrong[c]} for c, of in task.rewards.items()}
    return replace(task, actions=(*task.actions, "C", "D"), rewards=more)


FIELD = {
    "q-learning": dict(zip(("alpha", "beta"), Q_RANGES, strict=True)),
    "win-stay-lose-shift": {"win_stay": (0.8, 0.98), "lose_shift": (0.4, 0.9)},
    "q-forgetting": {"alpha": (0.2, 0.6), "phi": (0.05, 0.3), "beta": (4.0, 8.0)},
    "q-forgetting+stickiness": {
        "alpha": (0.2, 0.6), "phi": (0.05, 0.3), "beta": (4.0, 8.0), "stickiness": (0.5, 1.5),
    },
}  # fmt: skip


LISTED = ("q-learning", "win-stay-lose-shift", "q-forgetting+stickiness")


def fields_part(studies: int, seed: int) -> Iterator[Figure]:
    """Field models with two to four parameters, among each other and partitions."""
    plain, models = shepard()
    four = with_four_actions(plain)
    sets = [(plain, name, [name]) for name in FIELD] + [(four, "q-learning", ["q-learning"])]
    sets += [(task, "q-learning", ["q-forgetting"]) for task in (plain, four)]  # which holds it
    for task, name, more in sets:
        what = f"{name}, {len(task.actions)} actions"
        right, sure, worth = [], [], []
        known = models_of([name], among(study_of(task, [partition(models[BLUNT], 1)], 9, seed)))
        ranges = [FIELD[name][parameter.name] for _, parameter in known[0].owners(task.actions)]
        for i in range(studies):
            study = study_of(task, [others(known[0], ranges, 40)], TRIALS, seed + i)
            found = learned(study, [*models.values(), *dict.fromkeys([*LISTED, *more])])
            k = [each.name for each in found.models].index(known[0].name)
            right.extend(found.probability.argmax(axis=1) == k)
            sure.extend((found.probability.max(axis=1) > 0.95) & ~np.array(right[-40:]))
            worth.append(found.effective[k, 0])
        if name not in more:
            yield at_most(f"{what}, beside {more[0]}: confident errors", sure, 0.01)
            continue
        yield at_least(f"{what}: found", right, 0.8)
        yield at_most(f"{what}: confident errors", sure, 0.01)
        value = float(np.mean(worth))
        yield Figure(f"{what}: points its cloud is worth (of 224)", value, float(np.std(worth)),
                     "≥ 10", value >= 10)  # fmt: skip
    yield from doors_part(studies, seed, four, (0.5,))


def time_part(studies: int, seed: int) -> Iterator[Figure]:
    """The population step with its repeats; many learners are those of 3,000 again and again."""
    task = hl.Task.load("five-four")
    parts = [partition(m, 500, Rates(0.05, 0.3, 0.2)) for m in task.models]
    every = study_of(task, parts, 500, seed)
    learned(every.take(np.arange(0, 3_000, 250)), task.models, thorough=True)  # compiled
    for n, bar in ((60, 1.0), (3_000, 40.0), (100_000, np.inf)):
        study = every.take(np.arange(0, 3_000, 50) if n == 60 else np.arange(n) % 3_000)
        start = process_time()
        learned(study, task.models, thorough=True)
        took = process_time() - start
        memory = getrusage(RUSAGE_SELF).ru_maxrss / 2**20
        what = f"processor seconds, {n:,} × 500 × 6 (at most {memory:.2f} GiB so far)"
        yield Figure(what, took, 0.0, f"≤ {bar:g} s" if bar < np.inf else "said", took <= bar)


PARTS: dict[str, tuple[Callable[[int, int], Iterator[Figure]], int]] = {
    "compare": (compare_part, 150),
    "doors": (doors_part, 12),
    "twins": (twins_part, 12),
    "classes": (classes_part, 30),
    "speeds": (speeds_part, 4),
    "coverage": (coverage_part, 252),
    "bound": (bound_part, 8),
    "fields": (fields_part, 6),
    "time": (time_part, 1),
}


def run(quick: bool) -> list[Row]:
    """All parts."""
    rows = []
    for name, (part, studies) in PARTS.items():
        for figure in part(2 if quick else studies, SEED):
            value = f"{figure.value:.3f} ± {figure.error:.3f}"
            rows.append(Row(f"{name}: {figure.what}", value, figure.bar, "", figure.met))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fair")
    parser.add_argument("parts", help=", ".join(PARTS))
    parser.add_argument("--studies", type=int, default=0)
    parser.add_argument("--seed", type=int, default=SEED)
    chosen = parser.parse_args()
    for name in chosen.parts.split(","):
        part, studies = PARTS[name]
        start = process_time()
        for figure in part(chosen.studies or studies, chosen.seed):
            met = "" if figure.met else " **missed**"
            value = f"{figure.value:.3f} ± {figure.error:.3f}"
            print(f"| {figure.what} | {value} | {figure.bar}{met} |",
                  flush=True)  # fmt: skip
        print(f"{name}: {process_time() - start:.0f} s of processor time, seed {chosen.seed}")


if __name__ == "__main__":
    main()
