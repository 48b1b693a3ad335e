"""Learners who cannot be fitted: who they are and why, while the others are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from howlearn.core.errors import HowlearnError
from howlearn.core.study import SHORTEST, Study
from howlearn.core.text import shortened
from howlearn.fitting.fits import Fits
from howlearn.fitting.interpreted import Uncompiled

LONGEST = 200  # characters of a reason
# Of the machine, or of a model's text: whoever the learner is.
PASSED_ON = (MemoryError, OSError, ImportError, Uncompiled)

Some = Callable[[Study, NDArray[np.int64]], Fits]


class TooShort(HowlearnError):
    """A record that no model can be judged by."""


class NoNumbers(HowlearnError):
    """A fit whose likelihood or estimates are not numbers (NaN)."""


class CannotFit(HowlearnError):
    """What nobody expected of a model, or of a learner's numbers."""

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__(text)
        self.error = error


@dataclass
class Guard:
    """Who of a study was lost on the way, and who is left: places in the study as it was given."""

    shortest: int = SHORTEST  # scored trials of those who are not lost at once
    why: dict[int, Exception] = field(default_factory=dict)
    kept: NDArray[np.int64] | None = None  # None: everybody

    def lose(self, n: int, lost: Mapping[int, Exception]) -> NDArray[np.int64]:
        """Who is left of the ``n`` that were left so far; both are places among these."""
        kept = np.arange(n) if self.kept is None else self.kept
        self.why |= {int(kept[i]): error for i, error in lost.items()}
        left = np.delete(np.arange(n), [*lost])
        self.kept = kept[left]
        return left

    def without(self, study: Study, lost: Mapping[int, Exception]) -> Study:
        """The study of those who are left."""
        return study.take(self.lose(len(study), lost))

    def long_enough(self, study: Study) -> Study:
        """The study without learners whose records are too short for anything."""
        short = too_short(study, self.shortest)
        if not short:
            return study
        left = self.lose(len(study), short)
        return study.only(np.isin(np.arange(len(study)), left))

    def tried(
        self, some: Some, study: Study, sizes: NDArray[np.int64]
    ) -> tuple[list[Fits], dict[int, Exception]]:
        """The fits of all who can be fitted; and the others, found by halving, with their errors.

        A learner's fit depends on that learner only, so that nobody else's changes by it.
        """
        try:
            found = some(study, sizes)
        except PASSED_ON:
            raise
        except Exception as error:  # whatever a model, or one learner's numbers, may do
            if len(study) == 1:
                return [], {0: error}
            middle, fits, lost = len(study) // 2, [], {}
            for start, stop in ((0, middle), (middle, len(study))):
                more, alone = self.tried(some, study.part(start, stop), sizes[start:stop])
                fits += more
                lost |= {start + i: error for i, error in alone.items()}
            return fits, lost
        lost = no_numbers(found)
        if lost:
            found = found.take(np.delete(np.arange(len(study)), [*lost]))
        return [found] if len(found.study) else [], lost

    def end(self) -> NoReturn:
        """Nobody could be fitted: what is wrong is not with a learner."""
        first = self.why[min(self.why)]
        if isinstance(first, TooShort):
            raise HowlearnError(f"no learner can be judged: {first}") from None
        raise first.error if isinstance(first, CannotFit) else first

    @property
    def reasons(self) -> dict[int, str]:
        """By place: why the learner cannot be fitted, in a line."""
        return {place: reason(self.why[place]) for place in sorted(self.why)}


def too_short(study: Study, shortest: int = SHORTEST) -> dict[int, Exception]:
    """Learners whose records are too short for anything, by their place."""
    n, be = study.n_scored, "is" if shortest == 1 else "are"
    return {
        int(i): TooShort(
            f"{n[i]} trial{'s' * int(n[i] != 1)} with a choice, and at least {shortest} {be} needed"
        )
        for i in np.flatnonzero(n < shortest)
    }


def no_numbers(fits: Fits) -> dict[int, Exception]:
    """Learners with a likelihood or an estimate that is NaN; −∞ is a number: a choice ruled out.

    A probability that is not a number would be ranked as if it were one.
    """
    found: dict[int, Exception] = {}
    for name, part in fits.of.items():
        looked = {"likelihood": (part.log_likelihood, part.rest), "estimate": (part.theta,)}
        for what, arrays in looked.items():
            for values in arrays:
                wrong = np.isnan(values) | (values == np.inf)
                for i in np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1)).tolist():
                    found.setdefault(i, NoNumbers(f"{name}: the {what} is not a number (NaN)"))
    return found


def reason(error: Exception) -> str:
    """An error in one line that is not too long.

    >>> reason(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    text = str(error) if isinstance(error, HowlearnError) else f"{type(error).__name__}: {error}"
    return shortened(" ".join(text.split()), LONGEST)
