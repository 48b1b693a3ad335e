"""``howlearn completeness`` and ``check``: are the candidates any good?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli.build import Given, command
from howlearn.cli.next_command import following
from howlearn.cli.options import DESIGN_SEED, FORMAT, FRESH, OUT, RESULTS, WORKERS
from howlearn.cli.results_commands import REPORT_CODE
from howlearn.core.options import FilePath, Panel, Repeated, WholeNumber

if TYPE_CHECKING:
    from howlearn.analyses.completeness import Completeness
    from howlearn.results.results import Results

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
    from howlearn.results.fit_verdicts import record
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
    from howlearn.results.fit_verdicts import record
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
    """Refuse what is no folder of this version."""
    from howlearn.results.manifest import check_version, read_manifest

    check_version(folder, read_manifest(folder, "select"))
