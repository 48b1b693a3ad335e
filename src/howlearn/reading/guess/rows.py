"""Which rows are trials of the task, and where learning starts again."""

from __future__ import annotations

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
    is_answer,
    is_loop,
    is_time,
    like,
    named_like,
    plain,
)
from howlearn.reading.guess.column_checks import (
    PRACTICE,
    TESTING,
    TRAINING,
    constant_within,
    is_number,
    nothing_in,
    runs_within,
    unique_within,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    SAID,
    Draft,
    Guess,
    Mask,
    in_expression,
    in_quotes,
    together,
)

MOST_KINDS = 30
FEW_GAPS = 0.2  # of the rows; more would be another mistake


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
            _leave_out(draft, text, BY_NAME, f"{column} says that the other rows are practice")
            return


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
    if len(out) == 1:
        return f"{name} != {in_quotes(out[0])}"
    return f"{name} not in [{', '.join(in_quotes(value) for value in out)}]"


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
    if not alien.any() or alien.all():
        return
    kinds = {c: _kinds(draft, c, alien) for c in _kind_columns(draft)}
    texts = {column: text for column, text in kinds.items() if text is not None}
    if texts:  # the one that leaves out most of these rows
        column = max(texts, key=lambda c: _left_out(draft, texts[c], alien))
        why = f"rows of other kinds in {column} have no choice with an outcome"
        _leave_out(draft, texts[column], BY_CONTENT, why)
        return
    name = in_expression(reward)
    if name is not None and (alien & chosen).any():
        why = f"rows without {reward} have other values in {action} than choices"
        _leave_out(draft, f"{name} != missing", BY_CONTENT, why)


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
    if len(kept) == 1:
        return f"{name} == {in_quotes(kept[0])}"
    return f"{name} in [{', '.join(in_quotes(value) for value in kept)}]"


def leave_other_loops_out(draft: Draft) -> None:
    """Rows outside the loop that numbers the trials, as PsychoPy writes practice and the rest."""
    sample, chosen = draft.sample, draft.chosen
    gaps = {c: int(sample.missing(c)[chosen].sum()) for c in named_like("trial", draft.free)}
    if "trial" in draft.guesses or draft.given.where is not None or not gaps:
        return
    column = min(gaps, key=lambda c: gaps[c])
    name = in_expression(column)
    outside = sample.missing(column)
    others = is_loop(column) and outside.any()  # screens between, which nobody missed
    if name is None or gaps[column] == int(chosen.sum()) or not (gaps[column] or others):
        return
    _leave_out(draft, f"{name} != missing", BY_CONTENT, f"the other rows have no {column}")


def leave_incomplete_out(draft: Draft) -> None:
    """Rows that are choices by one column and not by another; choices of nobody or nowhere."""
    if draft.given.where is not None:
        return
    action = draft.guesses.get("action")
    columns = [*action.others] if action is not None else []
    columns += [c for option in ("learner", "context", "by") for c in draft.columns(option)]
    for column in columns:
        gaps = draft.sample.missing(column) & draft.chosen
        name = in_expression(column)
        if gaps.any() and name is not None and gaps.mean() < FEW_GAPS:
            why = f"{int(gaps.sum()):,} rows with a choice have no {column}"
            _leave_out(draft, f"{name} != missing", BY_CONTENT, why)


def _leave_out(draft: Draft, text: str, how: str, why: str) -> None:
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


# Stretches of trials within learners: conditions with problems of their own, and blocks.


SHORTEST = 4  # trials of a stretch, on average
SHOWN_OFTEN = 4  # times each context of a stretch is shown, so that none is missing by chance
CHANGED = 0.2  # of the contexts: more are another problem
Codes = NDArray[np.intp]


def find_stretches(draft: Draft) -> None:
    """Conditions under which the same contexts have other answers, and blocks with new contexts."""
    context = draft.contexts()
    likely = [c for c in draft.free if _is_stretch(draft, c, draft.learners())]
    conditions = [c for c in likely if like(c, CONDITIONS) and not like(c, "block")]
    if context is not None and draft.open("by") and "reset_by" not in draft.guesses:
        found = [c for c in conditions if _answers_change(draft, c, context)]
        if found:
            why = "the same contexts have other right answers under each of its values"
            draft.put("by", (found[0],), BY_CONTENT, why, tuple(found[1:]))
    blocks = [c for c in likely if like(c, BLOCKS) and c in draft.free]
    blocks = [c for c in blocks if _is_stretch(draft, c, draft.sequences())]
    if context is not None and draft.open("reset_by"):
        _find_sets(draft, blocks, context)
    where = draft.guesses.get("where")
    rest = [c for c in dict.fromkeys((*conditions, *blocks)) if c in draft.free]
    rest = [c for c in rest if where is None or c not in str(where.value)]
    for column in [c for c in rest if c not in draft.columns("context")][:3]:
        if _without_rewards(draft, column).any():
            continue  # a test of what was learned before it
        if _is_stretch(draft, column, draft.sequences()):
            draft.odd(
                f"{column} divides each learner's trials into stretches, and learning is taken to "
                "go on over them",
                f"--reset-by {column} if it starts anew in each, --by {column} to judge each alone",
            )


def _is_stretch(draft: Draft, column: str, owner: Codes) -> bool:
    """Whether each value of a column has one stretch of trials within each owner."""
    if not like(column, f"{BLOCKS} {CONDITIONS} {KINDS}") or is_time(column) or is_answer(column):
        return False
    codes = draft.sample.codes(column)
    if draft.sample.missing(column).any() or constant_within(owner, codes):
        return False
    length, one_run = runs_within(owner, codes)
    return one_run and length >= SHORTEST


def _answers_change(draft: Draft, column: str, context: Codes) -> bool:
    """Whether what is right in a context differs between the stretches of a learner."""
    sample, action, reward = draft.sample, draft.column("action"), draft.column("reward")
    rows = draft.chosen
    if draft.answer is not None:
        right = sample.codes(draft.answer)
        rows = rows & ~sample.missing(draft.answer)
    elif action is not None and reward is not None:
        right = sample.codes(action)
        numbers = sample.numbers(reward)
        if np.isnan(numbers).all():
            return False
        rows = rows & (numbers == np.nanmax(numbers))
    else:
        return False
    if not rows.any():
        return False
    place = together(draft.learners()[rows], context[rows])
    stretch = together(place, sample.codes(column)[rows])
    answers = right[rows]
    one_answer = constant_within(stretch, answers)  # else what is right is a matter of chance
    changes = _differing(place, answers)
    return one_answer and changes > CHANGED


def _differing(owner: Codes, codes: NDArray[np.integer]) -> float:
    """The share of owners with several values."""
    pairs, first = np.unique(together(owner, codes), return_index=True)
    several = np.bincount(owner[first], minlength=int(owner.max(initial=0)) + 1) > 1
    return float(several.mean()) if len(pairs) else 0.0


def _find_sets(draft: Draft, blocks: list[str], context: Codes) -> None:
    """Blocks that bring new contexts, even if they have the same names."""
    for block in blocks:
        if not _sets_differ(draft, block, context):
            continue
        names = draft.guesses["context"]
        if names.how != SAID:
            draft.guesses["context"] = Guess(
                "context",
                (block, *names.columns),
                BY_CONTENT,
                f"each {block} shows another set, so that a context is {block} × "
                f"{' × '.join(names.columns)}; if {names.typed} means the same in all, take it "
                "alone",
                names.others,
            )
        why = f"each {block} shows another set of contexts; without this line learning goes on"
        draft.put("reset_by", (block,), BY_CONTENT, why)
        return


def _without_rewards(draft: Draft, block: str) -> NDArray[np.bool_]:
    """The choices in blocks in which nobody was ever rewarded, though others were."""
    reward, rows = draft.column("reward"), draft.chosen
    if reward is None:
        return np.zeros(int(rows.sum()), dtype=np.bool_)
    codes = draft.sample.codes(block)[rows]
    told = np.bincount(codes, weights=~draft.sample.missing(reward)[rows])
    return told[codes] == 0 if told.any() else np.zeros(len(codes), dtype=np.bool_)


def _sets_differ(draft: Draft, block: str, context: Codes) -> bool:
    """Whether contexts are missing in blocks that show each of theirs often."""
    rows = draft.chosen
    rows[rows] = ~_without_rewards(draft, block)
    if not rows.any():
        return False
    owner, context = draft.sequences()[rows], context[rows]
    place = together(owner, draft.sample.codes(block)[rows])
    pairs, first = np.unique(together(place, context), return_index=True)
    met = np.bincount(place[first])  # contexts of each block
    trials = np.bincount(place)
    _, start = np.unique(place, return_index=True)
    known, at = np.unique(together(owner, context), return_index=True)
    all_met = np.bincount(owner[at])[owner[start]]  # contexts of the learner of each block
    often = trials >= SHOWN_OFTEN * met
    if len(pairs) > len(known) and not _are_numbered(draft, block):
        return False  # some come back, and are the same
    return len(known) > 0 and float(np.mean(often & (met < all_met))) > CHANGED


def _are_numbered(draft: Draft, block: str) -> bool:
    """Whether blocks have numbers, and contexts too, so that 1 may be another one in each block."""
    labels = [value for name in draft.columns("context") for value in draft.sample.counts(name)]
    numbers = all(is_number(value) for value in draft.sample.counts(block))
    return numbers and all(is_number(value) or len(value) == 1 for value in labels)


# The order of trials: one number, numbers that start anew in each block, or the rows.


def find_order(draft: Draft) -> None:
    """Guess what orders the trials of a sequence."""
    if "trial" in draft.guesses:
        return
    rows = draft.chosen
    named = [c for c in named_like("trial", draft.free) if _are_numbers(draft, c, rows)]
    owner = draft.sequences()[rows]
    segments = [draft.sample.codes(c)[rows] for c in draft.columns("reset_by")]
    for column in named:
        numbers = draft.sample.codes(column)[rows]
        if unique_within(owner, numbers) or (
            segments and unique_within(together(owner, *segments), numbers)
        ):
            others = tuple(c for c in named if c != column)
            draft.put("trial", (column,), BY_NAME, "", others)
            return
    if not named:
        if named_like("trial", draft.free):
            why = f"{', '.join(named_like('trial', draft.free))}: not a number in every trial"
            draft.put("trial", (NONE,), BY_CONTENT, why)
        return
    _restarting(draft, named, owner, rows)


def _are_numbers(draft: Draft, column: str, rows: NDArray[np.bool_]) -> bool:
    numbers = draft.sample.numbers(column)[rows]
    return bool(len(numbers)) and bool(np.isfinite(numbers).all())


def _restarting(draft: Draft, named: list[str], owner: Codes, rows: NDArray[np.bool_]) -> None:
    """Numbers that start anew: in each block, if there is a column that says so."""
    sample, column = draft.sample, named[0]
    numbers = sample.codes(column)[rows]
    used = [*draft.columns("by"), *draft.columns("reset_by"), *draft.columns("context")]
    likely = [c for c in (*draft.free, *used) if like(c, f"{BLOCKS} {CONDITIONS} loop rep repeat")]
    for block in dict.fromkeys(likely):
        if block == column or not _are_numbers(draft, block, rows):
            continue
        if unique_within(together(owner, sample.codes(block)[rows]), numbers):
            why = f"{column} starts anew in each {block}"
            draft.put("trial", (block, column), BY_CONTENT, why)
            draft.odd(
                f"{column} starts anew in each {block}: the order is {block}, then {column}, and "
                "learning goes on",
                f"--reset-by {block} makes it start anew, if each {block} has new contexts",
            )
            return
    if _only_restarts(sample.numbers(column)[rows], owner):
        why = f"{column} starts anew within learners; the rows are in order"
        draft.put("trial", (NONE,), BY_CONTENT, why)
        draft.odd(
            f"{column} starts anew within learners and no column tells the blocks apart: the order "
            "of the rows is kept",
            "--trial BLOCK,TRIAL, or --reset-by COL if learning starts anew",
        )
        return
    why = f"{column} has the same number several times within learners"
    draft.put("trial", (NONE,), BY_CONTENT, why)
    draft.odd(
        f"{column} has the same number several times within learners and does not run in order: "
        "are several learners taken as one?",
        "--learner COL, --by COL, --trial COL,COL",
    )


def _only_restarts(numbers: NDArray[np.float64], owner: Codes) -> bool:
    """Whether numbers grow within learners, but for a few places where they fall far back."""
    order = np.argsort(owner, kind="stable")
    steps = np.diff(numbers[order])[np.diff(owner[order]) == 0]
    return len(steps) > 0 and float(np.mean(steps <= 0)) < 0.2
