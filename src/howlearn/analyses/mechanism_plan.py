"""``plan --mechanisms``: how many people and trials find a mechanism that some or all show?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.completeness import Nowhere
from howlearn.analyses.mechanism_space import Data, Space, data_of
from howlearn.analyses.mechanisms import FEWEST, Work, check_study
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study, trials_of
from howlearn.models.task import Task
from howlearn.results.analysis import Analysis, Listing, Sentence
from howlearn.runs.parts import Progress
from howlearn.simulation.simulate import simulate

PREVALENCES = (0.0, 0.3, 1.0)
FOUND = 0.1  # a share above which the interval must lie
STREAM = 34  # of random numbers
TARGET = 0.8
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


def plan_mechanisms(
    task: Task | str,
    trials: Sequence[int] = (100, 200, 400),
    learners: Sequence[int] = (20, 40),
    simulated: int = 200,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> MechanismPlan:
    """Simulated studies in a task, of people who show each mechanism or not.

    In each study a mechanism is shown by nobody, by 30%, or by everybody, in turn; there are so
    many studies of each design that about ``simulated`` learners take part.
    """
    task = Task.load(task) if isinstance(task, str) else task
    if not len(trials) or not len(learners) or min(learners) < FEWEST:
        raise HowlearnError(f"a plan for mechanisms needs at least {FEWEST} learners")
    cells = [(n, m) for n in learners for m in trials]
    rows, absent = [], {}
    for number, (n, m) in enumerate(cells):
        studies = max(len(PREVALENCES), -(-simulated // n))
        found: dict[tuple[str, float], list[bool]] = {}
        for s in range(studies):
            work, truth, told = _one(task, n, m, s, (seed, number), threads)
            absent = dict(work.absent)
            for j, part in enumerate(work.space.parts):
                found.setdefault((part.name, float(truth[j])), []).append(bool(told[j] > FOUND))
            if progress:
                progress(number * studies + s + 1, len(cells) * studies)
        for (name, share), hits in sorted(found.items()):
            rate, k = float(np.mean(hits)), len(hits)
            error = float(np.sqrt(max(rate * (1 - rate), 0.25 / k) / k))
            rows.append((n, m, name, share, rate, error, k))
    return MechanismPlan(of("mechanism-plan", "plan-mechanisms").of_rows(rows), absent)


def _one(
    task: Task, n: int, trials: int, number: int, seeds: tuple[int, int], threads: int | None
) -> tuple[Work, Floats, Floats]:
    """A simulated study: how common mechanisms are, and lower ends of their intervals."""
    seed = int(np.random.SeedSequence([*seeds, STREAM, number]).generate_state(1)[0])
    shown = simulate(task, "q-learning", {"alpha": 0.3, "beta": 0.0}, n, trials, seed, forgone=True)
    assert shown.forgone is not None
    gains = np.where(np.isnan(shown.forgone), shown.reward[:, None], shown.forgone)
    study = replace(shown, forgone=None)
    check_study(study)
    work = Work.of(study, (), (), (), {}, "delta", None)
    shares = np.array([PREVALENCES[(number + j) % 3] for j in range(len(work.space.parts))])
    made = _played(work, gains[trials_of(study, work.order)], shares, seed)
    work = replace(work, study=made)
    tables = work.tables(seed, threads, Nowhere(), lambda share: None)
    draws = tables.sampled(False, seed % 2**31)
    lower = np.quantile(draws.shares, 0.025, axis=0)
    return work, shares, lower


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
