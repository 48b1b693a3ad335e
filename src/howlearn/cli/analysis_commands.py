"""``howlearn discover``, ``path``, ``mechanisms``, ``compare``: more questions about the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from howlearn.cli.build import Given, command
from howlearn.cli.options import (
    CANDIDATES,
    DATA,
    DESIGN_SEED,
    FILES,
    FORMAT,
    FRESH,
    LEARNING,
    OUT,
    RESULTS,
    RUNNING,
    STUDY,
    WORKERS,
    parse_numbers,
)
from howlearn.cli.progress import following, run_in_folder, selecting, show_following
from howlearn.core.errors import HowlearnError
from howlearn.core.options import (
    FilePath,
    Kind,
    Number,
    OneOf,
    OnOff,
    Panel,
    Repeated,
    WholeNumber,
)
from howlearn.reading.analysis_options import CRITERION, TASK
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.runs.folder import RunFolder
    from howlearn.runs.parts import Progress


DISCOVER_CRITERIA = CRITERION.but(
    help="How partitions are judged; may be repeated: ewens ('ewens(alpha=1, cells=independent)'), "
    "'kappa(nats=1)', 'codelength(nats=1)', 'penalized(c=0.012)', aic, bic, "
    "'holdout(split=0.5)'. Default: ewens and codelength.",
    section="",  # howlearn.toml names criteria for models
)
LIST = Panel.output.option(
    "list",
    WholeNumber(least=1),
    "Number of best partitions to list for each learner and criterion.",
    5,
)


@command(
    FILES, STUDY, TASK, DISCOVER_CRITERIA, *LEARNING, *DATA, LIST,
    OUT.but(default=Path("discovery")), FORMAT,
    *RUNNING,
)  # fmt: skip
def discover(given: Given) -> None:
    """Find which contexts each learner treats alike, among all partitions.

    Up to 14 contexts, every partition is scored (21,147 for nine); beyond that they are searched.
    coclassification.csv and its chart show how probable it is that a learner treats two contexts
    alike; population.csv has the mean over learners.
    """

    from howlearn.analyses.discover import Asked, check, discover_in
    from howlearn.analyses.discover_criteria import DEFAULT, check_criteria
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.analyses.discover_words import at_bounds, with_answers
    from howlearn.cli import show
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
    # The check refuses what is not a rule, in words.
    learning = cast(Any, learning_named(given.rule, given.form, given.max_rate))
    by = READING["by"].given(given.by)
    manifest = manifest_of(given.files, study, models, options, "discover")
    check(study, learning, criteria, models, given.list, by)
    marked, answers = with_answers(study, models)
    asked = Asked(learning, criteria, marked, given.list, by)

    def work(folder: RunFolder, _: int | None, progress: Progress) -> Discovery:
        found = discover_in(folder, study, asked, progress)
        bounds = at_bounds(study, learning, found)
        return replace(found, usual=not given.criterion, answers=answers, bounds=bounds)

    run_in_folder(given, manifest, Discovery, work, "judging partitions", given.format)
    show_following(
        selecting(given.files, options), "do the listed models explain the choices as well?"
    )


# ``howlearn path``: how far does the answer depend on price, bound and prior?


MAX_RATES = Panel.models.option(
    "max_rates",
    Kind("RATE,RATE…"),
    "The largest learning rates to try, at most 20.",
    "0.5,1,2,5,20",
)
MAX_KAPPA = Panel.models.option(
    "max_kappa", Number("NATS"), "The largest penalty per parameter.", 10.0
)
PATH_CRITERIA = CRITERION.but(
    help="How candidates are judged, named as for howlearn select; may be "
    "repeated. Default: penalized(c=0.012), aic, bic, evidence and, for ten learners or more, "
    "population."
)


@command(
    FILES, STUDY, TASK, MAX_RATES, MAX_KAPPA, PATH_CRITERIA, *CANDIDATES, *LEARNING, *DATA,
    OUT.but(default=Path("path")), FORMAT, FRESH, WORKERS,
)  # fmt: skip
def path(given: Given) -> None:
    """See whether the answer depends on settings that you had to choose.

    Three settings are varied: the penalty per parameter from 0 to 10 nats (with the paper's c, AIC
    and BIC marked), the largest learning rate, and the prior of the evidence.
    """
    from howlearn.analyses.path import PathWork, check_bounds, check_price, path_into
    from howlearn.cli import show
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of
    from howlearn.runs.folder import Start
    from howlearn.selection.select import check_criteria

    bounds = check_bounds(parse_numbers(given.max_rates, MAX_RATES.word))
    check_price(given.max_kappa)
    criteria = check_criteria(given.criterion) if given.criterion else None
    options = {
        **given.of(TASK, *READING.values()),
        "max_rates": list(bounds),
        **given.of(MAX_KAPPA, *LEARNING, FORMAT, *CANDIDATES),
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in given.files], options)
    study, candidates, out = inputs.study, inputs.candidates, given.out
    work = PathWork(study, candidates, bounds, criteria, given.max_kappa, given.workers)
    options["criteria"] = [repr(each) for each in work.criteria]
    show.reading(study)
    show.same_models(candidates)
    manifest = manifest_of(given.files, study, candidates, options, "path")
    with show.progress_bar("following the path") as progress:
        found = path_into(out, work, manifest, given.format, Start(given.fresh), progress)
    show.found(found, out)
    show_following(selecting(given.files, options), "a model for every learner, in tables")


# ``howlearn mechanisms``: what do people do when they learn?


MECHANISM = Panel.models.option(
    "mechanism",
    Repeated("NAME"),
    "A mechanism to look for; may be repeated. By default lapse, bias, stickiness, forgetting, "
    "asymmetry, fictive and, where the data can show them, generalisation and pavlovian; there are "
    "also trace, attention, drift and resting. my_file.py:MyPart is your mechanism: its code "
    "is run.",
    names_code=True,
)
ALSO = MECHANISM.but(
    name="also", help="A further mechanism, named as for --mechanism; may be repeated."
)
WITHOUT = Panel.models.option(
    "without", Repeated("NAME"), "A mechanism that is not looked for; may be repeated."
)
SMALLEST = Panel.models.option(
    "smallest",
    Repeated("NAME=SIZE"),
    "The smallest size of interest of a mechanism, such as stickiness=0.3; may be repeated.",
)
TOGETHER = Panel.models.option(
    "together", OnOff(), "Mechanisms may come in the same people: a share per combination.", False
)
BASE = Panel.models.option(
    "base",
    OneOf(words=("both", "delta", "gradient")),
    "The learning rule that mechanisms are added to: a delta rule, a gradient bandit, or "
    "whichever each "
    "learner follows.",
    "both",
)
CELLS = Panel.models.option(
    "cells", Kind("MODEL"), "Contexts in a cell of this partition model are learned about together."
)
MECHANISMS_SEED = DESIGN_SEED.but(help="The same seed gives the same numbers.", panel=Panel.chance)


@command(
    FILES, STUDY, TASK, MECHANISM, ALSO, WITHOUT, SMALLEST, TOGETHER, BASE, CELLS, *DATA,
    MECHANISMS_SEED, OUT.but(default=Path("mechanisms")), FORMAT, FRESH, WORKERS,
)  # fmt: skip
def mechanisms(given: Given) -> None:
    """What do people do when they learn, and how many of them?

    For every mechanism (do people repeat themselves, forget, learn more from gains than from
    losses, lapse, prefer a side …) the share of people who show it, the share beyond a smallest
    size of interest, sizes, and the probability of every learner. What so many people and trials
    can show is said before the answer; what is missing from the list is tested.

    For example: howlearn mechanisms trials.csv --smallest stickiness=0.2
    """
    from howlearn.analyses.mechanism_result import Mechanisms
    from howlearn.analyses.mechanism_tests import Beside
    from howlearn.analyses.mechanisms import Work, parse_sizes
    from howlearn.cli import show
    from howlearn.models.user_code import named_part
    from howlearn.results.inputs import mechanism_inputs
    from howlearn.results.manifest import manifest_of
    from howlearn.runs.folder import RunFolder, Start

    sizes = parse_sizes(given.smallest)
    parts, also = ([named_part(name) for name in each] for each in (given.mechanism, given.also))
    own = (MECHANISM, ALSO, WITHOUT, SMALLEST, TOGETHER, BASE, CELLS, MECHANISMS_SEED, FORMAT)
    options = given.of(TASK, *READING.values(), *own)
    with show.progress_bar("reading"):
        study, cells = mechanism_inputs([str(file) for file in given.files], options)
    show.reading(study)
    work = Work.of(study, parts, also, given.without, sizes, given.base, cells, given.together)
    manifest = manifest_of(given.files, study, [], options, "mechanisms")
    names = [part.name for part in work.space.parts]
    work = replace(work, beside=Beside.of(given.out.parent, manifest["input"], names))
    with (
        RunFolder(given.out, manifest, Mechanisms.outputs(), Start(given.fresh)) as run,
        show.progress_bar("looking for mechanisms") as progress,
    ):
        found = work.found(given.seed, given.workers, progress, run, True)
        found.write_files(given.out, given.format)
    show.found(found, given.out)
    groups = study.about.columns if len({*study.learners}) == len(study) else []
    for column in groups[:1]:
        following("compare", given.out, "--group", column, why="do groups differ in what they do?")


# ``howlearn compare``: do groups of learners use different strategies?


GROUP = Panel.compared.option(
    "group",
    Kind("COL"),
    "The column with each learner's group: in the results (howlearn select --keep COL) or in the "
    "--groups file.",
)
WITHIN = Panel.compared.option(
    "within",
    Kind("COL"),
    "A condition that varies within learners (howlearn select --by COL).",
)
GROUPS = Panel.compared.option(
    "groups",
    FilePath("FILE"),
    "A CSV, TSV or Parquet file with one row per learner, for groups that are not in the results.",
)
COMPARED_BY = Panel.compared.option(
    "criterion",
    Kind("CRITERION"),
    "A criterion of the results. Default: population, or evidence, or the first. With criteria "
    "that give no probabilities, selected models are counted.",
)
PERMUTATIONS = Panel.chance.option(
    "permutations", WholeNumber(), "Permutations for the p-values of rates.", 2000
)
RESAMPLES = Panel.chance.option(
    "resamples", WholeNumber(), "Resamples for the intervals of rates.", 1000
)
SEED = DESIGN_SEED.but(help="The same seed gives the same numbers.", panel=Panel.chance)


@command(
    RESULTS, GROUP, WITHIN, GROUPS, COMPARED_BY, PERMUTATIONS, RESAMPLES, SEED,
    OUT.but(help="The folder for the tables; by default compare in RESULTS."), FORMAT, FRESH,
)  # fmt: skip
def compare(given: Given) -> None:
    """Compare strategies and learning rates between groups of learners.

    Shows the share of each model in every group, the differences with simultaneous 95% intervals,
    and the learning rates. Strategies differ if one of these intervals excludes 0. It also says
    how large a difference groups of these sizes could show.

    Of a folder of howlearn mechanisms, shares and sizes of mechanisms are compared.
    """
    from howlearn.analyses.compare import compare as compared
    from howlearn.cli import show
    from howlearn.results.manifest import hash_of, made_by
    from howlearn.runs.files import read_record
    from howlearn.runs.folder import Start
    from howlearn.runs.shards import MANIFEST

    results, groups = given.results, given.groups
    if (read_record(results / MANIFEST) or {}).get("command") == "mechanisms":
        _compare_mechanisms(given)
        return
    chosen = (GROUPS, COMPARED_BY, RESAMPLES, PERMUTATIONS, SEED)
    with show.progress_bar("comparing") as progress:
        keywords = {option.name: given[option.name] for option in chosen}
        result = compared(results, given.group, given.within, progress=progress, **keywords)
    files = [file for table in ("scores", "estimates") for file in results.glob(f"{table}.*")]
    manifest = {
        **made_by("compare"),
        "input": {str(file): hash_of(file) for file in [*files, *([groups] if groups else [])]},
        "options": {
            **given.of(GROUP, WITHIN, COMPARED_BY, PERMUTATIONS, RESAMPLES, SEED, FORMAT),
            "criterion": result.criterion,
        },
    }
    folder = given.out or results / "compare"
    result.write(folder, given.format, manifest, Start(given.fresh))
    show.found(result, folder)
    following("report", results, "-o", "report.html", why="all results on one page")


def _compare_mechanisms(given: Given) -> None:
    """Groups of a folder of howlearn mechanisms."""
    from howlearn.analyses.mechanism_groups import compare_folder
    from howlearn.cli import show
    from howlearn.results.manifest import hash_of, made_by
    from howlearn.runs.folder import Start

    if given.group is None or given.within:
        raise HowlearnError("mechanisms are compared between groups of learners: --group COL")
    folder, groups = given.results, given.groups
    with show.progress_bar("comparing") as progress:
        found = compare_folder(folder, given.group, groups, given.seed, progress)
    files = [*folder.glob("mechanisms.*[vt]"), *([groups] if groups else [])]
    manifest = {
        **made_by(found.command),
        "input": {str(file): hash_of(file) for file in files},
        "options": given.of(GROUP, SEED, FORMAT),
    }
    out = given.out or folder / "compare"
    found.write(out, given.format, manifest, Start(given.fresh))
    show.found(found, out)
