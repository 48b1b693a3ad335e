"""What ``select`` found, in small tables and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from howlearn.core.errors import HowlearnError
from howlearn.core.text import Listing, Sentence, few, listed, many
from howlearn.fitting.defaults import ALONE
from howlearn.fitting.fits import STATUSES
from howlearn.reading import exclude
from howlearn.reading.labels import natural_key
from howlearn.results import manifest
from howlearn.selection.learned import DEPENDS
from howlearn.selection.predictions import is_weighted, last_changes
from howlearn.selection.share_tables import pooled
from howlearn.selection.tables import ALL, INCLUDED, OTHER, condition_columns, conditions
from howlearn.selection.unfitted import sentence

if TYPE_CHECKING:
    from howlearn.results.results import Results

MANY_OTHERS = 0.25  # share of learners above which candidates are missing
SHAKY = 0.35  # a share of clear answers that depend on something arbitrary
UNSETTLED = 0.1  # a share: chains that differ by more say little
UNDECIDED = 1 / 3  # a share of learners above which single answers say little
MANY_CLEAR = 5  # clear answers for a model whose share may still be much smaller
MOST_MODELS, MOST_CONDITIONS = 9, 4  # in the printed table
COIN, NONE = "no better than a coin", "probably none of these"


def summary_of(results: Results) -> Iterator[Listing | Sentence]:
    """The answer by the first criterion, how sure it is, what is wrong with it."""
    yield from map(Sentence, (found := SelectedModels(results)).withheld())
    if len(results.names) == 1:
        yield Sentence(f"O{ALONE[1:]}.", strong=f"O{ALONE[1:]}.")
    yield found.listing()
    if "excluded" in results.manifest:
        yield from _excluded(results)
    yield from (Sentence(f"How sure: {text}") for text in found.sure())
    yield from (Sentence(f"Robustness: {text}") for text in found.robust())
    if "population" in results.tables:
        population = results.table("population", INCLUDED)
        yield from _others(population.filter(pl.col("model") == OTHER))
        yield from _rates(results.table("population-rates", INCLUDED))
        yield from _doubts(population)
    yield from _attention(results)
    yield from _fit(results)
    if len(results.unfitted):
        yield Sentence(f"{sentence(results.unfitted)}.")
    yield from _corrected(results)
    yield from _deviations(results)
    if "stability" in results.tables:
        yield from _stability(results)
    if "leaders" in results.tables:
        yield from _weights(results, found)
    if results.folder is not None:
        yield Sentence(f"Tables: {results.folder}/", "next")


@dataclass(frozen=True)
class Selected:
    """A model and the learners whose model it is by the first criterion."""

    model: str
    words: str  # what the model is; empty where it cannot be built again
    count: int
    clear: int  # of these, with a clear verdict
    share: float
    interval: tuple[float, float] | None  # 95%, of its share in the population


def _range(each: Selected) -> str:
    ends = each.interval
    return "" if ends is None else f"{100 * ends[0]:z.0f}–{ends[1]:z.0%}"


@dataclass(frozen=True, eq=False)
class SelectedModels:
    """What the first criterion selects for the learners who are not excluded."""

    results: Results
    condition: str | None = None  # the only one that counts

    @cached_property
    def frame(self) -> pl.DataFrame:
        frame = self.results.numbered.filter(~pl.col("excluded"))
        part = self.condition
        return frame if part is None else frame.filter(conditions(frame) == part)

    @cached_property
    def first(self) -> pl.DataFrame:
        return self.frame.filter(pl.col("criterion") == self.results.criteria[0])

    @cached_property
    def n(self) -> int:
        return len(self.first)

    @property
    def unit(self) -> str:
        return many(self.n, self.results.unit if self.condition is None else "learner")

    @cached_property
    def agreeing(self) -> int:
        """How many learners, whose rows stand together, get the same model by all criteria."""
        models = self.frame["model"].to_numpy().reshape(-1, len(self.results.criteria))
        return int(np.all(models == models[:, :1], axis=1).sum())

    @cached_property
    def conditions(self) -> list[SelectedModels]:
        """What is selected under each condition of the same learners; empty without any."""
        under = conditions(self.first)
        names = [] if under is None else sorted(under.unique(), key=natural_key)
        return [SelectedModels(self.results, name) for name in names]

    @cached_property
    def words(self) -> dict[str, str]:
        """What each candidate is, in a line; empty where they cannot be built again."""
        try:
            return {model.name: model.in_words for model in self.results.models}
        except HowlearnError:
            return {}

    @cached_property
    def models(self) -> list[Selected]:
        """The candidates, the one with most learners first; those whom none explains come last."""
        found, nothing = self.first, (COIN, NONE) if len(self.results.names) > 1 else ()
        unexplained = pl.col("verdict").is_in(nothing)
        named = pl.when(unexplained).then("verdict").otherwise(pl.col("model").cast(pl.String))
        counts = Counter(found.select(named.alias("model"))["model"].to_list())
        clear = Counter(found.filter(pl.col("verdict") == manifest.CLEAR)["model"].to_list())
        words = {**self.words, OTHER: "a partition of the contexts that is not a candidate"}
        models = [
            Selected(
                name,
                words.get(name, ""),
                counts[name],
                clear[name],
                counts[name] / max(self.n, 1),
                self._intervals.get(name),
            )
            for name in dict.fromkeys([*self.results.names, *counts, *nothing])
        ]
        return sorted(models, key=lambda each: (each.model in nothing, -each.count))

    @cached_property
    def _intervals(self) -> dict[str, tuple[float, float]]:
        if "population" not in self.results.tables:
            return {}
        frame = self.results.table("population", INCLUDED)
        part = pl.lit(self.condition, pl.String)
        frame = frame.filter(pl.col("condition").cast(pl.String).eq_missing(part))
        rows = frame.drop_nulls("share").select("model", "lower", "upper").rows()
        return {model: (low, high) for model, low, high in rows}

    def listing(self) -> Listing:
        """The models with their sentences, most learners first; with --by, by condition."""
        results, who = self.results, self.unit
        if results.unit != "learner":
            who += f" ({many(self.first['learner'].n_unique(), 'learner')})"
        title = f"The model that explains each of {who} best, by {results.criteria[0]}"
        if len(results.names) == 1:
            title = f"The model of {who}"
        if out := results.manifest.get("excluded"):
            title += f" ({out:,} more {'is' if out == 1 else 'are'} excluded)"
        if self.conditions:
            return self._by_condition(title)
        shown, legend = [each for each in self.models if each.count][:MOST_MODELS], []
        intervals = any(each.interval for each in shown)
        rows = [
            (each.model, self._count(each), *[_range(each)] * intervals, each.words)
            for each in shown
        ]
        heads = ("model", "learners", *["95%"] * intervals, "what the model does")
        left = self.n - sum(each.count for each in shown)
        names = {*self.results.names}
        never = [each.model for each in self.models if not each.count and each.model in names]
        legend += [f"{left:,} more have other models."] if left else []
        legend += [f"Never selected: {few(never, 5, ' and {left} more')}."] if never else []
        return Listing(title, heads, rows, legend=" ".join(legend))

    def _by_condition(self, title: str) -> Listing:
        """Conditions beside each other, or one below the other where they are many."""
        parts, by = self.conditions, ", ".join(condition_columns(self.first))
        shown = [each for each in self.models if each.count][: MOST_MODELS - 3]
        legend = [f"{each.model}: {each.words}." for each in shown[:2] if each.words]
        if len(parts) <= MOST_CONDITIONS:
            counts = [{each.model: part._count(each) for each in part.models} for part in parts]
            rows = [(each.model, *(count[each.model] for count in counts)) for each in shown]
            rows.append(("(clear answers)", *(part._clear for part in parts)))
            heads = (f"{by}:", *(str(part.condition) for part in parts))
            left = sum(each.count > 0 for each in self.models) - len(shown)
            legend += [f"{many(left, 'more model')}: shares.csv."] if left else []
        else:
            rows = []
            for part in parts[: MOST_MODELS - 1]:
                led = [f"{each.model} {part._count(each)}" for each in part.models[:3]]
                rows.append((str(part.condition), part._clear, ", ".join(led)))
            heads = (by, "clear", "most often selected")
            left = len(parts) - len(rows)
            legend += [f"{many(left, 'more condition')}: shares.csv."] if left else []
        return Listing(title, heads, rows, legend=" ".join(legend))

    @property
    def _clear(self) -> str:
        return f"{self.verdicts()[manifest.CLEAR]:,} of {self.n:,}"

    def _count(self, each: Selected) -> str:
        share = f" ({each.share:z.0%})" if len(self.results.names) > 1 else ""
        return f"{each.count:,}{share}"

    def verdicts(self) -> dict[str, int]:
        """How many learners have each verdict."""
        return Counter(self.first["verdict"].str.replace(r" between .*", "").to_list())

    def sure(self) -> Iterator[str]:
        """For how many the answer is clear, and what it is for the others."""
        counts, within = self.verdicts(), self.results.within
        rival = "another model or " * (len(self.results.names) > 1)
        meaning = {
            manifest.CLEAR: f"clear for {{}} ({within:g} nats or more ahead, a factor of "
            f"{np.exp(within):.2g})",
            manifest.WITHHELD: "clear for {}, but only among candidates that do not fit",
            "the only one possible": "for {} only one model is possible",
            "undecided": f"undecided for {{}} ({rival}a coin is within {within:g} nats)",
            COIN: "no better than a coin for {}",
            NONE: "probably none of the candidates for {}",
            **{word: f"withheld for {{}} (it {word})" for word in DEPENDS if word},
        }
        told: list[str] = []
        for word in filter(counts.get, meaning):
            of = "" if told else f" of {self.unit}"
            told.append(meaning[word].format(f"{counts[word]:,}{of}"))
        yield from [f"{'; '.join(told)}."] if told else []

    def robust(self) -> Iterator[str]:
        """One line on the other criteria."""
        criteria, others = self.results.criteria, self.results.criteria[1:]
        if not others or len(self.results.names) == 1 or not self.n:
            return
        names = [text.partition("(")[0] for text in criteria]
        others = names[1:] if len({*names}) == len(names) else others
        agree = "agrees" if len(others) == 1 else "agree"
        yield f"{listed(others)} {agree} with {names[0]} for {self.agreeing:,} of {self.unit}."

    def advice(self) -> Iterator[str]:
        """What to do with this answer."""
        where = "RESULTS" if self.results.folder is None else self.results.folder
        fit, counts = manifest.fit_of(self.results.manifest), self.verdicts()
        if manifest.fails(fit):
            yield (
                "Add candidates before you interpret this answer: howlearn completeness "
                f"{where} shows what the models miss and which models to add."
            )
        elif counts["undecided"] > UNDECIDED * self.n:
            yield (
                "Many answers are undecided. Report shares rather than single learners, and plan "
                "more trials (howlearn plan) if you need an answer for each."
            )
        else:
            yield "Report the shares with their intervals; the methods section is written below."
        if manifest.COMPLETENESS not in fit and not manifest.fails(fit):
            yield f"howlearn completeness {where} shows how much the candidates miss."

    def withheld(self) -> Iterator[str]:
        """Before any answer: that no candidate fits, or what most answers depend on."""
        yield from manifest.before_answers(manifest.fit_of(self.results.manifest))
        counts = self.verdicts()
        for word in filter(None, DEPENDS):
            n = counts[word]
            if n > SHAKY * (n + counts[manifest.CLEAR]):
                what = {
                    DEPENDS[1]: "if learning rates could be five times as large",
                    DEPENDS[2]: "if the prior of learning rates were half or twice as wide",
                }[word]
                yield (
                    f"The answer {word}: for {n:,} of {self.unit} another model would be selected "
                    f"{what}. Set --max-rate to the largest plausible rate."
                )
                return
        rival = "another model or " * (len(self.results.names) > 1)
        if self.n > 1 and 2 * counts["undecided"] > self.n:
            yield (
                f"The data decide little: for {counts['undecided']:,} of {self.unit} {rival}"
                "a coin explains the choices nearly as well."
            )
        yield from self._hang_together()

    def _hang_together(self) -> Iterator[str]:
        """Clear answers for a model whose share in the population is not known at all."""
        for each in self.models:
            n, ends, share = each.clear, each.interval, each.clear / max(self.n, 1)
            least = share - 2.0 * np.sqrt(share * (1.0 - share) / max(self.n, 1))  # by chance
            if ends is not None and n >= MANY_CLEAR and ends[0] < least / 2:
                yield (
                    f"Careful: the {n:,} clear answers for {each.model} are right or wrong "
                    f"together; its share may be anything from {ends[0]:z.0%} to {ends[1]:z.0%}."
                )
                return


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


def _doubts(frame: pl.DataFrame) -> Iterator[Sentence]:
    """Approximations, and chains that did not agree."""
    rough = frame.filter(pl.col("evidence").str.starts_with("approximate"))
    if names := rough["model"].unique(maintain_order=True).to_list():
        yield Sentence(
            f"the evidence for {', '.join(names)} is an approximation that may be wrong by some "
            "nats (population.csv says why)",
            "note",
        )
    apart = frame["difference_of_chains"].max()
    if isinstance(apart, float) and apart > UNSETTLED:
        yield Sentence(
            f"the two sampling chains differ by {apart:z.0%} in a share: the shares are uncertain",
            "note",
        )


def _others(rows: pl.DataFrame) -> Iterator[Sentence]:
    """How many learners have a partition that is not listed, where they are many."""
    for row in rows.iter_rows(named=True):
        if (row["share_with_other"] or 0.0) > MANY_OTHERS:
            where = f" under {row['condition']}" if row["condition"] is not None else ""
            yield Sentence(
                f"about {row['share_with_other']:z.0%} of the learners{where} (95% interval "
                f"{row['lower_with_other']:z.0%} to {row['upper_with_other']:z.0%}) seem to group "
                "the contexts in a way that is not a candidate; howlearn discover shows how",
                "note",
            )


def _rates(rates: pl.DataFrame) -> Iterator[Sentence]:
    """Learning rates at the largest rate allowed."""
    for row in rates.iter_rows(named=True):
        if row["at_bound"]:
            names = row["models"].split(", ")
            of = row["models"] if len(names) < 3 else f"{names[0]} and {len(names) - 1} more models"
            of += f" ({row['condition']})" if row["condition"] else ""
            yield Sentence(
                f"the learning rates of {of} are at the largest value allowed: these models may "
                "not fit, or --max-rate is too small",
                "note",
            )


def _attention(results: Results) -> Iterator[Sentence]:
    """How the fits ended that need attention."""
    counts: Counter[str] = Counter()
    for word, count in results.statuses.iter_rows():
        counts[word] += count
    if found := [word for word in STATUSES if word not in ("ok", "unseen") and counts[word]]:
        told = listed([f"{counts[word]:,} {word}" for word in found])
        yield Sentence(f"Of {counts.total():,} estimates, {told}.")


def _fit(results: Results) -> Iterator[Sentence]:
    """Whether the candidates are any good, as far as it was checked."""
    fit = manifest.fit_of(results.manifest)
    if told := manifest.fit_sentences(fit):
        yield Sentence(f"Fit: {' '.join(told)}")
    if manifest.fails(fit):
        yield Sentence(
            "howlearn completeness shows what the candidates miss and which models to add", "note"
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
        title = "Shares corrected for confusion (from the calibration), with 95% intervals"
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
    rows = [
        (criterion, f"{mean:.2f}", f"{low:.2f} to {high:.2f}", f"{under:,}")
        for criterion, _, mean, low, high, under in results.stabilities()
    ]
    title = "Stability: share of simulated doubles that are given the same model"
    heads = ("criterion", "mean", "quartiles", "learners below 0.5")
    yield Listing(title, heads, rows, legend="It is not the probability that the model is right.")


def _weights(results: Results, found: SelectedModels) -> Iterator[Sentence]:
    """When the leading strategy changes, of each mixture."""
    frame = results.table("leaders", INCLUDED)
    for model in filter(is_weighted, results.models):
        last = last_changes(frame.filter(pl.col("model") == model.name))
        whom = f"{len(last):,} of {many(found.n, results.unit)}"
        text = f"{model.name}: the leading strategy changes for {whom}"
        if len(last):
            low, middle, high = (last.quantile(q, "linear") for q in (0.25, 0.5, 0.75))
            text += f", for the last time at trial {middle:.0f} (median; "
            text += f"quartiles {low:.0f} and {high:.0f})"
        yield Sentence(f"{text}.")
    if results.folder is not None:
        what = "Weights by trial, mean weights, changes of the leader, charts"
        yield Sentence(f"{what}: {results.folder}/", "next")
