"""``howlearn calibrate``: the constants and the error rates of a design, by simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import MODELS as MODEL_OPTIONS
from howlearn.cli.next_command import not_usual, refuse_beside_like, select_command
from howlearn.cli.options import (
    CANDIDATES,
    DESIGN_SEED,
    LEARNING,
    ORDER,
    OUT,
    RUNNING,
    SETTINGS,
    STUDY,
    TRIALS,
)
from howlearn.cli.show import console, listing_of, save_charts
from howlearn.core.options import Choice, File, Kind, Option, Panel, Whole
from howlearn.reading.analysis_options import TASK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from rich.table import Table

    from howlearn.analyses.calibrate import Calibration
    from howlearn.analyses.designs import Design
    from howlearn.analyses.error_rates import Goal
    from howlearn.models.model import Model
    from howlearn.report.style import Chart


LIKE = Option(
    "like",
    File("RESULTS"),
    "A folder of howlearn select: simulate doubles of its learners, each at its own number of "
    "trials, order of contexts and estimates, from every fitted model.",
    panel=Panel.design,
)
LEARNERS = Option(
    "learners",
    Whole(least=2),
    "Simulated learners per model; 200 by default. As many fresh ones test the constants.",
    panel=Panel.design,
)
CONSTANTS = Option(
    "constants",
    Kind("C,C… | LO:HI:STEP"),
    "Constants c to try; by default 60, from a price of 0.02 to 12 nats per parameter.",
    panel=Panel.models,
)
SPLITS = Option(
    "splits",
    Kind("S,S… | LO:HI:STEP"),
    "Splits of the hold-out to try.",
    "0.1:0.9:0.1",
    Panel.models,
)
WHICH_ERROR = Option(
    "goal",
    Choice(words=("maximum", "average")),
    "Which error the constant for howlearn select makes small: the largest over the models (the "
    "paper's choice) or the average one. Both are reported.",
    "maximum",
    Panel.models,
)
ASKED = (TASK, TRIALS, LEARNERS, SETTINGS, DESIGN_SEED, *CANDIDATES, *LEARNING, ORDER)


@command(
    TASK, LIKE, TRIALS, LEARNERS, ORDER, SETTINGS, DESIGN_SEED, *CANDIDATES, *LEARNING, CONSTANTS,
    SPLITS, WHICH_ERROR, OUT.but(default=Path("calibration")), *RUNNING, STUDY,
)  # fmt: skip
def calibrate(given: Given) -> None:
    """Find good constants for your design, and how often each model would be recognised.

    Simulates learners of every candidate model, fits every candidate to each of them, and counts
    how often the wrong model is selected: for every constant c of the penalised likelihood, for
    every split of the hold-out, and for AIC and BIC. Then:

    howlearn select trials.csv --task five-four --calibration calibration
    """
    from howlearn.analyses.calibrate import (
        OUTPUTS,
        calibrate_design,
        check_calibration,
        write_calibration,
    )
    from howlearn.analyses.contests import check_candidates
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.cli.options import parse_numbers
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    like, out = given.like, given.out
    constants = parse_numbers(given.constants, CONSTANTS.word) if given.constants else None
    splits = parse_numbers(given.splits, SPLITS.word) if given.splits else ()
    asked = given.of(*ASKED)
    with show.progress_bar("preparing"):
        design, models, following = (
            _doubles(like, asked, given.workers) if like else _of_task(asked)
        )
    if not like:
        show.default_task(given.task)
    check_calibration(design, constants, splits, given.goal)
    check_candidates(design, models)
    show.same_models(models)
    for sentence in design.notes:
        show.note(sentence)
    manifest = {
        **made_by("calibrate"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "splits": list(splits),
    }
    about = {"candidates": manifest["models"], "design": manifest["design"]}
    with (
        starting(given) as start,
        RunFolder(out, manifest, OUTPUTS, start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = calibrate_design(
                design,
                models,
                constants,
                splits,
                given.goal,
                store,
                given.workers,
                progress,
            )
        for sentence in result.notes:
            show.note(sentence)
        write_calibration(out, result, about)
    next_out = "results2" if like else "results"
    command = select_command(*following, "--calibration", str(out), "--out", next_out)
    summary(result, out, command)


# The design, the candidates, and the files and options of the howlearn select that comes next.
Asked = tuple["Design", "tuple[Model, ...]", "tuple[Sequence[str], Mapping[str, Any]]"]


def _of_task(asked: dict[str, Any]) -> Asked:
    from howlearn.analyses.designs import ENOUGH, TaskDesign
    from howlearn.cli.options import parse_settings_by_model
    from howlearn.results.inputs import chosen_models, task_with

    task = task_with(*(asked[name] for name in ("task", "rule", "form", "max_rate", "order")))
    models = chosen_models(
        task.models, asked, f"task {task.name}", task.n_features, (), task.mixtures
    )
    design = TaskDesign(
        task,
        models,
        parse_settings_by_model(asked["settings"]),
        asked["learners"] or ENOUGH,
        asked["trials"],
        asked["seed"],
    )
    options = {"task": asked["task"] or task.name, **not_usual(asked, MODEL_OPTIONS)}
    return design, models, (["trials.csv"], options)


def _uncoded(names: Sequence[str]) -> list[str]:
    """Without models of one's own, which are typed beside --like to allow their code."""
    from howlearn.core.safe_files import own_names

    return [name for name in names if not own_names(name)]


def _doubles(like: Path, asked: dict[str, Any], threads: int | None) -> Asked:
    from howlearn.analyses.doubles import LikeDesign
    from howlearn.models.task import Task
    from howlearn.results.inputs import recorded

    free = ("task", "learners", "seed")  # the task may say what actions earn
    others = {**asked, **{name: _uncoded(asked[name]) for name in ("model", "add_model")}}
    refuse_beside_like(others, [name for name in asked if name not in free], like)
    inputs = recorded(like)
    task = Task.load(asked["task"]) if asked["task"] else inputs.task
    design = LikeDesign(
        inputs.study, inputs.candidates, task, asked["learners"], asked["seed"], threads
    )
    files = inputs.study.source.files if inputs.study.source else ()
    options = {name: value for name, value in inputs.options.items() if name != "criteria"}
    return design, inputs.candidates, (files, options)


# --------------------
# What ``howlearn calibrate`` prints: the constants, their errors, and what to beware of.


GOAL = {"maximum": "smallest largest error", "average": "smallest mean error"}


def summary(result: Calibration, out: Path, following: str) -> None:
    """Constants and errors as a table, then sentences, then where the files are."""
    console.print(_table(result))
    for sentence in sentences(result):
        console.print(sentence, soft_wrap=True)

    def charts() -> dict[str, Chart]:
        from howlearn.report.charts import of_calibration

        return of_calibration(result)

    save_charts(charts, out)
    console.print(escape(f"Tables: {out}/\nNext: {following}"), soft_wrap=True)


def _table(result: Calibration) -> Table:
    found = result.recommendation
    title = f"Errors for fresh learners, {found['learners_per_model']:,} per model"
    listing = listing_of(title, "criterion", "chosen for", "mean error", "largest error")
    for curve in result.tuned:
        for goal, title in GOAL.items():
            chosen = found[curve.name][goal]
            name = chosen["criterion"]
            if "kappa" in chosen:
                name += f"\n[dim]{chosen['kappa']:.3g} nats per parameter[/]"
            mark = " ←" if goal == result.goal else ""
            listing.add_row(name, title + mark, *_errors(chosen["fresh"]))
    for name, price in (("aic", "1 nat"), ("bic", "½ log(n) nats")):
        c = found[name]["c"]
        as_c = "" if c is None else f"c={c:.3g} at {found['median_trials']:g} trials"
        listing.add_row(f"{name}\n[dim]{price} per parameter[/]", as_c, *_errors(found[name]))
    return listing


def _errors(fresh: dict[str, float | str]) -> tuple[str, str]:
    return (
        f"{fresh['mean_error']:.1%} ± {fresh['mean_standard_error']:.1%}",
        f"{fresh['max_error']:.1%} ± {fresh['max_standard_error']:.1%}\n"
        f"[dim]{escape(str(fresh['worst_model']))}[/]",
    )


def sentences(result: Calibration) -> list[str]:
    """What the table does not say."""
    import numpy as np

    from howlearn.analyses.error_rates import spans

    if len(result.contest.models) == 1:
        return ["There is one candidate only, so there is nothing to choose."]
    found = []
    goal: Goal = result.goal
    for curve in result.tuned:
        chosen = result.recommendation[curve.name][goal]
        as_good = chosen["not_distinguishable"]
        if np.ptp(curve.over_models(goal)) == 0 and len(curve.settings) > 1:
            found.append(f"Every setting of {curve.name} that was tried makes the same errors.")
        else:
            found.append(
                f"{chosen['criterion']} has the {GOAL[goal]}; settings that cannot be told from it "
                f"with so many learners: {spans(as_good, curve.settings.tolist())}."
            )
        if chosen["never_selected"]:
            found.append(
                f"[yellow]Beware:[/] under {chosen['criterion']} no learner at all is given "
                f"{escape(', '.join(chosen['never_selected']))}."
            )
    flagged = result.settings.drop_nulls("never_selected")
    for name, rows in _by_criterion(flagged):
        worst = escape(rows["never_selected"][0])
        found.append(
            f"Flagged in settings.csv: {len(rows)} of the settings of {name} never select some "
            f"candidate (at {rows['setting'][0]:g}: {worst})."
            if rows["setting"][0] is not None
            else f"Flagged in settings.csv: {name} never selects {worst}."
        )
    for row in result.pooled_slope.iter_rows(named=True):
        given = (
            f"κ = {row['kappa']:.3g} nats (c = {row['c']:.3g})" if row["applies"] else "no constant"
        )
        reason = row["reason"] if row["applies"] else f"{row['reason'].split('. ')[0].rstrip('.')}."
        found.append(f"{row['method'].capitalize()}: {given}. {reason}")
    return found


def _by_criterion(frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(str(key[0]), rows) for key, rows in frame.group_by("criterion", maintain_order=True)]
