"""``howlearn compare``: do groups of learners use different strategies?"""

from __future__ import annotations

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import following
from howlearn.cli.options import DESIGN_SEED, FORMAT, FRESH, OUT, RESULTS
from howlearn.core.options import FilePath, Kind, Panel, WholeNumber

GROUP = Panel.compared.option(
    "group",
    Kind("COL"),
    "A column of the results that puts every learner into a group (howlearn select --keep COL), or "
    "a column of the --groups file.",
)
WITHIN = Panel.compared.option(
    "within",
    Kind("COL"),
    "A condition under which the same learners were observed (howlearn select --by COL).",
)
GROUPS = Panel.compared.option(
    "groups",
    FilePath("FILE"),
    "CSV, TSV or Parquet with a row per learner, for a column that is not in the results.",
)
CRITERION = Panel.compared.option(
    "criterion",
    Kind("CRITERION"),
    "One of those of the results. By default population, or evidence, or the first. Of criteria "
    "that give no probabilities the selected models are counted.",
)
PERMUTATIONS = Panel.chance.option("permutations", WholeNumber(), "For the p-values.", 2000)
RESAMPLES = Panel.chance.option("resamples", WholeNumber(), "For the intervals.", 1000)
SEED = DESIGN_SEED.but(help="The same seed gives the same numbers.", panel=Panel.chance)


@command(
    RESULTS, GROUP, WITHIN, GROUPS, CRITERION, PERMUTATIONS, RESAMPLES, SEED,
    OUT.but(help="The folder for the tables; by default compare in RESULTS."), FORMAT, FRESH,
)  # fmt: skip
def compare(given: Given) -> None:
    """Do groups of learners use different strategies, and learn at different rates?

    Shares of the models in every group and their differences with 95% intervals, a Bayes factor
    for the same against different shares, a permutation test, and learning rates. Where the
    criterion gives probabilities of models, the uncertainty of each learner's model is taken along.
    """
    from howlearn.analyses.compare import compare as compared
    from howlearn.cli import show
    from howlearn.results.manifest import hash_of, made_by
    from howlearn.runs.folder import Start

    results, groups = given.results, given.groups
    chosen = (GROUPS, CRITERION, RESAMPLES, PERMUTATIONS, SEED)
    with show.progress_bar("comparing"):
        keywords = {option.name: given[option.name] for option in chosen}
        result = compared(results, given.group, given.within, **keywords)
    files = [file for table in ("scores", "estimates") for file in results.glob(f"{table}.*")]
    manifest = {
        **made_by("compare"),
        "input": {str(file): hash_of(file) for file in [*files, *([groups] if groups else [])]},
        "options": {
            **given.of(GROUP, WITHIN, CRITERION, PERMUTATIONS, RESAMPLES, SEED, FORMAT),
            "criterion": result.criterion,
        },
    }
    folder = given.out or results / "compare"
    result.write(folder, given.format, manifest, Start(given.fresh))
    show.found(result, folder)
    following("report", results, "-o", "report.html", why="everything to look at, in one file")
