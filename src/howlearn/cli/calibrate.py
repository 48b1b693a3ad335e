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
    Dask,
    ExpertsFrom,
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
    ShardOption,
    TaskOption,
    Threads,
)
from howlearn.cli.retype import MODELS as MODEL_OPTIONS
from howlearn.cli.retype import given, refuse_beside_like, select_command
from howlearn.cli.study import takes_study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howlearn.analyses.designs import Design
    from howlearn.models.model import Model


class GoalName(StrEnum):
    """What a good constant makes small."""

    maximum = "maximum"
    average = "average"


@takes_study
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
    experts_from: ExpertsFrom = None,
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
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
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
    from howlearn.cli import show, show_calibration
    from howlearn.cli.parse import parse_numbers
    from howlearn.cli.starting import starting
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    chosen_constants = parse_numbers(constants, "--constants") if constants else None
    chosen_splits = parse_numbers(splits, "--splits") if splits else ()
    asked = {
        "task": task, "trials": trials, "learners": learners, "settings": settings, "seed": seed,
        "model": model or [], "add_model": add_model or [], "one_rate": one_rate,
        "experts_from": experts_from,
        "rule": rule.value, "form": form.value, "max_rate": max_rate,
        "order": order.value if order else None,
    }  # fmt: skip
    with show.progress_bar("preparing"):
        design, models, following = _doubles(like, asked, workers) if like else _of_task(asked)
    if not like:
        show.default_task(task)
    check_calibration(design, chosen_constants, chosen_splits, goal.value)
    check_candidates(design, models)
    show.same_models(models)
    for sentence in design.notes:
        show.note(sentence)
    manifest = {
        **made_by("calibrate"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "splits": list(chosen_splits),
    }
    about = {"candidates": manifest["models"], "design": manifest["design"]}
    with (
        starting(out, fresh, workers, dask, shard) as start,
        RunFolder(out, manifest, OUTPUTS, start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = calibrate_design(
                design,
                models,
                chosen_constants,
                chosen_splits,
                goal.value,
                store,
                workers,
                progress,
            )
        for sentence in result.notes:
            show.note(sentence)
        write_calibration(out, result, about)
    next_out = "results2" if like else "results"
    command = select_command(*following, "--calibration", str(out), "--out", next_out)
    show_calibration.summary(result, out, command)


# The design, the candidates, and the files and options of the howlearn select that comes next.
Asked = tuple["Design", "tuple[Model, ...]", "tuple[Sequence[str], Mapping[str, Any]]"]


def _of_task(asked: dict[str, Any]) -> Asked:
    from howlearn.analyses.designs import ENOUGH, TaskDesign
    from howlearn.cli.parse import parse_settings_by_model
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
    options = {"task": asked["task"] or task.name, **given(asked, MODEL_OPTIONS)}
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
