"""``howlearn merge``: the tables of a run that was done in shards."""

from __future__ import annotations

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from howlearn.cli.options import OUTPUT

NAMING = ("--model", "--add-model", "--truth")  # options whose values may name code
VALUED = ("--shard", "--out", "-o", "--workers", "--dask")  # what merging decides itself


def merge(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULTS…",
            help="The folder that the shards worked in, or one folder of each of them.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The folder for the results; needed where shards had folders of their own.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="FILE.py:MODEL",
            help="Run the code of a model of your own that is among the shards' candidates; may "
            "be repeated. Name only files that you trust.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Make the tables of a run that was done in shards.

    Every shard was started with the same command and --shard I/N, best in one folder. Nothing is
    computed again; a shard that has not ended is named. The command of the shards is repeated, so
    that it must be started in the same place, beside the same data.

    For example: howlearn merge results
    """
    import sys

    from howlearn import door
    from howlearn.cli.app import app
    from howlearn.errors import HowlearnError
    from howlearn.runs.merging import collect, command_of

    if out is None and len(folders) > 1:
        raise HowlearnError(
            f"{len(folders)} folders are merged into another one: name it with --out"
        )
    door.allow(*(model or ()))
    words = [*without(command_of(folders[0])), "--shard", "merge", "--out", str(out or folders[0])]
    _refuse_code(folders[0], words)
    if out is not None:
        collect(folders, out)
    before = sys.argv
    sys.argv = [before[0], *words]
    try:
        app(args=words, standalone_mode=False)
    finally:
        sys.argv = before


def _refuse_code(folder: Path, words: list[str]) -> None:
    """Whoever wrote into the folder must not decide which code is run."""
    from howlearn import door
    from howlearn.errors import HowlearnError

    after = (b for a, b in pairwise(words) if a in NAMING)
    joined = (word.partition("=")[2] for word in words if word.partition("=")[0] in NAMING)
    names = [name for text in (*after, *joined) for name in door.own_names(text)]
    refused = [name for name in names if not door.is_allowed(name.rpartition(":")[0])]
    if refused:
        more = " ".join(f"--model {shlex.quote(name)}" for name in dict.fromkeys(refused))
        raise HowlearnError(
            f"the shards of {folder} were started with code, {', '.join(refused)}, and only what "
            f"is typed is run; if you trust it, add to this command: {more}"
        )


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
