"""Rewards: words that can be taken as 1 and 0, and what helps when others are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from howlearn.reading.labels import Column
from howlearn.reading.problems import Problems

OUTSIDE = "--reward-range LO,HI takes them as recorded"
GOOD_WORDS = ("true", "t", "yes", "y", "correct", "win", "won", "wahr", "vrai")
BAD_WORDS = (
    "false",
    "f",
    "no",
    "n",
    "incorrect",
    "wrong",
    "lose",
    "lost",
    "loss",
    "falsch",
    "faux",
)
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
        self, role: str, column: Column, words: NDArray[np.bool_], values: NDArray[np.float64]
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
