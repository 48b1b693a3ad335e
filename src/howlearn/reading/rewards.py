"""What helps when rewards are refused: an option with the values that were found filled in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.labels import Column
from howlearn.reading.problems import Problems

OUTSIDE = "--reward-range LO,HI takes them as recorded"
GOOD_WORDS = ("true", "t", "yes", "y", "correct", "win", "won")
BAD_WORDS = ("false", "f", "no", "n", "incorrect", "wrong", "lose", "lost", "loss")
WORDS_SHOWN = 8


def no_number(role: str) -> str:
    """What helps where a reward, or a forgone one, is a word."""
    return f"--recode {role}:OLD=NEW,OLD=NEW, or --missing VALUE for a value that means none"


class RewardAdvice:
    """Sees the rewards of all batches; the remedies can be worded when all are known."""

    def __init__(self) -> None:
        self.words: dict[str, dict[str, None]] = {}  # of each role: rewards, forgone rewards
        self.low, self.high = np.inf, -np.inf
        self.signs_only = True  # all numbers are -1, 0 or 1

    def see(
        self, role: str, column: Column, words: NDArray[np.bool_], values: NDArray[np.float64]
    ) -> None:
        """Remember which rewards are words, and how far the numbers reach."""
        seen = self.words.setdefault(role, {})
        seen.update(dict.fromkeys(column.labels.filter(words).head(100)))
        self.low = min(self.low, values.min(initial=np.inf))
        self.high = max(self.high, values.max(initial=-np.inf))
        self.signs_only &= bool(np.isin(values, (-1, 0, 1)).all())

    def fill_in(self, problems: Problems) -> None:
        """Put the values that were found into the remedies."""
        for role, words in self.words.items():
            problems.reword(no_number(role), self._recode(role, words))
        problems.reword(OUTSIDE, self._range())

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
