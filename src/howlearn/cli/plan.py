"""``howlearn plan``: how many trials and learners, before the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import following, with_models
from howlearn.cli.options import (
    CANDIDATES,
    DESIGN_SEED,
    LEARNING,
    ORDER,
    OUT,
    RUNNING,
    SETTINGS,
    STUDY,
    chosen_criteria,
)
from howlearn.core.options import Kind, Number, Option, Panel, Whole
from howlearn.reading.analysis_options import CALIBRATION, CRITERION, TASK

if TYPE_CHECKING:
    pass

RANGE = Kind("N,N… | LO:HI | LO:HI:STEP")
TRIALS = Option(
    "trials", RANGE, "Numbers of trials per learner to compare.", "60:600", Panel.design
)
LEARNERS = Option(
    "learners", RANGE, "Numbers of learners in the experiment to compare.", "20:200", Panel.design
)
SIMULATED = Option(
    "simulated",
    Whole(least=2),
    "Simulated learners per model and number of trials.",
    200,
    Panel.design,
)
TARGET = Option(
    "target",
    Number(),
    "The share of its learners for whom every model should be recovered.",
    0.8,
    Panel.design,
)


@command(
    TASK, TRIALS, LEARNERS, ORDER, SETTINGS, SIMULATED, TARGET, DESIGN_SEED,
    CRITERION.but(section=""), CALIBRATION, *CANDIDATES, *LEARNING, OUT.but(default=Path("plan")),
    *RUNNING, STUDY,
)  # fmt: skip
def plan(given: Given) -> None:
    """Before the experiment: how many trials and learners are needed?

    Simulates learners of every candidate model in your task and tells how often each would be
    recovered, which models cannot be told apart, and how wide the intervals of the models' shares
    would be.
    """
    from howlearn.analyses.designs import TaskDesign
    from howlearn.analyses.error_rates import doubts
    from howlearn.analyses.plan import Plan, check_plan, plan_design
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.cli.options import parse_counts, parse_settings_by_model
    from howlearn.results.inputs import chosen_models, task_with
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    out, workers, target = given.out, given.workers, given.target
    criteria, advice = chosen_criteria(given.criterion, given.calibration)
    show.default_task(given.task)
    chosen = task_with(given.task, given.rule, given.form, given.max_rate, given.order)
    asked = given.of(TASK, *CANDIDATES, *LEARNING)
    whose = f"task {chosen.name}"
    models = chosen_models(chosen.models, asked, whose, chosen.n_features, (), chosen.mixtures)
    show.same_models(models)
    numbers = parse_counts(given.trials, TRIALS.word)
    people = parse_counts(given.learners, LEARNERS.word)
    by_model = parse_settings_by_model(given.settings)
    design = TaskDesign(chosen, models, by_model, given.simulated, numbers[-1], given.seed)
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
        starting(given) as start,
        RunFolder(out, manifest, Plan.outputs(), start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = plan_design(
                design, models, numbers, people, criteria, target, store, workers, progress
            )
        result.write_files(out)
    show.found(result, out)
    words = with_models(asked)
    following("freeze", *words, why="write the analysis down before the data are seen")
