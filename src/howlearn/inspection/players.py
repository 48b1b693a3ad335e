"""Which columns are the learner, the reward, the action and the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from howlearn.inspection.draft import BY_CONTENT, BY_NAME, FILE_STEM, NONE, Draft, in_expression
from howlearn.inspection.draft import in_quotes as quote
from howlearn.inspection.names import (
    BLOCKS,
    CONDITIONS,
    GROUPS,
    KINDS,
    is_answer,
    is_feature,
    is_time,
    like,
    named_like,
)
from howlearn.inspection.sample import Sample, together
from howlearn.inspection.values import (
    are_words,
    constant_within,
    is_key,
    is_number,
    nothing_in,
    runs_within,
)
from howlearn.reading.roles import plain

MOST_ACTIONS, MOST_NAMED_ACTIONS = 12, 100
LONG_RUN = 10  # rows in a row that a learner has at least, to be found without a name
FOLLOWS = 0.1  # how much likelier a choice is repeated after a success, to be a learned one


def find_learner(draft: Draft) -> None:
    """A column that is the same over many rows, or the files."""
    sample = draft.sample
    files = int(sample.file.max(initial=0)) + 1
    named = named_like("learner", draft.free)
    fit = [c for c in named if _repeats(sample, c)]
    if fit:
        if files > 1 and len(sample.counts(fit[0])) == 1:
            why = f"each file is one learner, since {fit[0]} is the same in all files"
            draft.put("learner", FILE_STEM, BY_CONTENT, why, (fit[0],))
        draft.put("learner", fit[0], BY_NAME, "", tuple(fit[1:]))
    for column in named if "learner" not in draft.guesses else ():
        if sample.counts(column):
            draft.odd(f"{column} is another in nearly every row, so that it is not the learner")
    if "learner" not in draft.guesses and files == 1:
        found = [column for column in draft.free if _is_owner(draft, column)]
        if found:
            why = "it is the same over long stretches, and numbers start anew where it changes"
            draft.put("learner", found[0], BY_CONTENT, why, tuple(found[1:]))
    if "learner" not in draft.guesses:
        one = "no column looks like it: " + (
            "each file is one learner" if files > 1 else "the file is taken as one learner"
        )
        draft.put("learner", FILE_STEM, BY_CONTENT, one)


def _repeats(sample: Sample, column: str) -> bool:
    """Whether a column has values for most rows, and each for several of them."""
    counts = sample.counts(column)
    total = sum(counts.values())
    return bool(counts) and 2 * total > sample.height and (2 * len(counts) <= total or total < 4)


def _is_owner(draft: Draft, column: str) -> bool:
    """Whether a column without a telling name has the learners: other columns start anew there."""
    sample = draft.sample
    if like(column, f"{BLOCKS} {CONDITIONS} {KINDS} {GROUPS}") or is_time(column):
        return False
    if not _repeats(sample, column) or len(sample.counts(column)) < 2:
        return False
    codes = sample.codes(column)
    length, one_run = runs_within(np.zeros(len(codes), np.intp), codes)
    if not one_run or length < LONG_RUN or sample.missing(column).any():
        return False
    change = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return any(_restarts(sample, other, change) for other in draft.free if other != column)


def _restarts(sample: Sample, column: str, change: np.ndarray) -> bool:
    numbers = sample.numbers(column)
    steps = np.diff(numbers)
    inside = np.delete(steps, change - 1)
    return bool(np.all(inside == 1) and np.all(steps[change - 1] < 0))


def find_reward(draft: Draft) -> None:
    """A column of numbers, or of words for right and wrong."""
    if "reward" in draft.guesses:
        return
    _gain_and_loss(draft)
    named = named_like("reward", draft.free)
    fit = [c for c in named if _is_outcome(draft, c)]
    fit.sort(key=lambda c: (len(draft.sample.counts(c)) < 2, -named[c]))
    if fit:
        how = BY_NAME if named[fit[0]] > 1 else BY_CONTENT
        draft.put("reward", fit[0], how, "", tuple(fit[1:]))


def _gain_and_loss(draft: Draft) -> None:
    """Gains and losses in two columns: their sum is what was earned."""
    names = {plain(column): column for column in draft.free}
    gain = names.get("gain") or names.get("win")
    loss = names.get("loss") or names.get("lose")
    if gain is None or loss is None:
        return
    sides = [in_expression(gain), in_expression(loss)]
    numbers = draft.sample.numbers(loss)
    if None in sides or np.isnan(numbers).all() or np.isnan(draft.sample.numbers(gain)).all():
        return
    sign = "+" if np.nanmin(numbers) < 0 or np.nanmax(numbers) <= 0 else "-"
    text = f"{sides[0]} {sign} {sides[1]}"
    draft.put("reward", text, BY_NAME, "gains and losses are in two columns", (gain,))
    if draft.guesses["reward"].value == text:
        materialise(draft, "reward", text)


def materialise(draft: Draft, option: str, text: str) -> None:
    """Compute an expression, so that its values can be looked at like a column's."""
    import polars as pl

    from howlearn.expression import derive

    columns = draft.sample.columns
    derived = derive(text, f"--{option.replace('_', '-')}", [*columns])
    labels = pl.DataFrame([columns[name].per_row().alias(name) for name in derived.columns])
    words = ("0", "1") if option == "reward" else ("no", "yes")
    draft.sample = draft.sample.having(text, derived.values(labels, words))


def _is_outcome(draft: Draft, column: str) -> bool:
    counts = draft.sample.counts(column)
    if not counts or is_time(column):
        return False
    if are_words(counts):
        return True
    if not all(is_number(value) for value in counts if not nothing_in({value: 1, "1": 2, "0": 2})):
        return False
    return not _is_total(draft, column)


def _is_total(draft: Draft, column: str) -> bool:
    """Whether numbers only ever grow within a learner: a sum of what was earned so far."""
    numbers, owner = draft.sample.numbers(column), draft.learners()
    if len(draft.sample.counts(column)) < 6:
        return False
    order = np.argsort(owner, kind="stable")
    steps, same = np.diff(numbers[order]), np.diff(owner[order]) == 0
    steps = steps[same & ~np.isnan(steps)]
    if len(steps) and np.all(steps >= 0):
        draft.odd(f"{column} only ever grows within a learner: a running total, not a reward")
        return True
    return False


def find_action(draft: Draft) -> None:
    """A column with a few values, which learners choose among."""
    draft.answer = next((c for c in draft.free if is_answer(c)), None)
    if "action" in draft.guesses:
        return
    rewarded = _rewarded(draft)
    named = named_like("action", draft.free)
    fit = [c for c in named if _is_choice(draft, rewarded, c, named[c])]
    fit = [c for c in fit if not is_answer(c)] or fit
    if fit:
        best = [c for c in fit if named[c] == 3 or named[fit[0]] < 3]
        first = best[0]
        if named[first] < 3 and len(best) > 1:
            first = max(best, key=lambda c: follows(draft, rewarded, c))
        others = tuple(c for c in fit if c != first)
        why = "its values are chosen again more often after a success" if first != best[0] else ""
        draft.put("action", first, BY_NAME if named[first] > 1 else BY_CONTENT, why, others)
        return
    keys = [c for c in draft.free if _are_keys(draft, rewarded, c)]
    if keys:
        first = max(keys, key=lambda c: follows(draft, rewarded, c))
        others = tuple(c for c in keys if c != first)
        draft.put("action", first, BY_CONTENT, "its values are keys or sides", others)
        return
    _from_right_and_wrong(draft, named)


def _rewarded(draft: Draft) -> Sample:
    """The rows with a reward, if it is known which they are."""
    reward = draft.column("reward")
    if reward is None or draft.sample.columns[reward].missing().all():
        return draft.sample
    return draft.sample.only(~draft.sample.columns[reward].missing())


def _is_choice(draft: Draft, rows: Sample, column: str, strength: int) -> bool:
    counts = rows.counts(column)
    values = [value for value in counts if value not in nothing_in(counts)]
    if len(values) < 2 or 2 * sum(counts.values()) < rows.height:
        return False
    if len(values) > (MOST_NAMED_ACTIONS if strength == 3 else MOST_ACTIONS):
        return False
    reward = draft.column("reward")
    alike = reward is not None and (are_words(values) or {*values} <= {*rows.counts(reward)})
    if reward is not None and alike and column != reward and _same(rows, column, reward):
        draft.odd(
            f"{column} says only whether a choice was right, not which it was",
            "--action COL, or an expression such as --action \"(answer == 'f') == (correct == 1)\"",
        )
        return False
    return not constant_within(draft.learners()[_inside(draft, rows)], rows.codes(column))


def _inside(draft: Draft, rows: Sample) -> np.ndarray:
    """Which of the draft's rows are among these."""
    return rows.rows[draft.sample.rows]


def _same(sample: Sample, one: str, other: str) -> bool:
    """Whether two columns tell the same."""
    pairs = together(sample.codes(one), sample.codes(other))
    sizes = {len(np.unique(sample.codes(name))) for name in (one, other)}
    return sizes == {int(pairs.max(initial=-1)) + 1}


def _are_keys(draft: Draft, rows: Sample, column: str) -> bool:
    counts = rows.counts(column)
    values = [value for value in counts if value not in nothing_in(counts)]
    if not 2 <= len(values) <= 6 or not all(is_key(value) for value in values):
        return False
    if is_answer(column) or is_time(column) or is_feature(column) or like(column, BLOCKS):
        return False
    if all(is_number(value) for value in values) and follows(draft, rows, column) < FOLLOWS:
        return False
    return _is_choice(draft, rows, column, 1)


def follows(draft: Draft, rows: Sample, column: str) -> float:
    """How much likelier a value is repeated after a reward than without: learned choices are."""
    reward = draft.column("reward")
    if reward is None:
        return 0.0
    inside = _inside(draft, rows)
    seen = [c for c in named_like("context", draft.free) if _repeats(rows, c)][:1]
    owner = together(draft.learners()[inside], *(rows.codes(c) for c in seen))
    order = np.argsort(owner, kind="stable")
    worth = _worth(rows, reward)[order]
    same = np.diff(owner[order]) == 0
    stays = (np.diff(rows.codes(column)[order]) == 0)[same]
    good = (worth[:-1] > np.nanmean(worth))[same] if len(worth) else np.empty(0, np.bool_)
    if not good.any() or good.all():
        return 0.0
    return float(stays[good].mean() - stays[~good].mean())


def _worth(rows: Sample, reward: str) -> np.ndarray:
    from howlearn.reading.rewards import worth_of

    numbers = rows.numbers(reward)
    if np.isnan(numbers).all():
        numbers = worth_of(rows.columns[reward].labels)[rows.codes(reward)]
    return np.nan_to_num(numbers)


def _from_right_and_wrong(draft: Draft, named: dict[str, int]) -> None:
    """With two answers, which was right and whether the choice was tell which it was."""
    reward, answer = draft.column("reward"), draft.answer
    if reward is None or answer is None or named:
        return
    answers = list(draft.sample.counts(answer))
    marks = sorted(draft.sample.counts(reward), key=lambda mark: is_number(mark) and float(mark))
    names = in_expression(answer), in_expression(reward)
    if len(answers) != 2 or len(marks) != 2 or None in names:
        return
    good = marks[1] if all(map(is_number, marks)) else _good(marks)
    if good is None:
        return
    text = f"({names[0]} == {quote(answers[0])}) == ({names[1]} == {quote(good)})"
    why = f"computed from the right answer and whether the choice was right: yes is {answers[0]}"
    materialise(draft, "action", text)
    if len(draft.sample.counts(text)) == 2:
        draft.put("action", text, BY_CONTENT, why)


def _good(marks: Sequence[str]) -> str | None:
    from howlearn.reading.rewards import GOOD_WORDS

    return next((mark for mark in marks if mark.lower() in GOOD_WORDS), None)


def find_reward_by_content(draft: Draft) -> None:
    """Without a telling name: whether the choice is the right answer, or what choices follow."""
    action = draft.column("action")
    if "reward" in draft.guesses or action is None:
        return
    answer = draft.answer
    names = in_expression(action), in_expression(answer or "")
    if answer is not None and None not in names:
        shared = {*draft.sample.counts(action)} & {*draft.sample.counts(answer)}
        if len(shared) >= 2:
            text = f"{names[0]} == {names[1]}"
            draft.put("reward", text, BY_CONTENT, "the choice is compared with the right answer")
            materialise(draft, "reward", text)
            return
    likely = [c for c in draft.free if _is_binary(draft, c)]
    score = {}
    for column in likely:
        trial = Draft(draft.sample, draft.given)
        trial.guesses = {**draft.guesses}
        trial.put("reward", column, BY_CONTENT, "")
        score[column] = follows(trial, draft.sample.only(draft.sample.rows), action)
    best = max(score, key=lambda c: score[c], default=None)
    if best is not None and (len(likely) == 1 or score[best] > FOLLOWS):
        others = tuple(c for c in likely if c != best)
        draft.put("reward", best, BY_CONTENT, "it has two values that choices follow", others)


def _is_binary(draft: Draft, column: str) -> bool:
    counts = draft.sample.counts(column)
    if len(counts) != 2 or is_feature(column) or is_answer(column) or is_time(column):
        return False
    if like(column, f"{BLOCKS} {CONDITIONS} {GROUPS} {KINDS}"):
        return False
    return {*counts} in ({"0", "1"}, {"-1", "1"}) or are_words(counts)


def find_context(draft: Draft) -> None:
    """A column that describes the situation and comes back again and again, or none."""
    sample, task = draft.sample, draft.task
    if "context" in draft.guesses or (task is not None and len(task.contexts) == 1):
        return
    if draft.given.features:  # reading takes them for the context
        return
    rows = sample.only(_whole(sample, draft.chosen))
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


def _whole(sample: Sample, part: np.ndarray) -> np.ndarray:
    """A mask over the rows that are looked at as one over all rows."""
    rows = np.zeros(len(sample.rows), dtype=np.bool_)
    rows[np.flatnonzero(sample.rows)[part]] = True
    return rows


def _are_among(rows: Sample, column: str, labels: set[str]) -> bool:
    counts = rows.counts(column)
    return len(counts) > 1 and {*counts} <= labels


def _is_situation(draft: Draft, rows: Sample, column: str) -> bool:
    counts = rows.counts(column)
    if len(counts) < 2 or is_time(column):
        return False
    inside = _inside(draft, rows)
    owner = draft.learners()[inside]
    met = int(together(owner, rows.codes(column)).max(initial=-1)) + 1
    if met * 2 > rows.height and rows.height > 3:
        numeric = all(is_number(value) for value in counts)
        helps = f"--context {column} --bin {column}:4 makes bins of it" if numeric else ""
        draft.odd(f"{column} is another in nearly every trial, so it is not the context", helps)
        return False
    return all(
        other is None or not _same(rows, column, other)
        for other in (draft.column("action"), draft.column("reward"))
    )


def _is_mixed(draft: Draft, rows: Sample, column: str) -> bool:
    length, _ = runs_within(draft.learners()[_inside(draft, rows)], rows.codes(column))
    return length < 3 and len(rows.counts(column)) <= 20 and _is_situation(draft, rows, column)


FINDERS: tuple[Callable[[Draft], None], ...] = (
    find_learner,
    find_reward,
    find_action,
    find_reward_by_content,
)
