"""What ``howlearn inspect`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from howlearn.cli.following import following
from howlearn.cli.show import console, listing_of

if TYPE_CHECKING:
    from howlearn.reading.guess.inspection import Inspection

FILES_SHOWN = 5
COLUMNS_SHOWN = 60
NARROW = 72  # characters; a table of four columns needs more


def inspection(found: Inspection) -> None:
    """Files, roles with examples and reasons, coding, figures, and what is odd."""
    for name, form in list(found.files.items())[:FILES_SHOWN]:
        console.print(f"{escape(_line(name))}  [dim]{escape(form)}[/]", soft_wrap=True)
    if len(found.files) > FILES_SHOWN:
        console.print(f"… {len(found.files):,} files in all")
    _roles(found)
    if found.study is None:
        _columns(found)
    for line in found.figures():
        console.print(escape(_line(line)), soft_wrap=True)
    for sentence in dict.fromkeys((*found.notes, *map(str, found.oddities))):
        console.print(f"[yellow]note:[/] {escape(_line(sentence))}", soft_wrap=True)


def _roles(found: Inspection) -> None:
    """A table, or lines where a table would have no room."""
    rows = [
        (
            name.replace("_", "-"),
            guess.typed,
            found.examples_of(guess),
            f"{guess.how}: {guess.why}" if guess.why else guess.how,
        )
        for name, guess in found.guesses.items()
    ]
    rows += [(role, "nothing found", "", f"--{role} COL") for role in found.lacking]
    if console.width < NARROW:
        for name, column, values, why in rows:
            shown = f"  [{values}]" if values else ""
            console.print(escape(_line(f"{name} ← {column}{shown}  ({why})")), soft_wrap=True)
        return
    roles = listing_of("What was found", "role", "column", "values", "why")
    for row in rows:
        roles.add_row(*(escape(_line(cell)) for cell in row))
    if rows:
        console.print(roles)


def _columns(found: Inspection) -> None:
    columns = listing_of("The columns", "column", "values")
    for name, values in list(found.examples.items())[:COLUMNS_SHOWN]:
        columns.add_row(escape(_line(name)), escape(_line(values)))
    if columns.row_count:
        console.print(columns)
    if len(found.examples) > COLUMNS_SHOWN:
        console.print(f"… {len(found.examples):,} columns in all")


def _line(text: str) -> str:
    """A text on one line: names may hold anything."""
    return "".join(c if c.isprintable() else " " for c in text)


def next_command(out: Path, alone: bool) -> None:
    """Say where the options are, and what to type; ``alone``: there is one partition only."""
    console.print(f"Options written to {escape(str(out))}", soft_wrap=True)
    words = ["select"] if out == Path("howlearn.toml") else ["select", "--study", str(out)]
    if Path("results", "manifest.json").exists():  # of an earlier run, with other options
        words += ["--fresh"]
    if alone:
        words += ["--add-model", "field"]
    why = "always the same situation, so the field's models compete" if alone else ""
    following(*words, why=why or "which model explains each learner best")
