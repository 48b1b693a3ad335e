"""``plan --mechanisms``: how many people and trials find a mechanism that some or all show?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.completeness import Nowhere, Store
from howlearn.analyses.mechanism_space import Data, Space, data_of
from howlearn.analyses.mechanism_tables import FOUND
from howlearn.analyses.mechanisms import FEWEST, Work, check_study
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, trials_of
from howlearn.core.text import Listing, Sentence
from howlearn.models.task import Task
from howlearn.results.analysis import Analysis
from howlearn.runs.parts import Progress
from howlearn.simulation.simulate import simulate

PREVALENCES = (0.0, 0.3, 1.0)
STREAM = 34  # of random numbers
TARGET = 0.8
TRIALS, LEARNERS = (100, 200, 400), (20, 40)  # that are tried, unless others are named
MOST_NUMBERS = 4  # of trials, and of learners, that are tried unless they are named one by one


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class MechanismPlan(Analysis):
    """How often mechanisms would be found, by numbers of learners and trials."""

    command = "plan-mechanisms"
    ATTRIBUTES = {"mechanism-plan": "found"}  # noqa: RUF012
    FILES = ("plan.txt",)

    found: pl.DataFrame
    absent: Mapping[str, str]

    def __repr__(self) -> str:
        return f"MechanismPlan: {' '.join(self.sentences)}"

    def summary(self) -> Iterator[Listing | Sentence]:
        keys = ("learners", "trials", "mechanism")
        rows = []
        for (learners, trials, name), mine in self.found.group_by(*keys, maintain_order=True):
            by = {row["prevalence"]: row for row in mine.iter_rows(named=True)}
            cells = [_cell(by.get(p)) for p in PREVALENCES]
            rows.append((f"{learners:,}", f"{trials:,}", str(name), *cells))
        heads = ("learners", "trials", "mechanism", "nobody (false alarms)", "30%", "everybody")
        yield Listing("How often a mechanism would be found", heads, rows)
        for prevalence, words in ((1.0, "everybody shows"), (0.3, "30% of people show")):
            mine = self.found.filter(pl.col("prevalence") == prevalence)
            good = [
                (learners, trials)
                for (learners, trials), each in mine.group_by("learners", "trials")
                if (each["found"] >= TARGET).all()
            ]
            if good:
                learners, trials = min(good, key=lambda pair: pair[0] * pair[1])
                said = f"{learners:,} learners with {trials:,} trials"
                yield Sentence(
                    f"Every mechanism that {words} was found in 80% or more with {said}."
                )
            else:
                low = sorted({n for n, f in mine.select("mechanism", "found").rows() if f < TARGET})
                yield Sentence(
                    f"With none of these numbers every mechanism that {words} is found in 80% of "
                    f"studies; least often: {', '.join(low)}."
                )
        for name, why in self.absent.items():
            yield Sentence(f"Not looked for: {name} ({why}).")

    def texts(self) -> Mapping[str, str]:
        return {"plan.txt": "\n".join(self.sentences) + "\n"}


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    return f"{row['found']:z.0%} ± {row['standard_error']:z.0%} ({row['studies']})"


def some_of(numbers: Sequence[int]) -> tuple[int, ...]:
    """A few of many numbers, the ends among them.

    >>> some_of([20, 30, 40, 60, 90, 140, 200])
    (20, 40, 90, 200)
    """
    if len(numbers) <= MOST_NUMBERS:
        return tuple(numbers)
    at = np.linspace(0, len(numbers) - 1, MOST_NUMBERS).round().astype(int)
    return tuple(numbers[i] for i in at)


def check_people(learners: Sequence[int]) -> None:
    """Refuse numbers of learners that mechanisms cannot be seen in."""
    if min(learners, default=0) < FEWEST:
        raise HowlearnError(f"a plan for mechanisms needs at least {FEWEST} learners")


def plan_mechanisms(
    task: Task | str,
    trials: Sequence[int] = TRIALS,
    learners: Sequence[int] = LEARNERS,
    simulated: int = 200,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
) -> MechanismPlan:
    """Simulated studies in a task, of people who show each mechanism or not.

    In each study a mechanism is shown by nobody, by 30%, or by everybody, in turn; there are so
    many studies of each design that about ``simulated`` learners take part.
    """
    task = Task.load(task) if isinstance(task, str) else task
    check_people(learners)
    store = store or Nowhere()
    cells = [(n, m) for n in learners for m in trials]
    studies = [max(len(PREVALENCES), -(-simulated // n)) for n, _ in cells]
    rows, absent, done = [], _absent(task, min(learners), min(trials), seed), 0
    for number, (n, m) in enumerate(cells):
        each = []
        for s in range(studies[number]):
            name = f"study-{n}-{m}-{s}"
            known = store.known(name)
            if known is None:
                known = _one(task, n, m, s, (seed, number), threads)
                store.remember(name, known)
            each.append(known)
            done += 1
            if progress:
                progress(done, sum(studies))
        found = pl.concat(each).group_by("mechanism", "prevalence").agg("found")
        for name, share, hits in found.sort("mechanism", "prevalence").iter_rows():
            rate, k = float(np.mean(hits)), len(hits)
            error = float(np.sqrt(max(rate * (1 - rate), 0.25 / k) / k))
            rows.append((n, m, name, share, rate, error, k))
    return MechanismPlan(of("mechanism-plan", "plan-mechanisms").of_rows(rows), absent)


def _shown(task: Task, n: int, trials: int, seed: int) -> tuple[Work, Floats]:
    """What people are shown in a task, and what every action would earn."""
    shown = simulate(task, "q-learning", {"alpha": 0.3, "beta": 0.0}, n, trials, seed, forgone=True)
    assert shown.forgone is not None
    gains = np.where(np.isnan(shown.forgone), shown.reward[:, None], shown.forgone)
    study = replace(shown, forgone=None)
    check_study(study)
    work = Work.of(study, (), (), (), {}, "delta", None)
    return work, gains[trials_of(study, work.order)]


def _absent(task: Task, n: int, trials: int, seed: int) -> dict[str, str]:
    return dict(_shown(task, n, trials, seed)[0].absent)


def _one(
    task: Task, n: int, trials: int, number: int, seeds: tuple[int, int], threads: int | None
) -> pl.DataFrame:
    """A simulated study: how common mechanisms are, and whether they were found."""
    seed = int(np.random.SeedSequence([*seeds, STREAM, number]).generate_state(1)[0])
    work, gains = _shown(task, n, trials, seed)
    shares = np.array([PREVALENCES[(number + j) % 3] for j in range(len(work.space.parts))])
    made = _played(work, gains, shares, seed)
    work = replace(work, study=made)
    tables = work.tables(seed, threads, Nowhere(), lambda share: None)
    draws = tables.sampled(False, seed % 2**31)
    lower = np.quantile(draws.shares, 0.025, axis=0)
    names = [part.name for part in work.space.parts]
    return pl.DataFrame({"mechanism": names, "prevalence": shares, "found": lower > FOUND})


def _played(work: Work, gains: Floats, shares: Floats, seed: int) -> Study:
    """People who show mechanisms of usual sizes, on what they were shown."""
    space, study, random = work.space, work.study, np.random.default_rng([seed, 1])
    data: Data = data_of(study)
    low, high = float(np.nanmin(gains)), float(np.nanmax(gains))
    x, model = _people(space, len(study), shares, random)
    context, action, reward, *rest = data.arrays
    arrays = (context, action.copy(), reward.copy(), *rest)
    scaled = np.ascontiguousarray((gains - low) / (high - low) - 0.5)
    told = (data.starts, arrays, data.world, space.own(study), random.random(len(gains)), scaled)
    space.kernel().play(x, model, space.on_coordinates, space.models[0], space.coded, *told)
    back = (arrays[2] + 0.5) * (high - low) + low
    return replace(study, action=arrays[1].astype(np.int16), reward=back)


def _people(
    space: Space, n: int, shares: Floats, random: np.random.Generator
) -> tuple[Floats, Ints]:
    """Coordinates and models of people; sizes scatter around what is usual."""
    prior, kinds = space.prior, space.kinds
    y = prior[:, 0] + 0.7 * prior[:, 3] * random.standard_normal((n, len(prior)))
    x = np.zeros((n, int(space.first[-1])))
    for g in range(len(prior)):
        mine = slice(space.first[g], space.first[g + 1])
        if kinds[g] < 2:
            x[:, mine.start] = y[:, g]
            continue
        way = random.standard_normal((n, mine.stop - mine.start))
        if kinds[g] == 2:
            way = np.where(random.random((n, 1)) < 0.8, 1.0, -1.0)
        x[:, mine] = np.exp(y[:, g, None]) * way / np.linalg.norm(way, axis=1, keepdims=True)
    shows = random.random((n, len(shares))) < shares
    of_models = space.models[1][:, : len(shares)] == 1
    return x, np.array([int((of_models == row).all(axis=1).argmax()) for row in shows])
