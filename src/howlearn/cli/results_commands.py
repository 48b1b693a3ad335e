"""``howlearn report``, ``merge``, ``completeness``, ``check``: commands on a folder of results."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli import Written
from howlearn.cli.build import Given, command
from howlearn.cli.options import DESIGN_SEED, FORMAT, FRESH, OUT, RESULTS, WORKERS
from howlearn.cli.progress import following
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.options import FilePath, Files, Kind, Option, Panel, Repeated, WholeNumber
from howlearn.core.text import listed

if TYPE_CHECKING:
    from howlearn.analyses.completeness import Completeness
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
    """The results with their completeness, where it can be computed and is not there yet."""
    from howlearn.analyses.completeness import is_large_enough
    from howlearn.analyses.residual import installed
    from howlearn.report.folder import checked_results
    from howlearn.results.manifest import COMPLETENESS, fit_of

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

    from howlearn.cli.app import app
    from howlearn.core import safe_files
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


# ``howlearn completeness`` and ``check``: are the candidates any good?


BEFORE = Panel.shown.option(
    "before",
    FilePath("FOLDER"),
    "An earlier folder of howlearn completeness, with other candidates, to compare with.",
)
SEED = DESIGN_SEED.but(help="The same seed gives the same numbers.", panel=Panel.chance)
DOUBLES = Panel.chance.option("doubles", WholeNumber(), "Simulated doubles of every learner.", 40)
SIGNATURE = Panel.shown.option(
    "signature",
    Repeated("EXPR"),
    "Also check the mean of this expression of trial, context, action, reward, last_action_here, "
    "last_reward_here, right, load and the features; 'EXPR given EXPR' uses some trials only. May "
    "be repeated.",
)
CODE = REPORT_CODE.but(
    help="Run the code of a model of yours among the candidates of RESULTS; may be repeated. Name "
    "only files that you trust."
)


@command(
    RESULTS, BEFORE, SEED,
    OUT.but(help="The folder for the tables; by default completeness in RESULTS."), FORMAT, CODE,
    FRESH,
)  # fmt: skip
def completeness(given: Given) -> None:
    """Measure how much of the predictable choices the models capture.

    Boosted trees look for anything that all candidates together fail to predict. If they find
    something, reasons.csv says what it may be and which candidates to add, and the verdicts in
    RESULTS are updated. Needs 20 learners with 100 trials, and the extra howlearn[completeness].

    For example: howlearn completeness results
    """
    from howlearn.cli import show
    from howlearn.results.results import Results

    _checked(given.results)
    out = given.out or given.results / "completeness"
    found = complete(given, Results.of(given.results), out)
    show.found(found, out)
    following("report", given.results, "-o", "report.html", why="all results on one page")


def complete(given: Mapping[str, Any], results: Results, out: Path) -> Completeness:
    """Do the work in a folder, where finished parts are kept, and have the verdicts follow."""
    from howlearn.analyses.completeness import Completeness, check_people, earlier_answers
    from howlearn.analyses.completeness import completeness as asked
    from howlearn.analyses.residual import check_installed
    from howlearn.cli import show
    from howlearn.results.manifest import record
    from howlearn.runs.folder import RunFolder, Start

    check_installed()
    with show.progress_bar("reading"):
        check_people(results.study)  # before anything is written
    options = {"seed": given["seed"], "format": given["format"]}
    earlier = earlier_answers(out, given.get("before"), results.names)
    manifest = _manifest("completeness", results, options)
    manifest |= {"candidates": results.names, "earlier": earlier}
    with (
        RunFolder(out, manifest, Completeness.outputs(), Start(given["fresh"])) as run,
        show.progress_bar("predicting") as progress,
    ):
        found = asked(results, given["seed"], progress, store=run, earlier=earlier)
        found.write_files(out, given["format"])
    assert results.folder is not None
    record(results.folder, completeness=found.described())
    return found


@command(
    RESULTS, DOUBLES, SIGNATURE, SEED,
    OUT.but(help="The folder for the tables; by default check in RESULTS."), FORMAT, CODE, WORKERS,
    FRESH,
)  # fmt: skip
def check(given: Given) -> None:
    """Check whether the selected models behave like these people.

    Doubles of every learner are simulated from the selected model. Their behaviour (accuracy over
    time and by context, stays after reward, repeated errors, switches, choices by feature and
    condition) is compared with that of the learners. The verdicts in RESULTS are updated.

    For example: howlearn check results --signature "action == 'A' given trial > 100"
    """
    from howlearn.analyses.check import check as asked
    from howlearn.cli import show
    from howlearn.results.manifest import record
    from howlearn.results.results import Results
    from howlearn.runs.folder import Start

    _checked(given.results)
    results = Results.of(given.results)
    how = given.of(DOUBLES, SEED)
    with show.progress_bar("doubling") as progress:
        found = asked(results, **how, signatures=given.signature, threads=given.workers,
                      progress=progress)  # fmt: skip
    manifest = _manifest("check", results, given.of(DOUBLES, SEED, SIGNATURE, FORMAT))
    out = given.out or given.results / "check"
    found.write(out, given.format, manifest, Start(given.fresh))
    record(given.results, check=found.described())
    show.found(found, out)
    following("report", given.results, "-o", "report.html", why="all results on one page")


def _manifest(command: str, results: Results, options: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the results: the estimates, and the options."""
    from howlearn.results.manifest import hash_of, made_by

    assert results.folder is not None
    files = sorted(results.folder.glob("estimates.*"))
    known = {str(file): hash_of(file) for file in files}
    return {**made_by(command), "input": known, "options": dict(options)}


def _checked(folder: Path) -> None:
    """Refuse a folder of another version."""
    from howlearn.results.manifest import check_version, read_manifest

    check_version(folder, read_manifest(folder, "select"))
