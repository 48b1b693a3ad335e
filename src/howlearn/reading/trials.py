"""From coded columns to trials: what is left out, what is refused, what each row becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.expression import FALSE_WORDS, TRUE_WORDS, Expression
from howlearn.reading.books import Books
from howlearn.reading.labels import Column, code_column, combine
from howlearn.reading.pile import Pile
from howlearn.reading.plan import Plan
from howlearn.reading.problems import Problems
from howlearn.reading.rewards import COMMAS, DECIMAL_COMMA, NO_NUMBER, OUTSIDE, RewardAdvice
from howlearn.reading.rows import Batch, Rows
from howlearn.reading.unmatched import Unmatched

NEITHER = "neither scored nor learned"


class TrialReader:
    """Turns batches into trials; keeps the trials, the code books, the counts, the problems."""

    def __init__(self, plan: Plan, problems: Problems, file_learners: Sequence[str]) -> None:
        self.plan = plan
        self.problems = problems
        self.books = Books(plan, problems)
        self.file_learners = pl.Series(file_learners, dtype=pl.String)
        self.counts: Counter[str] = Counter({"rows read": 0})
        self.counts.update(dict.fromkeys((f"recoded {n}" for n in plan.recode_names.values()), 0))
        self.pile = Pile()
        self.rewards_seen = 0
        self.advice = RewardAdvice()
        self.unmatched = Unmatched(plan)

    def read(self, batch: Batch) -> None:
        """Add the trials of a batch; whatever is wrong with it goes to the problems."""
        columns = self._coded(batch)
        considered = self._considered(columns, batch.frame.height)
        rows = Rows(batch.start, batch.frame.height, columns, np.flatnonzero(considered))
        owners = [
            self._learners(batch, columns),
            *(columns[name] for name in self.plan.options.by),
        ]
        keys = combine(owners)
        sequences = self.books.code_sequences(keys, rows)
        missed = columns[self.plan.roles.action].missing() & considered
        self.counts["missed trials"] += int(missed.sum())
        if missed.any():
            kept = np.flatnonzero(considered & ~missed)
            rows = Rows(batch.start, batch.frame.height, columns, kept)
        self._add_trials(rows, owners, sequences[rows.pick(keys.codes)])

    def _coded(self, batch: Batch) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        for values in batch.frame.get_columns():
            name = values.name
            missing = self.plan.missing | self.plan.missing_in.get(name, frozenset())
            recode = self.plan.recode.get(name, {})
            columns[name], recoded = code_column(values, recode, missing)
            if recode:
                self.counts[f"recoded {self.plan.recode_names[name]}"] += recoded
        self.counts["rows read"] += batch.frame.height
        self.unmatched.see(columns)
        return columns

    def _considered(self, columns: Mapping[str, Column], height: int) -> NDArray[np.bool_]:
        """The rows that are neither blank nor left out by --where."""
        considered = np.ones(height, dtype=np.bool_)
        if all(column.labels.null_count() for column in columns.values()):
            blank = np.logical_and.reduce([column.missing() for column in columns.values()])
            self.counts["blank rows"] += int(blank.sum())
            considered &= ~blank
        if self.plan.where is not None:
            holds = _holds(self.plan.where, columns)
            self.unmatched.see_condition("where", considered & ~holds)
            self.counts["left out by --where"] += int((considered & ~holds).sum())
            considered &= holds
        return considered

    def _learners(self, batch: Batch, columns: Mapping[str, Column]) -> Column:
        if self.plan.roles.learner is not None:
            return columns[self.plan.roles.learner]
        files, rows = (np.array(side) for side in zip(*batch.files, strict=True))
        first = np.concatenate(([0], np.cumsum(rows)[:-1]))
        labels = self.file_learners.gather(files)
        codes = np.repeat(np.arange(len(files), dtype=np.int32), rows)
        return Column("learner", codes, labels, labels, first)

    def _add_trials(self, rows: Rows, owners: list[Column], sequence: NDArray[np.int32]) -> None:
        self._refuse_missing(rows, owners)
        context = self.books.context_column(rows)
        if context is not None and self.plan.recode_context:
            self.unmatched.see({context.name: context})
        reward, rewarded = self._rewards(rows)
        scored, learned = self._flags(rows, rewarded)
        columns = {
            "sequence": sequence,
            "context": self.books.code_contexts(rows, context),
            "action": self.books.code_actions(rows),
            "reward": reward,
            "scored": scored,
            "learned": learned,
            "trial": self._trial_numbers(rows),
            "segment": self.books.code_segments(rows),
        }
        self.books.learn_features(rows, context)
        self.books.learn_kept(rows, owners)
        given = {name: values for name, values in columns.items() if values is not None}
        self.pile.add(rows.numbers(), given)

    def _refuse_missing(self, rows: Rows, columns: Sequence[Column]) -> None:
        for column in columns:
            bad = column.labels.is_null().to_numpy()
            allowed, remedy = "a value in every row with a choice", "--where EXPR leaves rows out"
            rows.refuse(self.problems, column, bad, allowed, remedy)

    def _rewards(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The rewards, and where there is one."""
        column = rows.columns[self.plan.roles.reward]
        low, high = self.plan.reward_range
        values = column.numbers()
        missing = column.labels.is_null().to_numpy()
        unreadable = ~np.isfinite(values) & ~missing
        commas = unreadable & column.labels.str.contains(DECIMAL_COMMA).fill_null(False).to_numpy()
        rows.refuse(self.problems, column, commas, "a number", COMMAS)
        rows.refuse(self.problems, column, unreadable & ~commas, "a number", NO_NUMBER)
        outside = ~missing & ~unreadable & ~((values >= low) & (values <= high))
        rows.refuse(self.problems, column, outside, f"a number from {low:g} to {high:g}", OUTSIDE)
        present = rows.present(column.codes, len(values))
        self.advice.see(column, present & unreadable & ~commas, present & ~missing & ~unreadable)
        codes = rows.pick(column.codes)
        reward = np.where(missing, low, values)[codes]
        rewarded = ~missing[codes]
        self.rewards_seen += int(rewarded.sum())
        return reward, rewarded

    def _flags(
        self, rows: Rows, rewarded: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which trials are scored and which are learned."""
        plan = self.plan
        scored = self._marked(rows, plan.roles.scored, "forced-when")
        learned = self._marked(rows, plan.roles.learned, "test-when")
        teaches = learned & rewarded
        self.counts["forced choices"] += int((~scored & teaches).sum())
        self.counts["test trials"] += int((scored & ~learned).sum())
        self.counts["choices without feedback"] += int((scored & learned & ~rewarded).sum())
        self.counts[NEITHER] += int((~scored & ~teaches).sum())
        return scored, teaches

    def _marked(self, rows: Rows, name: str | None, option: str) -> NDArray[np.bool_]:
        """True, except where a column says false or the option's condition holds."""
        marked = np.ones(len(rows), dtype=np.bool_)
        if name is not None:
            column = rows.columns[name]
            words = column.labels.str.to_lowercase()
            yes = words.is_in(TRUE_WORDS).fill_null(False).to_numpy()
            no = words.is_in(FALSE_WORDS).fill_null(False).to_numpy()
            allowed = "true, false, 1, 0, yes or no"
            rows.refuse(self.problems, column, ~yes & ~no, allowed, f"--recode {name}:OLD=NEW")
            marked &= ~no[rows.pick(column.codes)]
        unless = self.plan.expressions.get(option)
        if unless is not None:
            holds = _holds(unless, rows.columns)
            self.unmatched.see_condition(option, holds)
            marked &= ~rows.pick(holds)
        return marked

    def _trial_numbers(self, rows: Rows) -> NDArray[Any] | None:
        if self.plan.roles.trial is None:
            return None
        column = rows.columns[self.plan.roles.trial]
        numbers = column.numbers()
        bad = ~np.isfinite(numbers) & rows.present(column.codes, len(numbers))
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)  # NaN is no duplicate of NaN
        remedy = "--trial COL, or --trial none to keep the order of the rows"
        rows.refuse(self.problems, column, bad, "a trial number", remedy)
        if np.all((numbers == np.trunc(numbers)) & (np.abs(numbers) < 2**31)):
            numbers = numbers.astype(np.int32)  # half the memory of a large study
        return numbers[rows.pick(column.codes)]


def _holds(expression: Expression, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
    return expression.holds(pl.DataFrame([columns[name].per_row() for name in expression.columns]))
