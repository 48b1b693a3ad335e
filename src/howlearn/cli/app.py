"""The commands. Only what the help needs is imported here: it must be quick."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from howlearn import __version__
from howlearn.cli.analysis_commands import compare, discover, mechanisms, path
from howlearn.cli.build import Command
from howlearn.cli.inspect import inspect
from howlearn.cli.paper import reproduce, theory, verify
from howlearn.cli.results_commands import check, completeness, merge, report
from howlearn.cli.select import freeze, select
from howlearn.cli.simulate import demo, models, simulate
from howlearn.cli.simulation_commands import calibrate, plan, recover

# Colours and panels cost a tenth of a second; the list of commands does without.
_quick = len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help")


COMMANDS: dict[str, tuple[Command, ...]] = {
    "Commands": (
        inspect,
        select,
        report,
        check,
        completeness,
        discover,
        mechanisms,
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


class _Parsers(dict[str, Any]):
    """What parses each command, made when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        command, heading = super().__getitem__(name)
        return command.parsed_by(heading, shortly=not {"-h", "--help"}.isdisjoint(sys.argv))

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401


class _Headed(TyperGroup):
    """The list of commands under headings, without the cost of colours."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        named = {each.__name__: (each, head) for head, some in COMMANDS.items() for each in some}
        self.commands = _Parsers(named)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in COMMANDS.items():
            told = [(each.__name__, each.help.partition("\n")[0]) for each in commands]
            with formatter.section(heading):
                formatter.write_dl(told)


app = typer.Typer(
    name="howlearn",
    cls=_Headed,
    help="Find the model that best explains how an individual learns, from trial-by-trial choices "
    "and rewards, and say how sure that answer is.\n\n"
    "Start with:    howlearn inspect FILES\n\n"
    "No data yet?   howlearn demo --out demo\n\n"
    "More on each:  howlearn select --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if _quick else "rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
