"""``howlearn plan``: how many trials and learners, before the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.next_command import following, with_models
from howlearn.cli.options import (
    DESIGN,
    AddModel,
    CalibrationFolder,
    Criteria,
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
    chosen_criteria,
)
from howlearn.cli.project_options import takes_study

if TYPE_CHECKING:
    from howlearn.analyses.plan import Plan
    from howlearn.report.style import Chart


@takes_study
def plan(
    task: TaskOption = None,
    trials: Annotated[
        str,
        typer.Option(
            metavar="N,N… | LO:HI | LO:HI:STEP",
            help="Numbers of trials per learner to compare.",
            rich_help_panel=DESIGN,
        ),
    ] = "60:600",
    learners: Annotated[
        str,
        typer.Option(
            metavar="N,N… | LO:HI | LO:HI:STEP",
            help="Numbers of learners in the experiment to compare.",
            rich_help_panel=DESIGN,
        ),
    ] = "20:200",
    order: Order = None,
    settings: SettingsByModel = None,
    simulated: Annotated[
        int,
        typer.Option(
            min=2,
            help="Simulated learners per model and number of trials.",
            rich_help_panel=DESIGN,
        ),
    ] = 200,
    target: Annotated[
        float,
        typer.Option(
            help="The share of its learners for whom every model should be recovered.",
            rich_help_panel=DESIGN,
        ),
    ] = 0.8,
    seed: Seed = 0,
    criterion: Criteria = None,
    calibration: CalibrationFolder = None,
    model: ModelNames = None,
    add_model: AddModel = None,
    one_rate: OneRate = False,
    experts_from: ExpertsFrom = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    out: OutFolder = Path("plan"),
    fresh: Fresh = False,
    workers: Threads = None,
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
    """Before the experiment: how many trials and learners are needed?

    Simulates learners of every candidate model in your task and tells how often each would be
    recovered, which models cannot be told apart, and how wide the intervals of the models' shares
    would be.
    """
    from howlearn.analyses.calibrate import PLAN_OUTPUTS, doubts, write_plan
    from howlearn.analyses.designs import TaskDesign
    from howlearn.analyses.plan import check_plan, plan_design
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.cli.options import parse_counts, parse_settings_by_model
    from howlearn.results.inputs import chosen_models, task_with
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    criteria, advice = chosen_criteria(criterion, calibration)
    show.default_task(task)
    chosen = task_with(task, rule.value, form.value, max_rate, order and order.value)
    asked = {
        "model": model or [], "add_model": add_model or [], "one_rate": one_rate,
        "experts_from": experts_from,
    }  # fmt: skip
    learning = {"rule": rule.value, "form": form.value, "max_rate": max_rate}
    models = chosen_models(
        chosen.models, asked, f"task {chosen.name}", chosen.n_features, (), chosen.mixtures
    )
    show.same_models(models)
    numbers = parse_counts(trials, "--trials")
    people = parse_counts(learners, "--learners")
    by_model = parse_settings_by_model(settings)
    design = TaskDesign(chosen, models, by_model, simulated, numbers[-1], seed)
    check_plan(design, numbers, people, criteria, target)
    manifest = {
        **made_by("plan"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "trials": list(numbers),
        "criteria": [repr(c) for c in criteria],
    }
    for sentence in doubts(advice, numbers[-1], models) if advice else ():
        show.note(sentence)
    with (
        starting(out, fresh, workers, dask, shard) as start,
        RunFolder(out, manifest, PLAN_OUTPUTS, start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = plan_design(
                design, models, numbers, people, criteria, target, store, workers, progress
            )
        for sentence in result.notes:
            show.note(sentence)
        write_plan(out, result)
    _show(result, out)
    words = with_models({"task": task, **asked, **learning})
    following("freeze", *words, why="write the analysis down before the data are seen")


def _show(result: Plan, out: Path) -> None:
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of, save_charts

    for criterion in result.criteria:
        title = f"Learners whose model is recovered by {criterion!r}"
        listing = listing_of(title, "true model", *(f"{n:,}" for n in result.trials))
        mine = result.recovered.filter(criterion=repr(criterion))
        for truth in result.models:
            row = mine.filter(true_model=truth)["recovered"]
            listing.add_row(escape(truth), *(f"{share:.0%}" for share in row))
        console.print(listing)
    for sentence in result.sentences:
        console.print(escape(sentence), soft_wrap=True)

    def charts() -> dict[str, Chart]:
        from howlearn.report.charts import of_plan

        return of_plan(result)

    save_charts(charts, out)
    console.print(escape(f"Tables: {out}/"), soft_wrap=True)
