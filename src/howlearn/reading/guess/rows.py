"""Which rows are trials of the task, and in which order they were made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.core.expressions import parse
from howlearn.core.options import NONE
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    KINDS,
    is_loop,
    is_time,
    like,
    named_like,
    plain,
)
from howlearn.reading.guess.behaviour import FEWEST, NEARLY
from howlearn.reading.guess.column_checks import (
    PRACTICE,
    TESTING,
    TRAINING,
    is_number,
    nothing_in,
    runs_within,
    unique_within,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    Answer,
    Draft,
    Guess,
    in_expression,
    is_among,
)
from howlearn.reading.guess.sample import Mask, Sample, together

MOST_KINDS = 30
Codes = NDArray[np.intp]
CHOSE = "chose chosen choice response resp key keypress"
FEW_GAPS = 0.2  # of the rows; more would be another mistake

FEWEST_TRIALS = 10  # with an outcome, in a log of which most rows have none


def leave_practice_out(draft: Draft) -> None:
    """Rows that a column calls practice or the like."""
    if not draft.open("where"):
        return
    for column in _kind_columns(draft):
        name, counts = in_expression(column), draft.sample.counts(column)
        if name is None or not 2 <= len(counts) <= MOST_KINDS:
            continue
        text = _practice(name, column, list(counts))
        if text is not None:
            leave_out(draft, text, BY_NAME, f"{column} says that the other rows are practice")


def leave_silent_screens_out(draft: Draft) -> None:
    """Screens between the trials of a log, where most rows have no outcome, or no choice."""
    if draft.given.where is not None:
        return
    rewards = draft.columns("reward") or _strong(draft, "reward", 1)
    actions = draft.columns("action") or [*named_like("action", draft.free)]
    sure = [c for c in actions if c in _strong(draft, "action", 2)]
    ways = ((rewards, actions, "have no outcome"), (sure, rewards, "have no choice"))
    for columns, others, why in ways:
        for column in columns:
            silent = draft.sample.missing(column)
            if 2 * silent.sum() <= len(silent) or (~silent).sum() < FEWEST_TRIALS:
                continue
            beside = [c for c in others if not draft.sample.missing(c)[~silent].all()]
            if beside and _leave_kinds_out(draft, silent, why):
                return


def _strong(draft: Draft, role: str, least: int) -> list[str]:
    """The free columns whose names speak clearly for a role."""
    return [c for c, strength in named_like(role, draft.free).items() if strength > least]


def _leave_kinds_out(draft: Draft, alien: Mask, why: str) -> bool:
    """Whether a column tells these rows apart by their kind; then they are left out."""
    kinds = {c: _kinds(draft, c, alien) for c in _kind_columns(draft)}
    texts = {column: text for column, text in kinds.items() if text is not None}
    if texts:
        column = max(texts, key=lambda c: _left_out(draft, texts[c], alien))
        leave_out(draft, texts[column], BY_CONTENT, f"rows of other kinds in {column} {why}")
    return bool(texts)


def _kind_columns(draft: Draft) -> list[str]:
    """The columns that may say what kind of row each is."""
    likely = [c for c in draft.free if like(c, KINDS)]
    return [c for c in likely if not (is_loop(c) or is_time(c) or named_like("action", [c]))]


def _practice(name: str, column: str, values: list[str]) -> str | None:
    """The condition that keeps what is no practice; None if nothing looks like it."""
    lower = {value: value.lower() for value in values}
    if PRACTICE.fullmatch(plain(column).removeprefix("is")) and {*lower.values()} <= {
        *TRUE_WORDS,
        *FALSE_WORDS,
    }:
        return f"not {name}"
    out = [v for v in values if not is_number(v) and PRACTICE.fullmatch(lower[v])]
    rest = [v for v in values if v not in out]
    if not any(TESTING.fullmatch(lower[v]) for v in rest):  # else it is what was learned from
        training = [v for v in rest if TRAINING.fullmatch(lower[v])]
        out += training if len(training) < len(rest) else []
    if not out or len(out) == len(values):
        return None
    return is_among(name, out, "not ")


def leave_other_screens_out(draft: Draft) -> None:
    """Rows of other kinds, which have no outcome and no choice among the actions."""
    action, reward = draft.column("action"), draft.column("reward")
    if action is None or reward is None or (draft.given.where is not None):
        return
    sample = draft.sample
    silent = sample.missing(reward)
    chosen = ~sample.without(action, nothing_in(sample.counts(action))).missing(action)
    actions = np.unique(sample.codes(action)[chosen & ~silent])
    alien = silent & ~(chosen & np.isin(sample.codes(action), actions))
    columns = _kind_columns(draft)
    for column in columns:
        alien |= _with_one_answer(sample, column, action)
        alien |= _said_again(draft, column, (action, reward))
    if not alien.any() or alien.all():
        return
    if _leave_kinds_out(draft, alien, "have no choice with an outcome"):
        return
    name = in_expression(reward)
    if name is not None and (alien & chosen & silent).any():
        why = f"rows without {reward} have other values in {action} than choices"
        leave_out(draft, f"{name} != missing", BY_CONTENT, why)


def _with_one_answer(sample: Sample, column: str, action: str) -> Mask:
    """Rows of kinds with one answer only, which no other kind has: screens that were left."""
    kind, answer, told = sample.codes(column), sample.codes(action), ~sample.missing(action)
    pairs = np.unique(np.stack((kind[told], answer[told])), axis=1)
    kinds, answers = (np.bincount(each)[each] for each in pairs)
    alone = (kinds == 1) & (answers == 1) & (kinds.max(initial=0) > 1)
    return told & np.isin(kind, pairs[0][alone])


def _said_again(draft: Draft, column: str, names: Sequence[str]) -> Mask:
    """Rows of kinds that always say what the row before of another kind has said: feedback."""
    sample, kind = draft.sample, draft.sample.codes(column)
    told = together(draft.learners(), *(sample.codes(name) for name in names))
    again = np.zeros(len(kind), dtype=np.bool_)
    again[1:] = (told[1:] == told[:-1]) & (kind[1:] != kind[:-1])
    times = np.bincount(kind)
    always = np.bincount(kind, weights=again) >= NEARLY * times
    return (always & (times >= FEWEST))[kind]


def _kinds(draft: Draft, column: str, alien: Mask) -> str | None:
    """A condition that keeps the kinds with choices; None if a kind has both sorts of rows."""
    name = in_expression(column)
    codes, labels = draft.sample.codes(column), draft.sample.columns[column].labels
    kept, left = [], 0
    for code in np.unique(codes):
        share = float(alien[codes == code].mean())
        if share == 1 or labels[int(code)] is None:
            left += 1
        elif share > 0.5:
            return None
        else:
            kept.append(str(labels[int(code)]))
    if name is None or not left or not kept or len(kept) > MOST_KINDS:
        return None
    return is_among(name, kept)


def leave_other_loops_out(draft: Draft) -> None:
    """Rows outside the loop that numbers the trials, as PsychoPy writes practice and the rest."""
    sample, chosen = draft.sample, draft.chosen
    likely = draft.columns("trial") or [*named_like("trial", draft.free)]
    gaps = {c: int(sample.missing(c)[chosen].sum()) for c in likely}
    if draft.given.where is not None or not gaps:
        return
    column = min(gaps, key=lambda c: gaps[c])
    name = in_expression(column)
    outside = sample.missing(column)
    others = is_loop(column) and outside.any()  # screens between, which nobody missed
    if name is None or gaps[column] == int(chosen.sum()) or not (gaps[column] or others):
        return
    leave_out(draft, f"{name} != missing", BY_CONTENT, f"the other rows have no {column}")


def find_test(draft: Draft) -> None:
    """Rewards in what a column calls a test: were they shown?"""
    reward = draft.column("reward")
    if reward is None or not (draft.open("test_when") and draft.open("learned")):
        return
    told = ~draft.sample.missing(reward) & draft.chosen
    for column in [c for c in draft.free if like(c, KINDS)]:
        values = [v for v in draft.sample.counts(column) if TESTING.fullmatch(v.lower())]
        name = in_expression(column)
        if not values or name is None:
            continue
        text = is_among(name, values)
        rows = _holds(draft, text)[draft.sample.rows]
        if (told & rows).any() and (told & ~rows).any():
            draft.ask(
                "test_when",
                f"{column} speaks of a test ({values[0]}): were people told {reward} there?",
                [
                    Answer("test_when", text, "no: these choices count, and teach nothing"),
                    Answer("test_when", NONE, "yes: they learned in it as before"),
                ],
            )
            draft.put("test_when", text, BY_NAME, f"{column} says that this is a test")
            return


def leave_incomplete_out(draft: Draft) -> None:
    """Rows that are choices by one column and not by another; choices of nobody or nowhere."""
    if draft.given.where is not None:
        return
    action = draft.guesses.get("action")
    named = named_like("action", [*action.others]) if action is not None else {}
    columns = [c for c in named if like(c, CHOSE)]  # of a choice that was recorded twice
    columns += [c for option in ("learner", "context", "by") for c in draft.columns(option)]
    for column in columns:
        gaps = draft.sample.missing(column) & draft.chosen
        name = in_expression(column)
        if gaps.any() and name is not None and gaps.mean() < FEW_GAPS:
            why = f"{int(gaps.sum()):,} rows with a choice have no {column}"
            leave_out(draft, f"{name} != missing", BY_CONTENT, why)


def leave_out(draft: Draft, text: str, how: str, why: str) -> None:
    """Keep what the condition says, besides what an earlier one said."""
    before, holds = draft.guesses.get("where"), _holds(draft, text)
    if "where" in draft.refused or not (holds & draft.sample.rows).any():
        return
    if before is not None and (holds & ~draft.sample.rows).any():
        text, why = f"({before.value}) and ({text})", f"{before.why}; {why}"
    draft.sample = draft.sample.only(holds)
    draft.guesses["where"] = Guess("where", text, how, why)


def apply_where(draft: Draft, text: str) -> None:
    """Look only at the rows where a condition holds."""
    draft.sample = draft.sample.only(_holds(draft, text))


def _left_out(draft: Draft, text: str, rows: Mask) -> int:
    """How many of these rows a condition leaves out."""
    return int(np.count_nonzero(~_holds(draft, text)[draft.sample.rows] & rows))


def _holds(draft: Draft, text: str) -> Mask:
    """Where a condition holds, of all rows."""
    columns = draft.sample.columns
    condition = parse(text, "--where", [*columns])
    labels = pl.DataFrame([columns[name].per_row().alias(name) for name in condition.columns])
    return condition.holds(labels)


# The order of trials: one number, numbers that restart in each block, or the rows.


def find_order(draft: Draft) -> None:
    """Guess what orders the trials of a sequence."""
    if "trial" in draft.guesses:
        return
    rows = draft.chosen
    named = [c for c in named_like("trial", draft.free) if are_numbers(draft, c, rows)]
    owner = draft.sequences()[rows]
    segments = [draft.sample.codes(c)[rows] for c in draft.columns("reset_by")]
    for column in named:
        numbers = draft.sample.codes(column)[rows]
        within = together(owner, *segments)
        once = unique_within(owner, numbers) or unique_within(within, numbers)
        if once and not _interleaves(draft.sample.places(column)[rows], within):
            others = tuple(c for c in named if c != column)
            draft.put("trial", (column,), BY_NAME, "", others)
            return
    if not named:
        if named_like("trial", draft.free):
            why = f"{', '.join(named_like('trial', draft.free))}: not a number in every trial"
            draft.put("trial", (NONE,), BY_CONTENT, why)
        return
    _restarting(draft, named, owner, rows)


def are_numbers(draft: Draft, column: str, rows: NDArray[np.bool_]) -> bool:
    """Whether a column numbers these rows."""
    numbers = draft.sample.places(column)[rows]
    return bool(len(numbers)) and bool(np.isfinite(numbers).all())


def _restarting(draft: Draft, named: list[str], owner: Codes, rows: NDArray[np.bool_]) -> None:
    """Numbers that restart: in each block, session or both, if columns say so."""
    sample, column = draft.sample, named[0]
    mixed = unique_within(owner, sample.codes(column)[rows])  # though each number is there once
    order = () if mixed else _numbering(draft, column, owner, rows)
    if order:
        outer = order[: order.index(column)]
        whole = " × ".join(outer)
        why = f"{column} restarts in each {whole}" if outer else "one trial per stage"
        draft.put("trial", order, BY_CONTENT, why)
        in_rows = _only_restarts(sample.numbers(column)[rows], owner)
        if in_rows and _reorders([sample.places(c)[rows] for c in order], owner):
            draft.ask(
                "trial",
                f"the rows are not in the order of {whole}, but {column} runs up in them: which "
                "is the order of the trials?",
                [
                    Answer("trial", order, f"{', then '.join(order)}"),
                    Answer("trial", (NONE,), "that of the rows"),
                ],
            )
        if outer and not {*outer} & {*draft.columns("reset_by"), *draft.columns("by")}:
            draft.odd(
                f"{column} restarts in each {whole}: the order is {', then '.join(order)}, and "
                f"learning continues",
                f"--reset-by {','.join(outer)} makes it restart, if each {whole} has new contexts",
            )
        return
    if _only_restarts(sample.numbers(column)[rows], owner):
        why = f"{column} restarts within learners; the rows are in order"
        draft.put("trial", (NONE,), BY_CONTENT, why)
        draft.odd(
            f"{column} restarts within learners and no column identifies the blocks: the order "
            f"of the rows is kept",
            "--trial BLOCK,TRIAL, or --reset-by COL if learning restarts",
        )
        return
    why = f"{column} has the same number several times within learners"
    draft.put("trial", (NONE,), BY_CONTENT, why)
    draft.odd(
        f"{column} has the same number several times within learners and is not in order: are "
        f"several learners read as one?",
        "--learner COL, --by COL, --trial COL,COL",
    )


def _interleaves(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers that run up in the rows would mix stretches in which they restart.

    So do times that are counted from the beginning of each session.
    """
    if not _only_restarts(numbers, owner):
        return False
    order = np.argsort(owner, kind="stable")
    begins = np.concatenate(([True], (np.diff(numbers[order]) <= 0) | (np.diff(owner[order]) != 0)))
    stretch = np.cumsum(begins)
    mixed = stretch[np.lexsort((numbers[order], owner[order]))]
    return 1 + int(np.count_nonzero(np.diff(mixed))) > 2 * int(begins.sum())


def _reorders(keys: Sequence[NDArray[np.float64]], owner: Codes) -> bool:
    """Whether numbers bring the rows of an owner into another order."""
    order = np.lexsort((*reversed(keys), owner))
    return not np.array_equal(order, np.argsort(owner, kind="stable"))


MOST_OUTER = 3  # columns that number the rows together with the trial's number


def _numbering(draft: Draft, column: str, owner: Codes, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    """The columns that number the rows together with a trial's number, the slowest first."""
    sample = draft.sample
    numbers = sample.codes(column)[rows]
    used = [*draft.columns("by"), *draft.columns("reset_by"), *draft.columns("context")]
    words = f"{BLOCKS} {CONDITIONS} loop rep repeat stage"
    likely = [c for c in dict.fromkeys((*draft.free, *used)) if like(c, words) and c != column]
    likely = [c for c in likely if are_numbers(draft, c, rows)]
    codes = {c: sample.codes(c)[rows] for c in likely}
    for size in range(1, MOST_OUTER + 1):
        for some in combinations(likely, size):
            if unique_within(together(owner, *(codes[c] for c in some)), numbers):
                codes[column] = numbers
                length = {c: runs_within(owner, codes[c])[0] for c in (*some, column)}
                return tuple(sorted(length, key=lambda c: -length[c]))
    return ()


def _only_restarts(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers grow within learners, but for a few places where they fall far back."""
    order = np.argsort(owner, kind="stable")
    steps = np.diff(numbers[order])[np.diff(owner[order]) == 0]
    return len(steps) > 0 and float(np.mean(steps <= 0)) < 0.2


# How many stimuli a block has.

MOST_BLOCKS = 0.9  # of the blocks: the last of a sample may be cut, and choices may be missing


def find_load(draft: Draft) -> None:
    """A number that is the same within a block, and that of the contexts which the block shows."""
    resets, context = draft.columns("reset_by"), draft.contexts()
    if not draft.open("load") or not resets or context is None:
        return
    block = together(draft.sequences(), *(draft.sample.codes(name) for name in resets))
    pairs = np.unique(together(block, context), return_index=True)[1]
    shown = np.bincount(block[pairs])
    if len(np.unique(shown)) < 2:
        return  # the same in all blocks tells nothing
    first = np.unique(block, return_index=True)[1]
    for name in draft.free:
        numbers = draft.sample.numbers(name)
        same = np.array_equal(numbers, numbers[first][block])
        if same and np.mean(numbers[first] == shown) >= MOST_BLOCKS:
            why = f"how many contexts each {resets[0]} shows; models of working memory need it"
            draft.put("load", name, BY_CONTENT, why)
            return
