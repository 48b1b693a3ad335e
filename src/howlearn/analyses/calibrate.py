"""``calibrate``: the paper's procedure for any design, what it recommends, and its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from howlearn.analyses.contests import (
    CALIBRATION,
    FRESH,
    SPLITS,
    Contest,
    Contests,
    check_splits,
    left_out,
    recovery,
)
from howlearn.analyses.designs import ENOUGH, Design, LikeDesign, TaskDesign, by_model_name
from howlearn.analyses.error_rates import (
    GOALS,
    RECOMMENDATION,
    ErrorCurve,
    Goal,
    confusion_table,
    curve,
    kappa_of,
    spans,
)
from howlearn.analyses.slope_heuristic import slope_of
from howlearn.core.arrays import Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, listed
from howlearn.models.model import Model
from howlearn.models.names import among, models_of
from howlearn.models.partition_model import candidates
from howlearn.models.task import Task
from howlearn.models.values import Parameters
from howlearn.results.analysis import Analysis
from howlearn.runs.cluster import engine_of
from howlearn.runs.files import write_json
from howlearn.runs.folder import Format
from howlearn.runs.parts import Memory, Progress, Store, Threads
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized
from howlearn.selection.criterion import Criterion

if TYPE_CHECKING:
    from distributed import Client


# What a calibration found: tables, and the constants to use.

GOAL_WORDS = {"maximum": "smallest largest error", "average": "smallest mean error"}
SMALLEST, LARGEST, STEPS = 0.02, 12.0, 60  # nats per parameter: from hardly a penalty to twice BIC


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Analysis):
    """Errors by constant, the constants with the smallest errors, and what they do to others.

    ``contest`` is of the learners who chose the constants, ``fresh`` of those who test them.
    """

    command = "calibrate"
    CHARTS = (
        "errors-penalized",
        "errors-holdout",
        "confusion-penalized",
        "confusion-holdout",
        "recovery",
    )
    FILES = (RECOMMENDATION,)

    contest: Contest
    fresh: Contest
    estimates: pl.DataFrame
    constants: tuple[float, ...]
    goal: Goal = "maximum"
    slope: pl.DataFrame = field(default_factory=pl.DataFrame)
    about: Mapping[str, Any] = field(default_factory=dict)  # the candidates and the design

    def __repr__(self) -> str:
        chosen = " and ".join(repr(criterion) for criterion in self.criteria)
        return (
            f"Calibration on {len(self.contest):,} simulated learners: {chosen}; see .errors, "
            ".settings, .confusion, .recovery, .recommendation"
        )

    @cached_property
    def curves(self) -> tuple[ErrorCurve, ...]:
        """By penalty and by split, then AIC and BIC, which have no setting."""
        return (
            curve(self.contest, [Penalized(c) for c in self.constants]),
            *(
                [curve(self.contest, [HoldOut(split) for split in self.contest.splits])]
                if self.contest.splits
                else []
            ),
            curve(self.contest, [AIC()]),
            curve(self.contest, [BIC()]),
        )

    @property
    def tuned(self) -> tuple[ErrorCurve, ...]:
        """The curves with a constant to choose, if only among one."""
        return tuple(curve for curve in self.curves if not np.isnan(curve.settings).any())

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria with their chosen constants."""
        return tuple(curve.criteria[curve.best(self.goal)] for curve in self.tuned)

    @cached_property
    def errors(self) -> pl.DataFrame:
        """One row per criterion, setting and true model."""
        return pl.concat([curve.frame() for curve in self.curves])

    @cached_property
    def settings(self) -> pl.DataFrame:
        """One row per criterion and setting."""
        return pl.concat([curve.settings_frame() for curve in self.curves])

    @cached_property
    def confusion(self) -> pl.DataFrame:
        """Which model is selected for fresh learners of each model, at the chosen constants."""
        chosen = [curve.criteria[curve.best(goal)] for curve in self.tuned for goal in GOALS]
        unique = list(dict.fromkeys([*chosen, AIC(), BIC()]))
        return pl.concat([confusion_table(self.fresh, criterion) for criterion in unique])

    @cached_property
    def recovery(self) -> pl.DataFrame:
        """One row per true model, cell, parameter and share of the trials that was fitted."""
        return recovery(self.estimates)

    @property
    def pooled_slope(self) -> pl.DataFrame:
        """What dimension jump and slope heuristic say of all learners together."""
        return self.slope.filter(pl.col("learner").is_null()).drop("learner")

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know besides."""
        both = (self.contest, self.fresh)
        return left_out(sum(each.n_lost for each in both), sum(map(len, both)))

    @cached_property
    def marks(self) -> dict[str, float]:
        """AIC and BIC as constants c, at the median number of trials; none with one trial."""
        n = float(np.median(self.contest.n_scored))
        if n <= 1:
            return {}
        return {
            criterion.name.upper(): float(kappa_of(criterion, n) / np.log(n) ** 2)
            for criterion in (AIC(), BIC())
        }

    @cached_property
    def recommendation(self) -> dict[str, Any]:
        """The constants, how sure they are, and their errors for fresh learners."""
        found: dict[str, Any] = {
            "goal": self.goal,
            "criteria": [repr(criterion) for criterion in self.criteria],
            "models": list(self.contest.models),
            "learners_per_model": int(np.bincount(self.contest.true).min()),
            "median_trials": float(np.median(self.contest.n_scored)),
            **({"not_fitted": self.contest.n_lost} if self.contest.n_lost else {}),
        }
        for tuned in self.tuned:
            found[tuned.name] = {goal: self._chosen(tuned, goal) for goal in GOALS}
        for fixed in (AIC(), BIC()):
            found[fixed.name] = {
                "c": self.marks.get(fixed.name.upper()),
                **self._fresh_errors(fixed),
            }
        if len(self.slope):
            found["slope"] = self.pooled_slope.to_dicts()
        return found

    def _chosen(self, tuned: ErrorCurve, goal: Goal) -> dict[str, Any]:
        best = tuned.best(goal)
        as_good = tuned.settings[tuned.as_good(goal)]
        kappa = tuned.kappa[best]
        return {
            "criterion": repr(tuned.criteria[best]),
            "setting": float(tuned.settings[best]),
            **({} if np.isnan(kappa) else {"kappa": float(kappa)}),
            "error": float(tuned.over_models(goal)[best]),
            "standard_error": float(tuned.spread(goal)[best]),
            "worst_model": tuned.truths[int(np.argmax(tuned.error[:, best]))],
            "not_distinguishable": [float(setting) for setting in as_good],
            "never_selected": list(tuned.never_selected[best]),
            "fresh": self._fresh_errors(tuned.criteria[best]),
        }

    def _fresh_errors(self, criterion: Criterion) -> dict[str, Any]:
        fresh = curve(self.fresh, [criterion])
        return {
            "mean_error": float(fresh.over_models("average")[0]),
            "mean_standard_error": float(fresh.spread("average")[0]),
            "max_error": float(fresh.over_models("maximum")[0]),
            "max_standard_error": float(fresh.spread("maximum")[0]),
            "worst_model": fresh.truths[int(np.argmax(fresh.error[:, 0]))],
            "errors": dict(zip(fresh.truths, fresh.error[:, 0].tolist(), strict=True)),
        }

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Errors by constant and by split, the confusion matrices, parameter recovery."""
        by_setting = {f"errors-{tuned.name}": tuned.frame() for tuned in self.tuned}
        by_model = {
            f"confusion-{criterion.name}": confusion_table(self.fresh, criterion)
            for criterion in self.criteria
        }
        return {**by_setting, **by_model, "recovery": self.recovery}

    def summary(self) -> Iterator[Listing | Sentence]:
        """Constants and errors as a table, then what the table does not say."""
        yield self._listing()
        if len(self.contest.models) == 1:
            yield Sentence("There is only one candidate, so there is nothing to choose.")
            return
        for tuned in self.tuned:
            yield from self._tuned(tuned)
        flagged = self.settings.drop_nulls("never_selected")
        told = []
        for (name,), rows in flagged.group_by("criterion", maintain_order=True):
            some = rows["setting"][0] is not None
            told.append(f"{name} ({len(rows)} settings)" if some else str(name))
        if told:
            yield Sentence(
                f"At least one candidate is never selected by {listed(told)} (settings.csv)."
            )
        for row in self.pooled_slope.filter("applies").iter_rows(named=True):
            constant = f"κ = {row['kappa']:.3g} nats (c = {row['c']:.3g})"
            yield Sentence(f"{row['method'].capitalize()}: {constant}. {row['reason']}")

    def _listing(self) -> Listing:
        found, rows = self.recommendation, []
        for tuned in self.tuned:
            for goal, title in GOAL_WORDS.items():
                chosen = found[tuned.name][goal]
                name = chosen["criterion"]
                if "kappa" in chosen:
                    name += f", {chosen['kappa']:.3g} nats"
                mark = " ←" if goal == self.goal else ""
                rows.append((name, title + mark, *_errors(chosen["fresh"])))
        for name, price in (("aic", "1 nat"), ("bic", "½ log(n) nats")):
            c = found[name]["c"]
            as_c = "" if c is None else f"c={c:.3g} at {found['median_trials']:g} trials"
            rows.append((f"{name}, {price}", as_c, *_errors(found[name])))
        title = f"Errors for fresh learners, {found['learners_per_model']:,} per model"
        return Listing(title, ("criterion", "chosen for", "mean error", "largest error"), rows)

    def _tuned(self, tuned: ErrorCurve) -> Iterator[Sentence]:
        """Which settings are as good as the chosen one, and what it never selects."""
        chosen = self.recommendation[tuned.name][self.goal]
        if np.ptp(tuned.over_models(self.goal)) == 0 and len(tuned.settings) > 1:
            yield Sentence(f"All settings of {tuned.name} that were tried make the same errors.")
        else:
            as_good = spans(chosen["not_distinguishable"], tuned.settings.tolist())
            yield Sentence(
                f"{chosen['criterion']} has the {GOAL_WORDS[self.goal]}; with this many simulated "
                f"learners, these are equally good: {as_good}."
            )
        if chosen["never_selected"]:
            yield Sentence(
                f"Warning: {chosen['criterion']} never selects "
                f"{', '.join(chosen['never_selected'])}.",
                strong="Warning:",
            )

    def write_files(self, folder: Path, format: Format = "csv") -> None:
        """The tables, and last the recommendation: where it is, everything is."""
        super().write_files(folder, format)
        write_json(folder / RECOMMENDATION, {**self.recommendation, **self.about})


def _errors(fresh: Mapping[str, Any]) -> tuple[str, str]:
    return (
        f"{fresh['mean_error']:z.1%} ± {fresh['mean_standard_error']:z.1%}",
        f"{fresh['max_error']:z.1%} ± {fresh['max_standard_error']:z.1%}",
    )


def constants_for(n_scored: Ints) -> tuple[float, ...]:
    """Constants c from a weak to a strong penalty at the median number of trials.

    >>> constants_for(np.array([500]))[::20]
    (0.000518, 0.00453, 0.0396)
    """
    log_n = max(float(np.log(np.median(n_scored))), np.log(2.0))
    kappas = np.geomspace(SMALLEST, LARGEST, STEPS)
    return tuple(dict.fromkeys(float(f"{kappa / log_n**2:.3g}") for kappa in kappas))


def calibrate(
    task: Task | str | None = None,
    models: Sequence[Model | str] | None = None,
    parameters: Parameters | Mapping[str, Parameters] | None = None,
    learners: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    *,
    like: Study | None = None,
    constants: Sequence[float] | None = None,
    splits: Sequence[float] = SPLITS,
    goal: Goal = "maximum",
    threads: int | None = None,
    progress: Progress | None = None,
    client: Client | None = None,
) -> Calibration:
    """Simulate learners of every model, fit every candidate to each, and find good constants.

    ``parameters`` are common ones, ``{"eta": 0.03}``, or by model, ``{"ByShape": {"eta": 0.1}}``; a
    ``Range`` lets every learner and cell draw its own. With ``like`` the learners are doubles of
    recorded ones: the same contexts and number of trials, every model at the estimates for that
    learner. ``goal`` says what a good constant makes small: the largest error over the models, as
    the paper chose, or the average one. With a Dask ``client`` its workers simulate and fit.

    >>> import howlearn as hl
    >>> result = hl.calibrate("shepard-1", parameters={"eta": 0.1}, learners=20, trials=60)
    >>> result.errors.columns[:5]
    ['criterion', 'setting', 'true_model', 'error', 'standard_error']
    """
    task = Task.load(task) if isinstance(task, str) else task
    if like is not None:
        if parameters or trials is not None:
            raise HowlearnError("doubles of recorded learners have their parameters and trials")
        usual = task.candidates if task else candidates(like.contexts, like.features)
        own = models_of(models or usual, task.model if task else among(like))
        design: Design = LikeDesign(like, own, task, learners, seed, threads)
    elif task is not None:
        own = models_of(models or task.candidates, task.model)
        by_model = by_model_name(parameters or {})
        many = ENOUGH if learners is None else learners
        design = TaskDesign(task, own, by_model, many, trials, seed)
    else:
        raise HowlearnError("a calibration needs a task, or a recorded study to imitate")
    return calibrate_design(
        design, own, constants, splits, goal, Memory(engine_of(client, threads)), threads, progress
    )


def calibrate_design(
    design: Design,
    models: Sequence[Model],
    constants: Sequence[float] | None = None,
    splits: Sequence[float] = SPLITS,
    goal: Goal = "maximum",
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Calibration:
    """Calibrate on a design; parts that the store has already are not computed again."""
    check_calibration(design, constants, splits, goal)
    store = store if store is not None else Memory(Threads(threads))
    contests = Contests(design, models, splits, (CALIBRATION, FRESH))
    store.complete(contests.parts, progress)
    found, estimates = contests.found(store)
    contest = found[CALIBRATION]
    given = constants is not None
    chosen = tuple(sorted({*map(float, constants)})) if given else constants_for(contest.n_scored)
    slope = slope_of(design.fits) if design.fits else slope_of(contest)
    about = {"candidates": [model.describe() for model in models], "design": design.described()}
    return Calibration(contest, found[FRESH], estimates, chosen, goal, slope, about)


def check_calibration(
    design: Design, constants: Sequence[float] | None, splits: Sequence[float], goal: str
) -> None:
    """Refuse what cannot be, before any work is done or any folder made."""
    if goal not in GOALS:
        raise HowlearnError(f"the goal must be {' or '.join(GOALS)}, got {goal}")
    if constants is not None and not len(constants):
        raise HowlearnError("no constant to try was given")
    for c in constants if constants is not None else ():
        Penalized(c)  # refuses what cannot be
    check_splits(splits)
    if design.learners < 2:
        raise HowlearnError("an error rate needs at least two learners of every model")
