"""``howlearn merge``: the tables of a run that was done in shards."""

from __future__ import annotations

from howlearn.cli.build import Given, command
from howlearn.cli.options import OUT
from howlearn.core.options import Files, Option, Panel, Repeated

FOLDERS = Option(
    "folders",
    Files("RESULTS…"),
    "The folder that the shards worked in, or one folder of each of them.",
    is_argument=True,
    is_required=True,
)
CODE = Panel.models.option(
    "model",
    Repeated("FILE.py:MODEL"),
    "Run the code of a model of your own that the shards were started with; may be repeated. "
    "Without this no code is run. Name only files that you trust.",
    names_code=True,
)
VALUED = ("--shard", "--out", "-o", "--workers", "--dask")  # what merging decides itself


@command(
    FOLDERS,
    OUT.but(help="The folder for the results; needed where shards had folders of their own."),
    CODE,
)
def merge(given: Given) -> None:
    """Make the tables of a run that was done in shards.

    Every shard was started with the same command and --shard I/N, best in one folder. Nothing is
    computed again; a shard that has not ended is named. The command of the shards is repeated, so
    that it must be started in the same place, beside the same data.

    For example: howlearn merge results
    """
    import sys

    from howlearn.cli.app import app
    from howlearn.core import safe_files
    from howlearn.core.errors import DataError, HowlearnError
    from howlearn.runs.shards import collect, command_of

    folders, out = given.folders, given.out
    if out is None and len(folders) > 1:
        raise HowlearnError(
            f"{len(folders)} folders are merged into another one: name it with --out"
        )
    words = [*without(command_of(folders[0])), "--shard", "merge", "--out", str(out or folders[0])]
    if out is not None:
        collect(folders, out)
    safe_files.seal()  # the words below were written by whoever made the folder
    before = sys.argv
    sys.argv = [before[0], *words]
    try:
        app(args=words, standalone_mode=False)
    except DataError as error:
        raise HowlearnError(
            f"{error}\n(merge repeats the command of the shards: start it where they were started)"
        ) from None
    finally:
        sys.argv = before


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
