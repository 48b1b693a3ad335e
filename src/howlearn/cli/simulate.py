"""``howlearn simulate``: learners who follow a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from howlearn.cli.retype import MODELS as MODEL_OPTIONS
from howlearn.cli.retype import given, refuse_beside_like, select_command
from howlearn.cli.study import takes_study

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.models.task import Task


@takes_study
def simulate(
    out: Annotated[Path, typer.Option("--out", "-o", help="The file: .csv, .tsv or .parquet.")],
    task: TaskOption = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="The model they follow: one of the task's, q-learning, 'q-learning(NAME)', "
            "'NAME+lapse', my_module:MyModel (its code is run: name only files that you trust) … "
            "see `howlearn models`.",
            rich_help_panel=MODELS,
        ),
    ] = "OneForAll",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE[,VALUE…]",
            help="A parameter: one value for all cells, one per cell in the order of "
            "`howlearn models`, or a range LO:HI that each learner and cell draws from. By "
            "default eta=0.03, and what is usual in other models.",
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
    add_model: Annotated[
        list[str] | None,
        typer.Option(
            "--add-model",
            metavar="FILE.py:MODEL",
            help="Beside --like: run the code of a model of your own that is among the candidates "
            "of RESULTS; may be repeated. Name only files that you trust.",
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
    forgone: Annotated[
        bool,
        typer.Option(
            "--forgone",
            help="Learners are also told what the other actions would have earned.",
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
    from howlearn.analyses.doubles import doubles
    from howlearn.cli.parse import parse_settings
    from howlearn.cli.show import console, note, progress_bar
    from howlearn.core.errors import HowlearnError
    from howlearn.models.values import defaults
    from howlearn.results.bids import write_study
    from howlearn.results.inputs import recorded, task_with
    from howlearn.simulation.simulate import simulate as play

    design: dict[str, Any] = {
        "task": task,
        "order": order and order.value,
        "rule": rule.value,
        "form": form.value,
        "max_rate": max_rate,
    }
    values = parse_settings(settings)
    if add_model and not like:
        raise HowlearnError("--add-model goes with --like here; --model is the one they follow")
    with progress_bar("simulating") as progress:
        if like:
            refuse_beside_like({**design, "forgone": forgone}, [*design, "forgone"], like)
            inputs = recorded(like)
            study, notes = doubles(
                inputs, model, values, learners, trials, seed, as_published, progress
            )
            for sentence in notes:
                note(sentence)
            design, chosen = dict(inputs.options), inputs.task
        else:
            chosen = task_with(task, rule.value, form.value, max_rate, order and order.value)
            values = values or defaults(chosen.model(model), chosen.actions)
            study = play(
                chosen,
                model,
                values,
                learners,
                trials,
                seed,
                progress,
                as_published=as_published,
                forgone=forgone,
            )
            design["task"] = task or "five-four"
            if model not in {known.name for known in chosen.candidates}:
                design["add_model"] = [model]
    write_study(study, out, fresh)
    console.print(
        f"{len(study)} learners, {len(study.context)} trials → {out}\n"
        f"Next: {_next(out, design, study, chosen)}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )


def _next(out: Path, options: Mapping[str, Any], study: Study, task: Task | None) -> str:
    """The command that selects among the models of those who were simulated."""
    words = []
    if study.reward_range != (task.reward_range if task else (0.0, 1.0)):
        low, high = study.reward_range
        words += ["--reward-range", f"{low:.12g},{high:.12g}"]
    if study.forgone is not None:
        several = [f"forgone_{action}" for action in study.actions]
        words += ["--forgone", "forgone" if len(study.actions) == 2 else ",".join(several)]
    if study.episode_end is not None:
        words += ["--episode", "episode"]
    if study.duration is not None:
        words += ["--duration", "duration"]
    if study.block_column:
        words += ["--reset-by", study.block_column]
    if study.n_scored.min() < 2:  # who stopped at once
        words += ["--min-trials", "2"]
    return select_command([str(out)], given(options, MODEL_OPTIONS), *words, "--out", "results")
