"""Reading: files and data frames become a Study, or one list of everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import compress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import Problem
from howlearn.core.study import DOUBT, SHORTEST, Source, Study
from howlearn.core.text import few, many
from howlearn.reading.bins import with_bins
from howlearn.reading.code_books import Book
from howlearn.reading.facts import MAYBE_SILENT, Facts, exclude
from howlearn.reading.formats.open import open_tables
from howlearn.reading.formats.table import Table
from howlearn.reading.labels import natural_key, typed
from howlearn.reading.offers import settle_offers
from howlearn.reading.options import described, options_named, refused
from howlearn.reading.order import Key, assemble, sequence_name, sequences_of
from howlearn.reading.plan import ReadingPlan, make_plan
from howlearn.reading.problems import Ledger, Problems, listed, refuse_whole
from howlearn.reading.project_file import own_study_file
from howlearn.reading.rewards import by_action, check_chosen, misfit
from howlearn.reading.streaming import (
    NOT_GROUPED,
    InMemory,
    Stream,
    TrialStore,
    is_large,
    read_tables,
)
from howlearn.reading.trials import NEITHER, TrialReader

if TYPE_CHECKING:
    from howlearn.models.task import Task


# The last checks, and the Study.


TOLD = ("recoded", "learners excluded", "sequences excluded")  # even if there are none
NAMED = 5  # learners that a note names


def build_study(facts: Facts, store: TrialStore, reader: TrialReader, problems: Problems) -> Study:
    """The study, or everything that was found wrong on the way here."""
    from howlearn.reading.guess.kinds import with_kind

    plan, books = reader.plan, reader.books
    keys, codes = sequences_of(books)
    scored = facts.scored(codes)
    _check_choices(reader, problems)
    left_out, short = _check_lengths(keys, codes, scored, reader, problems)
    if not len(problems):
        _check_whole(bool(left_out.all()), facts, reader, problems)
    problems.raise_all()
    if left_out.any():
        keys, codes = list(compress(keys, ~left_out)), list(compress(codes, ~left_out))
        scored = scored[~left_out]
    contexts = _final_labels(books.contexts, facts, store, "context")
    sets, used = [*books.offers], facts.used("offer", len(books.offers))
    shown = {a for actions, there in zip(sets, used, strict=True) if there for a in actions}
    actions = _final_labels(books.actions, facts, store, "action", shown)
    if len(actions) < 2:
        refuse_whole(problems, plan.roles.action, f"one action only ({listed(actions)})")
        problems.raise_all()
    offers = settle_offers(store, compress(sets, used), used, list(books.actions.codes), actions)
    told = _settle_forgone(store, plan, actions, offers, problems)
    excluded, unknown = exclude(codes, reader, facts.known(codes), problems)
    ledger = problems.ledger
    study = store.study(
        codes,
        scored,
        learners=tuple(str(key[0]) for key in keys),
        contexts=contexts,
        actions=actions,
        reward_range=plan.reward_range,
        features=books.features_of(contexts),
        about=_about(keys, codes, reader),
        counts={name: n for name, n in reader.counts.items() if n or name.startswith(TOLD)},
        notes=(*_notes(reader), *short, *_silent(facts, store, plan), *unknown),
        roles={**plan.roles.found, **told},
        source=Source(
            tuple(ledger.names), ledger.file_rows(), store.rows, tuple(ledger.first_rows)
        ),
        right_wrong=facts.right_wrong,
        zero=_zero(plan),
        answers=None if plan.task is None else plan.task.answers,
        excluded=excluded,
        offers=offers,
    )
    return with_kind(study, plan)


def _zero(plan: ReadingPlan) -> float:
    """The reward that was recorded as 0, where rewards are stretched or -1 and 1 are recoded.

    >>> from types import SimpleNamespace as Plan
    >>> options = Plan(reward_scale=(-1150, 100))
    >>> _zero(Plan(options=options, recode={}, roles=Plan(reward="reward")))
    0.92
    """
    if plan.options.reward_scale is not None:
        low, high = plan.options.reward_scale
        return -low / (high - low)
    values = plan.recode.get(plan.roles.reward, {})
    return 0.5 if {**values} == {"-1": "0", "1": "1"} else 0.0


def _settle_forgone(
    store: TrialStore,
    plan: ReadingPlan,
    actions: tuple[str, ...],
    offers: NDArray[np.bool_] | None,
    problems: Problems,
) -> dict[str, str]:
    """Lay out by action what was not earned; and in words which column belongs to which."""
    columns = plan.roles.forgone
    if not columns:
        return {}
    most = len(actions) if offers is None else int(offers.sum(axis=1).max())
    wrong = misfit(columns, actions, most)
    if wrong is not None:
        refuse_whole(problems, ", ".join(columns), *wrong)
        problems.raise_all()
    if len(columns) > 1:
        for arrays, rows in store.blocks(["forgone", "action", "reward", "rewarded"]):
            check_chosen(arrays["forgone"], columns, arrays, rows, problems)
        problems.raise_all()

    def laid_out(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        there = None if offers is None else offers[arrays["offer"]]
        return by_action(arrays["forgone"], arrays["action"], len(actions), there)

    also = [] if offers is None else ["offer"]
    store.put("forgone", ["forgone", "action", *also], laid_out)
    if len(columns) == 1:
        return {"forgone": f"{columns[0]} (of the other action)"}
    pairs = zip(columns, actions, strict=True)
    return {"forgone": ", ".join(f"{column} (of {action})" for column, action in pairs)}


def _silent(facts: Facts, store: TrialStore, plan: ReadingPlan) -> list[str]:
    """Columns that were named and hold nothing."""
    return [
        f"--{role} {','.join(plan.roles.columns_of(role))}: no value in any row"
        for role in MAYBE_SILENT
        if role in store and role in facts.silent
    ]


def _check_lengths(
    keys: Sequence[Key],
    codes: Sequence[int],
    scored: NDArray[np.int64],
    reader: TrialReader,
    problems: Problems,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Short sequences that are left out if asked to; those too short for anything get a note.

    They are refused where they are many, since then an option is wrong more often than a learner.
    """
    least = reader.plan.options.min_trials or 0
    left_out = scored < least
    short = np.flatnonzero((scored < SHORTEST) & ~left_out).tolist()
    notes = []
    if 2 * len(short) >= np.count_nonzero(~left_out):
        allowed, remedy = (
            f"at least {SHORTEST} trials with a choice",
            f"--min-trials {SHORTEST} leaves them out",
        )
        for i in short:
            row = reader.books.first_rows[codes[i]]
            found = f"{sequence_name(keys[i])} with {many(int(scored[i]), 'trial')}"
            problems.at(row, reader.plan.roles.learner, found, allowed, remedy)
    elif short:
        names = few([sequence_name(keys[i]) for i in short], NAMED, " and {left:,} more")
        notes.append(
            f"{names}: fewer than {SHORTEST} trials with a choice, so that "
            f"nothing can be fitted; --min-trials {SHORTEST} leaves such learners out"
        )
    if left_out.any() and not len(problems):
        what = "sequences" if reader.plan.options.by else "learners"
        reader.counts[f"{what} left out (fewer than {least} trials)"] += int(left_out.sum())
    return left_out, notes


def _check_choices(reader: TrialReader, problems: Problems) -> None:
    """Refuse data in which there never is more than one action on offer."""
    sets = reader.books.offers
    if not sets or any(len(actions) > 1 for actions in sets):
        return
    problems.raise_all()
    column = ", ".join(reader.plan.roles.offered) or None
    found, allowed = "one action on offer in every row", "at least two actions in some rows"
    remedy = "--offered COL,COL with one column per option, or lists such as a|b"
    refuse_whole(problems, column, found, allowed, remedy)
    problems.raise_all()


def _check_whole(nobody: bool, facts: Facts, reader: TrialReader, problems: Problems) -> None:
    """What can only be said when all rows are known to be right one by one."""
    if nobody:
        left_out = [name for name in reader.counts if "left out" in name]
        found = f"no learner left: {', '.join(left_out) or 'every row is blank'}"
        refuse_whole(problems, None, found, "at least one learner", "--where EXPR, --min-trials N")
    elif not reader.rewards_seen:
        remedy = "--reward COL"
        refuse_whole(problems, reader.plan.roles.reward, "no reward in any row", "rewards", remedy)
    elif not facts.teaches:
        found = "nothing that is ever learned: every rewarded trial is a test trial"
        remedy = "--test-when EXPR, --learned COL"
        column = reader.plan.roles.learned
        refuse_whole(problems, column, found, "at least one trial that teaches", remedy)


def _final_labels(
    book: Book, facts: Facts, store: TrialStore, name: str, besides: Set[int] = frozenset()
) -> tuple[str, ...]:
    """The task's labels, or those of the data in natural order; codes follow.

    Those ``besides`` were on offer, if never chosen.
    """
    labels = list(book.codes)
    if book.closed:
        return tuple(labels)
    used = facts.used(name, len(labels))
    used[[*besides]] = True
    final = sorted((label for label, u in zip(labels, used, strict=True) if u), key=natural_key)
    place = {label: code for code, label in enumerate(final)}
    if final != labels:
        table = np.array([place.get(label, -1) for label in labels], dtype=np.int32)
        store.recode(name, table)
    return tuple(final)


def _about(keys: Sequence[Key], codes: Sequence[int], reader: TrialReader) -> pl.DataFrame:
    """The conditions, then the kept columns, of every sequence."""
    by = reader.plan.options.by
    columns = {name: [key[i] for key in keys] for i, name in enumerate(by, start=1)}
    for name, known in reader.books.kept.items():
        columns[name] = [known.get(code) for code in codes]
    return pl.DataFrame([typed(labels).alias(name) for name, labels in columns.items()])


def _notes(reader: TrialReader) -> tuple[str, ...]:
    """What the user should know about the data that were accepted."""
    doubts = [f"{DOUBT}{doubt}" for doubt in reader.plan.options.doubts]
    notes = [*doubts, *reader.plan.notes, *reader.notes()]
    silent = reader.counts["choices without feedback"]
    if silent:
        notes.append(
            f"{many(silent, 'choice')} without a reward: scored, but nothing is learned from them"
        )
    neither = reader.counts[NEITHER]
    if neither:
        notes.append(
            f"{many(neither, 'forced choice')} that are test trials too or have no reward: "
            f"{NEITHER}"
        )
    if _errors_teach_nothing(reader.plan):
        notes.append(
            "negative rewards were recoded to 0: errors then teach a gain-form rule nothing "
            "(a loss-form rule learns from them)"
        )
    low, high = reader.plan.options.reward_scale or (0, 1)
    if low < 0 < high:
        notes.append(
            f"rewards from {low:g} to {high:g} became 0 to 1, so that 0 became "
            f"{-low / (high - low):.2g}: models that learn from gains take it for a gain, and "
            f"{low:g} as nothing (--reward-range {low:g},{high:g} keeps losses negative)"
        )
    return tuple(notes)


def _errors_teach_nothing(plan: ReadingPlan) -> bool:
    values = plan.recode.get(plan.roles.reward, {})
    return any(old.startswith("-") and new == "0" for old, new in values.items())


def task_of(given: Task | str | PathLike[str] | None) -> Task | None:
    """The task, which may be given by its name or as a file."""
    if isinstance(given, str | PathLike):
        from howlearn.models.task import Task

        return Task.load(Path(given))
    return given


def read(source: Any, task: Task | str | PathLike[str] | None = None, **options: Any) -> Study:
    """Read trials from a file, several files, a folder or a data frame.

    A ``howlearn.toml``, as ``howlearn inspect`` writes it, stands for the files and options in it.
    ``task`` is a Task, the name of a shipped one, or the path of a task's file. The other options
    (messages call them as the command line does: ``reset_by`` is ``--reset-by``); columns that
    are not named are guessed:

    {options}

    An expression may stand where a column is expected: ``action="house_old == chose_old"`` (with
    the values yes and no; as a reward 1 and 0), ``reward="gain + loss"``. A row in which one of its
    columns is missing has no value.

    >>> import polars as pl
    >>> columns = {"Subject": [1, 1], "Item": [3, 4], "Choice": ["A", "B"], "Reward": [0, 1]}
    >>> study = read(pl.DataFrame(columns))
    >>> study.learners, study.contexts, study.actions
    (('1',), ('3', '4'), ('A', 'B'))
    >>> study.roles["learner"]
    'Subject (guessed)'
    """
    if isinstance(source, str | PathLike) and Path(source).suffix.lower() == ".toml":
        file = own_study_file(Path(source), task is None)
        source, options = file.files, {**file.data, **options}
        task = file.models.get("task") if task is None else task
    chosen = options_named(options)
    task = task_of(task)
    tables, unreadable, notes = open_tables(source, chosen)
    if not tables:
        raise Problems(Ledger(), unreadable).error()
    plan, unknown = make_plan(chosen, tables, task, notes, refused(options))
    wrong = (*unreadable, *unknown)
    if plan is None:
        raise Problems(Ledger(), wrong).error()
    plan = with_bins(plan, tables)
    if is_large(tables):
        study = _streamed(tables, plan, wrong)
        if study is not None:
            return study
        plan = replace(plan, notes=(*plan.notes, NOT_GROUPED))
    problems = Problems(Ledger(), wrong)
    reader = read_tables(tables, plan, problems)
    if not reader.books.sequences:  # nothing further can be checked
        problems.raise_all()
    facts, store = Facts(plan), InMemory()
    ordered = assemble(reader.pile, reader.books, problems)
    facts.count(ordered)
    if not len(problems):
        facts.see(ordered)
    store.add(ordered)
    return build_study(facts, store, reader, problems)


read.__doc__ = (read.__doc__ or "").replace("{options}", described())


def _streamed(
    tables: Sequence[Table], plan: ReadingPlan, wrong: Sequence[Problem], level: int = 0
) -> Study | None:
    """The study with its trials on disk; None where the rows of a learner are not together."""
    problems = Problems(Ledger(), wrong)
    stream = Stream(plan, problems, level)
    reader = read_tables(tables, plan, problems, stream.take)
    stream.finish(reader)
    if not stream.grouped:
        return None
    if stream.needed > level:  # trial numbers restart in parts of a sequence: all are read again
        return _streamed(tables, plan, wrong, stream.needed)
    if not reader.books.sequences:  # nothing further can be checked
        problems.raise_all()
    return build_study(stream.facts, stream.store, reader, problems)
