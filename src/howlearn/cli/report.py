"""``howlearn report``: the results as one page to read and to show."""

from __future__ import annotations

from howlearn.cli.build import Given, command
from howlearn.cli.options import DESIGN_SEED, FRESH, OUT, RESULTS
from howlearn.core.options import FilePath, Kind, Panel, Repeated, WholeNumber

TITLE = Panel.shown.option("title", Kind(), "The heading of the page.")
CALIBRATION = Panel.shown.option(
    "calibration",
    FilePath("FOLDER"),
    "A folder that howlearn calibrate wrote: how often this design confuses models.",
)
SAMPLE = Panel.shown.option(
    "sample",
    WholeNumber(least=1),
    "How many learners can be opened one by one; the table lists all.",
    500,
)
CODE = Panel.shown.option(
    "model",
    Repeated("FILE.py:MODEL"),
    "Run the code of a model of your own that is among the candidates of RESULTS; may be repeated. "
    "Without this no code is run, and the charts that need the model are left out. Name only files "
    "that you trust.",
    names_code=True,
)


@command(
    RESULTS,
    OUT.but(
        kind=FilePath("FILE"),
        help="The page; by default report.html in RESULTS. Tables for a paper (.docx, .tex) are "
        "written beside it.",
    ),
    TITLE,
    CALIBRATION,
    SAMPLE,
    DESIGN_SEED.but(
        help="For the simulated doubles, and which learners are sampled.", panel=Panel.shown
    ),
    CODE,
    FRESH.but(help="Replace the file even if it is not an earlier report.", panel=Panel.output),
)
def report(given: Given) -> None:
    """Show the results of howlearn select as one HTML page that needs no network.

    The answer first, then how sure it is, whether the models behave like the people, estimates,
    every learner, and a methods paragraph. Charts can be saved as SVG, PNG and CSV.

    For example: howlearn report results -o report.html
    """
    from rich.markup import escape

    from howlearn.cli import show
    from howlearn.report.charts import check

    check("a report needs", "jinja2")  # before anything is imported that draws
    from howlearn.report.folder import calibrated, checked_results
    from howlearn.report.page.page import check_target, write_report

    fresh = given.fresh
    page = given.out or given.results / "report.html"
    if given.out is not None:  # before any work
        check_target(page, fresh)
    with show.progress_bar("reading"):
        found = checked_results(given.results)
        known = calibrated(found, given.calibration)
    check_target(page, fresh)
    with show.progress_bar("drawing") as progress:
        made = write_report(
            page, found, given.title, given.sample, given.seed, fresh, progress, known
        )
    for sentence in made.notes:
        show.note(sentence)
    for path in made.files:
        size = path.stat().st_size / 1e6
        show.console.print(escape(f"{path}  ({size:.2g} MB)"), soft_wrap=True)
    show.console.print(escape(f"Next: open {page} in a browser"), soft_wrap=True)
