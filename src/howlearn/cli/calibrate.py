"""``howlearn calibrate``: the constants and the error rates of a design, by simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import MODELS as MODEL_OPTIONS
from howlearn.cli.next_command import not_usual, refuse_beside_like, select_command
from howlearn.cli.options import (
    CANDIDATES,
    DESIGN_SEED,
    LEARNING,
    ORDER,
    OUT,
    RUNNING,
    SETTINGS,
    STUDY,
    TRIALS,
)
from howlearn.core.options import Choice, File, Kind, Option, Panel, Whole
from howlearn.reading.analysis_options import TASK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howlearn.analyses.designs import Design
    from howlearn.models.model import Model


LIKE = Option(
    "like",
    File("RESULTS"),
    "A folder of howlearn select: simulate doubles of its learners, each at its own number of "
    "trials, order of contexts and estimates, from every fitted model.",
    panel=Panel.design,
)
LEARNERS = Option(
    "learners",
    Whole(least=2),
    "Simulated learners per model; 200 by default. As many fresh ones test the constants.",
    panel=Panel.design,
)
CONSTANTS = Option(
    "constants",
    Kind("C,C… | LO:HI:STEP"),
    "Constants c to try; by default 60, from a price of 0.02 to 12 nats per parameter.",
    panel=Panel.models,
)
SPLITS = Option(
    "splits",
    Kind("S,S… | LO:HI:STEP"),
    "Splits of the hold-out to try.",
    "0.1:0.9:0.1",
    Panel.models,
)
WHICH_ERROR = Option(
    "goal",
    Choice(words=("maximum", "average")),
    "Which error the constant for howlearn select makes small: the largest over the models (the "
    "paper's choice) or the average one. Both are reported.",
    "maximum",
    Panel.models,
)
ASKED = (TASK, TRIALS, LEARNERS, SETTINGS, DESIGN_SEED, *CANDIDATES, *LEARNING, ORDER)


@command(
    TASK, LIKE, TRIALS, LEARNERS, ORDER, SETTINGS, DESIGN_SEED, *CANDIDATES, *LEARNING, CONSTANTS,
    SPLITS, WHICH_ERROR, OUT.but(default=Path("calibration")), *RUNNING, STUDY,
)  # fmt: skip
def calibrate(given: Given) -> None:
    """Find good constants for your design, and how often each model would be recognised.

    Simulates learners of every candidate model, fits every candidate to each of them, and counts
    how often the wrong model is selected: for every constant c of the penalised likelihood, for
    every split of the hold-out, and for AIC and BIC. Then:

    howlearn select trials.csv --task five-four --calibration calibration
    """
    from howlearn.analyses.calibrate import (
        Calibration,
        calibrate_design,
        check_calibration,
    )
    from howlearn.analyses.contests import check_candidates
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.cli.options import parse_numbers
    from howlearn.results.analysis import Sentence
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    like, out = given.like, given.out
    constants = parse_numbers(given.constants, CONSTANTS.word) if given.constants else None
    splits = parse_numbers(given.splits, SPLITS.word) if given.splits else ()
    asked = given.of(*ASKED)
    with show.progress_bar("preparing"):
        design, models, following = (
            _doubles(like, asked, given.workers) if like else _of_task(asked)
        )
    if not like:
        show.default_task(given.task)
    check_calibration(design, constants, splits, given.goal)
    check_candidates(design, models)
    show.same_models(models)
    for sentence in design.notes:
        show.note(sentence)
    manifest = {
        **made_by("calibrate"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "splits": list(splits),
    }
    with (
        starting(given) as start,
        RunFolder(out, manifest, Calibration.outputs(), start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = calibrate_design(
                design,
                models,
                constants,
                splits,
                given.goal,
                store,
                given.workers,
                progress,
            )
        result.write_files(out)
    next_out = "results2" if like else "results"
    command = select_command(*following, "--calibration", str(out), "--out", next_out)
    show.found(result, out)
    show.say(Sentence(f"Next: {command}", "next"))


# The design, the candidates, and the files and options of the howlearn select that comes next.
Asked = tuple["Design", "tuple[Model, ...]", "tuple[Sequence[str], Mapping[str, Any]]"]


def _of_task(asked: dict[str, Any]) -> Asked:
    from howlearn.analyses.designs import ENOUGH, TaskDesign
    from howlearn.cli.options import parse_settings_by_model
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
    options = {"task": asked["task"] or task.name, **not_usual(asked, MODEL_OPTIONS)}
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
