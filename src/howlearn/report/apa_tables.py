"""The tables of a results folder as a paper shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report.apa_files import DASH, ApaTable, Head, decimal, percent, proportion, span
from howlearn.report.methods.sentences import criteria_of
from howlearn.report.words import clean, count
from howlearn.results.manifest import WITHHELD
from howlearn.selection.criteria import criterion_named
from howlearn.selection.share_tables import pooled

# Confusion matrices of a calibration or a recovery.


WIDEST = 12  # models whose matrix fits a page; of more, what each is most often taken for
CONFUSION_NEEDED = {"criterion", "true_model", "selected_model", "share"}


def confusion_tables(confusion: pl.DataFrame, criteria: Sequence[str]) -> Iterator[ApaTable]:
    """One per criterion of the selection that was calibrated, or else of the first that was."""
    if not {*confusion.columns} >= CONFUSION_NEEDED or confusion.is_empty():
        return
    if "setting" not in confusion.columns:
        confusion = confusion.with_columns(setting=None)
    groups = confusion.group_by("criterion", "setting", maintain_order=True)
    known = {_text(str(name), setting): rows for (name, setting), rows in groups}
    for text in [each for each in criteria if each in known] or [*known][:1]:
        yield _table(text, known[text])


def _text(name: str, setting: Any) -> str:
    """The criterion with its constant, as other tables write it."""
    try:
        return repr(criterion_named(name if setting is None else f"{name}({setting!r})"))
    except HowlearnError:
        return name


def _table(criterion: str, rows: pl.DataFrame) -> ApaTable:
    truths = rows["true_model"].cast(pl.String).unique(maintain_order=True).to_list()
    models = rows["selected_model"].cast(pl.String).unique(maintain_order=True).to_list()
    share = {
        (str(true), str(model)): value
        for true, model, value in rows.select("true_model", "selected_model", "share").iter_rows()
    }
    title = f"Models Selected for Simulated Learners of Each Model, by {clean(criterion)}"
    notes = ["Proportions of the simulated learners of each model."]
    if len(models) <= WIDEST:
        return ApaTable(
            0,
            title,
            (Head("True model"), *(Head(clean(m), "Selected model") for m in models)),
            tuple(
                (clean(true), *(proportion(share.get((true, model))) for model in models))
                for true in truths
            ),
            tuple(notes),
        )
    return ApaTable(
        0,
        title,
        (
            Head("True model"),
            Head("Most often confused with"),
            Head("Recovered"),
            Head("Taken for it"),
        ),
        tuple(_short(true, models, share) for true in truths),
        tuple(notes),
        n_words=2,
    )


def _short(true: str, models: Sequence[str], share: dict[tuple[str, str], float]) -> tuple:
    others = {model: share.get((true, model)) or 0.0 for model in models if model != true}
    worst = max(others, key=lambda model: others[model])
    name = clean(worst) if others[worst] else DASH
    mistaken = proportion(others[worst]) if others[worst] else DASH
    return clean(true), name, proportion(share.get((true, true))), mistaken


# The estimates of the selected models, per cell and parameter.


MOST_ROWS = 60  # of a table that still fits into a paper
DIGITS = 3
NOT_KNOWN = ("unseen", "flat", "no fit")  # statuses of values that the trials do not tell
ESTIMATES_NEEDED = {"model", "cell", "parameter", "estimate", "trials_fitted", "status"}


def estimates_table(
    manifest: Mapping[str, Any],
    estimates: pl.DataFrame,
    selection: pl.DataFrame,
    criterion: str,
) -> Iterator[ApaTable]:
    """Of the learners whose model the first criterion selected; nothing without any."""
    if not {*estimates.columns} >= ESTIMATES_NEEDED:
        return
    summary = _estimates_summary(estimates, selection, criterion)
    if summary.is_empty():
        return
    order = {str(m.get("name")): i for i, m in enumerate(manifest.get("models") or ())}
    place = pl.col("model").replace_strict(order, default=len(order), return_dtype=pl.Int64)
    summary = summary.sort(place, maintain_order=True)
    bounded = _bounded(manifest)
    notes = [
        f"Learners with this model by {clean(criterion)}; n counts those whose trials are "
        f"informative. IQR: interquartile range, as [first quartile, third quartile]. At bound: "
        "estimates at the lower and at the upper bound."
    ]
    if summary.height > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {summary.height:,} rows.")
    rows = []
    for row in summary.head(MOST_ROWS).iter_rows(named=True):
        small = row["parameter"] in bounded
        shown = proportion if small else decimal
        rows.append(
            (
                clean(row["model"]),
                clean(row["cell"]) if row["cell"] is not None else "",
                clean(row["parameter"]),
                f"{row['n']:,}",
                shown(row["middle"], DIGITS),
                span(row["low"], row["high"], small, DIGITS),
                f"{row['at_lower']:,}",
                f"{row['at_upper']:,}",
            )
        )
    heads = ("Model", "Cell", "Parameter", "n", "Mdn", "IQR")
    yield ApaTable(
        0,
        "Estimates of the Selected Models, by Cell",
        (*map(Head, heads), Head("Lower", "At bound"), Head("Upper", "At bound")),
        tuple(rows),
        tuple(notes),
        n_words=3,
    )


def _estimates_summary(
    estimates: pl.DataFrame, selection: pl.DataFrame, criterion: str
) -> pl.DataFrame:
    """Median, quartiles and bounds reached, of those whose model the criterion selected."""
    keys = [c for c in estimates.columns[: estimates.columns.index("model")] if c in selection]
    chosen = selection.filter(pl.col("criterion") == criterion).select(
        *keys, pl.col("model").cast(pl.String)
    )
    mine = (
        estimates.with_columns(pl.col("model").cast(pl.String))
        .join(chosen, on=[*keys, "model"], how="semi", nulls_equal=True, maintain_order="left")
        .filter(pl.col("trials_fitted") == pl.col("trials_fitted").max().over([*keys, "model"]))
    )
    known = ~pl.col("status").is_in(NOT_KNOWN)
    value = pl.col("estimate").filter(known)
    return mine.group_by("model", "cell", "parameter", maintain_order=True).agg(
        known.sum().alias("n"),
        value.median().alias("middle"),
        value.quantile(0.25, "linear").alias("low"),
        value.quantile(0.75, "linear").alias("high"),
        (pl.col("status") == "at lower bound").sum().alias("at_lower"),
        (pl.col("status") == "at upper bound").sum().alias("at_upper"),
    )


def _bounded(manifest: Mapping[str, Any]) -> set[str]:
    """The parameters that cannot lie beyond 1 in any model: they lose the zero before the point."""
    every: dict[str, float] = {}
    for model in _described(manifest.get("models") or ()):
        for name, (low, high) in (model.get("bounds") or {}).items():
            every[name] = max(every.get(name, 0.0), abs(low), abs(high))
    return {name for name, largest in every.items() if largest <= 1}


def _described(models: Any) -> Iterator[Mapping[str, Any]]:
    """Models, their units and their strategies: whatever has bounds."""
    for model in models:
        yield model
        yield from _described(model.get("units") or ())
        yield from _described(model.get("experts") or ())


# Verdicts and margins by criterion.


ALWAYS = 2  # kinds of verdicts that are shown even where nobody has them
VERDICTS = {
    "clear": "Clear",
    "undecided": "Undecided",
    WITHHELD: "Clear, do not fit",
    "no better than a coin": "No better than a coin",
    "probably none of these": "Probably none",
    "the only candidate": "Only candidate",
    "the only one possible": "Only one possible",
}
NOTE = (
    "Margin: nats between the selected model and the next. IQR: interquartile range, as [first "
    "quartile, third quartile]."
)


def margins_table(selection: pl.DataFrame, criteria: Sequence[str]) -> ApaTable:
    """One row per criterion."""
    kinds = [
        kind for i, kind in enumerate(VERDICTS) if i < ALWAYS or (_kinds(selection) == kind).any()
    ]
    heads = [Head("Criterion")]
    for kind in kinds:
        heads += [Head("n", VERDICTS[kind]), Head("%", VERDICTS[kind])]
    heads += [Head("Mdn", "Margin"), Head("IQR", "Margin")]
    rows = [_row(selection.filter(pl.col("criterion") == c), c, kinds) for c in criteria]
    several = len(criteria) > 1 and selection["model"].n_unique() > 1
    notes = [NOTE, *([_agreement(selection, criteria)] if several else [])]
    title = "Verdicts and Margins, by Criterion"
    return ApaTable(0, title, tuple(heads), tuple(rows), tuple(notes))


def _kinds(selection: pl.DataFrame) -> pl.Series:
    """The verdicts without the models that they name."""
    return selection["verdict"].cast(pl.String).str.replace(r" between (?s:.*)", "")


def _row(mine: pl.DataFrame, criterion: str, kinds: Sequence[str]) -> tuple[str, ...]:
    cells = [clean(criterion)]
    for kind in kinds:
        n = int((_kinds(mine) == kind).sum())
        cells += [f"{n:,}", percent(n, mine.height)]
    margin = mine["margin"].cast(pl.Float64).drop_nulls().drop_nans()
    low, middle, high = (margin.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
    return (*cells, decimal(middle), span(low, high, False, 2))


def _agreement(selection: pl.DataFrame, criteria: Sequence[str]) -> str:
    keys = selection.columns[: selection.columns.index("criterion")]
    each = (
        selection.filter(pl.col("criterion").is_in([*criteria]))
        .group_by(keys)
        .agg(pl.col("model").n_unique().alias("_models"))
    )
    same, total = int((each["_models"] == 1).sum()), each.height
    return f"All criteria selected the same model for {same:,} of {total:,}."


# How many learners were given each model, by criterion, with and without those excluded.


ALL_SHOWN = 12  # candidates of which all are shown; of more, those that somebody was given
BESIDE = 4  # criteria beside one another; more stand below one another
TITLE = "Number of Learners With Each Selected Model, by Criterion"
INCLUDED, ALL = "included", "all learners"

Counts = dict[tuple[str, str], dict[str, int]]  # by criterion and who is counted: model → learners


def counts_table(
    manifest: Mapping[str, Any],
    selection: pl.DataFrame,
    included: pl.DataFrame,
    criteria: Sequence[str],
    shares: pl.DataFrame | None = None,
) -> ApaTable:
    """Beside one another where they fit the page, else below one another."""
    scoped = included.height < selection.height
    counts: Counts = {}
    for criterion in criteria:
        counts[criterion, INCLUDED] = _counted(included.filter(pl.col("criterion") == criterion))
        if scoped and shares is not None:
            counts[criterion, ALL] = _of_all(shares.filter(pl.col("criterion") == criterion))
    models, notes = _shown(manifest, counts)
    if scoped:
        notes.append("Included: without the learners who were excluded.")
    make = _beside if len(counts) <= BESIDE else _below
    heads, rows, n_words = make(counts, models, scoped)
    return ApaTable(0, TITLE, tuple(heads), tuple(rows), tuple(notes), n_words)


def _counted(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows["model"].cast(pl.String).value_counts().iter_rows())


def _of_all(shares: pl.DataFrame) -> dict[str, int]:
    """As if nobody were excluded: a population is then learned from all learners."""
    rows = pooled(shares.filter((pl.col("among") == "all") & (pl.col("learners") > 0)))
    return {str(model): int(n) for model, n in rows.select("model", "learners").iter_rows()}


def _shown(manifest: Mapping[str, Any], counts: Counts) -> tuple[list[str], list[str]]:
    """The models in the order of the candidates, and what is to be said of those left out."""
    found = {name for each in counts.values() for name in each}
    given = dict.fromkeys(str(model.get("name")) for model in manifest.get("models") or ())
    models = [*given, *sorted(found - {*given})]
    left = [name for name in models if name not in found]
    if len(models) <= ALL_SHOWN or not left:
        return models, []
    others = count(len(left), "candidate")
    models = [name for name in models if name in found]
    return models, [f"Not shown: {others} that no learner was given."]


def _cells(found: dict[str, int], model: str) -> tuple[str, str]:
    n = found.get(model, 0)
    return f"{n:,}", percent(n, sum(found.values()))


def _beside(
    counts: Counts, models: Sequence[str], scoped: bool
) -> tuple[list[Head], list[tuple[str, ...]], int]:
    heads = [Head("Model")]
    for (criterion, scope), found in counts.items():
        over = clean(criterion) + (f", {scope}" if scoped else "")
        over += f" (N = {sum(found.values()):,})"
        heads += [Head("n", over), Head("%", over)]
    rows = [
        (clean(model), *(cell for found in counts.values() for cell in _cells(found, model)))
        for model in models
    ]
    return heads, rows, 1


def _below(
    counts: Counts, models: Sequence[str], scoped: bool
) -> tuple[list[Head], list[tuple[str, ...]], int]:
    words = ["Criterion", *(["Learners"] if scoped else []), "Model"]
    rows = [
        (clean(criterion), *([scope] if scoped else []), clean(model), *_cells(found, model))
        for (criterion, scope), found in counts.items()
        for model in models
        if model in found  # in a long list, rows of zeros would hide the others
    ]
    return [*map(Head, words), Head("n"), Head("%")], rows, len(words)


SELECTION_NEEDED = {"learner", "criterion", "model", "margin", "verdict"}


def apa_tables(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> list[ApaTable]:
    """Shares, estimates, margins, and confusion matrices where there are some; numbered from 1.

    ``tables`` are those of a results folder by their names, and ``confusion`` of a calibration. A
    table whose source is missing is left out.
    """
    every = enumerate(_every(manifest, tables), start=1)
    return [replace(table, number=i) for i, table in every]


def _every(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> Iterator[ApaTable]:
    criteria = criteria_of(manifest, tables)
    selection = tables.get("selection")
    if selection is not None and selection.height and {*selection.columns} >= SELECTION_NEEDED:
        included = without_excluded(selection, tables.get("learners"))
        if len(manifest.get("models") or ()) != 1:  # else nothing was compared
            yield counts_table(manifest, selection, included, criteria, tables.get("shares"))
        if "estimates" in tables:
            yield from estimates_table(manifest, tables["estimates"], included, criteria[0])
        yield margins_table(included, criteria)
    if "confusion" in tables:
        yield from confusion_tables(tables["confusion"], criteria)


def without_excluded(table: pl.DataFrame, learners: pl.DataFrame | None) -> pl.DataFrame:
    """The rows of learners who are not excluded."""
    if learners is None or "excluded" not in learners.columns:
        return table
    end = learners.columns.index("n_trials") if "n_trials" in learners.columns else 1
    keys = [name for name in learners.columns[:end] if name in table.columns and name != "excluded"]
    left_out = learners.filter(pl.col("excluded").cast(pl.String).fill_null("") != "")
    gone = left_out.select(keys).unique()
    return table.join(gone, on=keys, how="anti", nulls_equal=True, maintain_order="left")
