"""Which rows are trials of the task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.expression_values import FALSE_WORDS, TRUE_WORDS
from howlearn.core.expressions import derive, parse
from howlearn.core.options import NONE
from howlearn.reading.columns import (
    BLOCKS,
    CONDITIONS,
    KINDS,
    is_loop,
    is_practice,
    is_time,
    like,
    named_like,
    parts_of,
    plain,
)
from howlearn.reading.guess.behaviour import FEWEST, NEARLY
from howlearn.reading.guess.column_checks import (
    PRACTICE,
    TESTING,
    TRAINING,
    has_practice_at_a_time,
    is_number,
    materialise,
    runs_within,
)
from howlearn.reading.guess.draft import (
    BY_CONTENT,
    BY_NAME,
    Answer,
    Draft,
    Guess,
    in_expression,
    in_quotes,
    is_among,
)
from howlearn.reading.guess.evidence import centred, score
from howlearn.reading.guess.missed import missed_codes
from howlearn.reading.guess.reward import earnings
from howlearn.reading.guess.sample import Mask, Sample, together
from howlearn.reading.rewards import BAD_WORDS, GOOD_WORDS

MOST_KINDS = 30
Codes = NDArray[np.intp]
CHOSE = "chose chosen choice response resp key keypress"
FEW_GAPS = 0.2  # of the rows; more would be another mistake

FEWEST_TRIALS = 10  # with an outcome, in a log of which most rows have none


def leave_practice_out(draft: Draft) -> None:
    """Rows that a column calls practice or the like."""
    if not draft.open("where"):
        return
    kinds = _kind_columns(draft, f"{KINDS} {BLOCKS} {CONDITIONS}")
    for column in (*kinds, *(c for c in draft.free if c not in kinds)):
        name, counts = in_expression(column), draft.sample.counts(column)
        likely = column in kinds or has_practice_at_a_time(draft.sample, column)
        if name is None or not 2 <= len(counts) <= MOST_KINDS or not likely:
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
            apart = column in sure and not _are_of_other_rows(draft, silent)
            if beside and not apart and _leave_kinds_out(draft, silent, why):
                return
    for column in sure:
        other = [r for r in rewards if _has_other_values(draft, column, draft.sample.missing(r))]
        if other and _leave_kinds_out(
            draft, draft.sample.missing(other[0]), f"have no {other[0]}, and other values"
        ):
            return


MOST_CHOICES = 12


def _has_other_values(draft: Draft, column: str, silent: Mask) -> bool:
    """Whether a column has a few values where there are outcomes and others where there are none.

    So it has where ratings or answers to questions stand between the choices.
    """
    codes, there = draft.sample.codes(column), ~draft.sample.missing(column)
    told, others = np.unique(codes[there & ~silent]), np.unique(codes[there & silent])
    few = 2 <= len(told) <= MOST_CHOICES < len(others) + len(told)
    return few and not np.isin(others, told).any() and (~silent).sum() >= FEWEST_TRIALS


NEAR = 3  # rows


def _are_of_other_rows(draft: Draft, silent: Mask) -> bool:
    """Whether most rows without a choice have the number of a trial with one, close to them."""
    for column in named_like("trial", draft.free):
        codes, at = draft.sample.codes(column), np.flatnonzero(silent)
        near = np.zeros(len(at), dtype=np.bool_)
        for step in (*range(-NEAR, 0), *range(1, NEAR + 1)):
            there = np.clip(at + step, 0, len(codes) - 1)
            near |= (codes[there] == codes[at]) & ~silent[there]
        if near.mean() > 0.5:
            return True
    return False


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


def _kind_columns(draft: Draft, words: str = KINDS) -> list[str]:
    """The columns that may say what kind of row each is."""
    likely = [c for c in draft.free if like(c, words) or is_practice(c)]
    return [c for c in likely if not (is_loop(c) or is_time(c) or named_like("action", [c]))]


def _practice(name: str, column: str, values: list[str]) -> str | None:
    """The condition that keeps what is no practice; None if nothing looks like it."""
    lower = {value: value.lower() for value in values}
    if is_practice(column) or PRACTICE.fullmatch(plain(column).removeprefix("is")):
        yes = [v for v in values if lower[v] in (*TRUE_WORDS, *GOOD_WORDS)]
        no = [v for v in values if lower[v] in (*FALSE_WORDS, *BAD_WORDS)]
        if {*lower.values()} <= {*TRUE_WORDS, *FALSE_WORDS}:
            return f"not {name}"
        if yes and no and len(yes) + len(no) == len(values):
            return is_among(name, yes, "not ")
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
    chosen = ~sample.without(action, missed_codes(draft, action)).missing(action)
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
    told = _is_there(draft, reward)
    if told is not None and (alien & chosen & silent).any():
        why = f"rows without {reward} have other values in {action} than choices"
        leave_out(draft, told, BY_CONTENT, why)


def _is_there(draft: Draft, column: str) -> str | None:
    """The condition that a column has a value; of an expression, that its columns have."""
    parts = [column]
    if column in draft.computed:
        known = [c for c in draft.sample.columns if c not in draft.computed]
        parts = [*derive(column, "an expression", known).columns]
    names = [in_expression(part) for part in parts]
    text = " and ".join(f"{name} != missing" for name in names)
    if None in names or not np.array_equal(
        _holds(draft, text), ~draft.sample.columns[column].missing()
    ):
        return None  # if(…) may do without some of them
    return text


def _with_one_answer(sample: Sample, column: str, action: str) -> Mask:
    """Rows of kinds with one answer only, which others have in missed trials at most: screens."""
    kind, answer, told = sample.codes(column), sample.codes(action), ~sample.missing(action)
    pairs, times = np.unique(np.stack((kind[told], answer[told])), axis=1, return_counts=True)
    kinds, answers = (np.bincount(each)[each] for each in pairs)
    chosen = np.bincount(pairs[1], weights=times * (kinds > 1))
    usual = 2 * chosen >= chosen.sum() / max(1, np.count_nonzero(chosen))
    twice = np.unique(kind[1:][kind[1:] == kind[:-1]])
    between = ~np.isin(pairs[0], twice) & ~usual[pairs[1]] & (usual.sum() > 1) & (times >= FEWEST)
    alone = (kinds == 1) & ((answers == 1) | between) & (kinds.max(initial=0) > 1)
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


EXTINCTION = re.compile(r".*(extin|unrewarded|non.?reward|no.?reward).*")


def ask_about_silent_parts(draft: Draft) -> None:
    """Parts without any outcome: another task, one without rewards, or choices that teach nothing.

    What is called a test is the last.
    """
    reward = draft.column("reward")
    if reward is None or not draft.open("test_when") or draft.given.where is not None:
        return
    silent, rows = draft.sample.missing(reward), draft.chosen
    for column in [c for c in draft.free if like(c, KINDS) and (silent & rows).any()]:
        codes, labels = draft.sample.codes(column), draft.sample.columns[column].labels
        if runs_within(draft.learners(), codes)[0] < FEWEST_TRIALS:
            continue  # stages of trials, or screens
        times = np.bincount(codes[rows], minlength=len(labels))
        without = np.bincount(codes[rows & silent], minlength=len(labels))
        out = [str(labels[int(i)]) for i in np.flatnonzero((without == times) & (times >= FEWEST))]
        full = np.flatnonzero((without <= FEW_GAPS * times) & (times > 0))
        called = [v for v in out if not TESTING.fullmatch(v.lower())]
        if called and len(out) + len(full) == np.count_nonzero(times):
            _ask_about_silent(draft, column, reward, called)
            return


def _ask_about_silent(draft: Draft, column: str, reward: str, values: list[str]) -> None:
    name, kind, told = draft.written(reward), in_expression(column), _is_there(draft, reward)
    if name is None or kind is None or told is None:
        return
    earned = Answer("reward", f"if({told}, {name}, 0)", "nothing was earned, and people saw that")
    other = Answer("where", is_among(kind, values, "not "), "they are another task")
    same = Answer("test_when", is_among(kind, values), "they are choices that taught nothing")
    nothing = EXTINCTION.fullmatch(values[0].lower())
    answers = [earned, same, other] if nothing else [other, same, earned]
    draft.ask(
        answers[0].option,
        f"{reward} is missing in all rows with {column} = {values[0]}: what are they?",
        answers,
    )
    if nothing:
        materialise(draft, "reward", str(earned.value))
        draft.guesses["reward"] = replace(draft.guesses["reward"], value=earned.value)
    else:
        leave_out(draft, str(other.value), BY_CONTENT, f"no {reward} in the other rows")


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
        told = _is_there(draft, column) if gaps.any() and gaps.mean() < FEW_GAPS else None
        if told is not None:
            why = f"{int(gaps.sum()):,} rows with a choice have no {column}"
            leave_out(draft, told, BY_CONTENT, why)


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


# Choices that were not free: somebody else made them, so that they teach and do not count.

FORCED = {"forced", "force", "instructed", "forcedchoice", "isforced"}
FORCED_WORDS = {"forced", "instructed", "yes", "true", "1"}


def find_forced(draft: Draft) -> None:
    """Choices that somebody else made, as a column says: they teach, and do not count."""
    if not draft.open("forced_when") or not draft.open("scored"):
        return
    for column in draft.free:
        counts, name = draft.sample.counts(column), in_expression(column)
        words = {*parts_of(column), plain(column)}
        if FORCED.isdisjoint(words) or len(counts) != 2 or name is None:
            continue
        yes = [value for value in counts if value.lower() in FORCED_WORDS]
        if len(yes) == 1:
            why = f"{column} says that these choices were not free: they teach, and do not count"
            draft.put("forced_when", f"{name} == {in_quotes(yes[0])}", BY_NAME, why)
            return


# Choices that were laid down: at the beginning of each block or game they follow no outcome.

MANY, FOLLOWED, UNFOLLOWED = 30, 6.0, 2.0  # stretches; standard errors of staying after a success


def ask_if_forced(draft: Draft) -> None:
    """Ask about the first trials of each stretch, where choices follow outcomes only after them."""
    action, reward, order = (draft.column(role) for role in ("action", "reward", "trial"))
    resets = draft.columns("reset_by")
    numbered = order or (draft.columns("trial") or (None,))[-1]
    if not (action and reward and numbered and resets and draft.open("forced_when")):
        return
    sample, rows = draft.sample, draft.chosen
    owner = draft.sequences()[rows]
    stretch = together(owner, *(sample.codes(c)[rows] for c in resets))
    place, worth = sample.numbers(numbered)[rows], np.nan_to_num(earnings(sample, reward)[rows])
    sort = np.lexsort((place, stretch))
    near = (np.diff(stretch[sort]) == 0) & (np.diff(place[sort]) == 1)
    after = place[sort][1:][near]
    where = together(owner[sort][1:][near], np.unique(after, return_inverse=True)[1])
    stays = centred(where, np.diff(sample.codes(action)[rows][sort])[near] == 0)
    first = stays * centred(where, worth[sort][:-1][near])
    each = [n for n in np.unique(after).tolist() if (after == n).sum() >= MANY]
    free = next((n for n in each if abs(score(first[after == n])) > UNFOLLOWED), None)
    if free is None or free - min(each) < 2 or score(first[after >= free]) < FOLLOWED:
        return
    early, usual = first[after < free], first[after >= free].mean()
    if abs(score(early)) > UNFOLLOWED or score(early - usual / 2) > -UNFOLLOWED:
        return  # few rows alone show nothing
    text = f"{in_expression(numbered)} < {free:g}"
    draft.ask(
        "forced_when",
        f"choices follow outcomes only from {numbered} {free:g} of each {resets[0]}: were the "
        "earlier ones free?",
        [
            Answer("forced_when", NONE, "yes: they count"),  # what is doubtful loses no data
            Answer("forced_when", text, "no: they were laid down; they teach, and do not count"),
        ],
    )
