"""The answer first, in plain words, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.study import DOUBT
from howlearn.core.task_kind import FoundKind
from howlearn.core.text import in_words, listed, many
from howlearn.fitting.defaults import ALONE
from howlearn.fitting.fits import STATUSES
from howlearn.reading.labels import natural_key
from howlearn.report.words import figures
from howlearn.results.fit_verdicts import (
    ABSOLUTE,
    CHECK,
    CLEAR,
    COMPLETENESS,
    WITHHELD,
    fit_of,
)
from howlearn.results.results import Results
from howlearn.selection.share_tables import pooled
from howlearn.selection.tables import ALL, OTHER, conditions
from howlearn.selection.unfitted import sentence

COIN, NONE, UNDECIDED = "no better than a coin", "probably none of these", "undecided"
MOST_CONDITIONS = 40
LISTED = 3  # models that the sentence names


@dataclass(frozen=True)
class Row:
    """A model in the first table: how many learners it explains best, by each criterion."""

    model: str
    counts: list[int]
    shares: list[float]


@dataclass(frozen=True)
class ConditionAnswer:
    """What was selected under one condition, by the first criterion.

    ``shares`` are those in its population, with intervals; ``other`` that of unlisted partitions.
    """

    name: str
    n: int
    counts: Mapping[str, int]
    shares: Mapping[str, str]
    other: str


@dataclass(frozen=True)
class Answer:
    """What stands at the top of the page."""

    sentences: list[str]
    rows: list[Row]  # of the included learners
    rows_of_all: list[Row]  # empty where nobody is excluded
    verdicts: list[tuple[str, list[int]]]
    n: int
    n_excluded: int
    disagreements: list[tuple[str, str, str, int]]  # criterion pairs with their models
    reading: list[tuple[str, str]]
    rows_read: list[tuple[str, int]]
    notes: list[str]
    deviations: list[str] | None  # None: there was no plan
    conditions: list[ConditionAnswer]  # with --by
    compared: bool  # whether there was more than one candidate
    candidates: list[tuple[str, str]]  # with what each is, in a line


def answer(results: Results) -> Answer:
    """Counts over the learners, in tables and in words."""
    selection, criteria = results.numbered, results.criteria
    included = selection.filter(~pl.col("excluded"))
    n, n_all = (frame["sequence"].n_unique() for frame in (included, selection))
    notes = [str(note) for note in results.manifest["notes"]]
    doubts = [f"N{note[1:].rstrip('.')}." for note in notes if note.startswith(DOUBT)]
    compared = len(results.names) > 1
    sentences = [*doubts, *_said(included, results)]
    of_all = _rows_of_all(results, n_all) if n < n_all and compared else []
    if n < n_all:
        out = many(n_all - n, results.unit)
        sentences.append(f"{out} {'is' if n_all - n == 1 else 'are'} excluded from these numbers.")
        if compared:
            sentences.append(_with_everyone(of_all, criteria[0], n_all, results.unit))
    sentences += [str(told["sentence"]) for told in _fit(results)]
    if len(results.unfitted):
        sentences.append(f"{sentence(results.unfitted)}.")
    kept = included if n else selection
    return Answer(
        sentences,
        _rows(kept, results),
        of_all,
        _verdicts(kept, criteria),
        n,
        n_all - n,
        _disagreements(kept, criteria),
        [*_kind(results), *((str(r), str(c)) for r, c in results.manifest["columns"].items())],
        [(str(what), int(count)) for what, count in results.manifest["rows"].items()],
        [note for note in notes if not note.startswith(DOUBT)],
        _deviations(results),
        _conditions(kept, results) if compared else [],
        compared,
        _candidates(results),
    )


def _said(selection: pl.DataFrame, results: Results) -> list[str]:
    """What was found, under every condition of the same learners apart."""
    words = _sentences if len(results.names) > 1 else _alone
    under = conditions(selection)
    if under is None:
        return words(selection, results.criteria, results.unit)
    names = sorted(under.unique(), key=natural_key)[:MOST_CONDITIONS]
    found = {
        name: words(selection.filter(under == name), results.criteria, "learner") for name in names
    }
    return [f"{name}: {' '.join(told)}" for name, told in found.items()]


def _candidates(results: Results) -> list[tuple[str, str]]:
    """What each candidate is, in a line; nothing where they cannot be built again."""
    try:
        return [(model.name, model.in_words) for model in results.models]
    except HowlearnError:
        return []


def _fit(results: Results) -> list[Mapping[str, object]]:
    """Whether the candidates are any good: as far as it was checked, the worst news first."""
    fit = fit_of(results.manifest)
    told = [fit[name] for name in (COMPLETENESS, CHECK, ABSOLUTE) if name in fit]
    return [each for each in told if each.get("sentence")]


def _kind(results: Results) -> list[tuple[str, str]]:
    """The kind of task, as the first thing that was read."""
    kind = FoundKind.recorded(results.manifest.get("kind"))
    return [] if kind is None else [("kind of task", str(kind))]


def _sentences(selection: pl.DataFrame, criteria: Sequence[str], unit: str) -> list[str]:
    """Learners in groups that do not overlap: agreed, disagreed, not learning, not listed."""
    first = selection.filter(pl.col("criterion") == criteria[0])
    n = len(first)
    if n == 0:
        return [f"No {unit} is left."]
    agreed = selection.group_by("sequence").agg(pl.col("model").n_unique() == 1)
    first = first.join(agreed.rename({"model": "agreed"}), on="sequence", maintain_order="left")
    verdict = first["verdict"]
    coin, none = verdict == COIN, verdict == NONE
    rest = first.filter(~(coin | none))
    same = Counter(rest.filter("agreed")["model"].to_list())
    apart = len(rest) - sum(same.values())
    by = criteria[0] if len(criteria) == 1 else f"all {in_words(len(criteria), most=10)} criteria"
    by = "both criteria" if len(criteria) == 2 else by
    parts = []
    if same:
        (lead, most), *others = sorted(same.items(), key=lambda item: -item[1])
        whom = f"{most:,} of {many(n, unit)}" if n > 1 else f"the {unit}"
        text = f"{lead} explains {whom} best"
        named = [f"{model} {count:,}" for model, count in others[:LISTED]]
        left = sum(count for _, count in others[LISTED:])
        named += [f"other models {left:,}"] if left else []
        text += f", {listed(named)}," if named else ""
        parts.append(f"{text} by {by}")
    if apart:
        of = "" if parts else f" of {many(n, unit)}"
        parts.append(
            f"for {apart:,}{of} the criteria disagree" if n > 1 else "the criteria disagree"
        )
    ends = ((coin, "no better explained than by a coin"),
            (none, "probably explained by a partition that is not listed"))  # fmt: skip
    for found, words in ends:
        if count := int(found.sum()):
            of = "" if parts else f" of {many(n, unit)}"
            who = f"{count:,}{of}" if n > 1 else f"the {unit}"
            parts.append(f"{who} {'is' if count == 1 else 'are'} {words}")
    text = "; ".join(parts) + "."
    sentences = [text[:1].upper() + text[1:] if not same else text]
    if not same and len(criteria) > 1:
        counts = Counter(first["model"].to_list()).most_common()
        led = listed([f"{model} {count:,}" for model, count in counts[: LISTED + 1]])
        sentences.append(f"{criteria[0]} selects {led}.")
    unsure = int(verdict.str.starts_with(UNDECIDED).sum())
    if unsure:
        whom = f"the {unit}" if n == 1 else f"{unsure:,} of the {many(n, unit)}"
        sentences.append(
            f"For {whom} the verdict of {criteria[0]} is undecided: another model, or a coin, "
            "comes close."
        )
    return sentences


def _alone(selection: pl.DataFrame, criteria: Sequence[str], unit: str) -> list[str]:
    """What can be said of one model: whether it explains the choices better than a coin."""
    first = selection.filter(pl.col("criterion") == criteria[0])
    coin = int((first["verdict"] == COIN).sum())
    model = first["model"][0] if len(first) else ""
    return [
        f"O{ALONE[1:]}. The candidate is {model}.",
        f"For {coin:,} of {many(len(first), unit)} it is no better than a coin, by {criteria[0]}.",
    ]


def _conditions(selection: pl.DataFrame, results: Results) -> list[ConditionAnswer]:
    """What the first criterion selects under each condition; empty without any."""
    first = selection.filter(criterion=results.criteria[0])
    under = conditions(first)
    if under is None:
        return []
    known = results.table("population") if "population" in results.tables else None
    found = []
    for name in sorted(under.unique(), key=natural_key)[:MOST_CONDITIONS]:
        mine = first.filter(under == name)
        counts = Counter(mine["model"].to_list())
        shares = {} if known is None else _in_population(known.filter(condition=name))
        found.append(ConditionAnswer(name, len(mine), counts, shares, shares.pop(OTHER, "")))
    return found


def _in_population(frame: pl.DataFrame) -> dict[str, str]:
    """Shares with their intervals, in words; of Other the one where it competes."""
    found = {}
    for row in frame.iter_rows(named=True):
        ends = "_with_other" if row["model"] == OTHER else ""
        share, low, high = (row[f"{end}{ends}"] for end in ("share", "lower", "upper"))
        if share is not None:
            found[row["model"]] = f"{share:z.0%} ({low:z.0%} to {high:z.0%})"
    return found


def _rows(selection: pl.DataFrame, results: Results) -> list[Row]:
    """The model that leads by the first criterion first."""
    counts = {
        criterion: Counter(selection.filter(criterion=criterion)["model"].to_list())
        for criterion in results.criteria
    }
    n = max(1, selection["sequence"].n_unique())
    seen = [model for found in counts.values() for model in found]
    names = [*dict.fromkeys([*results.names, *seen])]
    rows = []
    for model in names:
        own = [found[model] for found in counts.values()]
        rows.append(Row(model, own, [count / n for count in own]))
    return sorted(rows, key=lambda row: [-count for count in row.counts])


def _rows_of_all(results: Results, n: int) -> list[Row]:
    """As if nobody were excluded: a population is then learned from all, so these are its own."""
    shares = pooled(results.table("shares", ALL))
    counts = {(c, m): int(k) for c, m, k in shares.select("criterion", "model", "learners").rows()}
    names = dict.fromkeys([*results.names, *shares["model"].to_list()])
    own = {model: [counts.get((c, model), 0) for c in results.criteria] for model in names}
    rows = [Row(model, found, [k / max(1, n) for k in found]) for model, found in own.items()]
    return sorted(rows, key=lambda row: [-count for count in row.counts])


def _with_everyone(rows: Sequence[Row], criterion: str, n: int, unit: str) -> str:
    led = [row for row in rows if row.counts[0]]
    named = [f"{row.model} {row.counts[0]:,}" for row in led[: LISTED + 1]]
    left = sum(row.counts[0] for row in led[LISTED + 1 :])
    named += [f"other models {left:,}"] if left else []
    return f"With everyone, {criterion} selects, for {many(n, unit)}: {listed(named)}."


def _verdicts(selection: pl.DataFrame, criteria: Sequence[str]) -> list[tuple[str, list[int]]]:
    words = selection.with_columns(pl.col("verdict").str.replace(r" between .*", ""))
    found = {c: Counter(words.filter(criterion=c)["verdict"].to_list()) for c in criteria}
    order = [CLEAR, WITHHELD, UNDECIDED, COIN, NONE, "the only candidate", "the only one possible"]
    names = [*dict.fromkeys([*order, *(word for each in found.values() for word in each)])]
    rows = [(word, [found[c][word] for c in criteria]) for word in names]
    return [row for row in rows if any(row[1])]


def _disagreements(
    selection: pl.DataFrame, criteria: Sequence[str]
) -> list[tuple[str, str, str, int]]:
    """What the first criterion says, what another says instead, and how often; most first."""
    first = selection.filter(criterion=criteria[0]).select("sequence", said="model")
    found = []
    for other in criteria[1:]:
        pairs = first.join(selection.filter(criterion=other), on="sequence")
        apart = pairs.filter(pl.col("said") != pl.col("model")).group_by("said", "model").len()
        found += [(a, other, b, count) for a, b, count in apart.sort("said", "model").iter_rows()]
    return sorted(found, key=lambda row: -row[3])


def _deviations(results: Results) -> list[str] | None:
    """Where the run differs from a plan that was frozen before."""
    found = results.manifest.get("deviations")
    if not isinstance(found, list):
        return None
    lines = []
    for each in found:
        if isinstance(each, dict) and {"what", "planned", "done"} <= each.keys():
            lines.append(f"{each['what']}: planned {each['planned']}, done {each['done']}")
        else:
            lines.append(str(each))
    return lines


# How sure: what needs attention among the fits, and how stable the selections are.


UNDER = 0.5  # a stability below which a selection is hardly one


@dataclass(frozen=True)
class Status:
    """A kind of fit that needs attention."""

    word: str
    sentence: str
    estimates: int
    learners: int
    share: float  # of the selected models' estimates


def selected_estimates(results: Results) -> pl.DataFrame:
    """Estimates of each sequence's model by the first criterion, from most of its trials."""
    estimates = results.table("estimates", ALL)
    keys = [name for name in results.labels if name in estimates.columns]
    fullest = pl.col("trials_fitted").max().over(keys)
    estimates = estimates.filter(pl.col("trials_fitted") == fullest)
    first = results.numbered.filter(criterion=results.criteria[0])
    mine = first.select(*keys, "model", "sequence", "excluded")
    return estimates.join(mine, on=[*keys, "model"], nulls_equal=True, maintain_order="left")


def statuses(results: Results) -> list[Status]:
    """What needs attention, the most frequent first."""
    frame = selected_estimates(results).filter(~pl.col("excluded"))
    # A cell that was never shown is nothing to attend to.
    seen = frame.filter(pl.col("status") != "unseen")
    counts = seen.group_by("status").agg(
        pl.len().alias("estimates"), pl.col("sequence").n_unique().alias("learners")
    )
    return [
        Status(word, STATUSES.get(word, ""), n, learners, n / max(1, len(seen)))
        for word, n, learners in counts.sort("estimates", "status", descending=[True, False]).rows()
        if word != "ok"
    ]


def stability(results: Results) -> tuple[list[tuple[str, str, str, str, str]], str]:
    """A row per criterion, and what to think of it; nothing without such a table."""
    frame = results.tables.get("stability")
    if frame is None or "stability" not in frame.columns:
        return [], ""
    rows = []
    for criterion in results.criteria:
        mine = frame.filter(criterion=criterion)["stability"].drop_nulls()
        if len(mine):
            low, high = (mine.quantile(q, "linear") for q in (0.25, 0.75))
            under = many(int((mine < UNDER).sum()), results.unit)
            spread = f"{figures(low, 2)} to {figures(high, 2)}"
            rows.append((criterion, figures(mine.mean(), 2), spread, under, f"{len(mine):,}"))  # type: ignore[arg-type]
    doubles = frame["doubles"].max() if "doubles" in frame.columns else None
    of = f" {doubles:,}" if isinstance(doubles, int) else ""
    return rows, (
        f"The share of{of} simulated doubles of each {results.unit} that are given the same "
        "model. It is no probability that the model is right: doubles follow the selected model "
        "at its estimates, whatever the learner does."
    )
