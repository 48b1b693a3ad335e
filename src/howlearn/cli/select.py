"""``howlearn select``: which model explains each learner best."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import following
from howlearn.cli.options import (
    CANDIDATES,
    DATA,
    FILES,
    FORMAT,
    LEARNING,
    OUT,
    RUNNING,
    STUDY,
    chosen_criteria,
)
from howlearn.cli.project_options import merge
from howlearn.core.options import File, Kind, Number, Option, Panel, Switch
from howlearn.reading.analysis_options import (
    CALIBRATION,
    CRITERION,
    INTERVALS,
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
    from howlearn.runs.folder import Format
    from howlearn.selection.criterion import Criterion
    from howlearn.selection.share_tables import Known


# --------------------
# ``select --frozen``: follow a plan, and list whatever is done otherwise.


NONE = "none"
FROZEN = Option(
    "frozen",
    File("FILE|none"),
    "Follow a plan that howlearn freeze wrote, and list whatever is done otherwise. frozen.toml in "
    "this folder is followed unless this is 'none'.",
    panel=Panel.models,
)


def follow(
    options: Sequence[Option], given: Given, study: StudyFile | None, typed: Container[str]
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
    merge(options, planned, typed, given)
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


PREDICTIONS = Option(
    "predictions",
    Switch(),
    "Also write the probability of every action, one row per input row.",
    False,
    Panel.output,
)
LATENTS = Option(
    "latents",
    Switch(),
    "With --predictions: also the latent variables of the models (values, prediction errors, "
    "attention …) and the input's own columns; BIDS events files of them too.",
    False,
    Panel.output,
)
PREDICT_WITH = Option(
    "predict_with",
    Kind("MODEL"),
    "The candidate for the predictions of all learners, in place of the one that is selected for "
    "each.",
    panel=Panel.output,
)
WEIGHTS = Option(
    "weights",
    Switch(),
    "Also write the weight of every strategy of exp4(…) and switch(…) at every trial, per learner "
    "and averaged, when the leading one changes, and charts of them.",
    False,
    Panel.output,
)
EPSILON = Option(
    "epsilon",
    Number(),
    "Also write lowest.csv: the smallest probability of any action under every fit, the first "
    "trial where one falls under epsilon (such as 0.05), and the paper's T.",
    panel=Panel.output,
)
EXTRAS = (PREDICTIONS, LATENTS, PREDICT_WITH, WEIGHTS, EPSILON, INTERVALS, STABILITY, SEED)


@command(
    FILES, STUDY, TASK, CRITERION, CALIBRATION, *CANDIDATES, *LEARNING, WITHIN, FROZEN, *DATA,
    OUT.but(default=Path("results")), FORMAT, *EXTRAS, *RUNNING,
)  # fmt: skip
def select(given: Given) -> None:
    """Find, for every learner, the model that explains the choices best.

    Columns with common names are found by themselves. A verdict is "clear" if no other model, and
    not learning at all, comes within 2 nats; see --within. EXPR compares columns with numbers and
    quoted text: "rt > 0.2 and phase in ['learn', 'test']", "choice != missing".

    For example: howlearn select trials.csv --task five-four --exclude "accuracy < 0.55"
    """
    from dataclasses import replace

    from howlearn.cli import show
    from howlearn.cli.progress import starting
    from howlearn.core.errors import HowlearnError
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of
    from howlearn.results.select_into import write_selection
    from howlearn.selection.criteria import usual

    for option in (LATENTS, PREDICT_WITH):
        if given[option.name] not in (None, False) and not given.predictions:
            raise HowlearnError(f"{option.word} needs predictions: give --predictions too")
    criteria, advice = chosen_criteria(given.criterion, given.calibration)
    options = {
        **given.of(TASK, *READING.values(), WITHIN, *LEARNING, FORMAT, *CANDIDATES, CALIBRATION),
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
    otherwise = compared(given.frozen, options, criteria, inputs, advice)
    if otherwise is not None:
        manifest |= recorded(given.frozen, otherwise)
    wanted = _wanted(given, inputs, criteria)
    with starting(given) as start, show.progress_bar("fitting") as progress:
        found = write_selection(
            out, study, wanted, manifest, given.format, start, progress, known, inputs.task
        )
    if otherwise is not None:
        write_deviations(otherwise, out, given.format)
    show.found(replace(found, usual=by_default), out)
    following("report", out, "-o", "report.html", why="everything to look at, in one file")


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
        from howlearn.analyses.stability import stability_of

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
