"""Options that are not typed may stand in a file, ``howlearn.toml``."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Container, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from howlearn.cli.options import DATA

if TYPE_CHECKING:
    from howlearn.reading.project_file import StudyFile

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
        safe_files.allow(*([names] if isinstance(names, str) else names or ()))


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
