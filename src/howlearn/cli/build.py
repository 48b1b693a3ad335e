"""A command of the command line, from the options that it declares."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

from howlearn.cli import Written
from howlearn.core.options import FilePath, Number, Option, Registered

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
            from howlearn.cli.project_options import complete

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
    from howlearn.core.errors import HowlearnError
    from howlearn.reading.analysis_options import NAMING_FILES

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
    """Models of one's own that are typed may be loaded; those of files may not."""
    from howlearn.core import safe_files

    for option in options:
        if option.names_code and option.name in typed:
            names = given[option.name]
            safe_files.allow_code(*([names] if isinstance(names, str) else names))
