"""``howlearn verify``: do the paper's inequalities hold, and how loose are they?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.following import following
from howlearn.cli.options import (
    DESIGN,
    Dask,
    Fresh,
    Order,
    OutFolder,
    Seed,
    ShardOption,
    TaskOption,
    Threads,
)

if TYPE_CHECKING:
    from howlearn.paper.verify import Verification


def verify(
    task: TaskOption = None,
    trials: Annotated[
        str,
        typer.Option(
            metavar="N,N…", help="Numbers of trials to go through.", rich_help_panel=DESIGN
        ),
    ] = "125,250,500,1000,2000,4000,8000,16000",
    learners: Annotated[
        int,
        typer.Option(
            min=2,
            help="Simulated learners per true model and number of trials; half of them beyond "
            "4,000 trials.",
            rich_help_panel=DESIGN,
        ),
    ] = 20,
    rate: Annotated[
        float,
        typer.Option(
            help="Their learning rate at 500 trials. With theta fixed it falls as one over the "
            "root of the number of trials, from there on and up to there.",
            rich_help_panel=DESIGN,
        ),
    ] = 0.03,
    split: Annotated[
        float,
        typer.Option(
            help="The share of the trials that trains a hold-out.", rich_help_panel=DESIGN
        ),
    ] = 0.5,
    futures: Annotated[
        int,
        typer.Option(
            help="How often every learner's training is continued anew, at least 20: for the "
            "expectation given the training.",
            rich_help_panel=DESIGN,
        ),
    ] = 20,
    c: Annotated[
        float, typer.Option("--c", help="The constant of penalized.", rich_help_panel=DESIGN)
    ] = 0.012,
    order: Order = None,
    seed: Seed = 0,
    out: OutFolder = Path("verification"),
    fresh: Fresh = False,
    workers: Threads = None,
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
    """Check the paper's theorems on simulated learners, and its propositions on sequences.

    Learners follow every model of the task (partition models with one rate per cell), and Exp3,
    which none of the models describes. Reported are, with standard errors: H² of the model that a
    hold-out selects and K of the best candidate (Theorem 1), K of the model that penalized selects
    and the penalised oracle (Theorem 3), their ratios, how fast they fall, and the bounds. The
    propositions, and the sharper bounds of howlearn theory, are tried on random and adversarial
    sequences, and on all short ones. A violation is reported as a result, with exit status 0.
    """
    from howlearn.analyses.calibrate import write_tables
    from howlearn.cli import show
    from howlearn.cli.parse import parse_counts
    from howlearn.cli.starting import starting
    from howlearn.paper.verify import OUTPUTS, TABLES, check, outsider
    from howlearn.paper.verify import verify as verified
    from howlearn.paper.verify_learners import Measure
    from howlearn.report import charts
    from howlearn.results.inputs import task_with
    from howlearn.results.manifest import describe, made_by
    from howlearn.runs.folder import RunFolder

    chosen = task_with(task, "gradient", "gain", 1.0, order.value if order else None)
    numbers = parse_counts(trials, "--trials")
    measure = Measure(split, futures, c)
    models = check(chosen, numbers, learners, rate, measure)
    show.default_task(task)
    manifest = {
        **made_by("verify"),
        "task": chosen.name,
        "order": chosen.order,
        "trials": [*numbers],
        "learners": learners,
        "rate": rate,
        "measure": vars(measure),
        "seed": seed,
        "models": [describe(model) for model in (*models, outsider(chosen))],
    }
    with (
        starting(out, fresh, workers, dask, shard) as start,
        RunFolder(out, manifest, OUTPUTS, start) as store,
    ):
        with show.progress_bar("verifying") as progress:
            result = verified(
                chosen, numbers, learners, rate, measure, seed, store, workers, progress
            )
        write_tables(out, {name: getattr(result, name) for name in TABLES})
    show.save_charts(lambda: charts.of_verification(result), out)
    _print(result, out)
    following("reproduce", why="the paper's numerical study")


def _print(result: Verification, out: Path) -> None:
    import polars as pl
    from rich.markup import escape

    from howlearn.cli.show import console, listing_of
    from howlearn.paper.verify import SCALINGS, SHOWN

    risks = result.risks.filter(pl.col("true_model").is_in(SHOWN))
    rates = {(r["scaling"], r["true_model"], r["risk"]): r for r in result.rates.to_dicts()}
    for scaling, words in SCALINGS.items():
        mine = risks.filter(scaling=scaling)
        listing = listing_of(
            f"Hold-out, Theorem 1 ({words})", "true model", "trials", "E\\[H²] selected",
            "E\\[K] best", "ratio", "bound, repaired", "bound, published",
        )  # fmt: skip
        for row in mine.iter_rows(named=True):
            listing.add_row(
                escape(row["true_model"]), f"{row['trials']:,}",
                _number(row, "hellinger"), _number(row, "best_kl"), _number(row, "ratio_1"),
                f"{row['bound_repaired']:.3g}", f"{row['bound_published']:.3g}",
            )  # fmt: skip
        console.print(listing)
        listing = listing_of(
            f"Penalised, Theorem 3 ({words})", "true model", "trials", "E\\[K] selected",
            "penalised oracle", "ratio",
        )  # fmt: skip
        for row in mine.iter_rows(named=True):
            listing.add_row(
                escape(row["true_model"]), f"{row['trials']:,}", _number(row, "kl"),
                _number(row, "penalised_oracle"), _number(row, "ratio_3"),
            )  # fmt: skip
        console.print(listing)
        for model in SHOWN:
            found = [
                f"{text} n^{rates[scaling, model, risk]['rate']:.2f} "
                f"(± {rates[scaling, model, risk]['rate_error']:.2f})"
                for risk, text in (("hellinger", "E[H²]"), ("best_kl", "E[K] of the best"),
                                   ("kl", "E[K] penalised"))
                if rates[scaling, model, risk]["rate"] is not None
            ]  # fmt: skip
            if found:
                console.print(escape(f"{model}: {', '.join(found)}"), soft_wrap=True)
    _print_propositions(result)
    if result.violations:
        console.print(f"[bold]{len(result.violations)} violations:[/]")
        for sentence in result.violations:
            console.print(f"  {escape(sentence)}", soft_wrap=True)
    else:
        console.print("No bound was violated.")
    names = "risks.csv, rates.csv, propositions.csv, learners.csv, risks.svg"
    console.print(escape(f"Tables and chart: {out}/{names}"), soft_wrap=True)


def _print_propositions(result: Verification) -> None:
    from howlearn.cli.show import console, listing_of

    listing = listing_of("Propositions", "source", "rule", "claim", "closest", "violated")
    for row in result.propositions.iter_rows(named=True):
        listing.add_row(
            row["source"], f"{row['rule']}, {row['form']}", row["claim"],
            f"{row['closest']:.2g}", f"{row['violations']} of {row['designs']} designs",
        )  # fmt: skip
    console.print(listing)
    paths = result.propositions["paths"].sum()
    console.print(
        f"[dim]closest: the largest share of what the bound allows that any of {paths:,} sequences "
        "used.[/]"
    )


def _number(row: dict[str, float], name: str) -> str:
    return f"{row[name]:.3g} ± {row[f'{name}_error']:.1g}"
