"""``howlearn calibrate``: the constants and the error rates of a design, by simulation."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howlearn.cli.options import (
    DESIGN,
    MODELS,
    AddModel,
    Form,
    FormName,
    Fresh,
    MaxRate,
    ModelNames,
    OneRate,
    Order,
    OutFolder,
    Rule,
    RuleName,
    Seed,
    SettingsByModel,
    TaskOption,
    Threads,
)

if TYPE_CHECKING:
    from howlearn.calibration.design import Design
    from howlearn.model import Model


class GoalName(StrEnum):
    """What a good constant makes small."""

    maximum = "maximum"
    average = "average"


def calibrate(
    task: TaskOption = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="RESULTS",
            help="A folder of howlearn select: simulate doubles of its learners, each at its own "
            "number of trials, order of contexts and estimates, from every fitted model.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Trials of each learner; by default as the task says.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    learners: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Simulated learners per model; 200 by default. As many fresh ones test "
            "the constants.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    order: Order = None,
    settings: SettingsByModel = None,
    seed: Seed = 0,
    model: ModelNames = None,
    add_model: AddModel = None,
    one_rate: OneRate = False,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    constants: Annotated[
        str | None,
        typer.Option(
            metavar="C,C… | LO:HI:STEP",
            help="Constants c to try; by default 60, from a price of 0.02 to 12 nats per "
            "parameter.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    splits: Annotated[
        str,
        typer.Option(
            metavar="S,S… | LO:HI:STEP",
            help="Splits of the hold-out to try.",
            rich_help_panel=MODELS,
        ),
    ] = "0.1:0.9:0.1",
    goal: Annotated[
        GoalName,
        typer.Option(
            help="Which error the constant for howlearn select makes small: the largest over the "
            "models (the paper's choice) or the average one. Both are reported.",
            rich_help_panel=MODELS,
        ),
    ] = GoalName.maximum,
    out: OutFolder = Path("calibration"),
    fresh: Fresh = False,
    workers: Threads = None,
) -> None:
    """Find good constants for your design, and how often each model would be recognised.

    Simulates learners of every candidate model, fits every candidate to each of them, and counts
    how often the wrong model is selected: for every constant c of the penalised likelihood, for
    every split of the hold-out, and for AIC and BIC. Then:

    howlearn select trials.csv --task five-four --calibration calibration
    """
    from howlearn.calibration.calibrate import calibrate_design, check_calibration
    from howlearn.calibration.folder import OUTPUTS, write_calibration
    from howlearn.cli import show, show_calibration
    from howlearn.cli.parse import parse_numbers
    from howlearn.folder import RunFolder
    from howlearn.manifest import describe, made_by

    chosen_constants = parse_numbers(constants, "--constants") if constants else None
    chosen_splits = parse_numbers(splits, "--splits") if splits else ()
    given = {
        "task": task, "trials": trials, "learners": learners, "settings": settings, "seed": seed,
        "model": model or [], "add_model": add_model or [], "one_rate": one_rate,
        "rule": rule.value, "form": form.value, "max_rate": max_rate,
        "order": order.value if order else None,
    }  # fmt: skip
    with show.progress_bar("preparing"):
        design, models = _doubles(like, given, workers) if like else _of_task(given)
    check_calibration(design, chosen_constants, chosen_splits, goal.value)
    show.same_models(models)
    for sentence in design.notes:
        show.note(sentence)
    manifest = {
        **made_by("calibrate"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "splits": list(chosen_splits),
    }
    store = RunFolder(out, manifest, fresh, OUTPUTS)
    with show.progress_bar("simulating and fitting") as progress:
        result = calibrate_design(
            design, models, chosen_constants, chosen_splits, goal.value, store, workers, progress
        )
    about = {"candidates": manifest["models"], "design": manifest["design"]}
    write_calibration(out, result, about)
    following = (
        f"the howlearn select of {like} once more, with --calibration {out} and another --out"
        if like
        else f"howlearn select trials.csv --task {task or 'five-four'} --calibration {out}"
    )
    show_calibration.summary(result, out, following)


def _of_task(given: dict[str, Any]) -> tuple[Design, tuple[Model, ...]]:
    from howlearn.calibration.design import ENOUGH, TaskDesign
    from howlearn.cli.parse import parse_settings_by_model
    from howlearn.inputs import chosen_models, task_with

    task = task_with(*(given[name] for name in ("task", "rule", "form", "max_rate", "order")))
    models = chosen_models(task.models, given, f"task {task.name}")
    design = TaskDesign(
        task,
        models,
        parse_settings_by_model(given["settings"]),
        given["learners"] or ENOUGH,
        given["trials"],
        given["seed"],
    )
    return design, models


def _doubles(
    like: Path, given: dict[str, Any], threads: int | None
) -> tuple[Design, tuple[Model, ...]]:
    from howlearn.calibration.design import LikeDesign
    from howlearn.errors import HowlearnError
    from howlearn.inputs import recorded
    from howlearn.task import Task

    fixed = {
        "trials": None, "order": None, "settings": None, "model": [], "add_model": [],
        "one_rate": False, "rule": RuleName.gradient, "form": FormName.gain, "max_rate": 1.0,
    }  # fmt: skip
    extra = [
        f"--{name.replace('_', '-').replace('settings', 'set')}"
        for name, default in fixed.items()
        if given[name] != default
    ]
    if extra:
        raise HowlearnError(
            f"{', '.join(extra)}: with --like the trials, parameters and models are those of {like}"
        )
    inputs = recorded(like)
    task = Task.load(given["task"]) if given["task"] else inputs.task
    design = LikeDesign(
        inputs.study, inputs.candidates, task, given["learners"], given["seed"], threads
    )
    return design, inputs.candidates
