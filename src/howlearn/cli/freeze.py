"""``howlearn freeze``: the plan of an analysis, before the data are seen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.options import (
    MODELS,
    OUTPUT,
    AddModel,
    CalibrationFolder,
    Criteria,
    ExpertsFrom,
    Form,
    FormName,
    Fresh,
    MaxRate,
    ModelNames,
    OneRate,
    Rule,
    RuleName,
    TaskOption,
)
from howlearn.cli.project_options import DATA_OPTIONS, Given, takes_data

if TYPE_CHECKING:
    pass


@takes_data
def freeze(
    task: TaskOption = None,
    criterion: Criteria = None,
    calibration: CalibrationFolder = None,
    model: ModelNames = None,
    add_model: AddModel = None,
    one_rate: OneRate = False,
    experts_from: ExpertsFrom = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    within: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Models less than so many nats behind the best are not told apart.",
            rich_help_panel=MODELS,
        ),
    ] = 2.0,
    data: Given = DATA_OPTIONS,
    intervals: Annotated[
        float | None,
        typer.Option(
            "--intervals",
            metavar="LEVEL",
            help="Intervals for the parameters of all models, at this level.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            "--stability",
            metavar="DOUBLES",
            help="Simulated doubles of each learner.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="For --stability: other doubles.", rich_help_panel=OUTPUT)
    ] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write.", rich_help_panel=OUTPUT)
    ] = Path("frozen.toml"),
    fresh: Fresh = False,
) -> None:
    """Write the plan of an analysis before the data are seen, for a preregistration.

    The options are those of howlearn select: task, candidates, criteria, exclusions, and what is
    known about the data. howlearn select --frozen then follows the plan, and lists every deviation
    from it.

    For example: howlearn freeze --task five-four --criterion population --exclude "accuracy < 0.55"
    """
    from rich.markup import escape

    from howlearn.analyses.freeze import freeze_plan, paragraph
    from howlearn.analyses.frozen_file import write_plan
    from howlearn.cli import show
    from howlearn.cli.next_command import following

    plan = freeze_plan(
        {
            **data,
            "task": task,
            "criterion": criterion,
            "calibration": None if calibration is None else str(calibration),
            "model": model,
            "add_model": add_model,
            "one_rate": one_rate,
            "experts_from": experts_from,
            "rule": rule.value,
            "form": form.value,
            "max_rate": max_rate,
            "within": within,
            "intervals": intervals,
            "stability": stability,
            "seed": seed,
        }
    )
    plan = write_plan(out, plan, fresh)
    if not plan.candidates:
        show.note(f"no --task was given, so the candidates will come {plan.construction}")
    if not data["exclude"]:
        show.note("the plan excludes nobody; --exclude 'accuracy < 0.55' would")
    show.console.print("For the form of a preregistration:")
    show.console.print(escape(paragraph(plan)), soft_wrap=True)
    show.console.print(escape(f"Plan: {out}"), soft_wrap=True)
    following("select", "FILES", "--frozen", out)
