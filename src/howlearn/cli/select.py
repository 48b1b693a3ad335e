"""``howlearn select``: which model explains each learner best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from howlearn.cli.options import (
    DATA,
    MODELS,
    OUTPUT,
    AddModel,
    CalibrationFolder,
    Criteria,
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
    TaskOption,
    Threads,
    chosen_criteria,
    commas,
)


def _column(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="COL", help=help, rich_help_panel=DATA)


def _columns(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="COL[,COL]", help=help, rich_help_panel=DATA)


def _expression(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="EXPR", help=help, rich_help_panel=DATA)


def select(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES…",
            help="CSV, TSV or Parquet: one file with a column for the learner, or many files or a "
            "folder with one learner each.",
        ),
    ],
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
    learner: Annotated[
        str | None,
        _column(
            "--learner",
            "--participant",
            "--subject",
            help="Who (also --participant, --subject); 'file' if each file is one learner.",
        ),
    ] = None,
    context: Annotated[
        str | None, _columns("--context", help="What was shown; 'none' if always the same.")
    ] = None,
    action: Annotated[str | None, _column("--action", help="What was chosen.")] = None,
    reward: Annotated[str | None, _column("--reward", help="What it earned, 0 to 1.")] = None,
    trial: Annotated[
        str | None, _column("--trial", help="Its number; 'none' for the order of the rows.")
    ] = None,
    features: Annotated[
        str | None,
        _columns("--features", help="Columns that describe a context; each gives candidates."),
    ] = None,
    by: Annotated[
        str | None, _columns("--by", help="Conditions: each learner × condition on its own.")
    ] = None,
    keep: Annotated[
        str | None, _columns("--keep", help="Columns to carry into every table (group, age).")
    ] = None,
    reset_by: Annotated[
        str | None, _columns("--reset-by", help="Learning starts anew where these change.")
    ] = None,
    where: Annotated[
        str | None, _expression("--where", help="Rows to use, as \"phase == 'learn'\".")
    ] = None,
    test_when: Annotated[
        str | None, _expression("--test-when", help="Choices without feedback: they only count.")
    ] = None,
    forced_when: Annotated[
        str | None, _expression("--forced-when", help="Instructed choices: they only teach.")
    ] = None,
    scored: Annotated[
        str | None, _column("--scored", help="Whether a trial counts for the likelihood.")
    ] = None,
    learned: Annotated[
        str | None, _column("--learned", help="Whether a trial teaches the learner.")
    ] = None,
    recode: Annotated[
        list[str] | None,
        typer.Option(
            "--recode",
            metavar="COL:OLD=NEW,…",
            help="As reward:-1=0,1=1; may be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="VALUE[,VALUE]",
            help="Values that mean nothing was recorded, as --missing=-1,n/a.",
            rich_help_panel=DATA,
        ),
    ] = None,
    reward_range: Annotated[
        str | None,
        typer.Option(
            "--reward-range",
            metavar="LO,HI",
            help="Accept rewards outside [0,1], as recorded.",
            rich_help_panel=DATA,
        ),
    ] = None,
    min_trials: Annotated[
        int | None,
        typer.Option(
            "--min-trials", help="Leave learners with fewer trials out.", rich_help_panel=DATA
        ),
    ] = None,
    forgone: Annotated[
        str | None,
        _columns(
            "--forgone",
            help="What the other of two actions would have earned; or one column per action.",
        ),
    ] = None,
    episode: Annotated[
        str | None, _column("--episode", help="Trials in a row with the same value are an episode.")
    ] = None,
    duration: Annotated[
        str | None, _column("--duration", help="The time spent on the trial.")
    ] = None,
    bin: Annotated[
        list[str] | None,
        typer.Option(
            "--bin",
            metavar="COL:N|CUT,CUT…",
            help="Make N bins, or bins between cut points, of a context's or feature's numbers; "
            "may be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
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
) -> None:
    """Find, for every learner, the model that explains the choices best.

    Columns with common names are found by themselves. A verdict is "clear" if no other model, and
    not learning at all, comes within 2 nats; see --within. EXPR compares columns with numbers and
    quoted text: "rt > 0.2 and phase in ['learn', 'test']", "choice != missing".
    """
    import numpy as np

    from howlearn.calibration.advice import doubts
    from howlearn.cli import show
    from howlearn.errors import HowlearnError
    from howlearn.inputs import load
    from howlearn.manifest import manifest_of
    from howlearn.results import select_into

    for option, given in (("--latents", latents), ("--predict-with", predict_with is not None)):
        if given and not predictions:
            raise HowlearnError(f"{option} needs predictions: give --predictions too")
    criteria, advice = chosen_criteria(criterion, calibration)
    options = {
        "task": task,
        "learner": learner,
        "context": commas(context),
        "action": action,
        "reward": reward,
        "trial": trial,
        "features": commas(features),
        "by": commas(by),
        "keep": commas(keep),
        "reset_by": commas(reset_by),
        "scored": scored,
        "learned": learned,
        "where": where,
        "test_when": test_when,
        "forced_when": forced_when,
        "recode": tuple(recode or ()),
        "missing": tuple((missing or "").split(",")) if missing is not None else (),
        "reward_range": commas(reward_range) or None,
        "min_trials": min_trials,
        "forgone": commas(forgone),
        "episode": episode,
        "duration": duration,
        "bin": tuple(bin or ()),
        "criteria": [repr(c) for c in criteria],
        "within": within,
        "rule": rule.value,
        "form": form.value,
        "max_rate": max_rate,
        "format": format.value,
        "model": model or [],
        "add_model": add_model or [],
        "one_rate": one_rate,
        "experts_from": experts_from,
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
        inputs = load([str(file) for file in files], options)
    study, candidates = inputs.study, inputs.candidates
    show.reading(study)
    show.same_models(candidates)
    show.unequal(criteria, candidates, len(study.actions))
    n_trials = float(np.median(study.n_scored))
    for note in doubts(advice, n_trials, candidates) if advice else ():
        show.note(note)
    extras = []
    if stability is not None:
        from howlearn.calibration.bootstrap import stability_of

        extras.append(stability_of(study, inputs.task, stability, seed, workers))
    manifest = manifest_of(files, study, candidates, options)
    with show.progress_bar("fitting") as progress:
        summary = select_into(
            out,
            study,
            candidates,
            criteria,
            manifest,
            within,
            format.value,
            predictions,
            fresh,
            workers,
            progress,
            latents,
            predict_with,
            weights,
            epsilon,
            intervals,
            extras,
        )
    if weights:
        from howlearn.report import charts

        show.save_charts(lambda: charts.of_weights(out, candidates), out)
    show.summary(summary, criteria, candidates, study, out, within, not (criterion or calibration))
    if stability is not None:
        show.stability(out, criteria)
    if weights:
        show.weights(out, candidates, study)
