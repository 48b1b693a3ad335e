"""The last checks, and the Study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.errors import Problem
from howlearn.core.study import SHORTEST, Source, Study
from howlearn.core.text import few, many
from howlearn.models.schedule import answers_of
from howlearn.reading.assembly import Key, sequence_name, sequences_of
from howlearn.reading.books import Book
from howlearn.reading.excluding import exclude
from howlearn.reading.facts import MAYBE_SILENT, Facts
from howlearn.reading.forgone import by_action, check_chosen, misfit
from howlearn.reading.labels import natural_key, typed
from howlearn.reading.plan import Plan
from howlearn.reading.problems import Problems, listed
from howlearn.reading.stores import Store
from howlearn.reading.trials import NEITHER, TrialReader

TOLD = ("recoded", "learners excluded", "sequences excluded")  # even if there are none
NAMED = 5  # learners that a note names


def build_study(facts: Facts, store: Store, reader: TrialReader, problems: Problems) -> Study:
    """The study, or everything that was found wrong on the way here."""
    plan, books = reader.plan, reader.books
    keys, codes = sequences_of(books)
    scored = facts.scored(codes)
    left_out, short = _check_lengths(keys, codes, scored, reader, problems)
    if not len(problems):
        _check_whole(bool(left_out.all()), facts, reader, problems)
    problems.raise_all()
    if left_out.any():
        keys, codes = list(compress(keys, ~left_out)), list(compress(codes, ~left_out))
        scored = scored[~left_out]
    contexts = _final_labels(books.contexts, facts, store, "context")
    actions = _final_labels(books.actions, facts, store, "action")
    if len(actions) < 2:
        _refuse_whole(problems, plan.roles.action, f"one action only ({listed(actions)})")
        problems.raise_all()
    told = _settle_forgone(store, plan, actions, problems)
    excluded, unknown = exclude(codes, reader, facts.known(codes), problems)
    ledger = problems.ledger
    return store.study(
        codes,
        scored,
        learners=tuple(str(key[0]) for key in keys),
        contexts=contexts,
        actions=actions,
        reward_range=plan.reward_range,
        features=_features(reader, contexts),
        about=_about(keys, codes, reader),
        counts={name: n for name, n in reader.counts.items() if n or name.startswith(TOLD)},
        notes=(*_notes(reader), *short, *_silent(facts, store, plan), *unknown),
        roles={**plan.roles.found, **told},
        source=Source(
            tuple(ledger.names), ledger.file_rows(), store.rows, tuple(ledger.first_rows)
        ),
        right_wrong=facts.right_wrong,
        answers=answers_of(plan.task),
        excluded=excluded,
    )


def _settle_forgone(
    store: Store, plan: Plan, actions: tuple[str, ...], problems: Problems
) -> dict[str, str]:
    """Lay out by action what was not earned; and in words which column belongs to which."""
    columns = plan.roles.forgone
    if not columns:
        return {}
    wrong = misfit(columns, actions)
    if wrong is not None:
        _refuse_whole(problems, ", ".join(columns), *wrong)
        problems.raise_all()
    if len(columns) > 1:
        for arrays, rows in store.blocks(["forgone", "action", "reward", "rewarded"]):
            check_chosen(arrays["forgone"], columns, arrays, rows, problems)
        problems.raise_all()

    def laid_out(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return by_action(arrays["forgone"], arrays["action"], len(actions))

    store.put("forgone", ["forgone", "action"], laid_out)
    if len(columns) == 1:
        return {"forgone": f"{columns[0]} (of the other action)"}
    pairs = zip(columns, actions, strict=True)
    return {"forgone": ", ".join(f"{column} (of {action})" for column, action in pairs)}


def _silent(facts: Facts, store: Store, plan: Plan) -> list[str]:
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


def _check_whole(nobody: bool, facts: Facts, reader: TrialReader, problems: Problems) -> None:
    """What can only be said when all rows are known to be right one by one."""
    if nobody:
        left_out = [name for name in reader.counts if "left out" in name]
        found = f"no learner left: {', '.join(left_out) or 'every row is blank'}"
        _refuse_whole(problems, None, found, "at least one learner", "--where EXPR, --min-trials N")
    elif not reader.rewards_seen:
        remedy = "--reward COL"
        _refuse_whole(problems, reader.plan.roles.reward, "no reward in any row", "rewards", remedy)
    elif not facts.teaches:
        found = "nothing that is ever learned: every rewarded trial is a test trial"
        remedy = "--test-when EXPR, --learned COL"
        column = reader.plan.roles.learned
        _refuse_whole(problems, column, found, "at least one trial that teaches", remedy)


def _refuse_whole(
    problems: Problems,
    column: str | None,
    found: str,
    allowed: str = "at least two actions",
    remedy: str = "--action COL, --task TASK",
) -> None:
    names = problems.ledger.names
    file = names[0] if len(names) == 1 else f"{len(names)} files"
    problems.extend([Problem(file, None, column, found, allowed, remedy)])


def _final_labels(book: Book, facts: Facts, store: Store, name: str) -> tuple[str, ...]:
    """The task's labels, or those of the data in natural order; codes follow."""
    labels = list(book.codes)
    if book.closed:
        return tuple(labels)
    used = facts.used(name, len(labels))
    final = sorted((label for label, u in zip(labels, used, strict=True) if u), key=natural_key)
    place = {label: code for code, label in enumerate(final)}
    if final != labels:
        table = np.array([place.get(label, -1) for label in labels], dtype=np.int32)
        store.recode(name, table)
    return tuple(final)


def _features(reader: TrialReader, contexts: tuple[str, ...]) -> Mapping[str, Mapping[str, str]]:
    names = reader.plan.options.features
    if not names:
        return reader.plan.task.features if reader.plan.task is not None else {}
    known = reader.books.features
    return {c: dict(zip(names, map(str, known[c]), strict=True)) for c in contexts if c in known}


def _about(keys: Sequence[Key], codes: Sequence[int], reader: TrialReader) -> pl.DataFrame:
    """The conditions, then the kept columns, of every sequence."""
    by = reader.plan.options.by
    columns = {name: [key[i] for key in keys] for i, name in enumerate(by, start=1)}
    for name, known in reader.books.kept.items():
        columns[name] = [known.get(code) for code in codes]
    return pl.DataFrame([typed(labels).alias(name) for name, labels in columns.items()])


def _notes(reader: TrialReader) -> tuple[str, ...]:
    """What the user should know about the data that were accepted."""
    notes = [*reader.plan.notes, *reader.unmatched.notes(), *reader.advice.notes()]
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
    return tuple(notes)


def _errors_teach_nothing(plan: Plan) -> bool:
    values = plan.recode.get(plan.roles.reward, {})
    return any(old.startswith("-") and new == "0" for old, new in values.items())
