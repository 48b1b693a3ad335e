"""The commands. Only what the help needs is imported here: it must be quick."""

from __future__ import annotations

import sys
from inspect import cleandoc
from typing import Annotated

import typer

from howlearn._version import __version__
from howlearn.cli.calibrate import calibrate
from howlearn.cli.demo import demo
from howlearn.cli.models import models
from howlearn.cli.plan import plan
from howlearn.cli.recover import recover
from howlearn.cli.reproduce import reproduce
from howlearn.cli.select import select
from howlearn.cli.simulate import simulate

# Colours and panels cost a tenth of a second; the list of commands does without.
_quick = len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help")


def _paragraphs(text: str | None) -> str:
    """Lines joined where only the source breaks them; the help breaks them where it must."""
    paragraphs = cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.splitlines()) for paragraph in paragraphs)


app = typer.Typer(
    name="howlearn",
    help="Find the model that best explains how an individual learns, from trial-by-trial choices "
    "and rewards, and say how sure one may be.\n\n"
    "Start with:    howlearn select trials.csv --task five-four --out results\n\n"
    "No data yet?   howlearn demo --out demo\n\n"
    "More on each:  howlearn select --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None if _quick else "rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (select, calibrate, recover, plan, simulate, models, demo, reproduce):
    app.command(help=_paragraphs(command.__doc__))(command)


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
