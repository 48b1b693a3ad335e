"""Commands that simulate learners of a design: ``calibrate``, ``recover`` and ``plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli.build import Given, command
from howlearn.cli.options import (
    CANDIDATES,
    DESIGN_SEED,
    LEARNING,
    LIKE,
    ORDER,
    OUT,
    RUNNING,
    SETTINGS,
    STUDY,
    TRIALS,
    chosen_criteria,
    parse_counts,
    parse_numbers,
    parse_settings_by_model,
)
from howlearn.cli.progress import MODELS as MODEL_OPTIONS
from howlearn.cli.progress import (
    following,
    not_usual,
    refuse_beside_like,
    run_in_folder,
    select_command,
    show_following,
    with_models,
)
from howlearn.core.options import Kind, Number, OneOf, OnOff, Panel, Repeated, WholeNumber
from howlearn.reading.analysis_options import CALIBRATION, CRITERION, TASK

if TYPE_CHECKING:
    from howlearn.analyses.designs import Design
    from howlearn.models.model import Model
    from howlearn.models.task import Task

ASKED = (TASK, *CANDIDATES, *LEARNING)
LEARNERS = Panel.design.option(
    "learners",
    WholeNumber(least=1),
    "Simulated learners per true model.",
    200,
    is_common=True,
)
JUDGES = CRITERION.but(section="")  # howlearn.toml names those of howlearn select


def _task(given: Given) -> tuple[Task, tuple[Model, ...]]:
    """The task that learners are simulated in, and the models that compete."""
    from howlearn.results.inputs import task_models, task_with

    task = task_with(given.task, given.rule, given.form, given.max_rate, given.order)
    return task, task_models(task, given)


# ``howlearn calibrate``: the constants and the error rates of a design, by simulation.

CONSTANTS = Panel.models.option(
    "constants",
    Kind("C,C… | LO:HI:STEP"),
    "Constants c to try; by default 60, from a price of 0.02 to 12 nats per parameter.",
)
SPLITS = Panel.models.option(
    "splits", Kind("S,S… | LO:HI:STEP"), "Splits of the hold-out to try.", "0.1:0.9:0.1"
)
GOAL = Panel.models.option(
    "goal",
    OneOf(words=("maximum", "average")),
    "Which error the constant for howlearn select makes small: the largest over the models (the "
    "paper's choice) or the average one. Both are reported.",
    "maximum",
    is_common=True,
)
CALIBRATED = LEARNERS.but(
    kind=WholeNumber(least=2),
    help="Simulated learners per model; 200 by default. As many fresh ones test the constants.",
    default=None,
)


@command(
    TASK, LIKE, TRIALS, CALIBRATED, ORDER, SETTINGS, DESIGN_SEED, *CANDIDATES, *LEARNING, CONSTANTS,
    SPLITS, GOAL, OUT.but(default=Path("calibration")), *RUNNING, STUDY,
)  # fmt: skip
def calibrate(given: Given) -> None:
    """Find good constants for your design, and its error rates.

    Simulates learners of every candidate model, fits every candidate to each of them, and counts
    how often the wrong model is selected: for every constant c of the penalised likelihood, for
    every split of the hold-out, and for AIC and BIC. Then:

    howlearn select trials.csv --task five-four --calibration calibration
    """
    from howlearn.analyses.calibrate import Calibration, calibrate_design, check_calibration
    from howlearn.analyses.contests import check_candidates
    from howlearn.cli import show
    from howlearn.results.manifest import made_by

    constants = parse_numbers(given.constants, CONSTANTS.word) if given.constants else None
    splits = parse_numbers(given.splits, SPLITS.word) if given.splits else ()
    tried = (constants, splits, given.goal)
    with show.progress_bar("preparing"):
        design, models, files, options = _doubles(given) if given.like else _of_task(given)
    if not given.like:
        show.default_task(given.task)
    check_calibration(design, *tried)
    check_candidates(design, models)
    show.same_models(models)
    for sentence in design.notes:
        show.note(sentence)
    manifest = {
        **made_by("calibrate"),
        "design": design.described(),
        "models": [m.describe() for m in models],
        "splits": list(splits),
    }
    run_in_folder(
        given,
        manifest,
        Calibration,
        lambda *run: calibrate_design(design, models, *tried, *run),
    )
    out = "results2" if given.like else "results"
    words = ("--calibration", str(given.out), "--out", out)
    show_following(select_command(files, options, *words))


# The design, the candidates, and the files and options of the howlearn select that comes next.
Asked = tuple["Design", "tuple[Model, ...]", Sequence[str], Mapping[str, Any]]


def _of_task(given: Given) -> Asked:
    from howlearn.analyses.designs import ENOUGH, TaskDesign

    task, models = _task(given)
    settings = parse_settings_by_model(given.settings)
    learners = given.learners or ENOUGH
    design = TaskDesign(task, models, settings, learners, given.trials, given.seed)
    options = {"task": given.task or task.name, **not_usual(given, MODEL_OPTIONS)}
    return design, models, ["trials.csv"], options


def _doubles(given: Given) -> Asked:
    from howlearn.analyses.designs import LikeDesign
    from howlearn.core.safe_files import own_names
    from howlearn.models.task import Task
    from howlearn.results.inputs import recorded

    # The task may say what actions earn; the user's models are typed to allow their code.
    others = given.of(TRIALS, SETTINGS, *CANDIDATES, *LEARNING, ORDER)
    for name in ("model", "add_model"):
        others[name] = [each for each in others[name] if not own_names(each)]
    refuse_beside_like(others, others, given.like)
    inputs = recorded(given.like)
    study, task = inputs.study, Task.load(given.task) if given.task else inputs.task
    design = LikeDesign(study, inputs.candidates, task, given.learners, given.seed, given.workers)
    files = study.source.files if study.source else ()
    options = {name: value for name, value in inputs.options.items() if name != "criteria"}
    return design, inputs.candidates, files, options


# ``howlearn recover``: are models and parameters found again?

TRUTH = Panel.design.option(
    "truth",
    Repeated("NAME"),
    "A model of which learners are simulated, named as for --model; may be repeated. By default "
    "every candidate.",
    names_code=True,
    is_common=True,
)


@command(
    TASK, TRUTH, TRIALS, LEARNERS, ORDER, SETTINGS, DESIGN_SEED, JUDGES, *CANDIDATES, *LEARNING,
    OUT.but(default=Path("recovery")), *RUNNING, STUDY,
)  # fmt: skip
def recover(given: Given) -> None:
    """See how well models and parameters are recovered from simulated learners.

    How often is the true model selected, which model is selected instead, and how far are the
    estimates from the truth? (howlearn calibrate also searches for better constants.)
    """
    from howlearn.analyses.contests import check_candidates
    from howlearn.analyses.designs import TaskDesign
    from howlearn.analyses.recover import Recovery, recover_design
    from howlearn.cli import show
    from howlearn.fitting.fit import check_models
    from howlearn.results.manifest import made_by
    from howlearn.selection.select import check_criteria

    criteria = check_criteria(chosen_criteria(given.criterion, None)[0])
    task, models = _task(given)
    check_models(models)
    truths = tuple(task.model(name) for name in given.truth) if given.truth else models
    settings = parse_settings_by_model(given.settings)
    design = TaskDesign(task, truths, settings, given.learners, given.trials, given.seed)
    check_candidates(design, models, [t for c in criteria for t in c.truncations])
    show.default_task(given.task)
    show.unequal(criteria, models, len(task.actions))
    manifest = {
        **made_by("recover"),
        "design": design.described(),
        "models": [m.describe() for m in models],
        "truths": [m.describe() for m in truths],
        "criteria": [repr(c) for c in criteria],
    }
    run_in_folder(
        given, manifest, Recovery, lambda *run: recover_design(design, models, criteria, *run)
    )
    words = with_models(given.of(*ASKED))
    following("plan", *words, why="how many trials and learners would do")


# ``howlearn plan``: how many trials and learners, before the experiment.

RANGE = Kind("N,N… | LO:HI | LO:HI:STEP")
NUMBERS = Panel.design.option(
    "trials",
    RANGE,
    "Numbers of trials per learner to compare.",
    "60:600",
    is_common=True,
)
PEOPLE = Panel.design.option(
    "learners",
    RANGE,
    "Numbers of learners in the experiment to compare.",
    "20:200",
    is_common=True,
)
SIMULATED = Panel.design.option(
    "simulated", WholeNumber(least=2), "Simulated learners per model and number of trials.", 200
)
TARGET = Panel.design.option(
    "target",
    Number(),
    "The share of each model's learners that should be recovered.",
    0.8,
    is_common=True,
)

MECHANISMS = Panel.design.option(
    "mechanisms",
    OnOff(),
    "Plan for howlearn mechanisms: how often a mechanism that 30% of people, or all, show would be "
    "found. By default with 100, 200 and 400 trials and 20 and 40 learners; of many numbers four "
    "are tried.",
    False,
)


@command(
    MECHANISMS, TASK, NUMBERS, PEOPLE, ORDER, SETTINGS, SIMULATED, TARGET, DESIGN_SEED, JUDGES,
    CALIBRATION, *CANDIDATES, *LEARNING, OUT.but(default=Path("plan")), *RUNNING, STUDY,
)  # fmt: skip
def plan(given: Given) -> None:
    """Before the experiment: how many trials and learners are needed?

    Simulates learners of every candidate model in your task and shows how often each would be
    recovered, which models would be confused, and how wide the intervals of the shares would be.
    """
    from howlearn.analyses.designs import TaskDesign
    from howlearn.analyses.error_rates import doubts
    from howlearn.analyses.plan import Plan, check_plan, plan_design
    from howlearn.cli import show
    from howlearn.results.manifest import made_by

    if given.mechanisms:
        _plan_mechanisms(given)
        return
    criteria, advice = chosen_criteria(given.criterion, given.calibration)
    show.default_task(given.task)
    task, models = _task(given)
    show.same_models(models)
    numbers = parse_counts(given.trials, NUMBERS.word)
    people = parse_counts(given.learners, PEOPLE.word)
    settings = parse_settings_by_model(given.settings)
    design = TaskDesign(task, models, settings, given.simulated, numbers[-1], given.seed)
    asked = (numbers, people, criteria, given.target)
    check_plan(design, *asked)
    manifest = {
        **made_by("plan"),
        "design": design.described(),
        "models": [m.describe() for m in models],
        "trials": list(numbers),
        "criteria": [repr(c) for c in criteria],
    }
    for sentence in doubts(advice, numbers[-1], models) if advice else ():
        show.note(sentence)
    run_in_folder(given, manifest, Plan, lambda *run: plan_design(design, models, *asked, *run))
    words = with_models(given.of(*ASKED))
    following("freeze", *words, why="write the analysis down before the data are seen")


def _plan_mechanisms(given: Given) -> None:
    """A plan for howlearn mechanisms."""
    from howlearn.analyses.mechanism_plan import (
        LEARNERS,
        TRIALS,
        MechanismPlan,
        check_people,
        plan_mechanisms,
        some_of,
    )
    from howlearn.cli import show
    from howlearn.results.manifest import made_by, task_file_hash
    from howlearn.runs.folder import RunFolder, Start

    show.default_task(given.task)
    task, _ = _task(given)
    numbers, people = (
        usual if asked == option.default else some_of(parse_counts(asked, option.word))
        for option, asked, usual in (
            (NUMBERS, given.trials, TRIALS), (PEOPLE, given.learners, LEARNERS),
        )
    )  # fmt: skip
    check_people(people)
    options = given.of(TASK, NUMBERS, PEOPLE, ORDER, SIMULATED, DESIGN_SEED)
    manifest = {
        **made_by(MechanismPlan.command), "options": options,
        "task_file": task_file_hash(given.task),
    }  # fmt: skip
    with (
        RunFolder(given.out, manifest, MechanismPlan.outputs(), Start(given.fresh)) as run,
        show.progress_bar("simulating") as progress,
    ):
        found = plan_mechanisms(
            task, numbers, people, given.simulated, given.seed, given.workers, progress, store=run
        )
        found.write_files(given.out, "csv")
    show.found(found, given.out)
