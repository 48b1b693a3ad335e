"""Confusion matrices of a calibration or a recovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.report.apa.numbers import DASH, proportion
from howlearn.report.apa.table import ApaTable, Head
from howlearn.report.methods.words import clean
from howlearn.selection.criteria import criterion_named

WIDEST = 12  # models whose matrix fits a page; of more, what each is most often taken for
NEEDED = {"criterion", "true_model", "selected_model", "share"}


def confusion_tables(confusion: pl.DataFrame, criteria: Sequence[str]) -> Iterator[ApaTable]:
    """One per criterion of the selection that was calibrated, or else of the first that was."""
    if not {*confusion.columns} >= NEEDED or confusion.is_empty():
        return
    named = confusion.with_columns(text=_texts(confusion))
    known = named["text"].unique(maintain_order=True).to_list()
    for text in [each for each in criteria if each in known] or known[:1]:
        yield _table(text, named.filter(pl.col("text") == text))


def _texts(confusion: pl.DataFrame) -> pl.Series:
    """The criterion with its constant, as other tables write it."""
    settings = confusion["setting"] if "setting" in confusion.columns else [None] * len(confusion)
    texts: dict[tuple[str, float | None], str] = {}
    for name, setting in zip(confusion["criterion"], settings, strict=True):
        key = (str(name), setting)
        if key not in texts:
            texts[key] = _text(*key)
    keys = zip(confusion["criterion"], settings, strict=True)
    return pl.Series([texts[str(name), setting] for name, setting in keys], dtype=pl.String)


def _text(name: str, setting: float | None) -> str:
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
        (Head("True model"), Head("Most often taken for"), Head("Recovered"), Head("Taken for it")),
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
