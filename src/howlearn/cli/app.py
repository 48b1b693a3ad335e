"""The commands. Only what the help needs is imported here: it must be quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from howlearn import __version__
from howlearn.cli.analysis_commands import compare, discover, path
from howlearn.cli.freeze import freeze
from howlearn.cli.inspect import inspect
from howlearn.cli.paper import reproduce, theory, verify
from howlearn.cli.results_commands import merge, report
from howlearn.cli.select import select
from howlearn.cli.simulate import demo, models, simulate
from howlearn.cli.simulation_commands import calibrate, plan, recover

# Colours and panels cost a tenth of a second; the list of commands does without.
_quick = len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help")


def _paragraphs(text: str | None) -> str:
    """Lines joined where only the source breaks them; the help breaks them where it must."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.splitlines()) for paragraph in paragraphs)


COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Commands": (
        inspect,
        select,
        report,
        discover,
        compare,
        path,
        calibrate,
        recover,
        plan,
        freeze,
        simulate,
        models,
        merge,
        demo,
    ),
    "The paper": (theory, verify, reproduce),
}


class _Headed(TyperGroup):
    """The list of commands under headings, without the cost of colours."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in COMMANDS.items():
            known = [
                (command.__name__, self.get_command(ctx, command.__name__)) for command in commands
            ]
            limit = formatter.width - 6 - max(len(name) for name, _ in known)
            with formatter.section(heading):
                formatter.write_dl(
                    [(name, each.get_short_help_str(limit)) for name, each in known if each]
                )


app = typer.Typer(
    name="howlearn",
    cls=_Headed,
    help="Find the model that best explains how an individual learns, from trial-by-trial choices "
    "and rewards, and say how sure one may be.\n\n"
    "Start with:    howlearn inspect FILES\n\n"
    "No data yet?   howlearn demo --out demo\n\n"
    "More on each:  howlearn select --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if _quick else "rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for heading, commands in COMMANDS.items():
    for command in commands:
        app.command(help=_paragraphs(command.__doc__), rich_help_panel=heading)(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"howlearn {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    pass
