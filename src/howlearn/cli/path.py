"""``howlearn path``: how far does the answer depend on price, bound and prior?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.next_command import selecting, show_following
from howlearn.cli.options import (
    MODELS,
    OUTPUT,
    AddModel,
    ExpertsFrom,
    Form,
    FormatName,
    FormName,
    Fresh,
    MaxRate,
    ModelNames,
    OneRate,
    OutFolder,
    Rule,
    RuleName,
    TaskOption,
    Threads,
)
from howlearn.cli.project_options import DATA_OPTIONS, Files, Given, takes_data

if TYPE_CHECKING:
    from howlearn.analyses.path_result import Path as Along


@takes_data
def path(
    files: Files,
    task: TaskOption = None,
    max_rates: Annotated[
        str,
        typer.Option(
            "--max-rates",
            metavar="RATE,RATE…",
            help="The largest learning rates that are tried, up to 20.",
            rich_help_panel=MODELS,
        ),
    ] = "0.5,1,2,5,20",
    max_kappa: Annotated[
        float,
        typer.Option(
            "--max-kappa",
            metavar="NATS",
            help="The largest price of a parameter; it starts at 0.",
            rich_help_panel=MODELS,
        ),
    ] = 10.0,
    criterion: Annotated[
        list[str] | None,
        typer.Option(
            "--criterion",
            metavar="CRITERION",
            help="What judges the candidates at every largest rate, named as for howlearn select; "
            "may be repeated. By default penalized(c=0.012), aic, bic, evidence and, for ten "
            "learners or more, population.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    model: ModelNames = None,
    add_model: AddModel = None,
    one_rate: OneRate = False,
    experts_from: ExpertsFrom = None,
    rule: Rule = RuleName.gradient,
    form: Form = FormName.gain,
    max_rate: MaxRate = 1.0,
    data: Given = DATA_OPTIONS,
    out: OutFolder = Path("path"),
    format: Annotated[
        FormatName, typer.Option(help="How tables are written.", rich_help_panel=OUTPUT)
    ] = FormatName.csv,
    fresh: Fresh = False,
    workers: Threads = None,
) -> None:
    """See whether the selected models depend on what one has to choose beforehand.

    Along three axes: the price of a parameter from 0 to 10 nats, exactly, with the paper's c, AIC
    and BIC marked; the largest learning rate, which is a convention; and the prior of the evidence.
    --max-rate is the largest rate for the price and the prior.
    """
    from howlearn.analyses.path import PathWork, check_bounds, check_price, path_into
    from howlearn.cli import show
    from howlearn.cli.options import parse_numbers
    from howlearn.report import charts
    from howlearn.results.inputs import load
    from howlearn.results.manifest import manifest_of
    from howlearn.runs.folder import Start
    from howlearn.selection.select import check_criteria

    bounds = check_bounds(parse_numbers(max_rates, "--max-rates"))
    check_price(max_kappa)
    criteria = check_criteria(criterion) if criterion else None
    options = {
        "task": task,
        **data,
        "max_rates": list(bounds),
        "max_kappa": max_kappa,
        "rule": rule.value,
        "form": form.value,
        "max_rate": max_rate,
        "format": format.value,
        "model": model or [],
        "add_model": add_model or [],
        "one_rate": one_rate,
        "experts_from": experts_from,
    }
    with show.progress_bar("reading"):
        inputs = load([str(file) for file in files], options)
    study, candidates = inputs.study, inputs.candidates
    work = PathWork(study, candidates, bounds, criteria, max_kappa, workers)
    options["criteria"] = [repr(each) for each in work.criteria]
    show.reading(study)
    show.same_models(candidates)
    manifest = manifest_of(files, study, candidates, options, "path")
    with show.progress_bar("following the path") as progress:
        found = path_into(out, work, manifest, format.value, Start(fresh), progress)
    show.save_charts(lambda: charts.of_path(found), out)
    _print(found, out)
    show_following(selecting(files, options), "a model for every learner, in tables")


def _print(found: Along, out: Path) -> None:
    """Who leads at the marked prices, at every bound and by every prior; then the sentences."""
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of

    unit = "sequences" if found.conditions else "learners"
    listing = listing_of(
        f"The leading model for {found.n_learners:,} {unit}", "along", "at", "model", "share"
    )
    for row in found.leaders.to_dicts():
        along = row["axis"] if row["axis"] == "prior" else f"largest rate, {row['criterion']}"
        along = "price (nats)" if row["axis"] == "kappa" else along
        ends = row["from_value"], row["to_value"]
        place = row["criterion"] if None in ends else _range(*(f"{end:.3g}" for end in ends))
        share = _range(*(f"{row[end]:.0%}" for end in ("lowest_share", "highest_share")))
        listing.add_row(*map(escape, (along, place, row["model"], share)))
    console.print(listing)
    for sentence in found.sentences:
        console.print(escape(sentence), soft_wrap=True)
    console.print(
        escape(f"Tables and chart: {out}/path.csv, path-learners.csv, path-leaders.csv, path.svg"),
        soft_wrap=True,
    )


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
