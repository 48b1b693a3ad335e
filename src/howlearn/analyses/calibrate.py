"""``calibrate``: the paper's procedure for any design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
from howlearn.analyses.designs import ENOUGH, Design, TaskDesign, by_model_name
from howlearn.analyses.doubles import LikeDesign
from howlearn.analyses.error_rates import GOALS, Curve, Goal, confusion_table, curve, kappa_of
from howlearn.analyses.plan import Plan
from howlearn.analyses.recover import Recovery
from howlearn.analyses.slope_heuristic import slope_of
from howlearn.core.csv_tables import write_csv
from howlearn.core.errors import HowlearnError
from howlearn.core.safe_files import read_json
from howlearn.core.study import Study
from howlearn.models.candidates import candidates
from howlearn.models.model import Model
from howlearn.models.task import Task
from howlearn.models.values import Parameters
from howlearn.results.manifest import describe
from howlearn.runs.cluster import engine_of
from howlearn.runs.files import write_json, write_text, write_whole
from howlearn.runs.folder import read_table
from howlearn.runs.parts import Memory, Progress, Store, Threads
from howlearn.selection.criteria import AIC, BIC, HoldOut, Penalized, criterion_named
from howlearn.selection.criterion import Criterion
from howlearn.selection.share_tables import Known
from howlearn.selection.shares import Confusion

if TYPE_CHECKING:
    from distributed import Client


# --------------------
# What a calibration found: tables, and the constants to use.


SMALLEST, LARGEST, STEPS = 0.02, 12.0, 60  # nats per parameter: from hardly a penalty to twice BIC


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Errors by constant, the constants with the smallest errors, and what they do to others.

    ``contest`` is of the learners who chose the constants, ``fresh`` of those who test them.
    """

    contest: Contest
    fresh: Contest
    estimates: pl.DataFrame
    constants: tuple[float, ...]
    goal: Goal = "maximum"
    slope: pl.DataFrame = field(default_factory=pl.DataFrame)

    def __repr__(self) -> str:
        chosen = " and ".join(repr(criterion) for criterion in self.criteria)
        return (
            f"Calibration on {len(self.contest):,} simulated learners: {chosen}; see .errors, "
            ".settings, .confusion, .recovery, .recommendation"
        )

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
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
    def tuned(self) -> tuple[Curve, ...]:
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

    def _chosen(self, tuned: Curve, goal: Goal) -> dict[str, Any]:
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


def constants_for(n_scored: NDArray[np.int64]) -> tuple[float, ...]:
    """Constants c from a weak to a strong penalty at the median number of trials.

    >>> constants_for(np.array([500]))[::20]
    (0.000518, 0.00453, 0.0396)
    """
    log_n = max(float(np.log(np.median(n_scored))), np.log(2.0))
    kappas = np.geomspace(SMALLEST, LARGEST, STEPS)
    return tuple(dict.fromkeys(float(f"{kappa / log_n**2:.3g}") for kappa in kappas))


def calibrate(
    task: Task | str | None = None,
    models: Sequence[Model] | None = None,
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
        own = models or (task.candidates if task else candidates(like.contexts, like.features))
        design: Design = LikeDesign(like, own, task, learners, seed, threads)
    elif task is not None:
        own = models or task.candidates
        by_model = by_model_name(parameters or {})
        many = ENOUGH if learners is None else learners
        design = TaskDesign(task, tuple(own), by_model, many, trials, seed)
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
    return Calibration(contest, found[FRESH], estimates, chosen, goal, slope)


def check_calibration(
    design: Design, constants: Sequence[float] | None, splits: Sequence[float], goal: str
) -> None:
    """Refuse what cannot be, before any work is done or any folder made."""
    if goal not in GOALS:
        raise HowlearnError(f"the goal is {' or '.join(GOALS)}, not {goal}")
    if constants is not None and not len(constants):
        raise HowlearnError("there is no constant to try")
    for c in constants if constants is not None else ():
        Penalized(c)  # refuses what cannot be
    check_splits(splits)
    if design.learners < 2:
        raise HowlearnError("an error rate needs at least two learners of every model")


# --------------------
# The constants that a calibration recommends, for ``howlearn select --calibration``.


RECOMMENDATION = "recommendation.json"
FAR = 2.0  # a calibration for half or twice as many trials is worth a note


@dataclass(frozen=True)
class Advice:
    """What a calibration recommends, and for what."""

    folder: Path
    criteria: tuple[Criterion, ...]
    models: tuple[str, ...]
    median_trials: float
    described: list[object] | None = None  # the models with their cells, rules and bounds


def advised(folder: Path) -> Advice:
    """Read the recommendation that ``howlearn calibrate`` left in a folder."""
    file = folder / RECOMMENDATION if folder.is_dir() else folder
    try:
        found = read_json(file)
        advice = Advice(
            folder,
            tuple(criterion_named(text) for text in found["criteria"]),
            tuple(map(str, found["models"])),
            float(found["median_trials"]),
            found.get("candidates"),
        )
        if not (advice.criteria and advice.median_trials >= 1):
            raise ValueError
        return advice
    except OSError:
        raise HowlearnError(
            f"there is no {file}: make a calibration with howlearn calibrate, or let one that was "
            "interrupted go on by starting it again"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, HowlearnError):
        raise HowlearnError(f"{file} is not a recommendation of howlearn calibrate") from None


def confusion_tables(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The confusion matrices in a calibration's table, by the text of the criterion."""
    found = {}
    for (name, setting), rows in frame.group_by("criterion", "setting", maintain_order=True):
        text = f"{name}" if setting is None else f"{name}({setting!r})"
        columns = rows.select("true_model", "selected_model", "share", "learners")
        found[repr(criterion_named(text))] = columns
    return found


def confusions(advice: Advice) -> Mapping[str, Known]:
    """The confusion matrices of a calibration, by the text of the criterion."""
    try:
        tables = confusion_tables(read_table(advice.folder, "confusion"))
        return {criterion: _known(rows) for criterion, rows in tables.items()}
    except (pl.exceptions.PolarsError, ValueError, HowlearnError):
        return {}  # an older calibration, or only its recommendation


def _known(rows: pl.DataFrame) -> Known:
    truths = rows["true_model"].unique(maintain_order=True).to_list()
    models = rows["selected_model"].unique(maintain_order=True).to_list()
    counts = (rows["share"] * rows["learners"]).to_numpy().reshape(len(truths), len(models))
    return Known(tuple(truths), tuple(models), Confusion(np.rint(counts)))


def doubts(advice: Advice, n: float, candidates: Sequence[Model]) -> list[str]:
    """Ways in which a calibration is not for these candidates and this number of trials."""
    sentences = []
    names = tuple(model.name for model in candidates)
    if set(names) != set(advice.models):
        sentences.append(
            f"the calibration in {advice.folder} is for other candidates "
            f"({', '.join(advice.models)}); its constants may not suit these"
        )
    elif advice.described and sorted(map(str, advice.described)) != sorted(
        str(describe(model)) for model in candidates
    ):
        sentences.append(
            f"the calibration in {advice.folder} is for candidates of the same names with other "
            "cells, rules or bounds; its constants may not suit these"
        )
    if not 1 / FAR < n / advice.median_trials < FAR:
        sentences.append(
            f"the calibration in {advice.folder} is for {advice.median_trials:g} trials, and "
            f"here there are {n:g}; its constants may not suit them"
        )
    return sentences


# --------------------
# A calibration as a folder: parts that survive an interruption, then tables.


TABLES = ("errors", "settings", "confusion", "recovery", "slope")
CHARTS = (
    "errors-penalized",
    "errors-holdout",
    "confusion-penalized",
    "confusion-holdout",
    "recovery",
)
OUTPUTS = {
    RECOMMENDATION,
    *(f"{table}.csv" for table in TABLES),
    *(f"{chart}.{ending}" for chart in CHARTS for ending in ("svg", "png")),
}
RECOVERY_TABLES = ("confusion", "recovery", "learners")
RECOVERY_OUTPUTS = {
    *(f"{table}.csv" for table in RECOVERY_TABLES),
    *(f"{chart}.{ending}" for chart in ("confusion", "recovery") for ending in ("svg", "png")),
}
PLAN_TABLES = {"plan": "recovered", "pairs": "pairs", "shares": "shares"}
PLAN_OUTPUTS = {
    "plan.txt",
    *(f"{table}.csv" for table in PLAN_TABLES),
    *(f"{chart}.{ending}" for chart in ("plan", "shares") for ending in ("svg", "png")),
}


def write_tables(folder: Path, tables: Mapping[str, pl.DataFrame]) -> None:
    """Each table whole or not at all."""
    for name, frame in tables.items():
        write_whole(folder / f"{name}.csv", partial(write_csv, frame))


def write_calibration(folder: Path, calibration: Calibration, about: Mapping[str, Any]) -> None:
    """The tables, and last the recommendation: where it is, everything is."""
    write_tables(folder, {table: getattr(calibration, table) for table in TABLES})
    write_json(folder / RECOMMENDATION, {**calibration.recommendation, **about})


def write_recovery(folder: Path, result: Recovery) -> None:
    """The tables."""
    write_tables(folder, {table: getattr(result, table) for table in RECOVERY_TABLES})


def write_plan(folder: Path, plan: Plan) -> None:
    """The tables, and the answers in words."""
    write_tables(folder, {name: getattr(plan, table) for name, table in PLAN_TABLES.items()})
    text = "\n".join(plan.sentences) + "\n"
    write_text(folder / "plan.txt", text)
