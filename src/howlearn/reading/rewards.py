"""What helps when rewards are refused: an option with the values that were found filled in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howlearn.reading.labels import Column
from howlearn.reading.problems import Problems

DECIMAL_COMMA = r"^[-+]?[0-9]+,[0-9]+$"
COMMAS = "decimal commas must be saved as decimal points"
NO_NUMBER = "--recode reward:OLD=NEW,OLD=NEW, or --missing VALUE for a value that means none"
OUTSIDE = "--reward-range LO,HI takes them as recorded"
GOOD_WORDS = ("true", "t", "yes", "y", "correct", "win", "won")
BAD_WORDS = ("false", "f", "no", "n", "incorrect", "wrong", "lose", "lost", "loss")
WORDS_SHOWN = 8


class RewardAdvice:
    """Sees the rewards of all batches; the remedies can be worded when all are known."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self.low, self.high = np.inf, -np.inf
        self.signs_only = True  # all numbers are -1, 0 or 1

    def see(self, column: Column, words: NDArray[np.bool_], numbers: NDArray[np.bool_]) -> None:
        """Remember which rewards are words, and how far the numbers reach."""
        self.words.update(dict.fromkeys(column.labels.filter(words).head(100)))
        values = column.numbers()[numbers]
        self.low = min(self.low, values.min(initial=np.inf))
        self.high = max(self.high, values.max(initial=-np.inf))
        self.signs_only &= bool(np.isin(values, (-1, 0, 1)).all())

    def fill_in(self, problems: Problems) -> None:
        """Put the values that were found into the remedies."""
        problems.reword(NO_NUMBER, self._recode())
        problems.reword(OUTSIDE, self._range())

    def _recode(self) -> str:
        lower = {word: word.lower() for word in self.words}
        good = [word for word in lower if lower[word] in GOOD_WORDS]
        bad = [word for word in lower if lower[word] in BAD_WORDS]
        pairs = [f"{word}=0" for word in bad] + [f"{word}=1" for word in good]
        if not pairs or len(pairs) > WORDS_SHOWN:
            return NO_NUMBER
        if len(pairs) < len(lower):
            pairs.append("OLD=NEW")
        return NO_NUMBER.replace("OLD=NEW,OLD=NEW", ",".join(pairs))

    def _range(self) -> str:
        low, high = min(0.0, self.low), self.high
        if low >= high:
            high = 0.0 if low < 0 else 1.0
        remedy = OUTSIDE.replace("LO,HI", f"{low:.15g},{high:.15g}")
        if self.signs_only:
            remedy += ", --recode reward:-1=0,1=1 changes them"
        return remedy
