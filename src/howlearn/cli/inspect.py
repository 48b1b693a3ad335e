"""``howlearn inspect``: what is in files that nobody has described yet."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howlearn.cli.build import Given, command
from howlearn.cli.options import DATA, FILES, FRESH, OUT
from howlearn.cli.progress import following, option, select_command
from howlearn.core.errors import DataError, HowlearnError
from howlearn.core.options import FilePath, OnOff, Option, Panel
from howlearn.core.text import Listing, Sentence, few, many, shortened
from howlearn.reading.analysis_options import TASK
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.reading.guess.draft import Question
    from howlearn.reading.guess.inspection import Inspection


@command(
    FILES.but(
        help="Whatever the experiment wrote: one file with all learners, or many files or a folder "
        "with one learner each.",
        is_required=True,
    ),
    TASK,
    *DATA,
    OUT.but(default=Path("howlearn.toml"), help="The file with the options."),
    FRESH.but(help="Replace the file if it is there.", panel=Panel.output),
    Option(
        "trials",
        FilePath("OUT.csv"),
        "Also write the trials exactly as they will be analysed, one row each.",
        panel=Panel.output,
    ),
    Option("json", OnOff(), "Print what was found as JSON.", False, panel=Panel.output),
    Option(
        "yes",
        OnOff(),
        "Ask nothing: take the likeliest answer of each question, and say so.",
        False,
        panel=Panel.data,
    ),
)
def inspect(given: Given) -> None:
    """Look at your data files and write howlearn.toml, which the other commands use.

    Columns are recognised by their names and contents; each guess is printed with its reason, and
    an option corrects it: --action COL, --reset-by none. An expression may stand for a column:
    --reward "gain + loss". Open questions are asked; --yes accepts the likeliest answers.

    For example: howlearn inspect data --action key --where "phase == 'learn'"
    """
    from howlearn.cli.show import note, progress_bar
    from howlearn.core.columns import write_csv
    from howlearn.reading.columns import unseparated
    from howlearn.reading.guess import inspect as look
    from howlearn.reading.guess.inspection import refusal_as_json
    from howlearn.reading.project_file import outside, said_in
    from howlearn.runs.files import write_whole

    out, fresh = given.out, given.fresh
    _check_out(out, fresh)
    names = [str(file) for file in given.files]
    if out.exists() and not fresh:
        kept = {n: v for n, v in said_in(out, names).items() if given[n] in (None, ())}
        given.update(kept)
        if kept:
            words = ", ".join(option(name) for name in kept)
            note(f"kept from {out}, because you gave them before: {words} (--fresh forgets them)")
    _check_table(given.trials, fresh)
    more = 0
    while True:
        try:
            with progress_bar("reading"):
                found = look(names, **given.of(TASK, *READING.values()))
        except HowlearnError as error:
            if given.json:
                print(json.dumps(refusal_as_json(error), ensure_ascii=False, indent=1))
            raise
        if found.study is None and len(found.examples) == 1:  # no table: nothing of it is shown
            raise DataError([unseparated(names[0])])
        if given.json:
            print(json.dumps(found.as_json(), ensure_ascii=False, indent=1))
        else:
            more = inspection(found)
        if (
            found.study is None
            or not found.questions
            or given.yes
            or not (sys.stdin.isatty() and sys.stdout.isatty() and not given.json)
        ):
            break
        given.update(_answered(found.questions[0]))
    if found.study is None:
        raise HowlearnError(_what_to_type(found, names))
    asked = [each for each in found.questions if each.by_hand or not given.yes]
    if asked:
        raise HowlearnError(_questions(asked, given.yes))
    _write(out, names, found, given.task)
    if given.trials is not None:
        write_whole(given.trials, lambda path: write_csv(found.trials(), path), tidy=False)
    if given.json:
        return
    for doubt in found.doubts[:1]:  # the file has them all
        note(doubt)
    if given.task is None:
        _competing(found.study)
    typed = names if outside(out, names) else []  # where a file alone decides nothing
    next_command(out, typed, more)


def _check_out(out: Path, fresh: bool) -> None:
    """Refuse a place for the options before anything is read."""
    from howlearn.reading.project_file import is_unchanged

    if out.exists() and not (fresh or is_unchanged(out)):
        raise HowlearnError(
            f"{out} exists, and was written or changed by hand; --fresh replaces it, "
            "--out FILE writes another"
        )
    if out.suffix.lower() != ".toml":
        raise HowlearnError(f"--out {out}: the file with the options ends in .toml")
    if not out.absolute().parent.is_dir():
        raise HowlearnError(f"--out {out}: there is no folder {out.parent}")


def _check_table(table: Path | None, fresh: bool) -> None:
    """Refuse a place for the trials before anything is read."""
    if table is None:
        return
    if not table.absolute().parent.is_dir():
        raise HowlearnError(f"--trials {table}: there is no folder {table.parent}")
    if table.exists() and not fresh:
        raise HowlearnError(f"--trials {table}: it exists; --fresh replaces it")


def _answered(question: Question) -> dict[str, Any]:
    """Ask, with the likeliest answer first; the options that answer it."""
    from rich.markup import escape
    from rich.prompt import IntPrompt

    from howlearn.cli.show import console

    console.print(f"[bold]{escape(_line(question.sentence))}[/]")
    for i, answer in enumerate(question.answers, 1):
        console.print(f"  {i}  {escape(_line(f'{answer.typed}   {answer.says}'))}", soft_wrap=True)
    choices = [str(i) for i in range(1, len(question.answers) + 1)]
    chosen = question.answers[
        IntPrompt.ask("Which?", console=console, choices=choices, default=1) - 1
    ]
    return {chosen.option: chosen.value, **chosen.also}


def _questions(asked: Sequence[Question], yes: bool) -> str:
    """What is not clear, and the options that say it."""
    text = "\n".join(_line(line) for question in asked for line in str(question).split("\n"))
    accepts = (
        "" if yes or all(q.by_hand for q in asked) else ", or --yes to accept the first of each"
    )
    return (
        f"some things are not clear from the data, and nothing was written:\n{text}\n"
        f"type one of these options{accepts}"
    )


def _write(out: Path, files: list[str], found: Inspection, task: str | None) -> None:
    from howlearn.reading.project_file import GUESSED, write_study_file

    comments = {
        "": [
            "What howlearn inspect found. Every command takes this file: howlearn select",
            "Lines may be changed; an option that is typed wins over its line here.",
            *([f"Kind of task: {found.kind}"] if found.kind is not None else []),
            *(f"note: {_line(str(each))}" for each in (*found.notes, *found.oddities)),
        ],
        **found.comments(),
    }
    doubts = {"doubts": found.doubts} if found.doubts else {}
    comments["doubts"] = [f"{GUESSED}: what was not clear; results repeat it until it is removed"]
    write_study_file(out, files, {**found.options, **doubts}, {"task": task}, comments)


def _what_to_type(found: Inspection, files: list[str]) -> str:
    """Why there is no study, and the one command that would help."""
    from howlearn.reading.guess.draft import SAID

    stops = "" if found.kind is None else found.kind.stops or ""
    if not found.lacking:
        helps = "" if stops else "; an option above helps, or --where EXPR"
        return f"{stops or found.problems}\nnothing was written{helps}"
    roles = " and the ".join(found.lacking)
    said = {name: guess.value for name, guess in found.guesses.items() if guess.how == SAID}
    words = select_command(files, said).replace("howlearn select", "howlearn inspect", 1)
    options = " ".join(f"--{role} COL" for role in found.lacking)
    first = f"{stops}\n" if stops else ""
    return (
        f"{first}no column was found for the {roles}; the columns are listed above. Type\n"
        f"  {words} {options}\nwith their names (or an expression) in place of COL"
    )


# What ``howlearn inspect`` prints.


FILES_SHOWN = 2
COLUMNS_SHOWN = 10  # with their values
AFTER = 5  # lines below: candidates, where the options are, what comes next


def inspection(found: Inspection) -> int:
    """Files, roles with examples and reasons, coding, figures, and what is odd, on one screen; how
    many remarks had no room there."""
    from howlearn.cli import show

    parts = [*_parts(found)]
    shown = show.on_screen(parts, show.SCREEN - AFTER)
    for part in shown:
        show.part(part)
    return len(parts) - len(shown)


def _parts(found: Inspection) -> Iterator[Listing | Sentence]:
    for name, form in list(found.files.items())[:FILES_SHOWN]:
        yield Sentence(_line(f"{name}  {form}"), "next")
    if len(found.files) > FILES_SHOWN:
        yield Sentence(f"and {len(found.files) - FILES_SHOWN:,} more files")
    rows, reasons = _roles(found)
    if rows:
        yield Listing("What was found", ("role", "column", "values"), rows, whole=True)
    yield from (Sentence(_line(reason), "detail") for reason in reasons)
    if found.kind is not None:
        why = f" ({found.kind.reasons[0]})" if found.kind.reasons else ""
        yield Sentence(f"Kind of task: {_line(found.kind.name + why)}", strong="Kind of task:")
    if found.study is None and found.examples:
        values = [(_line(n), shortened(_line(v), 44)) for n, v in found.examples.items()]
        fits = len(values) <= COLUMNS_SHOWN  # one of them is wanted, so none may be hidden
        yield Listing(f"{len(values):,} columns", ("column", "values"), values, whole=fits)
        if not fits:
            yield Sentence(f"All columns: {_line(', '.join(found.examples))}", "next")
    for figures in filter(None, (found.figures(), found.changes())):
        yield Sentence(_line("; ".join(figures)))
    for sentence in dict.fromkeys((*found.notes, *map(str, found.oddities))):
        yield Sentence(_line(sentence), "note")


def _roles(found: Inspection) -> tuple[list[tuple[str, ...]], list[str]]:
    """What each column is, and the reasons that are not its name."""
    from howlearn.reading.guess.draft import BY_CONTENT, SAID

    rows, reasons = [], []
    for name, guess in found.guesses.items():
        role = name.replace("_", "-")
        values = _fitting(found.examples_of(guess))
        rows.append(tuple(_line(cell) for cell in (role, guess.typed, values)))
        told = found.notes and name in ("recode", "reward_scale")  # which say the same
        if guess.how == SAID:
            reasons.append(f"{role}: {SAID}")
        elif guess.how == BY_CONTENT and guess.why and not told:
            reasons.append(f"{role}: {guess.why}")
    rows += [(role, "nothing found", f"--{role} COL") for role in found.lacking]
    return rows, reasons


def _fitting(values: str, longest: int = 44) -> str:
    """Fewer examples where all have no room; the last one may say how many there are."""
    parts = values.split(", ")
    while len(parts) > 2 and len(", ".join(parts)) > longest:
        del parts[-2]
        parts[-1] = parts[-1] if parts[-1].startswith("…") else "…"
    return ", ".join(parts)


def _line(text: str) -> str:
    """A text on one line: names may hold anything."""
    return "".join(c if c.isprintable() else " " for c in text)


def _competing(study: Study) -> None:
    """Which models will be compared."""
    from rich.markup import escape

    from howlearn.cli.show import console
    from howlearn.fitting.defaults import candidates
    from howlearn.models.partition_model import too_many_contexts

    if too_many_contexts(study) is None:
        names = [_line(model.name) for model in candidates(study)]
        console.print(f"[bold]Candidates:[/] {escape(few(names, 5, ' and {left} more'))}")


def next_command(out: Path, typed: Sequence[str] = (), more: int = 0) -> None:
    """Say where the options are, with how many more remarks, and what to type.

    ``typed`` are files that must be, since they lie outside of the folder of the options.
    """
    from rich.markup import escape

    from howlearn.cli.show import console

    remarks = f", with {many(more, 'more remark')}" if more else ""
    console.print(f"Options written to {escape(str(out))}{remarks}", soft_wrap=True)
    usual = out == Path("howlearn.toml") and not typed
    words = ["select"] if usual else ["select", *typed, "--study", str(out)]
    if Path("results", "manifest.json").exists():  # of an earlier run, with other options
        words += ["--fresh"]
    following(*words, why="find the best model for each learner")
