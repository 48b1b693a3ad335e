"""The options that say what is in a file of trials, written once for all commands that read one."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from howlearn.cli.options import DATA, commas

if TYPE_CHECKING:
    from howlearn.reading.project_file import StudyFile


# --------------------
# Options that are not typed may stand in a file, ``howlearn.toml``.


Typed: TypeAlias = Container[str]  # the options that the user typed
StudyOption = Annotated[
    Path | None,
    typer.Option(
        "--study",
        metavar="FILE",
        help="A file with options, as howlearn inspect writes it; what is typed wins.",
        rich_help_panel=DATA,
    ),
]
# These judge by criteria of their own.
OTHER_CRITERIA = ("discover", "calibrate", "recover", "plan")
CODE = ("model", "add_model", "truth")  # options that may name code
Run: TypeAlias = Callable[["StudyFile | None", Typed, dict[str, Any]], None]


def takes_study(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that reads no trials the task and the models of a file, with --study."""
    parameters = [*inspect.signature(command, eval_str=True).parameters.values()]
    return with_study_file(command, parameters, lambda _, __, given: command(**given))


def with_study_file(
    original: Callable[..., None],
    parameters: Sequence[inspect.Parameter],
    run: Run,
    takes_files: bool = False,
) -> Callable[..., None]:
    """A command with these parameters and --study, whose values are merged before it is run."""
    name = original.__name__
    kind = inspect.Parameter.KEYWORD_ONLY
    study = inspect.Parameter("study", kind, default=None, annotation=StudyOption)
    context = inspect.Parameter("ctx", kind, annotation=typer.Context)
    every = [p.replace(kind=kind) for p in parameters]
    place = 1 if takes_files else len(every)

    def command(*, ctx: typer.Context, study: Path | None, **given: Any) -> None:
        typed = {p.name for p in parameters if _is_typed(ctx, p.name)}
        _open_door({name: given[name] for name in CODE if name in typed})
        file = _study_file(name, study, given.get("files")) if takes_files else _named(study)
        if file is not None:
            if takes_files and _only_study_file(given["files"]):
                given["files"] = []
            merge(name, file, typed, given)
        run(file, typed, given)

    command.__name__, command.__doc__ = name, original.__doc__
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [context, *every[:place], study, *every[place:]]
    )
    command.__annotations__ = {p.name: p.annotation for p in (context, *every, study)}
    return command


def _open_door(given: dict[str, Any]) -> None:
    """Models of one's own that are typed may be loaded; those of files may not."""
    from howlearn.core import safe_files

    for names in given.values():
        safe_files.allow_code(*([names] if isinstance(names, str) else names or ()))


def _refuse_code(file: StudyFile, name: str, models: Sequence[str]) -> None:
    """Whoever wrote the file must not decide which code is run."""
    from howlearn.core import safe_files
    from howlearn.core.errors import HowlearnError

    own = [each for model in models for each in safe_files.own_names(model)]
    refused = [each for each in own if not safe_files.is_allowed(each.rpartition(":")[0])]
    if refused:
        option = f"--{name.replace('_', '-')}"
        words = shlex.join([word for model in models for word in (option, model)])
        raise HowlearnError(
            f"{file.path} names code, {', '.join(refused)}, and only what is typed is run; if you "
            f"trust it, add to this command: {words}"
        )


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _only_study_file(files: Sequence[Path] | None) -> bool:
    return len(files or ()) == 1 and (files or [Path()])[0].suffix.lower() == ".toml"


def _named(path: Path | None) -> StudyFile | None:
    if path is None:
        return None
    from howlearn.cli import show
    from howlearn.reading.project_file import read_study_file

    found = read_study_file(path)
    outside = [name for name in _paths_of(found) if not _is_beside(path, name)]
    if outside:  # whoever wrote the file must not have others read unnoticed
        show.note(f"{path} has these read, from outside its folder: {', '.join(outside)}")
    return found


def _paths_of(file: StudyFile) -> list[str]:
    """The files and folders that the options of a file name."""
    named = [str(file.models.get(name, "")) for name in ("task", "calibration", "experts_from")]
    return [*file.files, *(name for name in named if name and Path(name).exists())]


def _is_beside(path: Path, name: str) -> bool:
    return Path(name).resolve().is_relative_to(path.parent.resolve())


def _study_file(command: str, path: Path | None, files: list[Path] | None) -> StudyFile | None:
    """The file that was named, or the one of this folder if no data are named."""
    from howlearn.cli import show
    from howlearn.core.errors import HowlearnError
    from howlearn.reading.project_file import NAME

    if path is None and _only_study_file(files):
        path, files = (files or [])[0], None
    here = Path(NAME)
    if path is None and files:
        if here.exists():
            show.note(f"{NAME} in this folder is not used, since FILES are named")
        return None
    if path is None and not here.exists():
        raise HowlearnError(
            f"no file was given, and there is no {NAME} in this folder; type howlearn {command} "
            "FILES, or first howlearn inspect FILES, which looks at them and writes one"
        )
    found = _named(path or here)
    if found is not None and not (files or found.files):
        raise HowlearnError(f'{found.path} names no files; add a line files = ["trials.csv"]')
    if path is None:
        show.note(f"options from {NAME}; what is typed wins")
    return found


def merge(command: str, file: StudyFile, typed: Typed, given: dict[str, Any]) -> None:
    """Put the file's models, rules and criteria where nothing was typed."""
    from howlearn.core.errors import HowlearnError

    for name, value in file.models.items():
        if name not in given or name in typed:
            continue
        if name in CODE:
            _refuse_code(file, name, value)
        if name == "criterion" and command in OTHER_CRITERIA:
            continue
        usual = given[name]
        if name == "model" and isinstance(usual, str):  # simulate follows one
            continue
        if isinstance(usual, StrEnum):
            allowed = [each.value for each in type(usual)]
            if value not in allowed:
                raise HowlearnError(
                    f"{file.path}: {name} = {value!r}: one of {', '.join(allowed)} is needed"
                )
            value = type(usual)(value)
        elif isinstance(value, tuple):
            value = [*value]
        elif name == "calibration":
            value = Path(value)
        given[name] = value


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
            from howlearn.cli.select import follow

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
