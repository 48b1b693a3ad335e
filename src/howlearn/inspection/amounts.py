"""Rewards that are written for people: amounts with a unit, and words for success and failure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from howlearn.inspection.values import are_words, is_number, nothing_in
from howlearn.reading.rewards import BAD_WORDS, GOOD_WORDS

MOST_VALUES = 101  # that are recoded one by one: 0% to 100%
_GOOD = {
    *GOOD_WORDS,
    *"right success successful rewarded reward hit good positive smiley happy richtig".split(),
    *"korrekt gewonnen gewinn correcto correcte juste bien".split(),
}
_BAD = {
    *BAD_WORDS,
    *"error fail failure failed unrewarded noreward miss bad negative frowny sad falsch".split(),
    *"verloren fehler incorrecto incorrecte faux mal punished punishment".split(),
}
_AMOUNT = re.compile(
    r"([-+−]?)\s*([$€£¥]?)\s*([-+−]?)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*"
    r"(%|€|\$|£|¥|[a-z]{1,7})?\.?",
    re.IGNORECASE,
)


def without_nothing(values: Iterable[str]) -> list[str]:
    """The values but for those that mean that there was no outcome.

    >>> without_nothing(["Correct", "Too slow", "Incorrect"])
    ['Correct', 'Incorrect']
    """
    return [value for value in values if not nothing_in({value: 1, "1": 2, "0": 2})]


def worth(values: Iterable[str]) -> Mapping[str, str] | None:
    """What each value is as a number, where it is none itself; None if it cannot be told.

    >>> worth(["right", "wrong"]), worth(["$0.50", "$0.00"]), worth(["96%", "5%"])
    ({'right': '1', 'wrong': '0'}, {'$0.50': '0.5', '$0.00': '0'}, {'96%': '0.96', '5%': '0.05'})
    >>> worth(["5 ct", "1 €"]), worth(["left", "right"]), worth(["0", "1"])
    (None, None, None)
    """
    rest = without_nothing(values)
    if not 2 <= len(rest) <= MOST_VALUES or any("," in value for value in rest):
        return None
    if are_words(rest) or all(is_number(value) for value in rest):
        return None
    words = {value: re.sub(r"[\s_.!-]+", "", value.lower()) for value in rest}
    good = [value for value in rest if words[value] in _GOOD]
    bad = [value for value in rest if words[value] in _BAD]
    if good and bad and len(good) + len(bad) == len(rest):
        return {value: "1" if value in good else "0" for value in rest}
    return _amounts(rest)


def _amounts(values: list[str]) -> Mapping[str, str] | None:
    """Amounts as numbers, if all that are more than a number have the same unit."""
    found = {value: _AMOUNT.fullmatch(value.strip()) for value in values}
    units: set[str] = set()
    numbers: dict[str, str] = {}
    for value, match in found.items():
        if match is None:
            return None
        sign, before, inner, number, after = match.groups()
        unit = (before or after or "").lower().rstrip("s")
        units |= {unit} if unit or float(number) else set()  # 0 is 0 in any unit
        amount = float(number) / (100 if unit == "%" else 1)
        minus = {sign, inner} & {"-", "−"} and amount
        numbers[value] = f"{-amount if minus else amount:.12g}"
    return numbers if len(units) == 1 else None
