"""The answer first, in plain words, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from howlearn.core.study import DOUBT
from howlearn.core.text import in_words, listed, many, percent
from howlearn.core.world import FoundKind
from howlearn.fitting.defaults import ALONE
from howlearn.fitting.fits import STATUSES
from howlearn.report.words import figures
from howlearn.results.manifest import CLEAR, WITHHELD, fit_of, fit_sentences
from howlearn.results.results import Results
from howlearn.results.select_summary import COIN, NONE, Selected, SelectedModels
from howlearn.selection.share_tables import pooled
from howlearn.selection.tables import ALL, OTHER, condition_columns
from howlearn.selection.unfitted import sentence

MOST_CONDITIONS = 6  # with a sentence each
LISTED = 3  # models that the sentence names


@dataclass(frozen=True)
class Row:
    """A model in the table of all criteria: how many learners each selects it for."""

    model: str
    counts: list[int]
    shares: list[float]


@dataclass(frozen=True)
class Answer:
    """What stands at the top of the page."""

    leads: list[str]  # which models explain these learners, under each condition
    doubts: list[str]  # that stand before the answer
    found: SelectedModels
    panels: list[tuple[SelectedModels, str]]  # of conditions, with the share of no candidate
    cards: list[tuple[str, list[str]]]  # a question, and sentences that answer it
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
    compared: bool  # whether there was more than one candidate

    @property
    def sentences(self) -> list[str]:
        """All that it says, in order."""
        return [*self.doubts, *self.leads, *(text for _, texts in self.cards for text in texts)]


def answer(results: Results) -> Answer:
    """Counts over the learners, in tables and in words."""
    selection, criteria = results.numbered, results.criteria
    included = selection.filter(~pl.col("excluded"))
    n, n_all = (frame["sequence"].n_unique() for frame in (included, selection))
    notes = [str(note) for note in results.manifest["notes"]]
    found = SelectedModels(results)
    doubts = [f"N{note[1:].rstrip('.')}." for note in notes if note.startswith(DOUBT)]
    compared = len(results.names) > 1
    of_all = _rows_of_all(results, n_all) if n < n_all and compared else []
    kept = included if n else selection
    return Answer(
        [*_leads(found)],
        [*doubts, *found.withheld()],
        found,
        [(part, _unlisted(part)) for part in found.conditions],
        [*_cards(found, of_all, n_all)],
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
        compared,
    )


def _leads(found: SelectedModels) -> Iterator[str]:
    """One sentence, or one for each condition."""
    by = ", ".join(condition_columns(found.first))
    for part in found.conditions[:MOST_CONDITIONS] or [found]:
        unit = found.results.unit if part is found else "learner"
        told = _lead(part, unit) if len(found.results.names) > 1 else _alone(part, unit)
        clear = f"The answer is clear for {part.verdicts()[CLEAR]:,}."
        yield told if part is found else f"{by} {part.condition}: {told} {clear}"


def _lead(found: SelectedModels, unit: str) -> str:
    """Which models explain how many learners, with what each of them is."""
    if not found.n:
        return f"No {unit} remains."
    counts = {each.model: each.count for each in found.models}
    coin, none = counts.get(COIN, 0), counts.get(NONE, 0)
    models = [each for each in found.models if each.count and each.model not in (COIN, NONE)]
    one = found.n == 1
    parts = []
    if models:
        most = counts[models[0].model]
        who = f"this {unit}" if one else f"{most:,} of {many(found.n, unit)}"
        parts.append(f"{_named(models[0])} explains {who} best{_clearly(models[0])}")
    if len(models) > 1:
        left = sum(counts[each.model] for each in models[2:])
        named = f"{in_words(len(models) - 2)} other model{'s' * (len(models) > 3)}"
        more = f", and {named} the other {left:,}" if left and found.condition is None else ""
        second = f"{counts[models[1].model]:,}{_clearly(models[1])}"
        parts.append(f"{_named(models[1])} explains {second}{more}")
    whose = (f"this {unit}",) * 2 if one else (f"{coin:,}", f"{none:,}")
    whose = whose if models or one else tuple(f"{each} of {many(found.n, unit)}" for each in whose)
    parts += [f"no model is better than a coin for {whose[0]}"] * (coin > 0)
    parts += [f"probably none of the candidates is right for {whose[1]}"] * (none > 0)
    text = "; ".join(parts)
    return f"{text if models else text[0].upper() + text[1:]}."


def _named(each: Selected) -> str:
    return f"{each.model} ({each.words})" if each.words else each.model


def _clearly(each: Selected) -> str:
    """For how many of them the verdict is clear, where it is not for all."""
    if each.clear == each.count:
        return ""
    return f" ({each.clear or 'none'} clearly)" if each.count > 1 else " (not clearly)"


def _alone(found: SelectedModels, unit: str) -> str:
    """What can be said of one model: whether it explains the choices better than a coin."""
    model = found.models[0]
    return (
        f"O{ALONE[1:]}. The candidate is {_named(model)}. For {found.verdicts()[COIN]:,} of "
        f"{many(found.n, unit)} it is no better than a coin."
    )


def _unlisted(found: SelectedModels) -> str:
    """The share of learners who group contexts in a way that is not a candidate, if it is known."""
    if "population" in found.results.tables:
        for row in found.results.table("population").iter_rows(named=True):
            if row["model"] == OTHER and str(row["condition"]) == found.condition:
                share, low, high = (row[f"{e}_with_other"] for e in ("share", "lower", "upper"))
                if share is not None:
                    return f"{percent(share)} ({percent(low)} to {percent(high)})"
    return ""


def _cards(
    found: SelectedModels, of_all: Sequence[Row], n_all: int
) -> Iterator[tuple[str, list[str]]]:
    """How sure, how good the models are, whether other criteria agree, and what to do."""
    results = found.results
    sure = [text[0].upper() + text[1:] for text in found.sure()]
    if found.n < n_all:
        out = many(n_all - found.n, results.unit)
        sure.append(f"{out} {'is' if n_all - found.n == 1 else 'are'} excluded from these numbers.")
        if of_all:
            sure.append(_with_everyone(of_all, results.criteria[0], n_all, results.unit))
    if len(results.unfitted):
        sure.append(f"{sentence(results.unfitted)}.")
    good = fit_sentences(fit_of(results.manifest)) or ["This was not checked."]
    cards = (
        ("How sure is this?", sure),
        ("Do the models fit?", good),
        ("Do other criteria agree?", [*found.robust()]),
        ("What to do next", [*found.advice()]),
    )
    yield from ((question, texts) for question, texts in cards if texts)


def _kind(results: Results) -> list[tuple[str, str]]:
    """The kind of task, as the first thing that was read."""
    kind = FoundKind.recorded(results.manifest.get("kind"))
    return [] if kind is None else [("kind of task", str(kind))]


def _rows(selection: pl.DataFrame, results: Results) -> list[Row]:
    """The model that leads by the first criterion first."""
    counts = {
        criterion: Counter(selection.filter(criterion=criterion)["model"].to_list())
        for criterion in results.criteria
    }
    own = {(c, model): k for c, found in counts.items() for model, k in found.items()}
    return _ordered(own, results, selection["sequence"].n_unique())


def _rows_of_all(results: Results, n: int) -> list[Row]:
    """As if nobody were excluded: a population is then learned from all, so these are its own."""
    shares = pooled(results.table("shares", ALL))
    counts = {(c, m): int(k) for c, m, k in shares.select("criterion", "model", "learners").rows()}
    return _ordered(counts, results, n)


def _ordered(counts: Mapping[tuple[str, str], int], results: Results, n: int) -> list[Row]:
    """A row per model, from how many learners each criterion selects it for."""
    names = dict.fromkeys([*results.names, *(model for _, model in counts)])
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
    order = [
        CLEAR,
        WITHHELD,
        "undecided",
        COIN,
        NONE,
        "the only candidate",
        "the only one possible",
    ]
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
    """A row per criterion, and what to think of it; nothing without the table."""
    frame = results.tables.get("stability")
    if frame is None or "stability" not in frame.columns:
        return [], ""
    rows = [
        (criterion, figures(mean, 2), f"{figures(low, 2)} to {figures(high, 2)}",
         many(under, results.unit), f"{n:,}")
        for criterion, n, mean, low, high, under in results.stabilities()
    ]  # fmt: skip
    doubles = frame["doubles"].max() if "doubles" in frame.columns else None
    of = f" {doubles:,}" if isinstance(doubles, int) else ""
    return rows, (
        f"The share of{of} simulated doubles of each {results.unit} that are given the same "
        "model. It is not the probability that the model is right: doubles follow the selected "
        "model at its estimates, whatever the learner does."
    )
