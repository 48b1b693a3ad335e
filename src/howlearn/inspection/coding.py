"""How choices and rewards are coded: what means nothing, and what becomes 0 to 1."""

from __future__ import annotations

import numpy as np

from howlearn.core.text import few
from howlearn.inspection.amounts import without_nothing, worth
from howlearn.inspection.draft import BY_CONTENT, Draft, Guess
from howlearn.inspection.values import are_words, is_number, nothing_in
from howlearn.reading.options import NONE, parse_missing

FEW = 0.05  # of the rewards: fewer are mistakes or codes, more are points
MOST_CODES = 12


def find_missing_choices(draft: Draft) -> None:
    """Values of the action that mean that there was none."""
    action = draft.column("action")
    if action is None or draft.given.missing:
        return
    codes = nothing_in(draft.sample.counts(action))
    if codes and not any("," in code or ":" in code for code in codes):
        counts = draft.sample.counts(action)
        times = ", ".join(f"{code} ({counts[code]:,} rows)" for code in codes)
        _add_missing(draft, "action", action, codes, f"no choice, by the look of it: {times}")


def _add_missing(draft: Draft, role: str, column: str, codes: tuple[str, ...], why: str) -> None:
    if NONE in draft.given.missing:
        return
    name = column if role in draft.sample.columns or ":" in column else role  # a column wins
    before = draft.guesses.get("missing")
    texts = tuple(f"{name}:{code}" for code in codes)
    if before is not None:
        texts, why = (*before.columns, *texts), "; ".join(filter(None, (before.why, why)))
    draft.guesses["missing"] = Guess("missing", texts, BY_CONTENT, why)
    draft.sample = draft.sample.without(column, codes)


def apply_missing(draft: Draft) -> None:
    """Take the values that the user calls missing as such."""
    for text in draft.given.missing:
        name, value = parse_missing(text)
        named = [c for c in (name, draft.column(name) if name else None) if c is not None]
        for column in draft.sample.columns if name is None else named:
            if column in draft.sample.columns:
                draft.sample = draft.sample.without(column, (value,))


def find_words(draft: Draft) -> None:
    """Rewards that are amounts with a unit, or words; what means that there was none."""
    reward = draft.column("reward")
    if reward is None or draft.given.recode:
        return
    counts = draft.sample.counts(reward)
    values, rest = worth(counts), without_nothing(counts)
    name = reward if "reward" in draft.sample.columns else "reward"
    understood = len(rest) > 1 and are_words(rest)
    if values is not None and draft.open("recode") and ":" not in name:
        pairs = ",".join(f"{old}={new}" for old, new in values.items())
        shown = few([f"{old} is {new}" for old, new in values.items()], 4)
        draft.put("recode", (f"{name}:{pairs}",), BY_CONTENT, f"rewards as numbers: {shown}")
        draft.sample = draft.sample.recoded(reward, values)
        understood = True
    nothing = tuple(v for v in counts if v not in rest and not is_number(v))
    if understood and nothing and not any("," in v or ":" in v for v in nothing):
        times = ", ".join(f"{v} ({counts[v]:,} rows)" for v in nothing)
        _add_missing(draft, "reward", reward, nothing, f"no outcome: {times}")


def find_reward_coding(draft: Draft) -> None:
    """Rewards that are not between 0 and 1: signs, points, or a few values that are wrong."""
    reward = draft.column("reward")
    told = draft.given.recode or draft.given.reward_range or draft.given.reward_scale
    if reward is None or told or (draft.task is not None and draft.task.reward_range != (0, 1)):
        return
    rows = np.zeros(len(draft.sample.rows), dtype=np.bool_)
    rows[np.flatnonzero(draft.sample.rows)[draft.chosen]] = True
    counts = draft.sample.only(rows).counts(reward)
    if are_words(counts):
        return
    words = tuple(value for value in counts if not is_number(value))
    if words and len(words) <= MOST_CODES and not any("," in w or ":" in w for w in words):
        times = sum(counts[word] for word in words)
        if times < 0.5 * sum(counts.values()):
            shown = ", ".join(words[:3])
            _add_missing(draft, "reward", reward, words, f"no reward: {shown} ({times:,} rows)")
            counts = {value: n for value, n in counts.items() if value not in words}
    if not counts or not all(is_number(value) for value in counts):
        return
    numbers = {value: float(value) for value in counts}
    if 0 <= min(numbers.values()) <= max(numbers.values()) <= 1:
        return
    if not _few_odd(draft, reward, counts, numbers):
        _signs_or_points(draft, reward, numbers)


def _few_odd(draft: Draft, reward: str, counts: dict[str, int], numbers: dict[str, float]) -> bool:
    """A few other numbers among many 0 and 1."""
    odd = tuple(value for value, number in numbers.items() if number not in (0.0, 1.0))
    times = sum(counts[value] for value in odd)
    usual = {0.0, 1.0} <= {*numbers.values()}
    if (
        not usual
        or NONE in draft.given.missing
        or times > FEW * sum(counts.values())
        or len(odd) > MOST_CODES
    ):
        return False
    shown = ", ".join(sorted(odd, key=float))
    low, high = min(numbers.values()), max(numbers.values())
    helps = f"--reward-range {low:g},{high:g} would take them as recorded"
    why = f"{shown} among 0 and 1 in {times:,} rows: taken as no reward; {helps}"
    _add_missing(draft, "reward", reward, odd, why)
    draft.odd(
        f"{reward} is 0 or 1, but for {times:,} rows with {shown}: these are taken as missing, so "
        "that nothing is learned there",
        helps,
    )
    return True


def _signs_or_points(draft: Draft, reward: str, numbers: dict[str, float]) -> None:
    values = {*numbers.values()}
    name = reward if "reward" in draft.sample.columns or ":" in reward else "reward"
    if values <= {-1.0, 1.0} and ":" not in name and draft.open("recode"):
        why = (
            "rewards are -1 and 1: -1 becomes 0, and errors then teach a gain-form rule nothing; "
            "reward_range = [-1, 1] instead takes them as recorded"
        )
        pairs = ",".join(f"{v}={0 if numbers[v] < 0 else 1}" for v in sorted(numbers, key=float))
        draft.put("recode", (f"{name}:{pairs}",), BY_CONTENT, why)
        return
    low, high = min(0.0, *values) if len(values) != 2 else min(values), max(values)
    if low >= high:
        low, high = (low, 0.0) if low < 0 else (0.0, 1.0)
    why = (
        f"rewards from {low:.15g} to {high:.15g} become 0 to 1; reward_range = [{low:.15g}, "
        f"{high:.15g}] instead takes them as recorded, where rates are per point"
    )
    draft.put("reward_scale", (low, high), BY_CONTENT, why)
    if values == {1.0, 2.0}:  # either may be the success; nothing but a codebook tells
        bad, good = sorted(numbers, key=float)
        draft.odd(
            f"{reward} is 1 or 2, and 2 is taken as the success",
            f"--recode {name}:{bad}=1,{good}=0 turns it round",
        )
