"""Which column is the context."""

from __future__ import annotations

from howlearn.inspection.draft import BY_CONTENT, BY_NAME, NONE, Draft
from howlearn.inspection.looking import over_all, rows_among, tell_the_same
from howlearn.inspection.names import CONDITIONS, is_feature, is_numbered, is_time, like, named_like
from howlearn.inspection.pairs import is_chosen, pair_on_screen, put_pair
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
    pair = pair_on_screen(rows, [c for c in draft.free if not is_chosen(c)])
    free = [c for c in named if not (is_feature(c) or is_numbered(c) or is_chosen(c))]
    fit = [c for c in free if c not in (pair or ()) and _is_situation(draft, rows, c)]
    if fit:
        how = BY_NAME if named[fit[0]] > 1 else BY_CONTENT
        draft.put("context", (fit[0],), how, "", (*fit[1:], *(pair or ())))
        return
    if pair is not None:
        put_pair(draft, rows, pair)
        return
    if _put_features(draft, rows):
        return
    mixed = [c for c in draft.free if like(c, f"{CONDITIONS} pair") and _is_mixed(draft, rows, c)]
    if mixed:
        why = "it changes from trial to trial"
        draft.put("context", (mixed[0],), BY_CONTENT, why, tuple(mixed[1:]))
        return
    draft.put("context", (NONE,), BY_CONTENT, "no column looks like it: always the same situation")


def _put_features(draft: Draft, rows: Sample) -> bool:
    """Features whose combination is the context; whether there are any."""
    for sort in (is_feature, is_numbered):
        likely = [c for c in draft.free if sort(c) and len(rows.counts(c)) > 1]
        found = tuple(c for c in likely if _is_situation(draft, rows, c))
        if sort is is_numbered and (len(found) < 2 or not _comes_back(draft, rows, found)):
            continue
        if found:
            draft.put("context", found, BY_NAME, "the features that describe it")
            if len(found) > 1:
                draft.put("features", found, BY_NAME, "")
            return True
    return False


def _comes_back(draft: Draft, rows: Sample, columns: tuple[str, ...]) -> bool:
    """Whether combinations are met more than once by a learner."""
    owner = draft.learners()[rows_among(draft, rows)]
    met = int(together(owner, *(rows.codes(c) for c in columns)).max(initial=-1)) + 1
    return met * 2 <= rows.height


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
