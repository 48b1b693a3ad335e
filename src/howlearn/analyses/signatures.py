"""Signatures of behaviour: named shares and means that a model should reproduce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from howlearn.analyses.yardstick import ranks_of, runs_of, two_rewards, yardstick
from howlearn.core.arrays import Bools, Floats, Ints
from howlearn.core.errors import HowlearnError
from howlearn.core.expression_grammar import OWNER
from howlearn.core.expressions import derive, parse
from howlearn.core.study import Study
from howlearn.fitting.settings import feature_names
from howlearn.models.task import Task

STRETCHES = 4  # along the trials
CONTEXTS, FEATURES, LEVELS, CONDITIONS = 12, 4, 4, 6  # with a signature each, if no more
GIVEN = " given "
OPTION = "--signature"
WORDS = ("0", "1")  # a condition that does not hold, and one that does


@dataclass(frozen=True)
class OwnSignature:
    """The user's own: the mean of an expression, of the trials for which another one holds.

    >>> OwnSignature.of("action == 'left' given trial > 100").only
    'trial > 100'
    """

    text: str
    value: str
    only: str = ""

    @classmethod
    def of(cls, text: str) -> OwnSignature:
        value, _, only = text.partition(GIVEN)
        if not value.strip():
            raise HowlearnError(f"{OPTION} {text!r}: an expression is missing")
        return cls(text.strip(), value.strip(), only.strip())


@dataclass(frozen=True, eq=False)
class Record:
    """The trials of learners, or of doubles who imitate them; ``original`` says which."""

    study: Study
    original: Ints  # [trial]: in the study that is imitated

    @cached_property
    def run(self) -> Ints:
        return runs_of(self.study)

    @cached_property
    def situation(self) -> Ints:
        """A context between two new starts."""
        return self.run * len(self.study.contexts) + self.study.context

    @cached_property
    def before(self) -> Ints:
        """The trial before, or −1 at a new start."""
        at = np.arange(len(self.run)) - 1
        fresh = np.diff(self.run, prepend=-1) != 0
        return np.where(fresh, -1, at)

    @cached_property
    def last_here(self) -> Ints:
        """The last trial in the same situation, or −1."""
        return _previous(self.situation)

    @cached_property
    def last_so(self) -> Ints:
        """The last trial in the same situation with the same action, or −1."""
        return _previous(self.situation * len(self.study.actions) + self.study.action)

    def able(self, trial: Ints) -> Bools:
        """Whether what was chosen earlier (−1: never) is on offer now, and there is a choice."""
        known = (trial >= 0) & self.study.scored
        if self.study.offered is None:
            return known
        return known & self.study.offered[np.arange(len(trial)), self.study.action[trial]]


def _previous(code: Ints) -> Ints:
    order = np.argsort(code, kind="stable")
    found = np.full(len(code), -1, np.int64)
    same = code[order][1:] == code[order][:-1]
    found[order[1:][same]] = order[:-1][same]
    return found


class Signatures:
    """All that can be asked of a study: ``names``, and values [signature, trial] of any record."""

    def __init__(
        self,
        study: Study,
        task: Task | None = None,
        conditions: Sequence[str] = (),
        own: Sequence[str] = (),
    ) -> None:
        self.study, self.rod = study, yardstick(study, task)
        self.own = [OwnSignature.of(text) for text in own]
        self.conditions = [name for name in conditions if name in study.about.columns]
        paid = study.reward[study.learned & np.isfinite(study.reward)]
        two = two_rewards(study)
        self.middle = sum(two) / 2 if two else float(np.median(paid)) if len(paid) else 0.0
        everybody = Record(study, np.arange(len(study.context)))
        every = {name: means(everybody, value) for name, value in self._all(everybody)}
        self.names = [name for name, found in every.items() if np.isfinite(found).any()]
        self.observed = np.array([every[name] for name in self.names])

    def of(self, record: Record) -> Floats:
        """Means [signature, sequence]; NaN where a sequence has no such trial."""
        known = {name: means(record, value) for name, value in self._all(record)}
        return np.array([known[name] for name in self.names])

    def _all(self, record: Record) -> Iterator[tuple[str, Floats]]:
        """Values of every trial; NaN where it does not count."""
        value = self.rod.of(record.study, record.original)
        yield self.rod.measure, value
        yield from self._along(record, value)
        yield from self._by_context(record, value)
        yield from self._stays(record)
        yield from self._by_feature(record)
        yield from self._by_condition(record, value)
        for each in self.own:
            yield each.text, self._own(record, each)

    def _along(self, record: Record, value: Floats) -> Iterator[tuple[str, Floats]]:
        bins, rod = self.rod.bins[record.original], self.rod
        each = max(1, -(-rod.n_bins // STRETCHES))
        for first in range(0, rod.n_bins, each):
            last = min(first + each, rod.n_bins) - 1
            ends = rod.edges(first)[0], rod.edges(last)[1]
            name = f"{rod.measure}, {rod.along} {ends[0]}–{ends[1]}"
            yield name, np.where((bins >= first) & (bins <= last), value, np.nan)

    def _by_context(self, record: Record, value: Floats) -> Iterator[tuple[str, Floats]]:
        names = self.study.contexts
        if not 1 < len(names) <= CONTEXTS:
            return
        context = self.study.context[record.original]
        for c, name in enumerate(names):
            yield f"{self.rod.measure}, context {name}", np.where(context == c, value, np.nan)

    def _stays(self, record: Record) -> Iterator[tuple[str, Floats]]:
        study, here = record.study, record.last_here
        stay = np.where(record.able(here), study.action == study.action[here], np.nan)
        told = study.learned[here] & np.isfinite(study.reward[here])
        good = study.reward[here] > self.middle
        after_none = np.where(told & ~good, stay, np.nan)
        yield "stays after a reward", np.where(told & good, stay, np.nan)
        yield "stays after none", after_none
        yield from self._repeated_errors(record)
        before = record.before
        changed = np.where(record.able(before), study.action != study.action[before], np.nan)
        yield "switches", changed
        if study.load is not None:
            for load in self.loads:
                mine = self.study.load[record.original] == load  # type: ignore[index]
                yield f"stays after none, load {load:g}", np.where(mine, after_none, np.nan)

    def _repeated_errors(self, record: Record) -> Iterator[tuple[str, Floats]]:
        """Of the errors after another one in the same situation: those made there before."""
        study = record.study
        if len(study.actions) < 3 or not self.rod.percent:
            return
        told = study.learned & np.isfinite(study.reward)
        wrong = told & (study.reward <= self.middle)
        order = np.argsort(record.situation, kind="stable")
        total = np.cumsum(wrong[order]) - wrong[order]
        first = np.flatnonzero(np.diff(record.situation[order], prepend=-1))
        base = total[first[np.searchsorted(first, np.arange(len(order)), side="right") - 1]]
        earlier = np.empty(len(order), np.int64)
        earlier[order] = total - base
        so = record.last_so
        again = (so >= 0) & wrong[so]
        yield "repeated errors", np.where(wrong & study.scored & (earlier > 0), again, np.nan)

    @cached_property
    def loads(self) -> list[float]:
        found = [] if self.study.load is None else np.unique(self.study.load).tolist()
        return found if 1 < len(found) <= CONDITIONS else []

    def _by_feature(self, record: Record) -> Iterator[tuple[str, Floats]]:
        """How often the first action is chosen where a feature has a value."""
        study, names = self.study, feature_names(self.study.contexts, self.study.features)
        if not names or len(names) > FEATURES:
            return
        first = np.where(record.study.scored, record.study.action == 0, np.nan)
        if record.study.offered is not None:
            first = np.where(record.study.offered[:, 0], first, np.nan)
        for name in names:
            words = [study.features[c][name] for c in study.contexts]
            levels = [*dict.fromkeys(words)]
            if not 1 < len(levels) <= LEVELS:
                continue
            for level in levels:
                mine = np.array([word == level for word in words])[study.context[record.original]]
                yield f"{study.actions[0]} where {name} = {level}", np.where(mine, first, np.nan)

    def _by_condition(self, record: Record, value: Floats) -> Iterator[tuple[str, Floats]]:
        length = np.diff(self.study.starts)
        for name in self.conditions:
            words = self.study.about[name].cast(pl.String).fill_null("")
            levels = words.unique(maintain_order=True).to_list()
            if not 1 < len(levels) <= CONDITIONS:
                continue
            word = np.repeat(words.to_numpy(), length)[record.original]
            for level in levels:
                yield (
                    f"{self.rod.measure}, {name} = {level}",
                    np.where(word == level, value, np.nan),
                )
        for load in self.loads:
            mine = self.study.load[record.original] == load  # type: ignore[index]
            yield f"{self.rod.measure}, load {load:g}", np.where(mine, value, np.nan)

    def _own(self, record: Record, asked: OwnSignature) -> Floats:
        """The value of an expression of the columns."""
        rows = self._rows(record)
        shown = [name for name in rows.columns if name != OWNER]
        found = derive(asked.value, OPTION, shown)
        for written, wrong, values in found.misfits(rows):
            raise HowlearnError(
                f"{OPTION} {asked.text!r}: {written} must be a number, and is "
                f"{values.filter(pl.Series(wrong))[0]!r} in a trial"
            )
        text = found.values(rows, WORDS)
        value = text.cast(pl.Float64, strict=False)
        if value.null_count() > text.null_count():
            raise HowlearnError(
                f"{OPTION} {asked.text!r} must be a condition or a number, and is "
                f"{text.filter(value.is_null() & text.is_not_null())[0]!r} in a trial"
            )
        number = value.fill_null(float("nan")).to_numpy()
        counts = record.study.scored
        if asked.only:
            counts = counts & parse(asked.only, OPTION, shown).holds(rows)
        return np.where(counts, number, np.nan)

    def _rows(self, record: Record) -> pl.DataFrame:
        """The trials as a table of texts."""
        study, given = record.study, self.study
        labels = pl.Series(study.actions, dtype=pl.String)
        here = record.last_here
        known = here >= 0
        right = self.rod.right[record.original]
        lengths = np.diff(study.starts)
        sequence = np.repeat(np.arange(len(study)), lengths)
        columns = {
            OWNER: pl.Series(sequence.astype(str)),
            "trial": ranks_of(sequence),
            "context": pl.Series(given.contexts, dtype=pl.String).gather(study.context),
            "action": labels.gather(study.action),
            "reward": pl.Series(study.reward).fill_nan(None),
            "last_action_here": _where(labels.gather(study.action[here]), known),
            "last_reward_here": _where(pl.Series(study.reward[here]).fill_nan(None), known),
            "right": _where(labels.gather(np.maximum(right, 0)), right >= 0),
        }
        if given.load is not None:
            columns["load"] = given.load[record.original]
        for name in feature_names(given.contexts, given.features):
            if name not in columns:
                words = [given.features[c][name] for c in given.contexts]
                columns[name] = pl.Series(words, dtype=pl.String).gather(study.context)
        return pl.DataFrame(columns).with_columns(pl.all().cast(pl.String))


def _where(values: pl.Series, known: Bools) -> pl.Series:
    return values.set(pl.Series(~known), None)


def means(record: Record, value: Floats) -> Floats:
    """Of every sequence; NaN where there is none."""
    starts, there = record.study.starts, np.isfinite(value)
    filled = np.flatnonzero(np.diff(starts))  # reduceat has no empty intervals
    out = np.full(len(starts) - 1, np.nan)
    if len(filled):
        n = np.add.reduceat(there.astype(np.int64), starts[filled])
        total = np.add.reduceat(np.where(there, value, 0.0), starts[filled])
        with np.errstate(invalid="ignore"):
            out[filled] = total / n
    return out
