"""From coded columns to trials: what is left out, what is refused, what each row becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.core.text import few, many, quoted
from howlearn.reading.bins import binned
from howlearn.reading.code_books import Books
from howlearn.reading.exclude import Seen
from howlearn.reading.labels import (
    MISSING_TOKENS,
    CodedColumn,
    canonical_series,
    code_column,
    combine,
    natural_key,
)
from howlearn.reading.offers import offers_of
from howlearn.reading.plan import ReadingPlan, Sought
from howlearn.reading.problems import Problems
from howlearn.reading.rewards import OUTSIDE, RewardAdvice, no_number, scaled, worth_of
from howlearn.reading.rows import Batch, LookingBack, Pile, Rows, numbers_of

# Options that match nothing: most often a slip of the pen, so that the user is told.


VALUES_SHOWN = 8  # of a column that an expression names


class Unmatched:
    """Strikes out, batch by batch, what was found; what is left over becomes notes."""

    def __init__(self, plan: ReadingPlan) -> None:
        self.plan = plan
        self.idle = dict(plan.expressions)  # conditions that have made no difference yet
        self.sought = list(plan.sought)
        self.values: dict[str, dict[str, None]] = {
            name: {} for condition in self.idle.values() for name in condition.columns
        }

    def see(self, columns: Mapping[str, CodedColumn]) -> None:
        """Look at the values of some columns."""
        for name in self.values.keys() & columns.keys():
            seen = self.values[name]
            if len(seen) <= VALUES_SHOWN:
                labels = columns[name].labels.drop_nulls().unique(maintain_order=True)
                seen.update(dict.fromkeys(labels.head(2 * VALUES_SHOWN)))
        for name, column in columns.items() if self.sought else ():
            new = set(self.plan.recode.get(name, {}).values())
            wanted = {one.value for one in self.sought if one.concerns(name)} - new
            present = canonical_series(column.shown)
            found = new.union(present.filter(present.is_in(list(wanted)))) if wanted else new
            self.sought = [
                one for one in self.sought if not (one.concerns(name) and one.value in found)
            ]

    def see_condition(self, name: str, differs: NDArray[np.bool_]) -> None:
        """Remember that a condition holds somewhere, or that --where leaves a row out."""
        if name in self.idle and differs.any():
            del self.idle[name]

    def notes(self) -> list[str]:
        """What made no difference."""
        notes = []
        for name, condition in self.idle.items():
            mark = "'" if '"' in condition.text else '"'
            done = "leaves out no row" if name == "where" else "holds in no row"
            values = "; ".join(self._values(column) for column in condition.columns)
            notes.append(f"--{name} {mark}{condition.text}{mark} {done}; {values}")
        return notes + [f"{one.said} {self._why(one)}" for one in self.sought]

    def _why(self, one: Sought) -> str:
        read = {*self.plan.columns, ":".join(self.plan.roles.context)}
        if one.columns and read.isdisjoint(one.columns):
            return f"changes nothing, since no option uses the column {one.columns[0]}"
        return "was found in no row"

    def _values(self, column: str) -> str:
        labels = sorted(self.values[column], key=natural_key)
        if not labels:
            return f"{column} has no values"
        return f"{column} has the value{'s' * (len(labels) > 1)} {few(labels, VALUES_SHOWN)}"


MISSING_WORDS = MISSING_TOKENS - {"", "n/a", "N/A", "NaN", "nan"}  # that may be something else


class Spellings:
    """Learners who are written in several ways, and actions that look like a missing value."""

    def __init__(self, plan: ReadingPlan) -> None:
        self.plan = plan
        self._first: dict[str, str] = {}  # label → how it was written first
        self._others: dict[str, str] = {}  # label → another way
        self._gone: Counter[str] = Counter()  # rows by what their action is called

    def see(self, learner: CodedColumn, action: CodedColumn, rewarded: NDArray[np.bool_]) -> None:
        """Look at the learners of a batch, and at the actions of the rows that have a reward."""
        pairs = zip(learner.labels, learner.shown, strict=True)
        for label, shown in pairs if learner.name not in self.plan.recode else ():
            if label is not None and self._first.setdefault(label, shown) != shown:
                self._others.setdefault(label, shown)
        told = {one.rpartition(":")[2] for one in self.plan.options.missing}
        for code, shown in enumerate(action.shown):
            word = (shown or "").strip()
            if word in MISSING_WORDS and word not in told:
                self._gone[word] += int(np.count_nonzero(rewarded & (action.codes == code)))

    def notes(self) -> list[str]:
        """What the user may not know about names."""
        ways = [f"{shown!r} and {self._first[label]!r}" for label, shown in self._others.items()]
        notes = []
        if ways:
            names = few(ways, VALUES_SHOWN)
            notes.append(f"learners who are written in two ways were taken as one: {names}")
        if +self._gone:
            words = ", ".join(f"{word} ({many(n, 'row')})" for word, n in (+self._gone).items())
            word = next(iter(+self._gone))
            notes.append(
                f"the action {words} was taken as missing, though it has rewards; --recode "
                f"action:{word}=NAME keeps it as an action"
            )
        return notes


NEITHER = "neither scored nor learned"
Misfit = tuple[str, str, NDArray[np.bool_], pl.Series]  # expression, part of it, rows, values


class TrialReader:
    """Turns batches into trials; keeps the trials, the code books, the counts, the problems."""

    def __init__(self, plan: ReadingPlan, problems: Problems, file_learners: Sequence[str]) -> None:
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
        self.spellings = Spellings(plan)
        self.seen = Seen(plan.exclude) if plan.exclude else None  # of every sequence
        self._looking = LookingBack()
        self._conditions: dict[str, NDArray[np.bool_]] = {}  # of the batch, by their options

    def notes(self) -> list[str]:
        """What was found out about options, rewards and names."""
        return [*self.unmatched.notes(), *self.advice.notes(), *self.spellings.notes()]

    def read(self, batch: Batch) -> None:
        """Add the trials of a batch; whatever is wrong with it goes to the problems."""
        columns = self._coded(batch)
        misfits = self._derive(columns, batch)
        self.unmatched.see(columns)
        considered = self._considered(columns, batch.frame.height)
        self._refuse_misfits(misfits, considered, batch.start)
        rows = Rows(batch.start, batch.frame.height, columns, np.flatnonzero(considered))
        owners = [
            self._learners(batch, columns),
            *(columns[name] for name in self.plan.options.by),
        ]
        rewarded = considered & ~columns[self.plan.roles.reward].missing()
        self.spellings.see(owners[0], columns[self.plan.roles.action], rewarded)
        keys = combine(owners)
        sequences = self.books.code_sequences(keys, rows)
        missed = columns[self.plan.roles.action].missing() & considered
        self.counts["missed trials"] += int(missed.sum())
        if self.seen is not None:
            names = self.seen.columns
            labels = pl.DataFrame([columns[name].per_row() for name in names])
            owner = np.where(considered, sequences[keys.codes], -1)
            self.seen.see(labels, owner, missed)
        if missed.any():
            kept = np.flatnonzero(considered & ~missed)
            rows = Rows(batch.start, batch.frame.height, columns, kept)
        self._add_trials(rows, owners, sequences[rows.pick(keys.codes)])

    def _coded(self, batch: Batch) -> dict[str, CodedColumn]:
        columns: dict[str, CodedColumn] = {}
        for values in batch.frame.get_columns():
            name = values.name
            recode = self.plan.recode.get(name, {})
            columns[name], recoded = code_column(values, recode, self.plan.gone(name))
            if recode:
                self.counts[f"recoded {self.plan.recode_names[name]}"] += recoded
        self.counts["rows read"] += batch.frame.height
        return columns

    def _derive(self, columns: dict[str, CodedColumn], batch: Batch) -> list[Misfit]:
        """Add what is computed in the place of columns, and the conditions; true is 1 in a reward.

        Returns where something that is no number stands for one.
        """
        roles, learner, misfits = self.plan.roles, None, []
        # the learner comes first: the others may look back at rows of the same one
        for name in sorted(self.plan.derived, key=lambda name: name != roles.learner):
            derived = self.plan.derived[name]
            if derived.lags and learner is None:
                learner = self._learners(batch, columns)
            labels, before = self._looking.labels(name, derived, columns, learner)
            numbers = (roles.reward, *roles.forgone, *roles.trial, roles.duration, roles.load)
            number = name in numbers
            values = derived.values(labels, ("0", "1") if number else ("no", "yes"))[before:]
            for written, wrong, shown in derived.misfits(labels):
                misfits.append((name, written, wrong[before:], shown[before:]))
            recode = self.plan.recode.get(name, {})
            columns[name], recoded = code_column(values.alias(name), recode, self.plan.gone(name))
            if recode:
                self.counts[f"recoded {self.plan.recode_names[name]}"] += recoded
        for name, condition in self.plan.expressions.items():
            if condition.lags and learner is None:
                learner = self._learners(batch, columns)
            labels, before = self._looking.labels(f"--{name}", condition, columns, learner)
            self._conditions[name] = condition.holds(labels)[before:]
        return misfits

    def _refuse_misfits(
        self, misfits: Sequence[Misfit], considered: NDArray[np.bool_], start: int
    ) -> None:
        for name, written, wrong, shown in misfits:
            rows = np.flatnonzero(wrong & considered)
            if not len(rows):
                continue
            found = shown.gather(rows)
            for value in found.unique(maintain_order=True).head(VALUES_SHOWN):
                mine = rows[(found == value).to_numpy()]
                what = f"{quoted(value)}" + f" as {written}" * (written != name)
                allowed = "numbers where an expression calculates or compares with < or >"
                remedy = (
                    f'--where EXPR leaves rows out, --missing "{written}:{value}" if it means '
                    "none, if(CONDITION, A, B) takes another value"
                )
                self.problems.at(int(mine[0]) + start, name, what, allowed, remedy, len(mine) - 1)

    def _considered(self, columns: Mapping[str, CodedColumn], height: int) -> NDArray[np.bool_]:
        """The rows that are neither blank nor left out by --where."""
        considered = np.ones(height, dtype=np.bool_)
        read = [column for name, column in columns.items() if name not in self.plan.derived]
        if all(column.labels.null_count() for column in read):
            blank = np.logical_and.reduce([column.missing() for column in read])
            self.counts["blank rows"] += int(blank.sum())
            considered &= ~blank
        if self.plan.where is not None:
            wanted = self._conditions["where"]
            self.unmatched.see_condition("where", considered & ~wanted)
            self.counts["left out by --where"] += int((considered & ~wanted).sum())
            considered &= wanted
        nothing = considered & self._no_trial(columns, height)
        self.counts["rows that are not trials"] += int(nothing.sum())
        return considered & ~nothing

    def _no_trial(self, columns: Mapping[str, CodedColumn], height: int) -> NDArray[np.bool_]:
        """Rows in which nothing was shown, chosen or earned: instructions, pauses."""
        roles = self.plan.roles
        names = dict.fromkeys((*roles.context, roles.action, roles.reward))
        if not roles.context or not all(columns[name].labels.null_count() for name in names):
            return np.zeros(height, dtype=np.bool_)
        return np.logical_and.reduce([columns[name].missing() for name in names])

    def _learners(self, batch: Batch, columns: Mapping[str, CodedColumn]) -> CodedColumn:
        if self.plan.roles.learner is not None:
            return columns[self.plan.roles.learner]
        files, rows = (np.array(side) for side in zip(*batch.files, strict=True))
        first = np.concatenate(([0], np.cumsum(rows)[:-1]))
        labels = self.file_learners.gather(files)
        codes = np.repeat(np.arange(len(files), dtype=np.int32), rows)
        return CodedColumn("learner", codes, labels, labels, first)

    def _add_trials(
        self, rows: Rows, owners: list[CodedColumn], sequence: NDArray[np.int32]
    ) -> None:
        self._refuse_missing(rows, owners)
        shown = binned(rows, self.plan, self.problems)
        context = self.books.context_column(shown)
        if context is not None and self.plan.recode_context:
            self.unmatched.see({context.name: context})
        reward, rewarded = self._rewards(rows)
        chosen, offer = self._offers(rows, context)
        scored, learned = self._flags(rows, rewarded, offer)
        columns = {
            "sequence": sequence,
            "context": self.books.code_contexts(shown, context),
            "action": self.books.code_actions(rows, chosen),
            "reward": reward,
            "scored": scored,
            "learned": learned,
            "trial": self._trial_numbers(rows),
            "segment": self.books.code_segments(rows),
            "episode": self.books.code_episodes(rows),
            "forgone": self._forgone(rows),
            "rewarded": rewarded if self._tells_rewarded else None,
            "duration": self._positive(rows, "duration"),
            "offer": offer,
            "load": self._positive(rows, "load", ", how many stimuli the block has"),
        }
        self.books.learn_features(shown, context)
        self.books.learn_kept(rows, owners)
        given = {name: values for name, values in columns.items() if values is not None}
        self.pile.add(rows.numbers(), given)

    @property
    def _tells_rewarded(self) -> bool:
        """Whether it matters later which trials had a reward."""
        asked = any("accuracy" in condition.words for condition in self.plan.exclude)
        return len(self.plan.roles.forgone) > 1 or asked

    def _refuse_missing(self, rows: Rows, columns: Sequence[CodedColumn]) -> None:
        for column in columns:
            bad = column.labels.is_null().to_numpy()
            allowed, remedy = "a value in every row with a choice", "--where EXPR leaves rows out"
            rows.refuse(self.problems, column, bad, allowed, remedy)

    def _rewards(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The rewards, and where there is one."""
        column = rows.columns[self.plan.roles.reward]
        missing = column.labels.is_null().to_numpy()
        values = self._earned(rows, column, "reward")
        codes = rows.pick(column.codes)
        reward = np.where(missing, self.plan.reward_range[0], values)[codes]
        rewarded = ~missing[codes]
        self.rewards_seen += int(rewarded.sum())
        return reward, rewarded

    def _earned(self, rows: Rows, column: CodedColumn, role: str) -> NDArray[np.float64]:
        """The reward of each code, NaN where it has none; others than the study's are refused."""
        scale = self.plan.options.reward_scale
        low, high = scale or self.plan.reward_range
        values, words = numbers_of(rows, column, self.problems, "a number", no_number(role))
        outside = (values < low) | (values > high)
        remedy = OUTSIDE if scale is None else "--reward-scale LO,HI with the ends of all rewards"
        rows.refuse(self.problems, column, outside, f"a number from {low:g} to {high:g}", remedy)
        present = rows.present(column.codes, len(values))
        numbers = present & ~np.isnan(values)
        self.advice.see(role, column, present & words, values[numbers])
        if scale is not None:
            changed = np.count_nonzero(numbers[rows.pick(column.codes)])
            self.counts[f"recoded {role} by --reward-scale {low:g},{high:g}"] += int(changed)
            return scaled(values, scale)
        if words.any():  # taken as 1 and 0 if all the study's are such words, refused otherwise
            worth = worth_of(column.labels)
            known = present & words & ~np.isnan(worth)
            self.advice.words_taken[role] += int(np.count_nonzero(known[rows.pick(column.codes)]))
            return np.where(known, worth, values)
        return values

    def _forgone(self, rows: Rows) -> NDArray[np.float64] | None:
        """What was not earned: one column as the file has them, NaN where it is unknown."""
        columns = [rows.columns[name] for name in self.plan.roles.forgone]
        if not columns:
            return None
        values = (self._earned(rows, c, "forgone")[rows.pick(c.codes)] for c in columns)
        return np.stack(list(values), axis=1)

    def _positive(self, rows: Rows, role: str, what: str = "") -> NDArray[np.float64] | None:
        """A column of numbers greater than 0, which may be missing where it is not said what."""
        for name in self.plan.roles.columns_of(role):
            column = rows.columns[name]
            allowed, remedy = f"a number greater than 0{what}", f"--{role} COL"
            if not what:
                remedy = f"--missing {role}:VALUE for a value that means none, {remedy}"
            values, _ = numbers_of(rows, column, self.problems, allowed, remedy)
            missing = column.labels.is_null().to_numpy() & bool(what)
            rows.refuse(self.problems, column, (values <= 0) | missing, allowed, remedy)
            return values[rows.pick(column.codes)]
        return None

    def _offers(
        self, rows: Rows, context: CodedColumn | None
    ) -> tuple[CodedColumn, NDArray[np.int32] | None]:
        """What was chosen, by its name, and what was on offer, if that is said."""
        action = rows.columns[self.plan.roles.action]
        if self.plan.offers is None:
            return action, None
        offered = offers_of(rows, self.plan.offers, action, context, self.problems)
        return offered.chosen, self.books.code_offers(rows, offered)

    def _flags(
        self, rows: Rows, rewarded: NDArray[np.bool_], offer: NDArray[np.int32] | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which trials are scored and which are learned; one option is no choice."""
        plan = self.plan
        scored = self._marked(rows, plan.roles.scored, "forced-when")
        learned = self._marked(rows, plan.roles.learned, "test-when")
        teaches = learned & rewarded
        self.counts["forced choices"] += int((~scored & teaches).sum())
        if offer is not None:
            alone = np.array([len(actions) == 1 for actions in self.books.offers], np.bool_)
            single = np.append(alone, False)[offer]  # −1: refused already
            self.counts["trials with one action on offer"] += int((scored & single).sum())
            scored &= ~single
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
        applies = self._conditions.get(option)
        if applies is not None:
            self.unmatched.see_condition(option, applies)
            marked &= ~rows.pick(applies)
        return marked

    def _trial_numbers(self, rows: Rows) -> NDArray[Any] | None:
        names = self.plan.roles.trial
        if not names:
            return None
        columns = [self._trial_number(rows, rows.columns[name]) for name in names]
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    def _trial_number(self, rows: Rows, column: CodedColumn) -> NDArray[Any]:
        numbers = column.places()
        bad = ~np.isfinite(numbers) & rows.present(column.codes, len(numbers))
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)  # NaN is no duplicate of NaN
        remedy = "--trial COL, or --trial none to keep the order of the rows"
        rows.refuse(self.problems, column, bad, "a trial number", remedy)
        if np.all((numbers == np.trunc(numbers)) & (np.abs(numbers) < 2**31)):
            numbers = numbers.astype(np.int32)  # half the memory of a large study
        return numbers[rows.pick(column.codes)]
