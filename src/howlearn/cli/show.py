"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.errors import MarkupError
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from howlearn.cli.progress import in_lines
from howlearn.core.text import many, one_line, visible

if TYPE_CHECKING:
    import polars as pl

    from howlearn.core.study import Study
    from howlearn.models.model import Model
    from howlearn.report.style import Chart
    from howlearn.results.chunk import Summary
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
MANY_OTHERS = 0.25  # a share of learners from which on candidates are missing
PATIENCE = 2.0  # seconds before a progress bar appears


def listing_of(title: str, *columns: str) -> Table:
    """A table that never cuts a name: what is too long goes on in the next line."""
    table = Table(title=escape(title), title_justify="left")
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
        bar.stop()
        log.removeHandler(handler)


def reading(study: Study) -> None:
    """What was found in the files."""
    from howlearn.core.stored_study import StoredStudy

    for role, column in study.roles.items():
        aside.print(f"[dim]{role} ← {escape(one_line(column))}[/]", soft_wrap=True)
    counts = escape(", ".join(f"{phrase}: {count:,}" for phrase, count in study.counts.items()))
    learners = len(set(study.learners))
    sequences = "" if learners == len(study) else f" in {len(study):,} sequences"
    aside.print(
        f"[dim]{many(learners, 'learner')}{sequences}, {many(len(study.context), 'trial')}, "
        f"{many(len(study.contexts), 'context')}, {len(study.actions)} actions. {counts}[/]",
        soft_wrap=True,
    )
    if isinstance(study, StoredStudy):
        aside.print(f"[dim]{escape(study.where())}[/]", soft_wrap=True)
    for column, name in zip(study.about.columns, study.labels.columns[1:], strict=False):
        if column != name:
            note(f"the column {column} is called {name} in the results")
    for sentence in study.notes:
        note(sentence)


def note(sentence: str) -> None:
    """Something that the user should know."""
    aside.print(f"[yellow]note:[/] {escape(one_line(sentence))}", soft_wrap=True)


def default_task(task: str | None) -> None:
    """Say which task is taken where none was named."""
    if task is None:
        note("no --task was given, so this is about the paper's five-four task")


def same_models(models: Sequence[Model]) -> None:
    """Say which candidates are one and the same."""
    from howlearn.models.mixture import Mixture

    seen: dict[object, str] = {}
    for model in models:
        units = frozenset(getattr(model, "units", [model.name]))
        if units in seen and seen[units] != model.name:
            note(f"{seen[units]} and {model.name} are the same model")
        seen.setdefault(units, model.name)
    mixtures = [model for model in models if isinstance(model, Mixture)]
    for k, model in enumerate(mixtures):
        for other in mixtures[:k]:
            if model.name != other.name and model.is_like(other):
                note(f"{other.name} and {model.name} are the same model")


def unequal(criteria: Sequence[Criterion], models: Sequence[Model], n_actions: int) -> None:
    """Say when the likelihood alone judges models that differ in their number of parameters."""
    sizes = {model.n_parameters(n_actions) for model in models}
    if len(sizes) > 1 and any(criterion.name == "likelihood" for criterion in criteria):
        note(
            "likelihood has no penalty, and the candidates have between "
            f"{min(sizes)} and {max(sizes)} parameters: it favours those that have more"
        )


def summary(
    result: Summary,
    criteria: Sequence[Criterion],
    candidates: Sequence[Model],
    study: Study,
    out: Path,
    within: float,
    default_criteria: bool,
) -> None:
    """Shares of each model, agreement, verdicts, and the fits that need attention."""
    from howlearn.fitting.fits import STATUSES

    whole = len(set(study.learners)) == len(study)
    unit = many(result.n_learners, "learner" if whole else "learner × condition sequence")
    title = f"Models selected for {unit}"
    if result.n_excluded:
        title += (
            f" ({result.n_excluded:,} more {'is' if result.n_excluded == 1 else 'are'} excluded)"
        )
    listing = listing_of(title, "model", *(repr(c) for c in criteria))
    beyond = any(result.selected[repr(c)]["Other"] for c in criteria)
    for name in [*(model.name for model in candidates), *(["Other"] if beyond else [])]:
        cells = []
        for criterion in criteria:
            count = result.selected[repr(criterion)][name]
            cells.append(f"{count:,}  ({count / result.n_learners:.0%})" if count else "·")
        listing.add_row(escape(name), *cells)
    listing.add_section()
    meaning = {
        "clear": f"clear (ahead by {within:g} nats or more)",
        "undecided": f"undecided (others or a coin within {within:g})",
        "no better than a coin": "no better than a coin",
        "probably none of these": "probably none of these (a partition not listed: over 90%)",
        "the only candidate": "the only candidate",
    }
    for word, label in meaning.items():
        counts = [result.verdicts[repr(c)][word] for c in criteria]
        if any(counts):
            listing.add_row(f"[dim]{label}[/]", *(f"[dim]{count:,}[/]" for count in counts))
    console.print(listing)
    if result.n_excluded is not None:
        excluded(result, criteria, candidates, study)
    if len(criteria) > 1:
        console.print(f"All criteria select the same model for {result.agreeing:,} of {unit}.")
    if default_criteria:
        console.print(f"No --criterion was given, so these were used; {why(criteria)}:")
    for criterion in criteria:
        console.print(f"  {criterion!r}: {criterion.title}", soft_wrap=True)
    approximations(criteria, candidates)
    if len(set(study.learners)) < len(study) and result.together:
        note("all conditions together make the population; --where takes one of them")
    if result.together:
        population(result.together)
    total = sum(result.statuses.values())
    for word, sentence in STATUSES.items():
        count = result.statuses[word]
        if word != "ok" and count:
            console.print(
                f"{count:,} of {total:,} estimates of the selected models are "
                f"[bold]{word}[/]: {sentence}.",
                soft_wrap=True,
            )
    if len(result.unfitted):
        from howlearn.selection.unfitted import sentence

        console.print(f"{escape(sentence(result.unfitted))}.", soft_wrap=True)
    console.print(escape(f"Tables and manifest: {out}/"), soft_wrap=True)


def excluded(
    result: Summary, criteria: Sequence[Criterion], candidates: Sequence[Model], study: Study
) -> None:
    """Shares without and with the excluded learners, where they differ, and what that changes."""
    from howlearn.reading import exclude

    both = result.shares
    if exclude.differ(both):
        title = "Shares without / with the excluded"
        listing = listing_of(title, "model", *(repr(c) for c in criteria))
        rows = {(r["among"], r["criterion"], r["model"]): r["share"] for r in both.to_dicts()}
        names = [*(model.name for model in candidates), "Other"]
        for name in dict.fromkeys(names):
            cells = []
            for criterion in criteria:
                pair = [rows.get((who, repr(criterion), name), 0.0) for who in ("included", "all")]
                cells.append(" / ".join(f"{share:.0%}" for share in pair) if any(pair) else "·")
            if name != "Other" or any(cell != "·" for cell in cells):
                listing.add_row(escape(name), *cells)
        console.print(listing)
    told = exclude.sentence(len(study), result.n_excluded or 0, study.counts, both)
    console.print(escape(told), soft_wrap=True)


def why(criteria: Sequence[Criterion]) -> str:
    """Why the first of the usual criteria is the first."""
    if criteria[0].name == "population":
        return (
            "population comes first because ten learners or more tell where learning rates lie, "
            "without which fine and coarse partitions can hardly be told apart"
        )
    return (
        "evidence comes first because fewer than ten learners tell little about a population of "
        "learning rates"
    )


def approximations(criteria: Sequence[Criterion], models: Sequence[Model]) -> None:
    """Say which models have their evidence by an approximation."""
    from howlearn.selection.evidence import approximation
    from howlearn.selection.rate_grid import on_grid

    if not any(criterion.gives_probabilities for criterion in criteria):
        return
    names = [m.name for m in models if not on_grid(m) and approximation(m) != "exact"]
    if names:
        note(
            f"the evidence of {', '.join(names)} is an approximation (Laplace's, or Schwarz's for "
            "mixtures); that of partition models is integrated"
        )


def population(tables: Mapping[str, pl.DataFrame]) -> None:
    """Shares of the models in the population, and what their rates are like."""
    import polars as pl

    frame = tables["population"]
    listing = listing_of(
        "Shares of the candidates",
        "model",
        "share",
        "95% interval",
        "is the largest",
    )
    first = frame["rates"][0]
    effects = tables["shares"].filter(pl.col("criterion") == frame["criterion"][0])
    leads = dict(effects.select("model", "protected_exceedance").iter_rows())
    for row in frame.filter(pl.col("rates") == first).iter_rows(named=True):
        if row["model"] == "Other":
            continue
        listing.add_row(
            escape(row["model"]),
            f"{row['share']:.0%}",
            f"{row['lower']:.0%} to {row['upper']:.0%}",
            f"{leads[row['model']]:.2f}",
        )
    console.print(listing)
    others = frame.filter((pl.col("model") == "Other") & (pl.col("rates") == first))
    for row in others.iter_rows(named=True):
        console.print(
            f"Learners with a partition that is not listed (p_other in selection.csv): "
            f"{row['share_with_other']:.0%} ({row['lower_with_other']:.0%} to "
            f"{row['upper_with_other']:.0%}).",
            soft_wrap=True,
        )
        if row["share_with_other"] > MANY_OTHERS:
            note(
                "the shares of the candidates leave these learners out of account; howlearn "
                "discover shows which contexts they treat alike, and --features or a task file "
                "adds candidates"
            )
    if others.is_empty():
        console.print(
            "p_other is empty: it needs one rule with one rate in all partitions, at most 12 "
            "contexts, and up to 20,000 learners (or other=true).",
            soft_wrap=True,
        )
    rates = tables["population-rates"].filter(pl.col("rates") == first)
    for row in rates.iter_rows(named=True):
        of = f" of {row['models']}" if len(rates) > 1 else ""
        console.print(
            f"Learning rates{escape(of)}: median {row['median_rate']:.3g}; the spread of their "
            f"logs is {row['spread_of_learners']:.2g} between learners and "
            f"{row['spread_of_cells']:.2g} between the cells of one"
            + (f" ({row['at_limits']}: the end of what is searched)." if row["at_limits"] else "."),
            soft_wrap=True,
        )
    if not len(rates):
        return
    gain, price = rates["gain_of_rates_per_model"][0], rates["price_of_rates_per_model"][0]
    if price > 0:
        console.print(
            f"If every model had rates of its own, the learners would be explained better by "
            f"{gain:.1f} nats; it is worth the additional parameters from {price:.1f} on.",
            soft_wrap=True,
        )
    second = frame.filter((pl.col("rates") != first) & pl.col("share").is_not_null())
    if len(second):
        changed = rates["learners_changed"][0]
        shares = ", ".join(
            f"{r['model']} {r['share']:.0%}" for r in second.iter_rows(named=True) if r["share"] > 0
        )
        which = second["rates"][0]
        note(
            f"it is worth them here: the models' rates lie on different scales. With rates "
            f"{which}, {changed:,} learners would be given another model ({shares}; population.csv "
            f"has both, and --criterion 'population{'(per_model=true)' * (which == 'per model')}' "
            "selects with these)"
        )


def corrected(out: Path, candidates: Sequence[Model]) -> None:
    """Shares with the confusion of the models taken out, where a calibration knows it."""
    import polars as pl

    from howlearn.runs.folder import read_table

    frame = read_table(out, "shares").filter(pl.col("corrected_for") == "confusion")
    if "among" in frame.columns:
        frame = frame.filter(pl.col("among") == "included")
    if frame.is_empty():
        return
    criteria = frame["criterion"].unique(maintain_order=True).to_list()
    title = "Shares of the models, corrected for the calibration's confusion, with 95% intervals"
    listing = listing_of(title, "model", *criteria)
    rows = {(row["criterion"], row["model"]): row for row in frame.to_dicts()}
    for model in candidates:
        cells = []
        for criterion in criteria:
            row = rows[criterion, model.name]
            share, low, high = (row[f"corrected{end}"] for end in ("", "_lower", "_upper"))
            cells.append(f"{share:.0%}  ({100 * low:.0f} to {100 * high:.0f})")
        listing.add_row(escape(model.name), *cells)
    console.print(listing)


def stability(out: Path, criteria: Sequence[Criterion]) -> None:
    """How often doubles of the learners are given the same model."""
    import polars as pl

    from howlearn.runs.folder import read_table

    frame = read_table(out, "stability")
    columns = ("criterion", "mean", "quartiles", "learners under one half")
    listing = listing_of("Stability: the share of doubles given the same model", *columns)
    for criterion in criteria:
        mine = frame.filter(pl.col("criterion") == repr(criterion))["stability"]
        low, high = (mine.quantile(q, "linear") or 0.0 for q in (0.25, 0.75))
        under = int((mine < 0.5).sum())
        listing.add_row(
            repr(criterion), f"{mine.mean():.2f}", f"{low:.2f} to {high:.2f}", f"{under:,}"
        )
    console.print(listing)
    console.print(
        "Stability is no probability that the model is right: doubles follow the selected model "
        "at its estimates, whatever the learner does.",
        soft_wrap=True,
    )


def weights(out: Path, candidates: Sequence[Model], study: Study, n_sequences: int) -> None:
    """When the leading strategy changes, of each mixture."""
    import polars as pl

    from howlearn.runs.folder import read_table
    from howlearn.selection.predictions import is_weighted, last_changes

    frame = read_table(out, "leaders")
    if "excluded" in frame.columns:
        frame, study = frame.filter(pl.col("excluded").is_null()), study.without_excluded()
    several = len(set(study.learners)) < len(study)
    for model in filter(is_weighted, candidates):
        last = last_changes(frame.filter(pl.col("model") == model.name))
        text = f"{escape(model.name)}: the leading strategy changes for {len(last):,} of "
        text += many(n_sequences, "sequence" if several else "learner")
        if len(last):
            low, middle, high = (last.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
            text += f", for the last time at trial {middle:.0f} (median; "
            text += f"quartiles {low:.0f} and {high:.0f})"
        console.print(text + ".", soft_wrap=True)
    console.print(escape(f"Weights by trial, their means, changes of the lead, and charts: {out}/"))


def save_charts(charts: Callable[[], Mapping[str, Chart]], folder: Path) -> None:
    """Draw, if the extra is there; otherwise say in one line how to get it."""
    from howlearn.report import style

    if not style.available():
        console.print(style.MISSING, markup=False)
        return
    with progress_bar("drawing"):
        for stem, chart in charts().items():
            style.save(chart, folder / stem)


def show_recovery(path: Path) -> None:
    """How often simulated learners were given the model they were made with."""
    from howlearn.core.csv_tables import read_csv

    frame = read_csv(path)
    criteria = frame["criterion"].unique(maintain_order=True).to_list()
    title = "Learners whose true model each criterion selected"
    listing = listing_of(title, "true model", "learners", *criteria)
    for (truth,), rows in frame.group_by("true_model", maintain_order=True):
        by = [rows.filter(criterion=c)["model"] == truth for c in criteria]
        listing.add_row(
            escape(str(truth)), str(len(by[0])), *(f"{found.mean():.0%}" for found in by)
        )
    console.print(listing)
