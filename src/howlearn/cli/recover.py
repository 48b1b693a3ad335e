"""``howlearn recover``: are models and parameters found again?"""

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
    TRIALS,
    chosen_criteria,
)
from howlearn.core.options import Option, Panel, Repeated, Whole
from howlearn.reading.analysis_options import CRITERION, TASK

if TYPE_CHECKING:
    pass

TRUTH = Option(
    "truth",
    Repeated("NAME"),
    "A model of which learners are simulated, named as for --model; may be repeated. By default "
    "every candidate.",
    panel=Panel.design,
    names_code=True,
)
LEARNERS = Option(
    "learners", Whole(least=1), "Simulated learners per true model.", 200, Panel.design
)


@command(
    TASK, TRUTH, TRIALS, LEARNERS, ORDER, SETTINGS, DESIGN_SEED, CRITERION.but(section=""),
    *CANDIDATES, *LEARNING, OUT.but(default=Path("recovery")), *RUNNING, STUDY,
)  # fmt: skip
def recover(given: Given) -> None:
    """See whether models and parameters are found again, by the criteria as they are.

    Simulates learners of every model and selects among the candidates: how often is the true model
    selected, which one instead, and how far are its estimates from the truth? (howlearn calibrate
    also looks for better constants of the criteria.)
    """
    from howlearn.analyses.contests import check_candidates
    from howlearn.analyses.designs import TaskDesign
    from howlearn.analyses.recover import Recovery, recover_design
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.cli.options import parse_settings_by_model
    from howlearn.fitting.fit import check_models
    from howlearn.results.inputs import chosen_models, task_with
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder
    from howlearn.selection.select import check_criteria

    out = given.out
    criteria = check_criteria(chosen_criteria(given.criterion, None)[0])
    chosen = task_with(given.task, given.rule, given.form, given.max_rate, given.order)
    asked = given.of(TASK, *CANDIDATES, *LEARNING)
    whose = f"task {chosen.name}"
    models = chosen_models(chosen.models, asked, whose, chosen.n_features, (), chosen.mixtures)
    check_models(models)
    truths = tuple(chosen.model(name) for name in given.truth) if given.truth else models
    settings = parse_settings_by_model(given.settings)
    design = TaskDesign(chosen, truths, settings, given.learners, given.trials, given.seed)
    check_candidates(design, models, [t for c in criteria for t in c.truncations])
    show.default_task(given.task)
    show.unequal(criteria, models, len(chosen.actions))
    manifest = {
        **made_by("recover"),
        "design": design.described(),
        "models": [describe(m) for m in models],
        "truths": [describe(m) for m in truths],
        "criteria": [repr(c) for c in criteria],
    }
    with (
        starting(given) as start,
        RunFolder(out, manifest, Recovery.outputs(), start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = recover_design(design, models, criteria, store, given.workers, progress)
        result.write_files(out)
    show.found(result, out)
    words = with_models(asked)
    following("plan", *words, why="how many trials and learners would do")
