"""Sentences on the data: how much there was, and what became of every row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from howlearn.core.text import in_words
from howlearn.report.methods.words import clean, count, listed, quoted
from howlearn.selection.unfitted import reasons

READ = "rows read"
# What a counted row became; the rest of the sentence follows the number.
FATES = {
    "blank rows": ("empty row was skipped", "empty rows were skipped"),
    "rows that are no trials": (
        "row in which nothing was shown, chosen or earned was skipped",
        "rows in which nothing was shown, chosen or earned were skipped",
    ),
    "missed trials": (
        "trial without a choice was removed",
        "trials without a choice were removed",
    ),
    "forced choices": (
        "forced choice taught the models and was not scored",
        "forced choices taught the models and were not scored",
    ),
    "test trials": (
        "choice in a test phase was scored and taught nothing",
        "choices in a test phase were scored and taught nothing",
    ),
    "choices without feedback": (
        "choice without feedback was scored and taught nothing",
        "choices without feedback were scored and taught nothing",
    ),
    "neither scored nor learned": (
        "row was neither scored nor learned from",
        "rows were neither scored nor learned from",
    ),
}
FEWER = re.compile(r"(learner|sequence)s left out \(fewer than (\d+) trials\)")
EXCLUDED = re.compile(r"(?:learner|sequence)s excluded \((.*)\)", re.S)
SCALED = re.compile(r"recoded (\w+) by --reward-scale .*")
WORDS = re.compile(r"recoded (\w+) words")


def data_sentences(
    manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> Iterator[str]:
    """How many learners and trials, and every row that was left out or recoded."""
    yield _size(manifest, tables)
    lost = tables.get("unfitted")
    if lost is not None and lost.height:
        n = lost["learner"].n_unique()
        why = listed(clean(text) for text in reasons(lost))
        yield f"{count(n, 'learner').capitalize()} could not be fitted ({why})."
    options = manifest.get("options") or {}
    if options.get("reset_by"):
        columns = listed(quoted(column) for column in options["reset_by"])
        yield f"Learning started anew with every value of {columns}."
    rows = dict(manifest.get("rows") or {})
    total = rows.pop(READ, None)
    recoded = {name: n for name, n in rows.items() if str(name).startswith("recoded ")}
    whole = {n: k for n, k in rows.items() if str(n).startswith(("learners ", "sequences "))}
    apart = {*recoded, *whole}
    fates = [_fate(str(name), n, options) for name, n in rows.items() if n and name not in apart]
    if total is not None:
        yield f"Of {total:,} rows read, {listed(fates) if fates else 'all were used'}."
    elif fates:
        yield f"Of the rows read, {listed(fates)}."
    missing = [clean(text) for text in options.get("missing") or ()]
    if missing:
        yield f"Taken as missing: {listed(missing)}."
    found = [_recoded(str(name), n, options) for name, n in recoded.items() if n]
    if found:
        also = ", in rows that were left out too" if options.get("where") else ""
        yield f"Values were recoded as they were read{also}: {listed(found)}."
    for name, n in whole.items():
        if n and not EXCLUDED.fullmatch(str(name)):  # exclusions have sentences of their own
            yield f"In addition, {_fate(str(name), n, options)}."


def _size(manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]) -> str:
    n, trials = manifest.get("learners"), manifest.get("trials")
    if n is None or trials is None:
        return "The choices of the learners were analysed."
    lost = tables.get("unfitted")
    each = _lengths(tables.get("learners"), n - (0 if lost is None else lost.height))
    sequences = manifest.get("sequences", n)
    by = [clean(column) for column in (manifest.get("options") or {}).get("by") or []]
    runs = ""
    if sequences != n:
        runs = f" in {in_words(sequences)} sequences{f', one per {listed(by)}' if by else ''}"
    return f"The data were {trials:,} trials of {count(n, 'learner')}{runs}{each}."


def _lengths(learners: pl.DataFrame | None, n: int) -> str:
    if learners is None or "n_trials" not in learners.columns or learners.height < 2:
        return ""
    trials = learners["n_trials"].drop_nulls()
    if not len(trials):
        return ""
    what = "sequence" if learners.height != n else "learner"
    low, high = trials.min(), trials.max()
    if low == high:
        return f" ({low:,} scored trials per {what})"
    return (
        f" (a median of {trials.median():,.10g} scored trials per {what}, range {low:,}–{high:,})"
    )


def _fate(name: str, n: int, options: Mapping[str, Any]) -> str:
    if name in FATES:
        return count(n, *FATES[name])
    if name == "left out by --where":
        return f"{in_words(n)} did not fulfil the condition {quoted(options.get('where'))}"
    if found := FEWER.fullmatch(name):
        return f"{count(n, found[1])} with fewer than {found[2]} trials {_were(n)} left out"
    return f"{in_words(n)} counted as {quoted(name)}"


def _recoded(name: str, n: int, options: Mapping[str, Any]) -> str:
    """How many, and from what to what."""
    if found := SCALED.fullmatch(name):
        low, high = (f"{float(end):g}".replace("-", "−") for end in options["reward_scale"])
        return (
            f"{count(n, 'value')} of {quoted(found[1])}, so that {low} became 0 and {high} became 1"
        )
    if found := WORDS.fullmatch(name):
        return f"{count(n, 'value')} of {quoted(found[1])} from words (such as correct) to 1 and 0"
    role = name.removeprefix("recoded ")
    pairs = [str(text).partition(":") for text in options.get("recode") or ()]
    mine = [clean(values) for column, _, values in pairs if column.strip() == role]
    return f"{count(n, 'value')} of {quoted(role)}" + (f" ({'; '.join(mine)})" if mine else "")


def _were(n: int) -> str:
    return "was" if n == 1 else "were"
