"""What ``mechanisms`` found: tables, and sentences for results and methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from howlearn.analyses.mechanism_space import MOST_PARTS, OPEN
from howlearn.core.arrays import Floats
from howlearn.core.text import Listing, Sentence, listed, many
from howlearn.models.adjustments import BASES, Part
from howlearn.models.mechanism_parts import known_mechanisms
from howlearn.results.analysis import DRAWN, Analysis

NAMES = (*known_mechanisms(), BASES[1])
PEOPLE, TRIALS = 20, 150  # with fewer, only what nearly everybody shows is found


def chart_name(mechanism: str) -> str:
    """Of the file with its chart."""
    return f"mechanism-{mechanism.replace(' ', '-')}"


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Mechanisms(Analysis):
    """Shares of people who show each mechanism, sizes, and how sure one may be.

    ``mechanisms`` has one row per mechanism, ``learners`` one per learner and mechanism,
    ``combinations`` one per combination, ``missing`` one per mechanism that was not listed.
    """

    command = "mechanisms"
    ATTRIBUTES = {"mechanisms-learners": "learners"}  # noqa: RUF012
    CHARTS = ("mechanisms", *map(chart_name, NAMES))
    FILES = ("mechanisms.txt",)

    mechanisms: pl.DataFrame
    learners: pl.DataFrame
    combinations: pl.DataFrame
    missing: pl.DataFrame
    parts: tuple[type[Part], ...]
    smallest: Mapping[str, float]
    absent: Mapping[str, str]
    about: Mapping[str, Any]  # learners, trials, together, bases
    remarks: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()  # what completeness said of a selection
    shares: Floats = field(default_factory=lambda: np.empty((0, 0)))  # [draw, mechanism]
    locations: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __repr__(self) -> str:
        return f"Mechanisms: {' '.join(self.sentences)}"

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        each = learners_by_mechanism(self.learners)
        own = {chart_name(name): frame for name, frame in each.items()}
        return {"mechanisms": self.mechanisms, **own}

    @classmethod
    def outputs(cls) -> set[str]:
        own = [f"{chart_name(name)}.{end}" for name in known_mechanisms() for end in DRAWN]
        return super().outputs() | {*own}

    @property
    def limits(self) -> list[str]:
        """What so many people and trials can show, before the answer."""
        n, trials = self.about["learners"], self.about["trials"]
        people = self.learners["learner"].n_unique()
        told = [f"{many(people, 'learner')} with {trials:.0f} scored trials each (median)."]
        if people < n:
            told = [
                f"{many(people, 'learner')} in {n:,} sequences of {trials:.0f} scored trials "
                "(median). Each sequence counts as a person, so intervals are too narrow; --where "
                "\"condition == 'A'\" takes one condition alone."
            ]
        if n < PEOPLE or trials < TRIALS:
            told.append(
                f"With fewer than {PEOPLE} learners or {TRIALS} trials only mechanisms that nearly "
                "everybody shows can be found; that one was not found, or not seen to be missing, "
                "says little."
            )
        short = [part.name for part in self.parts if trials < part.from_trials]
        if short:
            told.append(
                f"With fewer than {max(p.from_trials for p in self.parts):,} trials "
                f"{listed(short)} can be told of all or of nobody only: shares in between are "
                "uncertain, and nothing is said of single learners."
            )
        names = {part.name for part in self.parts}
        for row in self.missing.filter(~pl.col("alarm")).iter_rows(named=True):
            name, upper = row["mechanism"], row["upper"]
            part = known_mechanisms().get(name)
            alike = [each for each in part.passes_for if each in names] if part else []
            if upper > OPEN and alike:
                told.append(
                    f"{name} is not listed, can pass for {listed(alike)}, and these data do not "
                    f"rule it out (up to {upper:z.0%} of people): if it is plausible here, add "
                    f"--also {name}."
                )
        return told

    @property
    def _cells(self) -> pl.DataFrame:
        """Other ways to take contexts together, of what may be missing."""
        return self.missing.filter(~pl.col("mechanism").is_in([*known_mechanisms()]))

    @property
    def alarms(self) -> list[str]:
        """What is missing from the list, and what is not told for that."""
        found = []
        for row in self._cells.filter("alarm").head(1).iter_rows(named=True):
            return [
                f"{row['share']:z.0%} of people ({row['lower']:z.0%} to {row['upper']:z.0%}) seem "
                f"to learn about other contexts together than is assumed here: "
                f"{row['mechanism']}. So nothing is said of mechanisms. `howlearn select` tells "
                "who takes which contexts together; --cells MODEL takes them together for all."
            ]
        for row in self.missing.filter("alarm").head(3).iter_rows(named=True):
            said = f", so that nothing is said of {row['withholds']}" if row["withholds"] else ""
            found.append(
                f"Something that is not listed seems to be there: {row['mechanism']}, in "
                f"{row['share']:z.0%} of people ({row['lower']:z.0%} to {row['upper']:z.0%}){said}."
                f" Add it: --also {row['mechanism']}."
            )
        if len(found) > 1:
            found.append("One of these may pass for the other: add them together.")
        return found

    def answer(self, row: Mapping[str, Any]) -> str:
        """One mechanism in words."""
        name = row["mechanism"]
        if row["withheld"]:
            return f"{name}: withheld. {row['withheld']}"
        words = {part.name: part.in_words or f"show that {part.title}" for part in self.parts}
        what = words.get(name, "learn as a gradient bandit, not by a delta rule")
        told = (
            f"{row['share']:z.0%} of people (95% interval {row['lower']:z.0%} to "
            f"{row['upper']:z.0%}) {what}"
        )
        if row["beyond"] is not None:
            told += (
                f"; {row['beyond']:z.0%} ({row['beyond_lower']:z.0%} to {row['beyond_upper']:z.0%})"
                f" by {self.smallest[name]:g} or more"
            )
        if row["typical"] is not None and row["lower"] > 0:
            told += f"; typical size {row['typical']:.2g}"
        if row["sign"] is not None and row["lower"] > 0:
            told += f", positive in {row['sign']:z.0%} of those"
        return f"{name}: {told}."

    @property
    def result_sentences(self) -> list[str]:
        """For the results section."""
        return [self.answer(row) for row in self.mechanisms.iter_rows(named=True)]

    @property
    def method_sentences(self) -> list[str]:
        """For the methods section."""
        parts = [part.phrase or part.title for part in self.parts]
        bases = self.about["bases"]
        shares = (
            "one share per combination of parts (Dirichlet prior, 1/16)"
            if self.about["together"]
            else "an independent share per part (prior: nobody 1/4, everybody 1/4, else "
            "Beta(1/2, 1/2))"
        )
        how = (
            "Learners gained and lost parts one at a time (reversible-jump sampling, two chains)."
            if len(self.parts) > MOST_PARTS
            else "Likelihoods were integrated by importance sampling around each learner's optimum "
            "and from the population; shares and sizes were drawn by Gibbs sampling."
        )
        sizes = ", ".join(f"{name} {size:g}" for name, size in self.smallest.items())
        found = [
            f"Learners were described by a {' or a '.join(bases)} with parts that a learner shows "
            f"or not: {listed(parts)}. All combinations competed, with one population distribution "
            f"per parameter, wherever it appears, and {shares}.",
            f"{how} Shares are those of the observed learners, with 95% credible intervals.",
            f"The smallest sizes of interest were: {sizes}.",
        ]
        cells = self._cells["mechanism"].to_list()
        tried = [name for name in self.missing["mechanism"] if name not in cells]
        if tried:
            found.append(
                f"Parts that were not listed ({listed(tried)}) were added one at a time; one "
                "counted as missing if the 95% interval of its share lay above 10%."
            )
        if self.beside:
            found.append(
                "So did one that howlearn completeness pointed to, unless its interval ended below "
                f"{OPEN:z.0%}."
            )
        if cells:
            found.append("Other ways to take contexts together were tested in the same way.")
        return found

    def summary(self) -> Iterator[Listing | Sentence]:
        yield from (Sentence(each) for each in (*self.limits, *self.beside, *self.alarms))
        rows = [
            (
                row["mechanism"],
                *(("withheld", "", "") if row["withheld"] else (
                    _span(row, "share", "lower", "upper"),
                    _span(row, "beyond", "beyond_lower", "beyond_upper"),
                    "" if row["typical"] is None else f"{row['typical']:.2g}",
                )),
                "" if row["sign"] is None else f"{row['sign']:z.0%}",
            )
            for row in self.mechanisms.iter_rows(named=True)
        ]  # fmt: skip
        heads = ("mechanism", "people who show it", "beyond the smallest size of interest",
                 "typical size", "positive")  # fmt: skip
        yield Listing("What do these people do?", heads, rows)
        surest = self.mechanisms.sort("lower", descending=True, nulls_last=True)
        yield from (Sentence(self.answer(r), "detail") for r in surest.iter_rows(named=True))
        for name, why in self.absent.items():
            yield Sentence(f"Not looked for: {name} ({why}).", "detail")

    def texts(self) -> Mapping[str, str]:
        parts = {
            "What can be shown": [*self.limits, *self.beside, *self.alarms],
            "Results": self.result_sentences,
            "Not looked for": [f"{name}: {why}." for name, why in self.absent.items()],
            "Methods": self.method_sentences,
        }
        told = [f"{head}\n\n" + "\n".join(lines) for head, lines in parts.items() if lines]
        return {"mechanisms.txt": "\n\n".join(told) + "\n"}


def learners_by_mechanism(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The learners of every mechanism that something is said of."""
    known = frame.filter(pl.col("probability").is_not_null())
    return {str(name): mine for (name,), mine in known.group_by("mechanism", maintain_order=True)}


def _span(row: Mapping[str, Any], value: str, lower: str, upper: str) -> str:
    if row[value] is None:
        return ""
    return f"{row[value]:z.0%} ({row[lower]:z.0%} to {row[upper]:z.0%})"
