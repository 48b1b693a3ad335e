"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from howlearn.core.text import many, one_line, visible

if TYPE_CHECKING:
    from howlearn.core.study import Study
    from howlearn.models.model import Model
    from howlearn.results.analysis import Analysis, Listing, Sentence
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


class _Aside(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        aside.print(f"[dim]{escape(record.getMessage())}[/]")


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr for work that takes more than two seconds; says when code is compiled.

    It estimates the time left. Where stderr is no terminal there is a line every minute.
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
        aside.print(f"Kind of task: {escape(one_line(str(study.kind)))}")
    if study.kind is not None and study.kind.stops:
        note(study.kind.stops)
    roles = ", ".join(f"{role} ← {one_line(column)}" for role, column in study.roles.items())
    aside.print(f"[dim]Columns: {escape(roles)}[/]")
    counts = escape(", ".join(f"{phrase}: {count:,}" for phrase, count in study.counts.items()))
    learners = len(set(study.learners))
    sequences = "" if learners == len(study) else f" in {len(study):,} sequences"
    aside.print(
        f"[dim]{many(learners, 'learner')}{sequences}, {many(len(study.context), 'trial')}, "
        f"{many(len(study.contexts), 'context')}, {study.actions_in_words}. {counts}[/]",
        soft_wrap=True,
    )
    if isinstance(study, StoredStudy):
        aside.print(f"[dim]{escape(study.where())}[/]", soft_wrap=True)
    for column, name in zip(study.about.columns, study.labels.columns[1:], strict=False):
        if column != name:
            note(f"the column {column} is called {name} in the results")
    for sentence in study.notes:
        note(sentence)


def competing(models: Sequence[Model]) -> None:
    """Which models are compared."""
    from howlearn.fitting.defaults import few_words

    names = ", ".join(model.name for model in models)
    aside.print(f"[dim]{many(len(models), 'candidate')}: {escape(names)}[/]")
    if few := few_words(models):
        note(few)


def note(sentence: str) -> None:
    """Something that the user should know."""
    aside.print(f"[yellow]note:[/] {escape(one_line(sentence))}")


def default_task(task: str | None) -> None:
    """Say which task is taken where none was named."""
    if task is None:
        note("no --task was given, so this is about the paper's five-four task")


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
    """What an analysis found: small tables and sentences, and where the files are."""
    from howlearn.results.analysis import Listing, Sentence

    Written.complete = not analysis.charts
    for sentence in analysis.notes:
        note(sentence)
    if analysis.charts:
        save_charts(analysis, out)
    Written.complete = True
    for part in (*analysis.summary(), *map(Sentence, analysis.where(out))):
        if isinstance(part, Listing):
            listing(part)
        else:
            say(part)


def listing(part: Listing) -> None:
    """A small table."""
    table = listing_of(part.title, *map(escape, part.columns))
    for row in part.rows:
        table.add_row(*map(_cell, row))
    if part.grey:
        table.add_section()
    for row in part.grey:
        table.add_row(*(f"[dim]{escape(text)}[/]" for text in row))
    console.print(table)
    if part.legend:
        console.print(f"[dim]{escape(part.legend)}[/]")


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


def show_recovery(path: Path) -> None:
    """How often simulated learners were given the model they were made with."""
    from howlearn.core.csv_tables import read_csv

    told = []
    for (criterion,), rows in read_csv(path).group_by("criterion", maintain_order=True):
        right = int((rows["model"] == rows["true_model"]).sum())
        told.append(f"{criterion} for {right:,} of {len(rows):,}")
    console.print(f"The true model was selected by {'; '.join(told)}.", markup=False)
