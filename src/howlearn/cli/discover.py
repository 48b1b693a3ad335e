"""``howlearn discover``: which contexts does each learner treat alike?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.next_command import selecting, show_following
from howlearn.cli.options import (
    MODELS,
    OUTPUT,
    Dask,
    Form,
    FormatName,
    FormName,
    Fresh,
    MaxRate,
    OutFolder,
    Rule,
    RuleName,
    ShardOption,
    TaskOption,
    Threads,
)
from howlearn.cli.project_options import DATA_OPTIONS, Files, Given, takes_data

if TYPE_CHECKING:
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.core.study import Study
    from howlearn.selection.criterion import Criterion


@takes_data
def discover(
    files: Files,
    task: TaskOption = None,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            "--criterion",
            metavar="CRITERION",
            help="May be repeated: ewens ('ewens(alpha=1, cells=independent)'), 'kappa(nats=1)', "
            "'codelength(nats=1)', 'penalized(c=0.012)', aic, bic, 'holdout(split=0.5)'. By "
            "default ewens and codelength.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    data: Given = DATA_OPTIONS,
    count: Annotated[
        int,
        typer.Option(
            "--list",
            min=1,
            help="How many of the best partitions are listed for each learner and criterion.",
            rich_help_panel=OUTPUT,
        ),
    ] = 5,
    out: OutFolder = Path("discovery"),
    format: Annotated[
        FormatName, typer.Option(help="How tables are written.", rich_help_panel=OUTPUT)
    ] = FormatName.csv,
    fresh: Fresh = False,
    workers: Threads = None,
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
    """Find, among all partitions of the contexts, those that explain each learner best.

    Up to 14 contexts every partition is judged (21,147 for nine); beyond that they are searched,
    and the tables say so. More useful than any single partition is how probable it is that a
    learner treats two contexts alike: coclassification.csv, its mean over learners in
    population.csv, and a chart. The partitions of a task, or of --features, are marked.
    """
    from howlearn.analyses.discover import discover_into
    from howlearn.analyses.discover_criteria import DEFAULT, check_criteria
    from howlearn.cli import show
    from howlearn.cli.next_command import starting
    from howlearn.models.names import learning_named
    from howlearn.models.partition_model import PartitionModel
    from howlearn.report import charts
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of

    criteria = check_criteria(criterion or DEFAULT)
    options = {
        "task": task,
        **data,
        "criteria": [repr(c) for c in criteria],
        "rule": rule.value,
        "form": form.value,
        "max_rate": max_rate,
        "list": count,
        "format": format.value,
        "model": [],
        "add_model": [],
        "one_rate": False,
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in files], options)
    study = inputs.study
    show.reading(study)
    models = [m for m in inputs.candidates if isinstance(m, PartitionModel)]
    learning = learning_named(rule.value, form.value, max_rate)
    manifest = manifest_of(files, study, models, options, "discover")
    with (
        starting(out, fresh, workers, dask, shard) as start,
        show.progress_bar("judging partitions") as progress,
    ):
        found = discover_into(
            out,
            study,
            learning,  # type: ignore[arg-type]  (what is no rule is refused there, in words)
            criteria,
            models,
            manifest,
            count,
            data["by"],
            format.value,
            start,
            progress,
        )
    show.save_charts(lambda: charts.of_discovery(found, models), out)
    _print(found, study, criteria, out, not criterion)
    show_following(selecting(files, options), "do the listed models explain as well?")


def _print(
    found: Discovery, study: Study, criteria: tuple[Criterion, ...], out: Path, default: bool
) -> None:
    from rich.markup import escape

    from howlearn.analyses import discover_words
    from howlearn.cli.show import console, listing_of

    console.print(escape(discover_words.how(found, study)), soft_wrap=True)
    for condition, criterion in discover_words.groups(found):
        where = f" ({condition})" if condition else ""
        listing = listing_of(
            f"Marked partitions by {criterion}{where}",
            "model", "mean probability", "the best for", "median nats behind",
        )  # fmt: skip
        rows = discover_words.marked(found, condition, criterion)
        for row in rows:
            listing.add_row(*(escape(text) for text in row))
        if rows:
            console.print(listing)
        for sentence in discover_words.sentences(found, condition, criterion):
            console.print(escape(f"{criterion}{where}: {sentence}"), soft_wrap=True)
    if default:
        console.print("No --criterion was given, so these were used:")
    for criterion in criteria:
        console.print(escape(f"  {criterion!r}: {criterion.title}"), soft_wrap=True)
    for sentence in discover_words.advice(found):
        console.print(escape(sentence), soft_wrap=True)
    console.print(
        escape(f"Tables and chart: {out}/population.csv, consensus.csv, partitions.csv, …"),
        soft_wrap=True,
    )
