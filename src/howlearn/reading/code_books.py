"""The code books of a study: which learners, contexts and actions there are, and their codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError, Problem
from howlearn.reading.labels import CodedColumn, Combination, combine, split_names
from howlearn.reading.offers import Offered
from howlearn.reading.plan import ReadingPlan
from howlearn.reading.problems import Problems, listed
from howlearn.reading.rows import Rows

MAX_ACTIONS = 2**15 - 1
MAX_OFFERS = 50_000_000  # sets times actions, so that a table of them has room
ONE_CONTEXT = "all"


class Book:
    """Labels and their codes: the task's labels, or those of the data as they appear."""

    def __init__(self, labels: Sequence[str] | None, aliases: Mapping[str, str]) -> None:
        self.codes = {label: code for code, label in enumerate(labels or ())}
        self.closed = labels is not None
        self.aliases = aliases

    def look_up(self, labels: pl.Series, present: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The code of each label that is present, −1 where there is none."""
        table = np.full(len(labels), -1, dtype=np.int32)
        for i, label in enumerate(labels):
            if label is None or not present[i]:
                continue
            name = label if label in self.codes else self.aliases.get(label, label)
            if not self.closed:
                self.codes.setdefault(name, len(self.codes))
            table[i] = self.codes.get(name, -1)
        return table


class Books:
    """Grows with every batch of rows; what does not fit goes to the problems."""

    def __init__(self, plan: ReadingPlan, problems: Problems) -> None:
        task = plan.task
        self.plan = plan
        self.problems = problems
        self.contexts = Book(task and task.contexts, task.context_aliases if task else {})
        self.actions = Book(task and task.actions, task.action_aliases if task else {})
        self.sequences: dict[tuple[str | None, ...], int] = {}
        self.first_rows: list[int] = []  # of each sequence
        self.segments: dict[tuple[str | None, ...], int] = {}
        self.episodes: dict[tuple[str | None, ...], int] = {}
        self.offers: dict[tuple[int, ...], int] = {}  # sets of actions
        self.features: dict[str, tuple[str | None, ...]] = {}
        self.kept: dict[str, dict[int, str]] = {name: {} for name in plan.options.keep}

    def code_sequences(self, keys: Combination, rows: Rows) -> NDArray[np.int32]:
        """The sequence of each combination of learner and conditions in these rows."""
        present = rows.present(keys.codes, len(keys.first))
        table = np.full(len(present), -1, dtype=np.int32)
        for i, key in enumerate(keys.members()):
            if not present[i] or None in key:
                continue
            if key not in self.sequences:
                self.sequences[key] = len(self.sequences)
                self.first_rows.append(rows.start + int(keys.first[i]))
            table[i] = self.sequences[key]
        return table

    def code_segments(self, rows: Rows) -> NDArray[np.int32] | None:
        """The reset key of each row; a missing value is a key like any other."""
        return self._runs(rows, self.plan.options.reset_by, self.segments)

    def code_episodes(self, rows: Rows) -> NDArray[np.int32] | None:
        """The episode of each row; a missing value is an episode like any other."""
        return self._runs(rows, self.plan.roles.columns_of("episode"), self.episodes)

    def _runs(
        self, rows: Rows, names: Sequence[str], book: dict[tuple[str | None, ...], int]
    ) -> NDArray[np.int32] | None:
        if not names:
            return None
        keys = combine([rows.columns[name] for name in names])
        table = np.array(
            [book.setdefault(key, len(book)) for key in keys.members()], dtype=np.int32
        )
        return table[rows.pick(keys.codes)]

    def context_column(self, rows: Rows) -> CodedColumn | None:
        """The context of each row; None when every trial is the same situation."""
        names = self.plan.roles.context
        if len(names) < 2:
            return rows.columns[names[0]] if names else None
        keys = combine([rows.columns[name] for name in names])
        parts = pl.DataFrame([part.alias(str(i)) for i, part in enumerate(keys.parts)])
        joined = parts.select(pl.concat_str(pl.all(), separator=":")).to_series()
        labels = joined.replace(dict(self.plan.recode_context))
        return CodedColumn(":".join(names), keys.codes, labels, joined, keys.first)

    def code_contexts(self, rows: Rows, column: CodedColumn | None) -> NDArray[np.int32]:
        """The context of each row, coded."""
        if column is None:
            return self._one_context(rows)
        remedy = "--recode context:OLD=NEW, --context COL[,COL], --where EXPR leaves rows out"
        return self._coded(rows, column, self.contexts, "context", remedy)

    def code_actions(self, rows: Rows, column: CodedColumn) -> NDArray[np.int16]:
        """The action of each row, coded."""
        remedy = "--recode action:OLD=NEW, --missing action:VALUE for missed trials, --action COL"
        codes = self._coded(rows, column, self.actions, "action", remedy)
        if len(self.actions.codes) > MAX_ACTIONS:
            found = f"more than {MAX_ACTIONS:,} different actions"
            file = self.problems.ledger.locate(rows.start)[0]
            allowed = "a column with the actions"
            self.problems.extend([Problem(file, None, column.name, found, allowed, "--action COL")])
            self.problems.raise_all()
        return codes.astype(np.int16)

    def code_offers(self, rows: Rows, offered: Offered) -> NDArray[np.int32]:
        """The set of actions that was on offer in each row, coded."""
        present = rows.present(offered.codes, len(offered.options))
        here = [i for i in np.flatnonzero(present).tolist() if offered.options[i]]
        named = dict.fromkeys(option for i in here for option in offered.options[i])
        labels = pl.Series([*named], dtype=pl.String)
        known = self.actions.look_up(labels, np.ones(len(labels), np.bool_)).tolist()
        code = dict(zip(labels, known, strict=True))
        table = np.full(len(present), -1, dtype=np.int32)
        strange: list[str | None] = [None] * len(present)
        for i in here:
            key = tuple(sorted({code[label] for label in offered.options[i]}))
            strange[i] = next((label for label in offered.options[i] if code[label] < 0), None)
            table[i] = self.offers.setdefault(key, len(self.offers))
        if len(self.offers) * len(self.actions.codes) > MAX_OFFERS:
            self._refuse_sets(rows)
        shown = pl.Series(strange, dtype=pl.String)
        name = ", ".join(self.plan.roles.offered) or "context"
        column = CodedColumn(name, offered.codes, shown, shown, offered.chosen.first)
        allowed = f"actions of the task on offer: {listed(list(self.actions.codes))}"
        bad = shown.is_not_null().to_numpy()
        rows.refuse(self.problems, column, bad, allowed, "--offered COL[,COL], --offers LABEL=A|B")
        return table[rows.pick(offered.codes)]

    def _refuse_sets(self, rows: Rows) -> None:
        """So many sets of so many actions are no offers, but another column."""
        found = f"{len(self.offers):,} different offers of {len(self.actions.codes):,} actions"
        file, name = self.problems.ledger.locate(rows.start)[0], ", ".join(self.plan.roles.offered)
        allowed, remedy = "columns with the actions on offer", "--offered COL[,COL]"
        self.problems.extend([Problem(file, None, name or None, found, allowed, remedy)])
        self.problems.raise_all()

    def learn_features(self, rows: Rows, context: CodedColumn | None) -> None:
        """Remember each context's features, and refuse a second value."""
        names = self.plan.options.features
        if not names or context is None or self.plan.parts:
            return
        keys = combine([context, *(rows.columns[name] for name in names)])
        present = rows.present(keys.codes, len(keys.first))
        bad = np.zeros(len(present), dtype=np.bool_)
        pairs = keys.members()
        for i, (label, *values) in enumerate(pairs):
            if label is None or not present[i]:
                continue
            known = self.features.setdefault(self.contexts.aliases.get(label, label), (*values,))
            bad[i] = None in values or known != (*values,)
        shown = [
            f"{', '.join(v or 'nothing' for v in key[1:])} for context {key[0]}" for key in pairs
        ]
        column = CodedColumn(
            ", ".join(names), keys.codes, keys.parts[0], pl.Series(shown), keys.first
        )
        allowed = "the same features wherever a context is shown"
        rows.refuse(
            self.problems, column, bad, allowed, "--context COL[,COL], --features COL[,COL]"
        )

    def features_of(self, contexts: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """The features of each context: those of the columns, of its name, or of the task."""
        plan, names = self.plan, self.plan.options.features
        if not names:
            return {} if plan.task is None else plan.task.features
        known: Mapping[str, Sequence[str | None]] = self.features
        if plan.parts:
            parts = split_names(contexts)
            if parts is None or len(parts[0]) != len(names):
                found = "no parts alike" if parts is None else f"{len(parts[0])} parts"
                raise HowlearnError(
                    f"--features {','.join(names)}: there are no such columns, and the names of "
                    f"the contexts ({listed(list(contexts))}) have {found} that could be called so"
                )
            known = dict(zip(contexts, parts, strict=True))
        return {
            c: dict(zip(names, map(str, known[c]), strict=True)) for c in contexts if c in known
        }

    def learn_kept(self, rows: Rows, owners: Sequence[CodedColumn]) -> None:
        """Remember the columns to keep, and refuse a second value within a sequence."""
        for name, known in self.kept.items():
            keys = combine([*owners, rows.columns[name]])
            present = rows.present(keys.codes, len(keys.first))
            bad = np.zeros(len(present), dtype=np.bool_)
            for i, (*owner, value) in enumerate(keys.members()):
                sequence = self.sequences.get(tuple(owner))
                if value is not None and sequence is not None and present[i]:
                    bad[i] = known.setdefault(sequence, value) != value
            column = CodedColumn(name, keys.codes, keys.parts[-1], keys.parts[-1], keys.first)
            allowed = "one value per learner" + " and condition" * bool(self.plan.options.by)
            rows.refuse(self.problems, column, bad, allowed, f"--by {name}, or --keep without it")

    def _one_context(self, rows: Rows) -> NDArray[np.int32]:
        if self.contexts.closed and len(self.contexts.codes) > 1 and len(rows):
            allowed = f"a context of the task: {listed(list(self.contexts.codes))}"
            found = "no context (--context none)"
            self.problems.at(rows.start, None, found, allowed, "--context COL[,COL]")
        if not self.contexts.closed:
            self.contexts.codes[ONE_CONTEXT] = 0
        return np.zeros(len(rows), dtype=np.int32)

    def _coded(
        self, rows: Rows, column: CodedColumn, book: Book, role: str, remedy: str
    ) -> NDArray[np.int32]:
        present = rows.present(column.codes, len(column.labels))
        table = book.look_up(column.labels, present)
        missing = column.labels.is_null().to_numpy()
        allowed = f"a {role} in every row with a choice"
        rows.refuse(
            self.problems, column, present & missing, allowed, "--where EXPR leaves rows out"
        )
        known = listed(list(book.codes))
        unknown = present & ~missing & (table < 0)
        article = "an" if role == "action" else "a"
        allowed = f"{article} {role} of the task: {known}"
        rows.refuse(self.problems, column, unknown, allowed, remedy)
        return table[rows.pick(column.codes)]
