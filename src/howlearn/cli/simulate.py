"""``howlearn simulate``: learners who follow a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from howlearn.cli.options import (
    MODELS,
    Form,
    FormName,
    Fresh,
    MaxRate,
    Rule,
    RuleName,
    TaskOption,
)


def simulate(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file: .csv, .tsv or .parquet.")],
    task: TaskOption = "five-four",
    model: Annotated[
        str, typer.Option("--model", help="The model they follow.", rich_help_panel=MODELS)
    ] = "OneForAll",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE[,VALUE…]",
            help="A parameter: one value for all cells, or one per cell in the order of "
            "`howlearn models`. By default eta=0.03.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    learners: Annotated[int, typer.Option(min=1, help="How many learners.")] = 10,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of each; by default as the task says.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same learners.")] = 0,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    fresh: Fresh = False,
) -> None:
    """Simulate learners who follow a model in a task."""
    from howlearn.cli.show import console, progress_bar
    from howlearn.rules import rule_named
    from howlearn.simulation import simulate as play
    from howlearn.task import Task
    from howlearn.writing import write_study

    chosen = Task.load(task or "five-four").with_rule(rule_named(rule.value, form.value, max_rate))
    values = parse_settings(settings) or defaults(chosen.model(model), chosen.actions)
    with progress_bar("simulating") as progress:
        study = play(chosen, model, values, learners, trials, seed, progress)
    write_study(study, out, fresh)
    console.print(
        f"{len(study)} learners, {len(study.context)} trials → {out}\n"
        f"Next: howlearn select {out} --task {task} --out results",
        highlight=False,
        soft_wrap=True,
    )


def defaults(model: object, actions: Sequence[str]) -> dict[str, list[float]]:
    """Values for a model whose parameters were not set; a coin is then fair."""
    from howlearn.models import PartitionModel

    if not isinstance(model, PartitionModel):
        return {f"p({action})": [1.0 / len(actions)] for action in actions[:-1]}
    values: dict[str, list[float]] = {}
    for _, parameter in model.parameters:
        values.setdefault(parameter.name, []).append(parameter.default)
    return values


def parse_settings(settings: list[str] | None) -> dict[str, list[float]]:
    """Parameters from ``eta=0.03`` or ``eta=0.003,0.010``.

    >>> parse_settings(["eta=0.03,0.1", "gamma=0.2"])
    {'eta': [0.03, 0.1], 'gamma': [0.2]}
    """
    from howlearn.errors import HowlearnError

    values: dict[str, list[float]] = {}
    for text in settings or []:
        name, equals, numbers = text.rpartition("=")
        try:
            if not equals or name.strip() in values:
                raise ValueError
            values[name.strip()] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise HowlearnError(
                f"--set {text!r}: write each parameter once, as eta=0.03 or eta=0.003,0.010"
            ) from None
    return values
