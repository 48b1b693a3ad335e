"""Rewards: words for 1 and 0, ranges, and what other options would have earned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.core.arrays import Bools, Floats
from howlearn.reading.columns import VALUES
from howlearn.reading.labels import CodedColumn
from howlearn.reading.problems import Problems, listed

OUTSIDE = "--reward-range LO,HI takes them as recorded"
GOOD_WORDS, BAD_WORDS = VALUES["good"], VALUES["bad"]
WORDS_SHOWN = 8


def no_number(role: str) -> str:
    """What helps where a reward, or a forgone one, is a word."""
    return f"--recode {role}:OLD=NEW,OLD=NEW, or --missing VALUE for a value that means none"


def worth_of(labels: pl.Series) -> NDArray[np.float64]:
    """1 for words such as correct, 0 for words such as wrong, NaN for others.

    >>> worth_of(pl.Series(["TRUE", "Incorrect", "late"]))
    array([ 1.,  0., nan])
    """
    worth = {**dict.fromkeys(GOOD_WORDS, 1.0), **dict.fromkeys(BAD_WORDS, 0.0)}
    lower = labels.str.to_lowercase()
    return np.array([worth.get(str(word), np.nan) for word in lower], dtype=np.float64)


def scaled(values: NDArray[np.float64], ends: tuple[float, float]) -> NDArray[np.float64]:
    """The rewards as shares of the way from the smaller end to the larger.

    >>> scaled(np.array([0.0, 30.0, 100.0]), (0.0, 100.0))
    array([0. , 0.3, 1. ])
    """
    low, high = ends
    return (values - low) / (high - low)


class RewardAdvice:
    """Sees the rewards of all batches; what is to be said of them is known when all are."""

    def __init__(self) -> None:
        self.words_taken: Counter[str] = Counter()  # of each role, rows whose reward is a word
        self.mixed: set[str] = set()  # roles with other rewards than words that are understood
        self.words: dict[str, dict[str, None]] = {}  # of each role: rewards, forgone rewards
        self.low, self.high = np.inf, -np.inf
        self.signs_only = True  # all numbers are -1, 0 or 1

    def see(
        self, role: str, column: CodedColumn, words: NDArray[np.bool_], values: NDArray[np.float64]
    ) -> None:
        """Remember which rewards are words, and how far the numbers reach."""
        seen = self.words.setdefault(role, {})
        seen.update(dict.fromkeys(column.labels.filter(words).head(100)))
        if len(values) or np.isnan(worth_of(column.labels.filter(words))).any():
            self.mixed.add(role)
        self.low = min(self.low, values.min(initial=np.inf))
        self.high = max(self.high, values.max(initial=-np.inf))
        self.signs_only &= bool(np.isin(values, (-1, 0, 1)).all())

    def fill_in(self, problems: Problems) -> None:
        """Put the values that were found into the remedies; accept columns of known words."""
        for role, words in self.words.items():
            if self.words_taken[role] and role not in self.mixed:
                problems.withdraw(no_number(role))
                continue
            del self.words_taken[role]
            problems.reword(no_number(role), self._recode(role, words))
        problems.reword(OUTSIDE, self._range())

    @property
    def only_words(self) -> bool:
        """Whether all rewards so far are words that are understood."""
        return bool(self.words_taken) and not self.mixed

    def notes(self) -> list[str]:
        """Which words were taken as numbers."""
        return [
            f"{role}s are words: "
            + ", ".join(f"{w} is taken as {1 if w.lower() in GOOD_WORDS else 0}" for w in words)
            for role, words in self.words.items()
            if self.words_taken[role]
        ]

    def _recode(self, role: str, words: Iterable[str]) -> str:
        lower = {word: word.lower() for word in words}
        good = [word for word in lower if lower[word] in GOOD_WORDS]
        bad = [word for word in lower if lower[word] in BAD_WORDS]
        pairs = [f"{word}=0" for word in bad] + [f"{word}=1" for word in good]
        if not pairs or len(pairs) > WORDS_SHOWN:
            return no_number(role)
        if len(pairs) < len(lower):
            pairs.append("OLD=NEW")
        return no_number(role).replace("OLD=NEW,OLD=NEW", ",".join(pairs))

    def _range(self) -> str:
        low, high = min(0.0, self.low), self.high
        if low >= high:
            high = 0.0 if low < 0 else 1.0
        remedy = OUTSIDE.replace("LO,HI", f"{low:.15g},{high:.15g}")
        if self.signs_only:
            both = " ".join(f"--recode {role}:-1=0,1=1" for role in self.words)
            remedy += f", {both} changes them"
        return remedy


# --forgone: what each action would have earned, laid out when all actions are known.


def misfit(
    columns: Sequence[str], actions: Sequence[str], most: int
) -> tuple[str, str, str] | None:
    """What is wrong with that many columns for these actions: found, allowed, what helps.

    ``most`` are on offer at once.

    >>> misfit(["other"], ["A", "B"], 2), misfit(["a", "b"], ["A", "B"], 2)
    (None, None)
    """
    if len(columns) == len(actions) or (len(columns) == 1 and most == 2):
        return None
    found = f"{len(columns)} column{'s' * (len(columns) > 1)} for {len(actions)} actions"
    one = ", or one for the other action" if len(actions) == 2 else ""
    allowed = f"one column per action, in the order {listed(actions)}{one}"
    return found, allowed, f"--forgone {','.join(['COL'] * min(len(actions), 5))}"


def check_chosen(
    values: Floats,
    columns: Sequence[str],
    arrays: dict[str, NDArray[Any]],
    rows: NDArray[np.integer] | None,
    problems: Problems,
) -> None:
    """Refuse what the chosen action's column says where it differs from the reward."""
    action, reward = arrays["action"], arrays["reward"]
    said = np.take_along_axis(values, action[:, None].astype(np.intp), axis=1)[:, 0]
    differs = np.flatnonzero((said != reward) & ~np.isnan(said) & arrays["rewarded"])
    for code in np.unique(action[differs]):
        mine = differs[action[differs] == code]
        pairs = pl.DataFrame({"said": said[mine], "reward": reward[mine]})
        kinds = pairs.unique(maintain_order=True).with_row_index("code")
        codes = pairs.join(kinds, on=["said", "reward"], how="left", maintain_order="left")
        shown = [f"{a:.15g} where the reward is {b:.15g}" for _, a, b in kinds.iter_rows()]
        problems.refuse(
            np.asarray(mine if rows is None else rows[mine], dtype=np.int64),
            codes["code"].to_numpy().astype(np.int32),
            np.ones(len(kinds), dtype=np.bool_),
            pl.Series(shown),
            columns[int(code)],
            "the reward itself for the action that was chosen, or nothing",
            "--forgone COL,COL in the order of the actions, --reward COL",
        )


def by_action(
    values: Floats, action: NDArray[np.integer], n_actions: int, offered: Bools | None = None
) -> Floats:
    """[trial, action] from one column for the other action or one per action; NaN if chosen.

    One column is about what was on offer.

    >>> by_action(np.array([[0.5], [1.0]]), np.array([0, 1]), 2)
    array([[nan, 0.5],
           [1. , nan]])
    """
    table = values if values.shape[1] == n_actions else np.repeat(values, n_actions, axis=1)
    table[np.arange(len(table)), action] = np.nan
    if offered is not None and values.shape[1] < n_actions:
        table[~offered] = np.nan
    return table
