"""``howlearn theory``, ``verify`` and ``reproduce``: the paper, computed and checked."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from howlearn.cli import Written
from howlearn.cli.build import Given, command
from howlearn.cli.options import DESIGN_SEED, ORDER, OUT, RUNNING, parse_counts, parse_sizes
from howlearn.cli.progress import following, run_in_folder, starting
from howlearn.core.errors import HowlearnError
from howlearn.core.options import FilePath, Kind, Number, OneOf, OnOff, Option, Panel, WholeNumber
from howlearn.reading.analysis_options import TASK

if TYPE_CHECKING:
    from howlearn.paper.bounds import Quantity
    from howlearn.paper.reproduce import Reproduction


EPSILON = Panel.design.option(
    "epsilon", Number(), "A lower limit for the probability of every action.", 0.05
)
RULE = Panel.design.option(
    "rule",
    OneOf(words=("gradient", "exp3-ix", "exp4")),  # what the paper has propositions for
    "The learning rule of a cell or a mixture.",
    "gradient",
)
ACTIONS = Panel.design.option("actions", WholeNumber(), "The number of actions, K.", 2)
TRIALS = Panel.design.option("trials", WholeNumber(), "The number of trials, n.", 500)
R = Panel.design.option(
    "R",
    Number(),
    "The largest theta, in the paper's units: the largest rate times the root of n.",
)
MAX_RATE = Panel.design.option("max_rate", Number(), "The largest rate, instead of --R.")
EXPERTS = Panel.design.option("experts", WholeNumber(), "exp4: the largest number of experts.", 2)
RHO = Panel.design.option(
    "rho",
    Number(),
    "exp4: the smallest sum of the experts' probabilities of an action.",
    0.5,
)
SIZES = Panel.design.option(
    "sizes",
    Kind("D,D…"),
    "The numbers of parameters of the candidates, for example 1,2,2,4,4,9.",
)
SPLIT = Panel.design.option("split", Number(), "The share of trials that trains the hold-out.", 0.5)
LEADING = Panel.design.option(
    "leading", Number(), "The leading constant of the hold-out theorem.", 2.0
)
JSON = Option("json", OnOff(), "Print one JSON object with a key per formula.", False)
ALL = Option("all", OnOff(), "Show every formula, its source and what it assumes.", False)


@command(
    EPSILON, RULE, ACTIONS, TRIALS, R, MAX_RATE, EXPERTS, RHO, SIZES, SPLIT, LEADING, ALL, JSON
)
def theory(given: Given) -> None:
    """Compute the paper's guarantees for a design.

    With --all each row says where its formula comes from (the paper, or a sharper one of this
    project), which form it covers, and what it assumes. All logs are natural. Likelihoods and
    penalties are divided by the number of trials, as in the paper.
    """

    from howlearn.paper.theory import TheoryDesign, quantities

    trials, radius, max_rate = given.trials, given.R, given.max_rate
    if radius is not None and max_rate is not None:
        raise HowlearnError("--R and --max-rate say the same thing; give one of them")
    if trials < 1:
        raise HowlearnError(f"at least one trial is needed, got {trials}")
    if radius is None:
        radius = (1.0 if max_rate is None else max_rate) * math.sqrt(trials)
    counts = () if given.sizes is None else parse_sizes(given.sizes, SIZES.word)
    design = TheoryDesign(
        given.rule, trials, radius, given.epsilon, given.actions, given.experts, given.rho, counts,
        given.split, given.leading,
    )  # fmt: skip
    found = quantities(design)
    if given.json:
        typer.echo(dumps({quantity.key: quantity.plain() for quantity in found}, indent=2))
        return
    title = f"{given.rule}: n = {trials:,}, R = {radius:.4g}, epsilon = {given.epsilon:g}"
    _show_quantities(title, found, given.all)
    following("verify", why="do these bounds hold on simulated learners?")


def _show_quantities(title: str, found: Sequence[Quantity], everything: bool) -> None:
    """Every formula with its source, or a short list."""
    from howlearn.cli.show import console, listing_of

    if everything:
        listing = listing_of(
            title, "quantity", "value", "source", "form", "what it is, and assumes"
        )
        for q in found:
            words = "; ".join(text for text in (q.meaning, q.assumptions) if text)
            listing.add_row(q.key, q.words, q.source, q.form, words)
        console.print(listing)
        return
    listing = listing_of(title, "quantity", "value", "what it is")
    for q in found:
        if q.brief:
            listing.add_row(q.key, q.words, q.brief)
    console.print(listing)
    console.print(
        "A bound below 1 says something about this design; a larger one says nothing. "
        "All formulas, with their sources: --all."
    )


# ``howlearn verify``: do the paper's inequalities hold, and how loose are they?


VERIFY_TRIALS = Panel.design.option(
    "trials",
    Kind("N,N…"),
    "The numbers of trials.",
    "125,250,500,1000,2000,4000,8000,16000",
)
VERIFY_LEARNERS = Panel.design.option(
    "learners",
    WholeNumber(least=2),
    "Simulated learners per true model and number of trials; half of them beyond 4,000 trials.",
    20,
)
RATE = Panel.design.option(
    "rate",
    Number(),
    "Their learning rate at 500 trials; it is proportional to one over the square root of the "
    "number of trials.",
    0.03,
)
VERIFY_SPLIT = Panel.design.option(
    "split", Number(), "The share of the trials that trains a hold-out.", 0.5
)
FUTURES = Panel.design.option(
    "futures",
    WholeNumber(),
    "Simulated continuations of every learner's training, at least 20, for the expectation given "
    "the training.",
    20,
)
CONSTANT = Panel.design.option("c", Number(), "The constant of penalized.", 0.012)


@command(
    TASK, VERIFY_TRIALS, VERIFY_LEARNERS, RATE, VERIFY_SPLIT, FUTURES, CONSTANT, ORDER, DESIGN_SEED,
    OUT.but(default=Path("verification")), *RUNNING,
)  # fmt: skip
def verify(given: Given) -> None:
    """Check the paper's theorems on simulated learners.

    Learners follow every model of the task (partition models with one rate per cell), and Exp3,
    which no candidate describes. The tables have, with standard errors: H² of the model that a
    hold-out selects and K of the best candidate (Theorem 1), K of the model that penalized selects
    and the penalised oracle (Theorem 3), their ratios, their rates of decrease, and the bounds. The
    propositions, and the sharper bounds of howlearn theory, are tried on random and adversarial
    sequences, and on all short ones. A violation is reported as a result, with exit status 0.
    """
    from howlearn.cli import show
    from howlearn.paper.verify import Verification, check, outsider
    from howlearn.paper.verify import verify as verified
    from howlearn.paper.verify_learners import Measure
    from howlearn.results.inputs import task_with
    from howlearn.results.manifest import made_by

    learners, rate, seed = given.learners, given.rate, given.seed
    chosen = task_with(given.task, "gradient", "gain", 1.0, given.order)
    numbers = parse_counts(given.trials, VERIFY_TRIALS.word)
    measure = Measure(given.split, given.futures, given.c)
    models = check(chosen, numbers, learners, rate, measure)
    show.default_task(given.task)
    manifest = {
        **made_by("verify"),
        "task": chosen.name,
        "order": chosen.order,
        "trials": [*numbers],
        "learners": learners,
        "rate": rate,
        "measure": vars(measure),
        "seed": seed,
        "models": [model.describe() for model in (*models, outsider(chosen))],
    }
    run_in_folder(
        given,
        manifest,
        Verification,
        lambda *run: verified(chosen, numbers, learners, rate, measure, seed, *run),
        "verifying",
    )
    following("reproduce", why="the paper's numerical study")


# ``howlearn reproduce``: the paper's numerical study, reproduced and corrected.


ARCHIVE = Option(
    "archive",
    FilePath("PATH"),
    "The authors' unpacked supplement: everything is also computed from it. Their RData files "
    "need pip install 'howlearn\\[r]'.",
)
FIGURE_LEARNERS = Option(
    "learners",
    WholeNumber(least=2),
    "Simulated learners per model for the figures; the paper has 100",
    100,
)


@command(OUT.but(default=Path("reproduction")), ARCHIVE, FIGURE_LEARNERS, DESIGN_SEED, *RUNNING)
def reproduce(given: Given) -> None:
    """Reproduce and correct the paper's numerical study.

    Writes reproduction.csv (every number of Figures 2a to 3d and of the appendix: published, from
    the archive, corrected), claims.csv (which claims of the paper still hold, with Monte-Carlo
    errors from at least 1,000 learners per model), and reproduction.html.
    """
    from howlearn.analyses.contests import Clock
    from howlearn.cli import show
    from howlearn.paper.archive import read_archive
    from howlearn.paper.reproduce import OUTPUTS, archive_described, write_reproduction
    from howlearn.paper.reproduce import reproduce as run
    from howlearn.paper.versions import design
    from howlearn.report import charts
    from howlearn.results.manifest import made_by
    from howlearn.runs.files import write_whole
    from howlearn.runs.folder import RunFolder

    clock, archived = Clock(), None
    out, archive, learners, seed = given.out, given.archive, given.learners, given.seed
    if archive is not None:
        with clock("reading the archive"):  # first, so that a bad one leaves no folder
            archived = read_archive(archive)
    manifest = {
        **made_by("reproduce"),
        "design": design(learners, seed).described(),
        "archive": archive_described(archive, out),
    }
    with starting(given) as start, RunFolder(out, manifest, OUTPUTS, start) as store:
        with show.progress_bar("simulating and fitting") as progress:
            result = run(learners, archived, seed, store, given.workers, progress, clock)
        for sentence in result.archive.notes if result.archive else ():
            show.note(sentence)
        with result.clock("tables"):
            write_reproduction(out, result)
    if charts.available():
        with show.progress_bar("drawing"):
            from howlearn.paper.page import page

            words = ["howlearn", "reproduce", "--out", str(out)]
            words += ["--archive", str(archive)] if archive else []
            words += ["--learners", str(learners)] if learners != 100 else []
            words += ["--seed", str(seed)] if seed else []
            text = page(result, shlex.join(words))
            path = out / "reproduction.html"
            write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
    else:
        show.console.print(charts.MISSING, markup=False)
    Written.complete = True
    _show(result, out)
    following("inspect", "FILES", why="your own data")


def _show(result: Reproduction, out: Path) -> None:
    from howlearn.cli.show import console, listing_of
    from howlearn.paper.published import HOURS

    title = f"What the paper says, and {result.claim_learners:,} learners per model (± SE) show"
    listing = listing_of(title, "claim", "published", "corrected")
    said = [claim for claim in result.claims if claim.verdict]
    for claim in said:
        corrected = f"{claim.corrected}\n[bold]{claim.verdict}[/]"
        listing.add_row(claim.statement, f"{claim.published:g}", corrected)
    console.print(listing)
    more = len(result.claims) - len(said)
    console.print(f"{more} more numbers, and each with the paper's fault: claims.csv")
    total = sum(result.clock.seconds.values())
    console.print(f"Time: {total:.1f} s; the paper: about {HOURS} hours.")
    what = "Tables and page" if (out / "reproduction.html").exists() else "Tables"
    console.print(f"{what}: {out}/", soft_wrap=True, markup=False)
