"""``howlearn compare``: do groups of learners use different strategies?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import following
from howlearn.cli.options import DESIGN_SEED, FORMAT, FRESH, OUT, RESULTS
from howlearn.core.options import File, Kind, Option, Whole

if TYPE_CHECKING:
    from howlearn.analyses.compare import Comparison
    from howlearn.report.style import Chart

COMPARED, CHANCE = "What is compared", "Chance"
GROUP = Option(
    "group",
    Kind("COL"),
    "A column of the results that puts every learner into a group (howlearn select --keep COL), or "
    "a column of the --groups file.",
    panel=COMPARED,
)
WITHIN = Option(
    "within",
    Kind("COL"),
    "A condition under which the same learners were observed (howlearn select --by COL).",
    panel=COMPARED,
)
GROUPS = Option(
    "groups",
    File("FILE"),
    "CSV, TSV or Parquet with a row per learner, for a column that is not in the results.",
    panel=COMPARED,
)
CRITERION = Option(
    "criterion",
    Kind("CRITERION"),
    "One of those of the results. By default population, or evidence, or the first. Of criteria "
    "that give no probabilities the selected models are counted.",
    panel=COMPARED,
)
PERMUTATIONS = Option("permutations", Whole(), "For the p-values.", 2000, CHANCE)
RESAMPLES = Option("resamples", Whole(), "For the intervals.", 1000, CHANCE)
SEED = DESIGN_SEED.but(help="The same seed gives the same numbers.", panel=CHANCE)


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
    from howlearn.analyses.compare import write_comparison
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
    write_comparison(folder, result, manifest, given.format, Start(given.fresh))
    _show(result, folder)
    following("report", results, "-o", "report.html", why="everything to look at, in one file")


def _show(result: Comparison, out: Path) -> None:
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of, note, save_charts

    for sentence in result.notes:
        note(sentence)
    names = result.groups.names
    title = (
        f"Shares of the models by {result.groups.column}, {result.criterion}, with 95% intervals"
    )
    heads = [f"{name} ({n})" for name, (n, _) in zip(names, result.groups.sizes(), strict=True)]
    pairs = result.differences.select("group", "other").unique(maintain_order=True).rows()
    one = len(pairs) == 1
    listing = listing_of(title, "model", *map(escape, heads), *(["difference"] if one else []))
    rows = {(row["group"], row["model"]): row for row in result.shares.to_dicts()}
    apart = {row["model"]: row for row in result.differences.to_dicts()}
    for model in result.models:
        cells = [_span(rows[name, model], "share") for name in names]
        cells += [_span(apart[model], "difference", "+")] if one else []
        listing.add_row(escape(model), *cells)
    console.print(listing)
    for sentence in result.sentences:
        console.print(escape(sentence), soft_wrap=True)

    def charts() -> dict[str, Chart]:
        from howlearn.report.charts import of_comparison

        return of_comparison(result)

    save_charts(charts, out)
    console.print(escape(f"Tables: {out}/"), soft_wrap=True)


def _span(row: dict[str, float], value: str, sign: str = "") -> str:
    share, lower, upper = (100 * row[name] for name in (value, "lower", "upper"))
    return f"{share:{sign}.0f}%  ({lower:{sign}.0f} to {upper:{sign}.0f})"
