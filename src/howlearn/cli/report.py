"""``howlearn report``: the results as one page to read and to show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from howlearn.cli.options import OUTPUT

SHOWN = "What is shown"


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="A folder that howlearn select wrote.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The page; by default report.html in RESULTS. Tables for a paper (.docx, .tex) "
            "are written beside it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="The heading of the page.", rich_help_panel=SHOWN)
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder that howlearn calibrate wrote: how often this design confuses models.",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many learners can be opened one by one; the table lists all.",
            rich_help_panel=SHOWN,
        ),
    ] = 500,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="For the simulated doubles, and which learners are sampled.",
            rich_help_panel=SHOWN,
        ),
    ] = 0,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="FILE.py:MODEL",
            help="Run the code of a model of your own that is among the candidates of RESULTS; "
            "may be repeated. Without this no code is run, and the charts that need the model are "
            "left out. Name only files that you trust.",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Replace the file even if it is not an earlier report.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
) -> None:
    """Show the results of howlearn select as one HTML page that needs no network.

    The answer first, then how sure it is, whether the models behave like the people, estimates,
    every learner, and a methods paragraph. Charts can be saved as SVG, PNG and CSV.

    For example: howlearn report results -o report.html
    """
    from rich.markup import escape

    from howlearn.cli import show
    from howlearn.core import safe_files
    from howlearn.report.folder import calibrated, checked_results
    from howlearn.report.page.page import check_target, write_report

    safe_files.allow_code(*(model or ()))
    page = out or results / "report.html"
    if out is not None:  # before any work
        check_target(page, fresh)
    with show.progress_bar("reading"):
        found = checked_results(results)
        known = calibrated(found, calibration)
    check_target(page, fresh)
    with show.progress_bar("drawing") as progress:
        made = write_report(page, found, title, sample, seed, fresh, progress, known)
    for sentence in made.notes:
        show.note(sentence)
    for path in made.files:
        size = path.stat().st_size / 1e6
        show.console.print(escape(f"{path}  ({size:.2g} MB)"), soft_wrap=True)
    show.console.print(escape(f"Next: open {page} in a browser"), soft_wrap=True)
