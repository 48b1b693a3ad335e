"""A command of the command line, from the options that it declares."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main

from howlearn.cli import Written
from howlearn.core.errors import HowlearnError
from howlearn.core.options import FilePath, Names, Number, Option, Registered
from howlearn.reading.analysis_options import NAMING_FILES

if TYPE_CHECKING:
    from howlearn.reading.project_file import StudyFile

HELP = {"-h", "--help", "--help-all"}
METAVARS = {int: "N", float: "NUMBER", Path: "PATH"}
MOST_SHOWN = 15  # options in the help of a command; --help-all shows all


class Given(dict[str, Any]):
    """What was asked for: by the names of the options, as items or as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def of(self, *options: Option) -> dict[str, Any]:
        """The values of these options, as a manifest has them."""
        values = {option.name: self[option.name] for option in options}
        return {n: str(v) if isinstance(v, Path) else v for n, v in values.items()}


class Command:
    """A function that takes what was given for its options, to be called with what was parsed.

    The parser sees each option as a parameter. With --study among them, what is not typed is taken
    from ``howlearn.toml``.
    """

    def __init__(self, original: Callable[[Given], None], options: Sequence[Option]) -> None:
        self.original, self.options = original, options
        self.__name__, self.__doc__ = original.__name__, original.__doc__

    def __call__(self, *, ctx: typer.Context, **parsed: Any) -> None:
        Written.complete = False
        options = self.options
        given = Given({each.name: each.kind.typed(parsed[each.name]) for each in options})
        typed = {each.name for each in options if _is_typed(ctx, each.name)}
        _allow_code(options, given, typed)
        _refuse_link(given, typed)
        _refuse_closed(options, given)
        if "study" in given:
            complete(self.__name__, options, given, typed)
        self.original(given)
        Written.complete = True

    def parsed_by(self, group: str, shortly: bool = False) -> Any:
        """What parses it; made when it is asked for, since a command needs only its own.

        ``shortly``: a help that leaves out rare options, if the command has many.
        """
        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        rare = [each for each in self.options if not (each.is_common or each.is_argument)]
        rare = rare if shortly and len(self.options) > MOST_SHOWN else []
        parameters = [context, *(_parameter(each, each in rare) for each in self.options)]
        self.__signature__ = inspect.Signature(parameters)
        self.__annotations__ = {each.name: each.annotation for each in parameters}
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        more = f"{len(rare)} more options: howlearn {self.__name__} --help-all" if rare else None
        names = {"help_option_names": sorted(HELP)}
        alone.command(help=self.help, rich_help_panel=group, epilog=more, context_settings=names)(
            self
        )
        return typer.main.get_command(alone)

    @property
    def help(self) -> str:
        """Lines joined where only the source breaks them; the help breaks them where it must."""
        paragraphs = inspect.cleandoc(self.__doc__ or "").split("\n\n")
        return "\n\n".join(" ".join(paragraph.splitlines()) for paragraph in paragraphs)


def command(*options: Option) -> Callable[[Callable[[Given], None]], Command]:
    """Make a command of a function that takes what was given for the options."""
    return lambda original: Command(original, options)


def _parameter(option: Option, hidden: bool = False) -> inspect.Parameter:
    """The option as the parser takes it."""
    kind = option.kind
    least = kind.least if isinstance(kind, Number) else None
    panel = None if option.panel is None else str(option.panel)
    settings: dict[str, Any] = {
        "metavar": kind.metavar or METAVARS.get(kind.type),
        "help": option.help,
        "min": least,
    }
    settings |= {"rich_help_panel": panel, "hidden": hidden}
    if isinstance(kind, Registered):
        settings |= {"parser": kind.parsed, "metavar": f"<{'|'.join(kind.words)}>"}
    if option.is_argument:
        about = typer.Argument(**settings, show_default=False)
    else:
        words = option.words or (option.word,)
        if HELP & {*sys.argv}:  # other spellings would be cut off there
            words = (words[0], *(word for word in words[1:] if not word.startswith("--")))
        about = typer.Option(*words, **settings)
    optional = option.default is None and not option.is_required
    default = inspect.Parameter.empty if option.is_required else option.default
    if hasattr(kind.type, "__members__") and default is not None:
        default = kind.type(default)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind.type | None if optional else kind.type, about],
    )


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_closed(options: Sequence[Option], given: Given) -> None:
    """Words that stand in a stranger's file must not have any file read."""
    from howlearn.core import safe_files

    named: list[Path] = []
    for option in options:
        value = given[option.name]
        reads = isinstance(option.kind, FilePath) and option.name != "out"
        if value and (reads or option.name in NAMING_FILES):
            named += map(Path, value if isinstance(value, list) else [value])
    # Words that stand where a file may stand, such as a shipped task, name none that is there.
    closed = [path for path in named if os.path.lexists(path) and safe_files.is_closed_to(path)]
    if closed:
        words = shlex.join(word for path in closed for word in ("--data", str(path)))
        raise HowlearnError(
            f"the command of the shards names {', '.join(map(str, closed))}, which is not beside "
            f"the results, and only what is typed is read from elsewhere; if you trust it, add to "
            f"this command: {words}"
        )


def _refuse_link(given: Given, typed: Container[str]) -> None:
    """In a stranger's folder, results may be a link to where nobody meant to write."""
    out = given.get("out")
    if isinstance(out, Path) and "out" not in typed and out.is_symlink():
        from howlearn.core.errors import HowlearnError

        raise HowlearnError(
            f"{out} is a link to {out.readlink()}; if you want the results there, add to this "
            f"command: --out {out}"
        )


def _allow_code(options: Sequence[Option], given: Given, typed: Iterable[str]) -> None:
    """The user's models that are typed may be loaded; those of files may not."""
    from howlearn.core import safe_files

    for option in options:
        if option.names_code and option.name in typed:
            names = given[option.name]
            safe_files.allow_code(*([names] if isinstance(names, str) else names))


# Options that are not typed may stand in a file, ``howlearn.toml``.


def complete(command: str, options: Sequence[Option], given: Given, typed: Container[str]) -> None:
    """Put what a file says where nothing was typed; the word for nothing takes a guess back."""
    takes_files = "files" in given
    file = _study_file(command, given.study, given.files) if takes_files else _named(given.study)
    if file is not None:
        named = [] if not takes_files or _only_study_file(given.files) else given.files
        refuse_outside_of(options, file, [] if named or not takes_files else file.files, typed)
        merge(options, file, typed, given)
        if takes_files:
            given["files"] = named or [Path(each) for each in file.files]
    if "frozen" in given:  # the plan's values, where nothing was typed
        from howlearn.cli.select import follow

        given["frozen"] = follow(options, given, file, typed)


def _refuse_code(file: StudyFile, option: Option, models: Sequence[str]) -> None:
    """Whoever wrote the file must not decide which code is run."""
    from howlearn.core import safe_files

    own = [each for model in models for each in safe_files.own_names(model)]
    refused = [each for each in own if not safe_files.is_allowed(each.rpartition(":")[0])]
    if refused:
        words = shlex.join([word for model in models for word in (option.word, model)])
        raise HowlearnError(
            f"{file.path} names code, {', '.join(refused)}, and only what is typed is run; if you "
            f"trust it, add to this command: {words}"
        )


def _only_study_file(files: Sequence[Path] | None) -> bool:
    return len(files or ()) == 1 and (files or [Path()])[0].suffix.lower() == ".toml"


def _named(path: Path | None) -> StudyFile | None:
    if path is None:
        return None
    from howlearn.reading.project_file import read_study_file

    return read_study_file(path)


def refuse_outside_of(
    options: Sequence[Option], file: StudyFile, files: Sequence[str], typed: Container[str]
) -> None:
    """Whoever wrote the file must not have others read: neither data nor what options name."""
    from howlearn.reading.project_file import outside, refuse_outside

    known = {each.name: each for each in options if each.name not in typed}
    named = {
        name: str(file.models[name])
        for name in NAMING_FILES
        if name in known and name in file.models and Path(file.models[name]).exists()
    }
    words = [*files, "--study", str(file.path)] if outside(file.path, files) else []
    for name, value in named.items():
        words += [known[name].word, value] if outside(file.path, [value]) else []
    remedy = f"add to this command: {shlex.join(words)}"
    refuse_outside(file.path, [*files, *named.values()], remedy)


def _study_file(command: str, path: Path | None, files: list[Path] | None) -> StudyFile | None:
    """The file that was named, or the one of this folder if no data are named."""
    from howlearn.cli import show
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
        show.note(f"options from {NAME}; typed options win")
    return found


def merge(options: Sequence[Option], file: StudyFile, typed: Container[str], given: Given) -> None:
    """Put the file's options where nothing was typed."""
    known = {each.name: each for each in options if each.section and each.name not in typed}
    for name, value in (*file.models.items(), *file.data.items()):
        option = known.get(name)
        if option is None:
            continue
        if option.names_code:
            _refuse_code(file, option, value)
        one = option.section == "models" and not isinstance(option.kind, Names)
        if one and isinstance(value, tuple):  # simulate follows one model
            continue
        given[name] = option.kind.taken(value, f"{file.path}: {name} = {value!r}")
