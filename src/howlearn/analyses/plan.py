"""``plan``: before the experiment, how many trials and learners would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from howlearn.analyses.contests import NO_BLOCKS, Contest, Contests, left_out
from howlearn.analyses.designs import ENOUGH, TaskDesign, by_model_name
from howlearn.analyses.error_rates import curve, selected_counts, standard_error
from howlearn.core.arrays import Floats
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.text import Listing, Sentence
from howlearn.fitting.fits import ALL
from howlearn.models.model import Model
from howlearn.models.names import models_of
from howlearn.models.task import Task
from howlearn.models.values import Parameters
from howlearn.results.analysis import MOST_ROWS, Analysis
from howlearn.runs.cluster import engine_of
from howlearn.runs.parts import Memory, Progress, Store, Threads
from howlearn.selection.criteria import DEFAULT
from howlearn.selection.criterion import Criterion
from howlearn.selection.select import check_criteria, winners

if TYPE_CHECKING:
    from distributed import Client

TARGET = 0.8  # of the learners of every model should be given that model
CONFUSED = 0.25  # two models with a larger error in a contest of these two are confused
USELESS = 0.5  # an interval of ±½ says nothing about a share
Z95 = 1.96


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Analysis):
    """How often each model would be recovered, by number of trials, and what follows from it."""

    command = "plan"
    ATTRIBUTES: ClassVar[Mapping[str, str]] = {"plan": "recovered"}
    CHARTS = ("plan", "shares")
    FILES = ("plan.txt",)

    trials: tuple[int, ...]
    learners: tuple[int, ...]
    criteria: tuple[Criterion, ...]
    contests: tuple[Contest, ...]  # one per number of trials
    target: float = TARGET

    def __repr__(self) -> str:
        return (
            f"Plan for {self.trials[0]:,} to {self.trials[-1]:,} trials: see .recovered, .pairs, "
            ".shares, .sentences"
        )

    @property
    def models(self) -> tuple[str, ...]:
        return self.contests[0].models

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know besides."""
        lost = sum(contest.n_lost for contest in self.contests)
        return left_out(lost, sum(map(len, self.contests)))

    @cached_property
    def recovered(self) -> pl.DataFrame:
        """One row per number of trials, criterion and true model."""
        rows = []
        for n, contest in zip(self.trials, self.contests, strict=True):
            for criterion in self.criteria:
                wrong = curve(contest, [criterion])
                right, error = 1 - wrong.error[:, 0], wrong.standard_error[:, 0]
                each = zip(contest.truths, right.tolist(), error.tolist(), strict=True)
                rows += [(n, repr(criterion), *row) for row in each]
        return of("plan", "plan").of_rows(rows)

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """How often two models are confused when only these two compete; ½ is tossing a coin."""
        rows = []
        for n, contest in zip(self.trials, self.contests, strict=True):
            for criterion in self.criteria:
                score = criterion.scores(contest).score
                for a, b in combinations(range(len(contest.models)), 2):
                    error = _pair_error(contest, score, (a, b))
                    rows.append((n, repr(criterion), contest.models[a], contest.models[b], *error))
        return of("pairs", "plan").of_rows(rows)

    @cached_property
    def shares(self) -> pl.DataFrame:
        """95% intervals of the models' shares in a population where all are equally common.

        ``expected`` is the share that would be selected, ``half_width`` that of its interval;
        ``corrected_half_width`` is for shares from which the known confusion is removed: wide where
        models are confused, empty where they cannot be separated at all.
        """
        frames = []
        for n, contest in zip(self.trials, self.contests, strict=True):
            for criterion in self.criteria:
                counts = selected_counts(contest, criterion)
                selected = counts / counts.sum(axis=1, keepdims=True)
                for learners in self.learners:
                    frames.append(_intervals(selected, contest.models, n, learners, criterion))
        return pl.concat(frames)

    def enough(self, criterion: Criterion) -> int | None:
        """The smallest number of trials from which on every model is recovered often enough."""
        worst = self._worst(criterion)
        good = [n for n, share in zip(self.trials, worst, strict=True) if share >= self.target]
        bad = [n for n, share in zip(self.trials, worst, strict=True) if share < self.target]
        later = [n for n in good if not bad or n > max(bad)]
        return min(later) if later else None

    def _worst(self, criterion: Criterion) -> list[float]:
        mine = self.recovered.filter(criterion=repr(criterion))
        by_trials = mine.group_by("trials", maintain_order=True)
        return by_trials.agg(pl.col("recovered").min())["recovered"].to_list()

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Recovery by number of trials, and the intervals of the shares by number of learners."""
        keys = ("trials", "learners", "criterion")
        widths = []
        for column, words in (("half_width", ""), ("corrected_half_width", ", confusion removed")):
            # One share that cannot be known makes the widest interval unknown.
            known = pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).max())
            widest = self.shares.group_by(keys, maintain_order=True).agg(known.alias("half_width"))
            widths.append(widest.with_columns(pl.col("criterion") + words))
        shown = pl.concat(widths).filter(pl.col("half_width") <= 1)
        return {"plan": self.recovered, "shares": shown}

    def summary(self) -> Iterator[Listing | Sentence]:
        """How often each model is recovered, and what follows from it."""
        first, *others = self.criteria
        mine = self.recovered.filter(criterion=repr(first))
        rows = []
        for truth in self.models[:MOST_ROWS]:
            shares = mine.filter(true_model=truth)["recovered"]
            rows.append((truth, *(f"{share:z.0%}" for share in shares)))
        title = f"Learners whose model is recovered by {first!r}, by number of trials"
        yield Listing(title, ("true model", *(f"{n:,}" for n in self.trials)), rows)
        yield from map(Sentence, self._sentences(first))
        for criterion in others:
            enough = self.enough(criterion)
            told = f"{enough:,} trials are enough" if enough else "no number of trials is enough"
            yield Sentence(f"{criterion!r}: {told} (plan.txt).")

    @property
    def sentences(self) -> list[Sentence]:
        """The answers in words, by every criterion."""
        return [Sentence(text) for each in self.criteria for text in self._sentences(each)]

    def texts(self) -> Mapping[str, str]:
        """The answers, for those who have only the folder."""
        return {"plan.txt": "\n".join(self.sentences) + "\n"}

    def _sentences(self, criterion: Criterion) -> list[str]:
        mine = self.recovered.filter(criterion=repr(criterion))
        last = mine.filter(trials=self.trials[-1]).sort("recovered", maintain_order=True)
        worst = last.row(0, named=True)
        enough = self.enough(criterion)
        found = []
        if enough:
            at = mine.filter(trials=enough).sort("recovered", maintain_order=True)
            least = at.row(0, named=True)
            found.append(
                f"{criterion!r}: {enough:,} trials are enough: with these or more, every model is "
                f"recovered for at least {self.target:z.0%} of its learners (with {enough:,} "
                f"trials least often {least['true_model']}, {least['recovered']:z.0%} ± "
                f"{least['standard_error']:z.0%})."
            )
        else:
            found.append(
                f"{criterion!r}: no number of trials up to {self.trials[-1]:,} is enough: "
                f"{worst['true_model']} is recovered for {worst['recovered']:z.0%} ± "
                f"{worst['standard_error']:z.0%} of its learners with {self.trials[-1]:,} trials; "
                f"the target is {self.target:z.0%}."
            )
        return found + self._confused(criterion) + self._width(criterion)

    def _confused(self, criterion: Criterion) -> list[str]:
        """Which two models cannot be told apart, and up to how many trials."""
        if len(self.models) < 2:
            return []
        pairs = self.pairs.filter(pl.col("criterion") == repr(criterion))
        confused = pairs.filter(pl.col("error") >= CONFUSED)
        found = []
        for (a, b), rows in confused.group_by("model", "other_model", maintain_order=True):
            longest = rows["trials"].max()
            error = rows.filter(trials=longest).row(0, named=True)["error"]
            text = f"{a} and {b} (up to {longest:,} trials, error {error:z.0%})"
            found.append((longest, error, text))
        if not found:
            return [f"{criterion!r}: no two models are confused, with any number of trials tried."]
        found.sort(key=lambda pair: (-pair[0], -pair[1]))
        more = f", and {len(found) - 2} more" if len(found) > 2 else ""
        texts = "; ".join(text for *_, text in found[:2])
        return [f"{criterion!r}: models that are confused: {texts}{more}."]

    def _width(self, criterion: Criterion) -> list[str]:
        """How wide the intervals of the shares would be with all of the trials."""
        mine = self.shares.filter(criterion=repr(criterion), trials=self.trials[-1])
        few, many = self.learners[0], self.learners[-1]
        texts = []
        for n in dict.fromkeys((few, many)):
            rows = mine.filter(learners=n)
            corrected = rows["corrected_half_width"]
            known = [width for width in corrected if width is not None and width < USELESS]
            after = (
                f"±{max(known):z.0%} once confusion is accounted for"
                if len(known) == len(corrected)
                else "not at all once confusion is accounted for"
            )
            texts.append(f"with {n:,} learners ±{rows['half_width'].max():z.0%} ({after})")
        return [
            f"{criterion!r}: the share of a model would be known, at {self.trials[-1]:,} trials, "
            f"{', '.join(texts)}."
        ]


def plan(
    task: Task | str,
    models: Sequence[Model | str] | None = None,
    parameters: Parameters | Mapping[str, Parameters] | None = None,
    trials: Sequence[int] | int = (60, 120, 240, 480),
    learners: Sequence[int] | int = (20, 50, 100, 200),
    criteria: Sequence[Criterion | str] = DEFAULT,
    simulated: int = ENOUGH,
    target: float = TARGET,
    seed: int = 0,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    client: Client | None = None,
) -> Plan:
    """Before the experiment: how often would each model be recovered, with how many trials?

    ``simulated`` learners per model are simulated for each number of ``trials``; ``learners`` are
    those of the planned experiment. Parameters and ``client`` are given as in ``calibrate``.

    >>> import howlearn as hl
    >>> found = hl.plan("shepard-1", parameters={"eta": 0.2}, trials=[40, 80], simulated=20)
    >>> found.recovered.columns
    ['trials', 'criterion', 'true_model', 'recovered', 'standard_error']
    """
    task = Task.load(task) if isinstance(task, str) else task
    chosen = models_of(models or task.models, task.model)
    design = TaskDesign(task, chosen, by_model_name(parameters or {}), simulated, None, seed)
    trials, learners = ([n] if isinstance(n, int) else n for n in (trials, learners))
    store = Memory(engine_of(client, threads))
    return plan_design(design, chosen, trials, learners, criteria, target, store, threads, progress)


def plan_design(
    design: TaskDesign,
    models: Sequence[Model],
    trials: Sequence[int],
    learners: Sequence[int],
    criteria: Sequence[Criterion | str],
    target: float = TARGET,
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Simulate a design with every number of trials, and count how often models are recovered.

    ``design.learners`` are simulated per model; ``learners`` are those of the planned experiment.
    """
    chosen = check_plan(design, trials, learners, criteria, target)
    numbers = tuple(sorted({*map(int, trials)}))
    people = tuple(sorted({*map(int, learners)}))
    store = store if store is not None else Memory(Threads(threads))
    splits = sorted({t for c in chosen for t in shares_of(c) if t != ALL})
    each = [
        Contests(replace(design, trials=n), models, splits, (0,), label=str(n)) for n in numbers
    ]
    store.complete([part for contests in each for part in contests.parts], progress)
    found = [contests.found(store)[0][0] for contests in each]
    return Plan(numbers, people, chosen, tuple(found), target)


def check_plan(
    design: TaskDesign,
    trials: Sequence[int],
    learners: Sequence[int],
    criteria: Sequence[Criterion | str],
    target: float,
) -> tuple[Criterion, ...]:
    """The criteria; refuses what cannot be, before any work is done or any folder made."""
    chosen = check_criteria(criteria)
    if any(len(c.truncations) > 1 for c in chosen):
        raise HowlearnError(NO_BLOCKS)
    for criterion in chosen:
        if criterion.gives_probabilities:
            raise HowlearnError(
                f"a plan keeps likelihoods, not the trials that {criterion!r} needs; howlearn "
                "recover judges it for one number of trials"
            )
        shares_of(criterion)
    if not 0 < target < 1:
        raise HowlearnError(f"the target must be a share between 0 and 1, got {target:g}")
    if not len(trials) or min(trials) < 2:
        raise HowlearnError("a plan needs numbers of trials of at least 2")
    if not len(learners) or min(learners) < 1:
        raise HowlearnError("a plan needs numbers of learners of at least 1")
    if design.learners < 1:
        raise HowlearnError("a plan needs at least one simulated learner of every model")
    return chosen


def shares_of(criterion: Criterion) -> list[float]:
    """The shares of trials that a criterion is fitted on; refuses what is not a share."""
    shares = [t for t in criterion.truncations if isinstance(t, float)]
    if len(shares) < len(criterion.truncations):
        raise HowlearnError(
            f"a plan does not keep the fits that "
            f"{criterion!r} needs; howlearn recover judges it for one number of trials"
        )
    return shares


def _pair_error(contest: Contest, score: Floats, pair: tuple[int, int]) -> tuple[float, float]:
    """The mean error over both models, when only these two compete."""
    errors, variances = [], []
    for own, other in (pair, pair[::-1]):
        mine = contest.own == own
        if not mine.any():
            continue
        columns = [min(pair), max(pair)]
        best = winners(score[mine][:, columns], contest.n_parameters[mine][:, columns])
        wrong = int(np.sum(best == columns.index(other)))
        n = int(mine.sum())
        errors.append(wrong / n)
        variances.append(float(standard_error(np.array(wrong), n)) ** 2)
    if not errors:
        return np.nan, np.nan
    return float(np.mean(errors)), float(np.sqrt(np.sum(variances)) / len(errors))


def _intervals(
    selected: Floats, models: Sequence[str], trials: int, learners: int, criterion: Criterion
) -> pl.DataFrame:
    share = np.full(len(selected), 1 / len(selected))
    expected = share @ selected
    covariance = (np.diag(expected) - np.outer(expected, expected)) / learners
    corrected = np.full(len(models), np.nan)
    if selected.shape[0] == selected.shape[1] and np.linalg.cond(selected) < 1e6:
        back = np.linalg.inv(selected)
        corrected = Z95 * np.sqrt(np.maximum(np.diag(back.T @ covariance @ back), 0.0))
    return pl.DataFrame(
        {
            "trials": trials,
            "learners": learners,
            "criterion": repr(criterion),
            "model": list(models),
            "true_share": 1 / len(selected),
            "expected": expected,
            "half_width": Z95 * np.sqrt(np.diag(covariance)),
            "corrected_half_width": corrected,
        }
    ).with_columns(pl.col("corrected_half_width").fill_nan(None))
