"""``howlearn theory``: the paper's guarantees, computed for a design."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

DESIGN = "The design"


class TheoryRule(StrEnum):
    """What the paper has propositions for."""

    gradient = "gradient"
    exp3_ix = "exp3-ix"
    exp4 = "exp4"


def theory(
    epsilon: Annotated[
        float,
        typer.Option(help="The probability that no action falls under.", rich_help_panel=DESIGN),
    ] = 0.05,
    rule: Annotated[
        TheoryRule, typer.Option(help="How a cell, or a mixture, learns.", rich_help_panel=DESIGN)
    ] = TheoryRule.gradient,
    actions: Annotated[int, typer.Option(help="K, their number.", rich_help_panel=DESIGN)] = 2,
    trials: Annotated[int, typer.Option(help="n.", rich_help_panel=DESIGN)] = 500,
    R: Annotated[
        float | None,
        typer.Option(
            "--R",
            help="The largest theta, in the paper's units: the largest rate times the root of n.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    max_rate: Annotated[
        float | None,
        typer.Option(
            "--max-rate", help="The largest rate, in place of --R.", rich_help_panel=DESIGN
        ),
    ] = None,
    experts: Annotated[
        int, typer.Option(help="exp4: the largest number of experts.", rich_help_panel=DESIGN)
    ] = 2,
    rho: Annotated[
        float,
        typer.Option(
            help="exp4: what the experts' probabilities of any action add up to, at least.",
            rich_help_panel=DESIGN,
        ),
    ] = 0.5,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="D,D…",
            help="The numbers of parameters of the models that compete, as 1,2,2,4,4,9.",
            rich_help_panel=DESIGN,
        ),
    ] = None,
    split: Annotated[float, typer.Option(help="Of the hold-out.", rich_help_panel=DESIGN)] = 0.5,
    leading: Annotated[
        float,
        typer.Option(help="The leading constant of the hold-out theorem.", rich_help_panel=DESIGN),
    ] = 2.0,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, a key per formula.")
    ] = False,
) -> None:
    """Compute the paper's guarantees for a design: how long, how smooth, how large a penalty.

    Rows say where each formula comes from (the paper's, or a sharper one of this project), which
    form it covers, and what it assumes. All logs are natural. Likelihoods and penalties are divided
    by the number of trials, as in the paper.
    """
    import math
    from json import dumps

    from howlearn.cli.following import following
    from howlearn.cli.parse import parse_sizes
    from howlearn.cli.show import console, listing_of
    from howlearn.core.errors import HowlearnError
    from howlearn.paper.theorems import TheoryDesign, quantities

    if R is not None and max_rate is not None:
        raise HowlearnError("--R and --max-rate say the same thing; give one of them")
    if trials < 1:
        raise HowlearnError(f"there is at least one trial, not {trials}")
    if R is None:
        R = (1.0 if max_rate is None else max_rate) * math.sqrt(trials)
    counts = parse_sizes(sizes, "--sizes") if sizes is not None else ()
    design = TheoryDesign(
        rule.value, trials, R, epsilon, actions, experts, rho, counts, split, leading
    )
    found = quantities(design)
    if json:
        typer.echo(dumps({quantity.key: quantity.plain() for quantity in found}, indent=2))
        return
    title = f"{rule.value}: n = {trials:,}, R = {R:.4g}, epsilon = {epsilon:g}"
    listing = listing_of(title, "quantity", "value", "source", "form", "what it is, and assumes")
    for quantity in found:
        value = f"{quantity.value:,.6g}" if math.isfinite(quantity.value) else "overflows"
        words = "; ".join(text for text in (quantity.meaning, quantity.assumptions) if text)
        listing.add_row(quantity.key, value, quantity.source, quantity.form, words)
    console.print(listing)
    following("verify", why="do these bounds hold on simulated learners?")
