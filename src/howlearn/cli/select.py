"""``howlearn select``: which model explains each learner best; ``freeze``: plan that first."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli import Written
from howlearn.cli.build import Given, command, merge, refuse_outside_of
from howlearn.cli.options import (
    CANDIDATES,
    DATA,
    FILES,
    FORMAT,
    FRESH,
    LEARNING,
    OUT,
    RUNNING,
    STUDY,
    chosen_criteria,
)
from howlearn.cli.progress import following, starting
from howlearn.core.errors import HowlearnError
from howlearn.core.options import NONE, FilePath, Kind, Number, OnOff, Option, Panel
from howlearn.reading.analysis_options import (
    CALIBRATION,
    CRITERION,
    INTERVALS,
    MODELS,
    NO_FIELD,
    SEED,
    STABILITY,
    TASK,
    WITHIN,
)
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.analyses.deviations import Deviation
    from howlearn.analyses.error_rates import Advice
    from howlearn.reading.project_file import StudyFile
    from howlearn.results.chunk import Wanted
    from howlearn.results.inputs import Inputs
    from howlearn.results.results import Results
    from howlearn.selection.criterion import Criterion
    from howlearn.selection.share_tables import Known

PREDICTIONS = Panel.output.option(
    "predictions",
    OnOff(),
    "Also write the probability of every action, one row per input row.",
    False,
)
LATENTS = Panel.output.option(
    "latents",
    OnOff(),
    "With --predictions: also the latent variables of the models (values, prediction errors, "
    "attention …) and the input's own columns; BIDS events files of them too.",
    False,
)
PREDICT_WITH = Panel.output.option(
    "predict_with",
    Kind("MODEL"),
    "Use this candidate for the predictions of all learners, instead of each one's selected model.",
)
WEIGHTS = Panel.output.option(
    "weights",
    OnOff(),
    "Also write the weights of the strategies in exp4(…), switch(…) and hmm(…) at every trial, "
    "with charts.",
    False,
)
EPSILON = Panel.output.option(
    "epsilon",
    Number(),
    "Also write lowest.csv: the smallest probability of an action under every fit, the first "
    "trial where it is below epsilon (for example 0.05), and the paper's T.",
)
NO_CHECK = Panel.output.option(
    "no_check",
    OnOff(),
    "Skip the check whether the selected models behave like the learners. Without it, verdicts do "
    "not say whether the candidates fit.",
    False,
)
FROZEN = Panel.models.option(
    "frozen",
    FilePath("FILE|none"),
    "Follow a plan that howlearn freeze wrote, and list every deviation. By default frozen.toml in "
    "this folder; 'none' ignores it.",
)
EXTRAS = (PREDICTIONS, LATENTS, PREDICT_WITH, WEIGHTS, EPSILON, INTERVALS, STABILITY, SEED)


@command(
    FILES, STUDY, TASK, CRITERION, CALIBRATION, *CANDIDATES, NO_FIELD, *LEARNING, WITHIN,
    FROZEN, *DATA, OUT.but(default=Path("results")), FORMAT, *EXTRAS, NO_CHECK, *RUNNING,
)  # fmt: skip
def select(given: Given) -> None:
    """Find the model that explains each learner's choices best.

    Run howlearn inspect first: it finds the columns and writes howlearn.toml. EXPR compares columns
    with numbers and quoted text: "rt > 0.2 and phase in ['learn', 'test']", "choice != missing".

    For example: howlearn select trials.csv --task five-four --exclude "accuracy < 0.55"
    """
    from howlearn.cli import show
    from howlearn.core.columns import of
    from howlearn.results.analysis import write_tables
    from howlearn.results.inputs import load
    from howlearn.results.manifest import completeness_of, manifest_of
    from howlearn.results.select_into import write_selection
    from howlearn.selection.criteria import usual

    for option in (LATENTS, PREDICT_WITH):
        if given[option.name] not in (None, False) and not given.predictions:
            raise HowlearnError(f"{option.word} needs predictions: give --predictions too")
    criteria, advice = chosen_criteria(given.criterion, given.calibration)
    options = {
        **given.of(TASK, *READING.values(), WITHIN, *LEARNING, FORMAT, *CANDIDATES, NO_FIELD),
        **given.of(CALIBRATION),
        "calibrated": [repr(c) for c in advice.criteria] if advice else [],
        **given.of(*EXTRAS),
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in given.files], options, with_excluded=True)
    study, candidates, out = inputs.study, inputs.candidates, given.out
    by_default = not given.criterion and given.calibration is None
    if by_default:
        criteria = usual(len(set(study.without_excluded().learners)))
    options["criteria"] = [repr(c) for c in criteria]
    known = _told(inputs, criteria, advice)
    manifest = manifest_of(given.files, study, candidates, options)
    otherwise, plan = compared(given.frozen, options, criteria, inputs, advice)
    wanted = _wanted(given, inputs, criteria)
    known_fit = {} if given.fresh else completeness_of(out)
    with starting(given) as start, show.progress_bar("fitting") as progress:
        found = write_selection(
            out, study, wanted, manifest | plan, given.format, start, progress, known, inputs.task
        )
    if plan:
        deviations = of("deviations").of_rows([astuple(each) for each in otherwise])
        write_tables(out, {"deviations": deviations}, given.format)
    found = _with_fit(found, given, known_fit)
    show.found(replace(found, usual=by_default), out)
    following("report", out, "-o", "report.html", why="all results on one page")


def _with_fit(found: Results, given: Given, known: Mapping[str, Any]) -> Results:
    """The results with what is known of the fit of the candidates, in manifest and verdicts."""
    from howlearn.analyses.check import fit_of_selection, not_checked
    from howlearn.cli import show

    if given.no_check:
        told = not_checked("--no-check")
    else:
        with show.progress_bar("checking"):
            told = fit_of_selection(found, given.seed, given.workers)
    return found.with_fit({**known, **told})


def _told(
    inputs: Inputs, criteria: Sequence[Criterion], advice: Advice | None
) -> Mapping[str, Known]:
    """Say what one should know before the fits; how the criteria confuse the candidates."""
    import numpy as np

    from howlearn.analyses.error_rates import confusions, doubts
    from howlearn.cli import show
    from howlearn.selection.share_tables import doubts as share_doubts

    study, candidates = inputs.study, inputs.candidates
    show.reading(study)
    show.competing(candidates)
    show.same_models(candidates)
    show.unequal(criteria, candidates, len(study.actions))
    known: Mapping[str, Known] = {}
    if advice is not None:
        for note in doubts(advice, float(np.median(study.n_scored)), candidates):
            show.note(note)
        if {*advice.models} == {model.name for model in candidates}:
            known = confusions(advice)
    for note in share_doubts(known, [repr(c) for c in criteria]):
        show.note(note)
    return known


def _wanted(given: Given, inputs: Inputs, criteria: Sequence[Criterion]) -> Wanted:
    """What is done for every learner."""
    from howlearn.results.chunk import Wanted

    extras = []
    if given.stability is not None:
        from howlearn.analyses.doubles import stability_of

        extras.append(stability_of(inputs.task, given.stability, given.seed))
    return Wanted(
        inputs.candidates,
        criteria,
        given.within,
        given.intervals,
        given.predictions,
        given.latents,
        given.predict_with,
        given.weights,
        given.epsilon,
        extras,
    )


# ``howlearn freeze``: the plan of an analysis, before the data are seen; and to follow it.


@command(
    *(option for option in MODELS.values() if option.panel == Panel.models), *DATA,
    INTERVALS.but(help="Compute intervals for the parameters of all models at this level."),
    STABILITY.but(help="Simulated doubles of each learner."), SEED,
    OUT.but(default=Path("frozen.toml"), help="The file to write."), FRESH, STUDY,
)  # fmt: skip
def freeze(given: Given) -> None:
    """Write the plan of an analysis, for a preregistration.

    The options are those of howlearn select. howlearn select --frozen then follows the plan and
    lists every deviation from it.

    For example: howlearn freeze --task five-four --criterion population --exclude "accuracy < 0.55"
    """
    from rich.markup import escape

    from howlearn.analyses.freeze import freeze_plan, paragraph, write_plan
    from howlearn.cli import show

    plan = freeze_plan(given.of(*READING.values(), *MODELS.values()))
    plan = write_plan(given.out, plan, given.fresh)
    Written.complete = True
    if not plan.candidates:
        show.note(f"no --task was given, so the candidates will come {plan.construction}")
    if not READING["exclude"].given(given.exclude):
        show.note("the plan excludes nobody; --exclude 'accuracy < 0.55' would")
    show.console.print("For the form of a preregistration:")
    show.console.print(escape(paragraph(plan)), soft_wrap=True)
    show.console.print(escape(f"Plan: {given.out}"), soft_wrap=True)
    following("select", "FILES", "--frozen", given.out)


# ``select --frozen``: follow a plan, and list whatever is done otherwise.


def follow(
    options: Sequence[Option], given: Given, study: StudyFile | None, typed: Container[str]
) -> Path | None:
    """Put the plan's values where nothing was typed; the plan's file, if there is one.

    What howlearn.toml says unlike the plan is not done, and told.
    """
    path = _found(given["frozen"])
    if path is None:
        return None
    from howlearn.analyses.freeze import options_of, read_plan, task_hash
    from howlearn.cli import show

    plan = read_plan(path)
    planned = options_of(path, plan)
    if study is not None:
        for name, value in {**study.data, **study.models}.items():
            mine = {**planned.data, **planned.models}.get(name, value)
            if name not in typed and mine != value:
                show.note(
                    f"{study.path} has another {name} than the plan {path}, which is followed; "
                    f"type the option to deviate"
                )
    task = str(planned.models.get("task", ""))  # a plan knows the content of its task
    known = {"task"} if Path(task).is_file() and task_hash(task) == plan.task else set()
    refuse_outside_of([each for each in options if each.name not in known], planned, (), typed)
    merge(options, planned, typed, given)
    return path


def _found(named: Path | None) -> Path | None:
    """The plan that was named, or the one of this folder."""
    from howlearn.cli import show
    from howlearn.reading.project_file import PLAN

    if named is not None:
        return None if str(named) == NONE else named
    here = Path(PLAN)
    if not here.is_file():
        return None
    show.note(f"the plan {PLAN} of this folder is followed (--frozen none ignores it)")
    return here


def compared(
    path: Path | None,
    options: Mapping[str, Any],
    criteria: Sequence[Criterion],
    inputs: Inputs,
    advice: Advice | None,
) -> tuple[list[Deviation], dict[str, Any]]:
    """Where the run differs from the plan, also as the manifest has it; nothing without a plan."""
    if path is None:
        return [], {}

    from howlearn.analyses.deviations import deviations
    from howlearn.analyses.freeze import read_plan

    plan = read_plan(path)
    n_learners = len(set(inputs.study.without_excluded().learners))
    found = deviations(plan, options, criteria, inputs.candidates, n_learners, advice)
    known = {"file": str(path), "sha256": plan.sha256, "howlearn": plan.howlearn}
    return found, {"frozen": known, "deviations": [asdict(each) for each in found]}
