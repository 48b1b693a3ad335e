"""What ``select`` found, in small tables and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.task_kind import FoundKind
from howlearn.core.text import many
from howlearn.fitting.defaults import ALONE
from howlearn.fitting.fits import STATUSES
from howlearn.reading import exclude
from howlearn.reading.labels import natural_key
from howlearn.results.analysis import Listing, Sentence
from howlearn.results.fit_verdicts import (
    ABSOLUTE,
    CHECK,
    CLEAR,
    COMPLETENESS,
    WITHHELD,
    fails,
    fit_of,
)
from howlearn.selection.criteria import criterion_named
from howlearn.selection.criterion import Criterion
from howlearn.selection.learned import DEPENDS
from howlearn.selection.predictions import is_weighted, last_changes
from howlearn.selection.share_tables import pooled
from howlearn.selection.tables import ALL, INCLUDED, OTHER, conditions
from howlearn.selection.unfitted import sentence

if TYPE_CHECKING:
    from howlearn.results.results import Results

MANY_OTHERS = 0.25  # a share of learners from which on candidates are missing
UNSTABLE = 0.5  # a share of doubles
SHAKY = 0.35  # a share of clear answers that depend on something arbitrary
UNSETTLED = 0.1  # a share: chains that differ by more say little


def summary_of(results: Results) -> Iterator[Listing | Sentence]:
    """Shares of each model, agreement, verdicts, and the fits that need attention."""
    found = _Counts(results)
    yield from _kind(results)
    yield from _withheld(found)
    if len(results.names) == 1:
        yield Sentence(f"O{ALONE[1:]}.", strong=f"O{ALONE[1:]}.")
    for panel in found.panels:
        yield panel.listing()
    if "excluded" in results.manifest:
        yield from _excluded(results)
    if len(results.criteria) > 1 and len(results.names) > 1:
        same = f"All criteria select the same model for {found.agreeing:,} of {found.unit}."
        yield Sentence(same, folded=True)
    criteria = [criterion_named(text) for text in results.criteria]
    if results.usual:
        text = f"No --criterion was given, so these were used; {_why(criteria)}:"
        yield Sentence(text, folded=True)
    for criterion in criteria:
        yield Sentence(f"  {criterion!r}: {criterion.title}")
    if "population" in results.tables:
        yield from _population(results)
    yield from _attention(results)
    yield from _fit(results)
    if len(results.unfitted):
        yield Sentence(f"{sentence(results.unfitted)}.")
    if results.folder is not None:
        yield Sentence(f"Tables and manifest: {results.folder}/", "next")
    yield from _corrected(results)
    yield from _deviations(results)
    if "stability" in results.tables:
        yield from _stability(results)
    if "leaders" in results.tables:
        yield from _weights(results, found)


def _kind(results: Results) -> Iterator[Sentence]:
    """What kind of task it is, as far as the trials tell it."""
    kind = FoundKind.recorded(results.manifest.get("kind"))
    if kind is not None:
        yield Sentence(f"Kind of task: {kind}.", folded=True)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Learners by what was selected for them, of those who are not excluded."""

    results: Results
    condition: str | None = None  # the only one that counts

    @cached_property
    def frame(self) -> pl.DataFrame:
        frame = self.results.table("selection", INCLUDED)
        return (
            frame if self.condition is None else frame.filter(conditions(frame) == self.condition)
        )

    @property
    def panels(self) -> list[_Counts]:
        """One for every condition of the same learners; one for all where there are none."""
        under = conditions(self.frame)
        names = [None] if under is None else sorted(under.unique(), key=natural_key)
        return [_Counts(self.results, name) for name in names]

    @cached_property
    def n(self) -> int:
        return len(self.frame) // len(self.results.criteria)

    @property
    def unit(self) -> str:
        whole = self.results.unit == "learner" or self.condition is not None
        return many(self.n, "learner" if whole else "learner × condition sequence")

    @cached_property
    def agreeing(self) -> int:
        """Learners for whom all criteria select the same model."""
        # The rows of a learner stand together.
        models = self.frame["model"].to_numpy().reshape(-1, len(self.results.criteria))
        return int(np.all(models == models[:, :1], axis=1).sum())

    def listing(self) -> Listing:
        """Models and verdicts by criterion."""
        results = self.results
        compared = len(results.names) > 1
        title = f"{'Models selected' if compared else 'Verdicts'} for {self.unit}"
        title += f", {self.condition}" if self.condition is not None else ""
        if out := results.manifest.get("excluded"):
            title += f" ({out:,} more {'is' if out == 1 else 'are'} excluded)"
        verdict = self.frame["verdict"].str.replace(r" between .*", "")
        selected = Counter(zip(self.frame["criterion"], self.frame["model"], strict=True))
        verdicts = Counter(zip(self.frame["criterion"], verdict, strict=True))
        rows = []
        beyond = any(selected[c, OTHER] for c in results.criteria)
        for name in [*results.names, *([OTHER] if beyond else [])]:
            counts = [selected[c, name] for c in results.criteria]
            cells = (f"{count:,}  ({count / self.n:z.0%})" if count else "·" for count in counts)
            if self.condition is None or any(counts):
                rows.append((name, *cells))
        rows = rows if compared or beyond else []
        meaning = {
            "clear": f"clear (ahead by {results.within:g} nats or more)",
            WITHHELD: f"{WITHHELD} (see below)",
            "undecided": f"undecided (others or a coin within {results.within:g})",
            "no better than a coin": "no better than a coin",
            "probably none of these": (
                "probably none of these (over 90%: an unlisted partition of the same rule)"
            ),
            **{word: f"withheld: {word}" for word in DEPENDS if word},
            "the only candidate": "the only candidate",
            "the only one possible": "the only one possible (all others rule a choice out)",
        }
        grey = []
        for word, label in meaning.items():
            counts = [verdicts[c, word] for c in results.criteria]
            if any(counts):
                grey.append((label, *(f"{count:,}" for count in counts)))
        return Listing(title, ("model", *results.criteria), rows, grey)


def _excluded(results: Results) -> Iterator[Listing | Sentence]:
    """Shares without and with the excluded learners, where they differ, and what that changes."""
    both = pooled(results.shares)
    if exclude.differ(both) and len(results.names) > 1:
        shares = {(r["among"], r["criterion"], r["model"]): r["share"] for r in both.to_dicts()}
        rows = []
        for name in dict.fromkeys([*results.names, OTHER]):
            cells = []
            for criterion in results.criteria:
                pair = [shares.get((who, criterion, name), 0.0) for who in (INCLUDED, ALL)]
                cells.append(" / ".join(f"{share:z.0%}" for share in pair) if any(pair) else "·")
            if name != OTHER or any(cell != "·" for cell in cells):
                rows.append((name, *cells))
        yield Listing("Shares without / with the excluded", ("model", *results.criteria), rows)
    n, out = results.manifest["sequences"], results.manifest["excluded"]
    yield Sentence(exclude.sentence(n, out, results.manifest["rows"], both))


def _why(criteria: Sequence[Criterion]) -> str:
    """Why the first of the usual criteria is the first."""
    return f"{criteria[0].name} comes first because {criteria[0].comes_first}"


def _withheld(found: _Counts) -> Iterator[Sentence]:
    """Before any answer: that it depends on a bound or a prior, where it does for many."""
    for word in filter(None, DEPENDS):
        n = int((found.frame["verdict"] == word).sum())
        clear = n + int((found.frame["verdict"] == "clear").sum())
        if n and n > SHAKY * clear:
            what = {
                DEPENDS[1]: "with learning rates up to five times the largest allowed",
                DEPENDS[2]: "with half or twice the width of the prior of learning rates",
            }[word]
            yield Sentence(
                f"The answer {word}: {what}, many learners would be given another model, so no "
                f"verdict is 'clear' for {n:,} of {found.unit}. "
                "Set the largest rate (--max-rate) from what is plausible in your task, or read "
                "the answer as one of several.",
                folded=True,
            )
            return


def _population(results: Results) -> Iterator[Listing | Sentence]:
    """Shares of the models in the population, and what their rates are like."""
    frame = results.table("population", INCLUDED)
    listed = frame.filter((pl.col("model") != OTHER) & pl.col("share").is_not_null())
    conditions = frame["condition"].unique(maintain_order=True).to_list()
    for condition in conditions:
        mine = listed.filter(pl.col("condition").eq_missing(condition))
        rows = [
            (r["model"], f"{r['share']:z.0%}", f"{r['lower']:z.0%} to {r['upper']:z.0%}")
            for r in mine.iter_rows(named=True)
        ]
        where = f", {condition}" if condition else ""
        if rows:
            title = f"Shares of the candidates in the population{where}"
            yield Listing(title, ("model", "share", "95% interval"), rows)
    yield from _others(frame.filter(pl.col("model") == OTHER))
    yield from _rates(results.table("population-rates", INCLUDED))
    yield from _doubts(frame)


def _doubts(frame: pl.DataFrame) -> Iterator[Sentence]:
    """Approximations, and chains that did not agree."""
    rough = frame.filter(pl.col("evidence").str.starts_with("approximate"))
    names = rough["model"].unique(maintain_order=True).to_list()
    if names:
        yield Sentence(
            f"the evidence of {', '.join(names)} is approximate (population.csv says why): it may "
            "be off by some nats against models whose parameters are integrated",
            "note",
        )
    apart = frame["difference_of_chains"].max()
    if isinstance(apart, float) and apart > UNSETTLED:
        yield Sentence(
            f"the two chains differ by {apart:z.0%} in a share: these shares are uncertain",
            "note",
        )


def _others(rows: pl.DataFrame) -> Iterator[Sentence]:
    """How many learners have a partition that is not listed."""
    for row in rows.iter_rows(named=True):
        where = f", {row['condition']}" if row["condition"] is not None else ""
        yield Sentence(
            f"Learners with an unlisted partition of the same rule{where} (p_other in "
            "selection.csv; it says nothing about models of other kinds): "
            f"{row['share_with_other']:z.0%} ({row['lower_with_other']:z.0%} to "
            f"{row['upper_with_other']:z.0%})."
        )
        if row["share_with_other"] > MANY_OTHERS:
            yield Sentence(
                "the shares of the candidates leave these learners out of account; howlearn "
                "discover shows which contexts they treat alike, and --features or a task file "
                "adds candidates",
                "note",
            )
    if rows.is_empty():
        yield Sentence(
            "p_other is empty: it needs one rule with one rate in all partitions, at most 12 "
            "contexts, and up to 20,000 learners (or other=true)."
        )


def _rates(rates: pl.DataFrame) -> Iterator[Sentence]:
    """What the learning rates are like, those at the largest rate allowed first."""
    several = rates["models"].n_unique() > 1
    for row in rates.iter_rows(named=True):
        of = f" of {row['models']}" if several else ""
        of += f" ({row['condition']})" if row["condition"] else ""
        yield Sentence(
            f"Learning rates{of}: median {row['median_rate']:.3g}; the standard deviation of their "
            f"logs is {row['spread_of_learners']:.2g} between learners and "
            f"{row['spread_of_cells']:.2g} between the cells of one."
        )
        if row["at_bound"]:
            yield Sentence(
                f"the learning rates{of} are at the largest allowed: the models may not fit, or "
                "--max-rate is too small",
                "note",
            )


def _attention(results: Results) -> Iterator[Sentence]:
    """How the fits ended that need attention."""
    counts: Counter[str] = Counter()
    for word, count in results.statuses.iter_rows():
        counts[word] += count
    for word, told in STATUSES.items():
        if word != "ok" and counts[word]:
            yield Sentence(
                f"{counts[word]:,} of {counts.total():,} estimates of the selected models are "
                f"{word}: {told}.",
                strong=word,
            )


def _fit(results: Results) -> Iterator[Sentence]:
    """Whether the candidates are any good, as far as it was checked."""
    fit = fit_of(results.manifest)
    for name in (ABSOLUTE, CHECK, COMPLETENESS):
        told = fit.get(name, {}).get("sentence")
        if told:
            yield Sentence(str(told), folded=True)
    if fails(fit):
        yield Sentence(
            f"The candidates do not fit, so that the verdict {CLEAR} is withheld: {WITHHELD}. "
            "howlearn completeness says what they miss, and what to add.",
            "note",
        )


def _corrected(results: Results) -> Iterator[Listing]:
    """Shares with the confusion of the models taken out, where a calibration knows it."""
    frame = results.table("shares", INCLUDED).filter(pl.col("corrected_for") == "confusion")
    if frame.is_empty():
        return
    criteria = frame["criterion"].unique(maintain_order=True).to_list()
    for (condition,), part in frame.group_by(["condition"], maintain_order=True):
        known = {(row["criterion"], row["model"]): row for row in part.to_dicts()}
        rows = []
        for name in results.names:
            cells = []
            for criterion in criteria:
                row = known[criterion, name]
                share, low, high = (row[f"corrected{end}"] for end in ("", "_lower", "_upper"))
                cells.append(f"{share:z.0%}  ({100 * low:z.0f} to {100 * high:z.0f})")
            rows.append((name, *cells))
        title = (
            "Shares of the models, corrected for the calibration's confusion, with 95% intervals"
        )
        title += f", {condition}" if condition is not None else ""
        yield Listing(title, ("model", *criteria), rows)


def _deviations(results: Results) -> Iterator[Listing | Sentence]:
    """Where the run differs from the plan that was frozen before."""
    if results.folder is None or "frozen" not in results.manifest:
        return
    path, found = results.manifest["frozen"]["file"], results.manifest["deviations"]
    if not found:
        yield Sentence(f"Plan {path}: as planned.")
        return
    rows = [(each["what"], each["planned"], each["done"]) for each in found]
    yield Listing(f"Deviations from the plan {path}", ("what", "planned", "done"), rows)


def _stability(results: Results) -> Iterator[Listing | Sentence]:
    """How often doubles of the learners are given the same model."""
    frame, rows = results.tables["stability"], []
    for criterion in results.criteria:
        mine = frame.filter(pl.col("criterion") == criterion)["stability"]
        low, high = (mine.quantile(q, "linear") or 0.0 for q in (0.25, 0.75))
        under = int((mine < UNSTABLE).sum())
        rows.append((criterion, f"{mine.mean():.2f}", f"{low:.2f} to {high:.2f}", f"{under:,}"))
    columns = ("criterion", "mean", "quartiles", "learners under one half")
    yield Listing("Stability: the share of doubles given the same model", columns, rows)
    yield Sentence(
        "Stability is no probability that the model is right: doubles follow the selected model "
        "at its estimates, whatever the learner does."
    )


def _weights(results: Results, found: _Counts) -> Iterator[Sentence]:
    """When the leading strategy changes, of each mixture."""
    frame = results.table("leaders", INCLUDED)
    for model in filter(is_weighted, results.models):
        last = last_changes(frame.filter(pl.col("model") == model.name))
        text = f"{model.name}: the leading strategy changes for {len(last):,} of "
        text += many(found.n, results.unit)
        if len(last):
            low, middle, high = (last.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
            text += f", for the last time at trial {middle:.0f} (median; "
            text += f"quartiles {low:.0f} and {high:.0f})"
        yield Sentence(f"{text}.")
    if results.folder is not None:
        where = f"Weights by trial, their means, changes of the lead, and charts: {results.folder}/"
        yield Sentence(where, "next", folded=True)
