"""What a careful reader of the data would remark on, each with the option that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from howlearn.core.study import Study
from howlearn.core.text import few
from howlearn.reading.columns import GROUPS, is_feature, is_numbered, like, named_like
from howlearn.reading.guess.coding import describes
from howlearn.reading.guess.column_checks import constant_within
from howlearn.reading.guess.draft import BY_NAME, SAID, Draft, in_expression, typed
from howlearn.reading.guess.reward import remark_mistakes
from howlearn.reading.guess.sample import together

MANY_CONTEXTS = 20
FEW_TRIALS = 20
NAMED = 5  # learners, columns or values that a sentence lists


def remark(draft: Draft, study: Study | None) -> None:
    """Add what is odd about columns, then about the learners of the study."""
    _other_candidates(draft)
    remark_mistakes(draft)
    _twice(draft)
    _constant(draft)
    _reaction_times(draft)
    _groups(draft)
    _more_features(draft)
    _unused_features(draft)
    if study is not None:
        _near_names(draft, study)
        _contexts(draft, study)
        _rewards(draft, study)
        _learners(draft, study)


def _some(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    return few(names, NAMED, " and {left:,} more")


def _other_candidates(draft: Draft) -> None:
    for option in ("learner", "context", "action", "reward", "by"):
        guess = draft.guesses.get(option)
        if guess is None or guess.how == SAID:
            continue
        columns = draft.sample.columns
        others = [c for c in guess.others if c not in columns or len(draft.sample.counts(c)) > 1]
        if others:
            draft.odd(
                f"the {option} could also be {_some(others)}; {guess.typed} was taken",
                f"--{option} {typed(others[0])}",
            )


def _twice(draft: Draft) -> None:
    columns = [draft.sample.codes(name) for name in draft.sample.columns]
    if not named_like("trial", [*draft.sample.columns]) or not draft.sample.height:
        return  # rows without numbers may well be alike
    rows = together(draft.sample.file[draft.sample.rows], *columns)
    doubled = len(rows) - (int(rows.max()) + 1)
    if doubled:
        draft.odd(
            f"{doubled:,} rows occur twice in the data, with the same values in all columns, and "
            f"both "
            "count, as if these choices had been made twice; no option separates them, so remove "
            "the copies from the data"
        )


def _constant(draft: Draft) -> None:
    every = replace(draft.sample, rows=np.ones_like(draft.sample.rows))
    same = [c for c in draft.free if len(every.counts(c)) == 1]
    empty = [c for c in draft.free if not every.counts(c)]
    for names, what in ((same, "one value only"), (empty, "no value in any row")):
        if names and draft.sample.height > 1:
            verb = "has" if len(names) == 1 else "have"
            draft.odd(f"{_some(names)} {verb} {what}")


def _reaction_times(draft: Draft) -> None:
    column = draft.column("rt")
    if column is None:
        return
    times = draft.sample.numbers(column)[draft.chosen]
    withheld = draft.kind is not None and draft.kind.name == "go/no-go"  # takes no time
    times = times[np.isfinite(times) & ~(withheld & (times == 0))]
    if not len(times):
        return
    middle = float(np.quantile(times, 0.5, method="lower"))  # of huge ones no mean can be had
    unit, shortest = ("ms", 100.0) if middle > 20 else ("s", 0.1)
    quick, slow = int((times < shortest).sum()), int((times > 10 * middle).sum())
    negative = int((times < 0).sum())
    if negative:
        draft.odd(f"{negative:,} choices have a negative {column}")
    name = in_expression(column) or column
    if quick or slow:
        draft.odd(
            f"of {len(times):,} choices {quick:,} took less than {shortest:g} {unit} and {slow:,} "
            f"more than ten times the median of {middle:.3g} {unit}",
            f"--where {typed(f'{name} >= {shortest:g}')} leaves the quick ones out",
        )


def find_groups(draft: Draft) -> None:
    """Columns that name groups of learners go into the tables, so that these can be compared."""
    named = [c for c in _same_within_learners(draft) if like(c, GROUPS)]
    if named and draft.sample.whole:  # else a later row may have another value
        why = "the same within each learner, so groups can be compared"
        draft.put("keep", tuple(named), BY_NAME, why)


def _same_within_learners(draft: Draft) -> list[str]:
    """Free columns with few values, one for each learner, that differ between learners."""
    owner = draft.learners()
    learners = int(owner.max(initial=-1)) + 1
    if learners < 4:
        return []
    most = max(2, min(10, learners // 2))
    few = [c for c in draft.free if 2 <= len(draft.sample.counts(c)) <= most]
    return [c for c in few if constant_within(owner, draft.sample.codes(c))]


def _groups(draft: Draft) -> None:
    """How to compare what was kept, or could be."""
    kept, found = draft.columns("keep"), _same_within_learners(draft)
    if kept:
        draft.odd(
            f"{_some(kept)}: the same within each learner, so groups can be compared",
            f"after select: howlearn compare results --group {typed(kept[0])}",
        )
    elif found:
        draft.odd(
            f"{_some(found)}: the same within each learner, so groups can be compared",
            f"--keep {typed(found[0])}, then howlearn compare results --group {typed(found[0])}",
        )


def _more_features(draft: Draft) -> None:
    context = draft.contexts()
    if context is None or draft.task is not None or not draft.open("features"):
        return
    rows = draft.chosen
    found = [c for c in draft.free if not is_feature(c) and describes(draft, c, rows, context)]
    if found:
        draft.odd(
            f"{_some(found)}: the same wherever a context is shown",
            f"--features {','.join(found[:3])} if they describe it; candidates are made of them",
        )


def _unused_features(draft: Draft) -> None:
    """Columns that may describe what is shown, and of which the context knows nothing."""
    context, rows = draft.contexts(), draft.chosen
    owner = draft.learners()[rows]
    place = owner if context is None else together(owner, context[rows])
    found = []
    for column in draft.free:
        if not (is_feature(column) or is_numbered(column)):
            continue
        few = 2 <= len(draft.sample.counts(column)) <= MANY_CONTEXTS
        if few and not constant_within(place, draft.sample.codes(column)[rows]):
            found.append(column)
    if found and draft.task is None:
        all_of = typed(",".join([*draft.columns("context"), *found]))
        draft.odd(
            f"{_some(found)}: changes from trial to trial, and is not used",
            f"--context {all_of} --features {all_of} if they describe what is shown",
        )


def _near_names(draft: Draft, study: Study) -> None:
    for role in ("action", "context", "learner"):
        seen: dict[str, str] = {}
        for label in dict.fromkeys(getattr(study, f"{role}s")):
            near = "".join(label.lower().split())
            if near in seen:
                draft.odd(
                    f"the {role}s {seen[near]} and {label} differ only in case or spaces",
                    f"--recode {role}:{label}={seen[near]} makes them one",
                )
                if role == "learner":  # there may be thousands
                    return
            seen.setdefault(near, label)


def _contexts(draft: Draft, study: Study) -> None:
    n = len(study.contexts)
    if n <= MANY_CONTEXTS:
        return
    sequence = np.repeat(np.arange(len(study)), np.diff(study.starts))
    met = int(together(sequence, study.context).max(initial=-1)) + 1
    each = len(study.context) / max(1, met)
    columns = draft.columns("context")
    numeric = len(columns) == 1 and np.isfinite(draft.sample.numbers(columns[0])).all()
    helps = f"--bin {columns[0]}:4" if numeric else "--context COL, --features COL,COL"
    if each < 2:
        draft.odd(f"there are {n:,} contexts, and most are shown only once", helps)
    elif "reset_by" not in draft.guesses:
        draft.odd(
            f"there are {n:,} contexts, each shown {each:.3g} times by a learner on average",
            helps if numeric else "--context COL,COL or --bin COL:N make fewer",
        )


def _rewards(draft: Draft, study: Study) -> None:
    rewards = study.reward[study.learned]
    if len(rewards) and rewards.min() == rewards.max():
        draft.odd(
            f"the reward is {rewards[0]:g} in every trial, so right and wrong choices look the "
            f"same",
            "--reward COL",
        )


def _learners(draft: Draft, study: Study) -> None:
    trials = np.diff(study.starts)
    if len(trials) > 1:
        few = trials < min(FEW_TRIALS, 0.25 * float(np.median(trials)))
        if few.any():
            names = [study.learners[i] for i in np.flatnonzero(few)]
            draft.odd(
                f"few trials: {_some(names)} (fewer than {int(trials[few].max()) + 1:,}; the "
                f"median is {np.median(trials):g})",
                f"--min-trials {int(trials[few].max()) + 1} leaves them out",
            )
    sequence = np.repeat(np.arange(len(study)), trials)
    times = np.zeros((len(study), len(study.actions)), dtype=np.int64)
    np.add.at(times, (sequence, study.action), 1)
    stuck = (times.max(axis=1) == trials) & (trials > 2)
    if stuck.any():
        names = [study.learners[i] for i in np.flatnonzero(stuck)]
        verb = "chooses" if len(names) == 1 else "choose"
        draft.odd(f"{_some(names)} always {verb} the same", '--exclude "same == 1"')
