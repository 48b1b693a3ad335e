"""What values look like: keys, words for right and wrong, codes for nothing, counters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from howlearn.core.text import few, shortened
from howlearn.inspection.sample import Sample, together
from howlearn.reading.rewards import BAD_WORDS, GOOD_WORDS

NOTHING_WORDS = (
    "timeout timedout time-out none noresponse no_response miss missed tooslow too_slow late "
    "omission noresp nan undefined no-response skipped skip expired -"
)
FEW_VALUES = 1_000  # of a column, that are worth being sorted
NOTHING_NUMBERS = ("-1", "-9", "-99", "-999", "-9999", "9999", "999", "99")
PRACTICE = re.compile(
    r"(practi[cs]e|prac|demo|demonstration|instruction|warm.?up|example|tutorial|exercise|"
    r"familiari[sz]ation|comprehension|quiz)(s|_?trials?|_?block|_?phase|[ _-]?[0-9]+)*|"
    r"(practi[cs]e|instruct|demo|tutorial|übung|uebung).*|prac(proc|list|trials?|block|run|loop).*|"
    r".*[ _-](practi[cs]e|instructions?|demo)"
)
TRAINING = re.compile(r"train(ing)?([ _-]?[0-9]+)?")
TESTING = re.compile(r"(.*[ _-])?(test|transfer|generali[sz]ation)(ing)?([ _-].*)?")
_KEYS = re.compile(
    r"[a-z0-9]|key[a-z]|digit[0-9]|arrow_?(left|right|up|down)|(left|right|up|down|middle|centre|"
    r"center|top|bottom)([ _-]?arrow|[ _-]?button)?|space|num_?[0-9]|\[?'[a-z0-9]+'\]?"
)


def is_number(value: str) -> bool:
    """Whether a value is a finite number."""
    try:
        return bool(np.isfinite(float(value)))
    except ValueError:
        return False


def is_key(value: str) -> bool:
    """Whether a value looks like a key or a side.

    >>> [is_key(value) for value in ("f", "ArrowLeft", "left", "2", "square")]
    [True, True, True, True, False]
    """
    return _KEYS.fullmatch(value.lower()) is not None


def are_words(values: Iterable[str]) -> bool:
    """Whether all values are words for right and wrong."""
    return {value.lower() for value in values} <= {*GOOD_WORDS, *BAD_WORDS}


def nothing_in(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The values of a column of choices that seem to mean that there was none.

    >>> nothing_in({"1": 50, "2": 40, "-1": 3}), nothing_in({"left": 9, "right": 7, "timeout": 1})
    (('-1',), ('timeout',))
    >>> nothing_in({"-1": 50, "1": 40}), nothing_in({"0": 9, "1": 8, "99": 1})
    ((), ('99',))
    """
    words = {re.sub(r"[\s_-]+", "", word) for word in NOTHING_WORDS.split()} | {"-"}
    found = [v for v in counts if re.sub(r"[\s_]+", "", v.lower()).replace("-", "") in words]
    rest = [value for value in counts if value not in found]
    if len(rest) > 2 and all(is_number(value) for value in rest):
        numbers = {value: float(value) for value in rest}
        for value in NOTHING_NUMBERS:
            others = [number for other, number in numbers.items() if other != value]
            outside = value in numbers and not _within(numbers[value], others)
            if outside and counts[value] < max(counts.values()):
                found.append(value)
    return tuple(found) if len(found) < len(counts) - 1 else ()


def _within(number: float, others: list[float]) -> bool:
    """Whether a number could be one of the others: near them, and not of another sign."""
    low, high = min(others), max(others)
    step = 1 if number > high else 0  # 1, 2, 3 may go on with 4; below 0 there is nothing
    return low <= number <= high + step or (number < 0 and low < 0)


def runs_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> tuple[float, bool]:
    """The mean length of runs of one value within owners; whether each value has one run only."""
    if not len(codes):
        return 0.0, False
    order = np.argsort(owner, kind="stable")
    owner, codes = owner[order], codes[order]
    pairs = together(owner, codes)
    runs = 1 + int(np.count_nonzero(pairs[1:] != pairs[:-1]))
    different = int(pairs.max()) + 1
    return len(codes) / runs, runs <= 1.05 * different


def constant_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> bool:
    """Whether each owner has one value only.

    >>> constant_within(np.array([0, 0, 1]), np.array([5, 5, 5]))
    True
    """
    return int(together(owner, codes).max(initial=-1)) == int(together(owner).max(initial=-1))


def unique_within(owner: NDArray[np.integer], codes: NDArray[np.integer]) -> bool:
    """Whether no owner has a value twice."""
    return int(together(owner, codes).max(initial=-1)) + 1 == len(codes)


def examples(sample: Sample, name: str, most: int = 4) -> str:
    """Some values of a column, as it is printed.

    Long ones are cut, and control characters are not shown as they are.
    """
    counts = sample.counts(name)
    if not counts:
        return "(empty)"
    values = list(counts)
    if len(values) <= FEW_VALUES and all(is_number(value) for value in values):
        values.sort(key=float)
    return few([*map(_short, values)], most, ", … ({all:,} values)")


def _short(value: str) -> str:
    if is_number(value) and len(value) > 8:
        value = f"{float(value):.4g}"
    plain = "".join(c if c.isprintable() else " " for c in value)
    return shortened(plain, 24)
