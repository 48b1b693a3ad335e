"""``howlearn discover``: which contexts does each learner treat alike?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import selecting, show_following
from howlearn.cli.options import DATA, FILES, FORMAT, LEARNING, OUT, RUNNING, STUDY
from howlearn.core.options import Panel, WholeNumber
from howlearn.reading.analysis_options import CRITERION, TASK
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.runs.folder import RunFolder
    from howlearn.runs.parts import Progress

JUDGES = CRITERION.but(
    help="May be repeated: ewens ('ewens(alpha=1, cells=independent)'), 'kappa(nats=1)', "
    "'codelength(nats=1)', 'penalized(c=0.012)', aic, bic, 'holdout(split=0.5)'. By default ewens "
    "and codelength.",
    section="",  # howlearn.toml names criteria for models
)
LIST = Panel.output.option(
    "list",
    WholeNumber(least=1),
    "How many of the best partitions are listed for each learner and criterion.",
    5,
)


@command(
    FILES, STUDY, TASK, JUDGES, *LEARNING, *DATA, LIST, OUT.but(default=Path("discovery")), FORMAT,
    *RUNNING,
)  # fmt: skip
def discover(given: Given) -> None:
    """Find, among all partitions of the contexts, those that explain each learner best.

    Up to 14 contexts every partition is judged (21,147 for nine); beyond that they are searched,
    and the tables say so. More useful than any single partition is how probable it is that a
    learner treats two contexts alike: coclassification.csv, its mean over learners in
    population.csv, and a chart. The partitions of a task, or of --features, are marked.
    """
    from dataclasses import replace

    from howlearn.analyses.discover import check, discover_in
    from howlearn.analyses.discover_criteria import DEFAULT, check_criteria
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.cli import show
    from howlearn.cli.progress import run_in_folder
    from howlearn.models.names import learning_named
    from howlearn.models.partition_model import is_partition
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of

    criteria = check_criteria(given.criterion or DEFAULT)
    options = {
        **given.of(TASK, *READING.values()),
        "criteria": [repr(c) for c in criteria],
        **given.of(*LEARNING, LIST, FORMAT),
        "model": [],
        "add_model": [],
        "one_rate": False,
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in given.files], options)
    study = inputs.study
    show.reading(study)
    models = [model for model in inputs.candidates if is_partition(model)]
    # What is no rule is refused by the check, in words.
    learning = cast(Any, learning_named(given.rule, given.form, given.max_rate))
    manifest = manifest_of(given.files, study, models, options, "discover")
    asked = (study, learning, criteria, models, given.list, given.by)
    check(*asked)

    def work(folder: RunFolder, _: int | None, progress: Progress) -> Discovery:
        return replace(discover_in(folder, *asked, progress), usual=not given.criterion)

    run_in_folder(given, manifest, Discovery, work, "judging partitions", given.format)
    show_following(selecting(given.files, options), "do the listed models explain as well?")
