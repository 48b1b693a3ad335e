"""``howlearn freeze``: the plan of an analysis, before the data are seen."""

from __future__ import annotations

from pathlib import Path

from howlearn.cli.build import Given, command
from howlearn.cli.options import DATA, FRESH, OUT, STUDY
from howlearn.core.options import Panel
from howlearn.reading.analysis_options import INTERVALS, MODELS, SEED, STABILITY
from howlearn.reading.options import DATA as READING


@command(
    *(option for option in MODELS.values() if option.panel == Panel.models), *DATA,
    INTERVALS.but(help="Intervals for the parameters of all models, at this level."),
    STABILITY.but(help="Simulated doubles of each learner."), SEED,
    OUT.but(default=Path("frozen.toml"), help="The file to write."), FRESH, STUDY,
)  # fmt: skip
def freeze(given: Given) -> None:
    """Write the plan of an analysis before the data are seen, for a preregistration.

    The options are those of howlearn select: task, candidates, criteria, exclusions, and what is
    known about the data. howlearn select --frozen then follows the plan, and lists every deviation
    from it.

    For example: howlearn freeze --task five-four --criterion population --exclude "accuracy < 0.55"
    """
    from rich.markup import escape

    from howlearn.analyses.freeze import freeze_plan, paragraph
    from howlearn.analyses.frozen_file import write_plan
    from howlearn.cli import show
    from howlearn.cli.next_command import following

    plan = freeze_plan(given.of(*READING.values(), *MODELS.values()))
    plan = write_plan(given.out, plan, given.fresh)
    if not plan.candidates:
        show.note(f"no --task was given, so the candidates will come {plan.construction}")
    if not given.exclude:
        show.note("the plan excludes nobody; --exclude 'accuracy < 0.55' would")
    show.console.print("For the form of a preregistration:")
    show.console.print(escape(paragraph(plan)), soft_wrap=True)
    show.console.print(escape(f"Plan: {given.out}"), soft_wrap=True)
    following("select", "FILES", "--frozen", given.out)
