"""``howlearn reproduce``: the paper's numerical study, reproduced and corrected."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.cli.following import following
from howlearn.cli.options import Dask, Fresh, OutFolder, Seed, ShardOption, Threads

if TYPE_CHECKING:
    from howlearn.paper.reproduce import Reproduction


def reproduce(
    out: OutFolder = Path("reproduction"),
    archive: Annotated[
        Path | None,
        typer.Option(
            "--archive",
            metavar="PATH",
            help="The authors' supplement, unpacked: everything is computed from it as well. "
            "Their RData files need pip install 'howlearn\\[r]'.",
        ),
    ] = None,
    learners: Annotated[
        int,
        typer.Option(min=2, help="Simulated learners per model for the figures; the paper has 100"),
    ] = 100,
    seed: Seed = 0,
    fresh: Fresh = False,
    workers: Threads = None,
    dask: Dask = None,
    shard: ShardOption = None,
) -> None:
    """Reproduce the paper's numerical study, and correct it.

    Writes reproduction.csv (every number of Figures 2a to 3d and of the appendix: published, from
    the archive, corrected), claims.csv (what is left of the paper's claims, with Monte-Carlo
    errors from at least 1,000 learners per model), and reproduction.html.
    """
    from howlearn.analyses.contests import Clock
    from howlearn.cli import show
    from howlearn.cli.starting import starting
    from howlearn.paper.archive import read_archive
    from howlearn.paper.reproduce import reproduce as run
    from howlearn.paper.versions import design
    from howlearn.paper.why import OUTPUTS, archive_described, write_reproduction
    from howlearn.report import style
    from howlearn.results.manifest import made_by
    from howlearn.runs.files import write_whole
    from howlearn.runs.folder import RunFolder

    clock, given = Clock(), None
    if archive is not None:
        with clock("reading the archive"):  # first, so that a bad one leaves no folder
            given = read_archive(archive)
    manifest = {
        **made_by("reproduce"),
        "design": design(learners, seed).described(),
        "archive": archive_described(archive, out),
    }
    with (
        starting(out, fresh, workers, dask, shard) as start,
        RunFolder(out, manifest, OUTPUTS, start) as store,
    ):
        with show.progress_bar("simulating and fitting") as progress:
            result = run(learners, given, seed, store, workers, progress, clock)
        for sentence in result.archive.notes if result.archive else ():
            show.note(sentence)
        with result.clock("tables"):
            write_reproduction(out, result)
    if style.available():
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
        show.console.print(style.MISSING, markup=False)
    _show(result, out)
    following("inspect", "FILES", why="your own data")


def _show(result: Reproduction, out: Path) -> None:
    from howlearn.cli.show import console, listing_of
    from howlearn.paper.published import HOURS

    title = f"The paper's claims ({result.claim_learners:,} learners per model, ± standard error)"
    listing = listing_of(title, "claim", "published", "with the fault", "corrected")
    for claim in result.claims:
        verdict = f"\n[bold]{claim.verdict}[/]" if claim.verdict else ""
        listing.add_row(
            claim.statement,
            f"{claim.published:g}",
            str(claim.with_fault),
            f"{claim.corrected}{verdict}",
        )
    console.print(listing)
    total = sum(result.clock.seconds.values())
    times = ", ".join(f"{what} {took:.2f} s" for what, took in result.clock.seconds.items())
    console.print(f"Time: {total:.1f} s ({times}); the paper: about {HOURS} hours.", soft_wrap=True)
    extra = sum(took for what, took in result.clock.seconds.items() if "claims" in what)
    if extra:  # nothing where everything was there from an earlier run
        console.print(
            f"That is {total - extra:.1f} s for the study with {6 * result.learners:,} learners, "
            f"and {extra:.1f} s for more learners, who give the claims their standard errors.",
            soft_wrap=True,
        )
    what = "Tables and page" if (out / "reproduction.html").exists() else "Tables"
    console.print(f"{what}: {out}/", soft_wrap=True, markup=False)
