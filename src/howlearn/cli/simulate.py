"""``howlearn simulate``: learners who follow a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howlearn.cli.options import (
    DESIGN,
    MODELS,
    Form,
    FormName,
    Fresh,
    MaxRate,
    Order,
    Rule,
    RuleName,
    Seed,
    TaskOption,
)


def simulate(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file: .csv, .tsv or .parquet.")],
    task: TaskOption = None,
    model: Annotated[
        str, typer.Option("--model", help="The model they follow.", rich_help_panel=MODELS)
    ] = "OneForAll",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE[,VALUE…]",
            help="A parameter: one value for all cells, one per cell in the order of "
            "`howlearn models`, or a range LO:HI that each learner and cell draws from. By "
            "default eta=0.03.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    learners: Annotated[
        int | None,
        typer.Option(min=1, help="How many learners; 10 by default.", rich_help_panel=DESIGN),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trials of each; by default as the task says.", rich_help_panel=DESIGN
        ),
    ] = None,
    order: Order = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="RESULTS",
            help="A folder of howlearn select: show each learner what one of its learners was "
            "shown; without --set at that learner's estimates.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published",
            help="Repeat the mistake of the paper's generator: the first reward of every cell is "
            "wrong (an item's number, or another action's reward).",
            rich_help_panel=DESIGN,
        ),
    ] = False,
    seed: Seed = 0,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    fresh: Fresh = False,
) -> None:
    """Simulate learners who follow a model in a task."""
    from howlearn.calibration.design import doubles
    from howlearn.cli.parse import parse_settings
    from howlearn.cli.show import console, note, progress_bar
    from howlearn.inputs import recorded, task_with
    from howlearn.simulation import simulate as play
    from howlearn.simulation.values import defaults
    from howlearn.writing import write_study

    values = parse_settings(settings)
    with progress_bar("simulating") as progress:
        if like:
            inputs = recorded(like)
            study, notes = doubles(
                inputs, model, values, learners, trials, seed, as_published, progress
            )
            for sentence in notes:
                note(sentence)
        else:
            chosen = task_with(task, rule.value, form.value, max_rate, order and order.value)
            values = values or defaults(chosen.model(model), chosen.actions)
            study = play(
                chosen, model, values, learners, trials, seed, progress, as_published=as_published
            )
    write_study(study, out, fresh)
    options = f" --task {task or 'five-four'}" if not like else ""
    if as_published:
        options += f" --reward-range {study.reward_range[0]:g},{study.reward_range[1]:g}"
    console.print(
        f"{len(study)} learners, {len(study.context)} trials → {out}\n"
        f"Next: howlearn select {out}{options} --out results",
        highlight=False,
        soft_wrap=True,
    )
