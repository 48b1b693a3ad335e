"""``howlearn select``: which model explains each learner best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howlearn.cli.next_command import following
from howlearn.cli.options import (
    MODELS,
    OUTPUT,
    AddModel,
    CalibrationFolder,
    Criteria,
    Dask,
    ExpertsFrom,
    Form,
    FormatName,
    FormName,
    Fresh,
    MaxRate,
    ModelNames,
    OneRate,
    OutFolder,
    Rule,
    RuleName,
    ShardOption,
    TaskOption,
    Threads,
    chosen_criteria,
)
from howlearn.cli.project_options import DATA_OPTIONS, Files, Given, Typed, merge, takes_data

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Advice
    from howlearn.analyses.deviations import Deviation
    from howlearn.reading.project_file import StudyFile
    from howlearn.results.inputs import Inputs
    from howlearn.runs.folder import Format
    from howlearn.selection.criterion import Criterion


# --------------------
# ``select --frozen``: follow a plan, and list whatever is done otherwise.


NONE = "none"
FrozenOption = Annotated[
    Path | None,
    typer.Option(
        "--frozen",
        metavar="FILE|none",
        help="Follow a plan that howlearn freeze wrote, and list whatever is done otherwise. "
        "frozen.toml in this folder is followed unless this is 'none'.",
        rich_help_panel=MODELS,
    ),
]


def follow(
    given: dict[str, Any], data: dict[str, Any], study: StudyFile | None, typed: Typed
) -> Path | None:
    """Put the plan's values where nothing was typed; the plan's file, if there is one.

    What howlearn.toml says otherwise than the plan is not done, and told.
    """
    path = _found(given["frozen"])
    if path is None:
        return None
    from howlearn.analyses.frozen_file import options_of, read_plan
    from howlearn.cli import show

    plan = read_plan(path)
    planned = options_of(path, plan)
    if study is not None:
        for name, value in {**study.data, **study.models}.items():
            mine = {**planned.data, **planned.models}.get(name, value)
            if name not in typed and mine != value:
                show.note(
                    f"{study.path} has another {name} than the plan {path}, which is followed; "
                    "type the option to do otherwise"
                )
    merge("select", planned, typed, given)
    data.update((n, v) for n, v in planned.data.items() if n not in typed)
    return path


def _found(named: Path | None) -> Path | None:
    """The plan that was named, or the one of this folder."""
    from howlearn.analyses.freeze import NAME
    from howlearn.cli import show

    if named is not None:
        return None if str(named) == NONE else named
    here = Path(NAME)
    if not here.is_file():
        return None
    show.note(f"the plan {NAME} of this folder is followed; --frozen none does without")
    return here


def compared(
    path: Path | None,
    options: Mapping[str, Any],
    criteria: Sequence[Criterion],
    inputs: Inputs,
    advice: Advice | None,
) -> list[Deviation] | None:
    """What is done otherwise than planned; None without a plan."""
    if path is None:
        return None
    from howlearn.analyses.deviations import deviations
    from howlearn.analyses.frozen_file import read_plan

    n_learners = len(set(inputs.study.without_excluded().learners))
    plan = read_plan(path)
    return deviations(plan, options, criteria, inputs.candidates, n_learners, advice)


def recorded(path: Path, found: Sequence[Deviation]) -> dict[str, Any]:
    """The plan and the deviations as the manifest has them."""
    from dataclasses import asdict

    from howlearn.analyses.frozen_file import read_plan

    plan = read_plan(path)
    known = {"file": str(path), "sha256": plan.sha256, "howlearn": plan.howlearn}
    return {"frozen": known, "deviations": [asdict(each) for each in found]}


def write_deviations(found: Sequence[Deviation], out: Path, format: Format) -> None:
    """The table of what was done otherwise."""
    from functools import partial

    from howlearn.analyses.deviations import table
    from howlearn.core.csv_tables import write_csv
    from howlearn.runs.files import write_whole

    frame = table(found)
    write = partial(write_csv, frame) if format == "csv" else frame.write_parquet
    write_whole(out / f"deviations.{format}", write)


@takes_data
def select(
    files: Files,
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
    frozen: FrozenOption = None,
    data: Given = DATA_OPTIONS,
    out: OutFolder = Path("results"),
    format: Annotated[
        FormatName, typer.Option(help="How tables are written.", rich_help_panel=OUTPUT)
    ] = FormatName.csv,
    predictions: Annotated[
        bool,
        typer.Option(
            "--predictions",
            help="Also write the probability of every action, one row per input row.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    latents: Annotated[
        bool,
        typer.Option(
            "--latents",
            help="With --predictions: also the latent variables of the models (values, prediction "
            "errors, attention …) and the input's own columns; BIDS events files of them too.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    predict_with: Annotated[
        str | None,
        typer.Option(
            "--predict-with",
            metavar="MODEL",
            help="The candidate for the predictions of all learners, in place of the one that is "
            "selected for each.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="Also write the weight of every strategy of exp4(…) and switch(…) at every trial, "
            "per learner and averaged, when the leading one changes, and charts of them.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            help="Also write lowest.csv: the smallest probability of any action under every fit, "
            "the first trial where one falls under epsilon (such as 0.05), and the paper's T.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option(
            "--intervals",
            metavar="LEVEL",
            help="Intervals for the parameters of all models, at this level. Without it, 0.95 for "
            "models that are fitted cell by cell; for others they take as long as the fit.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    stability: Annotated[
        int | None,
        typer.Option(
            "--stability",
            metavar="DOUBLES",
            help="Also write stability.csv: how often so many simulated doubles of each learner "
            "(such as 100) are given the same model.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="For --stability: other doubles.", rich_help_panel=OUTPUT)
    ] = 0,
    fresh: Fresh = False,
    workers: Threads = None,
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
    """Find, for every learner, the model that explains the choices best.

    Columns with common names are found by themselves. A verdict is "clear" if no other model, and
    not learning at all, comes within 2 nats; see --within. EXPR compares columns with numbers and
    quoted text: "rt > 0.2 and phase in ['learn', 'test']", "choice != missing".

    For example: howlearn select trials.csv --task five-four --exclude "accuracy < 0.55"
    """
    from dataclasses import replace

    import numpy as np

    from howlearn.analyses.calibrate import confusions, doubts
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.core.errors import HowlearnError
    from howlearn.results.chunk import Wanted
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of
    from howlearn.results.select_into import write_selection
    from howlearn.selection.criteria import usual
    from howlearn.selection.share_tables import doubts as share_doubts

    for option, given in (("--latents", latents), ("--predict-with", predict_with is not None)):
        if given and not predictions:
            raise HowlearnError(f"{option} needs predictions: give --predictions too")
    criteria, advice = chosen_criteria(criterion, calibration)
    options = {
        "task": task,
        **data,
        "within": within,
        "rule": rule.value,
        "form": form.value,
        "max_rate": max_rate,
        "format": format.value,
        "model": model or [],
        "add_model": add_model or [],
        "one_rate": one_rate,
        "experts_from": experts_from,
        "calibration": str(calibration) if calibration else None,
        "calibrated": [repr(c) for c in advice.criteria] if advice else [],
        "predictions": predictions,
        "latents": latents,
        "predict_with": predict_with,
        "weights": weights,
        "epsilon": epsilon,
        "intervals": intervals,
        "stability": stability,
        "seed": seed,
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in files], options, with_excluded=True)
    study, candidates = inputs.study, inputs.candidates
    if not criterion and calibration is None:
        criteria = usual(len(set(study.without_excluded().learners)))
    options["criteria"] = [repr(c) for c in criteria]
    show.reading(study)
    show.same_models(candidates)
    show.unequal(criteria, candidates, len(study.actions))
    n_trials = float(np.median(study.n_scored))
    for note in doubts(advice, n_trials, candidates) if advice else ():
        show.note(note)
    same = advice is not None and {*advice.models} == {model.name for model in candidates}
    known = confusions(advice) if advice and same else {}
    for note in share_doubts(known, [repr(c) for c in criteria]):
        show.note(note)
    extras = []
    if stability is not None:
        from howlearn.analyses.stability import stability_of

        extras.append(stability_of(inputs.task, stability, seed))
    manifest = manifest_of(files, study, candidates, options)
    otherwise = compared(frozen, options, criteria, inputs, advice)
    if frozen is not None and otherwise is not None:
        manifest |= recorded(frozen, otherwise)
    wanted = Wanted(
        candidates,
        criteria,
        within,
        intervals,
        predictions,
        latents,
        predict_with,
        weights,
        epsilon,
        extras,
    )
    with (
        starting(out, fresh, workers, dask, shard) as start,
        show.progress_bar("fitting") as progress,
    ):
        found = write_selection(
            out, study, wanted, manifest, format.value, start, progress, known, inputs.task
        )
    if frozen is not None and otherwise is not None:
        write_deviations(otherwise, out, format.value)
    if weights:
        from howlearn.report import charts

        show.save_charts(lambda: charts.of_weights(out, candidates), out)
    show.found(replace(found, usual=not (criterion or calibration)))
    following("report", out, "-o", "report.html", why="everything to look at, in one file")
