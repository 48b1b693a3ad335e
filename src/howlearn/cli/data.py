"""The options that say what is in a file of trials, written once for all commands that read one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from howlearn.cli.options import DATA, commas
from howlearn.cli.study import Typed, with_study_file

if TYPE_CHECKING:
    from howlearn.reading.project_file import StudyFile

Given = Mapping[str, Any]
DATA_OPTIONS: Given = MappingProxyType({})  # stands where a command's data options stand
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILES…",
        help="Whatever the experiment wrote: one file with a column for the learner, or many files "
        "or a folder with one learner each. Without files: those of howlearn.toml in this folder, "
        "with its options (howlearn inspect writes it).",
    ),
]


def _column(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="COL", help=help, rich_help_panel=DATA)


def _columns(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="COL[,COL]", help=help, rich_help_panel=DATA)


def _expression(*names: str, help: str) -> Any:
    return typer.Option(*names, metavar="EXPR", help=help, rich_help_panel=DATA)


def reading_options(
    learner: Annotated[
        str | None,
        _column(
            "--learner",
            "--participant",
            "--subject",
            help="Who (also --participant, --subject); 'file' if each file is one learner.",
        ),
    ] = None,
    context: Annotated[
        str | None, _columns("--context", help="What was shown; 'none' if always the same.")
    ] = None,
    action: Annotated[str | None, _column("--action", help="What was chosen.")] = None,
    reward: Annotated[str | None, _column("--reward", help="What it earned, 0 to 1.")] = None,
    trial: Annotated[
        str | None,
        _columns(
            "--trial",
            help="Its number; block,trial where numbers start anew; 'none' for the order of the "
            "rows.",
        ),
    ] = None,
    features: Annotated[
        str | None,
        _columns("--features", help="Columns that describe a context; each gives candidates."),
    ] = None,
    by: Annotated[
        str | None, _columns("--by", help="Conditions: each learner × condition on its own.")
    ] = None,
    keep: Annotated[
        str | None, _columns("--keep", help="Columns to carry into every table (group, age).")
    ] = None,
    reset_by: Annotated[
        str | None, _columns("--reset-by", help="Learning starts anew where these change.")
    ] = None,
    where: Annotated[
        str | None, _expression("--where", help="Rows to use, as \"phase == 'learn'\".")
    ] = None,
    test_when: Annotated[
        str | None, _expression("--test-when", help="Choices without feedback: they only count.")
    ] = None,
    forced_when: Annotated[
        str | None, _expression("--forced-when", help="Instructed choices: they only teach.")
    ] = None,
    scored: Annotated[
        str | None, _column("--scored", help="Whether a trial counts for the likelihood.")
    ] = None,
    learned: Annotated[
        str | None, _column("--learned", help="Whether a trial teaches the learner.")
    ] = None,
    recode: Annotated[
        list[str] | None,
        typer.Option(
            "--recode",
            metavar="COL:OLD=NEW,…",
            help="As reward:-1=0,1=1; may be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="VALUE[,VALUE]",
            help="Values that mean nothing was recorded, as --missing=-1,n/a.",
            rich_help_panel=DATA,
        ),
    ] = None,
    reward_range: Annotated[
        str | None,
        typer.Option(
            "--reward-range",
            metavar="LO,HI",
            help="Accept rewards outside [0,1], as recorded.",
            rich_help_panel=DATA,
        ),
    ] = None,
    reward_scale: Annotated[
        str | None,
        typer.Option(
            "--reward-scale",
            metavar="LO,HI",
            help="Rewards from LO to HI become 0 to 1, as --reward-scale 0,100 for points.",
            rich_help_panel=DATA,
        ),
    ] = None,
    rt: Annotated[str | None, _column("--rt", help="The reaction time.")] = None,
    min_trials: Annotated[
        int | None,
        typer.Option(
            "--min-trials", help="Leave learners with fewer trials out.", rich_help_panel=DATA
        ),
    ] = None,
    forgone: Annotated[
        str | None,
        _columns(
            "--forgone",
            help="What the other of two actions would have earned; or one column per action.",
        ),
    ] = None,
    episode: Annotated[
        str | None, _column("--episode", help="Trials in a row with the same value are an episode.")
    ] = None,
    duration: Annotated[
        str | None, _column("--duration", help="The time spent on the trial.")
    ] = None,
    bin: Annotated[
        list[str] | None,
        typer.Option(
            "--bin",
            metavar="COL:N|CUT,CUT…",
            help="Make N bins, or bins between cut points, of a context's or feature's numbers; "
            "may be repeated.",
            rich_help_panel=DATA,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        _expression(
            "--exclude",
            help="Learners to exclude, as 'accuracy < 0.55', 'missed > 0.2 or median(rt) < 0.2', "
            "'share(rt < 0.1) > 0.05'; may be repeated. Shares are shown with and without them.",
        ),
    ] = None,
) -> dict[str, Any]:
    """The options as ``howlearn.results.inputs.load`` takes them."""
    return {
        "learner": learner,
        "context": commas(context),
        "action": action,
        "reward": reward,
        "trial": () if trial is None else (trial,),
        "features": commas(features),
        "by": commas(by),
        "keep": commas(keep),
        "reset_by": commas(reset_by),
        "scored": scored,
        "learned": learned,
        "where": where,
        "test_when": test_when,
        "forced_when": forced_when,
        "recode": tuple(recode or ()),
        "missing": tuple((missing or "").split(",")) if missing is not None else (),
        "reward_range": commas(reward_range) or None,
        "min_trials": min_trials,
        "forgone": commas(forgone),
        "episode": episode,
        "duration": duration,
        "bin": tuple(bin or ()),
        "exclude": tuple(exclude or ()),
        "reward_scale": commas(reward_scale) or None,
        "rt": rt,
    }


def takes_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the data options in the place of ``data``; FILES become optional.

    The parser sees each of them as a parameter of the command; the command gets what
    ``reading_options`` makes of them. What is not typed is taken from ``howlearn.toml``.
    """
    parameters = expanded(command)
    takes_files = parameters[0].name == "files"
    if takes_files:  # they may stand in howlearn.toml
        parameters[0] = parameters[0].replace(default=None)

    def run(study: StudyFile | None, typed: Typed, given: dict[str, Any]) -> None:
        from howlearn.reading.options import without_refused

        data = without_refused(taken_from(given))
        if study is not None:
            data.update((n, v) for n, v in study.data.items() if n not in typed)
        if study is not None and takes_files:
            given["files"] = given["files"] or [Path(each) for each in study.files]
        if "frozen" in given:  # the plan's values, where nothing was typed
            from howlearn.cli.frozen import follow

            given["frozen"] = follow(given, data, study, typed)
        command(data=data, **given)

    return with_study_file(command, parameters, run, takes_files)


def expanded(command: Callable[..., None]) -> list[inspect.Parameter]:
    """The parameters of a command, the data options in the place of ``data``."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        parameters += _OPTIONS.values() if parameter.name == "data" else [parameter]
    return parameters


def taken_from(given: dict[str, Any]) -> dict[str, Any]:
    """What ``reading_options`` makes of the data options among values, which lose them."""
    return reading_options(**{name: given.pop(name) for name in _OPTIONS})


_OPTIONS = inspect.signature(reading_options, eval_str=True).parameters
