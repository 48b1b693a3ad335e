"""``howlearn report`` and ``merge``: commands that work on a folder of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howlearn.cli import Written
from howlearn.cli.build import Given, command
from howlearn.cli.options import DESIGN_SEED, FRESH, OUT, RESULTS
from howlearn.core.options import FilePath, Files, Kind, Option, Panel, Repeated, WholeNumber

if TYPE_CHECKING:
    from howlearn.results.results import Results

TITLE = Panel.shown.option("title", Kind(), "The heading of the page.")
CALIBRATION = Panel.shown.option(
    "calibration",
    FilePath("FOLDER"),
    "A folder of howlearn calibrate: shows how often this design confuses models.",
)
SAMPLE = Panel.shown.option(
    "sample",
    WholeNumber(least=1),
    "Number of learners with their own panel; the table lists all.",
    500,
)
REPORT_CODE = Panel.shown.option(
    "model",
    Repeated("FILE.py:MODEL"),
    "Run the code of a model of yours among the candidates of RESULTS; may be repeated. Without "
    "it, the charts that need the model are left out. Name only files that you trust.",
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
        help="The seed for simulated doubles and for the sample of learners.", panel=Panel.shown
    ),
    REPORT_CODE,
    FRESH.but(help="Replace the file even if it is not an earlier report.", panel=Panel.output),
)
def report(given: Given) -> None:
    """Show the results of howlearn select on one HTML page.

    The answer comes first; then how sure it is, whether the models behave like the people,
    estimates, every learner, and a methods section. Charts can be saved as SVG, PNG and CSV. The
    page needs no network.

    For example: howlearn report results -o report.html
    """
    from rich.markup import escape

    from howlearn.cli import show
    from howlearn.core.text import listed
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
    found = _completed(found, given.seed)
    with show.progress_bar("drawing") as progress:
        made = write_report(
            page, found, given.title, given.sample, given.seed, fresh, progress, known
        )
    Written.complete = True
    for sentence in made.notes:
        show.note(sentence)
    size = page.stat().st_size / 1e6
    beside = listed([path.name for path in made.files if path != page])
    also = f", with {beside}" if beside else ""
    show.console.print(escape(f"{page} ({size:.2g} MB){also}"), soft_wrap=True)
    show.console.print(escape(f"Next: open {page} in a browser"), soft_wrap=True)


def _completed(found: Results, seed: int) -> Results:
    """The results with their completeness, where it can be had and is not there yet."""
    from howlearn.analyses.completeness import is_large_enough
    from howlearn.analyses.residual import installed
    from howlearn.cli.fit_commands import complete
    from howlearn.report.folder import checked_results
    from howlearn.results.fit_verdicts import COMPLETENESS, fit_of

    folder = found.folder
    if folder is None or found.why_not or not installed():
        return found
    known = fit_of(found.manifest).get(COMPLETENESS, {})
    if known.get("candidates") == found.names or not is_large_enough(found.study):
        return found
    given = {"seed": seed, "format": found.options.get("format", "csv"), "fresh": True}
    complete(given, found, folder / "completeness")
    return checked_results(folder)


# ``howlearn merge``: the tables of a run that was done in shards.


FOLDERS = Option(
    "folders",
    Files("RESULTS…"),
    "The folder of the shards, or the folders of all shards.",
    is_argument=True,
    is_required=True,
)
MERGE_CODE = Panel.models.option(
    "model",
    Repeated("FILE.py:MODEL"),
    "Run the code of a model of yours that the shards used; may be repeated. Name only files that "
    "you trust.",
    names_code=True,
)
MERGE_DATA = Panel.data.option(
    "data",
    Repeated("FILE|FOLDER"),
    "Allow this file, or the files in this folder, to be read; may be repeated. Without it, only "
    "files beside RESULTS and below are read.",
)
VALUED = ("--shard", "--out", "-o", "--workers", "--dask")  # what merging decides itself


@command(
    FOLDERS,
    OUT.but(help="The folder for the results; required if each shard had its own folder."),
    MERGE_DATA,
    MERGE_CODE,
)
def merge(given: Given) -> None:
    """Combine the tables of a run that was done in parts (--shard).

    Every shard was started with the same command and --shard I/N, best in one folder. Nothing is
    computed again; unfinished shards are named. Start it in the same place, with the same data.

    For example: howlearn merge results
    """
    import sys
    from pathlib import Path

    from howlearn.cli.app import app
    from howlearn.core import safe_files
    from howlearn.core.errors import DataError, HowlearnError
    from howlearn.runs.shards import collect, command_of

    folders, out = given.folders, given.out
    if out is None and len(folders) > 1:
        raise HowlearnError(
            f"{len(folders)} folders are merged into another one: name it with --out"
        )
    words = [*without(command_of(folders[0])), "--shard", "merge", "--out", str(out or folders[0])]
    if out is not None:
        collect(folders, out)
    # The words below were written by whoever made the folder.
    safe_files.seal([folders[0].resolve().parent, *map(Path, given.data)])
    before = sys.argv
    sys.argv = [before[0], *words]
    try:
        app(args=words, standalone_mode=False)
    except DataError as error:
        raise HowlearnError(
            f"{error}\n(merge repeats the command of the shards: start it where they were started)"
        ) from None
    finally:
        sys.argv = before


def without(words: list[str]) -> list[str]:
    """The words of a command without the options that merging decides.

    >>> without(["select", "a.csv", "--shard", "1/3", "-oresults", "--out=b", "--fresh"])
    ['select', 'a.csv']
    """
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif word == "--fresh" or word.startswith(tuple(f"{o}=" for o in VALUED)):
            continue
        elif not (word.startswith("-o") and len(word) > 2 and word[1] != "-"):
            kept.append(word)
    return kept
