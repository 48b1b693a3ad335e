"""``howlearn simulate``, ``demo`` and ``models``: learners who follow a model, and the models."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli import Written
from howlearn.cli.build import Given, command
from howlearn.cli.options import (
    DESIGN_SEED,
    FRESH,
    LEARNING,
    LIKE,
    ORDER,
    OUT,
    SETTINGS,
    STUDY,
    TRIALS,
    parse_settings,
)
from howlearn.cli.progress import MODELS as MODEL_OPTIONS
from howlearn.cli.progress import (
    following,
    not_usual,
    refuse_beside_like,
    select_command,
    with_models,
)
from howlearn.core.errors import HowlearnError
from howlearn.core.options import Kind, OnOff, Option, Panel, Repeated, WholeNumber
from howlearn.core.text import many
from howlearn.reading.analysis_options import ADD_MODEL, FORM, MODEL, RULE, TASK

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.models.task import Task


FOLLOWED = MODEL.but(
    kind=Kind(),
    help="The model they follow: one of the task's, q-learning, 'q-learning(NAME)', 'NAME+lapse', "
    "my_module:MyModel (its code is run: name only files that you trust) … see `howlearn models`.",
    default="OneForAll",
)
SET = SETTINGS.but(
    kind=Repeated("NAME=VALUE[,VALUE…]"),
    help="A parameter: one value for all cells, one per cell in the order of `howlearn models`, or "
    "a range LO:HI to draw from. Default: eta=0.03.",
    panel=Panel.models,
)
LEARNERS = Panel.design.option(
    "learners",
    WholeNumber(least=1),
    "How many learners; 10 by default.",
    is_common=True,
)
SHOWN = LIKE.but(
    help="A folder of howlearn select: simulate learners who see the same trials, without --set "
    "with the same estimates."
)
CODE = ADD_MODEL.but(
    kind=Repeated("FILE.py:MODEL"),
    help="With --like: run the code of a model of yours among the candidates of RESULTS; may be "
    "repeated. Name only files that you trust.",
    panel=Panel.design,
)
AS_PUBLISHED = Panel.design.option(
    "as_published",
    OnOff(),
    "Repeat the mistake of the paper's generator: the first reward of every cell is wrong (an "
    "item's number, or another action's reward).",
    False,
)
FORGONE = Panel.design.option(
    "forgone", OnOff(), "Learners are also told what the other actions would have earned.", False
)


@command(
    OUT.but(help="The file: .csv, .tsv or .parquet.", panel=None, is_required=True),
    TASK, FOLLOWED, SET, LEARNERS,
    TRIALS.but(kind=WholeNumber(least=1), help="Trials of each; by default as the task says."),
    ORDER, SHOWN, CODE, AS_PUBLISHED, FORGONE, DESIGN_SEED, *LEARNING, FRESH, STUDY,
)  # fmt: skip
def simulate(given: Given) -> None:
    """Simulate learners who follow a model in a task."""
    from howlearn.analyses.designs import doubles
    from howlearn.cli.show import console, note, progress_bar
    from howlearn.models.values import defaults
    from howlearn.results.bids import write_study
    from howlearn.results.inputs import recorded, task_with
    from howlearn.simulation.simulate import simulate as play

    design = given.of(TASK, ORDER, *LEARNING)
    like, model = given.like, given.model
    sizes = (given.learners, given.trials, given.seed)
    values = parse_settings(given.settings)
    if given.add_model and not like:
        raise HowlearnError("--add-model goes with --like here; --model is the one they follow")
    with progress_bar("simulating") as progress:
        if like:
            shown = {**design, "forgone": given.forgone}
            refuse_beside_like(shown, shown, like)
            inputs = recorded(like)
            study, notes = doubles(inputs, model, values, *sizes, given.as_published, progress)
            for sentence in notes:
                note(sentence)
            design, chosen = dict(inputs.options), inputs.task
        else:
            chosen = task_with(given.task, given.rule, given.form, given.max_rate, given.order)
            values = values or defaults(chosen.model(model), chosen.actions)
            study = play(
                chosen,
                model,
                values,
                *sizes,
                progress,
                as_published=given.as_published,
                forgone=given.forgone,
            )
            design["task"] = given.task or "five-four"
            if model not in {known.name for known in chosen.candidates}:
                design["add_model"] = [model]
    out = given.out
    write_study(study, out, given.fresh)
    Written.complete = True
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
    if study.load is not None:
        words += ["--load", "load"]
    if study.offers is not None:
        words += ["--offered", "offered"]
    if study.block_column:
        words += ["--reset-by", study.block_column]
    if study.n_scored.min() < 2:  # who stopped at once
        words += ["--min-trials", "2"]
    return select_command([str(out)], not_usual(options, MODEL_OPTIONS), *words, "--out", "results")


# ``howlearn demo``: the whole job on simulated learners.


DEMO_LEARNERS = Option("learners", WholeNumber(least=1), "Simulated learners per model.", 10)


@command(
    OUT.but(default=Path("demo")), DEMO_LEARNERS, DESIGN_SEED.but(default=1, panel=None), FRESH
)
def demo(given: Given) -> None:
    """Simulate learners of known models, and find the models again."""
    from rich.markup import escape

    from howlearn.cli.show import console, show_recovery
    from howlearn.core.study import joined
    from howlearn.models.task import Task
    from howlearn.report import charts
    from howlearn.results.bids import write_study
    from howlearn.runs.files import refuse_links
    from howlearn.simulation.simulate import simulate

    out, learners, seed, fresh = given.out, given.learners, given.seed, given.fresh
    task = Task.load("five-four")
    console.print(
        f"[bold]1.[/] Simulating {learners} learners of each of the {len(task.models)} models of "
        "five-four"
    )
    study = joined(
        [
            (m.name, simulate(task, m, {"eta": 0.03}, learners, seed=seed + k))
            for k, m in enumerate(task.models)
        ],
        "true_model",
    )
    trials = out / "trials.csv"
    out.mkdir(parents=True, exist_ok=True)
    refuse_links(out)
    write_study(study, trials, fresh)
    words = ["select", str(trials), "--task", "five-four", "--keep", "true_model"]
    _run(2, [*words, "--out", str(out / "results")], ["--fresh"] if fresh else [])
    told = show_recovery(out / "results" / "selection.csv")
    console.print(f"[bold]3.[/] Were the models found again? {escape(told)}")
    if not charts.available():
        console.print(charts.MISSING, markup=False)
        return
    _run(4, ["report", str(out / "results"), "-o", str(out / "report.html")], [])


def _run(step: int, words: list[str], quiet: list[str]) -> None:
    """Show a command as one would type it, and run it; ``quiet`` is not shown."""
    from rich.markup import escape

    from howlearn.cli.app import app
    from howlearn.cli.show import console

    command = escape(shlex.join(["howlearn", *words]))
    console.print(f"[bold]{step}.[/] {command}", highlight=False, soft_wrap=True)
    Written.is_step = True
    try:
        app([*words, *quiet], standalone_mode=False)
    finally:
        Written.complete = Written.is_step = False


# ``howlearn models``: the candidates of a task, with their cells.


ALL = Option("all", OnOff(), "List everything, with parameters and cells.", False)
MODELS_SHOWN = 13  # a screen


@command(TASK, *LEARNING, ALL, STUDY)
def models(given: Given) -> None:
    """List all models, or those of a task with the order of their cells."""
    from howlearn.models.names import learning_named
    from howlearn.models.task import Task

    if given.task is not None:
        rule = learning_named(given.rule, given.form, given.max_rate)
        _models_of(Task.load(given.task).with_rule(rule), given)
    elif given.all:
        _every_model()
    else:
        _field_in_short()
    if given.task is None:
        following("models", "--task", "five-four", why="the models of a task")


def _field_in_short() -> None:
    """One screen: those that compete by default first."""
    from howlearn.cli.show import console, listing_of, shorter
    from howlearn.models import FIELD
    from howlearn.models.names import ADJUSTMENTS
    from howlearn.models.task import Task

    tasks = Task.shipped()
    console.print(f"Tasks with their own models: {tasks[0]}, {tasks[1]} … {tasks[-1]} (--task)")
    made = sorted((model() for model in FIELD.values()), key=lambda m: not m.default_for)
    listing = listing_of("Models for any task (--model)", "model", "what it is")
    for model in made[:MODELS_SHOWN]:
        listing.add_row(model.name, model.title)
    shorter(listing, MODELS_SHOWN + 5)
    console.print(listing)
    more = len(made) - listing.row_count
    left = f"{many(more, 'more model')}, rules, mixtures" if more > 0 else "Rules, mixtures"
    console.print(
        f"Added to a model, as 'ByShape+lapse': {', '.join(ADJUSTMENTS)}.\n"
        f"{left} and parameters: howlearn models --all"
    )


def _every_model() -> None:
    """Tasks, rules, the field's models, and what can be made of them."""
    from howlearn.cli.show import console, listing_of
    from howlearn.core.rules import RULES
    from howlearn.models import FIELD
    from howlearn.models.names import ADJUSTMENTS, in_cells
    from howlearn.models.task import Task

    listing = listing_of("Tasks", "task", "contexts", "actions", "models")
    for name in Task.shipped():
        known = Task.load(name)
        names = ", ".join(model.name for model in known.models)
        listing.add_row(name, str(len(known.contexts)), "/".join(known.actions), names)
    console.print(listing)
    console.print(f"Rules: {', '.join(f'{r.name} ({r.title})' for r in RULES.values())}")
    listing = listing_of(
        "The field's models, for any task (--model, --add-model; 'field' for all of them)",
        "model", "what it is", "parameters", "needs", "competes by default in",
    )  # fmt: skip
    for name, model in FIELD.items():
        made = model()
        words = (p.name for p in made.parameters), sorted(made.needs), sorted(made.default_for)
        listing.add_row(name, made.title, *map(", ".join, words))
    console.print(listing)
    console.print(
        "In the cells of a partition: 'q-learning(ByShape)'; as --rule: "
        f"{', '.join(in_cells())}."
        "\nAdded to any model, as 'ByShape+lapse': "
        + "; ".join(f"{a.name} ({a.title})" for a in ADJUSTMENTS.values())
        + ".\nMixtures of strategies: 'exp4(ByPattern, ByPatternExc)', "
        "'switch(ByPattern, ByPatternExc)', 'hmm(ByPattern, ByPatternExc)' "
        "(docs/metalearning.md)."
        "\nYour own model: my_module:MyModel (docs/own-model.md)."
    )


def _models_of(task: Task, given: Given) -> None:
    """The candidates of a task; --all also if they are many."""
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of, shorter

    own = [unit.rule for model in task.models for unit in model.units]
    rules = dict.fromkeys(
        " ".join([each.title, *(f"({form})" for form in each.described_form.values())])
        for each in own
    )
    title = f"Models of {task.name} (rule: {', '.join(rules)})"
    listing = listing_of(title, "model", "parameters", "cells")
    for model in task.models:
        cells = "  ".join(unit.name for unit in model.units)
        listing.add_row(*map(escape, (model.name, str(len(model.owned)), cells)))
    for mixture in task.mixtures:
        count = str(mixture.n_parameters(len(task.actions)))
        experts = "  ".join(expert.name for expert in mixture.experts)
        listing.add_row(*map(escape, (mixture.name, count, experts)))
    if not given.all and (more := shorter(listing, 18)):
        console.print(listing)
        console.print(f"and {more} more: --all")
    else:
        console.print(listing)
    shares = escape(", ".join(f"p({a})" for a in task.actions[:-1]))
    console.print(
        "Also available: 'NAME (one rate)' for models with several cells, and Coin, which does not "
        f"learn (its parameters: {shares}); the field's models and your own: howlearn models."
    )
    words = with_models(given.of(TASK, RULE, FORM))
    following("simulate", *words, "--model", task.models[-1].name, "--out", "trials.csv")
