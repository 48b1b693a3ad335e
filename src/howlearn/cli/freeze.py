"""``howlearn freeze``: the plan of an analysis, before the data are seen; and to follow it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli import Written
from howlearn.cli.build import Given, command
from howlearn.cli.options import DATA, FRESH, OUT, STUDY
from howlearn.cli.project_options import merge, refuse_outside_of
from howlearn.core.options import NONE, FilePath, Option, Panel
from howlearn.reading.analysis_options import INTERVALS, MODELS, SEED, STABILITY
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.analyses.deviations import Deviation
    from howlearn.analyses.error_rates import Advice
    from howlearn.reading.project_file import StudyFile
    from howlearn.results.inputs import Inputs
    from howlearn.selection.criterion import Criterion


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
    from howlearn.cli.next_command import following

    plan = freeze_plan(given.of(*READING.values(), *MODELS.values()))
    plan = write_plan(given.out, plan, given.fresh)
    Written.complete = True
    if not plan.candidates:
        show.note(f"no --task was given, so the candidates will come {plan.construction}")
    if not given.exclude:
        show.note("the plan excludes nobody; --exclude 'accuracy < 0.55' would")
    show.console.print("For the form of a preregistration:")
    show.console.print(escape(paragraph(plan)), soft_wrap=True)
    show.console.print(escape(f"Plan: {given.out}"), soft_wrap=True)
    following("select", "FILES", "--frozen", given.out)


# ``select --frozen``: follow a plan, and list whatever is done otherwise.


FROZEN = Panel.models.option(
    "frozen",
    FilePath("FILE|none"),
    "Follow a plan that howlearn freeze wrote, and list every deviation. By default frozen.toml in "
    "this folder; 'none' ignores it.",
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
    """What is done otherwise than planned, also as the manifest has it; nothing without a plan."""
    if path is None:
        return [], {}
    from dataclasses import asdict

    from howlearn.analyses.deviations import deviations
    from howlearn.analyses.freeze import read_plan

    plan = read_plan(path)
    n_learners = len(set(inputs.study.without_excluded().learners))
    found = deviations(plan, options, criteria, inputs.candidates, n_learners, advice)
    known = {"file": str(path), "sha256": plan.sha256, "howlearn": plan.howlearn}
    return found, {"frozen": known, "deviations": [asdict(each) for each in found]}
