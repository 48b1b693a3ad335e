"""``howlearn compare``: do groups of learners use different strategies?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.next_command import following
from howlearn.cli.options import OUTPUT, FormatName, Fresh

if TYPE_CHECKING:
    from howlearn.analyses.compare import Comparison
    from howlearn.report.style import Chart

COMPARED, CHANCE = "What is compared", "Chance"


def compare(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A folder that howlearn select wrote.")
    ],
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="A column of the results that puts every learner into a group (howlearn select "
            "--keep COL), or a column of the --groups file.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="A condition under which the same learners were observed (howlearn select "
            "--by COL).",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV, TSV or Parquet with a row per learner, for a column that is not in the "
            "results.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="CRITERION",
            help="One of those of the results. By default population, or evidence, or the first. "
            "Of criteria that give no probabilities the selected models are counted.",
            rich_help_panel=COMPARED,
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option(help="For the p-values.", rich_help_panel=CHANCE)
    ] = 2000,
    resamples: Annotated[int, typer.Option(help="For the intervals.", rich_help_panel=CHANCE)] = (
        1000
    ),
    seed: Annotated[
        int,
        typer.Option(min=0, help="The same seed gives the same numbers.", rich_help_panel=CHANCE),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The folder for the tables; by default compare in RESULTS.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format: Annotated[
        FormatName, typer.Option(help="How tables are written.", rich_help_panel=OUTPUT)
    ] = FormatName.csv,
    fresh: Fresh = False,
) -> None:
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

    with show.progress_bar("comparing"):
        result = compared(
            results,
            group,
            within,
            groups=groups,
            criterion=criterion,
            resamples=resamples,
            permutations=permutations,
            seed=seed,
        )
    files = [file for table in ("scores", "estimates") for file in results.glob(f"{table}.*")]
    manifest = {
        **made_by("compare"),
        "input": {str(file): hash_of(file) for file in [*files, *([groups] if groups else [])]},
        "options": {
            "group": group,
            "within": within,
            "criterion": result.criterion,
            "permutations": permutations,
            "resamples": resamples,
            "seed": seed,
            "format": format.value,
        },
    }
    folder = out or results / "compare"
    write_comparison(folder, result, manifest, format.value, Start(fresh))
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
