"""Which column is the context."""

from __future__ import annotations

from howlearn.inspection.draft import BY_CONTENT, BY_NAME, NONE, Draft
from howlearn.inspection.looking import over_all, rows_among, tell_the_same
from howlearn.inspection.names import CONDITIONS, is_feature, is_time, like, named_like
from howlearn.inspection.sample import Sample, together
from howlearn.inspection.values import is_number, runs_within


def find_context(draft: Draft) -> None:
    """A column that describes the situation and comes back again and again, or none."""
    sample, task = draft.sample, draft.task
    if "context" in draft.guesses or (task is not None and len(task.contexts) == 1):
        return
    if draft.given.features:  # reading takes them for the context
        return
    rows = sample.only(over_all(sample, draft.chosen))
    if task is not None:
        labels = {*task.contexts, *task.context_aliases}
        matching = [c for c in draft.free if _are_among(rows, c, labels)]
        if matching:
            why = f"its values are the contexts of the task {task.name}"
            draft.put("context", (matching[0],), BY_CONTENT, why, tuple(matching[1:]))
            return
    named = named_like("context", draft.free)
    fit = [c for c in named if _is_situation(draft, rows, c)]
    if fit:
        how = BY_NAME if named[fit[0]] > 1 else BY_CONTENT
        draft.put("context", (fit[0],), how, "", tuple(fit[1:]))
        return
    described = tuple(c for c in draft.free if is_feature(c) and _is_situation(draft, rows, c))
    if described:
        draft.put("context", described, BY_NAME, "the features that describe it")
        draft.put("features", described, BY_NAME, "")
        return
    mixed = [c for c in draft.free if like(c, f"{CONDITIONS} pair") and _is_mixed(draft, rows, c)]
    if mixed:
        why = "it changes from trial to trial"
        draft.put("context", (mixed[0],), BY_CONTENT, why, tuple(mixed[1:]))
        return
    draft.put("context", (NONE,), BY_CONTENT, "no column looks like it: always the same situation")


def _are_among(rows: Sample, column: str, labels: set[str]) -> bool:
    counts = rows.counts(column)
    return len(counts) > 1 and {*counts} <= labels


def _is_situation(draft: Draft, rows: Sample, column: str) -> bool:
    counts = rows.counts(column)
    if len(counts) < 2 or is_time(column):
        return False
    inside = rows_among(draft, rows)
    owner = draft.learners()[inside]
    met = int(together(owner, rows.codes(column)).max(initial=-1)) + 1
    if met * 2 > rows.height and rows.height > 3:
        numeric = all(is_number(value) for value in counts)
        helps = f"--context {column} --bin {column}:4 makes bins of it" if numeric else ""
        draft.odd(f"{column} is another in nearly every trial, so it is not the context", helps)
        return False
    return all(
        other is None or not tell_the_same(rows, column, other)
        for other in (draft.column("action"), draft.column("reward"))
    )


def _is_mixed(draft: Draft, rows: Sample, column: str) -> bool:
    length, _ = runs_within(draft.learners()[rows_among(draft, rows)], rows.codes(column))
    return length < 3 and len(rows.counts(column)) <= 20 and _is_situation(draft, rows, column)
