"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from howlearn.cli import Written
from howlearn.cli.progress import in_lines
from howlearn.core.text import Listing, Sentence, few, many, one_line, visible

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.models.model import Model
    from howlearn.results.analysis import Analysis
    from howlearn.selection.criterion import Criterion


class _Console(Console):
    """All text of a command passes here: names in it must not steer the terminal."""

    def render_str(self, text: str, **settings: Any) -> Text:
        try:
            return super().render_str(visible(text), **settings)
        except MarkupError:  # a bracket in a path that was typed
            return Text(visible(text))


console = _Console(highlight=False, emoji=False)  # names such as 2:-1:0 hold codes of them
aside = _Console(stderr=True, highlight=False, emoji=False)
PATIENCE = 2.0  # seconds before a progress bar appears
SCREEN = 25  # lines of a summary; two of them say what comes next
CANDIDATES = 8  # that are named
LONGEST = 4  # lines of one sentence in it


def listing_of(title: str, *columns: str) -> Table:
    """A table that never cuts a name: what is too long goes on in the next line."""
    table = Table(
        title=escape(title),
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        min_width=len(title),
    )
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def shorter(table: Table, lines: int) -> int:
    """Take rows away until a table fits; how many."""
    total = table.row_count
    while table.row_count > 1 and len(console.render_lines(table)) > lines:
        table.rows.pop()
        for column in table.columns:
            column._cells.pop()
    return total - table.row_count


class _Aside(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        aside.print(f"[dim]{escape(record.getMessage())}[/]")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr for work that takes more than two seconds; says when code is compiled.

    It estimates the time left. Where stderr is not a terminal there is a line every minute.
    """
    log = logging.getLogger("howlearn")
    handler = _Aside()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=aside,
        transient=True,
        disable=not aside.is_terminal,
        speed_estimate_period=300,  # parts may take minutes
    )
    task = bar.add_task(what, total=None)
    appear = threading.Timer(PATIENCE, bar.start)
    appear.daemon = True
    appear.start()
    try:
        if aside.is_terminal:
            yield lambda done, total: bar.update(task, completed=done, total=total)
        else:
            with in_lines(what, lambda line: aside.print(f"[dim]{line}[/]", soft_wrap=True)) as say:
                yield say
    finally:
        appear.cancel()
        if aside.is_terminal:  # elsewhere rich 13 leaves an empty line
            bar.stop()
        log.removeHandler(handler)


def reading(study: Study) -> None:
    """What was found in the files."""
    from howlearn.core.stored_study import StoredStudy

    if study.kind is not None:
        aside.print(f"Kind of task: {escape(one_line(study.kind.name))}")
    if study.kind is not None and study.kind.stops:
        note(study.kind.stops)
    for line in _columns(study.roles):
        aside.print(f"[dim]{escape(line)}[/]")
    counts = escape(", ".join(f"{phrase}: {count:,}" for phrase, count in study.counts.items()))
    learners = len(set(study.learners))
    sequences = "" if learners == len(study) else f" in {len(study):,} sequences"
    aside.print(
        f"[dim]{many(learners, 'learner')}{sequences}, {many(len(study.context), 'trial')}, "
        f"{many(len(study.contexts), 'context')}, {study.actions_in_words}. {counts}[/]"
    )
    if isinstance(study, StoredStudy):
        aside.print(f"[dim]{escape(study.where())}[/]", soft_wrap=True)
    for column, name in zip(study.about.columns, study.labels.columns[1:], strict=False):
        if column != name:
            note(f"the column {column} is called {name} in the results")
    for sentence in study.notes:
        note(sentence)


def _columns(roles: Mapping[str, str]) -> Iterator[str]:
    """Which column has which role; those that were guessed apart.

    >>> [*_columns({"action": "action (guessed)", "reward": "points"})]
    ['Columns: reward ← points', 'Columns (guessed): action']
    """
    for title, guessed in (("Columns", False), ("Columns (guessed)", True)):
        names = {
            role: one_line(column.removesuffix(" (guessed)"))
            for role, column in roles.items()
            if column.endswith(" (guessed)") == guessed
        }
        if names:
            told = (r if r == column else f"{r} ← {column}" for r, column in names.items())
            yield f"{title}: {', '.join(told)}"


def competing(models: Sequence[Model]) -> None:
    """Which models are compared."""
    from howlearn.fitting.defaults import few_words

    names = few([model.name for model in models], CANDIDATES, " and {left} more")
    aside.print(f"[dim]{many(len(models), 'candidate')}: {escape(names)}[/]")
    if note_on_few := few_words(models):
        note(note_on_few)


def note(sentence: str) -> None:
    """Something that the user should know."""
    aside.print(f"[yellow]note:[/] {escape(one_line(sentence))}")


def default_task(task: str | None) -> None:
    """Say which task is taken where none was named."""
    if task is None:
        from howlearn.reading import project_file

        note("no --task was given, so this is about the paper's five-four task")
        if Path(project_file.NAME).exists():
            note(
                f"{project_file.NAME} describes your data, not your task: write the task (what is "
                "shown, what is rewarded) into a separate file and name it with --task"
            )


def same_models(models: Sequence[Model]) -> None:
    """Say which candidates are one and the same."""
    seen: dict[object, str] = {}
    for model in models:
        units = frozenset(model.units or [model.name])
        if units in seen and seen[units] != model.name:
            note(f"{seen[units]} and {model.name} are the same model")
        seen.setdefault(units, model.name)
    for k, model in enumerate(models):
        for other in models[:k]:
            if model.name != other.name and model.is_like(other):
                note(f"{other.name} and {model.name} are the same model")


def unequal(criteria: Sequence[Criterion], models: Sequence[Model], n_actions: int) -> None:
    """Say when the likelihood alone judges models that differ in their number of parameters."""
    sizes = {model.n_parameters(n_actions) for model in models}
    free = [criterion for criterion in criteria if not criterion.penalises]
    if len(sizes) > 1 and free:
        note(
            f"{free[0].name} has no penalty, and the candidates have between "
            f"{min(sizes)} and {max(sizes)} parameters: it favours those that have more"
        )


def found(analysis: Analysis, out: Path) -> None:
    """What an analysis found, on one screen: small tables and sentences, and where the files are.

    What has no room stands in a file.
    """
    from howlearn.results.analysis import SUMMARY
    from howlearn.runs.files import write_text

    Written.complete = not analysis.charts
    if analysis.charts:
        save_charts(analysis, out)
    Written.complete = True
    notes = [Sentence(text, "note") for text in analysis.notes]
    parts = [*notes, *analysis.summary(), *(Sentence(text, "next") for text in analysis.where(out))]
    shown = on_screen(parts)
    if shown != parts:
        write_text(out / SUMMARY, "\n".join(map(in_full, parts)) + "\n")
        shown.append(Sentence(f"More: {out / SUMMARY}", "next"))
    else:
        (out / SUMMARY).unlink(missing_ok=True)  # of an earlier run
    for each in shown:
        part(each)


def part(each: Listing | Sentence) -> None:
    """A table or a sentence."""
    if isinstance(each, Sentence):
        say(each)
    else:
        listing(each)


def on_screen(
    parts: Sequence[Listing | Sentence], room: int = SCREEN - 2
) -> list[Listing | Sentence]:
    """As much as fits: details go first, then long tables and long sentences are cut; then notes
    and answers are left out, the last ones first."""
    shown = _cut(parts, LONGEST)
    if sum(map(_height, shown)) <= room:
        return shown
    room -= 1  # where the rest is
    parts = _without_details(shown, room)
    for longest in range(LONGEST, 1, -1):
        shown = _without_rows(_cut(parts, longest), room)
        if sum(map(_height, shown)) <= room:
            return shown
    while sum(map(_height, shown)) > room:
        notes = [p for p in shown if isinstance(p, Sentence) and p.kind == "note"]
        rest = [*filter(_may_go, shown[1:])]
        if not notes and not rest:
            break
        shown.remove((notes or rest)[-1])
    return shown


def _without_details(parts: list[Listing | Sentence], room: int) -> list[Listing | Sentence]:
    """Without as many as must go, the last ones first."""
    for part in reversed(parts):
        if sum(map(_height, parts)) > room and isinstance(part, Sentence) and part.kind == "detail":
            parts = [p for p in parts if p is not part]
    return parts


def _may_go(part: Listing | Sentence) -> bool:
    return part.kind != "next" if isinstance(part, Sentence) else not part.whole


def _without_rows(parts: list[Listing | Sentence], room: int) -> list[Listing | Sentence]:
    """The longest table is cut until everything fits, or each has three rows."""

    while sum(map(_height, parts)) > room:
        tables = [
            p
            for p in parts
            if isinstance(p, Listing) and _may_go(p) and len(p.rows) + len(p.grey) > 3
        ]
        if not tables:
            break
        long = max(tables, key=_height)
        rows, grey = (long.rows, long.grey[:-1]) if long.grey else (long.rows[:-1], [])
        parts[parts.index(long)] = replace(long, rows=rows, grey=grey)
    return parts


def _cut(parts: Sequence[Listing | Sentence], lines: int) -> list[Listing | Sentence]:
    """No sentence longer than this many lines; commands and paths stay whole."""
    longest = lines * console.width
    return [
        part
        if isinstance(part, Listing) or part.kind == "next" or len(part) <= longest
        else Sentence(f"{part[: longest - 2].rsplit(' ', 1)[0]} …", part.kind, part.strong)
        for part in parts
    ]


def _height(part: Listing | Sentence) -> int:
    """Lines on the screen."""
    if isinstance(part, Listing):
        legend = len(console.render_lines(part.legend, pad=False)) if part.legend else 0
        return len(console.render_lines(_table(part))) + legend
    text = f"note: {part}" if part.kind == "note" else part
    return len(console.render_lines(Text(text), pad=False))


def in_full(part: Listing | Sentence) -> str:
    """For a file."""
    if not isinstance(part, Listing):
        return f"note: {part}" if part.kind == "note" else str(part)
    rows = ["  ".join(row).replace("\n", " ") for row in (part.columns, *part.rows, *part.grey)]
    return "\n".join([part.title, *rows, *([part.legend] if part.legend else [])])


def listing(part: Listing) -> None:
    """A small table."""
    console.print(_table(part))
    if part.legend:
        console.print(f"[dim]{escape(part.legend)}[/]")


def _table(part: Listing) -> Table:
    table = listing_of(part.title, *map(escape, part.columns))
    for row in part.rows:
        table.add_row(*map(_cell, row))
    if part.grey:
        table.add_section()
    for row in part.grey:
        table.add_row(*(f"[dim]{escape(text)}[/]" for text in row))
    return table


def _cell(text: str) -> str:
    first, _, more = text.partition("\n")
    return f"{escape(first)}\n[dim]{escape(more)}[/]" if more else escape(first)


def say(sentence: Sentence) -> None:
    """A sentence; notes stand beside the results."""
    if sentence.kind == "note":
        note(sentence)
        return
    text, strong = escape(sentence), escape(sentence.strong)
    text = text.replace(strong, f"[bold]{strong}[/]", 1) if strong else text
    console.print(text, soft_wrap=sentence.kind == "next")  # commands and paths stay whole


def save_charts(analysis: Analysis, folder: Path) -> None:
    """Draw, if the extra is there; otherwise say in one line how to get it."""
    from howlearn.report.charts import MISSING, available

    if not available():
        console.print(MISSING, markup=False)
        return
    from howlearn.report import style
    from howlearn.report.plot import saved_charts

    with progress_bar("drawing"):
        for stem, chart in saved_charts(analysis).items():
            style.save(chart, folder / stem)


def show_recovery(path: Path) -> str:
    """How often simulated learners were given the model they were made with."""
    from howlearn.core.columns import read_csv

    told, n = [], 0
    for (criterion,), rows in read_csv(path).group_by("criterion", maintain_order=True):
        right, n = int((rows["model"] == rows["true_model"]).sum()), len(rows)
        told.append(f"{right:,} by {str(criterion).partition('(')[0]}")
    return f"Of {n:,} learners: {', '.join(told)}."
